"""Networks of workers: what is cut off is silent, and goes on when it is mended."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.chaos.networks import Networks
from tests.support.waiting import until

TELLER = """
import socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as to:
    for number in range(600):
        to.sendall(b"%d " % number)
        time.sleep(0.1)
"""
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("ip") is None,
    reason="networks of their own need Linux, root and the command ip",
)


@contextlib.contextmanager
def told(networks: Networks, worker: int, host: str) -> Iterator[socket.socket]:
    """What a process in the network of a worker sends to an address of this machine, every tenth of a second."""
    with socket.create_server((host, 0)) as server:
        command = [*networks.command(worker), sys.executable, "-c", TELLER, host, str(server.getsockname()[1])]
        with subprocess.Popen(command) as child:
            server.settimeout(20)
            taken, _ = server.accept()
            with taken:
                yield taken
            child.kill()


def hears(taken: socket.socket, seconds: float = 20) -> bool:
    """Whether anything comes in time."""
    taken.settimeout(seconds)
    try:
        return bool(taken.recv(4096))
    except TimeoutError:
        return False


def falls_silent(taken: socket.socket) -> bool:
    return until(lambda: not hears(taken, 1), 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "brokers",
    [pytest.param(False, marks=pytest.mark.extended("a worker that is cut off from the driver only")), True],
)
def test_a_worker_is_cut_off(brokers: bool) -> None:
    before = set(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else set()
    with Networks(2) as networks:
        assert networks.address(1) != networks.address(2)
        with (
            told(networks, 1, networks.driver) as to_driver,
            told(networks, 1, networks.brokers) as to_brokers,
            told(networks, 2, networks.driver) as of_another,
        ):
            assert hears(to_driver) and hears(to_brokers) and hears(of_another)
            networks.cut(1, brokers=brokers)
            assert falls_silent(to_driver)
            assert falls_silent(to_brokers) is brokers
            assert hears(of_another)
            networks.mend(1, brokers=brokers)
            assert hears(to_driver) and hears(to_brokers)
    assert set(os.listdir("/run/netns")) == before
