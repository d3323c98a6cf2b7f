# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Protocol assertions: does each find the breach of its rule, and nothing in legal traffic?"""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, sim_sources  # noqa: E402

ALL = (1 << 64) - 1
OURS, KERNEL, BY_ID, LITE, LITE_KERNEL = range(5)


def aw(ready=1, **signals):
    return {"awvalid": 1, "awready": ready, "awsize": 6, "awburst": 1} | signals


def w(ready=1, **signals):
    return {"wvalid": 1, "wready": ready, "wstrb": ALL} | signals


def b(ready=1, **signals):
    return {"bvalid": 1, "bready": ready} | signals


def ar(ready=1, **signals):
    return {"arvalid": 1, "arready": ready, "arsize": 6, "arburst": 1} | signals


def r(ready=1, **signals):
    return {"rvalid": 1, "rready": ready} | signals


# Legal traffic: role, cycles.
LEGAL = {
    "writes": (OURS, [aw(0, awlen=1), aw(awlen=1), w(0), w(), w(wlast=1), {}, b(0), b()]),
    "address with its data": (OURS, [aw() | w(wlast=1), b()]),
    "data before its address": (OURS, [w(), w(wlast=1), w(wlast=1), aw(awlen=1), aw() | b(), b()]),
    "address within its data": (OURS, [w(), aw(awlen=2), w(), w(wlast=1), b()]),
    "narrow, unaligned": (OURS, [aw(awlen=1, awsize=1, awaddr=0x103f), w(wstrb=1 << 63),
                                 w(wstrb=3, wlast=1), b()]),
    "wrap": (OURS, [aw(awlen=3, awsize=2, awburst=2, awaddr=0x38), w(wstrb=0xf << 56),
                    w(wstrb=0xf << 60), w(wstrb=0xf << 48), w(wstrb=0xf << 52, wlast=1), b()]),
    "fixed": (OURS, [aw(awlen=1, awsize=0, awburst=0, awaddr=5), w(wstrb=32),
                     w(wstrb=32, wlast=1), b()]),
    "up to the end of 4 KiB": (OURS, [ar(arlen=63), ar(arlen=0, araddr=0xfff), ar(arlen=255,
                                      arsize=4)]),
    "reads": (OURS, [ar(arlen=1, arid=3), r(0, rid=3), r(rid=3), r(rid=3, rlast=1)]),
    "IDs overtake": (BY_ID, [ar(arid=1, arlen=1), ar(arid=2), r(rid=1), r(rid=2, rlast=1),
                             r(rid=1, rlast=1), aw(awid=1), aw(awid=2), w(wlast=1), w(wlast=1),
                             b(bid=2), b(bid=1)]),
    "given up": (LITE, [ar(0), {"suspended": 1}]),
    "lite": (LITE, [aw() | w(), b(0), b(), ar(), r(0), r()]),
}

