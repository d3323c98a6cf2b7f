"""Does the kernel give, bit by bit, the scores of its definition? numpy's float64 judges the definition."""

import itertools
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "testing"), str(FOLDER)]

import cocotb
import float_network as flt
import network as net
import numpy as np
import pytest
import train
from dnn_float_against_numpy import random_images, random_network, reference_wrong
from cocotb.utils import get_sim_time
from kernel_bench import KernelBench


async def run_and_compare(bench, network, images, each, scores, **given):
    """One run over whole records of so many images, against the model; no byte beside the results is written."""
    counts = {"records": len(images) // each, "batch": each, "scores": scores} | given
    weights, contents = network.pack().tobytes(), net.records(images, each) if len(images) else np.empty((0, 0), np.uint8)
    # What is no image is of no importance.
    contents[:, each * net.IMAGE_BYTES :] = bench.random.randrange(256)
    values = flt.scores(network, images)
    if scores:
        found = flt.score_rows(values)
    else:
        found = np.zeros((len(contents), net.result_rows(each) * net.ROW), np.uint8)
        found[:, : each * net.RESULT_BYTES] = flt.results(values).reshape(len(contents), each * net.RESULT_BYTES)
    found, contents = found.tobytes(), contents.tobytes()
    at = bench.places(len(weights), len(contents), len(found))
    bench.memory[at[0] : at[0] + len(weights)] = weights
    bench.memory[at[1] : at[1] + len(contents)] = contents
    expected = bytearray(bench.memory[:])
    expected[at[2] : at[2] + len(found)] = found
    await bench.run(weights=at[0], images=at[1], output=at[2], **counts)
    bench.expect(expected)


def a_network(bench):
    return random_network(np.random.default_rng(bench.random.randrange(1 << 30)))


def some_images(bench, count):
    return random_images(np.random.default_rng(bench.random.randrange(1 << 30)), count)


async def cases(bench, count):
    for number in range(count):
        batch = bench.random.choice([1, 2, 5, 31, 32, 33, 59])
        records = bench.random.randint(1, 5 if batch < 10 else 2)
        await run_and_compare(bench, a_network(bench), some_images(bench, batch * records), batch, number % 2)


@cocotb.test()
async def sizes_of_a_record(dut):
    """One image, a row of results and one more; nothing if a count is 0; more than 64 images count as 64."""
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for batch, records, scores in [(1, 3, 0), (1, 3, 1), (33, 1, 0), (5, 2, 1)]:
        await run_and_compare(bench, a_network(bench), some_images(bench, batch * records), batch, scores)
    nothing = some_images(bench, 0)
    for scores in (0, 1):
        await run_and_compare(bench, a_network(bench), nothing, 1, scores, records=0)
        await run_and_compare(bench, a_network(bench), nothing, 1, scores, records=3, batch=0)
    await run_and_compare(bench, a_network(bench), some_images(bench, 64), 64, 1, batch=65)


@cocotb.test()
async def any_networks_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    await cases(bench, 2)


@cocotb.test()
async def results_wait_for_memory(dut):
    """A row of results per image, on a port that takes a row in a thousand cycles: none is lost."""
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    bench.write.w_channel.set_pause_generator(itertools.cycle([True] * 999 + [False]))
    await run_and_compare(bench, a_network(bench), some_images(bench, 12), 3, 1)


@cocotb.test()
async def equal_scores_zeros_and_sums_that_cancel(dut):
    """The first of equal classes; a negative zero equals zero; infinity and NaN of weights that the host refuses."""
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    images = some_images(bench, 4)
    zeros = {key: np.zeros(shape, np.float32) for key, shape in flt.SHAPES.items()}
    for bias in ([0, 0, 5, 5, 1, 5, 0, 0, 0, 0], [-3, -2] + 4 * [-1] + 4 * [-2], 9 * [1] + [2]):
        await run_and_compare(bench, flt.FloatNetwork(**zeros | {"class_bias": np.array(bias, np.float32)}), images, 2, 1)
    # A sum of negative zeros is one; it equals the others' zeros.
    weights = zeros["weights"].copy()
    weights[0] = -1
    network = flt.FloatNetwork(**zeros | {"weights": weights, "class_bias": np.array([-0.0] + 9 * [0], np.float32)})
    await run_and_compare(bench, network, images, 2, 1)
    # Taps that sum to 0, subnormal and smallest normal numbers.
    taps = zeros["taps"].copy()
    taps[:, 0] = [3e37, -3e37, 1e-38]
    ones = np.ones_like(zeros["weights"])
    await run_and_compare(bench, flt.FloatNetwork(**zeros | {"taps": taps, "weights": ones * np.float32(1e-38)}), images, 2, 1)
    await run_and_compare(bench, flt.FloatNetwork(**zeros | {"taps": taps * 10, "weights": ones}), images, 2, 1)
    taps[:4] = np.inf
    await run_and_compare(bench, flt.FloatNetwork(**zeros | {"taps": taps, "weights": -ones}), images, 2, 1)


@cocotb.test()
async def an_image_in_324_cycles(dut):
    bench = KernelBench(dut, seed=5)
    await bench.reset()
    before = get_sim_time("ns")
    await run_and_compare(bench, a_network(bench), some_images(bench, 20), 20, 0)
    cycles = (get_sim_time("ns") - before) / 4
    images = 19 * 324 + 386
    # 12 words of arguments take about ten cycles each; weights, and memory's latency.
    assert images < cycles < images + 12 * 16 + 200, cycles - images


@cocotb.test(skip=not os.environ.get("DEEP"))
async def a_thousand_images(dut):
    bench = KernelBench(dut, seed=6)
    await bench.reset()
    await cases(bench, 40)


def test_dnn_float():
    from run import run_cocotb

    run_cocotb("dnn_float", "test_dnn_float", FOLDER)


@pytest.mark.deep
def test_dnn_float_a_thousand_times(monkeypatch):
    from run import run_cocotb

    monkeypatch.setenv("DEEP", "1")
    run_cocotb("dnn_float", "test_dnn_float", FOLDER)


# -- Without RTL ------------------------------------------------------------------------------------


def test_numpy_agrees():
    assert reference_wrong(1000) == 0


def test_digits_of_fonts_that_were_not_trained():
    images, classes = train.digits([font for font in train.FONTS if font not in train.TESTED])
    # A quarter of the steps of `train`'s default.
    values = train.train(images, classes, steps=150)
    network = flt.of_trained(values)
    images, classes = train.digits(train.TESTED)
    found = flt.scores(network, images).argmax(axis=1)
    # As in float64, but for ties.
    assert (found == train.classify(values, images)).mean() > 0.999
    assert (found == classes).mean() > 0.95


def test_files(tmp_path):
    network = random_network(np.random.default_rng(1))
    path = tmp_path / "weights.npz"
    np.savez(path, **vars(network))
    assert (flt.read_network(path).pack() == network.pack()).all()
    arrays = dict(vars(network))
    for changed, message in [
        ({"taps": arrays["taps"][:, :2]}, r"weights.npz: `taps` has shape \(8, 2, 3\): must be \(8, 3, 3\)"),
        ({"weights": arrays["weights"].astype(complex)}, "`weights` is complex128: must be numbers"),
        ({"class_bias": np.full(10, np.nan)}, "`class_bias` has values that are not finite or exceed 1e\\+12"),
        ({"taps": np.full((8, 3, 3), -np.inf)}, "`taps` has values that are not finite"),
        ({"taps": np.full((8, 3, 3), -2e12)}, "`taps` has values that are not finite or exceed 1e\\+12 in magnitude"),
    ]:
        np.savez(path, **(arrays | changed))
        with pytest.raises(net.NetworkError, match=message):
            flt.read_network(path)
    del arrays["taps"]
    np.savez(path, **arrays)
    with pytest.raises(net.NetworkError, match="no array `taps`"):
        flt.read_network(path)


def test_results_have_class_and_score():
    values = np.array([[0, 2.75, 2.5] + 7 * [-1], 10 * [-8]], np.float32)
    classes, scores = flt.split(flt.results(values))
    assert classes.tolist() == [1, 0]
    assert scores.tolist() == [2.75, -8]
