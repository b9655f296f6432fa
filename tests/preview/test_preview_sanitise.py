"""Whatever a card holds: what comes out holds no script, no style, no frame, and no address but http, https, mailto and its own."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubrelease.preview import marks, markup, sanitise, shape
from hubrelease.preview.shape import Place, local_path

VECTORS = (
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></ScRiPt>",
    "<img src=x onerror=alert(1)>",
    "<img src=`javascript:alert(1)`>",
    '<img src="x" style="background:url(https://evil.example/)">',
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<form action=https://evil.example><button formaction=javascript:alert(1)>x</button></form>",
    "<iframe src=https://evil.example srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=javascript:alert(1)></object><embed src=https://evil.example>",
    "<base href=https://evil.example/><link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<style>@import 'https://evil.example/x.css'; body{display:none}</style>",
    "<video src=https://evil.example/x poster=https://evil.example/y autoplay onplay=alert(1)></video>",
    "<audio src=https://evil.example/x autoplay></audio>",
    "<details open ontoggle=alert(1)><summary onclick=alert(1)>x</summary></details>",
    '<a href="javascript:alert(1)">x</a>',
    '<a href="JaVa&#09;ScRiPt:alert(1)">x</a>',
    '<a href="&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A&#x61">x</a>',
    '<a href="\x01javascript:alert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    '<a href="vbscript:msgbox(1)">x</a>',
    '<a href="file:///etc/passwd">x</a>',
    '<a href="blob:http://127.0.0.1/x">x</a>',
    "[x](javascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](https://evil.example/pixel.png)",
    "![x](//evil.example/pixel.png)",
    "![x](/\\evil.example/pixel.png)",
    "![x](\\\\evil.example\\pixel.png)",
    "![x](http:evil.example/pixel.png)",
    '<img srcset="https://evil.example/x 2x" src="a.png">',
    '<picture><source srcset="https://evil.example/x"><img src="a.png"></picture>',
    '<table background="https://evil.example/x"><tr><td background="https://evil.example/x">x</table>',
    '<input type=image src="https://evil.example/x" formaction="javascript:alert(1)">',
    '<div id="content" class="figure" data-figure="0" data-open="x" tabindex=0>x</div>',
    '<a id="reader" name="source" href="#card">x</a>',
    "<textarea><img title='</textarea><img src=x onerror=alert(1)>'></textarea>",
    "<title><img title='</title><img src=x onerror=alert(1)>'></title>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><img src=x onerror=alert(1)>",
    "```\n</code></pre><script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "[^1]\n\n[^1]: <img src=x onerror=alert(1)>",
    "<xmp><img title='</xmp><img src=x onerror=alert(1)>'></xmp>",
    "<p title=\"&quot;><img src=x onerror=alert(1)>\">x</p>",
    "# <img src=x onerror=alert(1)> \"'><script>",
    "https://evil.example/\"onmouseover=alert(1)//",
    "<marquee onstart=alert(1)>x</marquee><isindex><keygen><x onclick=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<img src=x:alert(1) onerror\x00=alert(1)>",
)  # fmt: skip
NOTHING = Place(lambda path: path == "a.png", lambda path: path == "a.txt", "file/")
HARMLESS = set(sanitise.TAGS)
OURS = {
    "class",
    "id",
    "href",
    "tabindex",
    "role",
    "aria-label",
    "data-open",
    "data-line",
    "title",
    "target",
    "rel",
    "src",
    "alt",
    "loading",
    "type",
    "disabled",
    "checked",
}


def page(text: str) -> str:
    """The way of a card without figures."""
    return shape.shape(sanitise.clean(markup.to_html(marks.marked(text, [], 1), 1)), NOTHING)[0]


class Seen(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def faults(html: str) -> list[str]:
    """What must not be in a page."""
    found = []
    for tag, attributes in Seen(html).tags:
        if tag not in HARMLESS:
            found.append(f"<{tag}>")
        for name, value in attributes.items():
            allowed = OURS | set(sanitise.EVERYWHERE) | set(sanitise.ATTRIBUTES.get(tag, ()))
            if name not in allowed or name.startswith("on") or name == "style":
                found.append(f"{tag} {name}={value}")
            if name == "src" and not re.fullmatch(r"file/[\w./%-]+", value or ""):
                found.append(f"{tag} src={value}")
            if name == "href" and not re.match(r"#|https?://|mailto:", value or "", re.IGNORECASE):
                found.append(f"{tag} href={value}")
            if name in ("id", "name") and not (value or "").startswith("card-"):
                found.append(f"{tag} {name}={value}")
    return found


@pytest.mark.parametrize("text", VECTORS)
@pytest.mark.parametrize("around", ["{}", "a {} b", "<div>\n{}\n</div>", "| a |\n|---|\n| {} |", "> - {}"])
def test_nothing_of_a_hostile_card_runs(text: str, around: str) -> None:
    assert faults(page(around.format(text))) == []


def test_the_faults_are_seen() -> None:
    """The rule above fails where it should."""
    assert faults('<script>x</script><img src="https://x"><a href="javascript:x" onclick="y">x</a><p id="card">') != []
    assert len(faults('<a onclick="y">x</a>')) == 1


PIECES = st.sampled_from(
    [
        *VECTORS,
        "<",
        ">",
        '"',
        "'",
        "`",
        "\n",
        "\n\n",
        "|",
        "![",
        "](",
        ")",
        "<a ",
        "<img ",
        "href=",
        "src=",
        "--",
        "&#",
        "\x00",
        "\U000f0000",
        "\U00100000",
        "x",
    ]
)


@given(st.lists(PIECES, max_size=12))
def test_nothing_of_a_jumble_of_them_runs(parts: list[str]) -> None:
    assert faults(page("".join(parts))) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<center><b>x</b></center>", "<center><b>x</b></center>"),
        ('<p align="center"><img src="a.png" width="80" alt="x"></p>', 'src="file/a.png" loading="lazy">'),
        ("<details><summary>s</summary>\n\n**x**\n</details>", "<strong>x</strong>"),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", '<td align="right">2</td>'),
        ("a<sub>1</sub><sup>2</sup><kbd>k</kbd><br>", "<sub>1</sub><sup>2</sup><kbd>k</kbd><br>"),
        ("- [x] done", 'type="checkbox"'),
        ("> [!WARNING]\n> x", 'class="markdown-alert markdown-alert-warning"'),
        ("```python\nimport x\n```", '<span class="hl-kn">import</span>'),
        ("[x](https://example.org)", 'href="https://example.org" target="_blank"'),
        ("https://example.org/a", 'href="https://example.org/a"'),
        ("[x](a.txt)", 'data-open="a.txt"'),
        ("[x](b.txt)", 'class="nowhere"'),
        ("[x](#limits)\n\n## Limits", 'href="#card-limits"'),
        ("~~x~~", "<s>x</s>"),
        ("x[^1]\n\n[^1]: note", 'href="#card-fn1"'),
    ],
)  # fmt: skip
def test_what_cards_are_written_with_stays(text: str, kept: str) -> None:
    assert kept in page(text).replace(' rel="noopener noreferrer nofollow"', "").replace(' data-line="3"', "")


def test_headings_have_anchors_of_their_own() -> None:
    html = page("# A *b* c\n\n## A b c\n\n## 한국어\n\n## !!!")
    assert re.findall(r'<a class="anchor" id="([^"]+)"', html) == ["card-a-b-c", "card-a-b-c-1", "card-한국어", "card-section"]


def test_pictures_elsewhere_are_named_and_not_asked_for() -> None:
    html = page("![the logo](https://example.org/logo.png)")
    assert "<img" not in html
    assert "picture elsewhere, not fetched" in html
    assert "the logo" in html
    assert "https://example.org/logo.png" in html


def test_what_is_left_out_is_counted() -> None:
    raw = markup.to_html('<video src="x"></video>\n\n<p style="color:red" onclick="x">a</p>\n\n`<script>` once = 1', 1)
    assert sanitise.left_out(raw) == {"<video>": 1, "style=": 1}


@pytest.mark.parametrize(
    "address",
    ["../x.png", "a/../../x.png", "..%2fx.png", "%2e%2e/x.png", "/etc/passwd", "%2fetc/passwd", "//host/x.png", "file:///etc/x.png", "C:/x.png", "a\\..\\x.png", "%5c%5chost/x", "a//b.png", "./../x.png", "~/x.png", "x%00.png", "http://x/y.png", "", "?x", "#x", "a/./b.png"],
)  # fmt: skip
def test_addresses_that_leave_the_folder_name_nothing(address: str) -> None:
    assert local_path(address) is None


@pytest.mark.parametrize(
    ("address", "path"), [("a.png", "a.png"), ("./a.png", "a.png"), ("a/b%20c.png?raw=true#x", "a/b c.png"), ("..a/b..png", "..a/b..png")]
)
def test_addresses_inside_of_the_folder_name_a_path(address: str, path: str) -> None:
    assert local_path(address) == path
