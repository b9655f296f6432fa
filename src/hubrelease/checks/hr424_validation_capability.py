"""The validation did not run on a GPU that the release promises.

Why it matters: kernels, tuning and numeric behaviour differ between GPUs: a pass on one is none on another.
Mend: Validate on the promised GPU, or move it to runtime.expected_capabilities: the card then says that it was not measured.
Source: vllm-project/vllm issue 20748; contract, section 3.

An error where it ran on none of the promised ones, a warning for those that are left and where a report that `validate` wrote
names no GPU; what the runtime was not even compiled for is another check.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.capabilities import capability, targets, uncovered
from hubrelease.checks import Check
from hubrelease.checks.hr412_arch_mismatch import lists
from hubrelease.dockerfiles import dockerfiles
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping, strings
from hubrelease.release import Release
from hubrelease.validation_reports import PASSED, main_report

MEND = "validate on it, or move it to runtime.expected_capabilities"


def run(release: Release) -> Iterator[Problem]:
    report = main_report(release)
    promised = strings(as_mapping(release.spec.get("runtime")).get("compute_capabilities"))
    if report is None or report.result not in PASSED or not promised:
        return
    ran = {capability(text) for text in report.capabilities} - {None}
    left = [text for text in promised if (c := capability(text)) is not None and c not in ran and text not in uncompiled(release, promised)]
    where = Where(report.file, pointer="/environment")
    if left and not ran and report.is_own:
        message = f"names no GPU that it ran on, and the release promises {', '.join(left)}: that was not validated"
        yield CHECK.problem(where, message, MEND, severity="warning")
    if left and ran:
        none = not any(capability(text) in ran for text in promised)
        message = f"ran on {', '.join(report.capabilities[:4])}, and the release promises {', '.join(left)} too"
        message = message.removesuffix(" too") if none else message
        yield CHECK.problem(where, message, MEND, severity="error" if none else "warning")


def uncompiled(release: Release, promised: tuple[str, ...]) -> set[str]:
    found = {text for d in dockerfiles(release) for _, compiled, _ in lists(d) for text in uncovered(promised, compiled)}
    words = strings(as_mapping(release.spec.get("runtime")).get("cuda_archs"))
    parsed = targets(" ".join(words)) if words else None
    return found | set(uncovered(promised, parsed) if parsed else ())


CHECK = Check("HR424", "validation-capability", "validated on another GPU", run, waivable=False)
