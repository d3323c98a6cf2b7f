//! The module generated around a kernel with ports of other widths than the slot's, or with several that share a
//! stream: the kernel, a `tmb_port_widener` for each such memory port, a `tmb_stream_width` for each such stream port
//! (or a `tmb_stream_gather`, for one of the slot's width without TKEEP), a `tmb_stream_combiner` or
//! `tmb_stream_divider` for each stream that is shared. TSTRB of a stream port is derived from TKEEP, or TKEEP from
//! both. It belongs to the slot boundary, and forms one model with the kernel. Ports that carry streams are in
//! [`carried`].

mod bundles;
mod carried;
mod module;
mod narrow;
mod streams;
mod wide;

use crate::interface::{Bound, ExtraClock, KernelInterface, Lock, CLOCK, DATA_WIDTH, RESET};
use crate::names;
use card::kernel::{Manifest, RegisterPort, ResetPolarity, StreamPort};
use card::stream::StreamDirection;
use module::{port, Module};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use streams::OutsideStreams;
use verilated::{Direction, FileSet};

/// Name of the module.
pub(crate) const WRAPPER: &str = "tmb_kernel_wrapper";

/// A kernel whose ports all have the slot's width.
pub(crate) struct Wrapper {
    /// SystemVerilog of the module.
    pub(crate) text: String,
    /// Interface of the module.
    pub(crate) interface: KernelInterface,
}

/// Whether a kernel needs a wrapper, independently of its RTL. A kernel with TSTRB needs one, too, and one that takes
/// whole rows without TKEEP.
pub(crate) fn is_needed(manifest: &Manifest) -> bool {
    let ports = manifest.ports.iter().map(|port| port.data_width);
    let streams = manifest.streams.iter().map(|port| port.data_width);
    let special = |port: &StreamPort| !port.members.is_empty() || port.through.is_some();
    let shared = manifest.streams.iter().any(special);
    let foreign = !manifest.parameters.is_empty()
        || !manifest.constants.is_empty()
        || manifest.clock != CLOCK
        || manifest.reset == ResetPolarity::ActiveHigh
        || !manifest.clocks.is_empty()
        || !matches!(
            manifest.registers.as_slice(),
            [] | [RegisterPort { data_width: 32, .. }]
        );
    foreign || shared || ports.chain(streams).any(|width| width != DATA_WIDTH)
}

/// The RTL that the wrapper uses.
pub(crate) fn file_set(home: &Path) -> FileSet {
    FileSet {
        base: home.to_owned(),
        files: vec![
            PathBuf::from("rtl/lib/tmb_fifo.sv"),
            PathBuf::from("rtl/axi/tmb_port_widener.sv"),
            PathBuf::from("rtl/axi/tmb_port_narrower.sv"),
            PathBuf::from("rtl/axi/tmb_register_bundles.sv"),
            PathBuf::from("rtl/stream/tmb_stream_width_pkg.sv"),
            PathBuf::from("rtl/stream/tmb_stream_width.sv"),
            PathBuf::from("rtl/stream/tmb_stream_gather.sv"),
            PathBuf::from("rtl/lib/tmb_spill_register.sv"),
            PathBuf::from("rtl/stream/tmb_stream_turn.sv"),
            PathBuf::from("rtl/stream/tmb_stream_combiner.sv"),
            PathBuf::from("rtl/stream/tmb_stream_divider.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_pkg.sv"),
            PathBuf::from("rtl/stream/tmb_stream_elements.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_in.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_out.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_registers.sv"),
        ],
        include: vec![PathBuf::from("rtl/lib")],
    }
}

