"""Certificates and keys in the forms that Java's clients and librdkafka read: PEM, PKCS#12, JKS."""

from __future__ import annotations

import os
import re
import subprocess
from enum import Enum
from pathlib import Path

from ksqlpy.embedded.java import find_java
from ksqlpy.errors import ConfigProblem, file_reason

__all__ = ["Form", "certificates_in", "form_of", "pem_blocks", "pem_text", "private_key", "read_store"]

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


class Form(Enum):
    """The form of a file; the value is what Java's clients call it."""

    PEM = "PEM"
    PKCS12 = "PKCS12"
    JKS = "JKS"


def read_store(file: str, name: str) -> bytes:
    """The content of a file; ``name``: the setting. Raises ConfigProblem ``security-setting``."""
    try:
        return Path(file).read_bytes()
    except OSError as e:
        raise ConfigProblem("security-setting", f"the file {file} of {name} cannot be read: {file_reason(e)}") from e


def form_of(content: bytes, file: str, name: str) -> Form:
    """What is in the file of a setting; raises ConfigProblem ``security-setting`` if that is nothing known."""
    if b"-----BEGIN " in content:
        return Form.PEM
    if content[:4] in (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"):
        return Form.JKS
    if content[:1] == b"\x30":
        return Form.PKCS12
    raise ConfigProblem("security-setting", f"the file {file} of {name} is neither PEM nor PKCS#12 nor JKS")


def pem_blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of a PEM text, with their kinds; line breaks may be missing or written as ``\\n``."""
    return [(kind, _block(kind, body)) for kind, body in _BLOCK.findall(text)]


def _block(kind: str, body: str) -> str:
    digits = re.sub(r"\\n|\s", "", body)
    lines = [digits[i : i + 64] for i in range(0, len(digits), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""])


def pem_text(text: str, kind: str, name: str) -> str:
    """The blocks of that kind; raises ConfigProblem ``security-setting`` if there is none."""
    found = "".join(block for of, block in pem_blocks(text) if of == kind)
    if not found:
        raise ConfigProblem("security-setting", f"{name} holds no {kind} in PEM")
    return found


def private_key(text: str, name: str) -> str:
    """The private key of a PEM text, in the one form that Java's clients read; raises ``security-setting``."""
    kinds = [kind for kind, _ in pem_blocks(text)]
    for kind in ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"):
        if kind in kinds:
            return pem_text(text, kind, name)
    other = next((k for k in kinds if k.endswith("PRIVATE KEY")), None)
    if other is None:
        raise ConfigProblem("security-setting", f"{name} holds no PRIVATE KEY in PEM")
    raise ConfigProblem(
        "security-setting",
        f"{name} holds a key of the kind {other}, which Java's clients do not read: they read PKCS#8",
        hint="openssl pkcs8 -topk8 -in key.pem -out pkcs8.pem",
    )


def certificates_in(file: str, password: str | None, name: str) -> str:
    """The certificates of a JKS or PKCS#12 file as PEM; raises ConfigProblem ``security-setting``.

    By Java's own tool, which each Java has in it. The password goes by the environment, where others do not see it.
    """
    java = find_java()
    command = [str(java.executable), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command += ["-m", "java.base/sun.security.tools.keytool.Main", "-list", "-rfc", "-keystore"]
    command.append(file)
    environment = dict(os.environ)
    if password is not None:
        environment["KSQLPY_STORE_PASSWORD"] = password
        command += ["-storepass:env", "KSQLPY_STORE_PASSWORD"]
    done = subprocess.run(command, capture_output=True, text=True, input="\n", env=environment, check=False)
    found = "".join(block for kind, block in pem_blocks(done.stdout) if kind == "CERTIFICATE")
    if done.returncode == 0 and found:
        return found
    said = done.stdout.strip().splitlines()
    why = (
        said[0].removeprefix("keytool error: ")
        if done.returncode and said
        else "it holds none, or its password is missing"
    )
    raise ConfigProblem("security-setting", f"the certificates in {file} of {name} cannot be read: {why}")
