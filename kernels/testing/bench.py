"""How long a cycle of each kernel takes in Verilator, alone on an ideal memory.

    python kernels/testing/bench.py [KERNEL...] [--megabytes N] [--json]

Also checks, cycle for cycle, that a kernel moves a row a cycle.
"""

import argparse
import json
import subprocess
from pathlib import Path

from run import ROOT, TESTING, manifest, one_port, sources, verilate

KERNELS = ["vadd", "copy", "aes256ctr"]


def build(kernel: str) -> Path:
    """The kernel with bench.cpp, as fast as Verilator and the compiler make it."""
    options = ["--long", "--no-assert", "--class=Vkernel", f"--main={TESTING / 'bench.cpp'}"]
    options += [f"--flag=-D{macro}" for macro in one_port(kernel)]
    top = manifest(kernel)["kernel"]["top"]
    return verilate.build("bench", ROOT, kernel, top, sources(kernel), *options)


def registers(kernel: str, size: int) -> list[str]:
    """Register writes for one run over `size` bytes an array; other arguments stay zero."""
    values = {
        "bytes": size,
        "length": size // 4,
        "seed": 0x9E3779B97F4A7C15,
        "updates": size // 64,
        "blocks": 64,
        "lanes": 128,
        "lines": size // 4096,
        "words_log2": (size // 8).bit_length() - 1,
    }
    writes, arrays = [], 0
    for argument in manifest(kernel)["argument"]:
        value = values.get(argument["name"], 0)
        if "port" in argument:
            value = arrays * size
            arrays += 1
        for word in range(argument["bytes"] // 4):
            writes.append(f"{argument['offset'] + 4 * word}={value >> 32 * word & 0xFFFFFFFF}")
    return writes


def measure(kernel: str, megabytes: int) -> dict:
    """The figures of one run."""
    command = [build(kernel), str(megabytes), *registers(kernel, megabytes << 20)]
    figures = json.loads(subprocess.check_output(command, text=True))
    busiest = max(figures["rows_read"], figures["rows_written"])
    figures["rows_per_cycle"] = round(busiest / figures["cycles"], 4)
    figures["mb_per_s"] = round(64e3 * busiest / figures["cycles"] /
                                figures["ns_per_cycle"], 1)
    return {"kernel": kernel, **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    parser.add_argument("--megabytes", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    for kernel in options.kernels:
        figures = measure(kernel, options.megabytes)
        if options.json:
            print(json.dumps(figures), flush=True)
        else:
            print(
                f"{kernel:12} {figures['ns_per_cycle']:8.1f} ns a cycle  "
                f"{figures['rows_per_cycle']:.4f} rows a cycle  "
                f"{figures['mb_per_s']:8.1f} MB/s  "
                f"bursts under way: {figures['bursts_reading']} read, "
                f"{figures['bursts_writing']} written",
                flush=True,
            )


if __name__ == "__main__":
    main()