impl Wrapper {
    /// The wrapper for a kernel whose RTL has this interface.
    pub(crate) fn new(manifest: &Manifest, kernel: &KernelInterface) -> Self {
        let mut module = Module::default();
        module.connect(&manifest.clock, CLOCK);
        let clock = port(CLOCK, 1, Direction::Input);
        module.declare(&clock);
        // Wideners have a reset even if the kernel has none.
        let reset = port(RESET, 1, Direction::Input);
        module.declare(&reset);
        if let Some(inner) = &kernel.reset {
            module.connect_reset(&inner.name, manifest.reset);
        }
        let mut clocks = Vec::new();
        for (number, other) in kernel.clocks.iter().enumerate() {
            let outer = port(&format!("other_clock_{number}"), 1, Direction::Input);
            module.pass(&other.clock, &outer);
            if let Some((reset, polarity)) = &other.reset {
                module.connect_reset(&reset.name, *polarity);
            }
            clocks.push(ExtraClock {
                clock: outer,
                reset: None,
                ratio: other.ratio,
            });
        }
        for (input, value) in &kernel.constants {
            module.connect(&input.name, &format!("{}'d{value}", input.width));
        }
        let interrupt = kernel.interrupt.as_ref().map(|inner| {
            let outer = port("kernel_interrupt", 1, Direction::Output);
            module.pass(inner, &outer);
            outer
        });
        let carried_bit = |stream: &StreamPort| {
            let out = usize::from(stream.direction == StreamDirection::Out);
            stream.through.map(|port| 2 * port + out)
        };
        let carried_bits: Vec<usize> = manifest.streams.iter().filter_map(carried_bit).collect();
        let bundles = (!kernel.bundles.is_empty())
            .then(|| bundles::join_bundles(&mut module, &kernel.bundles));
        let control = kernel.control.as_ref().map(|control| {
            if !carried_bits.is_empty() {
                return carried::share_control(&mut module, control, &carried_bits);
            }
            let prefix = "s_axi_control";
            control
                .iter()
                .map(|bound| module.pass_bound(prefix, bound))
                .collect()
        });
        let control = control.or(bundles);
        let ports = manifest
            .ports
            .iter()
            .zip(&kernel.ports)
            .enumerate()
            .map(|(index, (described, bound))| match described.data_width {
                DATA_WIDTH => {
                    let carried = carried::carried(manifest, kernel, index);
                    carried::carry(&mut module, (&described.name, index), bound, carried)
                }
                width if width > DATA_WIDTH => wide::narrow(&mut module, &described.name, bound),
                width => narrow::widen(&mut module, &described.name, width, bound),
            })
            .collect();
        let OutsideStreams { streams, held } = streams::wrap(&mut module, manifest, kernel);
        let locks = kernel
            .locks
            .iter()
            .filter_map(|lock| watch(&mut module, lock));
        let locks = locks.collect();
        let mut beside = |names: &[String], buses: &[Vec<Bound>]| -> Vec<Vec<Bound>> {
            let pass = |(name, bus): (&String, &Vec<Bound>)| {
                bus.iter()
                    .map(|bound| module.pass_bound(name, bound))
                    .collect()
            };
            names.iter().zip(buses).map(pass).collect()
        };
        let homes = beside(&manifest.homes, &kernel.homes);
        let lines = beside(&manifest.lines, &kernel.lines);
        let accesses = beside(&manifest.accesses, &kernel.accesses);
        Self {
            text: module.text(&names::identifier(&manifest.top), &manifest.parameters),
            interface: KernelInterface {
                ports,
                locks,
                streams,
                strobes: BTreeMap::new(),
                endless: kernel.endless.clone(),
                held,
                homes,
                lines,
                accesses,
                control,
                bundles: Vec::new(),
                clocks,
                reset: Some(reset),
                constants: Vec::new(),
                interrupt,
            },
        }
    }
}

/// Outputs whether a port has requested exclusive access. Call when the port itself is connected.
fn watch(module: &mut Module, lock: &Lock) -> Option<Lock> {
    let valid = &lock.valid.as_ref()?.name;
    let valid = module.net_at(valid)?;
    let asked = &lock.lock.name;
    let seen = port(&format!("watched_{asked}"), 1, Direction::Output);
    module.declare(&seen);
    module.connect(asked, &format!("lock_{asked}"));
    let (high, seen_name) = (lock.lock.width - 1, &seen.name);
    module.line(format!(
        "  logic [{high}:0] lock_{asked};\n  logic seen_{asked}_q = 1'b0;\n  assign {seen_name} = seen_{asked}_q;\n  \
         always_ff @(posedge {CLOCK}) if ({valid} && lock_{asked} != '0) seen_{asked}_q <= 1'b1;"
    ));
    Some(Lock {
        port: lock.port,
        valid: None,
        lock: seen,
    })
}
