"""The exact model of the kernel, which the RTL equals, against numpy's least squares: prints how many tiles differ.

    python against_numpy.py [TILES]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import motion
import numpy as np


def random_frames(random: np.random.Generator, height: int, width: int) -> np.ndarray:
    """One image [image, line, column, frame]: noise, smooth ones that move, stripes and areas of one grey."""
    lines, columns = np.mgrid[:height, :width]
    kind = random.integers(0, 4)
    if kind == 0:
        values = random.integers(0, 256, (height, width, motion.FRAMES))
    else:
        by = random.uniform(-2, 2, 2) if kind == 1 else np.zeros(2)
        waves = [(random.uniform(-0.6, 0.6, 2), random.uniform(0, 6), random.uniform(10, 40)) for _ in range(4)]
        # Stripes have one direction, so nothing is known of the other.
        waves = waves if kind == 1 else waves[: 1 if kind == 2 else 0]
        frames = []
        for frame in range(-2, 3):
            x, y = columns - by[0] * frame, lines - by[1] * frame
            frames.append(127 + sum(size * np.sin(w[0] * x + w[1] * y + phase) for w, phase, size in waves))
        values = np.clip(np.stack(np.broadcast_arrays(*[f + 0 * lines for f in frames]), axis=-1), 0, 255)
    return values.astype(np.uint8)[None]


def float_gradients(frames: np.ndarray) -> list[np.ndarray]:
    """The gradients by numpy's convolution along each axis, in grey per pixel and frame; the outermost two lines and columns are 0."""
    taps = np.array([-1, 8, 0, -8, 1]) / 12
    values = frames.astype(float)
    along = [np.apply_along_axis(np.convolve, axis, values, taps, mode="same")[0, :, :, 2] for axis in (2, 1, 3)]
    for gradient in along:
        gradient[:2] = gradient[-2:] = 0
        gradient[:, :2] = gradient[:, -2:] = 0
    return along


def wrong_tiles(frames: np.ndarray) -> tuple[int, int]:
    """Tiles of an image, and those whose motion is not that of least squares, to 1/256 pixel."""
    wrong = 0
    found = motion.motions(frames)[0]
    along = float_gradients(frames)
    for line, column in np.ndindex(found.shape[:2]):
        place = np.s_[16 * line : 16 * line + 16, 16 * column : 16 * column + 16]
        x, y, t = (gradient[place].ravel() for gradient in along)
        solution, _, rank, sizes = np.linalg.lstsq(np.stack([x, y], axis=1), -t, rcond=1e-9)
        ours = found[line, column].astype(int)
        if rank < 2:
            wrong += not (ours == motion.FLAT).all()
        elif sizes[1] > 1e-4 * sizes[0]:
            limit = 32767 / motion.UNIT
            wrong += not (abs(ours / motion.UNIT - solution.clip(-limit, limit)) <= 1.01 / motion.UNIT).all()
        else:
            # Almost one direction: of float numbers the solution is too uncertain; that along the gradient is not.
            error = x * ours[0] / motion.UNIT + y * ours[1] / motion.UNIT + t
            best = x * solution[0] + y * solution[1] + t
            limited = (abs(ours) >= 32767).any()
            wrong += not (limited or (error @ error) <= 1.01 * (best @ best) + 256 * 256)
    return found[..., 0].size, wrong


def reference_wrong(count: int) -> int:
    """Of so many random tiles, and those of a photograph, the wrong ones."""
    random = np.random.default_rng(13)
    wrong = wrong_tiles(motion.photograph(128, 96, 1, -1))[1]
    while count > 0:
        height, width = 16 * random.integers(1, 4, 2)
        tiles, found = wrong_tiles(random_frames(random, height, width))
        count, wrong = count - tiles, wrong + found
    return wrong


if __name__ == "__main__":
    print(reference_wrong(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