# A breach each: role, cycles, the rule that is named.
BREACHES = {
    "AW withdrawn": (OURS, [aw(0), {}], "u_aw breaks a rule of AXI: VALID fell"),
    "AW changed": (OURS, [aw(0), aw(awaddr=64)], "u_aw breaks a rule of AXI: an offer changed"),
    "W withdrawn": (OURS, [w(0), {}], "breaks a rule of AXI: VALID fell"),
    "W data changed": (OURS, [w(0), w(wdata=1)], "u_w_row breaks a rule of AXI: an offer changed"),
    "W flags changed": (OURS, [w(0), w(wstrb=1)], "u_w breaks a rule of AXI: an offer changed"),
    "B withdrawn": (OURS, [aw() | w(wlast=1), b(0), {}], "u_b breaks a rule of AXI: VALID fell"),
    "B changed": (OURS, [aw() | w(wlast=1), b(0), b(bresp=2)], "u_b breaks a rule"),
    "AR changed": (OURS, [ar(0), ar(arlen=1)], "u_ar breaks a rule of AXI: an offer changed"),
    "R withdrawn": (OURS, [ar(), r(0, rlast=1), {}], "breaks a rule of AXI: VALID fell"),
    "R changed": (OURS, [ar(), r(0, rlast=1), r(rresp=2, rlast=1)], "u_r breaks a rule"),
    "R data changed": (OURS, [ar(), r(0, rlast=1), r(rdata=2, rlast=1)], "u_r_row breaks a rule"),
    "AWBURST": (OURS, [aw(awburst=3)], "AWBURST is reserved"),
    "ARBURST": (OURS, [ar(arburst=3)], "ARBURST is reserved"),
    "AWSIZE": (OURS, [aw(awsize=7)], "AWSIZE is wider"),
    "ARSIZE": (OURS, [ar(arsize=7)], "ARSIZE is wider"),
    "long FIXED": (OURS, [aw(awburst=0, awlen=16, awsize=0)], "AWLEN is illegal"),
    "odd WRAP": (OURS, [ar(arburst=2, arlen=4)], "ARLEN is illegal"),
    "unaligned WRAP": (OURS, [ar(arburst=2, arlen=3, araddr=1)], "a WRAP burst of reads is unal"),
    "unaligned WRAP of writes": (OURS, [aw(awburst=2, awlen=3, awaddr=1)], "WRAP burst of writes"),
    "write over 4 KiB": (OURS, [aw(awlen=1, awaddr=0xfc0)], "a burst of writes crosses 4 KiB"),
    "read over 4 KiB": (OURS, [ar(arlen=64)], "a burst of reads crosses 4 KiB"),
    "AWID": (OURS, [aw(awid=16)], "AWID is wider"),
    "ARID": (OURS, [ar(arid=16)], "ARID is wider"),
    "WLAST early": (OURS, [aw(awlen=1), w(wlast=1)], "WLAST before the last beat"),
    "WLAST late": (OURS, [aw(), w()], "the last beat without WLAST"),
    "too many beats": (OURS, [w(), w(), aw(), w()], "more beats of data than AWLEN says"),
    "early data of another length": (OURS, [w(wlast=1), aw(awlen=1)], "AWLEN is not the number"),
    "endless data": (OURS, [w()] * 257, "more than 256 beats"),
    "strobe": (OURS, [aw(awsize=2, awaddr=4), w(wstrb=0xf, wlast=1)], "WSTRB on a lane"),
    "strobe before the start": (OURS, [aw(awaddr=4), w(wlast=1)], "WSTRB on a lane"),
    "too many writes": (BY_ID, [aw()] * 9, "more writes are under way"),
    "too many reads": (BY_ID, [ar()] * 9, "more reads are under way"),
    "B without AW": (OURS, [w(wlast=1), b()], "BVALID without a complete write"),
    "B without W": (OURS, [aw(), b()], "BVALID without a complete write"),
    "B with the last W": (OURS, [aw(), w(wlast=1) | b()], "BVALID without a complete write"),
    "B twice": (OURS, [aw() | w(wlast=1), b(), b()], "BVALID without a complete write"),
    "B of another ID": (OURS, [aw(awid=1) | w(wlast=1), b(bid=2)], "BID of no write"),
    "B out of turn": (BY_ID, [aw(awid=1) | w(wlast=1), b(bid=2)], "BVALID without"),
    "BRESP": (OURS, [aw() | w(wlast=1), b(bresp=1)], "BRESP is EXOKAY"),
    "R without AR": (OURS, [r(rlast=1)], "RVALID without a read"),
    "R of another ID": (OURS, [ar(arid=1), r(rlast=1)], "RID of no read"),
    "R out of turn": (BY_ID, [ar(arid=1), r(rid=2, rlast=1)], "RVALID without a read"),
    "RLAST early": (OURS, [ar(arlen=1), r(rlast=1)], "RLAST before the last beat"),
    "RLAST late": (OURS, [ar(), r()], "the last beat without RLAST"),
    "RRESP": (OURS, [ar(), r(rresp=1, rlast=1)], "RRESP is EXOKAY"),
    "VALID in reset": (OURS, [aw() | {"rst_n": 0}], "VALID is high in reset"),
    "shell answers a good kernel wrongly": (KERNEL, [aw(), b()], "BVALID without"),
    "lite: B without W": (LITE, [aw(), b()], "BVALID without a complete write"),
    "lite: B without AW": (LITE, [w(), b()], "BVALID without a complete write"),
    "lite: R without AR": (LITE, [r()], "RVALID without a read"),
    "lite: AR withdrawn": (LITE, [ar(0), {}], "VALID fell"),
    "lite: W changed": (LITE, [w(0), w(wdata=3)], "an offer changed"),
    "lite: RRESP": (LITE, [ar(), r(rresp=1)], "RRESP is EXOKAY"),
    "lite: BRESP": (LITE, [aw() | w(), b(bresp=1)], "BRESP is EXOKAY"),
}

