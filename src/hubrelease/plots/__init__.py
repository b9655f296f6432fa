"""Plots of a card (release.yaml: card.plots): figures → PNG and alt text, from the same figures. The extra `plots` brings matplotlib.

`plots_of(facts)` and `alt_text(plot)` need no matplotlib; `pictures(facts)` gives the files of a release.
"""

from __future__ import annotations

from hubrelease.facts import Facts
from hubrelease.plots.alt import alt_text
from hubrelease.plots.asked import plots_of
from hubrelease.plots.figures import Plot
from hubrelease.plots.letters import letter_problems

__all__ = ["Plot", "alt_text", "letter_problems", "pictures", "plots_of"]


def pictures(facts: Facts) -> dict[str, bytes]:
    """{path in the release: PNG} of every plot. Raises what plots_of raises, OutsideError without matplotlib, and CheckFailed (HR606)."""
    from hubrelease.plots.drawing import drawn

    return {plot.file: drawn(plot) for plot in plots_of(facts)}
