"""Markdown → HTML as the Hub makes it: CommonMark with GitHub's tables, alerts, footnotes, task lists and bare links.

The HTML is as hostile as the card. Each block carries the line of README.md that it begins on, in `data-line`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hubrelease.errors import OutsideError, problem
from hubrelease.preview.marks import any_marked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MEND = "pip install 'hubrelease[preview]'"


def parser() -> MarkdownIt:
    """The Markdown parser. OutsideError with the exact command where a package is absent."""
    try:
        from markdown_it import MarkdownIt
        from mdit_py_plugins.gfm import gfm_plugin
    except ImportError as error:
        raise missing(error) from None
    made = MarkdownIt("commonmark", {"html": True, "highlight": highlighted})
    gfm_plugin(made)
    return made


def missing(error: ImportError) -> OutsideError:
    message = f"the preview needs a package that is not installed: {error.name}"
    return OutsideError(problem("tool-missing", "hubrelease[preview]", message, MEND))


def to_html(body: str, first_line: int) -> str:
    """The HTML of a card's body, whose first line is `first_line` of README.md."""
    made = parser()
    tokens = made.parse(body)
    number(tokens, first_line)
    return str(made.renderer.render(tokens, made.options, {}))


def number(tokens: Sequence[Token], first_line: int) -> None:
    for token in tokens:
        if token.map and token.nesting >= 0:
            token.attrSet("data-line", str(token.map[0] + first_line))
        if token.tag in ("td", "th") and (style := token.attrs.pop("style", None)):
            token.attrSet("align", str(style).partition(":")[2])  # as GitHub does: no card has a style of its own


def highlighted(code: str, language: str, attributes: Any) -> str:
    """Code with its parts as <span class=…>; as it is where the language is unknown or figures are marked in it."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language or any_marked(code):
        return ""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return ""
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix="hl-")))
