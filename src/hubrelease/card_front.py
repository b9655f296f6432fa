"""The YAML block of a card: what the Hub reads of it (hub-docs modelcard.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hubrelease import disclosure
from hubrelease.facts import Facts

KEYS = ("language", "tags", "datasets", "metrics", "pipeline_tag", "library_name", "thumbnail")


def front_matter(facts: Facts, model_index: list[dict[str, Any]] | None = None) -> str:
    """The YAML block, without its fences."""
    spec, card = facts.spec, facts.spec.card
    values: dict[str, Any] = {"license": spec.license}
    values |= {key: spec.document[key] for key in ("license_name", "license_link") if key in spec.document}
    values |= {key: card[key] for key in KEYS if key in card}
    base = base_model(facts)
    relation = card.get("base_model_relation", "quantized" if base and spec.weights.converts else None)
    named = (("base_model", base), ("base_model_relation", relation), ("model-index", model_index))
    return yaml_text(values | {key: value for key, value in named if value})


def yaml_text(values: Mapping[str, Any] | list[Any]) -> str:
    """YAML that 1.1 and 1.2 readers take for the same: PyYAML would write the text 1e5 plain, a number for the Hub's reader."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    number = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9]*)?[eE][-+]?[0-9]+|0o[0-7]+")
    Dumper.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    text: str = yaml.dump(values, Dumper=Dumper, sort_keys=True, allow_unicode=True, width=10**6, default_flow_style=False)
    return text


def base_model(facts: Facts) -> str | list[str] | None:
    if stated := facts.spec.card.get("base_model"):
        found: str | list[str] = stated
        return found
    base = facts.spec.source("base_model")
    if base is None or base.kind != "hf" or base.locator == disclosure.STAND_INS["hf"]:
        return None
    return None if base.name in disclosure.hidden(facts.spec, facts.lock) else base.locator
