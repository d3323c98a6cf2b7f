//! `README.md` of an exported shell.

use super::pins::TopPort;
use super::{ARRAYS, TOP};
use crate::config::ShellConfig;
use std::fmt::Write;

/// The text of the page.
pub(super) fn page(config: &ShellConfig, pins: &[TopPort]) -> String {
    let mut text = format!(
        "# {TOP}\n\nTombolo's shell as plain RTL, made by `tombolo shell export`: virtual memory for the kernels \
         of {} slot(s), a DMA engine, and {} channel(s) of card memory. The folder needs nothing else: no other \
         file, no package, no vendor's primitive.\n\n\
         | file | what it is |\n|---|---|\n\
         | `{TOP}.v` | the top: every bus with AXI's own names |\n\
         | `{ARRAYS}.sv` | below it: the configuration, and wires |\n\
         | `rtl/`, `protocols/` | the shell, one module a file; each begins with what it does and why it cannot \
         deadlock |\n\
         | `{TOP}.f` | every file, in order, with the include folder |\n\
         | `{TOP}.core` | the same for FuseSoC: targets `default` and `lint` |\n\
         | `registers.md` | what the host finds behind `s_axi_bar` |\n\
         | `shell.toml` | the configuration; `tombolo shell export --config shell.toml` makes the folder again |\n",
        config.slots, config.channels
    );
    if config.directory.is_some() {
        text.push_str(
            "| `directory_registers.md`, `home_registers.md` | what belongs to the directory |\n",
        );
    }
    if config.cache.is_some() {
        text.push_str(
            "| `host_lines_registers.md` | what belongs to the cache of the CPU's lines |\n",
        );
    }
    let _ = write!(
        text,
        "\n## Trying it\n\n```sh\n\
         verilator --lint-only -Wall --top-module {TOP} -F {TOP}.f\n\
         yosys -m slang -p 'read_slang --top {TOP} -I rtl/lib '\"$(grep -E '\\.s?v$' {TOP}.f | xargs)\"'; proc; check \
         -assert'\nfusesoc --cores-root . run --target lint {TOP}\n```\n\n\
         Verilator from 5.0 on, Yosys with the plug-in yosys-slang. Files ending in `.vlt` are Verilator's alone.\n\n\
         ## Buses\n\nOne clock, `aclk`; `aresetn` is low for at least 16 cycles, and synchronous to it. Every output \
         comes from a register and every input goes to registers only, so each bus meets timing by itself, and \
         a clock converter of your board fits between any two.\n\n| bus | what it is |\n|---|---|\n"
    );
    let mut last = None;
    for bus in pins.iter().filter_map(|pin| pin.bus.as_deref()) {
        if last != Some(bus) {
            let _ = writeln!(text, "| `{bus}_*` | {} |", what(bus));
            last = Some(bus);
        }
    }
    for slot in 0..config.slots {
        let _ = writeln!(
            text,
            "| `slot{slot}_aresetn`, `slot{slot}_interrupt` | reset of the kernel in slot {slot}, and its interrupt (a level) |"
        );
    }
    text.push_str(
        "| `irq` | one cycle for each interrupt: to the PCIe core's user interrupt. After power-on one for each record in \
         the event ring; with `INTERRUPT.ACKNOWLEDGE` no second one before the host has acknowledged the first |\n\
         | `card_clock_period`, `card_channel_bytes` | constants: the period of `aclk` in picoseconds, the bytes of \
         memory of each channel (the least, where they differ); the driver compares them with its description |\n\
         | `slotS_identity` | constant: the identity of the kernel in the slot, 0 if it has none |\n\n\
         AXI4 managers send INCR bursts of whole 64-byte beats that do not cross 4 KiB, with at most 16 IDs at the \
         host and one at each memory, whose answers may take any time. Subordinates at a slot take what a Vitis \
         kernel sends: 64-bit addresses, any legal INCR burst up to 512 bits a beat, IDs up to 16 bits. \
         A narrower port wants a width converter, or zeros beside its bytes with the size it has.\n\n\
         Software that drives these registers is the library `tombolo` (`crates/card`, `crates/tombolo`).\n",
    );
    text
}

/// Purpose of a bus.
fn what(bus: &str) -> &'static str {
    let side = bus.split('_').next_back().unwrap_or(bus);
    let begins = |name: &str| side.starts_with(name);
    if bus == "s_axi_bar" {
        "AXI4-Lite, 32 bits: the host's register accesses (a BAR of the PCIe core)"
    } else if bus == "m_axi_host" {
        "AXI4, 512 bits: host memory, through the PCIe core's bridge"
    } else if bus.starts_with("m_axi_mem") {
        "AXI4, 512 bits: a memory controller; addresses begin at 0"
    } else if begins("control") {
        "AXI4-Lite, 32 bits: `s_axi_control` of the kernel"
    } else if begins("port") {
        "AXI4, 512 bits: a memory port of the kernel, virtual addresses"
    } else if begins("in") {
        "AXI4-Stream, 512 bits: into the kernel"
    } else if begins("out") {
        "AXI4-Stream, 512 bits: out of the kernel"
    } else if begins("home") {
        "AXI4, 512 bits: the CPU's reads and writes of lines that the kernel is home of"
    } else if begins("line") {
        "operations on lines by the kernel: requests and acknowledgements"
    } else if begins("access") {
        "loads, stores and holds of the CPU's lines by the kernel: requests and answers"
    } else if begins("cache") {
        "the coherent link to the CPU as home of its lines; `_i` and `_o` as the shell sees them"
    } else {
        "the coherent link to the CPU; `_i` and `_o` as the shell sees them"
    }
}
