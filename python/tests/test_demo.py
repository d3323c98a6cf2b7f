"""Is `tombolo demo` right, does it notice what is wrong, and does it say what a machine lacks?"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tombolo
from tombolo import _aes, _demo


@pytest.mark.parametrize("nbytes", [0, 1, 15, 16, 17, 4096 + 5])
def test_the_judge_is_right(nbytes: int) -> None:
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    drawn = random.Random(nbytes)
    # The counter runs over its end.
    key, iv, data = drawn.randbytes(32), b"\xff" * 15 + b"\xfe", drawn.randbytes(nbytes)
    words = ["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", iv.hex()]
    assert _aes.aes256ctr(data, key, iv) == subprocess.run(words, input=data, capture_output=True, check=True).stdout


def test_the_judge_has_the_vector_of_the_standard() -> None:
    # FIPS 197, C.3: in counter mode, a counter's block is what zeroes become.
    counter = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert _aes.aes256ctr(bytes(16), bytes(range(32)), counter).hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_it_is_right_on_both_cards(capsys: pytest.CaptureFixture[str]) -> None:
    assert _demo.main([]) == 0
    said = capsys.readouterr().out
    assert "functional card (a model of the kernel): right" in said
    assert "simulated card (the RTL of shell and kernel): right" in said and "cycles" in said


def test_a_wrong_byte_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right = _aes.aes256ctr
    monkeypatch.setattr(_demo, "aes256ctr", lambda *given: right(*given)[:-1] + b"?")
    assert _demo.main(["--functional"]) == 1
    assert f"WRONG from byte {_demo.NBYTES - 1} on" in capsys.readouterr().out


def test_it_says_what_is_missing(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    variables = {
        "PATH": "/nowhere",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(tombolo.__file__).parents[1]),
        "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
    }

    def said(*words: str) -> "tuple[int, str]":
        command = [str(environment / "bin" / "python"), "-m", "tombolo", *words]
        done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout

    # The package built for tests has no prebuilt models.
    status, text = said("demo")
    assert status == 1 and "functional card (a model of the kernel): right" in text
    assert "simulated card (the RTL of shell and kernel): not tried" in text
    assert "pip install 'tombolo-fpga[simulated]'" in text and "apt-get install g++" in text
