//! A kernel in a slot: its model, and its connections to the shell.

use super::clocked::Clocked;
use super::interface::{stream_driven_by_kernel, stream_group, Bound, KernelInterface, Lock};
use super::model::{Instance, ModelFailure, NumberPin, Pin, Row};
use super::signals::{Signal, ACCESS, AXI4, AXI4_STREAM, CONTROL, HOME, LINE, STREAM_IDS};
use super::wires::{Connection, Wires};
use card::kernel::Ratio;
use card::stream::{StreamDirection, StreamId};
use units::Picoseconds;
use verilated::BuildError;

/// A port element, by name.
struct PortElement<'a> {
    instance: &'a Instance,
    name: String,
    element: u32,
}

impl PortElement<'_> {
    fn missing(&self) -> BuildError {
        BuildError::Mismatch {
            kernel: self.instance.info().name.clone(),
            rule: format!(
                "the model has no port `{}` of the expected width",
                self.name
            ),
        }
    }

    fn width(&self) -> Result<u32, BuildError> {
        let port = self.instance.port(&self.name);
        port.map(|port| port.width).ok_or_else(|| self.missing())
    }

    fn pin<T: super::model::PinValue>(&self) -> Option<Pin<T>> {
        self.instance.pin(&self.name, self.element)
    }

    /// Connects this output to an input of the other model.
    fn join(&self, to: &PortElement<'_>, wires: &mut Wires) -> Result<(), BuildError> {
        // Equal widths have equal storage; only IDs and control addresses may differ. A number that the other side's
        // width cannot hold is cut: the owner connects no such streams.
        let same = self.width()? == to.width()?;
        let joint = if let (true, Some(from), Some(to)) = (same, self.pin(), to.pin()) {
            Connection::Byte(from, to)
        } else if let (true, Some(from), Some(to)) = (same, self.pin(), to.pin()) {
            Connection::Word(from, to)
        } else if let (true, Some(from), Some(to)) = (same, self.pin(), to.pin()) {
            Connection::Row(from, to)
        } else {
            Connection::Number(self.number()?, to.number()?)
        };
        wires.add(self.instance, joint);
        Ok(())
    }

    fn number(&self) -> Result<NumberPin, BuildError> {
        self.instance
            .number_pin(&self.name, self.element)
            .ok_or_else(|| self.missing())
    }
}

/// Position of a slot at the shell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotPlace {
    pub(crate) slot: u32,
    pub(crate) ports_per_slot: u32,
    pub(crate) pairs_per_slot: u32,
    /// Number of slices of the directory; 0 without one.
    pub(crate) slices: u32,
    /// Number of slices of the cache of the CPU's lines; 0 without one.
    pub(crate) caches: u32,
}

/// Sets the shell's inputs of an empty slot: no requests, and every response is accepted.
pub(crate) fn quieten(shell: &Instance, place: SlotPlace) -> Result<(), BuildError> {
    for port in 0..place.ports_per_slot {
        let element = place.slot * place.ports_per_slot + port;
        for signal in AXI4.iter().filter(|signal| signal.manager) {
            set_constant(shell, "port", signal, element, signal.absent)?;
        }
    }
    for pair in 0..place.pairs_per_slot {
        let element = place.slot * place.pairs_per_slot + pair;
        for direction in [StreamDirection::In, StreamDirection::Out] {
            let driven = |signal: &&Signal| stream_driven_by_kernel(signal, direction);
            for signal in AXI4_STREAM.iter().filter(driven) {
                let group = stream_group(direction);
                set_constant(shell, group, signal, element, signal.absent)?;
            }
        }
        // The shell has pins for those that it carries.
        let group = stream_group(StreamDirection::Out);
        for signal in STREAM_IDS {
            if shell.port(&format!("{group}_{}_i", signal.name)).is_some() {
                set_constant(shell, group, signal, element, signal.absent)?;
            }
        }
    }
    for slice in 0..place.slices {
        let element = place.slot * place.slices + slice;
        for signal in HOME.iter().filter(|signal| !signal.manager) {
            set_constant(shell, "home", signal, element, signal.absent)?;
        }
        for signal in LINE.iter().filter(|signal| signal.manager) {
            set_constant(shell, "line", signal, element, signal.absent)?;
        }
    }
    for slice in 0..place.caches {
        let element = place.slot * place.caches + slice;
        for signal in ACCESS.iter().filter(|signal| signal.manager) {
            set_constant(shell, "access", signal, element, signal.absent)?;
        }
    }
    for signal in CONTROL.iter().filter(|signal| !signal.manager) {
        set_constant(shell, "ctl", signal, place.slot, 0)?;
    }
    let interrupt = PortElement {
        instance: shell,
        name: "slot_interrupt_i".to_owned(),
        element: place.slot,
    };
    interrupt.number()?.set(0);
    Ok(())
}

