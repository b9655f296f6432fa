"""Jinja2 for cards: strict, sandboxed, bounded, and the same bytes on every run.

A name that nothing defines is an error with the template's own file and line. A template can read what it is given and
nothing else: no other file, no attribute of Python's, no chance, no address in memory. It ends after a bounded number of
steps, whatever it loops over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from types import FrameType
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hubrelease.errors import CheckFailed, Where, problem

MAX_STEPS = 500_000  # lines of the compiled template; the default card takes some 20 a table row
MEND = "correct the template; see docs/templates.md for the names it can use"
RANDOM_OR_PADDING = ("random", "center", "indent", "format", "pprint", "xmlattr", "urlize")  # chance, and text of any length
MARK: ContextVar[Callable[[object], object]] = ContextVar("mark")
TEXT_METHODS = ("center", "ljust", "rjust", "zfill", "expandtabs")


class NotBuilt(Exception):
    """The template asks for a fact about the payload, and nothing was built yet."""


class Unbuilt:
    """Stands for the payload where nothing was built: false, and whatever is asked of it is an error that says so."""

    def __bool__(self) -> bool:
        return False

    def __getitem__(self, name: str) -> object:
        raise NotBuilt(f"payload.{name} is known only after a build")


class TooLong(Exception):
    """The template takes more steps than a card can need."""


class Sandbox(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        """Numbers only, no powers: `"x" * 10**10` would fill the memory in one step."""
        if operator == "**" or not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            raise SecurityError(f"{operator} is for numbers only" if operator != "**" else "** is not available")
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Of numbers none but their figure: `to_bytes` makes memory of any size."""
        is_large = (isinstance(obj, str) and attr in TEXT_METHODS) or (isinstance(obj, (int, float)) and attr != "figure")
        return super().is_safe_attribute(obj, attr, value) and not is_large

    def wrap_str_format(self, value: Any) -> Any:
        if super().wrap_str_format(value) is not None:
            raise SecurityError("str.format is not available; use ~ to join text")
        return None


class Steps:
    """A trace function that counts the lines a template runs, in loops, macros and blocks alike."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def __call__(self, frame: FrameType, event: str, arg: object) -> Steps | None:
        if "__jinja_template__" not in frame.f_globals:
            return None
        self.left -= 1
        if self.left < 0:
            raise TooLong(f"the template takes more than {MAX_STEPS:,} steps")
        return self


def scalar(value: object) -> object:
    """What may be printed. A mapping, a list or a function would show as Python does, some with an address in memory."""
    if isinstance(value, (str, int, float, jinja2.Undefined)):
        return value
    raise TypeError(f"{'nothing' if value is None else 'a ' + type(value).__name__} can't be printed; name a part of it")


def absent(message: str) -> jinja2.StrictUndefined:
    """What is not there: `is defined` is false of it, and to print it fails with the message."""
    return jinja2.StrictUndefined(hint=message)


def printed(value: object) -> object:
    """What becomes of a value that a template prints."""
    return MARK.get()(scalar(value))


@lru_cache(8)
def environment(texts: tuple[tuple[str, str], ...], filters: tuple[tuple[str, Any], ...]) -> Sandbox:
    """An environment of the templates `texts`, (name, source). Each is compiled under its own name, so that errors show it; once."""
    sources = dict(texts)
    made = Sandbox(
        loader=jinja2.FunctionLoader(lambda name: (sources[name], name, None) if name in sources else None),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=printed,
        auto_reload=False,
        optimized=False,  # folding constants takes longer than it saves in one run
    )
    made.filters.update(filters)
    for name in RANDOM_OR_PADDING:
        del made.filters[name]
    del made.globals["lipsum"]
    return made


def run(texts: Mapping[str, str], name: str, filters: Mapping[str, Any], context: Mapping[str, Any],
        mark: Callable[[object], object] = scalar) -> str:  # fmt: skip
    """The text of the template `name`; `mark` is put on every value that it prints.

    CheckFailed (HR501) with file and line; HR601 for a fact that only a build gives.
    """
    outer, token = sys.gettrace(), MARK.set(mark)
    try:
        template = environment(tuple(texts.items()), tuple(filters.items())).get_template(name)
        sys.settrace(Steps(MAX_STEPS))
        return template.render(context)
    except NotBuilt as error:
        mend = "build first, give --tree DIR, or put it between {% if payload %} and {% endif %}"
        unknown = problem("figure-fault", where(error, name, texts), str(error), mend)
        raise CheckFailed(replace(unknown, undecided=True)) from None
    except jinja2.TemplateSyntaxError as error:
        raise CheckFailed(problem("template-fault", Where(error.name or name, error.lineno), str(error.message), MEND)) from None
    except (
        jinja2.TemplateError, TooLong, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError,
    ) as error:  # fmt: skip
        message = f"names the template {error.name!r}, which is not there" if isinstance(error, jinja2.TemplateNotFound) else str(error)
        raise CheckFailed(problem("template-fault", where(error, name, texts), message[:300] or type(error).__name__, MEND)) from None
    finally:
        sys.settrace(outer)
        MARK.reset(token)


def where(error: BaseException, name: str, texts: Mapping[str, str]) -> Where:
    """The innermost line of a template in the traceback, as Jinja2 rewrites it."""
    line, file, trace = None, name, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename in texts:
            file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return Where(file, line)
