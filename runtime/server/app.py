"""The HTTP face: routes, statuses, bodies. Rules are in contract.py, work is in service.py."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from time import perf_counter
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from server import bodies, contract
from server.logs import log
from server.openapi import document
from server.refusals import Refused, invalid
from server.service import Outcome, Service

T = TypeVar("T")
Handler = Callable[[Request, dict[str, Any]], Awaitable[Response]]
JSON_TYPE, FORM_TYPE = "application/json", "multipart/form-data"
CLIENT_LEFT = 499  # never sent: how nginx counts callers that did not wait


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text.encode("utf-8"), status, headers, JSON_TYPE)


def application(service: Service) -> Starlette:
    """The app over one service, which is started and closed with it."""

    async def models(request: Request, notes: dict[str, Any]) -> Response:
        return json_response(service.models())

    async def health(request: Request, notes: dict[str, Any]) -> Response:
        service.ready()
        return json_response({"status": service.status})

    async def metrics(request: Request, notes: dict[str, Any]) -> Response:
        text = service.metrics.text(service.gauges())
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def description(request: Request, notes: dict[str, Any]) -> Response:
        return json_response(document(service.facts.get("max_options", 255)))

    async def systemone(request: Request, notes: dict[str, Any]) -> Response:
        return await decided(service, request, notes)

    routes = [
        Route("/v1/models", handled(service, "/v1/models", models), methods=["GET"]),
        Route("/v1/systemone", handled(service, "/v1/systemone", systemone), methods=["POST"]),
        Route("/healthz", handled(service, "/healthz", health), methods=["GET"]),
        Route("/metrics", handled(service, "/metrics", metrics), methods=["GET"]),
        Route("/openapi.json", handled(service, "/openapi.json", description), methods=["GET"]),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loading = asyncio.create_task(service.start())
        yield
        loading.cancel()
        with suppress(asyncio.CancelledError):
            await loading
        await service.close()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: no_such_route})
    app.router.redirect_slashes = False  # its Location would name whatever host the caller says
    return app


async def no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    word = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "invalid_http")
    detail = {404: "there is no such path", 405: "this path does not take that method"}.get(
        error.status_code, "the request is not understood"
    )
    return json_response({"error": word, "detail": detail}, error.status_code, dict(error.headers or {}))


# ----------------------------------------------------------------------------------------------- what every route shares


def handled(service: Service, route: str, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler with its refusals turned to bodies, its faults to 500, and one line of log."""

    async def run(request: Request) -> Response:
        started = perf_counter()
        notes: dict[str, Any] = {"id": uuid.uuid4().hex}
        try:
            response = await handler(request, notes)
        except Refused as refused:
            response = await refusal(request, refused, notes)
        except bodies.ClientLeft:
            service.metrics.disconnects += 1
            notes["error"] = "client_left"
            response = Response(status_code=CLIENT_LEFT)
        except MemoryError:
            response = await refusal(request, Refused(500, "out_of_memory", "the server's memory did not suffice for this request"), notes)
        except Exception as error:
            log("fault", logging.ERROR, error, id=notes["id"], route=route)
            response = await refusal(request, Refused(500, "internal", f"a fault of the server, logged as {notes['id']}"), notes)
        finish(service, route, response, notes, perf_counter() - started)
        return response

    return run


def finish(service: Service, route: str, response: Response, notes: dict[str, Any], seconds: float) -> None:
    response.headers["x-request-id"] = notes["id"]
    service.metrics.requests[route, response.status_code] += 1
    if route == "/v1/systemone":
        service.metrics.request_seconds.add(seconds)
    if route == "/v1/systemone" or response.status_code >= 500:
        log("request", route=route, status=response.status_code, ms=round(seconds * 1000, 3), **notes)


async def refusal(request: Request, refused: Refused, notes: dict[str, Any]) -> Response:
    """The body of a refusal. Where the caller may still be sending, it is heard out for a moment, then the connection closes."""
    notes["error"] = refused.error
    headers = {"retry-after": str(refused.retry_after)} if refused.retry_after else {}
    upload = getattr(request.state, "upload", None)
    if upload and not upload.complete:
        if refused.status != 408 and "expect" not in request.headers:  # who waits for 100-continue has sent nothing
            await upload.drain()
        headers["connection"] = "close"
    return json_response(refused.body, refused.status, headers)


# ------------------------------------------------------------------------------------------------------ POST /v1/systemone


async def decided(service: Service, request: Request, notes: dict[str, Any]) -> Response:
    started = perf_counter()
    request.state.upload = upload = bodies.Upload(request.receive)
    service.ready()
    service.scheduler.check_room()
    content_type = request.headers.get("content-type", "")
    form = is_form(content_type, request.headers.get("content-encoding"))
    bodies.declared_length(request.headers)
    with service.budget.share() as share:
        body = await upload.read(share, service.limits.patience)
        notes["bytes"] = len(body)
        asked, pictures = await service.parsed(form, content_type, body, share)
        notes |= {"questions": len(asked.questions), "images": len(pictures)}
        outcome = await unless_left(request, service.answered(asked, pictures))
    notes["engineMs"] = round(outcome.seconds * 1000, 3)
    return json_response(answer(service, asked, outcome, [p.facts for p in pictures], perf_counter() - started))


def answer(service: Service, asked: contract.Request, outcome: Outcome, pictures: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    answers = {q.id: contract.answer(q, d) for q, d in zip(asked.questions, outcome.decisions, strict=True)}
    usage = contract.usage(outcome.decisions, outcome.vision_ms, seconds * 1000, pictures)
    return {"model": service.facts["model"], "answers": answers, "usage": usage}


def is_form(content_type: str, encoding: str | None) -> bool:
    """True for multipart, False for JSON. Raises Refused for anything else."""
    kind = content_type.partition(";")[0].strip().lower()
    if encoding not in (None, "", "identity"):
        raise invalid("a body with a content encoding is not taken", "invalid_content_type")
    if kind not in (JSON_TYPE, FORM_TYPE):
        raise invalid(f"the content type is neither {JSON_TYPE} nor {FORM_TYPE}", "invalid_content_type")
    return kind == FORM_TYPE


async def unless_left(request: Request, work: Awaitable[T]) -> T:
    """The result of `work`, which is cancelled, and ClientLeft raised, when the caller closes the connection before."""
    task = asyncio.ensure_future(work)
    watch = asyncio.create_task(bodies.left(request.receive))
    try:
        await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise bodies.ClientLeft
    finally:
        watch.cancel()
        task.cancel()
