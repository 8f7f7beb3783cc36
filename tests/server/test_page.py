"""GET /ui: the files of the web page, with and without a login, built and not built."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.backend import State
from ksqlpy.server.page import HEADERS, Files
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SCRIPT = "export const a = 1;\n" * 200


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    (folder / "assets").mkdir()
    (folder / "index.html").write_text("<!doctype html><title>page</title>", encoding="utf-8")
    (folder / "assets" / "index-1a2b.js").write_text(SCRIPT, encoding="utf-8")
    (folder / "icon.svg").write_text("<svg/>", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(built: Path) -> Iterator[ServerThread]:
    """One that wants a login for all else."""
    users = built.parent / "users"
    add_user(users, "ann", "correct horse", frozenset({"admin"}))
    engine = FakeEngine()
    engine.config = Config.of({"ksqlpy.auth.users.file": str(users)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Files.__init__, "__defaults__", (built,))
        with ServerThread(engine) as running:
            yield running


@pytest.fixture(scope="module")
def http(server: ServerThread) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        yield client


def test_a_browser_is_led_to_the_page(http: httpx.Client) -> None:
    answer = http.get("/", headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/")
    assert http.get("/", headers=HTML, follow_redirects=True).text.startswith("<!doctype html>")
    assert http.get("/ui", follow_redirects=True).url.path == "/ui/"
    assert http.get("/").status_code == 401, "no browser: it asks for /info, which wants a login"
    known = http.get("/", auth=("ann", "correct horse"))
    assert (known.status_code, known.headers["location"]) == (307, "/info")


def test_files_need_no_login_and_data_does(http: httpx.Client) -> None:
    for path in ("/ui/", "/ui/index.html", "/ui/assets/index-1a2b.js", "/ui/icon.svg", "/ui/source/RIDES"):
        assert http.get(path).status_code == 200, path
    for path in ("/graph", "/figures", "/whoami", "/figures/history", "/info", "/uix", "/ui.txt"):
        assert http.get(path, headers=HTML).status_code == 401, path
    for path in ("/check", "/complete", "/deadletters"):
        assert http.post(path, json={}).status_code == 401, path


def test_what_may_be_kept(http: httpx.Client) -> None:
    script = http.get("/ui/assets/index-1a2b.js")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert http.get("/ui/icon.svg").headers["content-type"] == "image/svg+xml"
    page = http.get("/ui/")
    assert page.headers["cache-control"] == "no-cache"
    again = http.get("/ui/", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_page_that_has_not_changed_is_not_sent_again(http: httpx.Client) -> None:
    tag = http.get("/ui/").headers["etag"]
    assert tag.startswith('W/"'), "it is the tag of the packed page, too"
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):  # proxies make tags weak
        assert http.get("/ui/", headers={"If-None-Match": known}).status_code == 304, known
    for unknown in ('"other"', 'W/"other"', tag.strip('W/"'), ""):
        assert http.get("/ui/", headers={"If-None-Match": unknown}).status_code == 200, unknown


def test_what_watches_a_server_may_ask_for_the_head_only(http: httpx.Client) -> None:
    for path in ("/ui/", "/ui/flow", "/ui/assets/index-1a2b.js", "/ui"):
        whole, head = http.get(path), http.head(path)
        assert (head.status_code, head.content) == (whole.status_code, b""), path
        assert head.headers.get("content-length") == whole.headers.get("content-length")
        assert head.headers.get("etag") == whole.headers.get("etag")
    assert http.head("/ui/none.css").status_code == 404


def test_headers_that_keep_scripts_of_others_out(http: httpx.Client) -> None:
    for path in ("/ui/", "/ui/assets/index-1a2b.js", "/ui/anything"):
        answer = http.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS)
    policy = HEADERS["Content-Security-Policy"]
    assert "script-src 'self';" in policy and "frame-ancestors 'none'" in policy and "default-src 'self'" in policy


def test_the_gate_stands_before_it(http: httpx.Client) -> None:
    assert http.get("/ui/", headers={"Host": "evil.example"}).status_code == 421
    assert http.get("/ui/", headers={"Origin": "http://evil.example"}).status_code == 403


def test_files_that_are_not_there(http: httpx.Client) -> None:
    for path in ("/ui/assets/none.js", "/ui/assets/none", "/ui/none.css", "/ui/../users", "/ui/%2e%2e/users.txt"):
        answer = http.get(path)
        assert answer.status_code in (401, 404), path
    assert http.get("/ui/assets/..%2F..%2Fusers.txt").status_code == 404
    assert http.post("/ui/").status_code == 405


def test_it_is_compressed_for_who_takes_that(http: httpx.Client, server: ServerThread) -> None:
    packed = http.get("/ui/assets/index-1a2b.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip" and packed.text == SCRIPT
    assert int(packed.headers["content-length"]) == len(gzip.compress(SCRIPT.encode(), 6, mtime=0)) < len(SCRIPT)
    for weighed in ("br, gzip;q=0.5", "GZIP", "x-gzip", "gzip; q=1.0"):
        assert "content-encoding" in http.get("/ui/assets/index-1a2b.js", headers={"Accept-Encoding": weighed}).headers
    for other in ("identity", "gzip;q=0", "gzip; q=0.000, br", "", "notgzip"):
        plain = http.get("/ui/assets/index-1a2b.js", headers={"Accept-Encoding": other})
        assert "content-encoding" not in plain.headers and plain.text == SCRIPT, other


def test_it_is_there_while_the_server_starts(http: httpx.Client, server: ServerThread) -> None:
    server.backend.state = State.STARTING
    try:
        assert http.get("/ui/").status_code == 200
        assert http.get("/whoami", auth=("ann", "correct horse")).json()["error_code"] == 50302
    finally:
        server.backend.state = State.READY


def test_a_page_that_was_not_built_says_how(tmp_path: Path) -> None:
    files = Files(tmp_path / "static")
    found = files.find("")
    assert found is not None and b"<code>make web</code>" in found.content
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "index.html").write_text("built", encoding="utf-8")
    found = files.find("flow")
    assert found is not None and found.content == b"built", "it is found when it is there"
