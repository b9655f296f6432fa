"""Receipts as each harness writes them, small: {adapter: value}. Forms from the harnesses' sources, figures of our own."""

from __future__ import annotations

from typing import Any

COMMIT, DIGEST = "8faed761d45a263340a0528343f099c05c9a4323", "ab" * 32

LM_EVAL: dict[str, Any] = {
    "results": {
        "gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.42, "exact_match_stderr,strict-match": 0.0136,
                  "exact_match,flexible-extract": 0.45, "exact_match_stderr,flexible-extract": "N/A"},
        "mmlu": {"alias": "mmlu", "acc,none": 0.61, "acc_stderr,none": 0.004},
        "mmlu_law": {"alias": " - law", "acc,none": 0.5, "acc_stderr,none": 0.01},
    },
    "groups": {"mmlu": {"acc,none": 0.61, "acc_stderr,none": 0.004, "alias": "mmlu"}},
    "group_subtasks": {"mmlu": ["mmlu_law"]},
    "versions": {"gsm8k": 3.0, "mmlu": 2, "mmlu_law": 1.0},
    "n-shot": {"gsm8k": 5, "mmlu": 0, "mmlu_law": 0},
    "n-samples": {"gsm8k": {"original": 1319, "effective": 200}},
    "config": {"model": "vllm", "model_args": {"pretrained": "org/tiny", "dtype": "bfloat16", "tensor_parallel_size": 8}, "limit": 200.0,
               "model_revision": "main", "model_sha": COMMIT, "random_seed": 7},
    "pretty_env_info": "PyTorch version: 2.9.0+cu128\nGPU models and configuration: \nGPU 0: NVIDIA H100\nGPU 1: NVIDIA H100\n\nNvidia driver",
    "transformers_version": "4.57.3",
    "lm_eval_version": "0.4.9.2",
    "chat_template_sha": DIGEST,
}  # fmt: skip
LM_EVAL_3: dict[str, Any] = {
    "results": {"lambada_openai": {"ppl": 28.7, "ppl_stderr": 1.1, "acc": 0.354, "acc_stderr": 0.0067}},
    "versions": {"lambada_openai": 0},
    "config": {"model": "hf-causal", "model_args": "pretrained=org/tiny,revision=step113000", "num_fewshot": 0, "limit": None},
}
LIGHTEVAL: dict[str, Any] = {
    "config_general": {"lighteval_sha": "?", "max_samples": 10, "model_config": {"model_name": "org/tiny", "revision": "main", "dtype": "bfloat16",
                       "generation_parameters": {"seed": 42, "temperature": 0.6}}},
    "results": {"leaderboard|arc:challenge|25|0": {"acc": 0.5, "acc_stderr": 0.1}, "gsm8k|5": {"em": 0.3}, "all": {"acc": 0.5, "em": 0.3}},
    "versions": {"leaderboard|arc:challenge|25": 1, "gsm8k|5": 0},
    "config_tasks": {"leaderboard|arc:challenge": {"original_num_docs": 1172, "effective_num_docs": 10, "version": 1},
                     "gsm8k|5": {"original_num_docs": -1, "effective_num_docs": -1, "num_fewshots": 5}},
    "summary_tasks": {},
    "summary_general": {},
}  # fmt: skip
VLLM: dict[str, Any] = {
    "date": "20260428-120317", "backend": "vllm", "model_id": f"/models/models--org--tiny/snapshots/{COMMIT}/", "tokenizer_id": "org/tiny",
    "num_prompts": 160, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 16, "duration": 181.9, "completed": 160, "failed": 0,
    "total_input_tokens": 163840, "total_output_tokens": 163840, "request_throughput": 0.88, "request_goodput:": None, "output_throughput": 900.9,
    "mean_ttft_ms": 177.3, "p99.9_ttft_ms": 437.5, "median_e2el_ms": 18126.1, "ttfts": [0.1, 0.2], "errors": ["", ""],
    "hardware": "8 × H200", "vllm_version": "0.11.0",
}  # fmt: skip
VLLM_LATENCY: dict[str, Any] = {"avg_latency": 1.5, "latencies": [1.4, 1.6], "percentiles": {"10": 1.41, "99": 1.6}}
VLLM_THROUGHPUT: dict[str, Any] = {
    "elapsed_time": 10.0,
    "num_requests": 20,
    "total_num_tokens": 4000,
    "requests_per_second": 2.0,
    "tokens_per_second": 400.0,
}
SGLANG: dict[str, Any] = {
    "tag": None, "backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": 32, "sharegpt_output_len": None,
    "random_input_len": 1024, "random_output_len": 512, "random_range_ratio": 1.0, "duration": 60.0, "completed": 240, "total_input_tokens": 245760,
    "total_output_tokens": 122880, "total_output_tokens_retokenized": 122000, "request_throughput": 4.0, "output_throughput": 2048.0,
    "median_ttft_ms": 85.7, "p99_itl_ms": 20.5, "mean_e2e_latency_ms": 7840.6, "accept_length": 2.9, "concurrency": 31.4,
    "server_info": {"model_path": "org/tiny", "version": "0.5.2", "tp_size": 8, "random_seed": 1234, "quantization": "fp8", "revision": COMMIT},
}  # fmt: skip
SGLANG_BATCH: dict[str, Any] = {"run_name": "r", "batch_size": 4, "input_len": 1024, "output_len": 16, "prefill_latency": 3.7, "prefill_throughput": 1096.2,
                                "median_decode_latency": 0.019, "median_decode_throughput": 211.8, "total_latency": 4.0, "overall_throughput": 1040.0}  # fmt: skip
