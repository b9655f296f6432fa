"""The pre-pass: one amax for each quantised module, the largest of its fused siblings, wherever their shards lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hubrelease.conversion.engine import not_finite, strips
from hubrelease.conversion.rules import WEIGHT, Choice, fused_groups
from hubrelease.formats import Encoder, Format, NotFinite
from hubrelease.progress import Progress
from hubrelease.reshard import Part, Reader
from hubrelease.verify_release import in_threads


def shared_amaxes(
    parts: Sequence[Part], choice: Choice, form: Format, encoder: Callable[[], Encoder], progress: Progress, jobs: int
) -> dict[str, float]:
    """{module: amax}; empty for formats that share nothing. `encoder` makes one for each thread.

    CheckFailed for NaN or Inf, with the tensor's name.
    """
    if not form.needs_shared_amax:
        return {}
    chosen = set(choice.quantised)
    progress.start("reading what siblings share", sum(p.file.digest.size for p in parts))
    found: dict[str, float] = {}
    for amaxes in in_threads(lambda part: amaxes_of(part, chosen, form, encoder(), progress), parts, jobs):
        found |= amaxes
    progress.finish()
    return spread(found, form)


def amaxes_of(part: Part, chosen: set[str], form: Format, encoder: Encoder, progress: Progress) -> dict[str, float]:
    found: dict[str, float] = {}
    with part.file.open() as stream:
        reader = Reader(stream, hashes=False)
        reader.skip(part.header.data_start)
        for tensor in part.header.tensors:
            module = tensor.name.removesuffix(WEIGHT)
            if tensor.name.endswith(WEIGHT) and module in chosen:
                try:
                    found[module] = max((encoder.amax(strip) for strip in strips(tensor, reader, form.strip_rows)), default=0.0)
                except NotFinite as error:
                    raise not_finite(tensor, part.file.path, error) from None
            else:
                reader.skip(tensor.size)
            progress.advance(tensor.size)
    return found


def spread(amaxes: Mapping[str, float], form: Format) -> dict[str, float]:
    """Every member of a fused group gets the largest amax of the group."""
    found = dict(amaxes)
    for group in fused_groups(amaxes, form.fused):
        largest = max(amaxes[module] for module in group)
        found |= dict.fromkeys(group, largest)
    return found
