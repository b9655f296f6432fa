"""Counts in a receipt that must agree with each other: parts and wholes, buckets and totals, wins and losses.

Keys are those that harnesses and scripts use; an object is judged only where every value that takes part is a whole number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

CORRECT = ("correct", "num_correct", "n_correct", "numCorrect", "passed", "solved")
TOTAL = ("total", "num_total", "n_total", "numTotal", "total_questions", "totalQuestions", "num_questions")
SHARE = ("accuracy", "acc", "pass_rate", "passRate", "correct_rate")
BUCKETS = ("buckets", "by_bucket", "byBucket")
WINS, LOSSES, TIES = ("wins", "win"), ("losses", "loss"), ("ties", "tie", "draws")
DIFFERENCE = ("difference", "net", "net_wins", "netWins")
MAX_DIGITS = 15


def disagreements(item: Mapping[str, Any]) -> Iterator[str]:
    """What does not add up in one object."""
    correct, total = whole(item, CORRECT), whole(item, TOTAL)
    if correct and total:
        yield from share_faults(item, correct, total)
    yield from bucket_faults(item)
    wins, losses = whole(item, WINS), whole(item, LOSSES)
    if wins and losses:
        yield from duel_faults(item, wins[1], losses[1], total)


def share_faults(item: Mapping[str, Any], correct: tuple[str, int], total: tuple[str, int]) -> Iterator[str]:
    if correct[1] > total[1]:
        yield f"{correct[0]} is {correct[1]}, more than {total[0]}, {total[1]}"
        return
    for name in SHARE:
        given = item.get(name)
        if isinstance(given, (int, float)) and not isinstance(given, bool) and total[1] and not is_share(given, correct[1], total[1]):
            yield f"{name} is {given!r}, and {correct[0]} / {total[0]} is {correct[1]} / {total[1]} = {correct[1] / total[1]:.6g}"


def is_share(given: float, part: int, total: int) -> bool:
    """True if `given` is part / total, or that in percent, as exactly as it is written."""
    try:
        number = Decimal(repr(given))
        half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
    except (ArithmeticError, ValueError, TypeError):
        return True  # NaN and infinities have a finding of their own
    share = Decimal(part) / Decimal(total)
    return any(abs(number - form) <= half + Decimal("1e-9") for form in (share, share * 100))


def bucket_faults(item: Mapping[str, Any]) -> Iterator[str]:
    """Buckets part the whole: the sums of their counts are the counts beside them."""
    for name in BUCKETS:
        rows = item.get(name)
        parts = list(rows.values()) if isinstance(rows, dict) else rows if isinstance(rows, list) else []
        for names in (TOTAL, CORRECT):
            outside = whole(item, names)
            inside = [whole(part, names) if isinstance(part, dict) else None for part in parts]
            if outside and inside and all(inside) and sum(found[1] for found in inside if found) != outside[1]:
                yield f"{outside[0]} of the {name} add up to {sum(found[1] for found in inside if found)}, and {outside[0]} is {outside[1]}"


def duel_faults(item: Mapping[str, Any], wins: int, losses: int, total: tuple[str, int] | None) -> Iterator[str]:
    ties, difference = whole(item, TIES), whole(item, DIFFERENCE)
    if ties and total and wins + losses + ties[1] != total[1]:
        yield f"wins, losses and ties add up to {wins + losses + ties[1]}, and {total[0]} is {total[1]}"
    if difference and wins - losses != difference[1]:
        yield f"{difference[0]} is {difference[1]}, and wins minus losses is {wins - losses}"


def whole(item: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, int] | None:
    """The key and value of the first of `names` that holds a whole number, of a size that counts have."""
    for name in names:
        value = item.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**MAX_DIGITS:
            return name, value
    return None
