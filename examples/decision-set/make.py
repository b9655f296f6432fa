#!/usr/bin/env python3
"""Writes questions.jsonl: 252 questions for `hubrelease bench run`, whose right answers follow from how they are made.

    python examples/decision-set/make.py [FILE]

Two tasks of each type (choice, noul, score), in four buckets of length up to some 12,500 tokens. What decides is said once,
somewhere among lines that decide nothing. The same bytes on every machine; needs the standard library alone.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BUCKETS = ((30, 80, 16), (400, 700, 14), (1500, 3000, 8), (5500, 12500, 4))  # fewest and most tokens of a state, questions a task
Row = dict[str, Any]


class Dice:
    """Choices from a seed by way of random.random() alone, which every version of Python promises to keep as it is."""

    def __init__(self, seed: str) -> None:
        self.values = random.Random(seed)

    def below(self, end: int) -> int:
        return int(self.values.random() * end)

    def one(self, things: Any) -> Any:
        return things[self.below(len(things))]

    def some(self, things: Any, count: int) -> list[Any]:
        """So many different ones, in chance order."""
        left = list(things)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)


def tokens(text: str) -> int:
    """About what tokenizers that take digits one by one make of plain English: words, digits and marks."""
    return len(re.findall(r"[A-Za-z]+|\d|[^\sA-Za-z\d]", text))


def among(dice: Dice, told: list[str], filler: Callable[[], str], length: int) -> list[str]:
    """What is told, in its order, spread among so much filler that all of it has about that many tokens."""
    missing = length - sum(map(tokens, told))
    lines: list[str] = []
    while missing > 0:
        lines.append(filler())
        missing -= tokens(lines[-1])
    places = sorted(dice.below(len(lines) + 1) for _ in told)
    for place, line in reversed(list(zip(places, told, strict=True))):
        lines.insert(place, line)
    return lines


# --------------------------------------------------------------------------------------------------------------- choice

THINGS = (
    "lamps",
    "ropes",
    "brushes",
    "kettles",
    "mirrors",
    "hinges",
    "blankets",
    "buckets",
    "ladders",
    "candles",
    "baskets",
    "hammers",
    "clocks",
    "pillows",
    "curtains",
    "bottles",
    "gloves",
    "shovels",
    "carpets",
    "whistles",
)
SHELVES = tuple(f"shelf {letter}{number}" for letter in "ABCDEF" for number in (1, 2, 3))


def shelf(dice: Dice, length: int) -> Row:
    """Where does a thing stand? It is moved once, and only the last place counts."""
    thing, *others = dice.some(THINGS, len(THINGS))
    first, last, *rest = dice.some(SHELVES, dice.between(4, 10))
    told = [f"The {thing} were put on {first}.", f"Later the {thing} were moved from {first} to {last}."]

    def filler() -> str:
        other = dice.one(others)
        lines = (
            f"The {other} were counted on {dice.one(rest)}: {dice.between(2, 99)} pieces.",
            f"The label on {dice.one(SHELVES)} was renewed.",
            f"A customer asked for {other}; there were {dice.between(2, 99)} left.",
            f"The {other} were dusted.",
        )
        return str(dice.one(lines))

    state = "\n".join(among(dice, told, filler, length))
    options = dice.some((first, last, *rest), 2 + len(rest))
    return choice(state, f"On which shelf are the {thing} now?", dict.fromkeys(options), last)


DEPARTMENTS = {
    "billing": "invoices, payments and refunds",
    "technical support": "something does not work",
    "sales": "wants to buy or asks for an offer",
    "shipping": "where a parcel is, and when it comes",
}
MAILS = {
    "billing": (
        "I was charged twice for the same invoice.",
        "The amount on my invoice is wrong, please correct it.",
        "My card was charged after I had cancelled.",
    ),
    "technical support": (
        "The screen stays black after the update.",
        "The app closes itself whenever I open a file.",
        "The printer answers nothing but error 41.",
    ),
    "sales": (
        "We would like to order 30 more licences, what would they cost?",
        "Please send me an offer for two machines.",
        "Is there a discount if we buy for a whole school?",
    ),
    "shipping": (
        "My parcel was to come on Monday and is not here.",
        "Where is my parcel now? The tracking page says nothing.",
        "The driver left the parcel at a wrong address.",
    ),
}


def department(dice: Dice, length: int) -> Row:
    """Who answers a mail?"""
    label = dice.one(tuple(DEPARTMENTS))
    mail = f"The customer writes: {dice.one(MAILS[label])}"
    state = {"history": among(dice, [mail], lambda: desk(dice), length)}
    order = dice.some(DEPARTMENTS, len(DEPARTMENTS))
    return choice(state, "Which department should answer the customer?", {name: DEPARTMENTS[name] for name in order}, label)


def desk(dice: Dice) -> str:
    """A line of a help desk's record in which nothing happens."""
    lines = (
        f"Agent {dice.between(2, 40)} opened the record.",
        f"Agent {dice.between(2, 40)} closed the record without a change.",
        f"The record was copied to folder {dice.between(2, 99)}.",
        "The customer's language was noted as English.",
        f"The record was read again after {dice.between(2, 59)} minutes.",
    )
    return str(dice.one(lines))


