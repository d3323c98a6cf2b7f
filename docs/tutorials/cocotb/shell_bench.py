# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The exported shell (`tombolo shell export`) as the environment of a kernel in cocotb.

`run` builds a top module with the kernel in the shell's slot and runs a cocotb test; `Card` is the host of that test: it
drives the shell's registers, owns host and card memory, and serves page faults.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import VerilatorControlFile, Verilog, get_runner
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from cocotbext.axi.sparse_memory import SparseMemory

# --- The top module ----------------------------------------------------------------------------------------------------

TOP = "kernel_in_shell"
DECLARATION = re.compile(r"^ *(input|output) +wire +(?:\[(\d+):0\] +)?(\w+),?$", re.MULTILINE)
PERIOD_PS = 4000
# Values of the shell's inputs for signals that the kernel does not have; all others are 0.
ABSENT = {"arsize": 6, "awsize": 6, "arburst": 1, "awburst": 1, "bready": 1, "rready": 1, "wstrb": 2**64 - 1}


class Unsupported(ValueError):
    """A property of the kernel that this bench does not have."""


def kernel_sources(folder):
    """The kernel's RTL in the order of compilation."""
    kernel = tomllib.loads((folder / "kernel.toml").read_text())["kernel"]
    libraries = [file for name in kernel.get("libraries", [])
                 for file in sorted((folder.parent / name).iterdir(), key=lambda f: (not f.stem.endswith("_pkg"), f))
                 if file.suffix in (".sv", ".v")]
    return libraries + [folder / name for name in kernel["sources"]]


def shell_sources(shell):
    """The shell's RTL and waivers in the order of compilation."""
    lines = (shell / "tombolo_shell.f").read_text().splitlines()
    return [shell / line for line in lines if line and not line.startswith(("//", "+"))]


def buses(manifest):
    """The kernel's prefix for each bus of the shell's slot 0."""
    found = {"m_axi_slot0_control_": "s_axi_control_"}
    number = 0
    for port in manifest["port"]:
        name, prefix = port["name"], port.get("prefix", port["name"] + "_")
        if port["kind"] == "axi4" and port["data_width"] == 512:
            found[f"s_axi_slot0_port{number}_"] = prefix
            number += 1
        elif port["kind"] == "axi4_lite" and port.get("data_width", 32) == 32:
            found["m_axi_slot0_control_"] = prefix
        else:
            raise Unsupported(f"port {name}: this bench connects AXI4 of 512 bits and registers of 32 bits; "
                              "test other kernels with `tombolo run`, whose slot adapts them")
    return found


def top_module(kernel, shell):
    """SystemVerilog of the kernel in slot 0. All other buses of the shell are ports of the module."""
    manifest = tomllib.loads((kernel / "kernel.toml").read_text())
    if "clock" in manifest:
        raise Unsupported("kernel.toml: [[clock]]: this bench has one clock; use `tombolo run`")
    about = manifest["kernel"]
    prefixes = buses(manifest)
    rtl = "\n".join(file.read_text() for file in kernel_sources(kernel))
    kernel_module = re.search(rf"\bmodule\s+{about['top']}\b.*?\bendmodule\b", rtl, re.DOTALL)[0]
    names = {name.lower(): name for name in re.findall(r"\w+", kernel_module)}
    declared = DECLARATION.findall((shell / "tombolo_shell.v").read_text())
    for bus in prefixes:
        if not any(name.startswith(bus) for _, _, name in declared):
            raise Unsupported(f"{kernel.name}: the shell has no {bus[:-1]}: export one with more `ports_per_slot`")

    ports, wires, to_shell, to_kernel = ["input wire aclk", "input wire aresetn"], [], [], []
    to_shell += [".aclk(aclk)", ".aresetn(aresetn)", f".card_clock_period(32'd{PERIOD_PS})"]
    to_kernel.append(f".{about.get('clock', 'ap_clk')}(aclk)")

    def connect(name, width, direction, signal):
        """One signal between the slot and the kernel, or a constant."""
        wires.append(f"wire [{width}:0] {name};")
        to_shell.append(f".{name}({name})")
        if signal in names:
            to_kernel.append(f".{names[signal]}({name})")
        elif direction == "input":
            value = ABSENT.get(name.rsplit("_", 1)[1], 0)
            wires.append(f"assign {name} = {value};" if value < 2**31 else f"assign {name} = '1;")

    for direction, high, name in declared:
        width = int(high or 0)
        bus = next((bus for bus in prefixes if name.startswith(bus)), None)
        if name in ("aclk", "aresetn", "card_clock_period"):
            continue
        if name == "slot0_aresetn":
            level = "~" if about.get("reset") == "active_high" else ""
            wires.append("wire slot0_aresetn;")
            to_shell.append(".slot0_aresetn(slot0_aresetn)")
            if about.get("reset") != "absent":
                to_kernel.append(f".{about.get('reset_name', 'ap_rst_n')}({level}slot0_aresetn)")
        elif name == "slot0_interrupt":
            interrupt = about.get("interrupt", False)
            connect(name, 0, direction, "interrupt" if interrupt is True else str(interrupt).lower())
        elif bus:
            connect(name, width, direction, (prefixes[bus] + name.removeprefix(bus)).lower())
        elif name.startswith(("s_axi_slot", "m_axi_slot", "slot")):
            # Ports that the kernel does not have, and the kernel's identity.
            connect(name, width, direction, None)
        else:
            ports.append(f"{direction} wire [{width}:0] {name}")
            to_shell.append(f".{name}({name})")
    # The shell uses one ID at each memory; cocotbext-axi requires the signals.
    memories = {found[1] for port in ports if (found := re.search(r"(m_axi_mem\d+)_araddr", port))}
    for memory in sorted(memories):
        for channel, kind in [("ar", "output"), ("aw", "output"), ("r", "input"), ("b", "input")]:
            ports.append(f"{kind} wire {memory}_{channel}id")
        wires += [f"assign {memory}_arid = 0;", f"assign {memory}_awid = 0;"]
    wires = "\n  ".join(wires)
    return f"""// Generated by shell_bench.py: {kernel.name} in slot 0 of tombolo_shell.
module {TOP} ({", ".join(ports)});
  {wires}
  tombolo_shell u_shell ({", ".join(to_shell)});
  {about["top"]} u_kernel ({", ".join(to_kernel)});
endmodule
"""


