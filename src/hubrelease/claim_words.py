"""The words by which a card speaks of what was measured: names of tasks, metrics, filters, numbers of shots, models.

A name must be met whole: "mmlu" is not "mmlu_pro", and "mmlu (Spanish)" is no task that we know, for what stands in brackets
must be understood too. Names are compared by their letters and digits alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from hubrelease.evaluations import Evaluation

ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
SHOTS = re.compile(r"(?i)\b(\d{1,3})[- ]?shots?\b|\b(?:n|num|few)?[-_ ]?shots?\s*[:=]\s*(\d{1,3})\b")
OWN_WORDS = re.compile(r"(?i)\bthis (model|release|repo|repository|checkpoint|version|quanti[sz]ed model|work)\b|^ours$|\(ours\)")
DIVIDERS = re.compile(r"[\s/:,]+")
COUNT = re.compile(r"n?\d*(of\d+)?")
NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
MAX_TOKENS, MAX_NAME = 8, 300  # longer texts are sentences, not names
MAX_FILTERS = 50


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VALUE = words("value values score scores result results accuracy acc performance metricvalue measured")
HARMLESS = words("higherisbetter lowerisbetter percent pct normalized normalised test tasks strict flexible")
METRIC_WORDS = {
    "exact_match": ("em",),
    "acc_norm": ("normalizedaccuracy", "normalisedaccuracy"),
    "word_perplexity": ("perplexity", "ppl"),
    "perplexity": ("ppl",),
}
TASK_WORDS = {
    "arc_challenge": ("arcc", "arcchallenge", "ai2arcchallenge"),
    "arc_easy": ("arce",),
    "truthfulqa_mc2": ("truthfulqa",),
    "openbookqa": ("obqa",),
    "hendrycks_math": ("math",),
}
PREFIXES = ("leaderboard_",)  # of lm_eval's tasks for the Open LLM Leaderboard


def key(text: str) -> str:
    """A name for comparison: letters and digits alone, small; remarks in brackets and numbers of shots left out."""
    return short_key(text) if len(text) <= MAX_NAME else ""


def whole_key(text: str) -> str:
    """The same with remarks and shots."""
    return NOT_ALPHANUMERIC.sub("", text[:MAX_NAME].lower())


@lru_cache(2**13)
def short_key(text: str) -> str:
    return whole_key(ASIDE.sub(" ", SHOTS.sub(" ", text)))


def asides(text: str) -> list[str]:
    return [found[1:-1] for found in ASIDE.findall(text)]


def shots_in(text: str) -> int | None:
    found = SHOTS.search(text)
    return int(found[1] or found[2]) if found else None


def endings(text: str) -> list[tuple[str, str]]:
    """(beginning, ending) of a text divided at each of its blanks, the longest beginning first; both as keys."""
    tokens = DIVIDERS.split(ASIDE.sub(" ", text).strip())[:MAX_TOKENS]
    return [(key(" ".join(tokens[:n])), key(" ".join(tokens[n:]))) for n in range(len(tokens) - 1, 0, -1)]


@dataclass(frozen=True)
class Vocabulary:
    """The names that occur in some evaluations, and those of the release itself.

    `own` are keys of the release's names, `others` leads from keys of names to the models of other evaluations, `foreign`
    are keys of bases and of other models: a section under such a name is not about the release.
    """

    evaluations: tuple[Evaluation, ...]
    own: frozenset[str]
    others: Mapping[str, str] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()

    @cached_property
    def tasks(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        names = {m.task: m.alias for e in self.evaluations for m in e.metrics}
        for task, alias in names.items():
            forms = {key(task), whole_key(task), *TASK_WORDS.get(task, ()), *(key(task.removeprefix(prefix)) for prefix in PREFIXES)}
            forms |= {key(alias)} if alias and not is_nested(alias) else set()
            for form in forms - {""}:
                found.setdefault(form, set()).add(task)
        exact = {key(task): task for task in names}
        return {form: frozenset({exact[form]} if form in exact else tasks) for form, tasks in found.items()}

    @cached_property
    def nested(self) -> dict[str, frozenset[str]]:
        """Tasks of a group by the alias that lm_eval's own table indents: " - stem"."""
        found: dict[str, set[str]] = {}
        for metric in (m for e in self.evaluations for m in e.metrics if is_nested(m.alias)):
            found.setdefault(key(metric.alias), set()).add(metric.task)
        return {form: frozenset(tasks) for form, tasks in found.items() if form}

    @cached_property
    def metrics(self) -> dict[str, str]:
        names = {m.metric for e in self.evaluations for m in e.metrics}
        aliases = {form: name for name in sorted(names) for form in METRIC_WORDS.get(name, ())}
        return {**aliases, **{key(name): name for name in names if name != "acc" and key(name)}}

    @cached_property
    def filters(self) -> dict[str, str]:
        names = sorted({m.filter for e in self.evaluations for m in e.metrics} - {"", "none"})
        return {key(name): name for name in names[:MAX_FILTERS] if key(name)}

    @cached_property
    def qualities(self) -> frozenset[str]:
        """Words that may follow a task's name."""
        return frozenset(self.metrics.keys() | self.filters.keys() | VALUE)

    def filter_in(self, text: str) -> str | None:
        if not self.filters:
            return None
        whole = whole_key(text)
        found = {name for form, name in self.filters.items() if form in whole}
        return found.pop() if len(found) == 1 else None

    def metric_of(self, text: str) -> str | None:
        """The metric that a text names, alone or in brackets. `acc` in lm_eval's own spelling is one, "Accuracy" is any."""
        if len(text) > MAX_NAME:
            return None
        if ASIDE.sub(" ", text).strip() == "acc":
            return "acc"
        return next((self.metrics[form] for form in (key(text), *map(key, asides(text))) if form in self.metrics), None)

    def metric_behind(self, text: str) -> str | None:
        """The metric that follows a task's name: "arc_challenge acc_norm"."""
        return next((self.metrics[ending] for _, ending in endings(text) if ending in self.metrics), None)

    def tasks_in(self, text: str) -> frozenset[str] | None:
        """The tasks that a text names: alone, or followed by a metric, a filter or a word such as "score"."""
        if len(text) > MAX_NAME or not self.understands(asides(text)):
            return None
        if found := self.tasks.get(key(text)):
            return found
        if text.startswith(("-", "–")) and (found := self.nested.get(key(text))):
            return found
        return next((self.tasks[start] for start, ending in endings(text) if start in self.tasks and ending in self.qualities), None)

    def understands(self, remarks: list[str]) -> bool:
        """True if remarks in brackets only name numbers of shots, counts, metrics and filters."""
        forms = [key(part) for remark in remarks for part in re.split("[,;/|]", SHOTS.sub(" ", remark))]
        return all(form in self.qualities or form in HARMLESS or COUNT.fullmatch(form) for form in forms)

    def is_own(self, text: str) -> bool:
        return len(text) <= MAX_NAME and (OWN_WORDS.search(text) is not None or key(text) in self.own or whole_key(text) in self.own)


def is_nested(alias: str) -> bool:
    return alias.startswith((" ", "-"))
