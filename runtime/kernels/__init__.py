"""Kernels of the runtime. reference.py says what each operation is; dispatch.py says what runs where."""
