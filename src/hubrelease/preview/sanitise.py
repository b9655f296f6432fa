"""HTML of a card → HTML that a page can hold: an allow-list of elements, attributes and schemes, applied by ammonia (nh3).

The Hub's own list is not published. This one is GitHub's (the default schema of hast-util-sanitize), which the Hub's cards are
written for, with <center>, <figure> and <mark>, which stand in many of them. No style, no media, no frames, no forms.
"""

from __future__ import annotations

import re

from hubrelease.preview.markup import missing

WORDS = """a abbr b bdo blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4
h5 h6 hr i img input ins kbd li mark ol p picture pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td
tfoot th thead time tr tt u ul var wbr"""
TAGS = frozenset(WORDS.split())
EVERYWHERE = frozenset(
    {"align", "aria-hidden", "aria-label", "class", "data-line", "dir", "height", "id", "lang", "title", "valign", "width"}
)
ATTRIBUTES = {
    "a": {"href", "name"},
    "col": {"span"},
    "colgroup": {"span"},
    "details": {"open"},
    "img": {"alt", "src"},
    "input": {"checked"},
    "li": {"value"},
    "ol": {"reversed", "start", "type"},
    "td": {"colspan", "headers", "rowspan"},
    "th": {"colspan", "headers", "rowspan", "scope"},
    "time": {"datetime"},
}
SCHEMES = frozenset({"http", "https", "mailto"})
UNSEEN = "script style iframe object embed template noscript noembed noframes textarea title xmp svg math video audio"
DROPPED = frozenset(UNSEEN.split())
CLASS = re.compile(
    r"language-[\w+#.-]{1,40}|hl-[a-z0-9]{1,4}|markdown-alert(-[a-z]{1,10})?|contains-task-list|task-list-item(-checkbox)?|footnote(s|-[a-z]{1,10})?"
)


def clean(html: str) -> str:
    """What is left of `html`. What stood inside of a dropped element is dropped with it."""
    try:
        import nh3
    except ImportError as error:
        raise missing(error) from None
    cleaned: str = nh3.clean(
        html,
        tags=set(TAGS),
        clean_content_tags=set(DROPPED),
        attributes={"*": set(EVERYWHERE), **ATTRIBUTES},
        attribute_filter=attribute,
        url_schemes=set(SCHEMES),
        set_tag_attribute_values={"input": {"type": "checkbox", "disabled": ""}},
        link_rel="noopener noreferrer nofollow",
    )
    return cleaned


def attribute(tag: str, name: str, value: str) -> str | None:
    """The value that an allowed attribute keeps. Classes are those that Markdown makes, never those of the page around the card."""
    if name == "class":
        return " ".join(word for word in value.split() if CLASS.fullmatch(word)) or None
    if name == "data-line":
        return value if re.fullmatch(r"[0-9]{1,7}", value) else None
    return value


LEFT_OUT = re.compile(
    r"<(script|style|iframe|object|embed|video|audio|svg|math|form|button)\b|<[a-z][^<>]{0,2000}?\s(style|on[a-z]+)\s*=", re.IGNORECASE
)


def left_out(html: str) -> dict[str, int]:
    """What a card asks for and the preview does not show, counted: {"<video>": 1, "style=": 3}."""
    counts: dict[str, int] = {}
    for found in LEFT_OUT.finditer(html):
        name = f"<{found[1].lower()}>" if found[1] else f"{found[2].lower()}="
        counts[name] = counts.get(name, 0) + 1
    return counts
