"""A Hugging Face Hub on loopback for tests; README.md says what it is and is not."""

from .client import hf, python
from .hub import Hub

__all__ = ["Hub", "hf", "python"]
