"""JSON Schema errors as Problems: one sentence each, with the place, the offending value and the nearest known word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from hubrelease.errors import Problem, Where, problem
from hubrelease.strict_yaml import TYPES, json_number, pointer_to

CUT = "remove it; if it is the end of a text within { } or [ ], put that text in quotes: a comma cuts it"
WORDS = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number",
         "boolean": "true or false", "null": "empty"}  # fmt: skip


def validate(value: object, schema: dict[str, Any], locate: Callable[[str], Where]) -> list[Problem]:
    """Every fault of `value` against `schema`, in order of line. `locate` turns a pointer into a place."""
    errors = list(validator()(schema).iter_errors(value))
    exact = {tuple(error.absolute_path) for error in errors if error.validator in ("const", "enum")}
    told = [e for e in errors if e.validator != "type" or tuple(e.absolute_path) not in exact]  # not the same thing twice
    found = [p for error in told for p in problems_of(error, locate)]
    return sorted(found, key=lambda p: (p.where.file, p.where.line or 0, p.where.pointer or ""))


@cache
def validator() -> Any:
    """Draft 2020-12, but `$` in a pattern is the very end (Python's also fits before a last LF), and 1.0 is no integer."""
    from jsonschema import Draft202012Validator, ValidationError, validators

    def pattern(_: Any, wanted: str, instance: object, __: Any) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", wanted), instance):
            yield ValidationError(f"does not fit {wanted}")

    def is_integer(_: Any, instance: object) -> bool:
        return type(instance) is int

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
    extend: Any = validators.extend
    return extend(Draft202012Validator, {"pattern": pattern}, type_checker=types)


def problems_of(error: Any, locate: Callable[[str], Where]) -> Iterator[Problem]:
    path = list(error.absolute_path)
    if error.validator == "additionalProperties":
        yield from unknown_keys(error, path, locate)
        return
    if "propertyNames" in error.absolute_schema_path:
        path.append(error.instance)
    yield problem("spec-invalid", locate(pointer_to(*path)), sentence(error), mend_of(error))


def unknown_keys(error: Any, path: list[object], locate: Callable[[str], Where]) -> Iterator[Problem]:
    known = sorted(error.schema.get("properties", {}))
    for key in error.instance:
        if key in known:
            continue
        near = get_close_matches(key, known, 1, 0.6)
        hint = f'; the nearest known key is "{near[0]}"' if near else f"; known here: {', '.join(known)}"
        mend = f'write "{near[0]}"' if near else CUT if error.instance[key] is None else "remove it"
        yield problem("spec-unknown-key", locate(pointer_to(*path, key)), f"the key {shown(key)} is not known{hint}", mend)


def sentence(error: Any) -> str:
    value, rule = shown(error.instance), error.validator_value
    if error.validator == "required":
        return f'"{absent_key(error)}" is missing'
    if error.validator == "type":
        return f"is {value}, must be {wanted_type(rule)}"
    if error.validator == "const":
        return f"is {value}, must be {shown(rule)}"
    if error.validator == "enum":
        return f"is {value}, must be one of {', '.join(map(str, rule))}"
    if error.validator == "minLength" and not error.instance:
        return "must not be empty"
    if error.validator in ("pattern", "minLength"):
        return f"is {value}, must be {error.schema.get('x-form', f'like {rule}')}"
    if error.validator == "minItems":
        return "must not be empty"
    if error.validator == "minimum":
        return f"is {value}, must be at least {rule}"
    if error.validator == "maximum":
        return f"is {value}, must be at most {rule}"
    return f"is {value}, which fits none of the forms that the schema has"


def absent_key(error: Any) -> str:
    """The key that a `required` error is about: jsonschema says it in its message only."""
    return next(str(key) for key in error.validator_value if error.message == f"{key!r} is a required property")


def mend_of(error: Any) -> str:
    if error.validator == "enum" and isinstance(error.instance, str):
        near = get_close_matches(error.instance, [str(v) for v in error.validator_value], 1, 0.5)
        return f'write "{near[0]}"' if near else "choose one of these"
    if error.validator == "required":
        rule = error.schema.get("properties", {}).get(absent_key(error), {})
        described = rule.get("description")
        value = f": {absent_key(error)}: {shown(rule['const'])}" if "const" in rule else ""
        return f"add it{value} ({described.rstrip('.')})" if described else f"add it{value}; see schemas/release.schema.json"
    described = error.schema.get("description")
    if error.validator == "const":
        return f"write {shown(error.validator_value)}" + (f" ({described.rstrip('.')})" if described else "")
    if error.validator == "type" and isinstance(error.instance, str) and is_unquoted(error.instance, error.validator_value):
        return f"write {error.instance}, without quotes"
    form = error.schema.get("x-form") or wanted_type(error.schema.get("type", "string")) + keys_of(error.schema)
    return f"write {form}" + (f" ({described.rstrip('.')})" if described else "")


def keys_of(schema: dict[str, Any]) -> str:
    """The keys of a mapping, needed ones alone where there are such."""
    keys = schema.get("required") or list(schema.get("properties", ()))
    return f" with {', '.join(keys)}" if schema.get("type") == "object" and 0 < len(keys) <= 6 else ""


def is_unquoted(text: str, wanted: str | list[str]) -> bool:
    """Whether quotes are all that keeps `text` from being of a wanted type."""
    names = [wanted] if isinstance(wanted, str) else wanted
    number = json_number(text)
    return ("boolean" in names and text in ("true", "false")) or (number is not text and TYPES[type(number)] in names)


def wanted_type(rule: str | list[str]) -> str:
    return " or ".join(WORDS.get(name, name) for name in ([rule] if isinstance(rule, str) else rule))


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
