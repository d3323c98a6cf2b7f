//! Stream ports: behind a `tmb_stream_width` or a `tmb_stream_gather`, and those that share a stream, behind a
//! `tmb_stream_combiner` or a `tmb_stream_divider`.

use super::module::{port, Module};
use super::DATA_WIDTH;
use crate::interface::{direction_at_kernel, stream_driven_by_kernel, Bound, KernelInterface};
use crate::signals::{Signal, AXI4_STREAM, STREAM_IDS};
use card::kernel::{Manifest, PacketOrder, StreamPort};
use card::stream::{StreamDirection, StreamId};
use std::collections::BTreeMap;
use verilated::{Direction, ModelPort};

/// Pause of a sender without TLAST, in cycles of the shell's clock, after which the bytes it has sent leave the slot.
const FLUSH_CYCLES: u32 = 16;

/// The slot's side of a kernel's stream ports.
#[derive(Default)]
pub(super) struct OutsideStreams {
    pub(super) streams: Vec<(StreamId, Vec<Bound>)>,
    /// Outputs with the number of bytes that a converter holds.
    pub(super) held: Vec<(StreamId, ModelPort)>,
}

/// Connects all stream ports.
pub(super) fn wrap(
    module: &mut Module,
    manifest: &Manifest,
    kernel: &KernelInterface,
) -> OutsideStreams {
    let mut outside = OutsideStreams::default();
    for (described, (stream, bound)) in manifest.streams.iter().zip(&kernel.streams) {
        let mut wrapped = WrappedStream {
            module: &mut *module,
            described,
            strobes: &kernel.strobes,
            endless: kernel.endless.contains(stream),
            gathers: KernelInterface::takes_full_rows(described, bound),
            held: None,
        };
        outside.streams.push((*stream, wrapped.wrap(bound)));
        outside
            .held
            .extend(wrapped.held.map(|held| (*stream, held)));
    }
    outside
}

/// A stream under construction.
struct WrappedStream<'a> {
    module: &'a mut Module,
    described: &'a StreamPort,
    /// TSTRB of the kernel's stream ports, by the port's name.
    strobes: &'a BTreeMap<String, ModelPort>,
    /// The kernel never ends a packet.
    endless: bool,
    /// Its rows must be full.
    gathers: bool,
    held: Option<ModelPort>,
}

