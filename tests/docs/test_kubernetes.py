"""The example for Kubernetes: its chart passes Helm's linter, and sets properties that may be set."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ksqlpy.config import Config
from ksqlpy.spark.masters import check_cluster, check_master, settings_for
from ksqlpy.spark.session import SETTINGS
from ksqlpy.spark.userconf import allowed

CHART = Path(__file__).parents[2] / "examples" / "kubernetes" / "chart"
VALUES = {
    "host": "0.0.0.0",
    "insecure": "true",
    "standby": "true",
    "instances": "2",
    "slots": "64",
    "memory": "2g",
}
"""What stands for a value of the chart, by the end of its name; all others are texts."""


def properties() -> dict[str, str]:
    text = (CHART / "templates" / "configmap.yaml").read_text(encoding="utf-8")
    found = dict(re.findall(r"^    ([a-z][\w.]+)=(.*)$", text, re.MULTILINE))
    assert len(found) > 12
    return {
        name: VALUES.get(name.rsplit(".", 1)[-1], "some") if value.startswith("{{") else value
        for name, value in found.items()
    }


def test_the_server_takes_its_properties() -> None:
    given = properties()
    given["ksqlpy.checkpoint.dir"], given["bootstrap.servers"] = "s3a://bucket/ksqlpy", "kafka:9092"
    given["ksqlpy.allowed.hosts"] = "ksqlpy,ksqlpy.default.svc"
    given["ksql.schema.registry.url"] = "http://registry:8081"
    config = Config.of(given)
    master = config.get("ksqlpy.spark.master")
    check_master(master)
    check_cluster(master, config.get("ksqlpy.checkpoint.dir"), config.get("bootstrap.servers"))
    assert len(allowed(config.spark, {**SETTINGS, **settings_for(master)})) >= 8


def test_the_page_puts_there_what_the_image_copies() -> None:
    page = (CHART.parent / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (.*)$", page, re.MULTILINE)
    [copied] = re.findall(
        r"^COPY (\S+) ", (CHART.parent / "image" / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    [put] = [n for n, c in enumerate(commands) if re.search(r"\bcp \S+ image/", c)]
    [built] = [n for n, c in enumerate(commands) if re.match(r"docker build -t \S+ image\b", c)]
    assert put < built
    assert Path(re.findall(r"\bcp (\S+) image/", commands[put])[0]).match(copied)


@pytest.mark.skipif(shutil.which("helm") is None, reason="there is no helm")
def test_helm_has_nothing_against_it() -> None:
    done = subprocess.run(["helm", "lint", "--strict", str(CHART)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    made = subprocess.run(["helm", "template", "it", str(CHART)], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert set(re.findall(r"^kind: (\w+)$", made.stdout, re.MULTILINE)) == {
        "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Deployment", "Service",
    }  # fmt: skip
