"""Turning rows of BF16, F16 or F32 numbers into codes and scales, in several ways that give the same bits.

    values.py       what goes in and comes out: Strip, Encoded, Sums
    kernels.py      the roundings there are (one for each of the formats' arithmetics) and their shared scales
    reference.py    each of them in plain torch, on a CPU or with CUDA; stands alone, a release may carry it
    native.c        each of them for BF16 in C, built on this machine at first use by native.py; no torch, no numpy
    cuda.py         block FP8 and NVFP4 as Triton kernels
    paths.py        which of these ways this machine has, and their encoders

A way is asked for by name and refused if it is not there. Nothing here knows files, names of tensors or formats.
"""
