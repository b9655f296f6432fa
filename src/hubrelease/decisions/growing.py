"""A rows file while it grows. Its first line is the run's header, its rows are the first rows of the questions file, in that order.

So a file that is there says by its length where to go on, and no row can be in it twice. Whatever is killed whenever: what
is there is whole lines, and at most one cut line behind them, which is taken away when the run goes on. A run that was
interrupted any number of times leaves the same lines as one that was not, session lines and `latencyMs` and `attempts`
apart.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from hubrelease import canonical
from hubrelease.decisions import runs
from hubrelease.decisions.questions import Questions
from hubrelease.decisions.records import MAX_LINE_BYTES, LineFault, Place, lines, record_of
from hubrelease.decisions.rows import EVENTS, Row, RowFault, row_of
from hubrelease.decisions.served import differences
from hubrelease.decisions.tally import Tally
from hubrelease.errors import CheckFailed, OutsideError, Where, problem

INVALID, OTHER = "decision-rows-invalid", "decision-run-other"
MEND = "choose another -o, or move that file away"


class Growing:
    """A rows file that this process alone writes. `rows` of it are there. Use `opened`."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path, self.fd = path, fd
        self.rows = 0
        self.ended = False
        self.tally = Tally()
        self.lost: set[str] = set()  # rows at which the server went away in earlier sessions
        self.went = False  # it did so in the last one

    @property
    def size(self) -> int:
        """Bytes of whole lines."""
        return os.lseek(self.fd, 0, os.SEEK_END)

    def take_back(self, size: int) -> None:
        """Takes away the lines behind `size`. What they were counted for stays counted in the tally: this is the end of a run."""
        gone = os.pread(self.fd, self.size - size, size).splitlines()
        self.rows -= sum(not runs.is_session(record_of(line, 1)) for line in gone)
        os.ftruncate(self.fd, size)

    def append(self, record: Mapping[str, Any]) -> None:
        """Writes a line whole, or leaves the file as it was. OutsideError where the disk refuses."""
        size = self.size
        data = canonical.compact(record) + b"\n"
        try:
            while data:
                data = data[os.write(self.fd, data) :]
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self.fd, size)
            if isinstance(error, OSError):
                raise self.refused(error) from None
            raise
        self.count(record)

    def refused(self, error: OSError) -> OutsideError:
        mend = f"free space; the same command then goes on at row {self.rows + 1:,}"
        return OutsideError(problem("disk-fault", str(self.path), f"could not be written: {error.strerror}", mend))

    def count(self, record: Mapping[str, Any]) -> None:
        if runs.is_run(record):
            return
        if runs.is_session(record):
            self.ended, self.went = record.get("event") == EVENTS[2], "lostRow" in record
            self.lost |= {str(record["lostRow"])} if "lostRow" in record else set()
            return
        self.rows += 1
        self.tally.count(record)

    # ------------------------------------------------------------------------------------------------------ going on

    def take_up(self, header: Mapping[str, Any], questions: Questions) -> None:
        """Looks at what is there, takes a cut line away, and writes the header where there is none."""
        with self.reading() as stream:
            first = stream.readline(MAX_LINE_BYTES + 1)
        if not first.endswith(b"\n"):
            self.begin(header, first)
            return
        self.known(header, first)
        os.ftruncate(self.fd, self.whole())
        with self.reading() as stream:
            try:
                self.look(stream, questions)
            except LineFault as fault:
                raise self.bad(fault.line, None, str(fault)) from None

    @contextmanager
    def reading(self) -> Iterator[BinaryIO]:
        """The file from its beginning."""
        with os.fdopen(os.dup(self.fd), "rb") as stream:
            stream.seek(0)
            yield stream

    def begin(self, header: Mapping[str, Any], there: bytes) -> None:
        """A new file, or one whose very first line was cut."""
        if not (canonical.compact(header) + b"\n").startswith(there):
            raise self.bad(1, None, "is no rows file: its first line is no run")
        os.ftruncate(self.fd, 0)
        self.append(header)

    def known(self, header: Mapping[str, Any], first: bytes) -> None:
        try:
            there = record_of(first[:-1], 1)
        except LineFault as fault:
            raise self.bad(1, None, f"is no rows file: its first line {fault}") from None
        if not runs.is_run(there):
            raise self.bad(1, "/kind", "is no rows file: its first line is no run")
        if found := differences(there, header):
            message = f"is of another run: {'; '.join(found[:5])}{' …' if len(found) > 5 else ''}"
            mend = "go on with the same questions, server and options, or choose another -o"
            raise CheckFailed(problem(OTHER, Where(str(self.path), 1), message, mend))

    def whole(self) -> int:
        """Bytes up to the last line feed."""
        size = os.fstat(self.fd).st_size
        start = max(0, size - MAX_LINE_BYTES - 1)
        cut = os.pread(self.fd, size - start, start).rfind(b"\n")
        return start + cut + 1 if cut >= 0 else size  # a line that is too long is refused when it is read

    def look(self, stream: BinaryIO, questions: Questions) -> None:
        for place, line in lines(stream):
            record = record_of(line, place.line)
            if runs.is_session(record):
                if found := runs.faults(record, self.path.name, place.line):
                    raise self.bad(place.line, found[0].where.pointer, found[0].message)
            elif place.line > 1:
                self.same_row(record, place, questions)
            self.count(record)

    def same_row(self, record: Mapping[str, Any], place: Place, questions: Questions) -> None:
        """A row must be valid, and of the question whose turn it was."""
        try:
            found = row_of(record, place)
        except RowFault as fault:
            raise self.bad(place.line, "/" + fault.key, str(fault)) from None
        if self.rows >= len(questions) or not self.answers(found, questions):
            message = f'is of the row "{found.id[:60]}", and the questions file has other rows or other images there'
            raise CheckFailed(problem(OTHER, Where(str(self.path), place.line, "/id"), message, MEND))

    def answers(self, found: Row, questions: Questions) -> bool:
        """The row is about the question whose turn it is; a failed one names no candidates."""
        asked = questions.question(self.rows, with_images=False)
        same = (found.id, *found.question) == (asked.id, asked.task, asked.type, asked.label)
        return same and found.candidates in ((), asked.candidates) and found.request == questions.digest(self.rows)

    def bad(self, line: int, pointer: str | None, message: str) -> CheckFailed:
        return CheckFailed(problem(INVALID, Where(str(self.path), line, pointer), message, MEND))


@contextmanager
def opened(path: Path, header: Mapping[str, Any], questions: Questions) -> Iterator[Growing]:
    """The rows file, ready to go on. CheckFailed if it is of another run or no rows file; OutsideError from the disk."""
    fd = locked(path)
    try:
        file = Growing(path, fd)
        try:
            file.take_up(header, questions)
        except OSError as error:
            raise file.refused(error) from None
        yield file
    finally:
        os.close(fd)


def locked(path: Path) -> int:
    """The file, open to be read and appended to, for one process at a time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise OutsideError(problem("disk-fault", str(path), f"can't be opened: {error.strerror}", "choose another -o")) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        message = "" if stat.S_ISREG(os.fstat(fd).st_mode) else "is no regular file"
    except OSError:
        message = "is being written by another `bench run`"
    if message:
        os.close(fd)
        raise OutsideError(problem("disk-fault", str(path), message, "wait for that one, or choose another -o"))
    return fd
