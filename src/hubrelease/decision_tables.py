"""`decisions: FILE` in card.tables: the four tables of a paired report, as `bench report` writes it.

Answers and calibration of both runs; where the answers differ; how far probabilities moved; mean latency by input length. Words
are the catalogue's, every figure and every name of a run is the report's, found by its pointer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hubrelease.amounts import refused
from hubrelease.card_words import Words
from hubrelease.decision_notes import note_of
from hubrelease.facts import resolve
from hubrelease.paired_reports import SIDES, disagreement, report_of
from hubrelease.pieces import Pieces, one
from hubrelease.tables import Asked, Laid, Row

MS: Mapping[str, Any] = {"from": "ms", "as": "duration"}
SMALL_P = Fraction(1, 10000)
DIFFERENCES = (("median", 8), ("p99", 5), ("maximum", 5))  # with as many decimals


def laid(words: Words, asked: Mapping[str, Any], at: str) -> list[Laid]:
    """The tables of a report. CheckFailed where there is no report, or one that contradicts itself."""
    made = Decisions(words, asked, f"{at}/decisions")
    parts = [
        (made.table("answers", made.answers()), "results"),
        (made.table("differ", made.differ()), "results"),
        (made.table("moved", made.moved()), "results"),
        (made.table("latency", made.latency()), "performance"),
    ]
    notes = [note_of(made, asked, at), *[None] * (len(parts) - 1)]
    by = asked.get("measured_by", "publisher")
    return [
        Laid(made.title(name), note, columns, rows, by, asked.get("section", section), at)
        for ((name, columns, rows), section), note in zip(parts, notes, strict=True)
    ]


class Decisions:
    """A report with the words of one language."""

    def __init__(self, words: Words, asked: Mapping[str, Any], at: str) -> None:
        self.words, self.say, self.asked, self.at = words, words.say, asked, at
        where = words.facts.spec.where(at)
        self.receipt = asked["decisions"]
        self.report = report_of(words.facts, self.receipt, where, "figure-fault")
        if pointer := disagreement(self.report):
            message = f"{self.receipt}{pointer} does not agree with the report's other figures"
            raise refused(where, message, "write it again with `hubrelease bench report`")
        self.names = self.named()
        self.is_alike = len({self.report[side]["run"]["concurrency"] for side in SIDES}) == 1  # so that latencies can be compared

    # -------------------------------------------------------------------------------------------------- figures and names

    def figure(self, pointer: str, **form: Any) -> Mapping[str, Any]:
        """What a cell asks for."""
        return {"receipt": self.receipt, "pointer": pointer, "as": "number", **form}

    def shown(self, pointer: str, *, prose: bool = False, **form: Any) -> Pieces:
        """A figure as text, to stand in a phrase. In prose, text of the report is escaped; elsewhere the template does so."""
        return Pieces(self.words.figure(self.figure(pointer, **form), self.at, prose))

    def named(self, prose: bool = False) -> dict[str, Pieces]:
        """The name of each run: its profile, else its model, else its part; its part beside it where both have one name."""
        names = {side: self.name(side, prose) for side in SIDES}
        if len(set(map(str.strip, names.values()))) == len(SIDES):
            return names
        return {side: self.say("decisions_side", name=name, side=self.say(f"decisions_{side}")) for side, name in names.items()}

    def name(self, side: str, prose: bool) -> Pieces:
        run = self.report[side]["run"]
        for pointer in ("/profile", "/model/name"):
            value = resolve(run, pointer)
            if isinstance(value, str) and value.strip():
                return self.shown(f"/{side}/run{pointer}", prose=prose, **{"as": "text"})
        return self.say(f"decisions_{side}")

    # ------------------------------------------------------------------------------------------------------------- tables

    def title(self, name: str) -> Pieces:
        part = self.say(f"decisions_{name}_title")
        if "title" not in self.asked:
            return part
        return self.say("decisions_titled", title=self.words.text(self.asked["title"], f"{self.at.rpartition('/')[0]}/title"), part=part)

    def table(self, name: str, table: list[list[Asked]]) -> tuple[str, list[tuple[Any, str]], list[Row]]:
        """(name, headers, rows), each with its place in release.yaml."""
        headers, *rows = table
        return name, [(header, self.at) for header in headers], [Row([(cell, self.at) for cell in row], self.at) for row in rows]

    def headers(self, *names: str) -> list[Asked]:
        return [self.say(f"decisions_{name}") for name in names]

    def answers(self) -> list[list[Asked]]:
        return [
            self.headers("profile", "correct", "accuracy", "ece", "nll", "latency"),
            *([self.names[side], *self.answers_of(f"/{side}")] for side in SIDES),
        ]

    def answers_of(self, at: str) -> Iterator[Asked]:
        yield [self.figure(f"{at}/correct"), "/", self.figure(f"{at}/rows")]
        yield self.figure(f"{at}/accuracy", **{"as": "percent"}, decimals=3)
        yield self.figure(f"{at}/ece", decimals=6)
        yield self.figure(f"{at}/meanNll", decimals=6)
        yield self.figure(f"{at}/latency/meanMs", **MS)

    def differ(self) -> list[list[Asked]]:
        only = [
            [self.say("decisions_only", profile=self.names[side]), self.figure(f"/comparison/only{side.title()}Correct")] for side in SIDES
        ]
        return [
            self.headers("outcome", "rows"),
            [self.say("decisions_another"), self.figure("/comparison/answersDiffer")],
            *only,
            [self.say("decisions_neither"), self.figure("/comparison/neitherCorrect")],
            [self.say("decisions_mcnemar"), self.p_value()],
        ]

    def p_value(self) -> Asked:
        """A small p is a bound: no four decimals would hold it."""
        asked = self.figure("/comparison/mcnemarP", decimals=4)
        found = self.words.facts.figure(asked, self.words.facts.spec.where(self.at))
        small = found.amount is not None and found.amount.number < SMALL_P
        return one(replace(found, shown=f"< {float(SMALL_P):.4f}")) if small else asked

    def moved(self) -> list[list[Asked]]:
        at = "/probabilityDifferences"
        rows, whole = self.figure(f"{at}/rowsAtLeast"), self.figure("/matching/compared")
        return [
            self.headers("difference", "value"),
            *([self.say(f"decisions_{key}"), self.figure(f"{at}/{key}", decimals=decimals)] for key, decimals in DIFFERENCES),
            [
                self.say("decisions_at_least", threshold=self.threshold(f"{at}/threshold")),
                [rows, "/", whole, " (", {"compute": "share", "of": [rows, whole], "decimals": 2}, ")"],
            ],
        ]

    def threshold(self, pointer: str) -> Pieces:
        """With two decimals, or as many as it has."""
        value = resolve(self.report, pointer)
        has_more = isinstance(value, float) and math.isfinite(value) and value != round(value, 2)
        return self.shown(pointer) if has_more else self.shown(pointer, decimals=2)

    def latency(self) -> list[list[Asked]]:
        tokens, rows, change = self.headers("tokens", "rows", "change")
        with_rows = [number for number, bucket in enumerate(self.report["buckets"]) if bucket["rows"]]
        return [[tokens, rows, *self.names.values(), change], *(list(self.bucket(f"/buckets/{number}", number)) for number in with_rows)]

    def bucket(self, at: str, number: int) -> Iterator[Asked]:
        yield self.figure(f"{at}/inputTokens", **{"as": "text"})
        yield self.figure(f"{at}/rows")
        yield from (self.figure(f"{at}/{side}/meanMs", **MS) for side in SIDES)
        is_known = self.is_alike and self.report["buckets"][number]["meanLatencyChangePercent"] is not None
        form: Mapping[str, Any] = {"unit": "", "decimals": 1, "sign": True}
        yield ([self.figure(f"{at}/meanLatencyChangePercent", **form), "%"] if is_known else self.say("decisions_not_comparable"))
