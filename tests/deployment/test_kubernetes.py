"""The example for Kubernetes: its chart passes Helm's linter, sets properties that may be set, and gives no rights."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksqlpy.config import Config
from ksqlpy.spark.masters import check_cluster, check_master, settings_for
from ksqlpy.spark.secret import authenticated
from ksqlpy.spark.session import SETTINGS
from ksqlpy.spark.userconf import allowed
from tests.deployment.containerfile import ROOT, instructions

FOLDER = ROOT / "examples" / "kubernetes"
CHART = FOLDER / "chart"
VALUES = {
    "listeners": "https://0.0.0.0:8088",
    "ksqlpy.insecure": "true",
    "ksqlpy.allowed.hosts": "ksqlpy,ksqlpy.default.svc",
    "ksqlpy.checkpoint.dir": "s3a://bucket/ksqlpy",
    "bootstrap.servers": "kafka:9092",
    "ksql.schema.registry.url": "http://registry:8081",
    "ksqlpy.spark.memory": "2g",
}
"""What stands for a value of the chart; all others are texts."""

LOGIN = ("--set", "login.users.secret=u")
ALL = (
    *LOGIN,
    *("--set", "login.tokens.secret=t,tls.secret=c,secret=s,schemaRegistry=http://registry:8081,replicas=2"),
    *("--set", "networkPolicy.enabled=true,serviceMonitor.enabled=true,serviceMonitor.token.secret=m"),
    *("--set", "hosts={ksql.example},imagePullSecrets[0].name=p,serviceMonitor.labels.release=prometheus"),
)
BASIC = {"ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Deployment", "Service", "PodDisruptionBudget"}

needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="there is no helm")


def check(given: dict[str, str]) -> Config:
    """Whether a server takes these properties."""
    config = Config.of(given)
    master = config.get("ksqlpy.spark.master")
    check_master(master)
    check_cluster(master, config.get("ksqlpy.checkpoint.dir"), config.get("bootstrap.servers"))
    settings = authenticated(master, config.spark, config.get("ksqlpy.spark.secret.file"))
    assert settings["spark.authenticate"] == "true"
    assert len(allowed(settings, {**SETTINGS, **settings_for(master)})) >= 8
    return config


def test_the_server_takes_its_properties() -> None:
    text = (CHART / "templates" / "configmap.yaml").read_text(encoding="utf-8")
    found = dict(re.findall(r"^    ([a-z][\w.]+)=(.*)$", text, re.MULTILINE))
    assert len(found) > 16
    check({name: VALUES.get(name, "some" if "{{" in value else value) for name, value in found.items()})


def test_the_page_builds_what_there_is() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    [folder] = re.findall(r"^    docker build -t \S+executor\S* (\S+)$", page, re.MULTILINE)
    found = instructions(FOLDER / folder / "Containerfile")
    [copied] = [i.text.split()[0] for i in found if i.name == "COPY"]
    assert (FOLDER / folder / copied).exists()
    assert found[-1].name == "USER" and int(found[-1].text) > 0


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["helm", *arguments], capture_output=True, text=True, check=False)


def rendered(*values: str) -> dict[str, list[dict[str, Any]]]:
    """The manifests by their kinds."""
    done = helm("template", "it", str(CHART), "--namespace", "streams", *values)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, Any]]] = {}
    for manifest in filter(None, yaml.safe_load_all(done.stdout)):
        found.setdefault(manifest["kind"], []).append(manifest)
    return found


@needs_helm
@pytest.mark.parametrize("values", [LOGIN, ALL, ("--set", "insecure=true")], ids=["login", "all", "insecure"])
def test_helm_has_nothing_against_it(values: tuple[str, ...]) -> None:
    done = helm("lint", "--strict", str(CHART), *values)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_helm
def test_nobody_gets_a_server_that_asks_nobody() -> None:
    done = helm("template", "it", str(CHART))
    assert done.returncode != 0 and "nobody would be asked for a login" in done.stderr
    provider = "--set-string", r"properties.ksqlpy\.auth\.jwt\.jwks=https://id.example/keys"
    assert set(rendered(*provider)) == BASIC


@needs_helm
def test_what_is_not_wanted_is_not_there() -> None:
    assert set(rendered(*LOGIN)) == BASIC
    assert set(rendered(*ALL)) == BASIC | {"NetworkPolicy", "ServiceMonitor"}
    assert set(rendered(*LOGIN, "--set", "executors.instances=1")) == BASIC - {"PodDisruptionBudget"}


@needs_helm
@pytest.mark.parametrize("values", [LOGIN, ALL, ("--set", "insecure=true")], ids=["login", "all", "insecure"])
def test_the_rendered_properties_are_those_of_a_server(values: tuple[str, ...], tmp_path: Path) -> None:
    found = rendered(*values)
    [map_], [deployment] = found["ConfigMap"], found["Deployment"]
    file = tmp_path / "server.properties"
    file.write_text(map_["data"]["server.properties"], encoding="utf-8")
    given = Config.from_file(file)
    config = check(given)
    assert (config.get("ksqlpy.insecure") == "true") is ("insecure=true" in values)
    [server] = deployment["spec"]["template"]["spec"]["containers"]
    mounts = {m["mountPath"] for m in server["volumeMounts"]}
    named = [v for n, v in given.items() if n.endswith((".file", ".certificate", ".key")) and v.startswith("/")]
    assert all(str(Path(v).parent) in mounts for v in named)
    assert len(named) == {LOGIN: 1, ALL: 4}.get(values, 0)
    assert ("it.streams.svc" in config.get("ksqlpy.allowed.hosts")) and config.get("ksqlpy.spark.master")


@needs_helm
@pytest.mark.parametrize("values", [LOGIN, ALL], ids=["login", "all"])
def test_the_pod_has_no_rights(values: tuple[str, ...]) -> None:
    [deployment] = rendered(*values)["Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [server] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    [user] = [i.text for i in instructions() if i.name == "USER"]
    assert pod["securityContext"]["runAsUser"] == int(user)
    assert server["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {m["name"] for m in server["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    writable = {m["mountPath"] for m in server["volumeMounts"] if not m.get("readOnly")}
    [volumes] = [yaml.safe_load(i.text) for i in instructions() if i.name == "VOLUME"]
    assert writable == set(volumes)
    scheme = "HTTPS" if values == ALL else "HTTP"
    probes = [server[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")]
    assert probes == [{"path": p, "port": "http", "scheme": scheme} for p in ("/live", "/ready")]
    assert {"requests", "limits"} <= set(server["resources"])


@needs_helm
def test_labels_and_ports_fit_together() -> None:
    found = rendered(*ALL)
    [deployment], [service], [budget] = found["Deployment"], found["Service"], found["PodDisruptionBudget"]
    [monitor] = found["ServiceMonitor"]
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= labels
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    ports = {p["name"]: p["containerPort"] for p in deployment["spec"]["template"]["spec"]["containers"][0]["ports"]}
    server, executors = found["NetworkPolicy"]
    assert {p["port"] for rule in server["spec"]["ingress"] for p in rule["ports"]} == set(ports)
    assert monitor["spec"]["endpoints"][0]["port"] in {p["name"] for p in service["spec"]["ports"]}
    # Spark gives executors the label spark-role, and those that the properties name.
    properties = found["ConfigMap"][0]["data"]["server.properties"]
    of_executors = dict(re.findall(r"spark\.kubernetes\.executor\.label\.(\S+)=(\S+)", properties))
    of_executors["spark-role"] = "executor"
    for selector in (budget["spec"]["selector"], executors["spec"]["podSelector"]):
        assert selector["matchLabels"] == of_executors
    assert f"spark.driver.port={ports['driver']}\n" in properties
    assert f"spark.blockManager.port={ports['blocks']}\n" in properties
    assert budget["spec"]["minAvailable"] == 3  # of two executors each of the server and of its standby
