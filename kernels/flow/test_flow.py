"""Does the kernel give, exactly, the motions of its definition? numpy's least squares judge the definition."""

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "testing"), str(FOLDER)]

import cocotb
import motion
import numpy as np
import pytest
from against_numpy import random_frames, reference_wrong
from cocotb.utils import get_sim_time
from kernel_bench import KernelBench


async def run_and_compare(bench, frames, **given):
    """One run over images of equal size, against the exact model, and no byte beside the motions is written."""
    count, height, width = frames.shape[:3]
    sizes = {"tiles_x": width // 16, "tiles_y": height // 16, "images": count} | given
    pixels = motion.pack(frames)
    # Bytes that are no frame's are of no importance.
    pixels[..., motion.FRAMES :] = bench.random.randrange(256)
    pixels = pixels.tobytes()
    found = motion.motions(frames).tobytes() if frames.size else b""
    at = bench.places(len(pixels), len(found))
    bench.memory[at[0] : at[0] + len(pixels)] = pixels
    expected = bytearray(bench.memory[:])
    expected[at[1] : at[1] + len(found)] = found
    await bench.run(input=at[0], output=at[1], **sizes)
    bench.expect(expected)


def images(bench, count, tiles_x, tiles_y):
    random = np.random.default_rng(bench.random.randrange(1 << 30))
    return np.concatenate([random_frames(random, 16 * tiles_y, 16 * tiles_x) for _ in range(count)])


async def cases(bench, count):
    for _ in range(count):
        random = bench.random
        await run_and_compare(bench, images(bench, random.randint(1, 3), random.randint(1, 4), random.randint(1, 3)))


@cocotb.test()
async def sizes_of_an_image(dut):
    """One tile, one line and one column of tiles, the widest image; several images in a run; nothing if a count is 0."""
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for count, tiles_x, tiles_y in [(1, 1, 1), (1, 5, 1), (3, 1, 3), (2, 3, 2), (1, 128, 1)]:
        await run_and_compare(bench, images(bench, count, tiles_x, tiles_y))
    for zero in ["tiles_x", "tiles_y", "images"]:
        await run_and_compare(bench, np.empty((0, 16, 16, 5), np.uint8), **({"images": 1} | {zero: 0}))


@cocotb.test()
async def wider_images_count_as_the_widest(dut):
    bench = KernelBench(dut, seed=5)
    await bench.reset()
    await run_and_compare(bench, images(bench, 1, 128, 1), tiles_x=129)


@cocotb.test()
async def any_images_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    await cases(bench, 4)


@cocotb.test()
async def extremes(dut):
    """The largest gradients, whose sums and products are the largest; motions beyond the limit."""
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    lines, columns = np.mgrid[:32, :32]
    steps = 255 * (((columns // 2) ^ (lines // 2)) % 2)
    still = np.stack([steps] * 5, axis=-1)
    flash = np.stack([0 * steps, 0 * steps, steps, 0 * steps + 255, 0 * steps + 255], axis=-1)
    faint = np.stack([columns // 16 % 2, columns % 2, columns // 9 + lines // 8, 255 + 0 * lines, 255 + 0 * lines], axis=-1)
    await run_and_compare(bench, np.stack([still, flash, faint]).astype(np.uint8))


@cocotb.test()
async def a_row_a_cycle(dut):
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    before = get_sim_time("ns")
    await run_and_compare(bench, motion.photograph(128, 64, 1, -1))
    cycles = (get_sim_time("ns") - before) / 4
    rows = 128 * 64 // 8
    # The last tiles' motions take 22 cycles each; 10 words of arguments take about ten each.
    assert rows < cycles < rows + 8 * 22 + 10 * 16 + 120, cycles - rows


@cocotb.test(skip=not os.environ.get("DEEP"))
async def a_thousand_tiles(dut):
    bench = KernelBench(dut, seed=6)
    await bench.reset()
    await cases(bench, 130)


def test_flow():
    from run import run_cocotb

    run_cocotb("flow", "test_flow", FOLDER)


@pytest.mark.deep
def test_flow_a_thousand_times(monkeypatch):
    from run import run_cocotb

    monkeypatch.setenv("DEEP", "1")
    run_cocotb("flow", "test_flow", FOLDER)


# -- Without RTL ------------------------------------------------------------------------------------


def test_numpy_agrees():
    assert reference_wrong(1000) == 0


def test_a_photograph_moves_as_it_was_moved():
    found = motion.motions(motion.photograph(256, 192, 1, -1))[0] / motion.UNIT
    assert (abs(np.median(found, axis=(0, 1)) - [1, -1]) < 0.02).all()
    assert (motion.motions(motion.photograph(64, 64, 0, 0)) == 0).all()


def test_files(tmp_path):
    from PIL import Image

    frames = np.moveaxis(motion.photograph(48, 32, 1, 0)[0], -1, 0)
    paths = [tmp_path / f"{number}.png" for number in range(5)]
    for path, frame in zip(paths, frames):
        Image.fromarray(frame).save(path)
    assert (motion.read(paths)[0] == np.moveaxis(frames, 0, -1)).all()
    with pytest.raises(motion.ImageError, match="4 frames: 5 are needed"):
        motion.read(paths[:4])
    Image.fromarray(frames[0][:, :40]).save(paths[3])
    with pytest.raises(motion.ImageError, match=r"3.png: 40 by 32 pixels, .*0.png has 48 by 32"):
        motion.read(paths)
    for content in [paths[0].read_bytes()[:100], paths[0].read_bytes()[:-100], b""]:
        paths[1].write_bytes(content)
        with pytest.raises(motion.ImageError, match="1.png: no image"):
            motion.read(paths)
    np.save(tmp_path / "thin.npy", np.zeros((5, 32, 0), np.uint8))
    with pytest.raises(motion.ImageError, match="0 by 32 pixels: 16 at least"):
        motion.read([tmp_path / "thin.npy"])
    (tmp_path / "lies.npy").write_bytes((tmp_path / "thin.npy").read_bytes().replace(b"32, 0", b"32, 9"))
    with pytest.raises(motion.ImageError, match="lies.npy"):
        motion.read([tmp_path / "lies.npy"])
    (tmp_path / "empty.npy").write_bytes(b"")
    with pytest.raises(motion.ImageError, match="empty.npy: No data left"):
        motion.read([tmp_path / "empty.npy"])
    np.savez(tmp_path / "many.npz", frames)
    (tmp_path / "many.npz").rename(tmp_path / "many.npy")
    with pytest.raises(motion.ImageError, match="an archive of arrays"):
        motion.read([tmp_path / "many.npy"])


def test_the_papers_shares():
    """Table 1: 32 MiB, reuse 1, 100 % reads: 4 bytes are written for 2,048 that are read."""
    read, written = 16 * 16 * motion.PIXEL_BYTES, 4
    assert round(100 * read / (read + written)) == 100