SGLANG_OFFLINE: dict[str, Any] = {"backend": "engine", "successful_requests": 10, "total_latency": 3.2, "total_input_tokens": 100, "total_output_tokens": 200,
                                  "request_throughput": 3.1, "input_throughput": 31.0, "output_throughput": 62.0, "total_throughput": 93.0}  # fmt: skip
MTEB: dict[str, Any] = {
    "dataset_revision": "a1b2", "task_name": "STS22", "mteb_version": "1.12.66", "evaluation_time": 7.9,
    "scores": {"test": [{"cosine_spearman": 0.22, "main_score": 0.22, "hf_subset": "ar", "languages": ["ara-Arab"], "pearson": [0.1, 0.2]},
                        {"cosine_spearman": 0.67, "main_score": 0.67, "hf_subset": "en", "languages": ["eng-Latn"], "nauc_x_max": "nan"}]},
}  # fmt: skip
MTEB_OLD: dict[str, Any] = {
    "dataset_revision": None, "mteb_dataset_name": "STS12", "mteb_version": "1.1.1",
    "test": {"cos_sim": {"pearson": 0.81, "spearman": 0.77}, "evaluation_time": 3.2},
}  # fmt: skip
MTEB_MODEL: dict[str, Any] = {
    "name": "org/tiny",
    "revision": COMMIT,
    "n_parameters": 1,
    "embed_dim": 384,
    "max_tokens": 256,
    "framework": [],
}
HELM: list[dict[str, Any]] = [
    {
        "name": {"name": "exact_match", "split": "test"},
        "count": 1,
        "sum": 0.25,
        "sum_squared": 0.06,
        "min": 0.25,
        "max": 0.25,
        "mean": 0.25,
    },
    {
        "name": {"name": "exact_match", "split": "test", "perturbation": {"name": "typos", "computed_on": "worst"}},
        "count": 1,
        "sum": 0.1,
        "mean": 0.1,
    },
    {"name": {"name": "inference_runtime", "split": "test"}, "count": 1, "sum": 0.3, "mean": 0.3},
    {"name": {"name": "training_co2_cost", "split": "test"}, "count": 0, "sum": 0},
]
HELM_RUN: dict[str, Any] = {
    "name": "mmlu:subject=philosophy,method=multiple_choice_joint,model=org_tiny",
    "scenario_spec": {"class_name": "helm.X", "args": {"subject": "philosophy"}},
    "adapter_spec": {"method": "multiple_choice_joint", "max_train_instances": 5, "max_eval_instances": 10, "model": "org/tiny",
                     "model_deployment": "huggingface/tiny", "temperature": 0.0},
}  # fmt: skip
FIGURES: dict[str, Any] = {
    "schemaVersion": 1, "kind": "figures", "model": "org/tiny", "revision": COMMIT, "engine": {"name": "sm120", "version": "1.0"}, "hardware": "1 × RTX 5090",
    "versions": {"torch": "2.9.0"}, "seed": 3,
    "rows": [{"name": "median TTFT", "value": 12.5, "unit": "ms", "n": 100, "conditions": {"input tokens": 1024}},
             {"name": "median TTFT", "value": 98.25, "unit": "ms", "n": 100, "stderr": 0.5, "conditions": {"input tokens": 8192}, "note": "warm"}],
}  # fmt: skip
FIDELITY: dict[str, Any] = {
    "schemaVersion": 1, "kind": "fidelity", "format": "fp8_block", "model": {"name": "org/tiny-fp8", "digest": DIGEST},
    "reference": {"name": "org/tiny", "revision": COMMIT}, "text": {"name": "a text", "sha256": DIGEST, "tokens": 4096},
    "perplexity": {"reference": 7.25, "candidate": 7.31}, "top1Agreement": {"agreed": 4055, "total": 4096, "share": 0.989990234375},
    "environment": {"versions": {"torch": "2.9.0"}, "device": "cpu"},
}  # fmt: skip
ALL: dict[str, list[Any]] = {
    "lm_eval": [LM_EVAL, LM_EVAL_3], "lighteval": [LIGHTEVAL], "vllm": [VLLM, VLLM_LATENCY, VLLM_THROUGHPUT],
    "sglang": [SGLANG, SGLANG_BATCH, SGLANG_OFFLINE], "mteb": [MTEB, MTEB_OLD, MTEB_MODEL, {"task_results": [MTEB]}], "helm": [HELM, HELM_RUN],
    "figures": [FIGURES], "fidelity": [FIDELITY],
}  # fmt: skip
