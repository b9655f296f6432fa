"""The checks on what a release means over files that mean harm: they end, and they raise nothing."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest
import tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meaning import adapter, checkpoints, is_ours, problems_of, saved

from hubrelease import dockerfiles, packages, verify_release
from hubrelease.capabilities import targets, uncovered
from hubrelease.checks import checks
from hubrelease.private_places import home_folders, machine_paths, mail_addresses
from hubrelease.release import Release
from hubrelease.secrets_known import secrets

WORDS = st.sampled_from(
    [
        "",
        "..",
        "../x",
        "/etc/passwd",
        "a.b",
        "x" * 300,
        "\u202e",
        "\ud800",
        "C:\\x",
        "lm_head",
        "q_proj",
        "(a+)+$",
        "sm_90",
        "9.0",
        "pass",
        "conversational",
        "org/name--m.C",
    ]
)
NUMBERS = st.integers(-3, 5) | st.sampled_from([2**31, 2**63, 10**30, -(10**20)]) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | WORDS
KEYS = st.sampled_from([
    "text_config", "vision_config", "quantization_config", "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size", "head_dim", "layer_types",
    "num_experts", "n_routed_experts", "moe_intermediate_size", "mlp_only_layers", "decoder_sparse_step", "num_nextn_predict_layers", "tie_word_embeddings", "auto_map", "architectures", "model_type", "eos_token_id",
    "torch_dtype", "added_tokens", "model", "vocab", "content", "id", "eos_token", "chat_template", "added_tokens_decoder", "vocab_file", "path", "type", "r", "target_modules", "rank_pattern", "peft_type",
    "layers_to_transform", "base_model_name_or_path", "revision", "modules_to_save", "use_dora", "dflash_config", "target_layer_ids", "mask_token_id", "block_size", "checks", "result", "subject", "environment",
    "gpus", "status", "required", "name", "tensors", "relation", "shape", "weights", "runtime", "side_files", "omit", "remote_code", "compute_capabilities", "cuda_archs", "files", "do_sample", "temperature", "x",
])  # fmt: skip
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | WORDS, inner, max_size=6), max_leaves=20)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=12)
QUIET = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
FILES = [
    "config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json", "adapter_config.json", "modules.json", "benchmarks/release-validation.json", "conversion_manifest.json", "special_tokens_map.json",
    "added_tokens.json", "draft/config.json", "processor_config.json", "model.safetensors.index.json", "chat_template.json",
]  # fmt: skip
MADE: dict[str, Any] = {}


def ascii_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def base(factory) -> Release:
    """One folder for all examples, with weights, an adapter and a draft."""
    if "release" not in MADE:
        extra = {f"adapter/{path}": data for path, data in adapter("pattern").items()} | {
            f"draft/{path}": data for path, data in saved("llama").items()
        }
        root = tiny.release(
            factory.mktemp("hostile") / "release", {**extra, "adapter_model.safetensors": adapter("plain")["adapter_model.safetensors"]}
        )
        MADE["release"] = root
    root: Path = MADE["release"]
    return Release(root, verify_release.check_folder(root))


def again(release: Release, files: dict[str, bytes]) -> Release:
    """The same release with other files laid over it."""
    return Release(release.root, release.result, overlay=files)


@QUIET
@given(st.sampled_from(FILES), OBJECTS | JSON)
def test_any_json_in_any_file(tmp_path_factory, path, value):
    problems_of(again(base(tmp_path_factory), {path: ascii_json(value)}))


@QUIET
@given(st.dictionaries(st.sampled_from(FILES), OBJECTS, min_size=3, max_size=8))
def test_any_json_in_several_files(tmp_path_factory, values):
    problems_of(again(base(tmp_path_factory), {path: ascii_json(value) for path, value in values.items()}))


@QUIET
@given(OBJECTS, JSON)
def test_any_spec_and_dependencies(tmp_path_factory, spec, rows):
    release = again(base(tmp_path_factory), {"Dockerfile": b"FROM a:1\nENV TORCH_CUDA_ARCH_LIST=9.0\n"})
    release.__dict__["document"] = {
        "predicate": {
            "buildDefinition": {"externalParameters": {"spec": spec}, "resolvedDependencies": rows},
            "runDetails": {"byproducts": rows},
        }
    }
    problems_of(release)


@QUIET
@given(st.sampled_from(sorted(checkpoints())), st.dictionaries(KEYS, LEAVES, max_size=4))
def test_any_sizes_of_known_families(tmp_path_factory, family, keys):
    config = copy.deepcopy(checkpoints()[family]["config"])
    config.get("text_config", config).update(keys)
    problems_of(again(base(tmp_path_factory), {"config.json": ascii_json(config)}))


@pytest.mark.heavy
@pytest.mark.parametrize(
    "keys",
    [
        {"num_hidden_layers": 10_000, "num_experts": 10_000},
        {"num_hidden_layers": 2**40},
        {"num_hidden_layers": 10_000, "layer_types": ["linear_attention"] * 10_000},
    ],
)
@pytest.mark.parametrize("family", ["qwen3_moe", "deepseek_v3", "qwen3_5", "glm5_next", "gpt_oss"])
def test_huge_promises_end_soon(tmp_path, family, keys):
    root = tiny.write(
        tmp_path / "r",
        saved(
            family,
            lambda config, tensors: config.get("text_config", config).update({**keys, "n_routed_experts": keys.get("num_experts", 4)}),
        ),
    )
    start = time.monotonic()
    problems_of(Release(root, verify_release.check_folder(root)))
    assert time.monotonic() - start < 30


def test_deep_nesting(tmp_path):
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    root = tiny.release(tmp_path / "r", {name: deep for name in FILES if "/" not in name})
    problems_of(Release(root, verify_release.check_folder(root)))


@QUIET
@given(st.text(st.sampled_from("FROM RUNpip instal=$\\{}\n#@:\"'<>;&|-.[]0a"), max_size=300))
def test_any_dockerfile_and_requirements(text):
    found = dockerfiles.read("Dockerfile", text)
    assert len(found.instructions) <= dockerfiles.MAX_INSTRUCTIONS
    list(packages.in_dockerfile(found))
    list(packages.in_file("requirements.txt", text))
    list(packages.in_pyproject("pyproject.toml", text))


@QUIET
@given(st.binary(max_size=400) | st.text(st.sampled_from('hf_sk-/home:@C\\U .aA1\n"='), max_size=300).map(str.encode))
def test_any_text_is_searched(data):
    for found in secrets(data, "x"):
        assert len(found.shown) <= 4
    for search in (machine_paths, home_folders, mail_addresses):
        assert all(0 <= position <= len(data) for position, _ in search(data))


@QUIET
@given(
    st.text(st.sampled_from("0123456789.afsm_+PTX;, -realvirtual"), max_size=40), st.lists(st.sampled_from(["9.0", "12.1", "x", "", "8.6"]))
)
def test_any_list_of_architectures(text, promised):
    assert set(uncovered(promised, targets(text) or [])) <= set(promised)


def test_variables_that_grow(tmp_path):
    lines = ["ARG A0=" + "x" * 100] + [f"ARG A{n}=$A{n - 1}$A{n - 1}" for n in range(1, 60)]
    start = time.monotonic()
    found = dockerfiles.read("Dockerfile", "\n".join([*lines, "FROM $A59"]))
    assert all(len(value) <= dockerfiles.MAX_VALUE for value in found.variables.values())
    assert time.monotonic() - start < 5


def test_every_check_of_these_ranges_ran():
    assert sum(is_ours(check.code) for check in checks()) > 40
