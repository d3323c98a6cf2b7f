"""Finds the motion in five frames on a card, by the kernel of that name.

    python flow.py 0.png 1.png 2.png 3.png 4.png   five images of equal size: the motion of each 16 by 16 tile
    python flow.py frames.npy --simulated          an array [frame, line, column] of uint8, on the real shell RTL, with its times
    python flow.py --photograph --check            a real photograph that moves, compared with the exact model
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tombolo

try:
    import numpy as np
except ImportError:
    sys.exit("flow: numpy is missing: pip install 'tombolo-fpga[numpy]'")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import motion  # noqa: E402


def open_card(simulated: bool) -> tombolo.Card:
    if simulated:
        return tombolo.Card.simulated(progress=lambda step: print(step, file=sys.stderr))
    return tombolo.Card.functional()


def flow(card: tombolo.Card, frames: np.ndarray) -> np.ndarray:
    """The motions of images [image, line, column, frame]."""
    count, height, width = frames.shape[:3]
    output = np.zeros((count, height // motion.TILE, width // motion.TILE, 2), np.int16)
    with card.create_space() as space:
        slot = card.load(Path(__file__).resolve().parent, space)
        slot.run(input=motion.pack(frames), output=output, tiles_x=width // motion.TILE, tiles_y=height // motion.TILE,
                 images=count)
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="five images, or one .npy file")
    parser.add_argument("--photograph", action="store_true", help="a real photograph that moves by (1, -1) per frame")
    parser.add_argument("--simulated", action="store_true", help="on the real shell RTL, and report the time")
    parser.add_argument("--check", action="store_true", help="compare the motions with the exact model")
    given = parser.parse_args()
    if bool(given.files) == given.photograph:
        parser.error("files or --photograph are needed")
    try:
        frames = motion.photograph(256, 192, 1, -1) if given.photograph else motion.read(given.files)
    except (OSError, motion.ImageError) as error:
        sys.exit(f"flow: {error}")
    except ImportError as error:
        sys.exit(f"flow: {error}: pip install pillow matplotlib")
    with open_card(given.simulated) as card:
        found = flow(card, frames)
        if given.simulated:
            print(card.report())
    for line in found[0]:
        flat = [(right, down) == (motion.FLAT, motion.FLAT) for right, down in line]
        print(" ".join("   -  ,   -  " if none else f"{right / motion.UNIT:6.2f},{down / motion.UNIT:6.2f}"
                       for none, (right, down) in zip(flat, line)))
    if given.check:
        equal = bool((found == motion.motions(frames)).all())
        print("as the exact model" if equal else "the exact model has other motions", file=sys.stderr)
        sys.exit(not equal)


if __name__ == "__main__":
    main()
