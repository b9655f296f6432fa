"""Figures: value, unit, source, file and JSON pointer. What a card may say, and no fifth way (contract.md 3).

A figure comes from a receipt (measured), the payload (computed), the lock, or the spec (stated by the publisher, and
marked so). It is found by an RFC 6901 pointer, or by the task and metric that an adapter reads from the receipt. A figure
computed from others (formulas.py) keeps them as its operands. It is shown as amounts.py says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hubrelease import formulas
from hubrelease.amounts import (
    KIND_OF_FORM,
    KINDS,
    Amount,
    amount_of,
    byte_text,
    is_number_as_text,
    kind_of,
    refuse_idle,
    refused,
    show,
    shown,
    shown_amount,
)
from hubrelease.errors import CheckFailed, Where, problem
from hubrelease.free_text import NONE_KEPT, Kept
from hubrelease.lock import Lock
from hubrelease.payload import Payload
from hubrelease.spec import Spec
from hubrelease.strict_yaml import list_index, pointer_steps, pointer_to

if TYPE_CHECKING:
    from hubrelease.evaluations import Evaluation, Metric

__all__ = ["MISSING", "Facts", "Figure", "byte_text", "refused", "resolve", "show"]
SOURCES = ("receipt", "payload", "lock", "spec")
FORM = ("as", "decimals", "unit", "sign")  # how a figure is shown, which one that refers to it can replace
MAX_DEPTH = 32
MAX_NAMES, MAX_COMPARED = 20, 5000  # names that a message lists, and among which it looks for what was meant
MAX_BITS = 400_000  # of all operands: what exact arithmetic does in milliseconds


@dataclass(frozen=True, slots=True)
class Figure:
    """`value` as found, `shown` as the card prints it. `source` is receipt, payload, lock, spec or derived; `file` where it stands.

    A derived figure has a `formula` (its name and reading) and `operands`; its file and pointer are empty.
    """

    value: object
    shown: str
    source: str
    file: str
    pointer: str
    formula: str = ""
    operands: tuple[Figure, ...] = ()
    amount: Amount | None = None
    rounded: Fraction | None = None  # the number that `shown` says
    published: Figure | None = None  # what the publisher states for it, where that is another value (published.py)

    @property
    def stated(self) -> bool:
        return any(leaf.source == "spec" for leaf in self.leaves())

    def leaves(self) -> list[Figure]:
        """The figures that were found rather than computed, each once."""
        found: list[Figure] = []
        stack, seen = [self], set[int]()
        while stack:
            figure = stack.pop()
            if id(figure) not in seen:
                seen.add(id(figure))
                stack += reversed(figure.operands)
                found += [] if figure.operands else [figure]
        return found

    def as_json(self) -> dict[str, Any]:
        """For --json: a number that is no whole one as text, so that no digit is lost; what it was computed from, if it was."""
        found = self.plain_json() | ({"published": self.published.plain_json()} if self.published else {})
        if self.source != "derived":
            return found
        found["operands"] = [one.plain_json() for one in self.operands]
        return found | ({"from": [one.plain_json() for one in self.leaves()]} if any(one.operands for one in self.operands) else {})

    def plain_json(self) -> dict[str, Any]:
        value = self.value if isinstance(self.value, (str, int, float)) else str(self.value)
        found: dict[str, Any] = {"shown": self.shown, "source": self.source, "value": value}
        return found | ({"formula": self.formula} if self.source == "derived" else {"file": self.file, "pointer": self.pointer})


@dataclass(frozen=True)
class Facts:
    """Everything that figures may come from. `payload` is None where nothing was built yet.

    `pinned` replaces the lock where there is none any more: facts of sources by name, as a release's provenance has them.
    `kept` are the texts that stand in marked blocks of the README.md that is there.
    """

    spec: Spec
    lock: Lock
    receipts: Mapping[str, Any]
    payload: Payload | None
    pinned: Mapping[str, Mapping[str, Any]] | None = None
    kept: Kept = NONE_KEPT
    found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # what was worked out already

    def figure(self, asked: Mapping[str, Any], where: Where, depth: int = 0) -> Figure:
        """The figure that release.yaml asks for. CheckFailed (HR601) if it is not there, not finite or no comparison."""
        if depth > MAX_DEPTH:
            raise refused(where, "is computed from figures that are computed from it, or too many deep", "break the circle")
        if "figure" in asked:
            return self.figure(self.named(asked, where), where, depth + 1)
        found = self.computed(asked, where, depth) if "compute" in asked else self.given(asked, where)
        if "published" not in asked:
            return found
        from hubrelease import published

        return published.beside(self, found, asked, where, depth)

    def given(self, asked: Mapping[str, Any], where: Where) -> Figure:
        """A figure that stands somewhere."""
        source, file, document = self.origin(asked, where)
        pointer = asked["pointer"] if "pointer" in asked else self.pointer_of(asked, where)
        value = resolve(document, pointer)
        if value is MISSING:
            raise refused(where, f"{file} has nothing at {pointer}", "correct the pointer, or the receipt")
        if source == "receipt" and "as" not in asked and is_number_as_text(value):
            message = f"{file}{pointer} is the text {value!r:.60}, and would stand there as a number"
            raise refused(where, message, "correct the receipt, or say `as: text` if it is one")
        if source == "receipt":
            self.refuse_other_unit(asked, file, pointer, where)
        text, rounded = shown(value, {**asked, "pointer": pointer}, where, file)
        amount = None if rounded is None else amount_of(value, asked, where, file)
        if asked.get("as") == "percent" and amount and amount.number > 1 and self.is_score(source, file, pointer):
            message = f"{file}{pointer} is {value}, and `as: percent` would show {text}"
            raise refused(where, message, 'a score that goes to 100 is shown as it is: leave out `as`, and write `unit: "%"` if it is one')
        return Figure(value, text, source, file, pointer, amount=amount, rounded=rounded)

    def refuse_other_unit(self, asked: Mapping[str, Any], file: str, pointer: str, where: Where) -> None:
        """A value that its harness gives in a unit of time or size, taken for one in another."""
        known = self.measured(file, pointer)
        unit = known[1].unit if known and known[1].is_unit_sure else ""
        taken = asked.get("from") or BASES.get(KIND_OF_FORM.get(asked.get("as", ""), "")) or asked.get("unit", "")
        if kind_of(unit) and kind_of(taken) and KINDS[kind_of(unit)][unit] != KINDS[kind_of(unit)].get(taken):
            raise refused(where, f"{file}{pointer} is in {unit}, and would be taken for {taken}", f"say `from: {unit}`")

    def is_score(self, source: str, file: str, pointer: str) -> bool:
        """True for what an adapter reads as a task's score: as a share it is at most 1."""
        known = self.measured(file, pointer) if source == "receipt" else None
        return known is not None and known[0].has_tasks

    # ------------------------------------------------------------------------------------------------ named and computed

    def named(self, asked: Mapping[str, Any], where: Where) -> Mapping[str, Any]:
        """What card.figures says under a name, shown as `asked` says where it says so: then as the data gives it, not as published."""
        known = self.spec.card.get("figures", {})
        name = asked["figure"]
        if name not in known:
            from hubrelease.hub_lists import nearest

            near = nearest(str(name), list(known), 0.6)
            hint = f'write "{near}"' if near else f"known: {', '.join(list(known)[:20]) or 'none'}"
            raise refused(where, f'card.figures has no "{str(name)[:80]}"', hint)
        form = {key: asked[key] for key in FORM if key in asked}
        given = asked.get("published", None if form else known[name].get("published"))
        if isinstance(given, str) and "published" not in asked:
            given = {"spec": True, "pointer": f"/card/figures{pointer_to(name)}/published"}  # there, not where the name is used
        return {**without(known[name], "published"), **form, **({} if given is None else {"published": given})}

    def computed(self, asked: Mapping[str, Any], where: Where, depth: int) -> Figure:
        name = asked["compute"]
        formula = formulas.FORMULAS[name]
        operands = [self.operand(one, where, depth) for one in asked["of"]]
        if formula.takes not in (None, len(operands)):
            raise refused(where, f"{name} takes {formula.takes} figures, not {len(operands)}", f"{name} is {formula.reading}")
        kind = self.kind_for(name, operands, where)
        if formula.compares:
            self.refuse_unlike(operands, where)
        if name == "recovery":
            self.refuse_losses(operands, where)
        numbers = [number_of(one, bool(asked.get("rounded")), where) for one in operands]
        amount = Amount(applied(name, numbers, where), kind, BASES.get(kind, ""))
        form = {"as": formula.form, **({"sign": True} if formula.sign else {}), **{key: asked[key] for key in FORM if key in asked}}
        refuse_idle(form["as"], asked, where)
        text, rounded = shown_amount(amount, form, where)
        reading = f"{name}: {formula.reading}{', of the figures as shown' if asked.get('rounded') else ''}"
        return Figure(amount.number, text, "derived", "", "", reading, tuple(operands), amount, rounded)

    def operand(self, one: object, where: Where, depth: int) -> Figure:
        """A name of card.figures, or a figure. Those by name are worked out once."""
        if not isinstance(one, str):
            return self.figure(one, where, depth + 1)  # type: ignore[arg-type]  # a mapping by the schema
        key = f"figure {one}"
        if key not in self.found:
            self.found[key] = self.figure({"figure": one}, where, depth + 1)
        figure: Figure = self.found[key]
        return figure

    def kind_for(self, name: str, operands: list[Figure], where: Where) -> str:
        """Of times and sizes, and only of them together, a sum is one too."""
        kinds = {one.amount.kind for one in operands if one.amount}
        formula = formulas.FORMULAS[name]
        if len(kinds) > 1 and (formula.compares or formula.keeps_kind):
            raise refused(where, f"{name} of figures of different kinds", "give each its unit (`from`)")
        return kinds.pop() if formula.keeps_kind and kinds else ""

    def refuse_unlike(self, operands: list[Figure], where: Where) -> None:
        from hubrelease.comparisons import unlike

        mine, other = ([(leaf.file, leaf.pointer) for leaf in one.leaves() if leaf.source == "receipt"] for one in operands)
        if reason := unlike(mine, other, self.measured):
            raise refused(where, f"compares runs that were not made alike: {reason}", "run both alike, or leave the comparison out")

    def refuse_losses(self, operands: list[Figure], where: Where) -> None:
        """What is better where it is lower is not recovered by more of it."""
        leaves = [leaf for one in operands for leaf in one.leaves() if leaf.source == "receipt"]
        known = [found[1] for leaf in leaves if (found := self.measured(leaf.file, leaf.pointer))]
        if loss := next((metric for metric in known if metric.is_lower_better), None):
            message = f"recovery: {loss.metric[:60]} of {loss.task[:60]} is better where it is lower"
            raise refused(where, message, "ask for `change`, in a table of its own")

    # --------------------------------------------------------------------------------------------- where figures come from

    def origin(self, asked: Mapping[str, Any], where: Where) -> tuple[str, str, object]:
        given = [key for key in SOURCES if key in asked]
        if len(given) != 1:
            raise refused(where, "a figure has exactly one of receipt, payload, lock, spec", "give one, or `figure`, or `compute`")
        name = asked[given[0]]
        if given[0] == "receipt":
            if name not in self.receipts:
                raise refused(where, f'"{name}" is no receipt of this release', f"known: {', '.join(self.receipts) or 'none'}")
            return "receipt", name, self.receipts[name]
        if given[0] == "lock":
            file = "release.lock.json" if self.pinned is None else "MODEL_PROVENANCE.json"
            return "lock", f"{file}#{name}", self.locked(name, where)
        if given[0] == "spec":
            return "spec", "release.yaml", self.spec.document
        if self.payload is None:
            message = f"payload:{name}{asked.get('pointer', '')} is known only after a build"
            unknown = problem("figure-fault", where, message, "build first, or give --tree DIR")
            raise CheckFailed(replace(unknown, undecided=True))
        return "payload", f"payload:{name}", self.payload.facts.get(name, {})

    def locked(self, name: str, where: Where) -> Mapping[str, Any]:
        locked = self.lock.source(name)
        if self.pinned is not None and name in self.pinned:
            return self.pinned[name]
        if locked is None and not self.lock.sources and self.pinned is None:
            unknown = problem(
                "figure-fault", where, f"a fact of the lock on {name} is known only when it is pinned", "run `hubrelease pin`"
            )
            raise CheckFailed(replace(unknown, undecided=True))
        if locked is None:
            raise refused(where, f'the lock has no source "{name}"', "correct the name")
        size = sum(f.size for f in locked.files)
        return {"revision": locked.revision, "license": locked.license, "files": len(locked.files), "bytes": size}

    def evaluations(self, receipt: str) -> list[Evaluation]:
        """What an adapter reads from a receipt; the model too where another receipt describes the run (HELM, MTEB)."""
        if "evaluations" not in self.found:
            from hubrelease.described_runs import joined
            from hubrelease.evaluations import Receipt, evaluations_of

            kinds = {r.to: r.kind for r in self.spec.receipts}
            runs = (run for name, value in self.receipts.items() for run in evaluations_of(Receipt(name, value), kinds.get(name)))
            self.found["evaluations"] = joined(runs)
        return [run for run in self.found["evaluations"] if run.file == receipt]

    def tasks(self, receipt: str) -> dict[str, list[Metric]]:
        """The metrics of a receipt by their tasks."""
        key = f"tasks {receipt}"
        if key not in self.found:
            found: dict[str, list[Metric]] = {}
            for metric in (metric for run in self.evaluations(receipt) for metric in run.metrics):
                found.setdefault(metric.task, []).append(metric)
            self.found[key] = found
        by_task: dict[str, list[Metric]] = self.found[key]
        return by_task

    def measured(self, receipt: str, pointer: str) -> tuple[Evaluation, Metric] | None:
        """What an adapter says of the value at a pointer."""
        key = f"measured {receipt}"
        if key not in self.found:
            self.found[key] = {metric.pointer: (run, metric) for run in self.evaluations(receipt) for metric in run.metrics}
        found: tuple[Evaluation, Metric] | None = self.found[key].get(pointer)
        return found

    def pointer_of(self, asked: Mapping[str, Any], where: Where) -> str:
        """The pointer of the one value that fits task, metric and filter."""
        wanted = {key: asked[key] for key in ("task", "metric", "filter") if key in asked}
        if "receipt" not in asked or "task" not in asked:
            raise refused(where, "a figure has a pointer, or a receipt and a task", "add `pointer`, or `task` and `metric`")
        by_task = self.tasks(asked["receipt"])
        found = [m for m in by_task.get(asked["task"], ()) if all(getattr(m, key) == value for key, value in wanted.items())]
        if len(found) == 1:
            return found[0].pointer
        said = ", ".join(f"{key} {value}" for key, value in wanted.items())
        if not found:
            tasks = [m.name for m in by_task.get(asked["task"], ())] or list(by_task)
            has_task = asked["task"] in by_task
            mend = known_names("" if has_task else asked["task"], tasks) if tasks else "no adapter reads this receipt: give a pointer"
            raise refused(where, f"{asked['receipt']} has no {said}", mend)
        names = list(dict.fromkeys(m.name for m in found))
        pointers = ", ".join(m.pointer for m in found[:MAX_NAMES])
        mend = "say which `metric` and `filter`" if len(names) > 1 else f"give the pointer of the one that is meant: {pointers}"
        raise refused(where, f"{asked['receipt']} has {len(found)} values for {said}: {', '.join(names)[:200]}", mend)


