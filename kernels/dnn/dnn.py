"""Classifies images on a card, by the kernel of that name, or by `dnn_float`.

    python dnn.py --digits                       digits of fonts: trains a network, and classifies those of five other fonts
    python dnn.py --digits --simulated           on the real shell RTL, with its times
    python dnn.py weights.npz images.npy         your own network (int8) and images of 8 by 8 pixels
    python dnn.py --digits --float               the same in float32, by the kernel `dnn_float`
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

KERNELS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(KERNELS / "dnn"), str(KERNELS / "dnn_float")]

import float_network as flt  # noqa: E402
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
        slot = card.load(KERNELS / "dnn", space)
        slot.run(weights=network.pack(), images=records, output=output, records=len(records), batch=net.BATCH,
                 shift=network.shift, pause=0, in_turn=0)
    return net.results(output, len(images))


def dnn_float(card: tombolo.Card, network: flt.FloatNetwork, images: np.ndarray) -> np.ndarray:
    """Scores [image, class]."""
    records = net.records(images)
    rows = np.zeros((len(records) * net.BATCH, net.ROW // 4), "<f4")
    with card.create_space() as space:
        slot = card.load(KERNELS / "dnn_float", space)
        slot.run(weights=network.pack(), images=records, output=rows, records=len(records), batch=net.BATCH, scores=1)
    return rows[: len(images), : net.CLASSES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="weights (.npz) and images (.npy)")
    parser.add_argument("--digits", action="store_true", help="train on digits of fonts, and classify others")
    parser.add_argument("--float", action="store_true", help="in float32, by the kernel dnn_float; weights without `shift`")
    parser.add_argument("--save", metavar="FILE", help="write the trained network to a .npz file")
    parser.add_argument("--simulated", action="store_true", help="on the real shell RTL, and report the time")
    parser.add_argument("--check", action="store_true", help="compare the results with the exact model")
    given = parser.parse_args()
    if len(given.files) != (0 if given.digits else 2) or (given.save and not given.digits):
        parser.error("two files or --digits are needed; --save is for --digits")
    try:
        if given.digits:
            images, classes = train.digits([font for font in train.FONTS if font not in train.TESTED])
            values = train.train(images, classes)
            network = flt.of_trained(values) if given.float else train.quantise(values, images)
            images, classes = train.digits(train.TESTED)
            if given.save:
                np.savez(given.save, **vars(network))
        else:
            network = (flt if given.float else net).read_network(given.files[0])
            images = net.read_images(given.files[1])
    except (OSError, net.NetworkError) as error:
        sys.exit(f"dnn: {error}")
    except ImportError as error:
        sys.exit(f"dnn: {error}: pip install matplotlib")
    with open_card(given.simulated) as card:
        found = (dnn_float if given.float else dnn)(card, network, images)
        if given.simulated:
            print(card.report())
    chosen, told = (found.argmax(axis=1), found.max(axis=1)) if given.float else found.T
    if given.digits:
        right = int((chosen == classes).sum())
        print(f"{right} of {len(classes)} digits of {len(train.TESTED)} fonts that were not trained")
    else:
        name = "score" if given.float else "margin"
        for number, (class_, value) in enumerate(zip(chosen, told, strict=True)):
            print(f"image {number}: class {class_}, {name} {value}")
    if given.check:
        # Of scores, the bits.
        equal = bool((found == net.infer(network, images)).all() if not given.float else
                     found.tobytes() == flt.scores(network, images).astype("<f4").tobytes())
        print("as the exact model" if equal else "the exact model has other results", file=sys.stderr)
        sys.exit(not equal)


if __name__ == "__main__":
    main()
