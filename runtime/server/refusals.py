"""Why a request gets no answer: a status, a stable word, a sentence. The body is always {"error", "detail"}."""

from __future__ import annotations


class Refused(Exception):
    """`detail` may quote the caller's own words back to the caller; logs take `error` only."""

    def __init__(self, status: int, error: str, detail: str, retry_after: int | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.detail, self.retry_after = status, error, detail, retry_after

    @property
    def body(self) -> dict[str, str]:
        return {"error": self.error, "detail": self.detail}


def invalid(detail: str, error: str = "invalid_request") -> Refused:
    """422: the request is not what the contract asks for."""
    return Refused(422, error, detail)


def too_large(detail: str, error: str = "body_too_large") -> Refused:
    """413: more bytes or pixels than the limit."""
    return Refused(413, error, detail)


def unavailable(error: str, detail: str, retry_after: int = 1) -> Refused:
    """503: not now; the caller may try again after so many seconds."""
    return Refused(503, error, detail, retry_after)


def shown(value: object, limit: int = 80) -> str:
    """A caller's value as it may stand in a sentence to that caller."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
