"""`bench run`: asks a server the rows of a questions file and writes each answer down, in the order of the questions.

What a row gets wrong (a refusal, nonsense, no answer in time) becomes a failed row, and the run goes on. Where the server is
gone, the run stops before that row, for everything after it would fail for the same reason; it goes on from there when it
is started again. Should the server go away once more at a row that is asked alone, then it is that row's doing and it
becomes a failed one. So after such an end rows are asked one at a time until all that were on their way are answered.

That it is still the same server is looked at once a minute, at the end and after each failure. Where it is another, the rows since the
last look are taken away, for nobody knows which of them answered.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hubrelease.decisions import growing, questions, served
from hubrelease.decisions.answers import NoAnswer, answer_of, refusal
from hubrelease.decisions.client import Client, NoReply
from hubrelease.decisions.growing import Growing
from hubrelease.decisions.questions import Question, Questions
from hubrelease.decisions.records import Place
from hubrelease.decisions.rows import EVENTS, MAX_TEXT, SESSION, RowFault, row_of
from hubrelease.decisions.sampling import Sampler
from hubrelease.decisions.tally import Tally
from hubrelease.errors import Exit, OutsideError, SpecError, problem
from hubrelease.progress import SILENT, Progress
from hubrelease.verify_release import printable

START, PROGRESS, END = EVENTS
AHEAD = 4  # rows a thread that may be asked before an earlier one is answered, so that a slow row stops nobody
PROGRESS_S = 60.0
MAX_REASON = 300
NOWHERE = Place(0, 0, 0)
Record = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a run is asked to do."""

    rows: Path
    base_url: str
    out: Path
    profile: str | None = None
    concurrency: int = 1
    warm_up: int = 8
    limit: int | None = None
    timeout_s: float = 600.0
    wait_s: float = 0.0


@dataclass(frozen=True)
class Done:
    """A run whose rows are all there. `asked` of them are from this session."""

    rows: int
    asked: int
    tally: Tally
    seconds: float

    @property
    def exit(self) -> Exit:
        """Failed rows are results; a run without one answer is none."""
        return Exit.GOOD if self.tally.statuses["ok"] else Exit.BAD


class Lost(Exception):
    """The server went away at a row."""

    def __init__(self, question: Question, reason: str) -> None:
        self.question, self.reason = question, reason
        super().__init__(reason)


class Swapped(Exception):
    """Another server answers there now; the message says in what it is another."""


def run(asked: Asked, progress: Progress = SILENT) -> Done:
    """Asks what has no row yet. OutsideError where server or disk fail, CheckFailed where questions or rows file don't fit."""
    began = time.monotonic()
    understood(asked)
    client = Client(asked.base_url, asked.timeout_s)
    with questions.opened(asked.rows, asked.limit) as rows:
        told = served.facts(client, asked.wait_s, progress)
        with growing.opened(asked.out, served.header(told, rows, asked.concurrency, asked.profile, client), rows) as file:
            before = file.rows
            if not file.ended or file.rows < len(rows):
                with Sampler(client.on_this_machine, served.device(told)) as sampler:
                    Session(asked, client, told, rows, file, sampler, progress).run()
            return Done(len(rows), file.rows - before, file.tally, time.monotonic() - began)


def understood(asked: Asked) -> None:
    """SpecError for options that mean nothing."""
    name = asked.profile
    if name is not None and not (0 < len(name) <= MAX_TEXT and name.isprintable()):
        raise SpecError(problem("usage", "--profile", "is no name", f"give 1 to {MAX_TEXT:,} printable characters"))
    if math.isnan(asked.timeout_s) or math.isnan(asked.wait_s):
        raise SpecError(problem("usage", "--timeout, --wait", "is no number", "give seconds"))


