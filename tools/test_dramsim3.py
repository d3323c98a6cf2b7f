# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""tools/dramsim3: are its places and configurations those of the platforms, and its results of today?"""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess

import pytest

PATH = pathlib.Path(__file__).resolve().parent / "dramsim3"
LOADER = importlib.machinery.SourceFileLoader("dramsim3", str(PATH))
dramsim3 = importlib.util.module_from_spec(importlib.util.spec_from_loader("dramsim3", LOADER))
LOADER.exec_module(dramsim3)


def test_without_the_simulator_it_fails_and_says_how_to_get_it(tmp_path):
    done = subprocess.run([PATH, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "git clone https://github.com/umd-memsys/DRAMsim3" in done.stderr


def test_places_are_those_of_the_documentation():
    """The table of docs/blocks/timing.md: group at bits 7:6, column at 14:8, bank at 16:15, XORed with the row."""
    f1 = dramsim3.memory_of("f1")
    assert dramsim3.place(f1, 1 << 6 | 5 << 8 | 2 << 15 | 7 << 17) == (1, 2 ^ 3 ^ 1, 7, 5)
    # ROW_COLUMN_BANK_INTLV: bank at bits 10:9, no XOR.
    mig = dramsim3.memory_of("f1-mig")
    assert dramsim3.place(mig, 3 << 6 | 1 << 8 | 2 << 9 | 3 << 11 | 5 << 17) == (3, 2, 5, 7)
    lines = {**f1, "address": {**f1["address"], "group_interleave_log2": 1}}
    assert dramsim3.place(lines, 1 << 6 | 2 << 7 | 1 << 9) == (2, 0, 0, 3)


@pytest.mark.parametrize("platform", dramsim3.PLATFORMS)
def test_addresses_of_the_simulator_are_used_once(platform):
    memory = dramsim3.memory_of(platform)
    addresses = {dramsim3.simulator_address(memory, row * 64) for row in range(1 << 13)}
    assert len(addresses) == 1 << 13 and max(addresses) < memory["channel_bytes"]


@pytest.mark.parametrize("platform", dramsim3.PLATFORMS)
def test_results_are_of_todays_figures(platform):
    results = json.loads(dramsim3.RESULTS.read_text())
    assert results["driver_sha256"] == dramsim3.sha256(dramsim3.DRIVER.read_bytes()), "run tools/dramsim3 again"
    recorded = results["platforms"][platform]
    memory = dramsim3.memory_of(platform)
    assert recorded["memory"] == memory, "run tools/dramsim3 again"
    configuration = dramsim3.configuration(memory).encode()
    assert recorded["config_sha256"] == dramsim3.sha256(configuration), "run tools/dramsim3 again"
    assert set(recorded["traces"]) == set(dramsim3.TRACES), "run tools/dramsim3 again"