impl WrappedStream<'_> {
    fn wrap(&mut self, bound: &[Bound]) -> Vec<Bound> {
        let described = self.described;
        let has_strobe = self.strobes.contains_key(&described.name);
        match (described.data_width, described.members.is_empty()) {
            (DATA_WIDTH, true) if described.through.is_some() => self.outside(&[]),
            (DATA_WIDTH, true) if !self.gathers && !has_strobe => bound
                .iter()
                .map(|bound| self.module.pass_bound(&described.name, bound))
                .collect(),
            (_, true) => self.convert(bound),
            _ => self.share(bound),
        }
    }

    /// TID and TDEST at a converter, side by side; declares the slot's ports. Returns them, the converter's connections,
    /// and the width.
    fn ids(&mut self, kernel: &[Bound]) -> (Vec<Bound>, Vec<String>, u32) {
        let name = &self.described.name;
        let ids = kernel
            .iter()
            .filter(|(signal, _)| STREAM_IDS.contains(signal));
        let ids: Vec<&Bound> = ids.collect();
        let outer: Vec<Bound> = ids
            .iter()
            .map(|bound| self.module.outer(name, bound))
            .collect();
        let names = |suffix: &dyn Fn(&Bound) -> String| -> String {
            ids.iter()
                .map(|bound| suffix(bound))
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (signal, inner) in ids.iter().copied() {
            let Some(inner) = inner else { continue };
            let net = format!("kernel_{name}_{}", signal.name);
            self.module
                .line(format!("  logic [{}:0] {net};", inner.width - 1));
            self.module.connect(&inner.name, &net);
        }
        let width = ids
            .iter()
            .filter_map(|(_, inner)| Some(inner.as_ref()?.width))
            .sum();
        let at_kernel = names(&|(signal, _)| format!("kernel_{name}_{}", signal.name));
        let at_slot = names(&|(signal, _)| format!("{name}_{}", signal.name));
        let (into, out) = match self.described.direction {
            StreamDirection::In => (at_slot, at_kernel),
            StreamDirection::Out => (at_kernel, at_slot),
        };
        let pins = match width {
            0 => vec![".in_id_i(1'b0)".to_owned(), ".out_id_o()".to_owned()],
            _ => vec![
                format!(".in_id_i({{{into}}})"),
                format!(".out_id_o({{{out}}})"),
            ],
        };
        (outer, pins, width)
    }

    /// Several stream ports that share one, behind a combiner or a divider, and a width converter if necessary.
    fn share(&mut self, members: &[Bound]) -> Vec<Bound> {
        let described = self.described;
        let (name, width) = (&described.name, described.data_width);
        let (block, near, far) = match described.direction {
            StreamDirection::In => ("divider", "out", "in"),
            StreamDirection::Out => ("combiner", "in", "out"),
        };
        let count = described.members.len();
        let mut pins = Vec::new();
        for signal in AXI4_STREAM {
            let driven = stream_driven_by_kernel(signal, described.direction);
            let (pin, net) = (&signal.name[1..], format!("shared_{name}_{}", signal.name));
            let (into, out) = if driven { ("i", "o") } else { ("o", "i") };
            let high = signal.width_at(width) - 1;
            let element = match high {
                0 => String::new(),
                _ => format!("[{high}:0]"),
            };
            self.module
                .line(format!("  logic [{}:0]{element} {net};", count - 1));
            self.module
                .line(format!("  logic [{high}:0] kernel_{name}_{};", signal.name));
            let each = members.iter().filter(|bound| bound.0.name == signal.name);
            for ((place, (_, inner)), member) in each.enumerate().zip(&described.members) {
                let near = (format!("{net}[{place}]"), high);
                self.near(member, (signal, inner.as_ref()), driven, near);
            }
            pins.push(format!(".{near}_{pin}_{into}({net})"));
            pins.push(format!(".{far}_{pin}_{out}(kernel_{name}_{})", signal.name));
        }
        let in_turn = u8::from(described.packets == PacketOrder::InTurn);
        self.module.instance(
            &format!("tmb_stream_{block}"),
            &[
                ("NumPorts", &count),
                ("Bytes", &(width / 8)),
                ("InTurn", &in_turn),
            ],
            &format!("u_{block}_{name}"),
            pins,
        );
        self.outside(&[])
    }

    /// A stream port behind a width converter.
    fn convert(&mut self, kernel: &[Bound]) -> Vec<Bound> {
        let described = self.described;
        let (name, width) = (&described.name, described.data_width);
        for (signal, inner) in kernel {
            if STREAM_IDS.contains(signal) {
                continue;
            }
            let driven = stream_driven_by_kernel(signal, described.direction);
            let net = format!("kernel_{name}_{}", signal.name);
            let high = signal.width_at(width) - 1;
            self.module.line(format!("  logic [{high}:0] {net};"));
            self.near(name, (signal, inner.as_ref()), driven, (net, high));
        }
        self.outside(kernel)
    }

    /// A signal of a kernel's stream port at its net, whose high bit is given. A byte is data if it is kept and
    /// strobed: a byte that the kernel keeps without a strobe is not kept behind the net; a byte sent to the kernel has
    /// both.
    fn near(
        &mut self,
        port: &str,
        (signal, inner): (&Signal, Option<&ModelPort>),
        driven: bool,
        (net, high): (String, u32),
    ) {
        let strobe = self.strobes.get(port).filter(|_| signal.name == "tkeep");
        let strobe = strobe.map(|strobe| strobe.name.clone());
        if let (Some(strobe), true) = (&strobe, driven) {
            let (kept, strobed) = (format!("kept_{port}"), format!("strobed_{port}"));
            self.module
                .line(format!("  logic [{high}:0] {kept}, {strobed};"));
            self.module
                .line(format!("  assign {net} = {kept} & {strobed};"));
            self.module.connect(strobe, &strobed);
            return self.end(inner, (signal, true), &kept);
        }
        if let Some(strobe) = strobe {
            self.module.connect(&strobe, &net);
        }
        self.end(inner, (signal, driven), &net);
    }

    /// The kernel's end of a net: its port, or a replacement for one that it lacks.
    fn end(&mut self, inner: Option<&ModelPort>, (signal, driven): (&Signal, bool), net: &str) {
        match inner {
            Some(inner) => self.module.connect(&inner.name, net),
            None if driven => {
                let value = if signal.absent == 0 { "'0" } else { "'1" };
                self.module.line(format!("  assign {net} = {value};"));
            }
            None => {}
        }
    }

    /// The slot's side of a stream with `kernel_…` nets towards the kernel: a converter, or wires. `kernel`: the port,
    /// for TID and TDEST.
    fn outside(&mut self, kernel: &[Bound]) -> Vec<Bound> {
        let described = self.described;
        let (name, width) = (&described.name, described.data_width);
        let (near, far) = match described.direction {
            StreamDirection::In => ("out", "in"),
            StreamDirection::Out => ("in", "out"),
        };
        let mut pins = Vec::new();
        let mut outside = Vec::with_capacity(AXI4_STREAM.len());
        for signal in AXI4_STREAM {
            let driven = stream_driven_by_kernel(signal, described.direction);
            let pin = &signal.name[1..];
            let (into, out) = if driven { ("i", "o") } else { ("o", "i") };
            let net = format!("kernel_{name}_{}", signal.name);
            let direction = direction_at_kernel(driven);
            let outer = port(&format!("{name}_{}", signal.name), signal.width, direction);
            self.module.declare(&outer);
            if width == DATA_WIDTH && !self.gathers {
                self.module.line(match driven {
                    true => format!("  assign {} = {net};", outer.name),
                    false => format!("  assign {net} = {};", outer.name),
                });
            }
            pins.push(format!(".{near}_{pin}_{into}({net})"));
            pins.push(format!(".{far}_{pin}_{out}({})", outer.name));
            outside.push((signal, Some(outer)));
        }
        if width == DATA_WIDTH && !self.gathers {
            let ids = kernel
                .iter()
                .filter(|(signal, _)| STREAM_IDS.contains(signal));
            outside.extend(ids.map(|bound| self.module.pass_bound(name, bound)));
            return outside;
        }
        let (ids, id_pins, id_width) = self.ids(kernel);
        outside.extend(ids);
        pins.extend(id_pins);
        if width == DATA_WIDTH {
            let instance = format!("u_gather_{name}");
            self.module.instance(
                "tmb_stream_gather",
                &[("IdWidth", &id_width)],
                &instance,
                pins,
            );
            return outside;
        }
        let bytes = width / 8;
        let (from, to) = match described.direction {
            StreamDirection::In => (DATA_WIDTH / 8, bytes),
            StreamDirection::Out => (bytes, DATA_WIDTH / 8),
        };
        let out = described.direction == StreamDirection::Out;
        if out {
            let bits = u32::BITS - (from + to).leading_zeros();
            let held = port(&format!("{name}_held"), bits, Direction::Output);
            self.module.declare(&held);
            self.held = Some(held);
        }
        let held = self.held.as_ref().map(|held| held.name.as_str());
        pins.push(format!(".held_o({})", held.unwrap_or_default()));
        let endless = out && self.endless;
        let flush = if endless { FLUSH_CYCLES } else { 0 };
        let configuration = format!(
            "'{{InBytes: {from}, OutBytes: {to}, FlushCycles: {flush}, IdWidth: {id_width}}}"
        );
        self.module.instance(
            "tmb_stream_width",
            &[("Cfg", &configuration)],
            &format!("u_width_{name}"),
            pins,
        );
        outside
    }
}
