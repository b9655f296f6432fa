"""The preview's server: loopback only, for this run's address only, nothing outside of the folder, and no client can stop it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Cli
from previewing import Answer, ask, ask_at, card, example, png, running, talk

from hubrelease.preview import images, requests, server
from hubrelease.preview.live import Live

SVG = b"<?xml version='1.0'?><!-- a --><svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    home = tmp_path_factory.mktemp("preview")
    (home / "secret.png").write_bytes(png())
    folder = card(
        home / "card",
        "# x\n\n![a](a.png)\n",
        a__png=png(),
        a__svg=SVG,
        fake__png=b"<html><script>alert(1)</script>",
        notes__txt=b"hello",
        bin__txt=b"a\0b",
    )
    (folder / "link.png").symlink_to(home / "secret.png")
    (folder / "below").symlink_to(home)
    (folder / ".env").write_text("TOKEN=x")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")
    (folder / "deep").mkdir()
    (folder / "deep" / "ü %.png").write_bytes(png())
    os.mkfifo(folder / "pipe.png")
    with running(folder) as made:
        yield made


def test_it_listens_on_loopback_alone(page: Live) -> None:
    assert page.server.server_address[0] == "127.0.0.1"
    assert page.url.startswith(f"http://127.0.0.1:{page.server.port}/")
    assert len(page.server.token) >= 32


def test_every_run_has_another_address(tmp_path: Path, page: Live) -> None:
    with running(card(tmp_path / "c", "x")) as other:
        assert other.server.token != page.server.token


def test_the_page_may_run_only_its_own_script(page: Live) -> None:
    one, two = ask(page), ask(page)
    policy = one.headers["content-security-policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert one.status == 200
    assert one.body.count(f'nonce="{nonce}"'.encode()) == 2
    assert policy != two.headers["content-security-policy"]
    assert "unsafe" not in policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'nonce-{nonce}'",
        "style-src": f"'nonce-{nonce}'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


@pytest.mark.parametrize("path", ["", "state", "file/a.png", "file/a.svg", "text/notes.txt", "page.css", "page.js", "nowhere"])
def test_every_answer_is_locked(page: Live, path: str) -> None:
    headers = ask(page, path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert ("sandbox" in headers["content-security-policy"]) == (path != "")
    assert not [name for name in headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost",
        "127.0.0.1.evil.example:{}",
        "evil.example:{}",
        "0.0.0.0:{}",
        "127.0.0.1:{}@evil.example",
    ],
)
def test_another_host_gets_nothing(page: Live, host: str) -> None:
    answer = ask(page, Host=host.format(page.server.port))
    assert answer.status == 421
    assert b"Card preview" not in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "LOCALHOST:{}"])
def test_its_own_names_are_answered(page: Live, host: str) -> None:
    assert ask(page, Host=host.format(page.server.port)).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}, 200),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
    ],
)
def test_a_page_elsewhere_gets_nothing(page: Live, headers: dict[str, str], status: int) -> None:
    assert ask(page, "state", **headers).status == status


@pytest.mark.parametrize(
    "target", ["/", "/state", "/wrong/", "/wrong/state", "//", "*", "http://evil.example/", "/%2e%2e/", "/favicon.ico", "/\xff/"]
)
def test_without_the_token_there_is_nothing(page: Live, target: str) -> None:
    assert ask_at(page, target).status in (400, 404)
    half = page.server.token[:-1]
    assert ask_at(page, f"/{half}/state").status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_sent(page: Live, method: str) -> None:
    assert ask(page, "state", method=method).status == 405


def test_head_answers_without_a_body(page: Live) -> None:
    answer = ask(page, "state", method="HEAD")
    assert answer.status == 200
    assert answer.body == b""
    assert int(answer.headers["content-length"]) > 100


@pytest.mark.parametrize(("path", "kind"), [("a.png", "image/png"), ("a.svg", "image/svg+xml"), ("deep/%C3%BC%20%25.png", "image/png")])
def test_pictures_of_the_folder_are_served(page: Live, path: str, kind: str) -> None:
    answer = ask(page, f"file/{path}")
    assert (answer.status, answer.headers["content-type"]) == (200, kind)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png", "..%2fsecret.png", "%2e%2e/secret.png", "%2e%2e%2fsecret.png", "deep/../../secret.png", "deep/..%2f..%2fsecret.png",
        "..%5csecret.png", "%252e%252e/secret.png", "/etc/passwd", "%2fetc%2fpasswd", "//etc/passwd", "link.png", "below/secret.png",
        "pipe.png", "fake.png", "notes.txt", ".env", ".git/config", "deep", "", "a.png/", "a.png%00", "a.png%0a", "%ff.png", "nowhere.png",
        "~/secret.png", "C:/secret.png", "./a.png", "README.md", "x" * 3000,
    ],
)  # fmt: skip
def test_nothing_but_its_pictures_is_served_as_a_picture(page: Live, path: str) -> None:
    began = time.monotonic()
    assert ask(page, f"file/{path}").status in (400, 404)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "path",
    [
        "../card/notes.txt",
        ".env",
        ".git/config",
        "below/card/notes.txt",
        "link.png",
        "bin.txt",
        "a.png",
        "/etc/passwd",
        "%2e%2e/secret.png",
        "pipe.png",
        "deep",
    ],
)
def test_no_other_text_is_served(page: Live, path: str) -> None:
    assert ask(page, f"text/{path}").status in (400, 404)


def test_texts_are_served_as_plain_text(page: Live) -> None:
    answer = ask(page, "text/notes.txt")
    assert (answer.status, answer.headers["content-type"], answer.body) == (200, "text/plain; charset=utf-8", b"hello")


@pytest.mark.parametrize(
    ("data", "kind"),
    [(png(), "image/png"), (b"\xff\xd8\xff\xe0x", "image/jpeg"), (b"GIF89a..", "image/gif"), (b"RIFF....WEBPVP8 ", "image/webp"), (SVG, "image/svg+xml"),
     (b"<svg>", "image/svg+xml"), (b"<html><svg>", None), (b"", None), (b"<!--" * 1000, None), (b"<!---->" * 580, None), (b"x<svg>", None)],
)  # fmt: skip
def test_pictures_are_told_by_their_bytes(data: bytes, kind: str | None) -> None:
    began = time.monotonic()
    assert images.media_type(data[:4096]) == kind
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize(
    "request_bytes",
    [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"\xff" * 100 + b"\r\n\r\n"],
)  # fmt: skip
def test_broken_requests_are_refused_and_harm_nobody(page: Live, request_bytes: bytes) -> None:
    try:
        answer = talk(page, request_bytes)
    except ConnectionError:
        answer = Answer(0, {}, b"")
    assert answer.status not in (200, 500)
    assert ask(page, "state").status == 200


def test_many_slow_clients_keep_nobody_out(page: Live) -> None:
    """More connections than the server holds, none of which ever asks for anything."""
    slow = [socket.create_connection(("127.0.0.1", page.server.port), timeout=5) for _ in range(server.MAX_CONNECTIONS + 40)]
    try:
        for line in slow[-10:]:
            line.sendall(b"GET /")
        began = time.monotonic()
        assert ask(page, "state").status == 200
        assert time.monotonic() - began < 2
        assert len(page.server.open) <= server.MAX_CONNECTIONS
    finally:
        for line in slow:
            line.close()


def test_a_client_that_does_not_read_keeps_nobody_out(page: Live) -> None:
    with socket.create_connection(("127.0.0.1", page.server.port), timeout=5) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        line.sendall(f"GET /{page.server.token}/state HTTP/1.1\r\nHost: 127.0.0.1:{page.server.port}\r\n\r\n".encode())
        assert ask(page, "state").status == 200


def test_the_address_is_judged_without_a_server() -> None:
    good = {"host": "127.0.0.1:80"}
    assert requests.judge("GET", "/t/file/a%20b?x=1&x=2", good, 80, "t") == requests.Asked("file", "a b", {"x": "1"})
    assert requests.judge("GET", "/t/", good, 80, "t") == requests.Asked("page", "", {})
    assert requests.judge("GET", "/t/" + "?a=1&" * 50, good, 80, "t") == requests.Refusal(400, "not a path of this server")


# ------------------------------------------------------------------------------------------------------- the command


def start(*arguments: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "hubrelease", "card", "preview", "--no-open", *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    folder = example(tmp_path / "release")
    process = start(str(folder))
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    finally:
        process.kill()
    assert (process.returncode, err) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == ["receipts", "release.lock.json", "release.yaml"]  # nothing was written


def test_a_folder_without_a_card_ends_at_once(cli: Cli, tmp_path: Path) -> None:
    said = cli("card", "preview", tmp_path, "--no-open", "--json")
    assert (said.code, said.kinds) == (3, ["local-file-missing"])
    assert cli("card", "preview", tmp_path / "nowhere", "--no-open", "--json").code == 3


def test_a_port_that_is_taken_ends_at_once(cli: Cli, tmp_path: Path, page: Live) -> None:
    said = cli("card", "preview", card(tmp_path / "c", "x"), "--no-open", "--json", "--port", str(page.server.port))
    assert said.code == 3
    assert "can't be opened" in said.problems[0]["message"]


@pytest.mark.parametrize("package", ["nh3", "mdit_py_plugins.gfm", "markdown_it"])
def test_without_the_extra_the_command_says_what_to_install(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    said = cli("card", "preview", card(tmp_path / "c", "# x"), "--no-open", "--json")
    assert (said.code, said.kinds) == (3, ["tool-missing"])
    assert said.problems[0]["mend"] == "pip install 'hubrelease[preview]'"
