"""The server over a real socket, with an engine that needs no torch. Needs Starlette, uvicorn, Pillow: `make server`."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the environment of `make server`")
pytest.importorskip("PIL", reason="the environment of `make server`")
pytest.importorskip("python_multipart", reason="the environment of `make server`")

import pictures
from fakes import FACTS, FakeEngine
from running import BODY, QUESTION, Running, answer_of, multipart, request_head, running
from server.bodies import MAX_BODY_BYTES, Patience

pytestmark = pytest.mark.heavy
ALL = {
    "state": {"a": 1},
    "questions": {
        "c": {"type": "choice", "instructions": "Which?", "criteria": {"x": None, "y": "why"}},
        "n": {"type": "noul", "instructions": "Is it?"},
        "s": {"type": "score", "instructions": "How?", "criteria": ["low", "high"]},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def shared():
    with running() as found:
        yield found


def refused(said: Any, status: int, error: str) -> None:
    assert (said.status, said.json["error"]) == (status, error)
    assert set(said.json) == {"error", "detail"}
    assert said.headers["content-type"] == "application/json"


# ------------------------------------------------------------------------------------------------------------- answers


def test_all_three_types_are_answered_in_one_request(shared: Running) -> None:
    said = shared.post(ALL)
    assert said.status == 200
    assert list(said.json["answers"]) == ["c", "n", "s"]
    assert [a["type"] for a in said.json["answers"].values()] == ["choice", "noul", "score"]
    assert said.json["model"] == "owner/tiny"
    assert said.json["usage"]["input_tokens"] == 120
    assert said.json["usage"]["rotations"] == 4
    assert said.headers["x-request-id"]


def test_models_says_what_is_loaded(shared: Running) -> None:
    assert shared.get("/v1/models").json == {**FACTS, "loaded": True}


def test_health_and_metrics(shared: Running) -> None:
    shared.post({**ALL, "state": "a secret word"})
    assert shared.get("/healthz").json == {"status": "ready"}
    text = shared.get("/metrics").data.decode()
    assert 'systemone_requests_total{route="/v1/systemone",status="200"}' in text
    assert "systemone_queue_waiting 0" in text
    assert 'systemone_device_memory_mib{kind="peakMiB"} 2' in text
    assert "secret" not in text


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
def test_json_bodies(shared: Running, content_type: str) -> None:
    assert shared.post(BODY, content_type).status == 200


def test_images_as_data_urls_and_as_files_are_the_same(shared: Running) -> None:
    images = [pictures.saved("PNG"), pictures.turned()]
    urls = [pictures.data_url(images[0]), pictures.data_url(images[1], "image/jpeg")]
    by_url = shared.post({**BODY, "images": urls}).json
    sizes = [image.size for image in shared.engine.seen_images]
    by_file = shared.post(*multipart(BODY, *images)).json
    assert sizes == [image.size for image in shared.engine.seen_images] == [(8, 6), (6, 8)]
    assert all(image.mode == "RGB" for image in shared.engine.seen_images)
    assert by_url["answers"] == by_file["answers"]
    assert by_url["usage"]["images"] == by_file["usage"]["images"]
    assert by_url["usage"]["images"][1] == {
        "sha256": by_url["usage"]["images"][1]["sha256"],
        "width": 6,
        "height": 8,
        "bytes": len(images[1]),
    }
    assert by_url["usage"]["prefill_ms"] == 1.5


def test_a_chunked_body(shared: Running) -> None:
    with shared.raw() as connection:
        data = json.dumps(BODY).encode()
        connection.sendall(
            b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for start in range(0, len(data), 7):
            piece = data[start : start + 7]
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        assert answer_of(connection).status == 200


def test_the_description_names_every_route(shared: Running) -> None:
    paths = shared.get("/openapi.json").json["paths"]
    assert sorted(paths) == ["/healthz", "/metrics", "/openapi.json", "/v1/models", "/v1/systemone"]


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "invalid_json"), (b"{", "invalid_json"), (b"[" * 1_000_000, "invalid_json"), (b'{"a":1,"a":1}', "invalid_json"), (b'{"state":NaN}', "invalid_json"),
        (b"\xff\xfe", "invalid_json"), (b"[]", "invalid_request"), (b"{}", "invalid_request"), ({**BODY, "state": "x" * 131_100}, "invalid_state"),
        ({**BODY, "questions": {f"q{n}": QUESTION for n in range(9)}}, "invalid_request"), (b'{"questions":{"q":1,"q":2}}', "invalid_json"),
        ({"questions": {"q": {"type": "choice", "instructions": "?", "criteria": {str(n): None for n in range(256)}}}}, "too_many_options"),
        ({**BODY, "images": ["x"]}, "bad_image"), ({**BODY, "images": [1]}, "bad_image"), ({**BODY, "images": ["data:image/png;base64,!!"]}, "bad_image"),
        ({**BODY, "images": ["data:text/html;base64,aaaa"]}, "bad_image"), ({**BODY, "images": ["data:image/png,aaaa"]}, "bad_image"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_bad_body_is_422(shared: Running, body: Any, error: str) -> None:
    refused(shared.post(body), 422, error)


IMAGES = {
    "truncated jpeg": pictures.saved("JPEG", (64, 64))[:-40], "truncated png": pictures.saved("PNG", (64, 64))[:-30], "truncated webp": pictures.saved("WEBP", (64, 64))[:-10],
    "half": pictures.saved("PNG", (99, 99))[:60], "animated png": pictures.animated("PNG"), "animated webp": pictures.animated("WEBP"), "gif": pictures.saved("GIF"), "bmp": pictures.saved("BMP"),
    "tiff": pictures.saved("TIFF"), "two pictures": pictures.animated("MPO"), "empty": b"", "text": b"not an image", "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "zero size": pictures.png_bomb(0, 5), "lying size": pictures.png_bomb(3000, 3000),
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_a_bad_image_is_422(shared: Running, name: str) -> None:
    refused(shared.post(*multipart(BODY, IMAGES[name])), 422, "bad_image")
    refused(shared.post({**BODY, "images": [pictures.data_url(IMAGES[name])]}), 422, "bad_image")


def test_an_image_bomb_is_413_and_makes_no_pixels(shared: Running) -> None:
    from server.metrics import resident_bytes

    before = resident_bytes()
    for size in ((20_000, 1_001), (60_000, 60_000), (2**31 - 1, 2**31 - 1)):
        refused(shared.post(*multipart(BODY, pictures.png_bomb(*size))), 413, "image_too_large")
    refused(shared.post(*multipart(BODY, pictures.saved("WEBP", (16_383, 1_300)))), 413, "image_too_large")
    assert resident_bytes() - before < 200 * 2**20


@pytest.mark.parametrize("size", [(1, 201), (5000, 1), (1, 20_000_000)])
def test_an_image_that_is_too_narrow_for_the_model_is_422_and_makes_no_pixels(shared: Running, size: tuple[int, int]) -> None:
    refused(shared.post(*multipart(BODY, pictures.png_bomb(*size))), 422, "bad_image")


def test_an_image_of_more_than_20_mib_is_413(shared: Running) -> None:
    refused(shared.post(*multipart(BODY, pictures.saved("PNG") + b"\0" * (20 * 2**20))), 413, "image_too_large")
    refused(shared.post({**BODY, "images": [pictures.data_url(b"\0" * (20 * 2**20 + 1))]}), 413, "image_too_large")


@pytest.mark.parametrize(
    ("form", "mode", "colour"),
    [
        ("PNG", "RGBA", (9, 9, 9, 0)),
        ("PNG", "P", 3),
        ("PNG", "1", 1),
        ("PNG", "LA", (5, 5)),
        ("JPEG", "CMYK", (1, 2, 3, 4)),
        ("JPEG", "L", 7),
    ],
)
def test_other_modes_become_rgb(shared: Running, form: str, mode: str, colour: Any) -> None:
    assert shared.post(*multipart(BODY, pictures.saved(form, mode=mode, colour=colour))).status == 200
    assert shared.engine.seen_images[0].mode == "RGB"


def test_a_grey_of_16_bits_keeps_its_brightness(shared: Running) -> None:
    shared.post(*multipart(BODY, pictures.saved("PNG", mode="I;16", colour=128 * 257)))
    assert shared.engine.seen_images[0].getpixel((0, 0)) == (128, 128, 128)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        multipart(BODY, b"a", b"b", b"c"), multipart(BODY, name="other"), (multipart(BODY)[0], "multipart/form-data"), (multipart(BODY)[0], "multipart/form-data; boundary=other"),
        (multipart(BODY)[0][:-6], "multipart/form-data; boundary=b0und"), (b"", "multipart/form-data; boundary=b0und"), (b"junk", "multipart/form-data; boundary=b0und"),
        (multipart(BODY)[0], "multipart/form-data; boundary=" + "x" * 200), (multipart(BODY)[0].replace(b"name=", b"nam="), "multipart/form-data; boundary=b0und"),
        (multipart(BODY)[0].replace(b"Content-D", b"X: " + b"y" * 9000 + b"\r\nContent-D"), "multipart/form-data; boundary=b0und"),
        (multipart(BODY)[0].split(b"--b0und--")[0] + multipart(BODY)[0], "multipart/form-data; boundary=b0und"),
    ],
)  # fmt: skip
def test_a_bad_form_is_422(shared: Running, body: bytes, content_type: str) -> None:
    refused(shared.post(body, content_type), 422, "invalid_form")


def test_images_come_one_way_only(shared: Running) -> None:
    good = pictures.saved("PNG")
    refused(shared.post(*multipart({**BODY, "images": [pictures.data_url(good)]}, good)), 422, "invalid_request")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
def test_another_content_type_is_422(shared: Running, content_type: str) -> None:
    refused(shared.post(BODY, content_type), 422, "invalid_content_type")


def test_a_compressed_body_is_422(shared: Running) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    refused(shared.ask("POST", "/v1/systemone", b"x", headers), 422, "invalid_content_type")


def test_a_body_of_128_mib_is_taken_and_one_more_byte_is_not(shared: Running) -> None:
    text = json.dumps(BODY).encode()
    assert shared.post(text + b" " * (MAX_BODY_BYTES - len(text))).status == 200
    refused(shared.post(text + b" " * (MAX_BODY_BYTES - len(text) + 1)), 413, "body_too_large")


def test_a_long_body_is_refused_by_its_length_alone(shared: Running) -> None:
    with shared.raw() as connection:
        connection.sendall(request_head(2**40, "Expect: 100-continue\r\n"))
        started = time.monotonic()
        refused(answer_of(connection), 413, "body_too_large")
        assert time.monotonic() - started < 1


def test_a_long_body_without_a_length_is_refused_while_it_streams(shared: Running) -> None:
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    with shared.raw() as connection:
        connection.sendall(
            b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(MAX_BODY_BYTES // 65_536 + 16):
            connection.sendall(piece)
        connection.sendall(b"0\r\n\r\n")
        refused(answer_of(connection), 413, "body_too_large")


@pytest.mark.parametrize(("method", "path", "status", "error"), [
    ("GET", "/", 404, "not_found"), ("GET", "/v1/systemone", 405, "method_not_allowed"), ("POST", "/v1/models", 405, "method_not_allowed"), ("GET", "/v1/models/..", 404, "not_found"),
    ("DELETE", "/v1/systemone", 405, "method_not_allowed"), ("GET", "/%00", 404, "not_found"), ("GET", "/v1/models/", 404, "not_found"), ("POST", "/v1/systemone/", 404, "not_found"), ("GET", "/v1/models?x=" + "y" * 5000, 200, None),
])  # fmt: skip
def test_other_paths_and_methods(shared: Running, method: str, path: str, status: int, error: str | None) -> None:
    said = shared.ask(method, path)
    assert said.status == status
    if error:
        refused(said, status, error)


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000,
        b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_what_is_no_http_is_400(shared: Running, data: bytes) -> None:
    with shared.raw() as connection:
        connection.sendall(data)
        refused(answer_of(connection), 400, "invalid_http")


# --------------------------------------------------------------------------------------------------- the engine's errors


@pytest.mark.parametrize(
    ("words", "status", "error"),
    [("raise long", 422, "prompt_too_long"), ("raise memory", 500, "out_of_memory"), ("raise fault", 500, "internal")],
)
def test_the_engines_errors_are_answers_and_the_server_lives_on(shared: Running, words: str, status: int, error: str) -> None:
    said = shared.post({**BODY, "state": words + " secret"})
    refused(said, status, error)
    assert b"secret" not in said.data
    assert shared.alive()


def test_a_lost_device_is_a_500_and_ends_the_process() -> None:
    with running() as found:
        refused(found.post({**BODY, "state": "raise lost"}), 500, "device_lost")
        found.until(lambda: found.code)
    assert found.code == [3]


def test_a_release_that_can_not_be_loaded_ends_the_process() -> None:
    from engine import LoadError

    def load() -> Any:
        raise LoadError("the adapter belongs to another base")

    with running(load=load, wait=False) as found:
        found.until(lambda: found.code)
    assert found.code == [1]


def test_before_the_model_is_loaded_it_is_503_with_retry_after() -> None:
    gate, engine = threading.Event(), FakeEngine()

    def load() -> FakeEngine:
        gate.wait(30)
        return engine

    with running(engine, load=load, wait=False) as found:
        for said in (found.get("/v1/models"), found.get("/healthz"), found.post(BODY)):
            refused(said, 503, "not_ready")
            assert int(said.headers["retry-after"]) > 0
        assert found.get("/openapi.json").status == 200
        assert "systemone_ready 0" in found.get("/metrics").data.decode()
        gate.set()
        found.until(lambda: found.get("/v1/models").status == 200)
        assert found.alive()


# ---------------------------------------------------------------------------------------------------- queue and callers


def test_one_request_runs_at_a_time_in_one_thread() -> None:
    with running(FakeEngine(0.01)) as found, ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda n: found.post({**BODY, "state": str(n)}), range(12)))
        assert {s.status for s in said} == {200}
        assert (found.engine.most_busy, len(found.engine.threads)) == (1, 1)


def test_a_full_queue_is_503_with_retry_after() -> None:
    with running(queue=2) as found, ThreadPoolExecutor(3) as pool:
        found.engine.gate.clear()
        taken = [pool.submit(found.post, BODY) for _ in range(3)]
        found.until(lambda: found.service.scheduler.waiting == 2)
        said = found.post(BODY)
        refused(said, 503, "queue_full")
        assert 1 <= int(said.headers["retry-after"]) <= 60
        assert found.get("/healthz").status == 200
        found.engine.gate.set()
        assert [t.result().status for t in taken] == [200] * 3


def test_a_caller_that_leaves_the_queue_is_never_computed() -> None:
    with running() as found, ThreadPoolExecutor(2) as pool:
        found.engine.gate.clear()
        first = pool.submit(found.post, BODY)
        found.until(lambda: found.service.scheduler.running)
        leaver = found.raw()
        data = json.dumps(BODY).encode()
        leaver.sendall(request_head(len(data)) + data)
        found.until(lambda: found.service.scheduler.waiting == 1)
        leaver.close()
        found.until(lambda: found.service.scheduler.waiting == 0)
        found.engine.gate.set()
        assert first.result().status == 200
        assert found.alive()
        assert found.engine.decided == 2
        assert found.service.metrics.disconnects == 1


def test_a_caller_that_leaves_while_it_runs_is_dropped_at_the_next_question() -> None:
    with running() as found:
        found.engine.gate.clear()
        leaver = found.raw()
        data = json.dumps({**BODY, "questions": {f"q{n}": QUESTION for n in range(8)}}).encode()
        leaver.sendall(request_head(len(data)) + data)
        found.until(lambda: found.engine.busy)
        leaver.close()
        found.until(lambda: found.service.metrics.disconnects)
        found.engine.gate.set()
        found.until(lambda: not found.service.scheduler.running)
        assert found.engine.decided == 1
        assert found.alive()


@pytest.mark.parametrize("sent", [0, 10])
def test_a_slow_body_is_408_and_the_connection_closes(sent: int) -> None:
    with running(patience=Patience(idle_seconds=0.2)) as found, found.raw() as connection:
        connection.sendall(request_head(1000) + b"x" * sent)
        refused(answer_of(connection), 408, "too_slow")
        assert connection.recv(1) == b""
        assert found.alive()


def test_a_trickling_body_is_408() -> None:
    """Bytes keep coming, but too few: the whole takes too long, though no pause does."""
    with running(patience=Patience(idle_seconds=20, grace_seconds=1, bytes_per_second=1000)) as found, found.raw() as connection:
        connection.sendall(request_head(100_000))
        for _ in range(8):
            connection.sendall(b"x")
            time.sleep(0.1)
        started = time.monotonic()
        refused(answer_of(connection), 408, "too_slow")
        assert time.monotonic() - started < 10


def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    from server.protocol import Protocol

    monkeypatch.setattr(Protocol, "head_seconds", 0.3)
    with running() as found:
        for words in (b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP"):
            with found.raw() as connection:
                connection.sendall(words)
                while connection.recv(65_536):
                    pass
        assert found.alive()


def test_a_connection_that_reads_no_answer_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    from server.protocol import Protocol

    monkeypatch.setattr(Protocol, "write_seconds", 0.5)
    with running() as found, found.raw() as connection:
        connection.settimeout(2)
        with pytest.raises(OSError):  # first nothing is taken any more, then the connection is gone
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000_000)
        found.until(lambda: not found.server.server_state.connections)
        assert found.alive()


def test_more_connections_than_the_limit_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.protocol.MAX_CONNECTIONS", 3)
    with running() as found:
        held = [found.raw() for _ in range(3)]
        found.until(lambda: len(found.server.server_state.connections) == 3)
        assert found.raw().recv(1) == b""
        for connection in held:
            connection.close()
        found.until(lambda: not found.server.server_state.connections)
        assert found.alive()


def test_what_all_requests_hold_together_is_bounded() -> None:
    with running(held_bytes=100_000) as found:
        refused(found.post({**BODY, "state": "x" * 110_000}), 503, "busy")
        refused(found.post(*multipart(BODY, pictures.saved("PNG", (300, 300)))), 503, "busy")
        assert found.service.budget.held == 0
        assert found.alive()


def test_a_caller_that_leaves_before_its_body_is_whole() -> None:
    with running() as found:
        with found.raw() as connection:
            connection.sendall(request_head(1000) + b"x")
        found.until(lambda: found.service.metrics.disconnects == 1)
        assert found.service.budget.held == 0
        assert found.alive()


# ------------------------------------------------------------------------------------------------------------- the end


def test_at_the_end_the_running_request_is_answered_and_the_waiting_are_sent_away() -> None:
    with running() as found, ThreadPoolExecutor(2) as pool:
        found.engine.gate.clear()
        first = pool.submit(found.post, BODY)
        found.until(lambda: found.engine.busy)
        second = pool.submit(found.post, BODY)
        found.until(lambda: found.service.scheduler.waiting == 1)
        found.server.handle_exit(15, None)
        refused(second.result(), 503, "closing")
        found.engine.gate.set()
        assert first.result().status == 200
        found.until(lambda: found.code)
        assert found.engine.closed
    assert found.code == [0]