def known_names(wanted: str, names: list[str]) -> str:
    """The names that there are, before them the one that is nearest to what was asked for."""
    from hubrelease.hub_lists import nearest

    near = nearest(wanted, names[:MAX_COMPARED], 0.6) if wanted else None
    first = f'write "{near}"; ' if near else ""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{first}it has {', '.join(names[:MAX_NAMES])}{more}"


MISSING = object()
BASES = {"time": "s", "size": "B"}


def resolve(document: object, pointer: str) -> object:
    """What an RFC 6901 pointer names in a JSON value, or MISSING."""
    value: Any = document
    for step in pointer_steps(pointer):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and (index := list_index(step, len(value))) is not None:
            value = value[index]
        else:
            return MISSING
    return value


def without(asked: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return {name: value for name, value in asked.items() if name != key}


def number_of(one: Figure, as_shown: bool, where: Where) -> Fraction:
    if one.amount is None or one.rounded is None:
        raise refused(where, f"{one.file}{one.pointer} is text, and nothing can be computed with it", "correct the pointer")
    return one.rounded if as_shown else one.amount.number


def applied(name: str, numbers: list[Fraction], where: Where) -> Fraction:
    if sum(n.numerator.bit_length() + n.denominator.bit_length() for n in numbers) > MAX_BITS:
        raise refused(where, f"{name} of numbers of so many digits is not computed", "compute it from fewer")
    try:
        return formulas.FORMULAS[name].apply(numbers)
    except ZeroDivisionError:
        raise refused(where, f"{name} would divide by zero", "correct the receipt, or leave the figure out") from None
    except formulas.Unfit as error:
        raise refused(where, f"{name}: {error}", error.mend) from None
