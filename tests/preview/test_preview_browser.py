"""The preview in a real Chromium: nothing of a card runs, nobody outside is asked, and the page does what it is for.

`make browser` runs it in an environment of its own and keeps the screenshots in build/preview.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from previewing import SPEC, TEMPLATE, card, example, png, small
from test_preview_sanitise import VECTORS

pytestmark = pytest.mark.heavy
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed here: run `make browser`")
CHROMIUM = shutil.which("chromium")  # Debian's package
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PERCENT = {"as": "percent", "decimals": 2}
RICH = """# A card with *everything*

A summary with `code`, a [link](https://example.org), a [file](notes.txt), a [lost one](lost.txt), **bold** and ~~struck~~ words.[^1]

<p align="center"><img src="assets/plot.png" width="240" alt="a plot"></p>

![logo](https://example.org/logo.png)

> [!NOTE]
> Something to know.

> [!WARNING]
> Something to be careful with.

> A quotation.

<details><summary>Longer things</summary>

- [x] done
- [ ] open

1. one
2. two
   - nested

</details>

```python
from transformers import AutoModelForCausalLM  # a comment

model = AutoModelForCausalLM.from_pretrained("owner/tiny", revision="0123456789abcdef0123456789abcdef01234567", torch_dtype="auto")
print(1 + 2.5)
```

## 한국어 제목

모델 카드의 수치는 영수증에서 옵니다. H<sub>2</sub>O, x<sup>2</sup>, <kbd>Ctrl</kbd>.

[^1]: A footnote.
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH: run `make browser`")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("PREVIEW_SCREENSHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def command(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`hubrelease card preview` in a process of its own, and its address."""
    words = [sys.executable, "-m", "hubrelease", "card", "preview", "--no-open", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(10)


class Opened:
    """A page, everything that it asked for, said and complained of."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": WIDE, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(10000)
        self.asked: list[str] = []
        self.said: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(url)
        self.wait("up to date")

    def wait(self, status: str) -> None:
        self.page.wait_for_function("words => document.getElementById('status').textContent.includes(words)", arg=status, timeout=20000)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@contextmanager
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """Another server on this machine, which a card would like to reach: its port and what came."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                came.append(connection.recv(1000))
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], came


# ----------------------------------------------------------------------------------------------------------- hostile


def test_nothing_of_a_hostile_card_runs_and_nobody_is_asked(chromium: Any, tmp_path: Path) -> None:
    with listener() as (port, came):
        here = f"http://127.0.0.1:{port}/x"
        pulls = [f"![p]({here})", f'<img src="{here}">', f'<img srcset="{here} 2x" src="{here}">', f'<link rel="stylesheet" href="{here}">', f'<link rel="dns-prefetch" href="{here}">',
                 f'<iframe src="{here}"></iframe>', f'<video poster="{here}" src="{here}" autoplay></video>', f'<p style="background:url({here})">x</p>', f'<body background="{here}">',
                 f'<style>@import "{here}";</style>', f'<svg><image href="{here}"/></svg>', f'<input type="image" src="{here}">', f'<meta http-equiv="refresh" content="0;url={here}">']  # fmt: skip
        texts = [text.replace("alert(1)", "window.hacked=1;alert(1)") for text in (*pulls, *VECTORS)]
        folder = card(tmp_path / "c", "# hostile 0\n")
        with command(folder) as (url, _), Opened(chromium, url) as opened:
            origin = url.rpartition("/")[0].rpartition("/")[0]
            placeholders = 0
            for number in range(1, len(texts) // 6 + 2):
                rows = texts[number * 6 - 6 : number * 6]
                card(folder, f"# hostile {number}\n\n" + "\n\n".join(rows))
                opened.page.wait_for_function(
                    "number => document.querySelector('#content h1').textContent.endsWith(`hostile ${number}`)", arg=number
                )
                for summary in opened.page.locator("#content summary").all():
                    summary.click()
                opened.page.wait_for_timeout(100)
                placeholders += opened.page.locator("#content .placeholder").count()
                assert (
                    opened.page.locator("#content").locator("script, style, iframe, svg, form, video, link, meta, base, object").count()
                    == 0
                )
                assert opened.page.evaluate("window.hacked") is None, rows
                assert opened.said == [], rows
            assert [asked for asked in opened.asked if not asked.startswith(origin + "/")] == []
            assert opened.page.url == url
            assert placeholders > 10
        assert came == []


def test_the_policy_holds_even_where_the_sanitiser_would_not(chromium: Any, tmp_path: Path) -> None:
    """Hostile HTML put into the page by hand: the browser runs none of it and asks nobody."""
    with listener() as (port, came), command(card(tmp_path / "c", "# x")) as (url, _), Opened(chromium, url) as opened:
        opened.page.evaluate(
            """port => new Promise((done) => {
                window.blocked = [];
                document.addEventListener("securitypolicyviolation", (event) => window.blocked.push(event.effectiveDirective));
                const box = document.createElement("div");
                box.innerHTML = `<img src=x onerror="window.hacked=1"><img src="http://127.0.0.1:${port}/"><a id=j href="javascript:window.hacked=2">x</a>
                  <iframe src="http://127.0.0.1:${port}/"></iframe><form id=f action="http://127.0.0.1:${port}/"></form><p style="color:red">x</p>`;
                document.body.append(box);
                const script = document.createElement("script");
                script.textContent = "window.hacked=3";
                document.body.append(script);
                document.getElementById("j").click();
                document.getElementById("f").submit();
                fetch(`http://127.0.0.1:${port}/`).catch(() => 0);
                setTimeout(done, 700);
            })""",
            port,
        )
        assert opened.page.evaluate("window.hacked") is None
        assert {"img-src", "frame-src", "form-action", "connect-src"} <= set(opened.page.evaluate("window.blocked"))
        assert came == []


def test_a_picture_opened_by_itself_runs_nothing(chromium: Any, tmp_path: Path) -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><script>document.documentElement.setAttribute('hacked', 1)</script><rect width='9' height='9'/></svg>"
    with command(card(tmp_path / "c", "![a](a.svg)", a__svg=svg)) as (url, _), Opened(chromium, url) as opened:
        assert opened.page.locator("#content img").evaluate("one => one.decode().then(() => one.naturalWidth)") == 9
        opened.page.goto(url + "file/a.svg")
        assert opened.page.evaluate("document.documentElement.getAttribute('hacked')") is None


# ------------------------------------------------------------------------------------------------------------- figures


def test_pointer_and_keyboard_show_where_a_figure_comes_from(chromium: Any, tmp_path: Path) -> None:
    with command(example(tmp_path / "release")) as (url, _), Opened(chromium, url) as opened:
        page, box = opened.page, opened.page.locator("#source")
        figure = page.locator(".figure", has_text="67.71%").first
        assert box.is_hidden()
        figure.hover()
        words = box.inner_text()
        for expected in (
            "receipt (measured)",
            "benchmarks/mteb-STS22.json",
            "/scores/test/5/cosine_spearman",
            "0.6771118263513062",
            "67.71%",
        ):
            assert expected in words
        page.mouse.move(2, 2)
        page.locator("h1#title").hover()
        assert box.is_hidden()
        figure.focus()
        assert box.is_visible()
        assert figure.get_attribute("aria-describedby") == "source"
        page.keyboard.press("Escape")
        assert box.is_hidden()
        page.keyboard.press("Tab")
        assert "/scores/test/9/cosine_spearman" in box.inner_text()
        edges = box.bounding_box()
        assert edges["x"] >= 0
        assert edges["x"] + edges["width"] <= WIDE["width"]
        page.keyboard.press("Enter")
        page.locator("#reader-lines span").first.wait_for()
        assert "cosine_spearman" in page.locator("#reader-lines").inner_text()
        assert opened.said == []


def open_figure(opened: Opened, number: int, name: str) -> None:
    """Opens a figure's file and waits until it is shown under `name`."""
    opened.page.locator("#content .figure").nth(number).focus()
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_function("name => document.getElementById('reader-name').textContent === name", arg=name)


RECEIPT: dict[str, Any] = {
    "noise": [f"line {n}" for n in range(400)],
    "odd/na~me": {"score": [0.5, {'deep "er"': 0.4379}]},
    "score": 0.4412,
    "text": 'a}]\\" b',
    "last": -1.5e-3,
}
PLACES = {
    '/odd~1na~0me/score/1/deep "er"': "0.4379",
    "/odd~1na~0me/score/0": "0.5",
    "/score": "0.4412",
    "/text": '"a}]\\\\\\" b"',
    "/last": "-0.0015",
    "/noise/399": '"line 399"',
}


ON_TOP = """() => {
  const form = document.querySelector("#reader form"), spot = form.getBoundingClientRect();
  return [4, spot.height / 2, spot.height - 4].every((y) => form.contains(document.elementFromPoint(spot.left + 60, spot.top + y)));
}"""


@pytest.mark.parametrize("indent", [1, None], ids=["a line for each value", "all on one line"])
def test_a_figures_file_is_opened_where_its_pointer_points(chromium: Any, tmp_path: Path, indent: int | None) -> None:
    folder = small(tmp_path / "release")
    text = json.dumps(RECEIPT, indent=indent)
    (folder / "r.json").write_text(text)
    rows = [[f"row {n}", {"receipt": "benchmarks/r.json", "pointer": pointer}] for n, pointer in enumerate(PLACES)]
    spec = {**SPEC, "card": {**SPEC["card"], "tables": [{"title": "Scores", "columns": ["task", "score"], "rows": rows}]}}
    (folder / "release.yaml").write_text(json.dumps(spec))
    with command(folder) as (url, _), Opened(chromium, url) as opened:
        for number, (pointer, value) in enumerate(PLACES.items()):
            open_figure(opened, number, f"benchmarks/r.json {pointer}")
            mark = opened.page.locator("#reader-lines .hit mark")
            assert mark.inner_text() == value
            assert opened.page.locator("#reader-lines .hit").inner_text() == next(
                r for r in text.split("\n") if value in r and (indent is None or r.strip().strip(",").endswith(value))
            )
            spot, frame = mark.bounding_box(), opened.page.locator("#reader").bounding_box()
            assert frame["y"] <= spot["y"] <= frame["y"] + frame["height"]
            assert opened.page.evaluate(ON_TOP), "lines are drawn over the heading"
            opened.page.keyboard.press("Escape")
        assert opened.said == []


def test_rows_of_a_jsonl_receipt_and_values_of_release_yaml_are_found_too(chromium: Any, tmp_path: Path) -> None:
    folder = small(tmp_path / "release")
    (folder / "r.jsonl").write_text('{"a": 1}\n\n{"a": {"b": NaN, "c": 7}}\n')
    rows = [["x", {"receipt": "benchmarks/r.jsonl", "pointer": "/1/a/c"}], ["y", {"spec": True, "pointer": "/card/stated/free"}]]
    spec = {**SPEC, "benchmarks": [{"receipt": "r.jsonl", "kind": "plain"}], "waive": [{"code": "HR611", "reason": "NaN of a failed run"}],
            "card": {**SPEC["card"], "stated": {"free": 32}, "tables": [{"title": "Scores", "columns": ["task", "score"], "rows": rows}]}}  # fmt: skip
    (folder / "release.yaml").write_text(json.dumps(spec, indent=1))
    with command(folder) as (url, _), Opened(chromium, url) as opened:
        open_figure(opened, 0, "benchmarks/r.jsonl /1/a/c")
        assert opened.page.locator("#reader-lines .hit").inner_text() == '{"a": {"b": NaN, "c": 7}}'
        assert opened.page.locator("#reader-lines .hit mark").inner_text() == "7"
        opened.page.keyboard.press("Escape")
        open_figure(opened, 1, "release.yaml")
        assert opened.page.locator("#reader-lines .hit").inner_text().strip() == '"free": 32'


def test_a_figure_that_was_published_as_another_value_says_both(chromium: Any, tmp_path: Path) -> None:
    folder = small(tmp_path / "release")
    rows = [["x", {"receipt": "benchmarks/r.json", "pointer": "/score", "as": "percent", "decimals": 1, "published": "43.9%"}]]
    spec = {**SPEC, "card": {**SPEC["card"], "tables": [{"title": "Scores", "columns": ["task", "score"], "rows": rows}]}}
    (folder / "release.yaml").write_text(json.dumps(spec, indent=1))
    with command(folder) as (url, _), Opened(chromium, url) as opened:
        figure = opened.page.locator("#content .figure").first
        figure.hover()
        assert figure.inner_text() == "43.9%"
        words = opened.page.locator("#source").inner_text()
        assert "43.9%, and the data gives another value" in words
        assert "43.8%" in words
        assert opened.page.locator("#findings li", has_text="HR619").count() == 1


def test_the_list_of_figures_leads_to_each(chromium: Any, tmp_path: Path) -> None:
    with command(example(tmp_path / "release")) as (url, _), Opened(chromium, url) as opened:
        opened.page.locator("#figures-box > summary").click()
        opened.page.locator("#figures button", has_text="14.72%").click()
        assert opened.page.evaluate("document.activeElement.textContent") == "14.72%"
        assert opened.page.locator(".hit").count() == 1


# ------------------------------------------------------------------------------------------------- reload and findings


def test_the_page_follows_every_change(chromium: Any, tmp_path: Path) -> None:
    folder = small(tmp_path / "release")
    with command(folder) as (url, process), Opened(chromium, url) as opened:
        page = opened.page
        assert page.locator("#content h1").inner_text().endswith("A title")
        (folder / "release.yaml").write_text((folder / "release.yaml").read_text().replace("A title", "Another title"))
        page.wait_for_function("() => document.querySelector('#content h1').textContent.includes('Another title')")
        (folder / "r.json").write_text('{"score": 0.5012}')
        page.wait_for_function("() => document.querySelector('#content .figure').textContent === '50.12%'")
        (folder / "own.j2").write_text(TEMPLATE + "<details><summary>more</summary>\n\nFrom my template\n</details>\n")
        page.locator("#content summary").click()
        (folder / "r.json").write_text('{"score": 0.25}')
        page.wait_for_function("() => document.querySelector('#content .figure').textContent === '25.00%'")
        assert page.locator("#content", has_text="From my template").is_visible()
        assert page.locator("#content details").get_attribute("open") is not None  # what was opened stays open
        (folder / "r.json").write_text('{"score": NaN')
        page.wait_for_function(
            "() => document.getElementById('findings').textContent.includes('receipts/') || document.getElementById('findings').textContent.includes('r.json')"
        )
        process.send_signal(signal.SIGINT)
        opened.wait("has ended")


def test_findings_lead_to_their_lines(chromium: Any, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "README.md").write_text("---\nlicense: no-such-licence\n---\n# x\n" + "text\n\n" * 200)
    with command(folder) as (url, _), Opened(chromium, url) as opened:
        opened.page.locator("#findings .place", has_text="README.md:2").first.click()
        assert opened.page.locator(".hit").inner_text() == "license: no-such-licence"
        assert opened.page.evaluate("document.activeElement.classList.contains('hit')")
    release = small(tmp_path / "release")
    text = json.dumps(SPEC, indent=1).replace("/score", "/nowhere")
    (release / "release.yaml").write_text(text)
    with command(release) as (url, _), Opened(chromium, url) as opened:
        place = opened.page.locator("#findings li", has_text="HR601").locator(".place").first
        line = int(place.inner_text().split(":")[1].split()[0])
        place.click()
        opened.page.locator("#reader .hit").wait_for()
        assert opened.page.locator("#reader .hit").inner_text() == text.split("\n")[line - 1]


# --------------------------------------------------------------------------------------------------------------- looks

CONTRAST = """() => {
  const rgb = (words) => words.match(/[\\d.]+/g).map(Number);
  const light = (one) => rgb(one).slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = (one) => { for (; one; one = one.parentElement) { const c = rgb(getComputedStyle(one).backgroundColor); if (c.length < 4 || c[3] > 0) return getComputedStyle(one).backgroundColor; } return "rgb(255,255,255)"; };
  const poor = [];
  for (const one of document.querySelectorAll("body *")) {
    if (!one.checkVisibility() || ![...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || getComputedStyle(one).opacity === "0") continue;
    const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) poor.push(`${one.tagName}.${one.className} ${one.textContent.slice(0, 30)} ${((a + .05) / (b + .05)).toFixed(2)}`);
  }
  return poor;
}"""


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release whose card has everything that cards have, one figure with a source, a README.md that differs."""
    folder = small(tmp_path_factory.mktemp("rich") / "release")
    scores = {"baseline": 0.7407, "candidate": 0.7362, "rate": 1204.31, "latency": 18.24, "bytes": 9411000000, "other": 0.512}
    (folder / "r.json").write_text(json.dumps(scores))
    columns = {
        "baseline": PERCENT,
        "candidate": PERCENT,
        "other": PERCENT,
        "rate": {"decimals": 1, "unit": "tok/s"},
        "latency": {"decimals": 1, "unit": "ms"},
        "bytes": {"as": "bytes"},
    }
    row = [{"receipt": "benchmarks/r.json", "pointer": f"/{name}", **form} for name, form in columns.items()]
    rows = [[task, *row] for task in ("GSM8K", "KMMLU", "HAE-RAE", "MMLU, five shots")]
    table = {"title": "Scores", "columns": ["benchmark", *columns], "rows": rows}
    spec = {**SPEC, "card": {**SPEC["card"], "pipeline_tag": "text-generation", "tags": ["one", "two"], "tables": [table]}}
    (folder / "release.yaml").write_text(json.dumps(spec, indent=1))
    (folder / "assets").mkdir()
    (folder / "assets" / "plot.png").write_bytes(png(240, 90))
    (folder / "notes.txt").write_text("Notes.\n")
    (folder / "own.j2").write_text(TEMPLATE + "\n" + RICH.replace("# A card with *everything*\n", ""))
    (folder / "README.md").write_text("# Typed by hand\n")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_it_is_readable(chromium: Any, shots: Path, rich: Path, scheme: str, size: str) -> None:
    """Every text has the contrast that WCAG AA asks for, and nothing is wider than the window."""
    view = WIDE if size == "wide" else NARROW
    with command(rich) as (url, _), Opened(chromium, url, color_scheme=scheme, viewport=view) as opened:
        page = opened.page
        page.screenshot(path=shots / f"rich-{size}-{scheme}.png", full_page=True)
        page.locator("#content .figure").first.hover()
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= view["width"]
        page.screenshot(path=shots / f"rich-{size}-{scheme}-figure.png")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark")
        page.select_option("#theme", "light" if scheme == "dark" else "dark")
        assert (page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)") != dark
        assert page.evaluate(CONTRAST) == []
        page.reload()
        opened.wait("up to date")
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        ) != dark  # the choice is remembered
        assert opened.said == []


def test_the_two_cards_can_be_compared(chromium: Any, shots: Path, rich: Path) -> None:
    with command(rich) as (url, _), Opened(chromium, url) as opened:
        opened.page.locator("#views button", has_text="README.md as it is").click()
        opened.page.wait_for_function("() => document.querySelector('#content h1').textContent.includes('Typed by hand')")
        opened.page.locator("#views button", has_text="from its data").click()
        opened.page.wait_for_function("() => document.querySelector('#content h1').textContent.includes('A title')")
        opened.page.locator("#raw").click()
        assert "license: apache-2.0" in opened.page.locator("#reader-lines").inner_text()
        opened.page.screenshot(path=shots / "source.png")
