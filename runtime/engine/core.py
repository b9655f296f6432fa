"""The engine behind `Engine`: a release folder on a device, questions in, decisions out. See the package's docstring."""

from __future__ import annotations

import importlib.metadata
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import (
    PROFILES,
    Decision,
    DeviceLost,
    EngineError,
    LoadError,
    Option,
    OutOfMemory,
    PromptTooLong,
    Question,
    TooManyOptions,
    prompts,
    vision,
)
from . import decide as rules
from .adapter import load_adapter
from .config import TextConfig, read_json, text_config
from .graphs import LONGEST_BATCHED, Graphs
from .kernels import dispatch, linear
from .load import open_checkpoint
from .model import Model, build
from .reference_profile import ReferenceModel

PACKAGES = ("torch", "triton", "transformers", "fla-core", "flash-linear-attention", "tokenizers", "safetensors")
MAX_IMAGES = 2
MIB = 1 << 20
PROBE = Question("probe", "noul", "Is this a question?", (Option("true"), Option("false")))


@dataclass
class DecisionEngine:
    """A loaded release. Not safe for two threads."""

    folder: Path
    config: TextConfig
    tokenizer: Any
    model: Model | ReferenceModel
    readout: rules.Readout
    calibration: rules.Calibration
    tower: vision.Vision | None
    device: torch.device
    profile: str
    max_tokens: int
    graphs: Graphs | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: str = "cuda",
        backend: str = "auto",
        profile: str = "fused",
        max_tokens: int = 65_536,
        graphs: bool = True,
        calibration: str | None = None,
        dtype: torch.dtype = torch.bfloat16,
    ) -> DecisionEngine:
        """See `load_engine`."""
        started = time.perf_counter()
        where = Path(folder)
        with refusals():
            on = torch.device(device)
        if profile not in PROFILES:
            raise LoadError(f"no profile {profile!r}; there are {', '.join(PROFILES)}")
        if on.type == "cuda" and not torch.cuda.is_available():
            raise LoadError("no CUDA device is visible")
        with refusals(), torch.inference_mode():
            engine = assemble(cls, where, on, backend, profile, calibration, dtype)
            weights = memory(on).get("allocatedMiB")
            engine.probe()
            engine.max_tokens = min(max_tokens, engine.config.max_positions)
            if graphs and on.type == "cuda" and isinstance(engine.model, Model):
                engine.graphs = Graphs(engine.model)
                engine.graphs.capture_all()
        engine.facts |= {"load_seconds": time.perf_counter() - started, "weightsMiB": weights}
        return engine

    def probe(self) -> None:
        """One decision without and one with an image: what config, template and tensors must agree on. Raises LoadError or EngineError."""
        from PIL import Image

        self.max_tokens = self.config.max_positions
        shown = self.encode_images([Image.new("RGB", (64, 64))]) if self.tower else None
        for images in (None, shown):
            ids = self.tokens("", images)
            marks = ids.count(self.config.image_token)
            if marks != (images.tokens if images else 0):
                raise LoadError(f"config.json: image_token_id {self.config.image_token} isn't what the chat template writes for an image")
            self.decide("", PROBE, images)

    def describe(self) -> dict[str, Any]:
        """See `Engine.describe`."""
        captured = self.graphs
        used = memory(self.device) | {"weightsMiB": self.facts["weightsMiB"], "graphsMiB": captured.bytes_held // MIB if captured else 0}
        plan = self.model.plan
        return {
            "model": self.facts["model"],
            "adapter": self.facts["adapter"],
            "backend": {
                "linear": plan.describe() if plan else "transformers" if self.profile == "reference" else "bf16",
                "deltaRule": "fla" if self.device.type == "cuda" else "torch",
                "attention": "torch scaled_dot_product_attention",
            },
            "profile": self.profile,
            "load_seconds": self.facts["load_seconds"],
            "readout_codes": len(self.readout.codes),
            "max_options": self.readout.max_options,
            "prompt_layout": self.readout.layout,
            "calibration_version": self.calibration.version,
            "max_tokens": self.max_tokens,
            "max_images": MAX_IMAGES if self.tower else 0,
            "graphs": {"lengths": list(captured.lengths) if captured else [], "captured": len(captured.captured) if captured else 0},
            "device": hardware(self.device),
            "versions": versions(),
            "memory": used,
        }

    def encode_images(self, images: Sequence[Any]) -> vision.Encoded | None:
        """See `Engine.encode_images`."""
        if not images:
            return None
        if self.tower is None or len(images) > MAX_IMAGES:
            raise TooManyOptions(f"{len(images)} images; this release takes {MAX_IMAGES if self.tower else 0}")
        with device_errors(self.device):
            return self.tower.encode(images)

    @torch.inference_mode()
    def decide(self, state: str | Mapping[str, Any], question: Question, images: vision.Encoded | None = None) -> Decision:
        """See `Engine.decide`."""
        started = time.perf_counter()
        if len(question.options) > self.readout.max_options:
            raise TooManyOptions(f"{len(question.options)} options; the readout has room for {self.readout.max_options} and unknown")
        head = prompts.header(state, question.instructions, self.readout.layout)
        texts = prompts.candidates(question, self.readout.layout)
        offsets = prompts.offsets(len(texts))
        codes = list(self.readout.codes)
        ids = [self.tokens(prompts.text(head, texts, codes, offset), images) for offset in offsets]
        longest = max(len(one) for one in ids)
        if longest > self.max_tokens:
            raise PromptTooLong(f"the prompt has {longest} tokens, the limit is {self.max_tokens}")
        with device_errors(self.device):
            before = time.perf_counter()
            states = self.states(ids, images)
            logits = self.readout.logits(states, len(texts)).tolist()  # copies to the host, so the passes are over
            prefill_ms = (time.perf_counter() - before) * 1e3
        temperature, moved, version = self.calibration.find(question.type, len(question.options), images is not None)
        chances = rules.probabilities(rules.combine(logits, offsets), temperature, moved)
        if not all(map(math.isfinite, chances)):
            raise EngineError("the model's probabilities are not finite numbers")
        best = chances.index(max(chances))
        return Decision(
            probabilities=tuple(chances[:-1]),
            unknown_probability=chances[-1],
            selected=None if best == len(chances) - 1 else best,
            calibration_version=version,
            input_tokens=sum(len(one) for one in ids),
            rotations=len(offsets),
            prefill_ms=prefill_ms,
            total_ms=(time.perf_counter() - started) * 1e3,
        )

    def tokens(self, content: str, images: vision.Encoded | None) -> list[int]:
        """Token ids of a prompt. The caller's text can't make special tokens: it is encoded by itself, without them."""
        content = content.strip()
        whole = prompts.render(self.tokenizer, content, images.count if images else 0)
        at = whole.find(content)
        if at < 0:
            raise LoadError("the chat template changes the text that it is given")
        encode = self.tokenizer.encode
        ids = encode(whole[:at], add_special_tokens=False)
        ids += encode(content, add_special_tokens=False, split_special_tokens=True)
        ids += encode(whole[at + len(content) :], add_special_tokens=False)
        return vision.spread(ids, self.config.image_token, images)

    def states(self, ids: list[list[int]], images: vision.Encoded | None) -> torch.Tensor:
        """(rotations, hidden): all rotations in one pass where one is captured for their number and length, and on a CPU up to a length."""
        longest = max(map(len, ids))
        captured = self.graphs is not None and self.graphs.has(len(ids), longest)
        if captured or (self.device.type == "cpu" and self.graphs is None and longest <= LONGEST_BATCHED):
            return self.batch(ids, images)
        return torch.cat([self.batch([one], images) for one in ids])

    def batch(self, ids: list[list[int]], images: vision.Encoded | None) -> torch.Tensor:
        """(prompts, hidden): the last tokens' states of prompts padded on the right to the longest, by a graph if captured."""
        longest, token = max(map(len, ids)), self.config.image_token
        flat = torch.tensor([one + [0] * (longest - len(one)) for one in ids], device=self.device)
        embeds = torch.stack([vision.put(self.model.embed(row), row, self.config, images) for row in flat])
        where = torch.zeros(3, len(ids), longest, dtype=torch.long)
        for i, one in enumerate(ids):
            where[:, i, : len(one)] = vision.positions(one, token, images)
        where, last = where.to(self.device), torch.tensor([len(one) - 1 for one in ids], device=self.device)
        state = self.graphs.run(embeds, where, last) if self.graphs is not None else None
        if state is not None:
            return state
        rows = last + torch.arange(len(ids), device=self.device) * longest
        return self.model.forward(embeds.flatten(0, 1), where.flatten(1), (len(ids), longest), rows)

    def close(self) -> None:
        """See `Engine.close`."""
        del self.model
        self.graphs = self.tower = None
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def assemble(
    cls: type[DecisionEngine], folder: Path, device: torch.device, backend: str, profile: str, calibration: str | None, dtype: torch.dtype
) -> DecisionEngine:
    """All parts of an engine but its graphs. Raises LoadError."""
    from transformers import AutoTokenizer

    config = text_config(folder)
    beside = folder / "adapter" if (folder / "adapter").is_dir() else folder
    adapter = load_adapter(beside, device)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    checkpoint = open_checkpoint(folder, device)
    model: Model | ReferenceModel
    if profile == "reference":
        model = ReferenceModel(folder, config, adapter, device, dtype)
        checkpoint.read |= {name for name in checkpoint.files if not name.startswith("model.visual.")}
    else:
        model = build(config, checkpoint, adapter, backend, dtype)
    tensors = checkpoint.vision()
    tower = vision.Vision(folder, tensors, device, dtype) if tensors else None
    head = checkpoint.get("lm_head.weight").to(dtype) if "lm_head.weight" in checkpoint.files else model.embedding
    checkpoint.finish()
    if adapter is not None:
        adapter.finish()
    readout = rules.load_readout(beside, tokenizer, config.hidden, head, device)
    engine = cls(folder, config, tokenizer, model, readout, rules.load_calibration(beside, calibration), tower, device, profile, 0)
    named = read_json(folder / "config.json").get("_name_or_path") or folder.resolve().name
    engine.facts = {"model": named, "adapter": beside.relative_to(folder).as_posix() if adapter else None}
    return engine


@contextmanager
def refusals() -> Iterator[None]:
    """Whatever keeps a release from being loaded, as a LoadError. Libraries raise anything over files that lie."""
    try:
        yield
    except LoadError:
        raise
    except (dispatch.MissingPath, linear.BackendError, EngineError) as error:
        raise LoadError(str(error)) from error
    except torch.OutOfMemoryError as error:
        raise LoadError("the device's memory doesn't hold this release") from error
    except Exception as error:
        raise LoadError(f"{type(error).__name__}: {str(error)[:200]}") from error


@contextmanager
def device_errors(device: torch.device) -> Iterator[None]:
    """A device's faults as the engine's errors: out of memory is one request's, any other CUDA error the process's."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise OutOfMemory("the device's memory doesn't suffice for this request") from error
    except RuntimeError as error:
        if device.type == "cuda" and "CUDA" in str(error):
            raise DeviceLost("a CUDA error that stays") from error
        raise


def memory(device: torch.device) -> dict[str, int]:
    """Allocated, reserved and peak MiB of the device's allocator; nothing for a CPU."""
    if device.type != "cuda":
        return {}
    numbers = {
        "allocatedMiB": torch.cuda.memory_allocated(device),
        "reservedMiB": torch.cuda.memory_reserved(device),
        "peakMiB": torch.cuda.max_memory_allocated(device),
    }
    return {name: value // MIB for name, value in numbers.items()}


def hardware(device: torch.device) -> dict[str, Any]:
    """Name and capability."""
    if device.type != "cuda":
        return {"name": "cpu", "computeCapability": None}
    return {"name": torch.cuda.get_device_name(device), "computeCapability": "{}.{}".format(*torch.cuda.get_device_capability(device))}


def versions() -> dict[str, str | None]:
    """Versions of what the bits depend on; None for what isn't installed."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found
