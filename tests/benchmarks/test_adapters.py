"""Each adapter: what it knows, what it reads, in which unit, and from where."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from samples import COMMIT, DIGEST

from hubrelease.described_runs import joined
from hubrelease.evaluations import Evaluation, Metric, adapters, evaluations_of, kinds_of, parse, read
from hubrelease.facts import MISSING, resolve
from hubrelease.footnotes import footnote
from hubrelease.phrases import Say
from hubrelease.resources import schema

EVERY = [(name, number, value) for name, values in samples.ALL.items() for number, value in enumerate(values)]


def runs(value: Any, file: str = "r.json") -> list[Evaluation]:
    return list(evaluations_of(parse(file, json.dumps(value).encode())))


def only(value: Any) -> Evaluation:
    (found,) = runs(value)
    return found


def named(evaluation: Evaluation, metric: str, task: str | None = None, chosen: str | None = None) -> Metric:
    (found,) = [m for m in evaluation.metrics if m.metric == metric and task in (None, m.task) and chosen in (None, m.filter)]
    return found


# ------------------------------------------------------------------------------------------------------- what is true of all


@pytest.mark.parametrize(("name", "number", "value"), EVERY, ids=lambda item: item if isinstance(item, str | int) else "")
def test_exactly_one_adapter_knows_a_receipt(name: str, number: int, value: Any) -> None:
    assert kinds_of(value) == {name}


@pytest.mark.parametrize(("name", "number", "value"), EVERY, ids=lambda item: item if isinstance(item, str | int) else "")
def test_every_value_is_where_its_pointer_says(name: str, number: int, value: Any) -> None:
    for evaluation in runs(value):
        for metric in evaluation.metrics:
            assert resolve(value, metric.pointer) == metric.value
            assert metric.stderr_pointer is None or resolve(value, metric.stderr_pointer) is not MISSING


def test_adapters_are_those_that_release_yaml_can_name() -> None:
    known = schema("release")["properties"]["benchmarks"]["items"]["properties"]["kind"]["enum"]
    assert sorted(known) == sorted([adapter.name for adapter in adapters()] + ["plain"])


@pytest.mark.parametrize(
    "value", [None, 1, "x", [], {}, {"results": {}}, {"results": {"a": {"acc": 1}}}, {"completed": 1}, [{"name": "x"}], {"kind": "figures"}]
)
def test_other_json_is_known_to_none(value: Any) -> None:
    assert kinds_of(value) == frozenset()


def test_a_list_of_runs_is_read_run_by_run() -> None:
    found = runs([samples.SGLANG, {**samples.SGLANG, "median_ttft_ms": 99.5}])
    assert [named(e, "median_ttft_ms").pointer for e in found] == ["/0/median_ttft_ms", "/1/median_ttft_ms"]


def test_lines_have_the_pointers_that_figures_use() -> None:
    data = b"\n".join(json.dumps(samples.SGLANG).encode() for _ in range(2)) + b"\n"
    found = [e for receipt in read("a.jsonl", data) for e in evaluations_of(receipt)]
    lines = [json.loads(line) for line in data.splitlines()]
    assert [resolve(lines, named(e, "concurrency").pointer) for e in found] == [31.4, 31.4]


def test_a_receipt_that_two_adapters_know_is_read_by_neither_unless_one_is_chosen() -> None:
    both = {**samples.LM_EVAL, "config_general": {"model_name": "org/tiny"}}
    assert kinds_of(both) == {"lm_eval", "lighteval"}
    assert [(e.harness, e.model, e.metrics) for e in runs(both)] == [("unknown", "org/tiny", ())]
    chosen = list(evaluations_of(parse("r.json", json.dumps(both).encode()), "lm_eval"))
    assert [e.harness for e in chosen] == ["lm_eval"]


PARTS = [part for values in samples.ALL.values() for value in values for part in (value if isinstance(value, list) else [value])]
INNER = ("model_config", "test", "acc", "mean", "gsm8k|5", "|", "rows", "value", "model_path", "main_score", "hf_subset")
keys = st.sampled_from(sorted({key for part in PARTS for key in part}.union(INNER)))
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["inf", "nan", "N/A", "org/x", "figures"])
)
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5), max_leaves=20)
places = st.lists(st.integers(0, 1000), min_size=1, max_size=4)


@given(st.sampled_from([value for _, _, value in EVERY]), st.lists(st.tuples(places, trees), min_size=1, max_size=3))
def test_no_adapter_raises_whatever_stands_in_its_receipt(value: Any, changes: list[tuple[list[int], Any]]) -> None:
    changed = copy.deepcopy(value)
    for place, tree in changes:
        put(changed, place, tree)
    for evaluation in evaluations_of(parse("r.json", json.dumps(changed).encode())):
        assert all(metric.value is None or isinstance(metric.value, float) for metric in evaluation.metrics)
        assert "\n" not in footnote(evaluation, Say("en"))


def put(value: Any, place: list[int], tree: Any) -> None:
    """Replaces one value somewhere inside."""
    for step in place:
        steps = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        if not steps:
            return
        key = steps[step % len(steps)]
        if step == place[-1] or not isinstance(value[key], (dict, list)):
            value[key] = tree
            return
        value = value[key]


# ------------------------------------------------------------------------------------------------------------ each harness


def test_lm_eval_with_filters_groups_and_a_mapping_of_options() -> None:
    found = only(samples.LM_EVAL)
    assert (found.model, found.revision, found.engine, found.harness_version) == ("org/tiny", COMMIT, "vllm", "0.4.9.2")
    assert (found.precision, found.seed, found.limit, found.hardware) == ("bfloat16", "7", 200, "2 × NVIDIA H100")
    assert found.versions == (("torch", "2.9.0+cu128"), ("transformers", "4.57.3"))
    strict = named(found, "exact_match", chosen="strict-match")
    assert (strict.value, strict.stderr, strict.shots, strict.version, strict.n, strict.n_total) == (0.42, 0.0136, 5, "3", 200, 1319)
    assert named(found, "exact_match", chosen="flexible-extract").stderr is None
    assert named(found, "acc", "mmlu").is_group


@pytest.mark.parametrize("arguments", ["pretrained=org/x,dtype=auto", {"pretrained": "org/x", "n": 1}, '{"pretrained": "org/x", "n": 1}'])
def test_lm_eval_reads_options_in_each_form(arguments: Any) -> None:
    assert only({**samples.LM_EVAL, "config": {"model": "hf", "model_args": arguments}}).model == "org/x"


@pytest.mark.parametrize(
    ("options", "more", "model", "revision"),
    [("pretrained=org/base,peft=org/lora", {"peft_sha": DIGEST[:40]}, "org/lora", DIGEST[:40]),
     ("pretrained=org/base,revision=" + COMMIT + ",peft=org/lora", {}, "org/lora", None),
     ("pretrained=org/base,delta=org/delta", {"delta_sha": DIGEST[:40]}, "org/delta", DIGEST[:40]),
     ("pretrained=org/base,lora_local_path=out/lora", {}, "out/lora", None), ("pretrained=org/base", {}, "org/base", COMMIT)],
)  # fmt: skip
def test_lm_eval_gives_an_adapter_its_own_revision_and_not_its_bases(options: str, more: dict[str, Any], model: str, revision: Any) -> None:
    config = {"model": "hf", "model_args": options, "model_revision": "main", "model_sha": COMMIT, **more}
    found = only({**samples.LM_EVAL, "config": config})
    assert (found.model, found.revision) == (model, revision)


def test_a_gpu_of_amd_is_one_too() -> None:
    machine = "PyTorch version: 2.7.0+rocm6.3\nGPU models and configuration: AMD Instinct MI300X (gfx942:sramecc+:xnack-)\nNvidia driver version: N/A"
    assert only({**samples.LM_EVAL, "pretty_env_info": machine}).hardware == "AMD Instinct MI300X (gfx942:sramecc+:xnack-)"
    for words in ("Could not collect", "No CUDA", "N/A", ""):
        assert only({**samples.LM_EVAL, "pretty_env_info": f"GPU models and configuration: {words}\nNvidia driver"}).hardware is None


def test_a_precision_left_to_the_engine_is_none() -> None:
    options = {"pretrained": "org/x", "dtype": "auto"}
    lm_eval = {**samples.LM_EVAL, "config": {"model": "hf", "model_args": options}}
    sglang = {**samples.SGLANG, "server_info": {**samples.SGLANG["server_info"], "quantization": None, "dtype": "auto"}}
    assert [only(value).precision for value in (lm_eval, sglang, {**samples.VLLM, "dtype": "auto"})] == [None, None, None]


def test_which_way_a_metric_is_better() -> None:
    new = {"results": {"t": {"acc,none": 0.5, "perplexity,none": 4.0, "loss,none": 1.0}}, "config": {"model_args": "pretrained=x"},
           "higher_is_better": {"t": {"acc": True, "perplexity": False, "loss": None}}}  # fmt: skip
    assert {m.metric: m.is_lower_better for m in only(new).metrics} == {"acc": False, "perplexity": True, "loss": False}
    assert {m.metric: m.is_lower_better for m in only(samples.LM_EVAL_3).metrics} == {"ppl": True, "acc": False}
    task = {"metrics": [{"metric_name": "em", "higher_is_better": True}, {"metric_name": "bpb", "higher_is_better": False}, "odd"]}
    light = {"config_general": {}, "results": {"t|0": {"em": 0.5, "bpb": 0.7}}, "config_tasks": {"t|0": task}}
    assert {m.metric: m.is_lower_better for m in only(light).metrics} == {"em": False, "bpb": True}


def test_lm_eval_before_0_4() -> None:
    found = only(samples.LM_EVAL_3)
    assert (found.model, found.revision) == ("org/tiny", "step113000")
    assert [(m.metric, m.value, m.stderr, m.shots, m.version) for m in found.metrics] == [
        ("ppl", 28.7, 1.1, 0, "0"),
        ("acc", 0.354, 0.0067, 0, "0"),
    ]


def test_lighteval_takes_names_of_rows_apart() -> None:
    found = only(samples.LIGHTEVAL)
    assert (found.model, found.revision, found.harness_version, found.seed, found.limit) == ("org/tiny", "main", None, "42", 10)
    assert [(m.task, m.metric, m.shots, m.n, m.n_total, m.stderr, m.is_group) for m in found.metrics] == [
        ("arc:challenge", "acc", 25, 10, 1172, 0.1, False),
        ("gsm8k", "em", 5, None, None, None, False),
        ("all", "acc", None, None, None, None, True),
        ("all", "em", None, None, None, None, True),
    ]


def test_lighteval_finds_a_tasks_options_with_a_suite_before_its_name() -> None:
    value = {
        "config_general": {},
        "results": {"gsm8k|0": {"em": 0.5}},
        "config_tasks": {"lighteval|gsm8k": {"original_num_docs": 9, "version": 2}},
    }
    (metric,) = only(value).metrics
    assert (metric.n_total, metric.version, metric.shots) == (9, "2", 0)


def test_vllm_serve_has_units_and_conditions() -> None:
    found = only(samples.VLLM)
    assert (found.harness, found.engine, found.engine_version, found.hardware) == ("vllm bench serve", "vllm", "0.11.0", "8 × H200")
    assert found.revision == COMMIT
    units = {m.metric: m.unit for m in found.metrics}
    assert (units["mean_ttft_ms"], units["output_throughput"], units["request_throughput"], units["duration"]) == (
        "ms",
        "tok/s",
        "req/s",
        "s",
    )
    assert named(found, "p99.9_ttft_ms").value == 437.5
    assert {"request_goodput", "ttfts", "num_prompts"}.isdisjoint(units)
    assert dict(found.conditions)["request rate"] == "unlimited"


def test_vllm_results_that_a_later_tool_shortened_are_known() -> None:
    short = {"model_id": "org/tiny", "max_concurrency": 16, "output_throughput": 900.9, "median_tpot_ms": 17.6}
    assert {(m.metric, m.unit) for m in only(short).metrics} == {("output_throughput", "tok/s"), ("median_tpot_ms", "ms")}


def test_vllm_times_without_a_suffix_are_seconds() -> None:
    found = only({**samples.VLLM, "median_ttft": 3.138})
    assert named(found, "median_ttft").unit == "s"


def test_vllm_keys_of_newer_versions_have_their_units() -> None:
    new = {"p100_ttft_ms": 9.5, "mean_client_queue_time_ms": 3.0, "p99_e2el_including_client_queue_ms": 4.0, "probe_median_e2el_ms": 5.0, "probe_completed": 7,
           "input_sequence_throughput": 6.0, "total_input_sequences": 8, "diffusion_committed_throughput": 10.0, "diffusion_steps_per_canvas": 2.5}  # fmt: skip
    found = {m.metric: (m.value, m.unit) for m in only({**samples.VLLM, **new}).metrics}
    units = ("ms", "ms", "ms", "ms", "requests", "inputs/s", "inputs", "tok/s", "")
    assert {name: found[name] for name in new} == {name: (value, unit) for (name, value), unit in zip(new.items(), units, strict=True)}


def test_a_rate_that_was_raised_while_measuring_is_not_called_unlimited() -> None:
    ramp = {"request_rate": "inf", "ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 12}
    assert dict(only({**samples.VLLM, **ramp}).conditions)["request rate"] == "1 to 12 req/s, linear"
    assert "rate unlimited" not in footnote(only({**samples.VLLM, **ramp, "ramp_up_end_rps": None}), Say("en"))


def test_vllm_latency_and_throughput() -> None:
    assert [(m.metric, m.value, m.unit) for m in only(samples.VLLM_LATENCY).metrics] == [
        ("avg_latency", 1.5, "s"), ("p10_latency", 1.41, "s"), ("p99_latency", 1.6, "s"),
    ]  # fmt: skip
    assert named(only(samples.VLLM_THROUGHPUT), "tokens_per_second").unit == "tok/s"


def test_sglang_names_the_server() -> None:
    found = only(samples.SGLANG)
    assert (found.model, found.revision, found.engine, found.engine_version, found.precision, found.seed) == (
        "org/tiny",
        COMMIT,
        "sglang",
        "0.5.2",
        "fp8",
        "1234",
    )
    assert dict(found.conditions) | {"request rate": "4 req/s", "input tokens at most": "1,024"} == dict(found.conditions)
    assert named(found, "median_ttft_ms").unit == "ms"


def test_sglang_names_servers_that_work_together() -> None:
    """Prefill and decode apart: what both say is said, and nothing else."""
    prefill = {"model_path": "org/tiny", "version": "0.5.5", "tp_size": 1, "random_seed": 1, "attention_backend": "fa3"}
    together = {"internal_states": [], "prefill": [prefill], "decode": [{**prefill, "version": "0.5.6", "random_seed": 2}] * 2}
    found = only({**samples.SGLANG, "server_info": together})
    assert (found.model, found.engine, found.engine_version, found.seed) == ("org/tiny", "sglang", None, None)
    assert dict(found.conditions) | {"tensor parallel": "1", "attention": "fa3"} == dict(found.conditions)
    other = {**together, "decode": [{**prefill, "model_path": "org/other"}]}
    assert only({**samples.SGLANG, "server_info": other}).model is None


def test_sglang_lengths_of_random_data_are_none_of_another_data_set() -> None:
    assert "input tokens at most" not in dict(only({**samples.SGLANG, "dataset_name": "sharegpt"}).conditions)


def test_mteb_has_a_task_for_each_subset() -> None:
    found = only(samples.MTEB)
    assert [(m.task, m.metric, m.filter, m.value, m.version) for m in found.metrics] == [
        ("STS22 ar", "cosine_spearman", "test", 0.22, "a1b2"), ("STS22 ar", "main_score", "test", 0.22, "a1b2"),
        ("STS22 en", "cosine_spearman", "test", 0.67, "a1b2"), ("STS22 en", "main_score", "test", 0.67, "a1b2"),
    ]  # fmt: skip
    assert [(m.metric, m.value) for m in only(samples.MTEB_OLD).metrics] == [("cos_sim_pearson", 0.81), ("cos_sim_spearman", 0.77)]
    bare = {"test": {"ndcg_at_10": 0.55}, "mteb_dataset_name": "FiQA2018"}
    assert [(m.task, m.metric, m.value) for m in only(bare).metrics] == [("FiQA2018", "ndcg_at_10", 0.55)]


def test_a_model_named_beside_the_values_is_theirs() -> None:
    files = {
        "e/STS22.json": samples.MTEB,
        "e/model_meta.json": samples.MTEB_MODEL,
        "h/stats.json": samples.HELM,
        "h/run_spec.json": samples.HELM_RUN,
    }
    found = {e.file: e for e in joined(e for file, value in files.items() for e in runs(value, file))}
    assert (found["e/STS22.json"].model, found["e/STS22.json"].revision) == ("org/tiny", COMMIT)
    helm = found["h/stats.json"]
    assert (helm.model, helm.limit, {m.task for m in helm.metrics}, {m.shots for m in helm.metrics}) == (
        "org/tiny",
        10,
        {"mmlu:subject=philosophy"},
        {5},
    )


@pytest.mark.parametrize(
    ("result", "about", "model"),
    [
        ("e/a-STS22.json", ["e/a-model_meta.json", "e/b-model_meta.json"], "e/a-model_meta.json"),
        ("e/a-x-STS22.json", ["e/a-model_meta.json", "e/a-x-model_meta.json"], "e/a-x-model_meta.json"),
        ("e/STS22.json", ["e/a-model_meta.json"], None),
        ("e/STS22.json", ["model_meta.json"], None),
        ("e/STS22.json", ["e/f/model_meta.json"], None),
        ("STS22.json", ["model_meta.json"], "model_meta.json"),
    ],
)
def test_a_description_is_about_what_its_name_says(result: str, about: list[str], model: str | None) -> None:
    found = [*runs(samples.MTEB, result), *(e for file in about for e in runs({**samples.MTEB_MODEL, "name": file}, file))]
    assert joined(found)[0].model == model


REPORT: dict[str, Any] = {
    "schemaVersion": 1, "kind": "decision-report",
    "baseline": {"rows": 200, "correct": 150, "accuracy": 0.75, "latency": {"meanMs": 20.5}, "run": {"profile": "BF16", "model": {"name": "org/base"}}},
    "candidate": {"rows": 200, "correct": 148, "accuracy": 0.74, "latency": {"meanMs": 12.25},
                  "run": {"profile": "FP8", "model": {"name": "org/tiny", "revision": COMMIT}, "runtime": {"name": "sm120", "version": "1.0"},
                          "environment": {"gpus": [{"name": "RTX 5090"}]}, "dataset": {"name": "DecisionBench"}, "packages": {"torch": "2.9.0"}}},
    "comparison": {"rows": 200, "mcnemarP": 0.5, "meanLatencyChangePercent": -40.2, "seed": 0, "intervals": {}},
    "probabilityDifferences": {"median": 0.001},
    "tasks": [{"task": "safety", "baseline": {"rows": 9, "correct": 9}, "candidate": {"rows": 9, "correct": 8}}],
    "buckets": [{"inputTokens": "0-511", "baseline": {"meanMs": 5.0}, "candidate": None}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("runtime", "engine", "profile"),
    [({"name": "sm120", "version": "1.0", "profile": "fused"}, ("sm120", "1.0"), ["fused"]), ({"name": "fused"}, ("sm120", None), ["fused"]),
     ({"name": "reference"}, ("sm120", None), ["reference"]), ({"name": "vllm"}, ("vllm", None), []), ({"profile": "fused"}, (None, None), ["fused"]),
     ({"name": "fused", "profile": "x"}, ("fused", None), ["x"]), ({"name": 5}, (None, None), []), (None, (None, None), [])],
)  # fmt: skip
def test_the_engine_of_a_decision_run_is_not_its_servers_profile(runtime: Any, engine: Any, profile: list[str]) -> None:
    """Files written before the two were told apart had the profile as the name."""
    _, candidate = runs({**REPORT, "candidate": {**REPORT["candidate"], "run": {"runtime": runtime}}})
    assert (candidate.engine, candidate.engine_version) == engine
    assert [value for name, value in candidate.conditions if name == "server profile"] == profile


def test_a_decision_report_is_two_runs_and_their_comparison() -> None:
    assert kinds_of(REPORT) == {"decision_report"}
    baseline, candidate = runs(REPORT)
    assert (baseline.title, baseline.model, candidate.title, candidate.model, candidate.revision) == (
        "BF16",
        "org/base",
        "FP8",
        "org/tiny",
        COMMIT,
    )
    assert (candidate.engine, candidate.engine_version, candidate.hardware) == ("sm120", "1.0", "1 × RTX 5090")
    assert {(m.task, m.metric): m.value for m in baseline.metrics} == {
        ("all tasks", "rows"): 200, ("all tasks", "correct"): 150, ("all tasks", "accuracy"): 0.75, ("all tasks", "meanMs"): 20.5,
        ("safety", "rows"): 9, ("safety", "correct"): 9, ("0-511", "meanMs"): 5.0,
    }  # fmt: skip
    change = named(candidate, "meanLatencyChangePercent")
    assert (change.filter, change.value, change.unit, change.n) == ("comparison", -40.2, "%", 200)
    assert named(candidate, "meanMs", "all tasks").unit == "ms"
    for metric in (*baseline.metrics, *candidate.metrics):
        assert resolve(REPORT, metric.pointer) == metric.value


@pytest.mark.parametrize(
    ("name", "title"),
    [("commonsense:dataset=hellaswag,method=multiple_choice_joint,model=org_tiny", "commonsense:dataset=hellaswag"),
     ("mmlu:subject=philosophy,method=multiple_choice_joint,model=org_tiny,data_augmentation=canonical", "mmlu:subject=philosophy"),
     ("math:subject=algebra,level=1,use_chain_of_thought=True,model=org_tiny", "math:subject=algebra,level=1,use_chain_of_thought=True"),
     ("narrative_qa:model=org_tiny,max_train_instances=5", "narrative_qa"), ("narrative_qa", "narrative_qa")],
)  # fmt: skip
def test_a_run_of_helm_is_named_by_what_was_asked(name: str, title: str) -> None:
    """Two data sets of one scenario are not one task, even where the scenario's own options do not say which."""
    run = {**samples.HELM_RUN, "name": name, "scenario_spec": {"class_name": "helm.X", "args": {}}}
    assert only(run).title == title


