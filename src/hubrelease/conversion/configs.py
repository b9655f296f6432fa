"""config.json of a converted release: the base's, with quantization_config, and nothing else changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hubrelease.errors import CheckFailed, problem
from hubrelease.verify_release import strict_json

CONFIG, HF_QUANT = "config.json", "hf_quant_config.json"
QUANT_KEYS = ("quantization_config", "quantization", "compression_config")
QUANTISED_DTYPES = ("F4", "F6_E2M3", "F6_E3M2", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ")


def base_config(data: bytes) -> dict[str, Any]:
    """The base's config.json, keys in their order. CheckFailed if it is none, or says that the base is quantised already."""
    try:
        value = strict_json(data)
    except ValueError as error:
        raise CheckFailed(problem("weights-unusable", CONFIG, f"is not JSON: {error}", "fetch the base again")) from None
    if not isinstance(value, dict):
        raise CheckFailed(problem("weights-unusable", CONFIG, "is not a JSON object", "fetch the base again"))
    nested = value.get("text_config") if isinstance(value.get("text_config"), dict) else {}
    for key in QUANT_KEYS:
        if value.get(key) or (nested or {}).get(key):
            message = f"{key} says that the base is quantised already"
            raise CheckFailed(problem("weights-unusable", CONFIG, message, "convert from the unquantised base, or use format: as-is"))
    return value


def refuse_quantised(dtypes: Mapping[str, str], companions: Sequence[str]) -> None:
    """CheckFailed where the tensors are those of a quantised checkpoint, whatever the config says."""
    odd = [name for name, dtype in dtypes.items() if dtype in QUANTISED_DTYPES or name.endswith(tuple(companions))]
    if odd:
        message = f"{odd[0]} ({dtypes[odd[0]]}) belongs to a checkpoint that is quantised already"
        raise CheckFailed(problem("weights-unusable", "weights", message, "convert from the unquantised base, or use format: as-is"))


def dumps(config: Mapping[str, Any]) -> bytes:
    """As save_pretrained writes it: two spaces, keys in their order, a newline at the end."""
    return json.dumps(config, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
