"""How near converted weights are to their reference: perplexity of both over one text, and how often both rank the same token first.

Both models read the same tokens: a text in windows that do not overlap, each from its own start, or what the reference
answered to prompts (greedy_answers.py). The candidate is read by
transformers, with compressed-tensors where its config says so, so that activations are quantised as the format has it;
where transformers has no reader (ModelOpt), its weights are turned back by conversion/dequantised.py and activations stay as they
are. The receipt says which. torch and transformers are needed, and looked for, only here.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hubrelease import __version__, verify_release
from hubrelease.conversion import dequantised
from hubrelease.conversion.rows import MANIFEST
from hubrelease.digest import sha256
from hubrelease.errors import CheckFailed, OutsideError, SpecError, problem
from hubrelease.manifest import Entry, payload_digest, role_of
from hubrelease.progress import SILENT, Progress
from hubrelease.verify_release import strict_json

PACKAGES = ("torch", "transformers", "compressed-tensors")
TRANSFORMERS_READS = ("fp8", "compressed-tensors", "none")
MEND = "pip install 'hubrelease[convert]' transformers compressed-tensors accelerate"


@dataclass(frozen=True)
class Text:
    """The text that both read."""

    name: str
    data: bytes

    @property
    def sha256(self) -> str:
        return sha256(self.data)


@dataclass(frozen=True)
class Piece:
    """Tokens that are read at once. Those from `start` on are predicted; what stands before them is given."""

    ids: Sequence[int]
    start: int = 1


@dataclass(frozen=True)
class Scores:
    """One model over one text: the sum of -log p(token) in nats, the token ranked first at each place, and how it was read."""

    loss: float
    first: tuple[int, ...]
    reader: str

    @property
    def perplexity(self) -> float:
        return math.exp(self.loss / len(self.first))


def text_of(path: Path) -> Text:
    try:
        return Text(path.name, path.read_bytes())
    except OSError as error:
        message = f"could not be read: {error.strerror}"
        raise OutsideError(problem("local-file-missing", str(path), message, "name the text that both models read")) from None


def compare(
    candidate: Path, reference: Path, text: Text, device: str = "cpu", window: int = 512, progress: Progress = SILENT
) -> dict[str, Any]:
    """The receipt of a candidate against its reference; the reference's tokenizer cuts the text for both.

    OutsideError where torch or transformers is missing, CheckFailed where a model can't be read.
    """
    scores = tuple(measure(folder, text, reference, device, window, progress) for folder in (reference, candidate))
    return receipt(reference, candidate, text, (scores[0], scores[1]), device, window)


def measure(folder: Path, text: Text, tokenizer: Path, device: str = "cpu", window: int = 512, progress: Progress = SILENT) -> Scores:
    """Scores of the model in `folder`, over the text as the tokenizer in the folder `tokenizer` cuts it.

    A CPU computes in binary32 (twice as fast as BF16 there; see dtype_for for NVFP4), a GPU in the model's dtype.
    """
    require(device)
    ids = token_ids(tokenizer, text)
    if len(ids) < 2:
        raise SpecError(problem("spec-invalid", text.name, f"is {len(ids)} tokens long, nothing to predict", "name a longer text"))
    with loaded(folder, device) as (model, reader):
        return score(model, windows(ids, window), device, reader, progress)


@contextmanager
def loaded(folder: Path, device: str) -> Iterator[tuple[Any, str]]:
    """(the model, what read it), as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="hubrelease-fidelity-") as scratch:
        yield load(folder, Path(scratch) / "plain", device)


def require(device: str) -> None:
    """OutsideError that names what is not installed or not there. What is imported after this shows no bars of its own."""
    os.environ["TQDM_DISABLE"] = "1"  # read by tqdm when it is imported
    from importlib.util import find_spec

    if absent := [name for name in ("torch", "transformers", "safetensors") if find_spec(name) is None]:
        raise OutsideError(problem("tool-missing", "bench fidelity", f"needs {', '.join(absent)}, not installed here", MEND))
    if device != "cpu":
        import torch

        if not torch.cuda.is_available():
            raise OutsideError(problem("tool-missing", "bench fidelity", "torch finds no CUDA device", "use --device cpu"))


