"""The network of the kernel `dnn`: its weights, its images, and what it computes, in exact integers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

SIDE = 8
IMAGE_BYTES = SIDE * SIDE
CHANNELS, CLASSES = 8, 10
# Shapes of the arrays of a file of weights.
SHAPES = {
    "taps": (CHANNELS, 3, 3),
    "channel_bias": (CHANNELS,),
    "weights": (CLASSES, CHANNELS, 3, 3),
    "class_bias": (CLASSES,),
    "shift": (),
}
# Sums of 24 bits do not wrap with biases of this size.
MOST_BIAS = 1 << 22
MOST_SHIFT = 31
MARGIN_SHIFT = 6
ROW, RECORD_BYTES = 64, 4096
WEIGHT_ROWS = 21
# FSRF's shares: of 64 rows of a record 59 are read, and two rows of results written.
BATCH = 59
RESULT_BYTES = 2


class NetworkError(ValueError):
    """Weights or images that the kernel cannot take."""


@dataclass
class Network:
    taps: np.ndarray          # [channel, line, column], int8
    channel_bias: np.ndarray  # [channel], int32
    weights: np.ndarray       # [class, channel, line, column], int8
    class_bias: np.ndarray    # [class], int32
    shift: int

    def pack(self) -> np.ndarray:
        """The rows of weights that the kernel reads (`dnn_layers.sv`)."""
        rows = np.zeros((WEIGHT_ROWS, ROW), np.uint8)
        channels = rows[:2].reshape(CHANNELS, 16)
        channels[:, :9] = self.taps.reshape(CHANNELS, 9).view(np.uint8)
        channels[:, 12:] = np.ascontiguousarray(self.channel_bias, "<i4").view(np.uint8).reshape(CHANNELS, 4)
        rows[2, : 4 * CLASSES] = np.ascontiguousarray(self.class_bias, "<i4").view(np.uint8)
        places = np.ascontiguousarray(self.weights.transpose(2, 3, 0, 1)).view(np.uint8)
        rows[3:].reshape(9, 2 * ROW)[:, : CLASSES * CHANNELS] = places.reshape(9, CLASSES * CHANNELS)
        return rows


def check_network(arrays: dict[str, np.ndarray], name: str = "weights") -> Network:
    """A network of arrays as in `SHAPES`; `NetworkError` if one is missing, has another shape or a value that does not fit."""
    for key, shape in SHAPES.items():
        if key not in arrays:
            raise NetworkError(f"{name}: no array `{key}`")
        array = np.asarray(arrays[key])
        if array.shape != shape:
            raise NetworkError(f"{name}: `{key}` has shape {array.shape}: must be {shape}")
        if array.dtype.kind not in "iu":
            raise NetworkError(f"{name}: `{key}` is {array.dtype}: must be integers; quantise with `train.quantise`")
        low, high = (0, MOST_SHIFT) if key == "shift" else (-MOST_BIAS, MOST_BIAS) if "bias" in key else (-128, 127)
        if array.min() < low or array.max() > high:
            raise NetworkError(f"{name}: `{key}` has values from {array.min()} to {array.max()}: must be {low} to {high}")
    return Network(
        np.asarray(arrays["taps"]).astype(np.int8), np.asarray(arrays["channel_bias"]).astype(np.int32),
        np.asarray(arrays["weights"]).astype(np.int8), np.asarray(arrays["class_bias"]).astype(np.int32),
        int(arrays["shift"]))


def _load(path: Path | str, wanted: str):
    """What a numpy file holds; `NetworkError` if it is damaged."""
    try:
        with open(path, "rb") as file:
            found = np.load(file, allow_pickle=False)
            return found if isinstance(found, np.ndarray) else dict(found)
    except OSError:
        raise
    except Exception as error:  # of a damaged file numpy, zipfile and zlib each raise their own
        raise NetworkError(f"{path}: {wanted}: {error}") from error


def read_arrays(path: Path | str, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The arrays of a .npz file, which should have these."""
    arrays = _load(path, "no .npz file of arrays")
    if isinstance(arrays, np.ndarray):
        raise NetworkError(f"{path}: a single array: must be a .npz file of {', '.join(shapes)}")
    return arrays


def read_network(path: Path | str) -> Network:
    """A .npz file with the arrays of `SHAPES`."""
    return check_network(read_arrays(path, SHAPES), str(path))


def check_images(images: np.ndarray, name: str = "images") -> np.ndarray:
    """Images [image, line, column] of uint8; `NetworkError` if they have another size."""
    if images.ndim != 3 or images.dtype != np.uint8:
        raise NetworkError(f"{name}: {images.ndim} dimensions of {images.dtype}: must be images, lines and columns of uint8")
    if images.shape[1:] != (SIDE, SIDE):
        raise NetworkError(f"{name}: images of {images.shape[2]} by {images.shape[1]} pixels: must be {SIDE} by {SIDE}")
    if not len(images):
        raise NetworkError(f"{name}: no image")
    return np.ascontiguousarray(images)


def read_images(path: Path | str) -> np.ndarray:
    """A .npy file; see `check_images`."""
    images = _load(path, "no .npy file of an array")
    if not isinstance(images, np.ndarray):
        raise NetworkError(f"{path}: an archive of arrays: must be a .npy file")
    return check_images(images, str(path))


def records(images: np.ndarray, batch: int = BATCH) -> np.ndarray:
    """Images in records of 4 KiB, the last one filled up with empty images."""
    count = -(-len(images) // batch)
    filled = np.zeros((count * batch, IMAGE_BYTES), np.uint8)
    filled[: len(images)] = images.reshape(-1, IMAGE_BYTES)
    whole = np.zeros((count, RECORD_BYTES), np.uint8)
    whole[:, : batch * IMAGE_BYTES] = filled.reshape(count, -1)
    return whole


def result_rows(batch: int) -> int:
    """Rows of results of a record."""
    return -(-batch * RESULT_BYTES // ROW)


def results(output: np.ndarray, count: int, batch: int = BATCH) -> np.ndarray:
    """Class and margin [image, 2] in the kernel's output."""
    each = output.reshape(-1, result_rows(batch) * ROW)[:, : batch * RESULT_BYTES]
    return each.reshape(-1, RESULT_BYTES)[:count]


def infer(network: Network, images: np.ndarray) -> np.ndarray:
    """Class and margin of each image [image, 2], uint8: what the kernel computes, step by step."""
    taps = network.taps.reshape(CHANNELS, 9).tolist()
    weights = network.weights.reshape(CLASSES, CHANNELS, 9).tolist()
    channel_bias, class_bias = network.channel_bias.tolist(), network.class_bias.tolist()
    found = np.empty((len(images), RESULT_BYTES), np.uint8)
    for number, image in enumerate(images.tolist()):
        scores = list(class_bias)
        for place in range(9):
            tops = [0] * CHANNELS
            for part in range(4):
                y, x = 2 * (place // 3) + part // 2, 2 * (place % 3) + part % 2
                window = [image[y + t // 3][x + t % 3] for t in range(9)]
                for channel in range(CHANNELS):
                    total = channel_bias[channel] + sum(a * b for a, b in zip(window, taps[channel]))
                    tops[channel] = max(tops[channel], total)
            for channel, top in enumerate(tops):
                activation = min(top >> network.shift, 255)
                for score in range(CLASSES):
                    scores[score] += activation * weights[score][channel][place]
        best = max(range(CLASSES), key=lambda k: (scores[k], -k))
        second = max(scores[:best] + scores[best + 1 :])
        found[number] = best, min((scores[best] - second) >> MARGIN_SHIFT, 255)
    return found
