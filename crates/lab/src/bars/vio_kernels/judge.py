"""Is what came out of kernels what others make of the same packets? Prints the numbers of transfers where it is not.

The judges are those of the kernels' own tests: openssl, hashlib, numpy, zlib, and two written out in Python.
"""

import functools
import hashlib
import importlib
import json
import os
import struct
import sys
import zlib
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[5] / "kernels"


@functools.cache
def tests_of(kernel: str, module: str | None = None):
    """The module with the kernel's tests."""
    sys.path[:0] = [str(KERNELS / "testing"), str(KERNELS / kernel)]
    return importlib.import_module(module or f"test_{kernel}")


def digests(name: str):
    os.environ["HASH"] = name
    checks = tests_of("hash", "hash_checks")
    return lambda packet, lanes: checks.digests(packet, number(lanes))


def number(value: bytes) -> int:
    return int.from_bytes(value, "little")


def signed(value: bytes) -> int:
    """Of 32 bits."""
    return (number(value) & 0xFFFF_FFFF ^ 1 << 31) - (1 << 31)


def scores(packet: bytes, query, query_bytes, target_bytes, match, mismatch, gap) -> bytes:
    score = tests_of("nw").score
    letters = number(target_bytes)
    targets = [packet[at : at + letters] for at in range(0, len(packet), letters)]
    told = [signed(value) for value in (match, mismatch, gap)]
    each = [score(query[: number(query_bytes)], target, *told) for target in targets]
    return struct.pack(f"<{len(each)}i", *each)


def sha3(packet: bytes, mode: bytes) -> bytes:
    tests = tests_of("sha3")
    if number(mode) == tests.FIPS:
        return hashlib.sha3_256(packet).digest()
    return tests.sponge(packet, 0x01)


def total(packet: bytes) -> bytes:
    """Of integers; bytes behind the last whole one are one with zeroes."""
    whole = packet + bytes(-len(packet) % 4)
    return sum(struct.unpack(f"<{len(whole) // 4}I", whole)).to_bytes(8, "little")


def judge(kernel: str):
    """The kernel's reference model: a function from a packet and the arguments to the output."""
    match kernel:
        case "loopback":
            return lambda packet: packet
        case "packet_sums":
            return total
        case "perf_stream":
            return tests_of(kernel).expected
        case "aes256ctr_stream":
            return tests_of(kernel).openssl
        case "sha256_stream" | "md5_stream":
            return digests(kernel.removesuffix("_stream"))
        case "sha3":
            return sha3
        case "nw":
            return scores
        case "matmul":
            return tests_of(kernel).products
        case "rng_stream":
            return lambda _, state, bytes: tests_of(kernel).numbers(state, number(bytes))
    raise SystemExit(f"no judge of {kernel}")


def unpacks_to(came: bytes, packet: bytes) -> bool:
    """One gzip member, whole, with nothing behind it."""
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        return decoder.decompress(came) == packet and decoder.eof and not decoder.unused_data
    except zlib.error:
        return False


def main(folder: Path) -> None:
    question = json.loads((folder / "question.json").read_text())
    data, all_that_came = (folder / "data").read_bytes(), (folder / "came").read_bytes()
    kernel = question["kernel"]
    constant = {name: bytes.fromhex(value) for name, value in question["arguments"]}
    wanted, wrong, at = {}, [], 0
    for index, one in enumerate(question["transfers"]):
        packet = data[one["offset"] :][: one["bytes"]]
        came = all_that_came[at:][: one["came"]]
        at += one["came"]
        if kernel == "gzip":
            good = unpacks_to(came, packet)
        else:
            # Each packet comes from every device.
            key = (one["offset"], one["bytes"], tuple(one["set"] or ()))
            if key not in wanted:
                arguments = dict(constant)
                if one["set"]:
                    arguments[one["set"][0]] = one["set"][1].to_bytes(8, "little")
                wanted[key] = judge(kernel)(packet, **arguments)
            good = came == wanted[key]
        if not good:
            wrong.append(index)
    print(json.dumps(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
