"""A questions file: the rows that a decision benchmark asks. Fields: schemas/decision-question.schema.json.

It is read once from its beginning, so that every fault is told before anything is asked, and then line by line as rows
are asked. Held in memory: each row's place, id and request digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from hubrelease import canonical
from hubrelease.decisions.records import LineFault, Place, lines, read_again, reading, record_of
from hubrelease.decisions.rows import MAX_CANDIDATES, RowFault, all_texts, said, text
from hubrelease.errors import CheckFailed, OutsideError, Problem, Where, problem

NAME = "decision"  # of the one question in a request; a server may show it to the model, so it never changes
MAX_PROBLEMS = 50
MAX_IMAGES, MAX_IMAGE_BYTES = 2, 20 * 2**20
KIND = "decision-questions-invalid"
MEND = "correct the line; its form is that of schemas/decision-question.schema.json"


class Question(NamedTuple):
    """One row that can be asked. `request` is what is sent, in the order of the file's keys; images are data URLs."""

    id: str
    task: str
    type: str
    label: str
    candidates: tuple[str, ...]
    request: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 of the request. ValueError for an infinite number."""
        return hashlib.sha256(canonical.compact(self.request)).hexdigest()


class Questions:
    """A questions file that was found good. Use `opened`. `limit` leaves out what follows that many rows."""

    def __init__(self, path: Path, stream: BinaryIO, limit: int | None) -> None:
        self.path, self.stream, self.limit = path, stream, limit
        self.places: list[Place] = []
        self.digests: list[str | None] = []  # None where the row has images, which are read when it is asked
        self.line_of: dict[str, int] = {}
        self.ids: list[str] = []
        self.problems: list[Problem] = []
        self.sha256 = hashlib.sha256()

    def __len__(self) -> int:
        return len(self.places)

    def scan(self) -> None:
        """Reads the whole file. CheckFailed with every bad line, at most 50."""
        try:
            for place, line in lines(self.stream):
                self.sha256.update(line + b"\n")
                self.take(place, line)
                if len(self.problems) >= MAX_PROBLEMS:
                    break
        except LineFault as fault:
            self.refuse(fault.line, None, str(fault))
        if not self.places and not self.problems:
            self.refuse(1, None, "the file has no rows")
        if self.problems:
            raise CheckFailed(self.problems)
        self.ids = list(self.line_of)[: self.limit]
        del self.places[len(self.ids) :]

    def take(self, place: Place, line: bytes) -> None:
        try:
            found = question_of(record_of(line, place.line), self.path.parent, with_images=False)
            digest = found.digest
        except LineFault as fault:
            return self.refuse(fault.line, None, str(fault))
        except RowFault as fault:
            return self.refuse(place.line, "/" + fault.key, str(fault))
        except ValueError:
            return self.refuse(place.line, None, "holds a number that is not finite")
        except RecursionError:
            return self.refuse(place.line, None, "is nested too deeply")
        if found.id in self.line_of:
            return self.refuse(place.line, "/id", f"is {said(found.id)}, which stands on line {self.line_of[found.id]} too")
        self.line_of[found.id] = place.line
        self.places.append(place)
        self.digests.append(None if "images" in found.request else digest)

    def question(self, number: int, with_images: bool = True) -> Question:
        """The row at a place counted from 0. OutsideError if a file was changed since it was found good."""
        place = self.places[number]
        try:
            found = question_of(record_of(read_again(self.stream, place), place.line), self.path.parent, with_images)
            if found.id == self.ids[number] and self.digests[number] in (None, found.digest):
                return found
        except (LineFault, RowFault):
            pass
        message, mend = "was changed, or an image of it, while it was being asked", "begin a new run with another -o"
        raise OutsideError(problem("disk-fault", Where(str(self.path), place.line), message, mend))

    def digest(self, number: int) -> str:
        """The request digest of a row."""
        return self.digests[number] or self.question(number).digest

    def refuse(self, line: int, pointer: str | None, message: str) -> None:
        self.problems.append(problem(KIND, Where(self.path.name, line, pointer), message, MEND))


@contextmanager
def opened(path: Path, limit: int | None = None) -> Iterator[Questions]:
    """The questions of a file. OutsideError if it can't be read, CheckFailed with every bad line."""
    with reading(path, "name a questions file, such as examples/decision-set/questions.jsonl") as stream:
        found = Questions(path, stream, limit)
        found.scan()
        yield found