def sources(kernel, shell, work):
    """Writes the top module; returns all files in the order of compilation."""
    work.mkdir(parents=True, exist_ok=True)
    top = work / f"{TOP}.sv"
    top.write_text(top_module(kernel, shell))
    return [*shell_sources(shell), *kernel_sources(kernel), top]


def build(kernel, shell, work):
    """Builds the simulation with Verilator; returns its folder."""
    files = [work / "public.vlt", *sources(kernel, shell, work)]
    # Only signals of the top module are visible to the test: the rest is optimised, which is several times as fast.
    files[0].write_text(f'`verilator_config\npublic_flat_rw -module "{TOP}" -var "*"\n')
    get_runner("verilator").build(
        sources=[VerilatorControlFile(file) if file.suffix == ".vlt" else Verilog(file) for file in files],
        includes=[shell / "rtl/lib", kernel],
        hdl_toplevel=TOP,
        build_dir=work / "sim",
        build_args=["--no-public-flat-rw", "--no-timing", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style",
                    "--output-split", "40000"],
    )
    return work / "sim"


def run(test_module, kernel, shell):
    """Runs the cocotb tests of a module with the kernel in the exported shell; raises if one fails. `SHELL_BENCH_SIM`
    names the folder of a simulation that has been built before."""
    kernel, shell, work = Path(kernel).resolve(), Path(shell).resolve(), Path("build").resolve()
    sim = os.environ.get("SHELL_BENCH_SIM") or build(kernel, shell, work)
    work.mkdir(parents=True, exist_ok=True)
    # The runner passes this path to the simulation.
    sys.path[:0] = [os.getcwd(), str(Path(__file__).resolve().parent)]
    results = get_runner("verilator").test(
        hdl_toplevel=TOP, hdl_toplevel_lang="verilog", test_module=test_module, build_dir=sim, test_dir=work,
        results_xml=str(work / "results.xml"),
        extra_env={"KERNEL": str(kernel), "COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING"),
                   "PYTHONWARNINGS": "ignore::DeprecationWarning"})
    tests, failures = get_results(results)
    assert tests > 0 and failures == 0, f"{failures} of {tests} tests of {test_module} failed"


# --- The host ----------------------------------------------------------------------------------------------------------

