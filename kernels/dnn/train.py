"""Trains the network of the kernel `dnn` on the digits of the fonts that matplotlib ships, and quantises it to int8."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import network as net
import numpy as np

FONTS = ["DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique", "DejaVuSansMono",
         "DejaVuSansMono-Bold", "DejaVuSansMono-Oblique", "DejaVuSansMono-BoldOblique", "DejaVuSerif", "DejaVuSerif-Bold",
         "DejaVuSerif-Italic", "DejaVuSerif-BoldItalic", "STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic",
         "STIXGeneralBolIta", "cmb10", "cmr10", "cmss10", "cmtt10"]
# One of each family and kind is kept from training.
TESTED = ["DejaVuSans-Oblique", "DejaVuSansMono-Bold", "DejaVuSerif-Italic", "STIXGeneralBol", "cmr10"]
# Parts of a pixel by which a digit is moved.
MOVES = [-0.5, -0.25, 0.0, 0.25, 0.5]
SCALE = 8


def digits(fonts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Digits of these fonts at 8 by 8 greys, each at 25 places, and what they are."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    folder, side = Path(matplotlib.get_data_path()) / "fonts/ttf", net.SIDE * SCALE
    images, classes = [], []
    for name in fonts:
        font = ImageFont.truetype(folder / f"{name}.ttf", side)
        for digit in range(10):
            left, top, right, bottom = font.getbbox(str(digit))
            # Seven pixels high, so that it can move.
            drawn = Image.new("L", (right - left, bottom - top))
            ImageDraw.Draw(drawn).text((-left, -top), str(digit), 255, font)
            high = 7 * SCALE
            drawn = drawn.resize((min(high, max(1, drawn.width * high // drawn.height)), high))
            for down in MOVES:
                for aside in MOVES:
                    whole = Image.new("L", (side, side))
                    whole.paste(drawn, ((side - drawn.width) // 2 + int(aside * SCALE), SCALE // 2 + int(down * SCALE)))
                    greys = np.asarray(whole, float).reshape(net.SIDE, SCALE, net.SIDE, SCALE).mean(axis=(1, 3))
                    images.append(greys.astype(np.uint8))
                    classes.append(digit)
    return np.stack(images), np.array(classes)


def _forward(values: dict[str, np.ndarray], images: np.ndarray) -> tuple[np.ndarray, ...]:
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2)).reshape(len(images), 36, 9)
    sums = windows @ values["taps"].T + values["channel_bias"]
    parts = sums.reshape(-1, 3, 2, 3, 2, net.CHANNELS).transpose(0, 1, 3, 5, 2, 4).reshape(-1, 3, 3, net.CHANNELS, 4)
    tops = np.maximum(parts.max(axis=-1), 0)
    flat = tops.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return windows, parts, tops, flat, flat @ values["weights"].T + values["class_bias"]


def train(images: np.ndarray, classes: np.ndarray, steps: int = 600, seed: int = 3) -> dict[str, np.ndarray]:
    """Weights as numbers with a fraction, for greys from 0 to 1: Adam on the cross entropy."""
    random = np.random.default_rng(seed)
    values = {"taps": random.normal(0, 0.4, (net.CHANNELS, 9)), "channel_bias": np.zeros(net.CHANNELS),
              "weights": random.normal(0, 0.1, (net.CLASSES, 9 * net.CHANNELS)), "class_bias": np.zeros(net.CLASSES)}
    first, second = ({key: np.zeros_like(value) for key, value in values.items()} for _ in range(2))
    for step in range(1, steps + 1):
        chosen = random.integers(0, len(images), 128)
        windows, parts, tops, flat, scores = _forward(values, images[chosen] / 255)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        odds[np.arange(len(chosen)), classes[chosen]] -= 1
        odds /= len(chosen)
        of_flat = (odds @ values["weights"]).reshape(-1, net.CHANNELS, 3, 3).transpose(0, 2, 3, 1)
        of_parts = np.where(parts == parts.max(axis=-1, keepdims=True), (of_flat * (tops > 0))[..., None], 0)
        of_sums = of_parts.reshape(-1, 3, 3, net.CHANNELS, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(-1, 36, net.CHANNELS)
        slopes = {"taps": np.tensordot(of_sums, windows, axes=([0, 1], [0, 1])), "channel_bias": of_sums.sum(axis=(0, 1)),
                  "weights": odds.T @ flat, "class_bias": odds.sum(axis=0)}
        for key, slope in slopes.items():
            first[key] = 0.9 * first[key] + 0.1 * slope
            second[key] = 0.999 * second[key] + 0.001 * slope**2
            size = np.sqrt(second[key] / (1 - 0.999**step)) + 1e-8
            values[key] -= 0.01 * first[key] / (1 - 0.9**step) / size
    return values


def classify(values: dict[str, np.ndarray], images: np.ndarray) -> np.ndarray:
    """Classes by the weights with a fraction."""
    return _forward(values, images / 255)[-1].argmax(axis=1)


def quantise(values: dict[str, np.ndarray], images: np.ndarray) -> net.Network:
    """The network in int8: largest weights are 127, and the largest activation of these images is at most 255."""
    taps_scale, weights_scale = (127 / np.abs(values[key]).max() for key in ("taps", "weights"))
    top = _forward(values, images / 255)[2].max() * 255 * taps_scale
    shift = max(0, int(np.ceil(np.log2(max(top, 1) / 255))))
    arrays = {"taps": values["taps"].reshape(net.SHAPES["taps"]) * taps_scale,
              "channel_bias": values["channel_bias"] * 255 * taps_scale,
              "weights": values["weights"].reshape(net.SHAPES["weights"]) * weights_scale,
              "class_bias": values["class_bias"] * 255 * taps_scale * weights_scale / 2.0**shift,
              "shift": np.array(shift)}
    return net.check_network({key: np.rint(array).astype(np.int64) for key, array in arrays.items()})
