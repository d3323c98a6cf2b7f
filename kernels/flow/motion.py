"""Images as the kernel flow has them, their files, and a model of the kernel that is exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TILE = 16
FRAMES = 5
PIXEL_BYTES = 8
MOST_TILES_X, MOST_TILES = 128, 65535
FLAT = -32768
"""Motion of a tile whose gradients do not determine one."""
UNIT = 256
"""Parts of a pixel that a motion counts."""


class ImageError(ValueError):
    """Frames that the kernel cannot take; says which and why."""


def gradients(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twelve times the gradients of images [image, line, column, frame] to the right, down and in time; 0 in the two outermost lines and
    columns."""
    values = frames.astype(np.int64)
    middle = values[..., 2]

    def taps(a, b, d, e):
        return a - 8 * b + 8 * d - e

    x, y, t = (np.zeros_like(middle) for _ in range(3))
    inner = (slice(None), slice(2, -2), slice(2, -2))
    x[inner] = taps(*(middle[:, 2:-2, 2 + by : middle.shape[2] - 2 + by] for by in (-2, -1, 1, 2)))
    y[inner] = taps(*(middle[:, 2 + by : middle.shape[1] - 2 + by, 2:-2] for by in (-2, -1, 1, 2)))
    t[inner] = taps(*(values[..., frame] for frame in (0, 1, 3, 4)))[inner]
    return x, y, t


def tiles(values: np.ndarray) -> np.ndarray:
    """[image, line, column] as [image, tile line, tile column, pixel of the tile]."""
    count, height, width = values.shape
    parts = values.reshape(count, height // TILE, TILE, width // TILE, TILE)
    return parts.swapaxes(2, 3).reshape(count, height // TILE, width // TILE, TILE * TILE)


def _quotient(numerator: int, denominator: int) -> int:
    size = min(abs(numerator) * UNIT // denominator, 32767)
    return -size if numerator < 0 else size


def motions(frames: np.ndarray) -> np.ndarray:
    """The kernel, exactly: [image, tile line, tile column, right and down], int16."""
    x, y, t = map(tiles, gradients(frames))
    sums = np.stack([(a * b).sum(axis=-1) for a, b in [(x, x), (x, y), (y, y), (x, t), (y, t)]], axis=-1)
    found = np.empty(sums.shape[:-1] + (2,), np.int16)
    for place in np.ndindex(sums.shape[:-1]):
        xx, xy, yy, xt, yt = (int(value) for value in sums[place])
        determinant = xx * yy - xy * xy
        if determinant == 0:
            found[place] = FLAT
        else:
            found[place] = [_quotient(xy * yt - yy * xt, determinant), _quotient(xy * xt - xx * yt, determinant)]
    return found


def pack(frames: np.ndarray) -> np.ndarray:
    """Eight bytes per pixel; those behind the frames are of no importance, here 0."""
    whole = np.zeros(frames.shape[:-1] + (PIXEL_BYTES,), np.uint8)
    whole[..., :FRAMES] = frames
    return whole


def check(frames: np.ndarray) -> np.ndarray:
    """Frames [frame, line, column], cut to whole tiles, as one image of `motions`; `ImageError` if there is none."""
    if frames.ndim != 3 or frames.dtype != np.uint8:
        raise ImageError(f"{frames.ndim} dimensions of {frames.dtype}: frames, lines and columns of uint8 are needed")
    if len(frames) != FRAMES:
        raise ImageError(f"{len(frames)} frames: {FRAMES} are needed")
    height, width = frames.shape[1] // TILE, frames.shape[2] // TILE
    if not (1 <= width <= MOST_TILES_X and 1 <= height <= MOST_TILES):
        raise ImageError(f"{frames.shape[2]} by {frames.shape[1]} pixels: {TILE} at least, {TILE * MOST_TILES_X} columns "
                         f"and {TILE * MOST_TILES} lines at most")
    return np.ascontiguousarray(np.moveaxis(frames[:, : TILE * height, : TILE * width], 0, -1)[None])


def _read_array(path: Path | str) -> np.ndarray:
    try:
        with open(path, "rb") as file:
            frames = np.load(file, allow_pickle=False)
            if not isinstance(frames, np.ndarray):
                raise ImageError("an archive of arrays: must be a .npy file")
            return check(frames)
    except OSError:
        raise
    except Exception as error:  # of a damaged file numpy raises many kinds
        raise ImageError(f"{path}: {error}") from error


def read(paths: list[Path | str]) -> np.ndarray:
    """Five image files of equal size, in grey, or one .npy file; see `check`."""
    if len(paths) == 1 and str(paths[0]).endswith(".npy"):
        return _read_array(paths[0])
    from PIL import Image

    frames = []
    for path in paths:
        try:
            frames.append(np.asarray(Image.open(path).convert("L")))
        except FileNotFoundError:
            raise
        except (OSError, Image.DecompressionBombError, SyntaxError) as error:
            raise ImageError(f"{path}: no image: {error}") from error
        if frames[-1].shape != frames[0].shape:
            size, first = frames[-1].shape[::-1], frames[0].shape[::-1]
            raise ImageError(f"{path}: {size[0]} by {size[1]} pixels, {paths[0]} has {first[0]} by {first[1]}")
    return check(np.stack(frames) if frames else np.empty((0, 0, 0), np.uint8))


def photograph(width: int, height: int, right: int, down: int) -> np.ndarray:
    """A real photograph, which matplotlib ships, smoothed, that moves by so many pixels per frame."""
    from matplotlib import cbook
    from PIL import Image, ImageFilter

    with cbook.get_sample_data("grace_hopper.jpg") as file:
        picture = np.asarray(Image.open(file).convert("L").filter(ImageFilter.GaussianBlur(2)))
    corners = [(96 - down * by, 128 - right * by) for by in (-2, -1, 0, 1, 2)]
    return check(np.stack([picture[line : line + height, column : column + width] for line, column in corners]))
