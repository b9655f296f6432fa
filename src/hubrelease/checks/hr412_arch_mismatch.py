"""The release promises a compute capability that its runtime was not compiled for.

Why it matters: everything starts, and the first kernel on the new GPU ends with "no kernel image is available".
Mend: Compile for it (or add PTX), or promise less in runtime.compute_capabilities.
Source: vllm-project/vllm issues 20748, 16901 and 18995.

Held against runtime.compute_capabilities are runtime.cuda_archs of the spec and what a Dockerfile sets:
TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES, -gencode. A list with a word that is not understood decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.capabilities import Target, flags, targets, uncovered
from hubrelease.checks import Check
from hubrelease.dockerfiles import Dockerfile, dockerfiles
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping, strings
from hubrelease.release import Release
from hubrelease.verify_release import PROVENANCE

LISTS = ("TORCH_CUDA_ARCH_LIST", "CUDA_ARCHS", "CUDA_ARCHITECTURES", "CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS", "FLASHINFER_CUDA_ARCH_LIST",
         "FLASH_ATTN_CUDA_ARCHS", "VLLM_CUDA_ARCHS", "NVCC_ARCHS")  # fmt: skip
CMAKE = re.compile(r"-DCMAKE_CUDA_ARCHITECTURES=[\"']?([\w;,.+-]{2,200})")
POINTER = "/predicate/buildDefinition/externalParameters/spec/runtime/cuda_archs"
MEND = "compile for it (or add PTX), or promise less"


def run(release: Release) -> Iterator[Problem]:
    runtime = as_mapping(release.spec.get("runtime"))
    promised = strings(runtime.get("compute_capabilities"))
    told: set[str] = set()
    for found in dockerfiles(release) if promised else ():
        for text, compiled, line in lists(found):
            if lacking := uncovered(promised, compiled):
                told.update(lacking)
                yield CHECK.problem(Where(found.file, line), sentence(lacking, text), MEND)
    words = strings(runtime.get("cuda_archs"))
    parsed = targets(" ".join(words)) if words else None
    if parsed and (lacking := [c for c in uncovered(promised, parsed) if c not in told]):
        yield CHECK.problem(Where(PROVENANCE, pointer=POINTER), sentence(lacking, ", ".join(words)), MEND)


def sentence(lacking: list[str], text: str) -> str:
    return f"compute capability {', '.join(lacking)} is promised, and the runtime is compiled for {text[:200]} only"


def lists(found: Dockerfile) -> Iterator[tuple[str, list[Target], int]]:
    """(text, targets, line) of each list of architectures; of a variable that is set twice, the last one."""
    for name in LISTS:
        values = list(found.values(name))
        if values and (compiled := targets(values[-1][0], "TORCH" not in name)):
            yield values[-1][0], compiled, values[-1][1]
    for row in found.instructions:
        if row.word in ("RUN", "ENV", "ARG"):
            if (match := CMAKE.search(row.text)) and (compiled := targets(match[1], cmake=True)):
                yield match[1], compiled, row.line
            if gencode := flags(row.text):
                yield "its -gencode flags", gencode, row.line


CHECK = Check("HR412", "arch-mismatch", "capability that was not compiled", run)
