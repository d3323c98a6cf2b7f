"""Does md5_stream give what hashlib gives? The checks are in kernels/hash."""

import os
import sys
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(KERNELS / "testing"))


def test_md5_stream():
    from run import run_cocotb

    os.environ["HASH"] = "md5"
    run_cocotb("md5_stream", "stream_checks", KERNELS / "hash", bare=True)