# Registers (registers.md of the exported folder), commands and event records (architecture.md, host interface).
CONTROL, EVENT_BASE, EVENT_SIZE, EVENT_HEAD = 0x20, 0x60, 0x68, 0x6C
COMMAND_BASE, COMMAND_SIZE, COMMAND_TAIL = 0x6000, 0x6008, 0x600C
SPACE, SPACE_TABLE, SPACE_CLASSES, SLOT, WINDOW = 0x1000, 0x1004, 0x100C, 0x2000, 0x100000
COPY_IN, COPY_OUT, ZERO, INSTALL, INVALIDATE, FAULT_REPLY = 0x01, 0x02, 0x03, 0x10, 0x11, 0x20
COMPLETION, FAULT, SLOT_CLOSED = 1, 2, 4
FAIL = 1 << 16

# Both rings have 1,024 entries; the page table at the start of card memory has 1,024 sets.
ROW, PAGE, SETS_LOG2, ENTRIES_LOG2 = 64, 4096, 10, 10
ENTRIES = 1 << ENTRIES_LOG2
HOST_BASE = 0x10_0000_0000
COMMANDS, EVENTS, DATA = HOST_BASE, HOST_BASE + 0x10000, HOST_BASE + 0x100000


class CardError(AssertionError):
    """An access that the shell or this host refuses."""


