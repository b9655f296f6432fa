"""A rows file read once from its beginning: valid rows are given on, everything else becomes a Problem with its line.

Held in memory: a digest, counts, and each row's id with its line (to find ids given twice).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hubrelease.decisions import runs
from hubrelease.decisions.records import LineFault, Place, lines, read_again, record_of
from hubrelease.decisions.rows import Row, RowFault, row_of
from hubrelease.errors import OutsideError, Problem, Where, problem

MAX_PROBLEMS = 50
KIND = "decision-rows-invalid"
MEND = "correct the line, or run `hubrelease bench run` again; a line cut by an interruption is asked again on resuming"


class RowsFile:
    """One run's rows. `rows` may be iterated once; the counts are whole after that."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path, self.stream = path, stream
        self.name = path.name
        self.run = runs.Run()
        self.problems: list[Problem] = []
        self.line_of: dict[str, int] = {}
        self.statuses: Counter[str] = Counter()
        self.rotations: Counter[int | None] = Counter()
        self.abstained = self.not_most_probable = self.longest = self.size = 0
        self.digest = hashlib.sha256()

    def rows(self) -> Iterator[Row]:
        """Each valid row in the order of the file. Stops after 50 problems."""
        try:
            for place, line in lines(self.stream):
                self.digest.update(line + b"\n")
                self.size += place.size
                row = self.read(line, place)
                if row is not None:
                    self.count(row)
                    yield row
                if len(self.problems) >= MAX_PROBLEMS:
                    self.refuse(place.line, None, f"has {MAX_PROBLEMS} problems; the rest was not read")
                    return
        except LineFault as fault:
            self.refuse(fault.line, None, str(fault))
        if not self.run.header and not self.problems:
            self.refuse(1, None, "the file is empty: its first line must be the run's header")

    def read(self, line: bytes, place: Place) -> Row | None:
        try:
            record = record_of(line, place.line)
            if place.line == 1 or runs.is_run(record) or runs.is_session(record):
                self.take(record, place.line)
                return None
            row = row_of(record, place)
        except LineFault as fault:
            self.refuse(fault.line, None, str(fault))
            return None
        except RowFault as fault:
            self.refuse(place.line, "/" + fault.key, str(fault))
            return None
        if row.id in self.line_of:
            self.refuse(place.line, "/id", f'"{row.id[:60]}" stands on line {self.line_of[row.id]} too')
            return None
        self.line_of[row.id] = place.line
        return row

    def take(self, record: dict[str, object], line: int) -> None:
        """A header or a session record."""
        if (line == 1) != runs.is_run(record):
            wanted = 'must be the run\'s header ("kind": "decision-run")' if line == 1 else "is a second header; a file holds one run"
            self.refuse(line, "/kind", wanted)
        elif found := runs.faults(record, self.name, line):
            for fault in found:
                self.refuse(line, fault.where.pointer, fault.message)
        elif runs.is_run(record):
            self.run.header = record
        else:
            self.run.sessions.append(record)

    def count(self, row: Row) -> None:
        self.statuses[row.status] += 1
        self.rotations[row.rotations] += 1
        self.abstained += row.abstained
        self.longest = max(self.longest, row.input_tokens)
        if row.status == "ok" and row.probabilities[row.choice] < max(row.probabilities):
            self.not_most_probable += 1

    def again(self, place: Place) -> Row:
        """A row that was read before. OutsideError if the file was changed meanwhile."""
        try:
            row = row_of(record_of(read_again(self.stream, place), place.line), place)
            if self.line_of.get(row.id) == place.line:
                return row
        except (LineFault, RowFault):
            pass
        raise OutsideError(problem("disk-fault", self.name, "was changed while it was read", "try again when nothing writes to it"))

    def refuse(self, line: int, pointer: str | None, message: str) -> None:
        self.problems.append(problem(KIND, Where(self.name, line, pointer), message, MEND))
