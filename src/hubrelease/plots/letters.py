"""Letters that a picture can't show: its font, the one that matplotlib brings along, has Latin, Greek, Cyrillic and some others.

Which it has exactly is known where it is drawn. Hangul, kana and Chinese characters it never has, which `hubrelease check` can say
anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hubrelease.errors import Problem, problem
from hubrelease.facts import Facts
from hubrelease.plots.asked import plots_of
from hubrelease.plots.figures import Plot

NEVER = re.compile("[\u1100-\u11ff\u2e80-\u4dbf\u4e00-\ua4cf\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
MEND = "use letters of Latin, Greek or Cyrillic script in pictures; the alt text can be in any language: title: {en: …, ko: …}"


def letter_problems(facts: Facts) -> Iterator[Problem]:
    """HR606 for each text of a picture with letters that no font of pictures has. CheckFailed where a plot can't be made at all."""
    for plot in plots_of(facts):
        for text in plot.texts():
            if odd := sorted(set(NEVER.findall(text))):
                yield lacking(plot, text, odd)


def lacking(plot: Plot, text: str, odd: Iterable[str]) -> Problem:
    message = f"the font of plots has no {', '.join(list(odd)[:10])} (in {text[:60]!r})"
    return problem("plot-fault", plot.where, message, MEND)
