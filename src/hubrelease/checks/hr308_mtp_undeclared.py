"""The weights hold multi-token-prediction layers that config.json puts at 0.

Why it matters: runtimes build the MTP head from the config, so that these tensors are downloaded and never used.
Mend: Give the number of MTP layers in config.json, or leave the tensors out.
Source: formats of Qwen3.5 (mtp_num_hidden_layers) and DeepSeek-V3 (num_nextn_predict_layers); intel/auto-round PR 1526.

A warning, and only for an explicit 0: models whose config never had such a key (Qwen3-Next) load their MTP head all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.checks.hr307_mtp_missing import KEYS
from hubrelease.errors import Problem, Where
from hubrelease.models import as_size
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        if not model.whole or not model.layers:
            continue
        for place, holder in (("", model.config), ("/text_config", model.text)):
            said = [key for key in KEYS if key in holder]
            zero = next((key for key in said if holder[key] == 0 and holder[key] is not False), None)
            if zero and not any(as_size(holder[key]) for key in said) and (place == "" or holder is not model.config):
                if model.mtp_layers:
                    message = "is 0, and the weights hold tensors of an MTP layer"
                    where = Where(model.config_file, pointer=f"{place}/{zero}")
                    yield CHECK.problem(where, message, "give their number, or leave the tensors out", severity="warning")
                break


CHECK = Check("HR308", "mtp-undeclared", "MTP layers that the config denies", run)
