"""The arithmetic of `fp32_multiply` and `fp32_add`: numpy's float32, with subnormal numbers flushed to 0."""

from __future__ import annotations

import numpy as np

SMALLEST_NORMAL = np.finfo(np.float32).tiny


def flush(values: np.ndarray) -> np.ndarray:
    """Subnormal numbers as 0 with their sign."""
    values = np.asarray(values, np.float32)
    return np.where(np.abs(values) < SMALLEST_NORMAL, np.copysign(np.float32(0), values), values)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return flush(flush(a) * flush(b))


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return flush(flush(a) + flush(b))


def bits(values: np.ndarray) -> np.ndarray:
    """The 32 bits of each number; of any NaN those of the kernels'."""
    values = np.asarray(values, np.float32)
    return np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))
