"""The Compose file: its services know each other's names, and only this machine reaches them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksqlpy.config import Config
from ksqlpy.embedded.jars import broker_jars
from ksqlpy.embedded.java import find_java
from tests.deployment.containerfile import CONTAINERFILE, ROOT, instructions

FOLDER = CONTAINERFILE.parent
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_it_names_what_there_is() -> None:
    assert set(COMPOSE) == {"name", "services", "configs", "volumes"}
    for name, service in SERVICES.items():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (FOLDER / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], volume
        assert set(service.get("depends_on", ())) <= set(SERVICES) - {name}
        assert {c["source"] for c in service.get("configs", ())} <= set(COMPOSE["configs"])
        assert ("build" in service) or ":" in service["image"].rpartition("/")[2], "versions are pinned"
    build = SERVICES["ksqlpy"]["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]) == CONTAINERFILE


def test_only_this_machine_reaches_it() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(published) == 3 and all(p.startswith("127.0.0.1:") for p in published)


def test_the_server_can_write_to_the_volumes_of_its_image_only() -> None:
    server = SERVICES["ksqlpy"]
    assert server["read_only"] is True and server["cap_drop"] == ["ALL"]
    mounted = {v.split(":")[1] for v in server["volumes"] if not v.endswith(":ro")}
    mounted |= {t.split(":")[0] for t in server["tmpfs"]}
    [volumes] = [i.text for i in instructions() if i.name == "VOLUME"]
    assert mounted == set(yaml.safe_load(volumes))


def test_addresses_fit_together() -> None:
    config = Config.of(Config.from_file(FOLDER / "server.properties"))
    listeners = SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert f"INSIDE://{config.get('bootstrap.servers')}" in listeners
    [published] = SERVICES["kafka"]["ports"]
    assert f"OUTSIDE://localhost:{published.split(':')[1]}" in listeners
    target = f"{config.get('ksqlpy.allowed.hosts')}:{config.get('ksqlpy.port')}"
    scraped = yaml.safe_load(COMPOSE["configs"]["prometheus"]["content"])
    usual = yaml.safe_load((ROOT / "examples" / "monitoring" / "prometheus.yml").read_text(encoding="utf-8"))
    usual["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
    assert scraped == usual
    assert SERVICES["ksqlpy"]["ports"] == [f"127.0.0.1:8088:{config.get('ksqlpy.port')}"]


@pytest.mark.java
def test_kafka_takes_its_settings(tmp_path: Path) -> None:
    """The image makes them of the environment; Kafka's own tool reads them, and formats the folder."""
    given = SERVICES["kafka"]["environment"] | {"KAFKA_LOG_DIRS": str(tmp_path / "data")}
    settings = {n.removeprefix("KAFKA_").lower().replace("_", "."): value for n, value in given.items()}
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{n}={value}\n" for n, value in settings.items()), encoding="utf-8")
    command = [str(find_java().executable), "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, broker_jars()))]
    command += ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "data" / "meta.properties").exists()
