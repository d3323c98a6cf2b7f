"""The exact model of the kernel, which the RTL equals, against numpy's linear algebra: prints how many images differ.

    python dnn_against_numpy.py [IMAGES]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import network as net
import numpy as np

IMAGES_EACH = 10


def random_network(random: np.random.Generator) -> net.Network:
    """Any weights; at times all extreme, so that sums are the largest."""
    def some(shape, low, high):
        kind = random.integers(0, 8)
        if kind < 2:
            return np.full(shape, high if kind else low)
        return random.integers(low, high + 1, shape)

    bias = int(random.choice([0, 1000, 100_000, net.MOST_BIAS]))
    arrays = {key: some(shape, *((-bias, bias) if "bias" in key else (-128, 127))) for key, shape in net.SHAPES.items()}
    return net.check_network(arrays | {"shift": np.array(random.integers(0, 16))})


def random_images(random: np.random.Generator, count: int) -> np.ndarray:
    """Noise of many and of two greys."""
    images = random.integers(0, 256, (count, net.SIDE, net.SIDE), np.uint8)
    images[::3] = 255 * (images[::3] > 127)
    return images


def judge(network: net.Network, images: np.ndarray) -> np.ndarray:
    """Classes and margins by matrix products of numbers with a fraction, which hold these sums exactly."""
    windows = np.lib.stride_tricks.sliding_window_view(images.astype(float), (3, 3), axis=(1, 2))
    sums = np.tensordot(windows, network.taps.astype(float), axes=([3, 4], [1, 2])) + network.channel_bias
    tops = np.maximum(sums.reshape(-1, 3, 2, 3, 2, net.CHANNELS).max(axis=(2, 4)), 0)
    activations = np.minimum(np.floor(tops / 2.0**network.shift), 255)
    flat = activations.transpose(0, 3, 1, 2).reshape(len(images), -1)
    scores = flat @ network.weights.reshape(net.CLASSES, -1).astype(float).T + network.class_bias
    ranked = np.sort(scores, axis=1)
    margins = np.minimum(np.floor((ranked[:, -1] - ranked[:, -2]) / 2.0**net.MARGIN_SHIFT), 255)
    return np.stack([scores.argmax(axis=1), margins], axis=1).astype(np.uint8)


def reference_wrong(count: int) -> int:
    """Of so many random images, ten per random network, those with another class or margin."""
    random, wrong = np.random.default_rng(17), 0
    for first in range(0, count, IMAGES_EACH):
        network, images = random_network(random), random_images(random, min(IMAGES_EACH, count - first))
        wrong += int((net.infer(network, images) != judge(network, images)).any(axis=1).sum())
    return wrong


if __name__ == "__main__":
    print(reference_wrong(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
