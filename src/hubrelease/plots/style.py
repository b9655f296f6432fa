"""How plots look, and how they become the same bytes everywhere where matplotlib's version is the same.

The background is transparent and every colour has a contrast of at least 3:1 on white and on #0d1117, the Hub's dark page;
text, 4.3:1 on both and never smaller than 14 points bold, counts as large (WCAG 2.2, 1.4.3 and 1.4.11). Blue and orange stay apart
for all common kinds of colour blindness; series differ in marker and line too. Fonts are those that matplotlib brings along;
nothing of the user's matplotlibrc, of the date or of matplotlib's version is in the bytes by name.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hubrelease.errors import CheckFailed, OutsideError, problem
from hubrelease.plots.figures import Plot
from hubrelease.plots.letters import lacking

TEXT, GRID = "#7a7a7a", "#7a7a7a"
COLOURS = ("#2b7de9", "#c96a00", "#8a63d2", "#0f8f7e")
MARKERS, LINES = ("o", "s", "^", "D"), ("-", "--", "-.", ":")
WIDTH, DPI, SIZE = 8.0, 200, 14
SETTINGS: dict[str, Any] = {
    "text.parse_math": False,  # a label is text, whatever it holds
    "font.size": SIZE,
    "font.weight": "bold",
    "axes.labelweight": "bold",
    "axes.titleweight": "bold",
    "axes.titlesize": SIZE + 2,
    "legend.fontsize": SIZE,
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": TEXT,
    "axes.titlecolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 1.5,
    "lines.linewidth": 2.5,
    "lines.markersize": 9,
    "legend.frameon": False,
    "axes.unicode_minus": True,
}


@contextmanager
def settings() -> Iterator[None]:
    """matplotlib as it comes, with ours. OutsideError where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        mend = "pip install 'hubrelease[plots]'"
        raise OutsideError(problem("tool-missing", "matplotlib", "is not installed; the card's plots need it", mend)) from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def blank(height: float) -> tuple[Any, Any]:
    """A figure of that height in inches, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.grid(axis="y", color=GRID, alpha=0.35, linewidth=1)
    axes.set_axisbelow(True)
    return figure, axes


def png(figure: Any) -> bytes:
    """The figure as the bytes of a PNG without a word of metadata."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

    figure.canvas.draw()
    for text in figure.findobj(Text):  # by its file: a font of that name on the system may be another version
        text.set_fontproperties(FontProperties(fname=font(), size=text.get_size()))
    out = io.BytesIO()
    figure.savefig(out, format="png", transparent=True, metadata={"Software": None})
    return out.getvalue()


def font() -> str:
    import matplotlib

    return f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans-Bold.ttf"


def refuse_letters(plot: Plot) -> None:
    """CheckFailed if a text of the plot has a letter that its font lacks: an empty box says nothing."""
    from matplotlib.font_manager import get_font

    known = get_font(font()).get_charmap()
    for text in plot.texts():
        if odd := sorted({c for c in text if ord(c) not in known}):
            raise CheckFailed(lacking(plot, text, odd))


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most that many letters, three of them at most."""
    lines = textwrap.wrap(text, width, max_lines=3, placeholder=" …") or [text]
    return "\n".join(lines)


def heading(axes: Any, plot: Plot, names: list[str], columns: int = 2) -> None:
    """The title, and below it a legend of the lines drawn so far, in their order. Names are set as text: "_x" is one too."""
    shown = [wrapped(name, 30 if columns > 1 else 60) for name in names]
    if shown:
        held = axes.legend(axes.get_lines()[: len(shown)], [str(n) for n in range(len(shown))], loc="lower left", ncols=columns,
                           bbox_to_anchor=(0, 1.0), borderaxespad=0.2, handlelength=2.5, columnspacing=1.5)  # fmt: skip
        for text, name in zip(held.get_texts(), shown, strict=True):
            text.set_text(name)
    per_column = -(-len(shown) // columns)
    heights = [max(name.count("\n") + 1 for name in shown[row::per_column]) for row in range(per_column)]
    axes.set_title(wrapped(plot.title, 50), loc="left", pad=10 + 22 * sum(heights))
