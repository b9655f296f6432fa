"""JSON Schema errors as Problems: one sentence each, with the place, the offending value and the nearest known word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

from hubrelease.errors import Problem, Where, problem
from hubrelease.strict_yaml import pointer_to

WORDS = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number",
         "boolean": "true or false", "null": "empty"}  # fmt: skip


def validate(value: object, schema: dict[str, Any], locate: Callable[[str], Where]) -> list[Problem]:
    """Every fault of `value` against `schema`, in order of line. `locate` turns a pointer into a place."""
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(schema).iter_errors(value)
    found = [p for error in errors for p in problems_of(error, locate)]
    return sorted(found, key=lambda p: (p.where.file, p.where.line or 0, p.where.pointer or ""))


def problems_of(error: Any, locate: Callable[[str], Where]) -> Iterator[Problem]:
    path = list(error.absolute_path)
    if error.validator == "additionalProperties":
        yield from unknown_keys(error, path, locate)
        return
    where = locate(pointer_to(*path))
    if error.validator == "propertyNames":
        where = locate(pointer_to(*path, error.instance))
    yield problem("spec-invalid", where, sentence(error), mend_of(error))


def unknown_keys(error: Any, path: list[object], locate: Callable[[str], Where]) -> Iterator[Problem]:
    known = sorted(error.schema.get("properties", {}))
    for key in error.instance:
        if key in known:
            continue
        near = get_close_matches(key, known, 1, 0.6)
        hint = f'; the nearest known key is "{near[0]}"' if near else f"; known here: {', '.join(known)}"
        mend = f'write "{near[0]}"' if near else "remove it"
        yield problem("spec-unknown-key", locate(pointer_to(*path, key)), f'the key "{key}" is not known{hint}', mend)


def sentence(error: Any) -> str:
    value, rule = shown(error.instance), error.validator_value
    if error.validator == "required":
        absent = next(key for key in rule if key not in error.instance and f"'{key}'" in error.message)
        return f'"{absent}" is missing'
    if error.validator == "type":
        return f"is {value}, must be {wanted_type(rule)}"
    if error.validator == "const":
        return f"is {value}, must be {shown(rule)}"
    if error.validator == "enum":
        return f"is {value}, must be one of {', '.join(map(str, rule))}"
    if error.validator in ("pattern", "minLength"):
        return f"is {value}, must be {error.schema.get('x-form', f'like {rule}')}"
    if error.validator == "minItems":
        return "must not be empty"
    if error.validator == "minimum":
        return f"is {value}, must be at least {rule}"
    return f"is {value}: {error.message}"


def mend_of(error: Any) -> str:
    if error.validator == "enum" and isinstance(error.instance, str):
        near = get_close_matches(error.instance, [str(v) for v in error.validator_value], 1, 0.5)
        return f'write "{near[0]}"' if near else "choose one of these"
    if error.validator == "required":
        return error.schema.get("description") or "add it; see schemas/release.schema.json"
    described = error.schema.get("description")
    return f"write {error.schema.get('x-form') or wanted_type(error.schema.get('type', 'string'))}" + (
        f" ({described.rstrip('.')})" if described else ""
    )


def wanted_type(rule: str | list[str]) -> str:
    return " or ".join(WORDS.get(name, name) for name in ([rule] if isinstance(rule, str) else rule))


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
