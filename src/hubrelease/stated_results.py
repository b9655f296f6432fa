"""Results that a release states as data, without a receipt's detail: model-index of the card, .eval_results/*.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubrelease.card_text import FILE
from hubrelease.claim_words import Vocabulary, key, shots_in
from hubrelease.claims import Context
from hubrelease.evaluations import Evaluation, Metric
from hubrelease.figures_shown import Shown, figure_of
from hubrelease.front_matter import kind_of
from hubrelease.results_yaml import read, result_files
from hubrelease.strict_yaml import Mapping, Node, Scalar, Sequence, find

if TYPE_CHECKING:
    from hubrelease.release import Release


@dataclass(frozen=True)
class Stated:
    """One value. `names` are what may name its task, the most specific first; `metric` is "" where none is given."""

    file: str
    line: int
    pointer: str
    names: tuple[str, ...]
    metric: str
    shown: Shown
    shots: int | None = None

    def context(self, words: Vocabulary) -> Context:
        """What it claims in the words of some evaluations; no task where it names none of theirs, or a metric that they lack."""
        metric = words.metric_of(self.metric) if self.metric else None
        is_any = not self.metric or key(self.metric) in ("acc", "accuracy", "score")
        tasks = next((found for name in self.names if (found := words.tasks_in(name))), None)
        return Context(tasks if metric or is_any else None, metric if not is_any else None, None, self.shots)


def of_model_index(release: Release) -> Iterator[Stated]:
    """The figures of model-index; not those that give another source."""
    index = release.card.front.get("model-index") if release.card else None
    for i, model in enumerate(sequence(index)):
        for j, result in enumerate(sequence(child(model, "results"))):
            if child(result, "source") is None:
                yield from of_result(result, f"/model-index/{i}/results/{j}")


def of_result(result: Node, pointer: str) -> Iterator[Stated]:
    dataset = child(result, "dataset")
    names = tuple(name for name in (text(child(dataset, k)) for k in ("config", "name", "type")) if name)
    names = tuple(dict.fromkeys([*names[:-1], *(part for name in names[-1:] for part in (name, name.rpartition("/")[2]))]))
    given = text(child(child(dataset, "args"), "num_few_shot")) or ""
    for number, metric in enumerate(sequence(child(result, "metrics"))):
        value, name, kind = child(metric, "value"), text(child(metric, "name")), text(child(metric, "type"))
        shown = shown_of(value)
        if shown is None or value is None or not (kind or name):
            continue
        shots = int(given) if given.isdigit() else shots_in(f"{name} {' '.join(names)}")
        yield Stated(FILE, value.line, f"{pointer}/metrics/{number}/value", names, kind or name or "", shown, shots)


def of_result_files(release: Release) -> Iterator[Stated]:
    """The figures of .eval_results/; not those that give a source outside of the release."""
    for path in result_files(release):
        node = read(release, path).node
        for number, entry in enumerate(sequence(node)):
            url = text(child(child(entry, "source"), "url"))
            if node is None or (url and not any(name in url for name in release.subjects.own)):
                continue
            shown = shown_of(child(entry, "value"))
            ident, task = (text(child(child(entry, "dataset"), k)) for k in ("id", "task_id"))
            if shown is not None and ident:
                pointer = f"/{number}/value"
                names = tuple(name for name in (task, ident.rpartition("/")[2]) if name)
                yield Stated(path, find(node, pointer)[1], pointer, names, "", shown)


def as_evaluation(stated: Stated) -> Evaluation:
    """The value as if a receipt held it, so that tables can be held against it."""
    task = key(stated.names[0]) if stated.names else ""
    alias = stated.names[-1] if stated.names else ""
    value = float(stated.shown.number)
    metric = Metric(task, stated.metric, "none", value, stated.pointer, alias=alias, shots=stated.shots, text=stated.shown.text)
    return Evaluation(stated.file, "model-index", None, (metric,))


def sequence(node: Node | None) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence) else ()


def child(node: Node | None, name: str) -> Node | None:
    return node.get(name) if isinstance(node, Mapping) else None


def text(node: Node | None) -> str | None:
    return node.text.strip() if isinstance(node, Scalar) and kind_of(node) in ("string", "integer", "number") else None


def shown_of(node: Node | None) -> Shown | None:
    return figure_of(node.text) if isinstance(node, Scalar) else None