fn set_constant(
    shell: &Instance,
    prefix: &str,
    signal: &Signal,
    element: u32,
    value: u64,
) -> Result<(), BuildError> {
    let place = PortElement {
        instance: shell,
        name: format!("{prefix}_{}_i", signal.name),
        element,
    };
    if let Some(row) = place.pin::<Row>() {
        row.set([value as u8; 64]);
    } else {
        place.number()?.set(value);
    }
    Ok(())
}

/// A kernel's model, connected to a slot.
pub(crate) struct KernelSlot {
    kernel: Clocked,
    to_kernel: Wires,
    to_shell: Wires,
    /// Number of bytes that wait in the slot's width converters, by stream.
    held: Vec<(StreamId, NumberPin)>,
    /// The ports out of the kernel that have no TLAST.
    endless: Vec<StreamId>,
    /// AxLOCK pins of the memory ports.
    locks: Vec<LockPins>,
    /// Additional clocks, at other frequencies.
    clocks: Vec<ExtraClockPin>,
    /// Edges of the main clock so far.
    edges: u64,
    /// Edges of other clocks after the last edge of the main clock are still to come.
    ticks: bool,
}

/// AxLOCK of a memory port.
struct LockPins {
    port: usize,
    /// As in [`Lock`].
    valid: Option<NumberPin>,
    lock: NumberPin,
    seen: bool,
}

/// A clock other than the main clock.
struct ExtraClockPin {
    pin: NumberPin,
    ratio: Ratio,
}

impl KernelSlot {
    /// Connects a new instance to a slot whose inputs at the shell are idle.
    pub(crate) fn new(
        shell: &Instance,
        place: SlotPlace,
        instance: Instance,
        interface: &KernelInterface,
    ) -> Result<Self, BuildError> {
        let mut to_kernel = Wires::default();
        let mut to_shell = Wires::default();
        let mut join = |prefix: &str, element: u32, bound: &Bound, driven: bool| {
            let (signal, Some(port)) = bound else {
                return Ok(());
            };
            let kernel = PortElement {
                instance: &instance,
                name: port.name.clone(),
                element: 0,
            };
            let direction = if driven { "i" } else { "o" };
            let shell = PortElement {
                instance: shell,
                name: format!("{prefix}_{}_{direction}", signal.name),
                element,
            };
            match driven {
                true => kernel.join(&shell, &mut to_shell),
                false => shell.join(&kernel, &mut to_kernel),
            }
        };
        for (index, bus) in interface.ports.iter().enumerate() {
            let element = place.slot * place.ports_per_slot + index as u32;
            for bound in bus {
                join("port", element, bound, bound.0.manager)?;
            }
        }
        for (stream, bus) in &interface.streams {
            let element = place.slot * place.pairs_per_slot + u32::from(stream.pair);
            let group = stream_group(stream.direction);
            for bound in bus {
                let driven = stream_driven_by_kernel(bound.0, stream.direction);
                let way = if driven { "i" } else { "o" };
                let pin = format!("{group}_{}_{way}", bound.0.name);
                // A shell that carries no ID has no pin; the kernel's input stays 0.
                if STREAM_IDS.contains(bound.0) && shell.port(&pin).is_none() {
                    continue;
                }
                join(group, element, bound, driven)?;
            }
        }
        for (index, bus) in interface.homes.iter().enumerate() {
            let element = place.slot * place.slices + index as u32;
            for bound in bus {
                join("home", element, bound, !bound.0.manager)?;
            }
        }
        for (index, bus) in interface.lines.iter().enumerate() {
            let element = place.slot * place.slices + index as u32;
            for bound in bus {
                join("line", element, bound, bound.0.manager)?;
            }
        }
        for (index, bus) in interface.accesses.iter().enumerate() {
            let element = place.slot * place.caches + index as u32;
            for bound in bus {
                join("access", element, bound, bound.0.manager)?;
            }
        }
        for bound in interface.control.iter().flatten() {
            join("ctl", place.slot, bound, !bound.0.manager)?;
        }
        let single = |name: &str, shell_side: bool| PortElement {
            instance: if shell_side { shell } else { &instance },
            name: name.to_owned(),
            element: if shell_side { place.slot } else { 0 },
        };
        if let Some(reset) = &interface.reset {
            single("slot_rst_no", true).join(&single(&reset.name, false), &mut to_kernel)?;
        }
        if let Some(interrupt) = &interface.interrupt {
            single(&interrupt.name, false)
                .join(&single("slot_interrupt_i", true), &mut to_shell)?;
        }
        let held = interface.held.iter().map(|(stream, port)| {
            let place = single(&port.name, false);
            Ok((*stream, place.number()?))
        });
        let held = held.collect::<Result<_, BuildError>>()?;
        let locks = interface.locks.iter().map(|Lock { port, valid, lock }| {
            let valid = valid.as_ref().map(|pin| single(&pin.name, false).number());
            Ok(LockPins {
                port: *port,
                valid: valid.transpose()?,
                lock: single(&lock.name, false).number()?,
                seen: false,
            })
        });
        let locks = locks.collect::<Result<_, BuildError>>()?;
        let clocks = interface.clocks.iter().map(|other| {
            Ok(ExtraClockPin {
                pin: single(&other.clock.name, false).number()?,
                ratio: other.ratio,
            })
        });
        let clocks = clocks.collect::<Result<Vec<_>, BuildError>>()?;
        let kernel = match clocks.is_empty() {
            true => Clocked::new(instance),
            // Between two edges of a slow clock the state is constant without being at a fixed point.
            false => Clocked::restless(instance),
        };
        Ok(Self {
            held,
            endless: interface.endless.clone(),
            locks,
            clocks,
            edges: 0,
            ticks: false,
            kernel,
            to_kernel,
            to_shell,
        })
    }

