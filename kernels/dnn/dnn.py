"""Classifies images on a card, by the kernel of that name.

    python dnn.py --digits                       digits of fonts: trains a network, and classifies those of five other fonts
    python dnn.py --digits --simulated           on the real shell RTL, with its times
    python dnn.py weights.npz images.npy         your own network (int8) and images of 8 by 8 pixels
    python dnn.py --digits --save weights.npz    keeps the network
    python dnn.py --digits --check               compared with the exact model
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tombolo

try:
    import numpy as np
except ImportError:
    sys.exit("dnn: numpy is missing: pip install 'tombolo-fpga[numpy]'")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import network as net  # noqa: E402
import train  # noqa: E402


def open_card(simulated: bool) -> tombolo.Card:
    if simulated:
        return tombolo.Card.simulated(progress=lambda step: print(step, file=sys.stderr))
    return tombolo.Card.functional()


def dnn(card: tombolo.Card, network: net.Network, images: np.ndarray) -> np.ndarray:
    """Class and margin of each image."""
    records = net.records(images)
    output = np.zeros(len(records) * net.result_rows(net.BATCH) * net.ROW, np.uint8)
    with card.create_space() as space:
        slot = card.load(Path(__file__).resolve().parent, space)
        slot.run(weights=network.pack(), images=records, output=output, records=len(records), batch=net.BATCH,
                 shift=network.shift, pause=0)
    return net.results(output, len(images))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="weights (.npz) and images (.npy)")
    parser.add_argument("--digits", action="store_true", help="train on digits of fonts, and classify others")
    parser.add_argument("--save", metavar="FILE", help="write the trained network to a .npz file")
    parser.add_argument("--simulated", action="store_true", help="on the real shell RTL, and report the time")
    parser.add_argument("--check", action="store_true", help="compare the results with the exact model")
    given = parser.parse_args()
    if len(given.files) != (0 if given.digits else 2) or (given.save and not given.digits):
        parser.error("two files or --digits are needed; --save is for --digits")
    try:
        if given.digits:
            images, classes = train.digits([font for font in train.FONTS if font not in train.TESTED])
            network = train.quantise(train.train(images, classes), images)
            images, classes = train.digits(train.TESTED)
            if given.save:
                np.savez(given.save, **vars(network))
        else:
            network, images = net.read_network(given.files[0]), net.read_images(given.files[1])
    except (OSError, net.NetworkError) as error:
        sys.exit(f"dnn: {error}")
    except ImportError as error:
        sys.exit(f"dnn: {error}: pip install matplotlib")
    with open_card(given.simulated) as card:
        found = dnn(card, network, images)
        if given.simulated:
            print(card.report())
    if given.digits:
        right = int((found[:, 0] == classes).sum())
        print(f"{right} of {len(classes)} digits of {len(train.TESTED)} fonts that were not trained")
    else:
        for number, (class_, margin) in enumerate(found):
            print(f"image {number}: class {class_}, margin {margin}")
    if given.check:
        equal = bool((found == net.infer(network, images)).all())
        print("as the exact model" if equal else "the exact model has other results", file=sys.stderr)
        sys.exit(not equal)


if __name__ == "__main__":
    main()
