"""A small schema registry in this process, for tests and for cases that run in memory.

It has what they ask of one: subjects, versions, ids, and whether a schema can read what the one before wrote. Each
name in front of a path (:meth:`Registry.url`) is a registry with subjects of its own; ids are the same in all of them.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import ssl
import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ksqlpy.registry import PLAIN

__all__ = ["Registry", "shared_registry"]


class Registry:
    """The registry; :meth:`start` makes it answer.

    ``login``: user:password that it asks for, ``token``: the bearer token; empty for none. ``tls``: of its side, None
    for plain HTTP.
    """

    def __init__(self, login: str = "", token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.login = login
        self.token = token
        self.tls = tls
        self.compatibility: dict[str, str] = {}
        """NONE or BACKWARD of the subjects that differ from NONE; by the subject alone."""
        self.asked: list[str] = []
        """The requests so far, as ``GET /schemas/ids/1``."""
        self.away = False
        """Whether it answers 503 to all requests."""
        self._ids: dict[tuple[str, str], int] = {}
        self._schemas: dict[int, tuple[str, str]] = {}
        self._gone: set[int] = set()
        self._references: dict[int, list[dict[str, Any]]] = {}
        self._referred: dict[tuple[str, int], int] = {}
        """Versions of subjects that schemas refer to: those are found by any name, as schemas are by their ids."""
        self._subjects: dict[tuple[str, str], list[int]] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def start(self, port: int = 0) -> Registry:
        """Listens on this machine; 0: any free port."""
        handler = type("Handler", (_Handler,), {"registry": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        if self.tls is not None:  # each connection shakes hands in its own thread, at its first read
            self._server.socket = self.tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that do not trust it
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="schema registry", daemon=True).start()
        return self

    def stop(self) -> None:
        """Ends it, and the connections that are open; what it knows stays for the next start."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    @property
    def stopped(self) -> bool:
        """Whether it does not answer, also not on connections of before."""
        return self._server is None

    @property
    def port(self) -> int:
        """The port that it listens on."""
        assert self._server is not None
        return int(self._server.server_address[1])

    def url(self, name: str = "main") -> str:
        """The address of the registry of this name."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/{name}"

    # ------------------------------------------------------------ what it knows

    def put(self, schema: str, kind: str = PLAIN, references: Sequence[Mapping[str, Any]] = ()) -> int:
        """The id of the schema, a new one if it was not known.

        ``references``: objects of name, subject and version.
        """
        with self._lock:
            number = self._ids.get((kind, schema))
            if number is None:
                number = self._ids[kind, schema] = next(self._free())
                self._keep(number, schema, kind, references)
            return number

    def _free(self) -> Iterator[int]:
        return (n for n in itertools.count(1) if n not in self._schemas and n not in self._gone)

    def _keep(self, number: int, schema: str, kind: str, references: Sequence[Mapping[str, Any]]) -> None:
        self._schemas[number] = (kind, schema)
        self._references[number] = [dict(r) for r in references]

    def versions(self, subject: str, name: str = "main") -> list[str]:
        """The schemas of a subject, the oldest first."""
        return [self._schemas[n][1] for n in self._subjects.get((name, subject), [])]

    def register(
        self,
        subject: str,
        schema: str,
        kind: str = PLAIN,
        name: str = "main",
        references: Sequence[Mapping[str, Any]] = (),
    ) -> int:
        """Adds a schema as it is to a subject; gives its id."""
        number = self.put(schema, kind, references)
        for each in references:
            of = self._subjects.get((name, str(each["subject"])), [])
            if 0 < int(each["version"]) <= len(of):
                self._referred[str(each["subject"]), int(each["version"])] = of[int(each["version"]) - 1]
        ids = self._subjects.setdefault((name, subject), [])
        if number not in ids:
            ids.append(number)
        return number

    def forget(self, subject: str, name: str = "main") -> None:
        """Deletes a subject for good, and the schemas that no other subject has; their ids are not given again."""
        with self._lock:
            ids = self._subjects.pop((name, subject), [])
            for number in {*ids}.difference(*self._subjects.values()):
                del self._ids[self._schemas.pop(number)]
                self._gone.add(number)

    # ------------------------------------------------------------ what it answers

    def answer(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
        """Status and JSON of a request."""
        name, *rest = [urllib.parse.unquote(p) for p in path.strip("/").split("/")]
        match (method, rest):
            case "GET", ["schemas", "ids", number]:
                found = self._schemas.get(int(number)) if number.isdecimal() else None
                if found is None:
                    return _error(404, 40403, "Schema not found")
                return 200, self._shown(int(number))
            case "GET", ["schemas", "ids", number, "subjects"]:
                if not number.isdecimal() or int(number) not in self._schemas:
                    return _error(404, 40403, "Schema not found")
                return 200, [s for (of, s), ids in self._subjects.items() if of == name and int(number) in ids]
            case "GET", ["subjects", subject, "versions", version]:
                ids = self._subjects.get((name, subject))
                if not ids:
                    known = self._referred.get((subject, int(version))) if version.isdecimal() else None
                    if known is not None:
                        return 200, {"subject": subject, "version": int(version), "id": known, **self._shown(known)}
                    return _error(404, 40401, f"Subject '{subject}' not found.")
                if version != "latest" and not 0 < int(version) <= len(ids):
                    return _error(404, 40402, f"Version {version} not found.")
                at = len(ids) if version == "latest" else int(version)
                return 200, {"subject": subject, "version": at, "id": ids[at - 1], **self._shown(ids[at - 1])}
            case "POST", ["subjects", subject]:
                assert body is not None
                ids = self._subjects.get((name, subject))
                number_ = self._ids.get((body.get("schemaType", PLAIN), body["schema"]))
                if not ids:
                    return _error(404, 40401, f"Subject '{subject}' not found.")
                if number_ not in ids:
                    return _error(404, 40403, "Schema not found")
                return 200, {"subject": subject, "id": number_, "version": ids.index(number_) + 1}
            case "POST", ["subjects", subject, "versions"]:
                assert body is not None
                references = body.get("references") or ()
                return self._add(name, subject, body["schema"], body.get("schemaType", PLAIN), references)
        return _error(404, 404, "HTTP 404 Not Found")

    def _shown(self, number: int) -> dict[str, Any]:
        kind, schema = self._schemas[number]
        found: dict[str, Any] = {"schema": schema}
        if kind != PLAIN:
            found["schemaType"] = kind
        if self._references[number]:
            found["references"] = self._references[number]
        return found

    def _add(
        self, name: str, subject: str, schema: str, kind: str, references: Sequence[Mapping[str, Any]]
    ) -> tuple[int, Any]:
        before = self.versions(subject, name)
        if before and schema not in before and self.compatibility.get(subject, "NONE") == "BACKWARD":
            why = _unread(json.loads(schema), json.loads(before[-1]))
            if why is not None:
                said = f'Schema being registered is incompatible with an earlier schema for subject "{subject}": {why}'
                return _error(409, 409, said)
        return 200, {"id": self.register(subject, schema, kind, name, references)}


def _unread(reader: Any, writer: Any) -> str | None:
    """Why records by the one schema cannot be read by the other, as far as tests go: fields of records."""
    if not (isinstance(reader, dict) and isinstance(writer, dict)):
        return None if reader == writer else "TYPE_MISMATCH"
    if reader.get("type") != writer.get("type"):
        return "TYPE_MISMATCH"
    fields = {f["name"]: f for f in writer.get("fields", ())}
    for field in reader.get("fields", ()):
        if field["name"] not in fields:
            if "default" not in field:
                return f"READER_FIELD_MISSING_DEFAULT_VALUE: {field['name']}"
        elif fields[field["name"]]["type"] != field["type"]:
            return f"TYPE_MISMATCH: {field['name']}"
    return None


def _error(status: int, code: int, message: str) -> tuple[int, Any]:
    return status, {"error_code": code, "message": message}


class _Handler(BaseHTTPRequestHandler):
    registry: Registry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def _serve(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        registry = self.registry
        if registry.stopped:
            self.close_connection = True
            return
        registry.asked.append(f"{method} /{self.path.strip('/').partition('/')[2]}")
        login = f"Basic {base64.b64encode(registry.login.encode()).decode()}"
        wanted = f"Bearer {registry.token}" if registry.token else login if registry.login else None
        if registry.away:
            status, data = _error(503, 503, "away")
        elif wanted is not None and self.headers.get("Authorization") != wanted:
            status, data = _error(401, 401, "Unauthorized")
        else:
            status, data = registry.answer(method, self.path, body)
        written = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: requests are kept in ``asked``."""


_names = itertools.count(1)
_starting = threading.Lock()


@functools.cache
def _started() -> Registry:
    return Registry().start()


def shared_registry() -> tuple[Registry, str]:
    """The registry of this process, which is started once, and a name for subjects that nobody else uses."""
    with _starting:
        return _started(), f"memory{next(_names)}"
