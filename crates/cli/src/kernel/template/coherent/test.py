"""Runs NAME on the simulated card beside a coherent CPU and compares every byte with what Python computes."""

import os
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOMBOLO = os.environ.get("TOMBOLO", "tombolo")
BASE, LINE = 0x4000_0000, 128


def expected(question, add):
    """The answer: words that wrap."""
    return [(word + add) & 0xFFFF_FFFF for word in question]


def run(questions, add):
    script = []
    for question in questions:
        line = struct.pack("<32I", *question)
        script += [f"store {BASE:#x} 0x{line.hex()}", f"load {BASE + LINE:#x}", f"flush {BASE + LINE:#x}"]
    said = subprocess.run(
        [TOMBOLO, "run", HERE, "--coherent", "--access", "-", "--quiet", "--set", f"base={BASE:#x}",
         "--set", f"add={add}", "--set", "answers=0"],
        input="\n".join(script), stdout=subprocess.PIPE, text=True, check=True,
    ).stdout
    answers = re.findall(r"  load 0x[0-9a-f]+: 0x([0-9a-f]*)", said)
    if len(answers) != len(questions):
        sys.exit(f"{len(questions)} questions, {len(answers)} answers:\n{said}")
    for number, (question, answer) in enumerate(zip(questions, answers)):
        # Zeroes at the end of a line are not printed.
        got = struct.unpack("<32I", bytes.fromhex(answer).ljust(LINE, b"\0"))
        if list(got) != expected(question, add):
            sys.exit(f"answer {number} to {question} is {list(got)}")


rng = random.Random(1)
run([[rng.getrandbits(32) for _ in range(32)] for _ in range(3)], 1000)
run([[0] * 32, [0xFFFF_FFFF] * 32], 1)
print("NAME: all right")
