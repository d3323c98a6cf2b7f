"""The network of the kernel `dnn_float`: its weights in float32, and what it computes, each operation rounded in its order.

Images, records and errors are those of `kernels/dnn/network.py`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(KERNELS / "dnn"), str(KERNELS / "fp32")]

import fp32  # noqa: E402
import network as net  # noqa: E402
import numpy as np  # noqa: E402

# Shapes of the arrays of a file of weights.
SHAPES = {key: shape for key, shape in net.SHAPES.items() if key != "shift"}
# Of larger weights, sums of products may exceed float32's largest number.
MOST = 1e12
WEIGHT_ROWS = 83
TAPS, PLACES = 9, 9


@dataclass
class FloatNetwork:
    taps: np.ndarray          # [channel, line, column], float32
    channel_bias: np.ndarray  # [channel]
    weights: np.ndarray       # [class, channel, line, column]
    class_bias: np.ndarray    # [class]

    def pack(self) -> np.ndarray:
        """The rows of weights that the kernel reads (`dnn_float_layers.sv`)."""
        rows = np.zeros((WEIGHT_ROWS, net.ROW // 4), "<f4")
        rows[:TAPS, : net.CHANNELS] = self.taps.reshape(net.CHANNELS, TAPS).T
        rows[TAPS, : net.CHANNELS] = self.channel_bias
        rows[TAPS + 1, : net.CLASSES] = self.class_bias
        rows[TAPS + 2 :, : net.CLASSES] = self.weights.reshape(net.CLASSES, net.CHANNELS, PLACES).transpose(2, 1, 0).reshape(
            PLACES * net.CHANNELS, net.CLASSES)
        return rows.view(np.uint8)


def check_network(arrays: dict[str, np.ndarray], name: str = "weights") -> FloatNetwork:
    """A network of arrays as in `SHAPES`; `NetworkError` if one is missing, has another shape or a value that does not fit."""
    values = {}
    for key, shape in SHAPES.items():
        if key not in arrays:
            raise net.NetworkError(f"{name}: no array `{key}`")
        array = np.asarray(arrays[key])
        if array.shape != shape:
            raise net.NetworkError(f"{name}: `{key}` has shape {array.shape}: must be {shape}")
        if array.dtype.kind not in "iuf":
            raise net.NetworkError(f"{name}: `{key}` is {array.dtype}: must be numbers")
        if not (np.abs(array.astype(float)) <= MOST).all():
            raise net.NetworkError(f"{name}: `{key}` has values that are not finite or exceed {MOST:g} in magnitude")
        values[key] = array.astype(np.float32)
    return FloatNetwork(**values)


def read_network(path: Path | str) -> FloatNetwork:
    """A .npz file with the arrays of `SHAPES`."""
    return check_network(net.read_arrays(path, SHAPES), str(path))


def of_trained(values: dict[str, np.ndarray]) -> FloatNetwork:
    """The network of `train.train`, whose greys are from 0 to 1, for bytes."""
    arrays = {key: np.asarray(values[key]).reshape(shape) for key, shape in SHAPES.items()}
    return check_network(arrays | {"taps": arrays["taps"] / 255})


def scores(network: FloatNetwork, images: np.ndarray) -> np.ndarray:
    """Scores [image, class] with the kernel's bits: bias first, then terms in its order, each operation rounded."""
    windows = np.lib.stride_tricks.sliding_window_view(images.astype(np.float32), (3, 3), axis=(1, 2))
    sums = np.broadcast_to(network.channel_bias, (*windows.shape[:3], net.CHANNELS))
    for tap in range(TAPS):
        term = fp32.multiply(windows[:, :, :, tap // 3, tap % 3, None], network.taps[:, tap // 3, tap % 3])
        sums = fp32.add(sums, term)
    # As integers, so that the maximum of NaN and a number is the kernel's.
    tops = fp32.bits(sums).view(np.int32).reshape(-1, 3, 2, 3, 2, net.CHANNELS).max(axis=(2, 4))
    activations = np.maximum(tops, 0).view(np.float32)
    found = np.broadcast_to(network.class_bias, (len(images), net.CLASSES))
    for place in range(PLACES):
        for channel in range(net.CHANNELS):
            at = place // 3, place % 3
            term = fp32.multiply(activations[:, *at, channel, None], network.weights[:, channel, *at])
            found = fp32.add(found, term)
    return found


def score_rows(found: np.ndarray) -> np.ndarray:
    """Rows of scores as the kernel writes them with `scores` 1: ten scores, the class."""
    rows = np.zeros((len(found), net.ROW // 4), np.uint32)
    rows[:, : net.CLASSES] = fp32.bits(found)
    rows[:, net.CLASSES] = found.argmax(axis=1)
    return rows.view(np.uint8)


def results(found: np.ndarray) -> np.ndarray:
    """The two bytes [image, 2] that the kernel writes for each image's scores: class, and the high bits of its score."""
    classes = found.argmax(axis=1)
    high = fp32.bits(np.take_along_axis(found, classes[:, None], axis=1))[:, 0] >> 20
    return (high << 4 | classes.astype(np.uint32)).astype("<u2").view(np.uint8).reshape(-1, net.RESULT_BYTES)


def split(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes and scores of results [image, 2]; the scores have three bits of fraction."""
    words = np.ascontiguousarray(found).view("<u2").ravel()
    return words & 15, (words.astype(np.uint32) >> 4 << 20).view(np.float32)