def token_ids(folder: Path, text: Text) -> list[int]:
    from transformers import AutoTokenizer

    try:
        content = text.data.decode("utf-8")
    except UnicodeDecodeError:
        raise SpecError(problem("spec-invalid", text.name, "is not UTF-8", "name a text file")) from None
    method_of(folder)  # a folder that is not there would be looked for on the Hub
    with told(folder, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(folder)
    ids: list[int] = tokenizer(content, add_special_tokens=False)["input_ids"]
    return ids


def load(folder: Path, scratch: Path, device: str) -> tuple[Any, str]:
    """(model, what read it)."""
    from transformers import AutoModelForCausalLM, logging

    logging.disable_progress_bar()
    method = method_of(folder)
    if method in TRANSFORMERS_READS:
        found, reader = folder, {"fp8": "transformers", "none": "transformers"}.get(method, method)
    else:
        dequantised.write_plain(folder, scratch)
        found, reader = scratch, "hubrelease (weights alone)"
    with told(folder, "model"):
        model = AutoModelForCausalLM.from_pretrained(found, dtype=dtype_for(found, device), device_map=device)
    return model.eval(), reader


def compute_dtype(device: str) -> str:
    return "float32" if device == "cpu" else "auto"


def dtype_for(folder: Path, device: str) -> str:
    """compute_dtype, but for NVFP4: what compressed-tensors unpacks from it stays BF16 whatever is asked for."""
    block = strict_json((folder / "config.json").read_bytes()).get("quantization_config") or {}
    return "auto" if block.get("format") == "nvfp4-pack-quantized" else compute_dtype(device)


@contextmanager
def told(folder: Path, what: str) -> Iterator[None]:
    """What transformers raises for a folder that it can't read, as a problem of that folder."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        message, mend = f"transformers can't load the {what}: {first[:300]}", "run verify on the folder, or install what the message names"
        raise CheckFailed(problem("weights-unusable", str(folder), message, mend)) from error


def method_of(folder: Path) -> str:
    try:
        config = strict_json((folder / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise CheckFailed(problem("weights-unusable", str(folder / "config.json"), str(error), "name the folder of a model")) from None
    block = config.get("quantization_config") if isinstance(config, dict) else None
    return str(block.get("quant_method", "")) if isinstance(block, dict) else "none"


def score(model: Any, pieces: Sequence[Piece], device: str, reader: str, progress: Progress = SILENT) -> Scores:
    import torch

    in_vocabulary(model.get_input_embeddings().weight.shape[0], pieces)
    losses, first = [], []
    progress.start_count("reading", len(pieces))
    for piece in pieces:
        tokens = torch.tensor(piece.ids, device=device)
        with torch.no_grad():
            logits = model(input_ids=tokens[None], use_cache=False).logits[0, piece.start - 1 : -1].float()
        losses.append(float(torch.nn.functional.cross_entropy(logits, tokens[piece.start :], reduction="sum")))
        first += logits.argmax(-1).tolist()
        progress.advance(1)
    progress.finish()
    if not math.isfinite(loss := math.fsum(losses)):
        raise CheckFailed(problem("weights-unusable", "logits", "are NaN or infinite", "run verify on the release"))
    return Scores(loss, tuple(first), reader)


def in_vocabulary(rows: int, pieces: Sequence[Piece]) -> None:
    """CheckFailed where the reference's tokenizer gives a token that a model with `rows` embeddings does not have."""
    highest = max((token for piece in pieces for token in piece.ids), default=-1)
    if highest >= rows:
        message = f"has {rows:,} embeddings, and the reference's tokenizer gives token {highest:,}"
        raise CheckFailed(problem("weights-unusable", "model", message, "compare models of one vocabulary"))


def windows(ids: Sequence[int], size: int) -> list[Piece]:
    """Pieces of `size` tokens; a last one of a single token predicts nothing and is left out."""
    found = (ids[start : start + size] for start in range(0, len(ids), size))
    return [Piece(piece) for piece in found if len(piece) > 1]


# ---------------------------------------------------------------------------------------------------------- the receipt


def receipt(
    reference: Path, candidate: Path, text: Text, scores: tuple[Scores, Scores], device: str, window: int | None, **more: Any
) -> dict[str, Any]:
    """The object of schemas/fidelity.schema.json, with a few keys of our own that readers may ignore. `more` joins them."""
    before, after = scores
    agreed, total = sum(a == b for a, b in zip(before.first, after.first, strict=True)), len(before.first)
    return {
        "schemaVersion": 1,
        "kind": "fidelity",
        "format": format_of(candidate),
        "model": subject(candidate),
        "reference": subject(reference),
        "text": {"name": text.name, "sha256": text.sha256, "tokens": total},
        "perplexity": {"reference": rounded(before.perplexity), "candidate": rounded(after.perplexity)},
        "top1Agreement": {"agreed": agreed, "total": total, "share": agreed / total},
        "environment": {"versions": versions(), "device": device_name(device)},
        "reader": after.reader,
        **({"window": window} if window is not None else {}),
        "computedIn": compute_dtype(device),
        **more,
        **totals_of(candidate),
    }


def rounded(value: float) -> float:
    return float(f"{value:.6g}")


def format_of(folder: Path) -> str:
    found = manifest(folder).get("format")
    return found if isinstance(found, str) else "as-is"


def totals_of(folder: Path) -> dict[str, Any]:
    totals = manifest(folder).get("totals")
    return {key: totals[key] for key in ("bitsPerParameter", "quantizedShare") if key in totals} if isinstance(totals, dict) else {}


def manifest(folder: Path) -> Mapping[str, Any]:
    try:
        value = strict_json((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def subject(folder: Path) -> dict[str, str]:
    """Name and payload digest: of a release those in its provenance, of another folder its own name and its files'."""
    held = verify_release.Folder(folder)
    entries, _ = held.scan()
    files = [Entry(path, hash_of(held, path, e.size), e.size, role_of(path)) for path, e in sorted(entries.items()) if e.kind == "file"]
    inside = [e for e in files if e.path not in (verify_release.PROVENANCE, verify_release.SIGNATURE)]
    return {"name": name_of(folder), "digest": payload_digest(inside)}


def hash_of(held: Any, path: str, size: int) -> str:
    fd, _ = held.open_file(path)
    found: str = verify_release.hash_fd(fd, size)[0]
    return found


def name_of(folder: Path) -> str:
    try:
        value: Any = strict_json((folder / verify_release.PROVENANCE).read_bytes())
        return str(value["predicate"]["buildDefinition"]["externalParameters"]["spec"]["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.resolve().name


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"hubrelease": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def device_name(device: str) -> str:
    if device == "cpu":
        return "cpu"
    import torch

    return str(torch.cuda.get_device_name(device))


def summary(made: Mapping[str, Any]) -> Iterator[str]:
    """A receipt in three lines."""
    before, after, same = made["perplexity"]["reference"], made["perplexity"]["candidate"], made["top1Agreement"]
    answers, tokens = made.get("answers"), made["text"]["tokens"]
    to = f"the reference's answers to {answers['prompts']} prompts in " if answers else ""
    over = f"{tokens} tokens of {to}{made['text']['name']}"
    yield f"{made['model']['name']} ({made['format']}) against {made['reference']['name']}, {over}"
    yield f"perplexity {after:.4g}, reference {before:.4g} ({100 * (after / before - 1):+.2f} %)"
    yield f"same token ranked first: {same['agreed']} of {same['total']} ({100 * same['share']:.2f} %); read by {made['reader']}"