@dataclass
class Session:
    """One go at the rows that are missing."""

    asked: Asked
    client: Client
    told: served.Facts
    questions: Questions
    file: Growing
    sampler: Sampler
    progress: Progress
    noted: float = 0.0  # when the last session line was written
    alone_until: int = 0  # rows before this one are asked one at a time
    sure: int = 0  # bytes of the file up to which the server is known to have been the one of the header

    def run(self) -> None:
        """Asks everything and writes the last session line."""
        self.sure = self.file.size
        try:
            if self.file.rows < len(self.questions):
                if self.file.rows:
                    self.progress.note(f"going on: {self.file.rows:,} of {len(self.questions):,} rows are there")
                self.alone_until = self.file.rows + AHEAD * self.asked.concurrency if self.file.went else 0
                self.warm_up()
                self.ask_all()
        except Lost as lost:
            raise self.stopped(lost) from None
        except Swapped as swapped:
            raise self.swapped(swapped) from None
        except KeyboardInterrupt:
            if self.noted:
                self.note(PROGRESS)
            raise
        finally:
            self.progress.finish()
        self.note(END)

    def warm_up(self) -> None:
        """Asks rows from all over the file, whose answers nobody keeps."""
        total, wanted = len(self.questions), min(self.asked.warm_up, len(self.questions))
        self.progress.start_count("warming up", wanted)
        try:
            for place in range(wanted):
                self.row(place * total // wanted)
                self.progress.advance(1)
        except Lost as lost:
            message = f'went away while it was warmed up, at the row "{lost.question.id[:60]}": {lost.reason}'
            mend = f"{served.MEND}; --warm-up 0 asks nothing before"
            raise OutsideError(problem(served.KIND, served.place(self.client), message, mend)) from None
        self.note(START, warmupRows=wanted)
        self.sure = self.file.size

    def ask_all(self) -> None:
        """Several threads ask, this one writes."""
        left = range(self.file.rows, len(self.questions))
        self.progress.start_count("asking", len(left))
        waiting: deque[Future[Record]] = deque()
        pool = ThreadPoolExecutor(self.asked.concurrency)
        try:
            for number in left:
                waiting.append(pool.submit(self.row, number))
                while len(waiting) >= (1 if number < self.alone_until else AHEAD * self.asked.concurrency):
                    self.write(waiting.popleft().result())
            while waiting:
                self.write(waiting.popleft().result())
            self.see_again()
        finally:
            self.client.abort()
            pool.shutdown(wait=True, cancel_futures=True)

    def write(self, record: Record) -> None:
        self.file.append(record)
        self.progress.advance(1)
        if time.monotonic() - self.noted > PROGRESS_S:
            self.see_again()
            self.note(PROGRESS)

    def see_again(self) -> None:
        """Swapped where another server answers now. One that does not answer is found out by the next row, or needed no more."""
        try:
            now = served.facts(self.client)
        except OutsideError:
            return
        self.same(now)
        self.sure = self.file.size

    def same(self, now: served.Facts) -> None:
        if now != self.told:
            raise Swapped("; ".join(served.differences(self.told, now)[:5]))

    def note(self, event: str, **more: Any) -> None:
        """A session line."""
        self.file.append({"kind": SESSION, "event": event, **more, **self.sampler.facts()})
        self.noted = time.monotonic()

    # --------------------------------------------------------------------------------------------------------- one row

    def row(self, number: int) -> Record:
        """Asks one row. Lost where the server is gone."""
        question = self.questions.question(number)
        try:
            reply, attempts = self.client.decide(question.request)
        except NoReply as error:
            self.look(question, str(error))
            return self.failed(question, str(error))
        if reply.status >= 500:
            self.look(question, refusal(reply))
        try:
            answer = answer_of(question, reply, self.told["model"])
            record = {**self.common(question), "status": "ok", "attempts": attempts, **answer}
            row_of(record, NOWHERE)
        except (NoAnswer, RowFault) as error:
            return self.failed(question, str(error), attempts)
        return record

    def look(self, question: Question, reason: str) -> None:
        """Lost, unless the server that was asked still answers."""
        try:
            now = served.facts(self.client)
        except OutsideError as error:
            raise Lost(question, f"{reason}; then it {error.problems[0].message}") from None
        self.same(now)

    def common(self, question: Question) -> Record:
        named = {key: getattr(question, key) for key in ("id", "task", "type", "label")}
        return named | {"requestDigest": question.digest}

    def failed(self, question: Question, reason: str, attempts: int = 1) -> Record:
        return {**self.common(question), "status": "failed", "reason": printable(reason)[:MAX_REASON], "attempts": attempts}

    def swapped(self, found: Swapped) -> OutsideError:
        """Takes away what nobody knows the server of."""
        before = self.file.rows
        self.file.take_back(self.sure)
        message = f"another server answers there now: {found}; {before - self.file.rows:,} rows since it was last looked at were taken away"
        mend = f"start the first one again and run the same command, or choose another -o for this one: {self.file.rows:,} rows are there"
        return OutsideError(problem(served.KIND, served.place(self.client), message, mend))

    def stopped(self, lost: Lost) -> OutsideError:
        """Writes down at which row the server went away, and says how to go on."""
        alone = self.asked.concurrency == 1 or self.file.rows < self.alone_until
        if alone and lost.question.id in self.file.lost:
            self.file.append(self.failed(lost.question, f"the server went away again: {lost.reason}"))
        self.note(PROGRESS, lostRow=lost.question.id)
        message = f'went away at the row "{lost.question.id[:60]}": {lost.reason}'
        there = f"{self.file.rows:,} of {len(self.questions):,} rows are there"
        mend = f"start it again and run the same command, which goes on where this one stopped: {there}"
        return OutsideError(problem(served.KIND, served.place(self.client), message, mend))


def summary(done: Done, output: str) -> Iterator[str]:
    """A run in a few lines, for people."""
    yield f"{output}: {done.rows:,} rows ({done.tally.counts}); {done.asked:,} of them asked now, in {clock(done.seconds)}"
    yield from done.tally.lines()


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{seconds:.1f} s" if seconds < 60 else f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"
