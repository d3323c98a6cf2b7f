"""The model of the kernel, whose bits the RTL has, against numpy's linear algebra in float64: prints how many images differ.

    python dnn_float_against_numpy.py [IMAGES]

A score may differ by the bound of a rounded sum of products (Higham, Accuracy and Stability of Numerical Algorithms,
section 3.1): n u / (1 - n u) of the sum of magnitudes, with n operations of unit roundoff u = 2^-24 each.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import float_network as flt  # noqa: E402
import network as net  # noqa: E402
import numpy as np  # noqa: E402

IMAGES_EACH = 10
# Operations behind a score: a product and an addition per term of both layers, one after the other.
OPERATIONS = 2 + flt.TAPS + flt.PLACES * net.CHANNELS
BOUND = OPERATIONS * 2.0**-24 / (1 - OPERATIONS * 2.0**-24)


def random_network(random: np.random.Generator) -> flt.FloatNetwork:
    """Weights of any sign and of many magnitudes; some of an array are 0."""
    def some(shape):
        values = random.normal(0, 1, shape) * 10.0 ** random.integers(-6, 7)
        if random.integers(0, 3) == 0:
            values *= 10.0 ** random.uniform(-4, 4, shape)
        return np.where(random.integers(0, 8, shape) == 0, 0, values)

    return flt.check_network({key: some(shape) for key, shape in flt.SHAPES.items()})


def random_images(random: np.random.Generator, count: int) -> np.ndarray:
    """Noise of many and of two greys."""
    images = random.integers(0, 256, (count, net.SIDE, net.SIDE), np.uint8)
    images[::3] = 255 * (images[::3] > 127)
    return images


def judge(network: flt.FloatNetwork, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores in float64, and how far rounded ones may be off."""
    def layers(sign):
        windows = np.lib.stride_tricks.sliding_window_view(images.astype(float), (3, 3), axis=(1, 2))
        values = [sign(array.astype(float)) for array in vars(network).values()]
        taps, channel_bias, weights, class_bias = values
        sums = np.tensordot(windows, taps, axes=([3, 4], [1, 2])) + channel_bias
        tops = np.maximum(sums.reshape(-1, 3, 2, 3, 2, net.CHANNELS).max(axis=(2, 4)), 0)
        return tops.transpose(0, 3, 1, 2).reshape(len(images), -1) @ weights.reshape(net.CLASSES, -1).T + class_bias

    return layers(lambda array: array), BOUND * layers(np.abs)


def reference_wrong(count: int) -> int:
    """Of so many random images, ten per random network, those with a score or class that rounding does not explain."""
    random, wrong = np.random.default_rng(23), 0
    for first in range(0, count, IMAGES_EACH):
        network, images = random_network(random), random_images(random, min(IMAGES_EACH, count - first))
        found = flt.scores(network, images).astype(float)
        exact, bound = judge(network, images)
        off = (np.abs(found - exact) > bound).any(axis=1)
        # The class's exact score is the largest, but for rounding.
        chosen = found.argmax(axis=1)[:, None]
        short = exact.max(axis=1) - np.take_along_axis(exact, chosen, axis=1)[:, 0]
        wrong += int((off | (short > 2 * bound.max(axis=1))).sum())
    return wrong


if __name__ == "__main__":
    print(reference_wrong(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