def choice(state: Any, asked: str, criteria: Any, label: str) -> Row:
    return {"type": "choice", "label": label, "state": state, "question": {"instructions": asked, "criteria": criteria}}


# ----------------------------------------------------------------------------------------------------------------- noul

STEPS = ("packed", "weighed", "sent to the depot", "given to the driver")


def delivered(dice: Dice, length: int) -> Row:
    """Was an order delivered? It was, or came back."""
    order, truth = dice.between(1000, 9999), dice.below(2) == 1
    end = "delivered and signed for" if truth else "returned to us because nobody was at home"
    told = [f"Order {order} was {step}." for step in dice.some(STEPS, 1)] + [f"Order {order} was {end}."]

    def filler() -> str:
        other = (order - 999 + dice.between(1, 8000)) % 9000 + 1000
        return f"Order {other} was {dice.one((*STEPS, 'delivered and signed for', 'returned to us because nobody was at home'))}."

    return noul("\n".join(among(dice, told, filler, length)), f"Order {order} was delivered.", truth)


WISHES = {
    True: ("Please send my money back.", "I want a refund.", "I return it and expect the full price on my account."),
    False: (
        "Please send me the manual.",
        "A new one of the same kind would be fine.",
        "No need to pay anything back, I only wanted to let you know.",
    ),
}


def refund(dice: Dice, length: int) -> Row:
    """Does a customer want money back?"""
    truth = dice.below(2) == 1
    mail = f"The customer writes: The kettle that I bought leaks. {dice.one(WISHES[truth])}"
    return noul({"history": among(dice, [mail], lambda: desk(dice), length)}, "The customer asks for money back.", truth)


def noul(state: Any, asked: str, truth: bool) -> Row:
    return {"type": "noul", "label": "true" if truth else "false", "state": state, "question": {"instructions": asked}}


# ---------------------------------------------------------------------------------------------------------------- score

ROOMS = ("the kitchen", "the cellar", "the hall", "the office", "the workshop", "the garage", "the attic", "the library")


def alarms(dice: Dice, length: int) -> Row:
    """How many alarms are still on? Each may have been switched off again."""
    level = dice.below(4)
    rooms = dice.some(ROOMS, level + dice.below(3))
    told = [f"The alarm in {room} went on." for room in rooms] + [f"The alarm in {room} was switched off." for room in rooms[level:]]

    def filler() -> str:
        room = dice.one(ROOMS)
        lines = (f"A window in {room} was closed.", f"It was {dice.between(12, 28)} degrees in {room}.", f"The light in {room} was tested.")
        return str(dice.one(lines))

    levels = ["no alarm is on", "one alarm is on", "two alarms are on", "three alarms are on"]
    return score("\n".join(among(dice, told, filler, length)), "How many alarms are on at the end of the record?", levels, level)


DEADLINES = ("I am in no hurry at all.", "It would be good to have it within this month.", "I need it this week.", "I need it today.")


def urgency(dice: Dice, length: int) -> Row:
    """How soon does a customer want an answer?"""
    level = dice.below(4)
    mail = f"The customer writes: The gate of our yard needs a new lock. {DEADLINES[level]}"
    levels = ["no deadline", "within a month", "within a week", "on the same day"]
    return score({"history": among(dice, [mail], lambda: desk(dice), length)}, "How soon does the customer need it?", levels, level)


def score(state: Any, asked: str, levels: list[str], level: int) -> Row:
    return {"type": "score", "label": str(level), "state": state, "question": {"instructions": asked, "criteria": levels}}


# -------------------------------------------------------------------------------------------------------------- the file

TASKS = (shelf, delivered, alarms, department, refund, urgency)


def rows() -> Iterator[Row]:
    """Every question, types and lengths mixed, so that the time left that a run shows is not far off."""
    made = []
    for task in TASKS:
        for bucket, (least, most, count) in enumerate(BUCKETS):
            for number in range(count):
                dice = Dice(f"{task.__name__} {bucket} {number}")
                row = task(dice, dice.between(least, most))
                made.append({"id": f"{task.__name__}-{bucket}-{number:02d}", "task": task.__name__, **row})
    yield from Dice("order").some(made, len(made))


def text() -> str:
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows())


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("questions.jsonl")
    path.write_bytes(text().encode())
