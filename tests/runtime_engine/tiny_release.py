"""Writes a tiny random Qwen3.5 release: checkpoint (BF16 or block FP8), tokenizer, image processor, adapter, readout.

Needs torch, transformers and tokenizers. The sizes are those of the smallest model whose linears all fit FP8 blocks.
"""

from __future__ import annotations

import itertools
import json
import string
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

VOCABULARY = 1024
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}"
    "{% if c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% else %}<think>\n{% endif %}{% endif %}"
)
QUANTISED = ("q_proj", "k_proj", "v_proj", "o_proj", "in_proj_qkv", "in_proj_z", "out_proj", "gate_proj", "up_proj", "down_proj")


def tokenizer():
    """Byte-level BPE: 256 bytes, every pair of capitals, the special tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [a + b for a, b in itertools.product(string.ascii_uppercase, repeat=2)]
    vocabulary = {token: i for i, token in enumerate([*alphabet, *pairs])}
    fast = Tokenizer(models.BPE(vocabulary, [(p[0], p[1]) for p in pairs]))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    fast.add_special_tokens([AddedToken(token, special=True) for token in SPECIALS])
    fast.add_tokens([AddedToken(token, special=False) for token in ("<think>", "</think>")])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=fast, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    wrapped.chat_template = TEMPLATE
    return wrapped


def config(tokens, **text):
    """A Qwen3_5Config for a tokenizer."""
    from transformers import Qwen3_5Config

    ids = {name: tokens.convert_tokens_to_ids(token) for name, token in
           zip(("pad", "start", "end", "vs", "ve", "image", "video"), SPECIALS, strict=True)}  # fmt: skip
    sizes = dict(
        vocab_size=VOCABULARY, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=64, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=64,
        linear_value_head_dim=64, linear_conv_kernel_dim=4, full_attention_interval=4, max_position_embeddings=4096,
        rope_parameters=dict(rope_type="default", rope_theta=10_000_000, partial_rotary_factor=0.25,
                             mrope_section=[4, 2, 2], mrope_interleaved=True),
        tie_word_embeddings=True, pad_token_id=ids["pad"], eos_token_id=ids["end"], dtype="bfloat16", mtp_num_hidden_layers=1,
    )  # fmt: skip
    vision = dict(
        depth=2, hidden_size=64, intermediate_size=128, num_heads=4, in_channels=3, patch_size=16, spatial_merge_size=2,
        temporal_patch_size=2, out_hidden_size=256, num_position_embeddings=64,
    )  # fmt: skip
    return Qwen3_5Config(
        text_config=sizes | text, vision_config=vision, image_token_id=ids["image"], video_token_id=ids["video"],
        vision_start_token_id=ids["vs"], vision_end_token_id=ids["ve"], tie_word_embeddings=True,
    )  # fmt: skip


def write_base(folder: Path, dtype=torch.bfloat16, seed=0, **text):
    """config, weights with MTP tensors and FP32 A_log and norm, tokenizer, image processor. Returns the transformers model."""
    from transformers import Qwen3_5ForConditionalGeneration

    tokens = tokenizer()
    cfg = config(tokens, **text)
    torch.manual_seed(seed)
    model = Qwen3_5ForConditionalGeneration._from_config(cfg, dtype=dtype).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("q_proj.weight", "k_proj.weight", "norm.weight", "conv1d.weight")):
                parameter.add_(torch.randn_like(parameter) * 0.1)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    write_processor(folder)
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in list(tensors.items()):
        if name.endswith(("A_log", "linear_attn.norm.weight")):
            tensors[name] = tensor.float()
    tensors |= {"mtp.fc.weight": torch.randn(256, 512, dtype=dtype), "mtp.norm.weight": torch.zeros(256, dtype=dtype)}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return model


def write_processor(folder: Path):
    """An image processor of small patches, so that a picture is a handful of tokens."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    Qwen2VLImageProcessorPil(
        patch_size=16, temporal_patch_size=2, merge_size=2, size={"shortest_edge": 32 * 32, "longest_edge": 96 * 96}
    ).save_pretrained(folder)


def quantise(folder: Path):
    """Turns a folder's language linears into block FP8 in place."""
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in list(tensors.items()):
        module, _, kind = name.rpartition(".")
        if kind != "weight" or module.rpartition(".")[2] not in QUANTISED or not name.startswith("model.language_model."):
            continue
        rows, columns = (size // 128 for size in tensor.shape)
        blocks = tensor.float().view(rows, 128, columns, 128)
        scale = blocks.abs().amax((1, 3)) / 448.0
        codes = (blocks / scale[:, None, :, None]).reshape(tensor.shape).to(torch.float8_e4m3fn)
        tensors[name], tensors[f"{module}.weight_scale_inv"] = codes, scale
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    path = folder / "config.json"
    written = json.loads(path.read_text())
    written["quantization_config"] = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    path.write_text(json.dumps(written))


def write_adapter(folder: Path, base: Path, rank=8, codes=32, seed=1, scale=0.05):
    """A LoRA adapter over all language linears, a readout bound to the tokenizer, a calibration."""
    from safetensors import safe_open
    from transformers import AutoTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    with safe_open(base / "model.safetensors", framework="pt") as file:
        for name in file.keys():  # noqa: SIM118  (safe_open has no __iter__)
            module = name.removesuffix(".weight")
            if name.endswith(".weight") and module.rpartition(".")[2] in QUANTISED and name.startswith("model.language_model."):
                out, width = file.get_slice(name).get_shape()
                tensors[f"base_model.model.{module}.lora_A.weight"] = torch.randn(rank, width, generator=generator) * scale
                tensors[f"base_model.model.{module}.lora_B.weight"] = torch.randn(out, rank, generator=generator) * scale
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(
        {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "bias": "none", "base_model_name_or_path": "example/tiny",
         "target_modules": ".*language_model.*\\.(" + "|".join(QUANTISED) + ")"}))  # fmt: skip
    tokens = AutoTokenizer.from_pretrained(base)
    names = [*string.ascii_uppercase, *("".join(p) for p in itertools.product(string.ascii_uppercase, repeat=2))][:codes]
    bound = [{"code": code, "token_id": tokens.convert_tokens_to_ids(code)} for code in names]
    (folder / "decision_readout.json").write_text(json.dumps({"version": 1, "codes": bound}))
    save_file({"weight": torch.randn(codes, 256, generator=generator)}, folder / "decision_readout.safetensors")
    temperatures = {f"{kind}:{bucket}": 1.5 for kind in ("choice", "boolean", "ordinal") for bucket in ("2", "3-5")}
    (folder / "calibration.json").write_text(json.dumps(
        {"schema_version": "1.0", "calibration_version": "tiny-1", "temperatures": temperatures,
         "counts": dict.fromkeys(temperatures, 10)}))  # fmt: skip
    return tensors
