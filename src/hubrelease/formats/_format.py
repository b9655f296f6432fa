"""What a format is: a frozen value that says which tensors it stores, how they are rounded, and what config.json says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hubrelease.arithmetic.kernels import KERNELS, Kernel
from hubrelease.arithmetic.paths import make_encoder
from hubrelease.arithmetic.rounding import bits_of, f32
from hubrelease.arithmetic.values import Encoded, Strip
from hubrelease.arithmetic.values import Encoder as Rounder

CODES, SCALES, CONSTANT = "codes", "scales", "constant"
FUSED = (
    ("q_proj", "k_proj", "v_proj"),
    ("gate_proj", "up_proj"),
    ("w1", "w3"),
    ("q_a_proj", "kv_a_proj_with_mqa"),
    ("wq_a", "wkv_a_with_mqa"),
    ("in_proj_qkv", "in_proj_z"),
    ("in_proj_b", "in_proj_a"),
)
"""Siblings that readers load as one matrix: quantised all or none of them, with one global scale where there is one. The
first five are llmcompressor's 0.14.0.1, the others are vLLM 0.32.0's for linear attention, which llmcompressor leaves apart."""


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor that a quantised module stores. Its bytes are an encoder's codes or scales, or one of its constants."""

    suffix: str
    dtype: str
    shape: tuple[int, ...]
    role: str = CONSTANT


Parts = Callable[[int, int, str], tuple[Part, ...]]
Constants = Callable[[float | None, float | None, tuple[int, int], str], dict[str, bytes]]
Config = Callable[[Iterable[str], Iterable[str]], dict[str, Any] | None]
Configured = Callable[["Format", Mapping[str, Any]], "Format"]
NO_OPTIONS: Mapping[str, Any] = {"type": "object", "additionalProperties": False}


def none_of(_quantised: Iterable[str], _excluded: Iterable[str]) -> None:
    return None


def no_constants(_shared: float | None, _input: float | None, _shape: tuple[int, int], _dtype: str) -> dict[str, bytes]:
    return {}


def unchanged(form: Format, _options: Mapping[str, Any]) -> Format:
    return form


@dataclass(frozen=True)
class Format:
    """One format, with its options settled (see `configured`).

    `arithmetic` names the producer whose bytes it gives, `readers` who loads it; `version` counts up whenever the same
    weights give other bytes. `dtypes` are those that it takes. `fused` lists last names of sibling modules that readers fuse.
    Constants whose suffix is in `apart` belong in a file of their own, `apart_file`. `options` is the JSON Schema of its
    options.
    """

    name: str
    sentence: str
    arithmetic: str
    readers: str
    kernel_name: str
    parts: Parts
    config_block: Config
    version: int = 1
    strip_rows: int = 128
    dtypes: tuple[str, ...] = ("BF16", "F16", "F32")
    fused: tuple[tuple[str, ...], ...] = FUSED
    needs_inputs: bool = False
    constants: Constants = no_constants
    hf_quant_config: Config = none_of
    apart: tuple[str, ...] = ()
    apart_file: str = ""
    default_include: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: NO_OPTIONS)
    configure: Configured = unchanged

    @property
    def kernel(self) -> Kernel:
        return KERNELS[self.kernel_name]

    @property
    def needs_shared_amax(self) -> bool:
        return self.kernel.shared is not None

    def configured(self, options: Mapping[str, Any]) -> Format:
        """This format with options that `options`, the schema, allows."""
        unknown = set(options) - set(self.options.get("properties", ()))
        if unknown:
            raise ValueError(f"{self.name} has no option {sorted(unknown)[0]!r}")
        return self.configure(self, options)

    def refusal(self, _module: str, dtype: str, shape: tuple[int, ...]) -> str | None:
        """Why a weight can't be quantised; None if it can. Names are not this function's affair."""
        kernel = self.kernel
        if dtype not in self.dtypes:
            return f"is {dtype}; {self.name} takes {', '.join(self.dtypes)}"
        if len(shape) != 2:
            return f"has {len(shape)} dimensions, not 2"
        rows, columns = shape
        if not rows or not columns:
            return "is empty"
        if rows % kernel.rows_of:
            return f"has {rows} rows, no multiple of {kernel.rows_of}"
        if columns % kernel.columns_of:
            return f"has {columns} columns, no multiple of {kernel.columns_of}"
        return None

    def encoder(self, device: str = "cpu", path: str | None = None, dtype: str = "BF16") -> Encoder:
        """An encoder for weights of `dtype`, for one thread. Raises PathMissing."""
        return Encoder(self, make_encoder(self.kernel_name, device, path, dtype))


@dataclass(frozen=True)
class Encoder:
    """Rounds strips of one format; see arithmetic.values.Encoder for what its methods give and raise."""

    form: Format
    rounder: Rounder

    @property
    def path(self) -> str:
        return self.rounder.path

    def amax(self, strip: Strip) -> float:
        return self.rounder.amax(strip)

    def encode(self, strip: Strip, shared_amax: float | None = None) -> Encoded:
        return self.rounder.encode(strip, shared_amax)

    def constants(self, shared_amax: float | None, input_amax: float | None, shape: tuple[int, int], dtype: str) -> dict[str, bytes]:
        """{suffix: bytes} of the parts that neither codes nor scales fill."""
        return self.form.constants(shared_amax, input_amax, shape, dtype)


def scalar(x: float) -> bytes:
    """The bytes of a positive F32."""
    return bits_of(f32(x)).to_bytes(4, "little")


def positive(input_amax: float | None) -> float:
    """The maximum of a module's activations. Raises ValueError if there is none to scale by."""
    if input_amax is None or not 0 < input_amax < float("inf"):
        raise ValueError(f"an activation scale needs a positive maximum, not {input_amax}")
    return input_amax
