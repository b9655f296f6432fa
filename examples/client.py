#!/usr/bin/env python3
"""Asks a served release about a text and up to two images. Needs the standard library alone.

    client.py "The parcel arrived broken."                                  is it a complaint?
    client.py --image photo.jpg "A listing says: blue shirt, size M."       does the photo fit it?
    client.py --image before.png --image after.png --request request.json   your own questions

Without --request it asks one question of each type about the text. Prints the answers as JSON.
Exit codes: 0 answered; 1 the server answered with a fault of its own (5xx, after retries); 2 wrong arguments, or a
request that the server refuses (4xx); 3 no server there, or no answer in time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

ANSWERED, SERVER_FAULT, REFUSED, NO_ANSWER = 0, 1, 2, 3
QUESTIONS = {
    "complaint": {"type": "noul", "instructions": "Is somebody unhappy about something?"},
    "topic": {
        "type": "choice",
        "instructions": "What is it about?",
        "criteria": {"delivery": "shipping, parcels, delays", "product": "the thing itself", "payment": None, "other": None},
    },
    "urgency": {"type": "score", "instructions": "How urgent is it?", "criteria": ["can wait", "this week", "today"]},
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", help="the state that the questions are about")
    parser.add_argument("--image", action="append", default=[], type=Path, metavar="FILE", help="up to two; the first is the reference")
    parser.add_argument("--request", type=Path, metavar="FILE", help="a request body of your own, as JSON")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS")
    parser.add_argument("--retries", type=int, default=5, help="how often to come again after a 503")
    asked = parser.parse_args()
    if len(asked.image) > 2 or (asked.text is None) == (asked.request is None):
        parser.error("give a text or --request, and at most two images")
    if asked.retries < 0 or not (math.isfinite(asked.timeout) and asked.timeout > 0):
        parser.error("--retries is 0 or more, --timeout more than 0")
    if not asked.url.startswith(("http://", "https://")):
        parser.error("--url is an http:// or https:// address")
    return asked


def form(request: bytes, images: list[bytes]) -> tuple[bytes, str]:
    """multipart/form-data with the request and its images."""
    boundary = uuid.uuid4().hex
    heads = ['name="request"', *('name="image"; filename="image"' for _ in images)]
    named = zip(heads, [request, *images], strict=True)
    parts = [f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data for head, data in named]
    return b"\r\n".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def ask(asked: argparse.Namespace, body: bytes, content_type: str) -> Any:
    """The answer. After a 503 it comes again when the server says."""
    address = asked.url.rstrip("/") + "/v1/systemone"
    request = urllib.request.Request(address, body, {"Content-Type": content_type})  # noqa: S310 (http only: see arguments)
    for attempt in range(asked.retries + 1):
        try:
            with urllib.request.urlopen(request, timeout=asked.timeout) as response:  # noqa: S310
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code != 503 or attempt == asked.retries:
                raise
            told = error.headers.get("Retry-After", "")
            time.sleep(min(60, int(told)) if told.isdecimal() else 1)
    raise AssertionError("not reached")


def main() -> int:
    asked = arguments()
    try:
        own = asked.request.read_bytes() if asked.request else json.dumps({"state": asked.text, "questions": QUESTIONS}).encode()
        images = [path.read_bytes() for path in asked.image]
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return REFUSED
    body, content_type = form(own, images) if images else (own, "application/json")
    try:
        found = ask(asked, body, content_type)
    except urllib.error.HTTPError as error:
        print(f"{error.code}: {error.read(2000).decode('utf-8', 'replace')}", file=sys.stderr)
        return REFUSED if error.code < 500 else SERVER_FAULT
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"no answer from {asked.url}: {error}", file=sys.stderr)
        return NO_ANSWER
    print(json.dumps(found, indent=2, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))
    return ANSWERED


if __name__ == "__main__":
    sys.exit(main())
