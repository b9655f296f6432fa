"""Run by the Python of an environment with scipy and scikit-learn: what they say of two rows files, as JSON on standard output."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from scipy.stats import binomtest, bootstrap
from sklearn.metrics import accuracy_score, log_loss


def rows_of(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as stream:
        return [row for row in map(json.loads, stream) if "kind" not in row]


def likelihoods(rows: list[dict[str, Any]]) -> np.ndarray:
    """-ln p of the label of each row; log_loss wants equally many candidates, so those with as many go together."""
    found = np.zeros(len(rows))
    for count in {len(r["candidates"]) for r in rows}:
        places = [n for n, r in enumerate(rows) if len(r["candidates"]) == count]
        for n in places[:50]:  # one by one: each value
            index = [rows[n]["candidates"].index(rows[n]["label"])]
            found[n] = log_loss(index, [rows[n]["probabilities"]], labels=list(range(count)))
        rest = places[50:]
        if rest:  # all together: their sum, in the first one's place
            index = [rows[n]["candidates"].index(rows[n]["label"]) for n in rest]
            found[rest[0]] = log_loss(index, [rows[n]["probabilities"] for n in rest], labels=list(range(count)), normalize=False)
    return found


def profile(rows: list[dict[str, Any]]) -> dict[str, float]:
    labels, choices = [r["label"] for r in rows], [r["choice"] for r in rows]
    confidence = np.array([r["probabilities"][r["candidates"].index(r["choice"])] for r in rows])
    right = np.array(right_of(rows))
    bins = np.digitize(confidence, np.arange(1, 16) / 15, right=True)
    errors = [abs(right[bins == b].mean() - confidence[bins == b].mean()) * (bins == b).mean() for b in set(bins)]
    times = np.array([r["latencyMs"] for r in rows])
    return {
        "accuracy": accuracy_score(labels, choices),
        "meanNll": float(likelihoods(rows).sum() / len(rows)),
        "ece": float(sum(errors)),
        "meanMs": float(times.mean()),
        **{f"p{q}Ms": float(np.quantile(times, q / 100)) for q in (50, 90, 95, 99)},
    }


def right_of(rows: list[dict[str, Any]]) -> list[bool]:
    return [r["label"] == r["choice"] for r in rows]


def main() -> None:
    before, after = (rows_of(path) for path in sys.argv[1:])
    left, right = np.array(right_of(before)), np.array(right_of(after))
    only = int((left & ~right).sum()), int((right & ~left).sum())
    apart = [np.abs(np.array(a["probabilities"]) - np.array(b["probabilities"])) for a, b in zip(before, after, strict=True)]
    flat = np.concatenate(apart)
    step = np.array([b["latencyMs"] - a["latencyMs"] for a, b in zip(before, after, strict=True)])
    interval = bootstrap((step,), np.mean, method="percentile", n_resamples=2000, rng=1, batch=100).confidence_interval
    found = {
        "baseline": profile(before),
        "candidate": profile(after),
        "mcnemarP": float(binomtest(only[0], sum(only), 0.5).pvalue),
        "apart": {
            "median": float(np.median(flat)),
            "p99": float(np.quantile(flat, 0.99)),
            "maximum": float(flat.max()),
            "rowsAtLeast": sum(bool(values.max() >= 0.1 - 1e-12) for values in apart),
        },
        "interval": [float(interval.low), float(interval.high)],
        "standardError": float(step.std() / len(step) ** 0.5),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