    /// Evaluates for the first time: initial values, and outputs that depend on the shell's. Returns whether an
    /// input of the shell changed.
    pub(crate) fn start(&mut self) -> Result<bool, ModelFailure> {
        self.to_kernel.copy();
        self.kernel.start()?;
        Ok(self.to_shell.copy())
    }

    /// Evaluates the rising edge.
    #[inline]
    pub(crate) fn edge(&mut self, now: Picoseconds, skip: bool) -> Result<(), ModelFailure> {
        if self.clocks.is_empty() {
            return self.kernel.edge(now, skip);
        }
        self.kernel.settle(now)?;
        let edges = self.edges;
        let with = |clock: &&ExtraClockPin| clock.ratio.coincides(edges);
        for clock in self.clocks.iter().filter(with) {
            clock.pin.set(1);
        }
        self.kernel.edge(now, false)?;
        for clock in &self.clocks {
            clock.pin.set(0);
        }
        self.kernel.touch();
        self.ticks = true;
        Ok(())
    }

    /// Evaluates the edges of other clocks between this edge of the main clock and the next. The shell sees their
    /// results at the next edge.
    fn tick(&mut self, now: Picoseconds) -> Result<(), ModelFailure> {
        for clock in &self.clocks {
            for _ in 0..clock.ratio.edges_after(self.edges) {
                for level in [1, 0] {
                    clock.pin.set(level);
                    self.kernel.touch();
                    self.kernel.settle(now)?;
                }
            }
        }
        self.edges += 1;
        self.ticks = false;
        Ok(())
    }

    /// After the edge: copies outputs of the shell, settles the kernel, and copies its outputs back. Returns
    /// whether an input of the kernel, and whether an input of the shell, changed.
    #[inline]
    pub(crate) fn exchange(
        &mut self,
        now: Picoseconds,
        shell_moved: bool,
    ) -> Result<(bool, bool), ModelFailure> {
        let into = shell_moved && self.to_kernel.copy();
        if into || self.ticks {
            self.kernel.touch();
            self.kernel.settle(now)?;
            if self.ticks {
                self.tick(now)?;
            }
        } else if self.kernel.is_fixed() {
            return Ok((false, false));
        } else {
            self.kernel.complete()?;
        }
        let out = self.to_shell.copy();
        if out {
            self.kernel.moved();
            for pins in &mut self.locks {
                if let Some(valid) = &pins.valid {
                    pins.seen = pins.seen || (valid.get() != 0 && pins.lock.get() != 0);
                }
            }
        }
        Ok((into, out))
    }

    /// See [`Instance::begin_waves`].
    pub(crate) fn begin_waves(&mut self, activity: Picoseconds, period: Picoseconds) {
        self.kernel.begin_waves(activity, period);
    }

    pub(crate) fn is_fixed(&self) -> bool {
        self.kernel.is_fixed()
    }

    /// Whether a memory port has asked for exclusive access.
    pub(crate) fn asked_exclusive(&self, port: usize) -> bool {
        let mut locks = self.locks.iter().filter(|lock| lock.port == port);
        locks.any(|pins| match pins.valid {
            Some(_) => pins.seen,
            None => pins.lock.get() != 0,
        })
    }

    /// Number of bytes of a stream that wait for a full row, and whether its port lacks TLAST.
    pub(crate) fn unsent(&self, stream: StreamId) -> (u64, bool) {
        let pin = self.held.iter().find(|(of, _)| *of == stream);
        let held = pin.map_or(0, |(_, pin)| pin.get());
        (held, self.endless.contains(&stream))
    }
}
