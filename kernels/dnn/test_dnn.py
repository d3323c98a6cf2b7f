"""Does the kernel give, exactly, the classes and margins of its definition? numpy's matrix products judge the definition."""

import itertools
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "testing"), str(FOLDER)]

import cocotb
import network as net
import numpy as np
import pytest
import train
from dnn_against_numpy import random_images, random_network, reference_wrong
from cocotb.utils import get_sim_time
from kernel_bench import KernelBench


async def run_and_compare(bench, network, images, each, **given):
    """One run over whole records of so many images, against the exact model; no byte beside the results is written."""
    counts = {"records": len(images) // each, "batch": each, "pause": 0, "in_turn": 0} | given
    weights, contents = network.pack().tobytes(), net.records(images, each) if len(images) else np.empty((0, 0), np.uint8)
    # What is no image is of no importance.
    contents[:, each * net.IMAGE_BYTES :] = bench.random.randrange(256)
    found = np.zeros((len(contents), net.result_rows(each) * net.ROW), np.uint8)
    found[:, : each * net.RESULT_BYTES] = net.infer(network, images).reshape(len(contents), each * net.RESULT_BYTES)
    found, contents = found.tobytes(), contents.tobytes()
    at = bench.places(len(weights), len(contents), len(found))
    bench.memory[at[0] : at[0] + len(weights)] = weights
    bench.memory[at[1] : at[1] + len(contents)] = contents
    expected = bytearray(bench.memory[:])
    expected[at[2] : at[2] + len(found)] = found
    await bench.run(weights=at[0], images=at[1], output=at[2], shift=network.shift, **counts)
    bench.expect(expected)


def a_network(bench):
    return random_network(np.random.default_rng(bench.random.randrange(1 << 30)))


def some_images(bench, count):
    return random_images(np.random.default_rng(bench.random.randrange(1 << 30)), count)


async def cases(bench, count):
    for _ in range(count):
        batch = bench.random.choice([1, 2, 5, 31, 32, 33, 59])
        records = bench.random.randint(1, 5 if batch < 10 else 2)
        await run_and_compare(bench, a_network(bench), some_images(bench, batch * records), batch,
                              pause=bench.random.choice([0, 0, 1, 44]), in_turn=bench.random.randrange(2))


@cocotb.test()
async def sizes_of_a_record(dut):
    """One image, a row of results, one more, whole records; nothing if a count is 0; more than 64 images count as 64."""
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for batch, records in [(1, 6), (32, 1), (33, 1), (59, 2), (64, 1)]:
        await run_and_compare(bench, a_network(bench), some_images(bench, batch * records), batch)
    nothing = some_images(bench, 0)
    await run_and_compare(bench, a_network(bench), nothing, 1, records=0)
    await run_and_compare(bench, a_network(bench), nothing, 1, records=3, batch=0)
    await run_and_compare(bench, a_network(bench), some_images(bench, 64), 64, batch=65)


@cocotb.test()
async def any_networks_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    await cases(bench, 4)


@cocotb.test()
async def results_wait_for_memory(dut):
    """A row of results per image, on a port that takes a row in a hundred cycles: none is lost."""
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    bench.write.w_channel.set_pause_generator(itertools.cycle([True] * 99 + [False]))
    await run_and_compare(bench, a_network(bench), some_images(bench, 40), 1)


@cocotb.test()
async def extremes(dut):
    """Largest sums: all weights, biases and pixels at a limit."""
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    images = np.full((2, net.SIDE, net.SIDE), 255, np.uint8)
    for taps, weights, bias in [(127, 127, net.MOST_BIAS), (127, -128, -net.MOST_BIAS), (-128, 127, -net.MOST_BIAS),
                                (127, 127, 0)]:
        arrays = {key: np.full(shape, bias if "bias" in key else weights if key == "weights" else taps)
                  for key, shape in net.SHAPES.items()} | {"shift": np.array(0)}
        arrays["weights"] = arrays["weights"].copy()
        arrays["weights"][3] = -arrays["weights"][3] - 1
        await run_and_compare(bench, net.check_network(arrays), images, 2)


@cocotb.test()
async def images_are_requested_in_turn(dut):
    """A record whose request waits for the one before, against one that is requested ahead: memory's latency is added,
    however long, for each record but the first, which follows the weights in both."""
    bench = KernelBench(dut, seed=6)
    await bench.reset()
    asked = []
    for in_turn in (0, 1):
        before = get_sim_time("ns")
        await run_and_compare(bench, a_network(bench), some_images(bench, 6 * 4), 4, in_turn=in_turn)
        asked.append((get_sim_time("ns") - before) / 4)
    # A request is issued when the last image is complete: 36 cycles less overlap, and the way to memory and back.
    assert 5 * 2 < asked[1] - asked[0] < 6 * 60, asked


@cocotb.test()
async def an_image_in_36_cycles(dut):
    bench = KernelBench(dut, seed=5)
    await bench.reset()
    for pause in (0, 44):
        before = get_sim_time("ns")
        await run_and_compare(bench, a_network(bench), some_images(bench, 59), 59, pause=pause)
        cycles = (get_sim_time("ns") - before) / 4
        images = 58 * (36 + pause) + 57
        # 16 words of arguments take about ten cycles each; weights, and memory's latency.
        assert images < cycles < images + 16 * 16 + 120, cycles - images


@cocotb.test(skip=not os.environ.get("DEEP"))
async def a_thousand_images(dut):
    bench = KernelBench(dut, seed=6)
    await bench.reset()
    await cases(bench, 40)


def test_dnn():
    from run import run_cocotb

    run_cocotb("dnn", "test_dnn", FOLDER)


@pytest.mark.deep
def test_dnn_a_thousand_times(monkeypatch):
    from run import run_cocotb

    monkeypatch.setenv("DEEP", "1")
    run_cocotb("dnn", "test_dnn", FOLDER)


# -- Without RTL ------------------------------------------------------------------------------------


def test_numpy_agrees():
    assert reference_wrong(1000) == 0


def test_digits_of_fonts_that_were_not_trained():
    images, classes = train.digits([font for font in train.FONTS if font not in train.TESTED])
    values = train.train(images, classes)
    network = train.quantise(values, images)
    images, classes = train.digits(train.TESTED)
    share = (train.classify(values, images) == classes).mean()
    quantised = (net.infer(network, images)[:, 0] == classes).mean()
    assert share > 0.98
    assert quantised > share - 0.01


def test_files(tmp_path):
    network = random_network(np.random.default_rng(1))
    path = tmp_path / "weights.npz"
    np.savez(path, **vars(network))
    assert (net.read_network(path).pack() == network.pack()).all()
    arrays = dict(vars(network))
    for changed, message in [
        ({"taps": arrays["taps"][:, :2]}, r"weights.npz: `taps` has shape \(8, 2, 3\): must be \(8, 3, 3\)"),
        ({"weights": arrays["weights"][:9]}, r"`weights` has shape \(9, 8, 3, 3\): must be \(10, 8, 3, 3\)"),
        ({"weights": arrays["weights"] / 2}, "`weights` is float64: must be integers"),
        ({"taps": arrays["taps"].astype(int) + 128}, "`taps` has values from .*: must be -128 to 127"),
        ({"class_bias": np.full(10, net.MOST_BIAS + 1)}, "`class_bias` has values from 4194305 to 4194305"),
        ({"shift": np.array(32)}, "`shift` has values from 32 to 32: must be 0 to 31"),
    ]:
        np.savez(path, **(arrays | changed))
        with pytest.raises(net.NetworkError, match=message):
            net.read_network(path)
    del arrays["shift"]
    np.savez(path, **arrays)
    with pytest.raises(net.NetworkError, match="no array `shift`"):
        net.read_network(path)
    np.savez_compressed(path, **arrays)
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 0x55
    # Cut off, with a wrong byte of compressed data, empty.
    for content in [damaged[:100], damaged, b""]:
        path.write_bytes(content)
        with pytest.raises(net.NetworkError, match="weights.npz: no .npz file"):
            net.read_network(path)

    images = tmp_path / "images.npy"
    for array, message in [
        (np.zeros((5, 8, 0), np.uint8), "images.npy: images of 0 by 8 pixels: must be 8 by 8"),
        (np.zeros((5, 28, 28), np.uint8), "images of 28 by 28 pixels"),
        (np.zeros((8, 8), np.uint8), "2 dimensions of uint8"),
        (np.zeros((1, 8, 8)), "3 dimensions of float64"),
        (np.zeros((0, 8, 8), np.uint8), "images.npy: no image"),
    ]:
        np.save(images, array)
        with pytest.raises(net.NetworkError, match=message):
            net.read_images(images)
    np.save(images, np.zeros((3, 8, 8), np.uint8))
    images.write_bytes(images.read_bytes().replace(b"(3, 8, 8)", b"(9, 8, 8)"))
    with pytest.raises(net.NetworkError, match="images.npy"):
        net.read_images(images)
    np.save(images, np.zeros((3, 8, 8), np.uint8))
    with pytest.raises(net.NetworkError, match="a single array: must be a .npz file"):
        net.read_network(images)
    path.rename(images)
    with pytest.raises(net.NetworkError, match="images.npy"):
        net.read_images(images)


def test_records():
    images = random_images(np.random.default_rng(2), 100)
    records = net.records(images)
    assert records.shape == (2, net.RECORD_BYTES)
    assert (records[1, : 41 * 64] == images[59:].ravel()).all() and not records[1, 41 * 64 :].any()
    output = np.arange(2 * 128, dtype=np.uint8)
    assert net.results(output, 60).tolist() == [[2 * k, 2 * k + 1] for k in range(59)] + [[128, 129]]


def test_the_papers_shares():
    """Table 1: 32.2 MiB, 2.0 and 32.0 GiB, reuse 0.92, 96.7 % reads."""
    read, written = net.BATCH * net.IMAGE_BYTES, net.result_rows(net.BATCH) * net.ROW
    whole = net.RECORD_BYTES + written
    assert round((read + written) / whole, 2) == 0.92
    assert round(100 * read / (read + written), 1) == 96.7
    sizes = {8_000: "32.2 MiB", 508_400: "2.0 GiB", 8_134_400: "32.0 GiB"}
    for count, printed in sizes.items():
        size, unit = printed.split()
        assert f"{count * whole / {'MiB': 1 << 20, 'GiB': 1 << 30}[unit]:.1f}" == size