def test_helm_leaves_out_what_was_not_computed() -> None:
    assert [(m.metric, m.filter, m.value, m.unit) for m in only(samples.HELM).metrics] == [
        ("exact_match", "test", 0.25, ""), ("exact_match", "test typos worst", 0.1, ""), ("inference_runtime", "test", 0.3, "s"),
    ]  # fmt: skip


def test_figures_of_one_name_are_told_apart_by_their_conditions() -> None:
    found = only(samples.FIGURES)
    assert [(m.task, m.filter, m.value, m.unit, m.n, m.stderr) for m in found.metrics] == [
        ("median TTFT", "input tokens 1,024", 12.5, "ms", 100, None), ("median TTFT", "input tokens 8,192", 98.25, "ms", 100, 0.5),
    ]  # fmt: skip
    assert (found.engine, found.engine_version, found.hardware, found.seed) == ("sm120", "1.0", "1 × RTX 5090", "3")


def test_fidelity() -> None:
    found = only(samples.FIDELITY)
    assert {(m.metric, m.filter): m.value for m in found.metrics} == {
        ("perplexity", "reference"): 7.25, ("perplexity", "candidate"): 7.31,
        ("top1Agreement", "agreed"): 4055, ("top1Agreement", "total"): 4096, ("top1Agreement", "share"): 0.989990234375,
    }  # fmt: skip
    assert dict(found.conditions)["reference"] == f"org/tiny at {COMMIT[:12]}"


@pytest.mark.parametrize(("name", "value"), [("figures", samples.FIGURES), ("fidelity", samples.FIDELITY)])
def test_samples_of_our_own_receipts_fit_their_schemas(name: str, value: Any) -> None:
    assert not list(Draft202012Validator(schema(name)).iter_errors(value))
    for key in schema(name)["required"]:
        assert list(Draft202012Validator(schema(name)).iter_errors({k: v for k, v in value.items() if k != key}))