def question_of(record: Mapping[str, Any], folder: Path, with_images: bool = True) -> Question:
    """The question of a record; images are looked for in `folder`. RowFault with the key and the reason."""
    name, task, label = (text(record, key) for key in ("id", "task", "label"))
    kind = record.get("type")
    if kind not in ("choice", "noul", "score"):
        raise RowFault("type", f"is {said(kind)}, must be choice, noul or score")
    if not isinstance(record.get("state"), (str, dict, list)):
        raise RowFault("state", "must be text, an object or a list")
    asked = asked_of(record.get("question"))
    candidates = candidates_of(kind, asked.get("criteria"))
    if label not in candidates:
        raise RowFault("label", f"is {said(label)}, which is not among the candidates")
    request = {"state": record["state"], "questions": {NAME: {"type": kind, **asked}}}
    if pictures := pictures_of(record.get("images"), folder, with_images):
        request["images"] = pictures
    return Question(name, task, kind, label, candidates, request)


def asked_of(value: Any) -> dict[str, Any]:
    """Instructions and criteria."""
    if not isinstance(value, dict) or not isinstance(value.get("instructions"), (str, dict, list)):
        raise RowFault("question", "must be an object with `instructions` (text, an object or a list)")
    if unknown := [key for key in value if key not in ("instructions", "criteria")]:
        raise RowFault("question", f"has the key {said(unknown[0])}; it has instructions and criteria")
    return {key: item for key, item in value.items() if item is not None}


def candidates_of(kind: str, criteria: Any) -> tuple[str, ...]:
    """The answers that there are."""
    if kind == "noul":
        if criteria is not None and not (isinstance(criteria, dict) and criteria.keys() <= {"true", "false"}):
            raise RowFault("question/criteria", 'of a noul must be {"true": …, "false": …}, or left out')
        return "true", "false"
    if not isinstance(criteria, dict if kind == "choice" else list) or not 2 <= len(criteria) <= MAX_CANDIDATES:
        wanted = "an object of 2 or more options" if kind == "choice" else "a list of 2 or more levels"
        raise RowFault("question/criteria", f"of a {kind} must be {wanted}")
    found = list(criteria) if kind == "choice" else [str(level) for level in range(len(criteria))]
    if not all_texts(found):
        raise RowFault("question/criteria", "has an option without a name, or with one longer than 2,000 characters")
    return tuple(found)


# -------------------------------------------------------------------------------------------------------------- images


def pictures_of(value: Any, folder: Path, read: bool) -> list[str]:
    """Data URLs; without `read` files are looked at and not read whole."""
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_IMAGES or not all(isinstance(item, str) and item for item in value):
        raise RowFault("images", f"must be a list of at most {MAX_IMAGES} data URLs or paths")
    return [item if item.startswith("data:") else data_url(item, folder, read) for item in value]


def data_url(name: str, folder: Path, read: bool) -> str:
    try:
        path = (folder / name).resolve()
        if "\\" in name or not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise RowFault("images", f"names {said(name)}, which is no file beside the questions")
        if path.stat().st_size > MAX_IMAGE_BYTES:
            raise RowFault("images", f"names {said(name)}, which is larger than {MAX_IMAGE_BYTES // 2**20} MiB")
        with path.open("rb") as stream:
            data = stream.read(MAX_IMAGE_BYTES if read else 12)
    except (OSError, ValueError) as error:
        if isinstance(error, RowFault):
            raise
        raise RowFault("images", f"names {said(name)}, which can't be read") from None
    return f"data:image/{type_of(data, name)};base64,{base64.b64encode(data).decode()}"


def type_of(data: bytes, name: str) -> str:
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    raise RowFault("images", f"names {said(name)}, which is no JPEG, PNG or WebP")