# Breaches of kernels: reported once, the simulation goes on. The last cycle would be a breach of
# ours if the kernel had not confused the count.
REPORTS = {
    "AW changed": (KERNEL, [aw(0), aw(awaddr=64), aw(0), aw(awid=1), b()], "an offer changed"),
    "WLAST early": (KERNEL, [aw(awlen=1), w(wlast=1), w(wlast=1), b()], "WLAST before the last"),
    "over 4 KiB": (KERNEL, [ar(arlen=64), r(rlast=1)], "a burst of reads crosses 4 KiB"),
    "control": (LITE_KERNEL, [ar(0), ar(0) | r(), {}, r(), b()], "RVALID without a read"),
}


@pytest.fixture(scope="module")
def bench():
    sources = [*sim_sources("rtl/axi/assert"), HERE / "axi_assert_bench_top.sv"]
    return build_cpp("axi_assert", "axi_assert_bench_top", sources, HERE / "axi_assert_bench.cpp")


def play(bench, role, cycles):
    reset = {"rst_n": 0}
    lines = [f"role={role} " + " ".join(f"{name}={value}" for name, value in line.items())
             for line in [reset, reset, *({"rst_n": 1} | cycle for cycle in cycles)]]
    done = subprocess.run([bench], input="\n".join(lines), capture_output=True, text=True,
                          check=False)
    return done.returncode == 0 and done.stdout.endswith("end\n"), done.stdout + done.stderr


def test_legal_traffic_breaks_no_rule(bench):
    for name, (role, cycles) in LEGAL.items():
        assert play(bench, role, cycles) == (True, "end\n"), name


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_of_ours_ends_the_simulation(bench, name):
    role, cycles, rule = BREACHES[name]
    ended, said = play(bench, role, cycles)
    assert not ended and rule in said, said
    # The breach is what ended it: without its last cycle nothing is wrong.
    assert play(bench, role, cycles[:-1])[0]


def test_a_breach_of_a_kernel_is_reported_once(bench):
    for name, (role, cycles, rule) in REPORTS.items():
        ended, said = play(bench, role, cycles)
        assert ended and rule in said, (name, said)
        assert said.count("the kernel breaks a rule") == 1, (name, said)


def test_every_rule_has_its_breach():
    text = "".join((ROOT / "rtl/axi/assert" / f"{name}.sv").read_text()
                   for name in ("tmb_axi_write_assert", "tmb_axi_read_assert",
                                "tmb_axi_lite_assert", "tmb_offer_assert"))
    rules = {part.split('"')[0] for part in text.split('`TMB_BUS_RULE(')[1:]
             for part in [part.split('"', 1)[1]]}
    # Verilator has two states.
    rules -= {"VALID or READY is unknown"}
    named = [rule for _, _, rule in BREACHES.values()]
    missing = [rule for rule in rules if not any(rule[:10] in name for name in named)]
    assert not missing, missing
