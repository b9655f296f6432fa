"""The note under the tables of a paired report: of each run what was left out and how it was asked, and how many rows were compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from hubrelease.paired_reports import SIDES
from hubrelease.pieces import Pieces, Segment

if TYPE_CHECKING:
    from hubrelease.decision_tables import Decisions

MAX_LISTED = 16  # GPUs or numbers of rotations that a sentence can name
LEFT_OUT = {
    "missing": "missing",
    "extra": "extra",
    "request": "differentRequest",
    "question": "differentQuestion",
    "unanswered": "notAnswered",
}
COUNTS = ("failed", "excluded", "truncated")


def note_of(made: Decisions, asked: Mapping[str, Any], at: str) -> Pieces:
    """A list in Markdown, with the publisher's own note below it."""
    lines = [*(run(made, side, name) for side, name in made.named(prose=True).items()), compared(made)]
    note = joined("\n", [joined("", ["- ", line]) for line in lines])
    return joined("\n\n", [note, made.words.text(asked["note"], f"{at}/note", prose=True)]) if "note" in asked else note


def joined(between: str, parts: list[Pieces | str]) -> Pieces:
    """Parts with words between them, their figures kept."""
    found: list[Segment] = []
    for number, part in enumerate(parts):
        found += [(between, None)] if number and between else []
        found += part.segments if isinstance(part, Pieces) else [(part, None)]
    return Pieces(found)


def run(made: Decisions, side: str, name: Pieces) -> Pieces:
    """A sentence on one run."""
    assert side in SIDES
    said = list(chain(counts(made, side), rotations(made, side), asking(made, side), power(made, side), memory(made, side)))
    return made.say("decisions_run", profile=name, said=joined("; ", [*said]))


def counts(made: Decisions, side: str) -> Iterator[Pieces]:
    yield made.say("decisions_counts", **{key: made.shown(f"/{side}/statuses/{key}") for key in COUNTS})


def rotations(made: Decisions, side: str) -> Iterator[Pieces]:
    """How often the candidates of a row were turned; of how many rows, where they differ."""
    found = made.report[side]["rotations"][:MAX_LISTED]
    several = len(found) > 1 or any(one["rotations"] is None for one in found)
    parts: list[Pieces | str] = []
    for number, one in enumerate(found):
        at = f"/{side}/rotations/{number}"
        count = made.say("decisions_untold") if one["rotations"] is None else made.shown(f"{at}/rotations")
        parts.append(made.say("decisions_rotations_of", count=count, rows=made.shown(f"{at}/rows")) if several else count)
    if parts:
        yield made.say("decisions_rotations", list=joined(", ", parts))


def asking(made: Decisions, side: str) -> Iterator[Pieces]:
    if made.report[side]["run"]["concurrency"] is not None:
        yield made.say("decisions_concurrency", count=made.shown(f"/{side}/run/concurrency"))
    yield made.say("decisions_longest", tokens=made.shown(f"/{side}/longestInputTokens"))


def power(made: Decisions, side: str) -> Iterator[Pieces]:
    """The GPUs' power limits as far as they were read."""
    found = made.report[side]["run"]["powerLimit"] or {}
    parts: list[Pieces | str] = []
    for key, phrase in (("startW", "decisions_power_start"), ("endW", "decisions_power_end")):
        if listed := (found.get(key) or [])[:MAX_LISTED]:
            watts = [made.shown(f"/{side}/run/powerLimit/{key}/{number}", unit="W") for number in range(len(listed))]
            parts.append(made.say(phrase, watts=joined(", ", [*watts])))
    parts += [made.say("decisions_power_changed")] if found.get("changed") is True else []
    if parts:
        yield made.say("decisions_power", list=joined(", ", parts))


def memory(made: Decisions, side: str) -> Iterator[Pieces]:
    found = made.report[side]["run"]["memory"] or {}
    if found.get("peakMiB") is None:
        return
    at = f"/{side}/run/memory"
    peak = made.shown(f"{at}/peakMiB", prose=True, **{"from": "MiB"})
    if isinstance(scope := found.get("scope"), str) and scope.strip():
        yield made.say("decisions_memory_of", peak=peak, scope=made.shown(f"{at}/scope", prose=True, **{"as": "text"}))
    else:
        yield made.say("decisions_memory", peak=peak)


def compared(made: Decisions) -> Pieces:
    left = {name: made.shown(f"/matching/{key}") for name, key in LEFT_OUT.items()}
    return made.say("decisions_compared", compared=made.shown("/matching/compared"), **left)
