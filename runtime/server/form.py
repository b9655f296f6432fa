"""multipart/form-data of a request (RFC 7578): one field `request` with the JSON, and up to two files `image`, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from server.contract import MAX_IMAGES
from server.refusals import Refused, invalid

MAX_HEADER_BYTES = 4_096
BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{1,70}")


@dataclass
class Form:
    """The parts as they come. `request` None: not there yet."""

    request: bytes | None = None
    images: list[bytes] = field(default_factory=list)
    name: str = ""
    ended: bool = False
    header: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)
    data: bytearray = field(default_factory=bytearray)

    def on_part_begin(self) -> None:
        self.name, self.data = "", bytearray()

    def on_header_field(self, chunk: bytes, start: int, end: int) -> None:
        self.header += chunk[start:end]
        self.bounded(self.header)

    def on_header_value(self, chunk: bytes, start: int, end: int) -> None:
        self.value += chunk[start:end]
        self.bounded(self.value)

    def bounded(self, text: bytearray) -> None:
        if len(text) > MAX_HEADER_BYTES:
            raise fault(f"a part's header has more than {MAX_HEADER_BYTES} bytes")

    def on_header_end(self) -> None:
        if bytes(self.header).lower() == b"content-disposition":
            self.name = parse_options_header(bytes(self.value))[1].get(b"name", b"").decode("utf-8", "replace")
        self.header, self.value = bytearray(), bytearray()

    def on_headers_finished(self) -> None:
        if self.name == "request":
            if self.request is not None:
                raise fault("the field request stands twice")
        elif self.name != "image":
            raise fault("a part is neither the field request nor a file image")
        elif len(self.images) == MAX_IMAGES:
            raise fault(f"a request has at most {MAX_IMAGES} images")

    def on_part_data(self, chunk: bytes, start: int, end: int) -> None:
        self.data += chunk[start:end]

    def on_part_end(self) -> None:
        if self.name == "request":
            self.request = bytes(self.data)
        else:
            self.images.append(bytes(self.data))

    def on_end(self) -> None:
        self.ended = True


CALLBACKS = ("part_begin", "header_field", "header_value", "header_end", "headers_finished", "part_data", "part_end", "end")


def parse(content_type: str, body: bytes | bytearray) -> tuple[bytes, list[bytes]]:
    """(JSON bytes, image files). Raises Refused (422)."""
    boundary = parse_options_header(content_type.encode("latin-1", "replace"))[1].get(b"boundary", b"")
    if not BOUNDARY.fullmatch(boundary):
        raise fault("the content type has no usable boundary")
    form = Form()
    try:
        parser = MultipartParser(boundary, {f"on_{name}": getattr(form, f"on_{name}") for name in CALLBACKS})
        parser.write(bytes(body))
        parser.finalize()
    except FormParserError:
        raise fault("the body is not the multipart form that its content type says") from None
    if not form.ended:
        raise fault("the form ends before its last boundary")
    if form.request is None:
        raise fault("the field request is missing")
    return form.request, form.images


def fault(detail: str) -> Refused:
    return invalid(detail, "invalid_form")
