"""transformers in this process: the release's own files, greedy, with the logits at hand.

A CPU computes in binary32 (twice as fast there as BF16; the weights are the same), a GPU in the model's dtype. What transformers
has no reader for (ModelOpt) is turned back to plain weights first, and the report says so.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from hubrelease.conversion import dequantised
from hubrelease.engines import Answer, EngineFault, Facts, Missing
from hubrelease.engines._packages import installed
from hubrelease.engines._thought import parted
from hubrelease.errors import ReleaseError
from hubrelease.fidelity import TRANSFORMERS_READS, compute_dtype, method_of
from hubrelease.suites import Request, Suite

NEEDED = ("torch", "transformers", "safetensors", "accelerate")
SHOWN = 20
MEND = "pip install 'hubrelease[validate]'"


class Transformers:
    kinds = frozenset(("chat", "completion", "image", "images", "long", "reasoning", "tool"))

    def __init__(self, folder: Path, device: str, remote_code: bool) -> None:
        self.folder, self.device, self.remote_code = folder, device, remote_code
        self.pid: int | None = None
        self.suite: Suite | None = None
        self.scratch: tempfile.TemporaryDirectory[str] | None = None
        self.model: Any = None
        self.tokenizer: Any = None
        self.processor: Any = None
        self.loaded: dict[str, Any] = {}
        self.reader = "transformers"

    def start(self, suite: Suite) -> Mapping[str, Any]:
        if absent := [name for name in NEEDED if find_spec(name) is None]:
            raise Missing(f"not installed: {', '.join(absent)}", MEND)
        import os

        os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1"}  # nothing but the folder
        self.suite = suite
        if self.device == "cuda":
            need_cuda()
        began = monotonic()
        with told(self.device, "the model could not be loaded", ended=True):
            self.load()
        return {"loadS": round(monotonic() - began, 1)}

    def load(self) -> None:
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        sees = "vision_config" in json.loads((self.folder / "config.json").read_bytes())
        method = method_of(self.folder)
        source = self.folder
        if method not in TRANSFORMERS_READS:
            self.scratch = tempfile.TemporaryDirectory(prefix="hubrelease-validate-")
            source = Path(self.scratch.name) / "plain"
            dequantised.write_plain(self.folder, source)
            self.reader = "hubrelease (weights alone)"
        kind = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
        self.model, info = kind.from_pretrained(
            source, dtype=compute_dtype(self.device), device_map=self.device, output_loading_info=True, local_files_only=True,
            trust_remote_code=self.remote_code,
        )  # fmt: skip
        self.model.eval()
        self.loaded = {name: sorted(map(str, info.get(f"{name}_keys", ()))) for name in ("missing", "unexpected", "mismatched")}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, local_files_only=True, trust_remote_code=self.remote_code)
        if sees:
            self.processor = transformers.AutoProcessor.from_pretrained(
                self.folder, local_files_only=True, trust_remote_code=self.remote_code
            )

    def facts(self) -> Facts:
        packages = installed()
        attention = getattr(self.model.config, "_attn_implementation", None) if self.model is not None else None
        backends = {"weights": self.reader, **({"attention": str(attention)} if attention else {}), "dtype": compute_dtype(self.device)}
        return Facts("transformers", packages.get("transformers"), packages, backends, load=self.loaded)

    def count(self, text: str) -> int | None:
        with told(self.device, "the text could not be cut into tokens"):
            return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    # --------------------------------------------------------------------------------------------------------- answers

    def ask(self, request: Request, stream: bool = False) -> Answer:
        import torch

        assert not stream, "there is no stream in this process"
        began = monotonic()
        with told(self.device, "the request failed"), torch.inference_mode():
            inputs = self.inputs_of(request)
            room = int(request.body.get("maxTokens", 32))
            done = self.model.generate(
                **inputs, max_new_tokens=room, do_sample=False, num_beams=1, return_dict_in_generate=True, output_logits=True,
                pad_token_id=self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else self.tokenizer.eos_token_id,
            )  # fmt: skip
            before = inputs["input_ids"].shape[1]
            chosen = done.sequences[0, before:].tolist()
            logprobs, entropies = spread(torch.stack([step[0].float() for step in done.logits]), chosen)
        text = self.tokenizer.decode(chosen, skip_special_tokens=True)
        thought, text = parted(text)
        return Answer(text.strip(), monotonic() - began, before, len(chosen), thought, tool_in(text), logprobs, entropies)

    def inputs_of(self, request: Request) -> Any:
        body = request.body
        if request.kind == "completion":
            return self.tokenizer(body["prompt"], return_tensors="pt").to(self.device)
        messages = [dict(message) for message in body["messages"]]
        more: dict[str, Any] = {"tools": body["tools"]} if "tools" in body else {}
        if "reasoning" in body:
            more["enable_thinking"] = body["reasoning"]
        maker = self.tokenizer
        if names := body.get("images", ()):
            messages = [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in messages]
            messages[-1]["content"] = [*({"type": "image", "image": self.picture(name)} for name in names), *messages[-1]["content"]]
            maker = self.processor
        return maker.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt", **more
        ).to(self.device)

    def picture(self, name: str) -> Any:
        import io

        from PIL import Image

        assert self.suite is not None
        return Image.open(io.BytesIO(self.suite.picture(name))).convert("RGB")

    def read(self, text: str) -> Answer:
        """The text itself, predicted token by token."""
        import torch

        with told(self.device, "the text could not be read"), torch.inference_mode():
            ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"].to(self.device)
            logits = self.model(input_ids=ids, use_cache=False).logits[0, :-1].float()
            logprobs, entropies = spread(logits, ids[0, 1:].tolist())
        return Answer(tokens=ids.shape[1], logprobs=logprobs, entropies=entropies)

    def close(self) -> None:
        self.model = self.tokenizer = self.processor = None
        if self.scratch:
            self.scratch.cleanup()
            self.scratch = None
        if self.device == "cuda" and find_spec("torch") is not None:
            import torch

            if torch.cuda.is_initialized():
                torch.cuda.empty_cache()


def need_cuda() -> None:
    """Missing where torch can't use the GPU that nvidia-smi tells of: built without CUDA, or for a newer driver."""
    import torch

    try:
        torch.cuda.init()
    except (AssertionError, RuntimeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        mend = "install a torch whose CUDA the driver runs (nvidia-smi shows it), or update the driver; --device cpu runs without"
        raise Missing(f"torch {torch.__version__} can't use the GPU: {first}", mend, "gpu-missing") from None


def spread(logits: Any, chosen: list[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(log probability of each chosen token, entropy at each place as a share of a uniform guess); NaN stays NaN."""
    import torch

    logs = logits.log_softmax(-1)
    picked = logs[torch.arange(len(chosen), device=logs.device), torch.tensor(chosen, device=logs.device)]
    terms = torch.where(logs == -math.inf, 0.0, logs.exp() * logs)  # 0 × -inf is 0 here; NaN stays
    shares = -terms.sum(-1) / math.log(logits.shape[-1])
    return tuple(picked.tolist()), tuple(shares.tolist())


def tool_in(text: str) -> Mapping[str, Any] | None:
    """The first {"name": …, "arguments": {…}} of a text, as Hermes, Qwen and SmolLM write their calls."""
    decoder = json.JSONDecoder()
    for match in list(re.finditer(r"\{", text))[:64]:
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            arguments = value.get("arguments", value.get("parameters"))
            return {"name": value["name"], "arguments": arguments if isinstance(arguments, dict) else None}
    return None


@contextmanager
def told(device: str, what: str, ended: bool = False) -> Iterator[None]:
    """Whatever is raised, as an EngineFault in one line. Memory that did not suffice is named as such.

    What four libraries, a chat template and a release's own code may raise has no list: tokenizers raises bare Exceptions.
    """
    try:
        yield
    except (EngineFault, ReleaseError):
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        short = "out of memory" in first.lower() or isinstance(error, MemoryError)
        lost = "cuda error" in first.lower()
        reason = f"the memory of the {'GPU' if device == 'cuda' else 'machine'} did not suffice: {first}" if short else first
        raise EngineFault(f"{what}: {reason}", ended=ended or lost) from error
