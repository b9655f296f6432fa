"""The front matter as the Hub shows it: tags in a row, results of the model-index as lines, everything else as key and value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hubrelease.front_matter import FrontMatter, items_of
from hubrelease.pieces import Placed
from hubrelease.strict_yaml import Mapping, Node, Scalar

TAGS = ("pipeline_tag", "library_name", "language", "license", "license_name", "base_model", "datasets", "tags")
MOST = 400  # rows; the rest is counted


def metadata(front: FrontMatter, figures: Sequence[Placed]) -> dict[str, Any]:
    """{"tags": [{kind, text, line}], "rows": [{key, text, line, figure}], "more": rows left out}."""
    if front.node is None:
        return {"tags": [], "rows": [], "more": 0}
    tags = [
        {"kind": pair.key, "text": item.text, "line": item.line}
        for key in TAGS
        for pair in front.node.pairs
        if pair.key == key
        for item in items_of(pair.value)
        if isinstance(item, Scalar)
    ]
    by_line: dict[int, list[int]] = {}
    for number, figure in enumerate(figures):
        by_line.setdefault(figure.line, []).append(number)
    rows = []
    for key, scalar in leaves(front.node):
        found = next((n for n in by_line.get(scalar.line, ()) if figures[n].text == scalar.text), None)
        rows.append({"key": key, "text": scalar.text, "line": scalar.line, "figure": found})
    return {"tags": tags, "rows": rows[:MOST], "more": max(0, len(rows) - MOST)}


def leaves(node: Mapping) -> Iterator[tuple[str, Scalar]]:
    for pair in node.pairs:
        if pair.key == "model-index":
            yield from results(pair.value)
        elif pair.key not in TAGS:
            yield from below(pair.key, pair.value)


def below(path: str, node: Node) -> Iterator[tuple[str, Scalar]]:
    if isinstance(node, Scalar):
        yield path, node
    elif isinstance(node, Mapping):
        for pair in node.pairs:
            yield from below(f"{path}.{pair.key}", pair.value)
    else:
        for item in items_of(node):
            yield from below(path, item)


def results(node: Node) -> Iterator[tuple[str, Scalar]]:
    """`task · dataset · metric` and the value of each metric; a model-index of another form as keys and values."""
    for model in items_of(node):
        for result in items_of(model.get("results") if isinstance(model, Mapping) else None):
            if not isinstance(result, Mapping):
                continue
            for metric in items_of(result.get("metrics")):
                value = metric.get("value") if isinstance(metric, Mapping) else None
                if isinstance(metric, Mapping) and isinstance(value, Scalar):
                    names = [name_of(result.get("task")), name_of(result.get("dataset")), name_of(metric)]
                    yield " · ".join(name for name in names if name), value


def name_of(node: Node | None) -> str:
    named = (node.get("name") or node.get("type")) if isinstance(node, Mapping) else None
    return named.text if isinstance(named, Scalar) else ""
