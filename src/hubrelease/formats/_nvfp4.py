"""What the NVFP4 formats that take activation scales share."""

from __future__ import annotations

MOST = 6.0 * 448.0
"""What the largest code times the largest group scale stands for."""
