"""Certificates and keys in the forms that Java's clients and librdkafka read: PEM, PKCS#12, JKS."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from ksqlpy.embedded.java import find_java
from ksqlpy.errors import ConfigProblem, file_reason

__all__ = ["Form", "certificates_in", "key_in", "pem_blocks", "pem_text", "private_key", "read_store", "typed_store"]

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


def typed_store(file: str, name: str, type_: str | None, type_name: str) -> tuple[Form, bytes]:
    """What the file of setting ``name`` is, and its content; ``type_``: what setting ``type_name`` says that it is.

    Raises ConfigProblem ``security-setting``, also where the file is something else.
    """
    content = read_store(file, name)
    form = _form_of(content, file, name)
    given = (type_ or form.value).upper()
    # Java takes PKCS#12 for JKS, too, which is its default.
    if given != form.value and (given, form) != ("JKS", Form.PKCS12):
        raise ConfigProblem("security-setting", f"{type_name} is {given}, but the file {file} is {form.value}")
    return form, content


def _form_of(content: bytes, file: str, name: str) -> Form:
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
    """The certificates of a JKS or PKCS#12 file as PEM; raises ConfigProblem ``security-setting``."""
    done = _keytool(["-list", "-rfc", "-keystore", file], {"-storepass": password})
    found = "".join(block for kind, block in pem_blocks(done.stdout) if kind == "CERTIFICATE")
    if done.returncode == 0 and found:
        return found
    why = _complaint(done) if done.returncode else "it holds none, or its password is missing"
    raise ConfigProblem("security-setting", f"the certificates in {file} of {name} cannot be read: {why}")


def key_in(file: str, password: str, key_password: str | None, name: str) -> tuple[str, str]:
    """The key of a JKS or PKCS#12 file, without a password, and its certificate with those above it: as PEM.

    Java's tool takes the key out of the file, and OpenSSL's writes it as PEM. Raises ConfigProblem
    ``security-setting``.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ConfigProblem(
            "security-setting",
            f"the key in {file} of {name} cannot be read: there is no program openssl",
            hint="install openssl, or give key and certificate as PEM",
        )
    listed = _keytool(["-list", "-keystore", file], {"-storepass": password})
    keys = re.findall(r"^([^,\n]+), .*PrivateKeyEntry", listed.stdout, re.MULTILINE)
    if listed.returncode or len(keys) != 1:
        why = _complaint(listed) if listed.returncode else f"it holds {len(keys) or 'no'} keys, and must hold one"
        raise ConfigProblem("security-setting", f"the key in {file} of {name} cannot be read: {why}")
    once = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="ksqlpy-key-") as folder:  # for this user only
        store = os.path.join(folder, "key.p12")
        passwords = {"-srcstorepass": password, "-srckeypass": key_password or password, "-deststorepass": once}
        command = ["-importkeystore", "-noprompt", "-srckeystore", file, "-srcalias", keys[0]]
        done = _keytool([*command, "-destkeystore", store, "-deststoretype", "PKCS12"], passwords)
        if done.returncode:
            raise ConfigProblem("security-setting", f"the key in {file} of {name} cannot be read: {_complaint(done)}")
        environment = {**os.environ, "KSQLPY_ONCE": once}

        def part(*options: str) -> str:
            asked = [openssl, "pkcs12", "-in", store, "-passin", "env:KSQLPY_ONCE", *options]
            said = subprocess.run(asked, capture_output=True, text=True, env=environment, check=False)
            return "".join(block for _, block in pem_blocks(said.stdout))

        key, own, above = part("-nocerts", "-nodes"), part("-clcerts", "-nokeys"), part("-cacerts", "-nokeys")
    if not key or not own:
        raise ConfigProblem("security-setting", f"the key in {file} of {name} cannot be read by openssl")
    return key, own + above


def _keytool(arguments: Sequence[str], passwords: Mapping[str, str | None]) -> subprocess.CompletedProcess[str]:
    """Java's own tool, which each Java has in it. Passwords go by the environment, where others do not see them."""
    command = [str(find_java().executable), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command += ["-Duser.language=en", "-m", "java.base/sun.security.tools.keytool.Main", *arguments]
    environment = dict(os.environ)
    for option, password in passwords.items():
        if password is not None:
            variable = f"KSQLPY_{option.strip('-').upper()}"
            environment[variable] = password
            command += [f"{option}:env", variable]
    return subprocess.run(command, capture_output=True, text=True, input="\n", env=environment, check=False)


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    said = done.stdout.strip().splitlines()
    return said[0].removeprefix("keytool error: ") if said else f"keytool ends with status {done.returncode}"
