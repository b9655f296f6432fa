"""What the NVFP4 formats share: who shares a global scale, and the shape of codes."""

from __future__ import annotations

FUSED = (
    ("q_proj", "k_proj", "v_proj"),
    ("gate_proj", "up_proj"),
    ("w1", "w3"),
    ("q_a_proj", "kv_a_proj_with_mqa"),
    ("wq_a", "wkv_a_with_mqa"),
)
"""Siblings that readers load as one matrix, with one global scale for all of it. The names are llmcompressor's 0.14.0.1."""

MOST = 6.0 * 448.0
"""What the largest code times the largest group scale stands for."""