class Card:
    """The card with the kernel in its slot, and the host that drives it."""

    def __init__(self, dut, kernel=None):
        self.dut = dut
        manifest = tomllib.loads((Path(kernel or os.environ["KERNEL"]) / "kernel.toml").read_text())
        self.arguments = {argument["name"]: argument for argument in manifest.get("argument", [])}
        self.faults = []
        self._host = SparseMemory(1 << 48)
        self._mappings, self._frames, self._written = {}, {}, set()
        self._next_page, self._next_frame, self._next_host = 0x7F00_0000_0000, 0x1000, DATA
        self._tail = self._head = 0
        self._completions, self._awaited = {}, set()
        self._error, self._is_closed = None, False

    async def start(self):
        """Power-on: rings, the page table, and the slot out of reset."""
        dut = self.dut
        dut.aresetn.value = 0
        dut.card_channel_bytes.value = 1 << 34
        cocotb.start_soon(Clock(dut.aclk, PERIOD_PS, unit="ps").start())
        common = {"clock": dut.aclk, "reset": dut.aresetn, "reset_active_level": False}
        self._bar = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_bar"), **common)
        AxiRam(AxiBus.from_prefix(dut, "m_axi_host"), **common, mem=self._host)
        channels = [name for name in (f"m_axi_mem{n}" for n in range(64)) if hasattr(dut, f"{name}_araddr")]
        for name in channels:
            AxiRam(AxiBus.from_prefix(dut, name), **common, mem=SparseMemory(1 << 40))
        await ClockCycles(dut.aclk, 20)
        dut.aresetn.value = 1
        await ClockCycles(dut.aclk, 4)
        for register, base in [(COMMAND_BASE, COMMANDS), (EVENT_BASE, EVENTS)]:
            await self.register(register, base & 0xFFFF_FFFF)
            await self.register(register + 4, base >> 32)
        for register, value in [(COMMAND_SIZE, ENTRIES_LOG2), (EVENT_SIZE, ENTRIES_LOG2), (CONTROL, 1)]:
            await self.register(register, value)
        cocotb.start_soon(self._take_events())
        await self._command(ZERO, 0, 0, ROW << SETS_LOG2)
        for register, value in [(SPACE_TABLE, 0), (SPACE_TABLE + 4, 0), (SPACE_CLASSES, 1),
                                (SPACE, SETS_LOG2 << 8 | 1), (SLOT, 1)]:
            await self.register(register, value)

    async def register(self, offset, value=None):
        """Reads a register of the BAR, or writes it."""
        if value is None:
            answer = await self._bar.read(offset, 4)
            self._check(answer.resp == 0, f"register 0x{offset:x}: {answer.resp.name}")
            return int.from_bytes(answer.data, "little")
        answer = await self._bar.write(offset, value.to_bytes(4, "little"))
        self._check(answer.resp == 0, f"register 0x{offset:x}: {answer.resp.name}")
        return None

    def map(self, data, writable=False):
        """Maps bytes into the kernel's address space; returns their virtual address. Nothing is copied to the card before
        the kernel accesses a page."""
        address, place, pages = self._next_page, self._next_host, -(-len(data) // PAGE)
        self._host.write(place, bytes(data))
        for page in range(pages):
            self._mappings[address + page * PAGE] = (place + page * PAGE, writable)
        # An unmapped page behind each mapping: accesses past the end fail.
        self._next_page += (pages + 1) * PAGE
        self._next_host += pages * PAGE
        return address

    async def read(self, address, length):
        """Bytes of a mapping, after write-back of its dirty pages."""
        for page in [page for page in self._frames if address - PAGE < page < address + length]:
            frame = self._frames.pop(page)
            was_written = page in self._written
            self._written.discard(page)
            _, is_dirty = await self._command(INVALIDATE, page)
            if is_dirty or was_written:
                await self._command(COPY_OUT, frame * PAGE, self._mappings[page][0], PAGE)
        place = self._mappings[address // PAGE * PAGE][0] + address % PAGE
        return bytes(self._host.read(place, length))

    async def set(self, **arguments):
        """Writes arguments of the kernel."""
        for name, value in arguments.items():
            argument = self.arguments[name]
            for offset in range(0, argument["bytes"], 4):
                await self.register(WINDOW + argument["offset"] + offset, value >> 8 * offset & 0xFFFF_FFFF)

    async def run(self, polls=10_000, **arguments):
        """Sets arguments, starts the kernel, and waits until it is done."""
        self._error = None
        await self.set(**arguments)
        await self.register(WINDOW, 1)
        for _ in range(polls):
            # A kernel whose access has failed ends, unless the shell has isolated it.
            if self._is_closed or await self.register(WINDOW) & 2:
                self._check(not self._error, self._error)
                return
            await ClockCycles(self.dut.aclk, 50)
        raise CardError(f"the kernel is not done after {polls} reads of its control register")

    def _check(self, holds, message):
        if not holds:
            raise CardError(message)

    def _put(self, opcode, address=0, operand=0, length=0, token=0, fence=False, notify=False):
        word = opcode | fence << 8 | notify << 9 | self._tail << 32
        words = [word, address, operand, length, token, 0, 0, 0]
        row = b"".join(word.to_bytes(8, "little") for word in words)
        self._host.write(COMMANDS + self._tail % ENTRIES * ROW, row)
        self._tail += 1
        return self._tail - 1

    async def _command(self, *command, **flags):
        """One command; returns (accessed, dirty)."""
        number = self._put(*command, **flags, notify=True)
        self._awaited.add(number)
        await self.register(COMMAND_TAIL, self._tail)
        while number not in self._completions:
            await RisingEdge(self.dut.aclk)
        status, *bits = self._completions.pop(number)
        self._check(status == 0, f"command 0x{command[0]:x}: status {status}")
        return bits

    async def _take_events(self):
        while True:
            await RisingEdge(self.dut.aclk)
            row = self._host.read(EVENTS + self._head % ENTRIES * ROW, ROW)
            words = [int.from_bytes(row[k:k + 8], "little") for k in range(0, ROW, 8)]
            if words[7] & 1 != 1 - self._head // ENTRIES % 2:
                continue
            self._head += 1
            kind = words[0] & 0xFF
            if kind == COMPLETION:
                number, status = words[1] & 0xFFFF_FFFF, words[0] >> 8 & 0xFF
                self._completions[number] = (status, words[0] >> 16 & 1, words[0] >> 17 & 1)
                if status and number not in self._awaited:
                    self._error = f"service of a page fault: status {status}"
            elif kind == FAULT:
                await self._serve(words)
            elif kind == SLOT_CLOSED:
                self._is_closed = True
                self._error = "the shell has isolated the kernel, which broke a rule of the slot (kernels.md)"
            await self.register(EVENT_HEAD, self._head)

    async def _serve(self, words):
        """One page fault: copies the page in, installs it, and resumes the burst."""
        is_write, address = words[0] >> 16 & 1, words[1]
        page = address // PAGE * PAGE
        place, writable = self._mappings.get(page, (None, False))
        if place is None or is_write and not writable:
            access = "write to" if is_write else "read of"
            rule = "the page is not mapped" if place is None else "the page is mapped read-only"
            self._error = f"{access} 0x{address:x}: {rule}"
            self._put(FAULT_REPLY, token=words[2] | FAIL)
        else:
            is_new = page not in self._frames
            if is_new:
                self.faults.append(page)
                self._frames[page] = self._next_frame
                self._next_frame += 1
            frame = self._frames[page]
            # A burst that waited for its page does not mark the table's entry.
            if is_write:
                self._written.add(page)
            # Valid, readable, in card memory.
            entry = frame << 13 | 1 << 5 | writable << 2 | 0b11
            if is_new:
                self._put(COPY_IN, frame * PAGE, place, PAGE)
                # After the copy.
                self._put(INSTALL, page, entry, fence=True)
            self._put(FAULT_REPLY, 0, entry, token=words[2])
        await self.register(COMMAND_TAIL, self._tail)

