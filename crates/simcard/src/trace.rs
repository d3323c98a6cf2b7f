//! The timeline of a simulated card: every burst at its buses, every command, every fault, host work
//! and interrupts. Without a timeline none of this exists.

use super::bus::Finder;
use super::config::ShellConfig;
use super::model::{Instance, Pin};
use card::command::Command;
use card::event::Event;
use card::kernel::Manifest;
use card::{HostWork, SlotId};
use std::collections::{BTreeMap, VecDeque};
use timeline::{Timeline, Track, Value};
use units::{CommandId, CommandStatus, Fault, FaultToken, Operation, Picoseconds};
use verilated::BuildError;

/// A burst between its address and its last beat or response.
struct TracedBurst {
    since: Picoseconds,
    address: u64,
    bytes: u64,
    response: u8,
}

/// One direction of a bus.
struct Direction {
    name: &'static str,
    track: Track,
    address: Pin<u64>,
    len: Pin<u8>,
    /// Absent if every beat is a row.
    size: Option<Pin<u8>>,
    offered: (Pin<u8>, Pin<u8>),
    answered: (Pin<u8>, Pin<u8>),
    /// Absent if every answer is the last.
    last: Option<Pin<u8>>,
    response: Pin<u8>,
    open: VecDeque<TracedBurst>,
}

impl Direction {
    #[inline]
    fn sample(&mut self, now: Picoseconds, timeline: &Timeline) {
        if self.answered.0.high() && self.answered.1.high() {
            let code = self.response.get();
            if let Some(burst) = self.open.front_mut() {
                burst.response = burst.response.max(code);
            }
            if self.last.as_ref().is_none_or(Pin::high) {
                if let Some(burst) = self.open.pop_front() {
                    let mut values = vec![
                        ("address", Value::Address(burst.address)),
                        ("bytes", burst.bytes.into()),
                    ];
                    if burst.response != 0 {
                        values.push(("response", u64::from(burst.response).into()));
                    }
                    timeline.slice(self.track, self.name, burst.since, now, &values);
                }
            }
        }
        if self.offered.0.high() && self.offered.1.high() {
            let size = self.size.as_ref().map_or(6, Pin::get);
            self.open.push_back(TracedBurst {
                since: now,
                address: self.address.get(),
                bytes: (u64::from(self.len.get()) + 1) << size,
                response: 0,
            });
        }
    }
}

/// Observes one bus of the shell. All buses answer the bursts of a direction in order.
pub(crate) struct Probe {
    timeline: Timeline,
    reads: Direction,
    writes: Direction,
    /// Slot and port number, for a slot's port.
    port: Option<SlotPort>,
}

/// A port of a slot.
#[derive(Clone, Copy)]
struct SlotPort {
    slot: SlotId,
    number: u32,
}

impl SlotPort {
    /// The track of a direction; `name` is the kernel's name for the port.
    fn track(self, timeline: &Timeline, write: bool, name: Option<&str>) -> Track {
        let direction = if write { "writes" } else { "reads" };
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        let track = format!("port {} {direction}{name}", self.number);
        timeline.lanes(&track, Some(slot_group(timeline, self.slot)))
    }
}

/// A bus and its name.
struct TracedBus<'a> {
    find: Finder<'a>,
    /// The shell is the manager.
    shell_drives: bool,
    /// Tracks of reads and of writes.
    tracks: (Track, Track),
    port: Option<SlotPort>,
}

impl Probe {
    fn new(timeline: &Timeline, place: &TracedBus<'_>) -> Result<Self, BuildError> {
        let (manager, subordinate) = match place.shell_drives {
            true => ("o", "i"),
            false => ("i", "o"),
        };
        let driven = |name: &str| place.find.pin(&format!("{name}_{manager}"));
        let answer = |name: &str| place.find.pin(&format!("{name}_{subordinate}"));
        let size = |name: &str| match place.shell_drives {
            true => Ok(None),
            false => driven(name).map(Some),
        };
        let address = |name: &str| place.find.pin(&format!("{name}_{manager}"));
        Ok(Self {
            reads: Direction {
                name: "read",
                track: place.tracks.0,
                address: address("araddr")?,
                len: driven("arlen")?,
                size: size("arsize")?,
                offered: (driven("arvalid")?, answer("arready")?),
                answered: (answer("rvalid")?, driven("rready")?),
                last: Some(answer("rlast")?),
                response: answer("rresp")?,
                open: VecDeque::new(),
            },
            writes: Direction {
                name: "write",
                track: place.tracks.1,
                address: address("awaddr")?,
                len: driven("awlen")?,
                size: size("awsize")?,
                offered: (driven("awvalid")?, answer("awready")?),
                answered: (answer("bvalid")?, driven("bready")?),
                last: None,
                response: answer("bresp")?,
                open: VecDeque::new(),
            },
            timeline: timeline.clone(),
            port: place.port,
        })
    }

    /// Probes for every port, every channel and the link.
    pub(crate) fn all(
        timeline: &Timeline,
        shell: &Instance,
        config: &ShellConfig,
    ) -> Result<Vec<Self>, BuildError> {
        let mut probes = Vec::new();
        let find = |prefix, element| Finder {
            shell,
            prefix,
            element,
        };
        let tracks = |group: &str, what: &str| {
            let group = Some(timeline.group(group, None));
            let track = |direction| timeline.lanes(&format!("{what} {direction}"), group);
            (track("reads"), track("writes"))
        };
        for port in 0..config.ports() {
            let ports = u32::from(config.ports_per_slot);
            let place = SlotPort {
                slot: SlotId((port / ports) as u8),
                number: port % ports,
            };
            let track = |write| place.track(timeline, write, None);
            probes.push(Self::new(
                timeline,
                &TracedBus {
                    find: find("port", port),
                    shell_drives: false,
                    tracks: (track(false), track(true)),
                    port: Some(place),
                },
            )?);
        }
        for channel in 0..u32::from(config.channels) {
            probes.push(Self::new(
                timeline,
                &TracedBus {
                    find: find("mem", channel),
                    shell_drives: true,
                    tracks: tracks("card memory", &format!("channel {channel}")),
                    port: None,
                },
            )?);
        }
        probes.push(Self::new(
            timeline,
            &TracedBus {
                find: find("host", 0),
                shell_drives: true,
                tracks: tracks("PCIe", "host memory"),
                port: None,
            },
        )?);
        Ok(probes)
    }

    /// Samples the pins before an edge.
    #[inline]
    pub(crate) fn sample(&mut self, now: Picoseconds) {
        self.reads.sample(now, &self.timeline);
        self.writes.sample(now, &self.timeline);
    }

    /// Labels the tracks of a slot's ports with the names of a newly loaded kernel.
    pub(crate) fn name(&mut self, slot: SlotId, manifest: &Manifest, memory_ports: usize) {
        let Some(port) = self.port.filter(|port| port.slot == slot) else {
            return;
        };
        let track = |write| {
            let name = manifest.port_name(memory_ports, port.number as usize, write);
            let name = name.map(|name| format!("{}.{name}", manifest.name));
            port.track(&self.timeline, write, name.as_deref())
        };
        (self.reads.track, self.writes.track) = (track(false), track(true));
    }

    /// Drops the open bursts of a slot that was reset.
    pub(crate) fn forget(&mut self, slot: SlotId) {
        if self.port.is_some_and(|port| port.slot == slot) {
            self.reads.open.clear();
            self.writes.open.clear();
        }
    }
}

/// The track that holds everything of a slot.
fn slot_group(timeline: &Timeline, slot: SlotId) -> Track {
    timeline.group(&format!("slot {}", slot.0), None)
}

/// Values of an event.
type Values = Vec<(&'static str, Value)>;

/// Tracks of the host's side of a card.
pub(crate) struct HostTrace {
    timeline: Timeline,
    commands: Track,
    host: Track,
    interrupts: Track,
    open: BTreeMap<CommandId, (Picoseconds, &'static str, &'static str, Values)>,
    faults: BTreeMap<FaultToken, (Picoseconds, Fault)>,
    ports_per_slot: u32,
}

impl HostTrace {
    pub(crate) fn new(timeline: Timeline, ports_per_slot: u32) -> Self {
        let host = timeline.group("host", None);
        Self {
            commands: timeline.group("commands", None),
            interrupts: timeline.group("interrupts", Some(host)),
            host,
            timeline,
            open: BTreeMap::new(),
            faults: BTreeMap::new(),
            ports_per_slot,
        }
    }

    /// Records a command that is submitted to the shell.
    pub(crate) fn submitted(&mut self, now: Picoseconds, command: &Command) {
        if let Operation::FaultReply { token, entry } = command.operation {
            self.answered(now, token, entry.is_some());
        }
        let (track, name, values) = describe(&command.operation);
        if command.notify {
            self.open.insert(command.id, (now, track, name, values));
        } else {
            let track = self.timeline.lanes(track, Some(self.commands));
            self.timeline.instant(track, name, now, &values);
        }
    }

    fn answered(&mut self, now: Picoseconds, token: FaultToken, granted: bool) {
        let Some((since, fault)) = self.faults.remove(&token) else {
            return;
        };
        let space = format!("space {}", fault.asid.get());
        let group = self.timeline.group(&space, None);
        let track = self.timeline.lanes("faults", Some(group));
        let name = match (fault.write, fault.ahead) {
            (false, false) => "read fault",
            (true, false) => "write fault",
            (false, true) => "read fault, ahead",
            (true, true) => "write fault, ahead",
        };
        // A port has two requesters: its reads and its writes.
        let port = u32::from(token.requester / 2);
        let (slot, port) = (port / self.ports_per_slot, port % self.ports_per_slot);
        let mut values = vec![
            ("address", Value::Address(fault.address.get())),
            ("slot", u64::from(slot).into()),
            ("port", u64::from(port).into()),
            ("cause", format!("{:?}", fault.cause).as_str().into()),
        ];
        if !granted {
            values.push(("answer", "failed".into()));
        }
        self.timeline.slice(track, name, since, now, &values);
    }

    /// Records an event that the host has read from the event ring.
    pub(crate) fn event(&mut self, now: Picoseconds, event: &Event) {
        match event {
            Event::Completed { id, status, .. } => {
                if let Some((since, track, name, mut values)) = self.open.remove(id) {
                    if *status != CommandStatus::Ok {
                        values.push(("status", format!("{status:?}").as_str().into()));
                    }
                    let track = self.timeline.lanes(track, Some(self.commands));
                    self.timeline.slice(track, name, since, now, &values);
                }
            }
            Event::Fault(fault) => {
                self.faults.insert(fault.token, (now, *fault));
            }
            Event::Interrupt(slot) => {
                let group = slot_group(&self.timeline, *slot);
                self.timeline.instant(group, "interrupt", now, &[]);
            }
            Event::KernelFailed { slot, reason } => {
                let group = slot_group(&self.timeline, *slot);
                let values = [("reason", reason.as_str().into())];
                self.timeline.instant(group, "kernel failed", now, &values);
            }
            Event::SlotClosed(slot) => {
                let group = slot_group(&self.timeline, *slot);
                self.timeline.instant(group, "closed", now, &[]);
            }
            Event::DirectoryTrouble => {
                self.timeline
                    .instant(self.interrupts, "directory trouble", now, &[]);
            }
            Event::HostWorkDone(_) | Event::TransferDone { .. } | Event::AccessDone { .. } => {}
        }
    }

    /// Records the arrival of the card's interrupt at the host.
    pub(crate) fn interrupt(&mut self, at: Picoseconds) {
        self.timeline.instant(self.interrupts, "interrupt", at, &[]);
    }

    /// Records host work, from its request to its end.
    pub(crate) fn host_work(&mut self, now: Picoseconds, ends: Picoseconds, work: HostWork) {
        let (track, name, key, count) = match work {
            HostWork::ServeEvents(events) => ("fault service", "serve", "events", events.into()),
            HostWork::ServeEventsOf { events, .. } => {
                ("fault service", "serve", "events", events.into())
            }
            HostWork::Serve(span) => ("fault service", "protect", "ps", span.get()),
            HostWork::PageCacheCopy { bytes } => ("page-cache copies", "copy", "bytes", bytes),
            HostWork::StorageRead { bytes } => ("storage", "read", "bytes", bytes),
            HostWork::StorageWrite { bytes } => ("storage", "write", "bytes", bytes),
            HostWork::Reconfigure => ("slots", "reconfigure", "slots", 1),
        };
        let track = self.timeline.lanes(track, Some(self.host));
        self.timeline
            .slice(track, name, now, ends, &[(key, count.into())]);
    }
}

/// Track, name and values of a command.
fn describe(operation: &Operation) -> (&'static str, &'static str, Values) {
    let table = |name, asid: units::Asid, address: units::VirtAddr| {
        let values = vec![
            ("address", Value::Address(address.get())),
            ("space", u64::from(asid.get()).into()),
        ];
        ("page table", name, values)
    };
    let copy = |track, name, card: units::CardAddr, bytes: u64| {
        let values = vec![
            ("card", Value::Address(card.get())),
            ("bytes", bytes.into()),
        ];
        (track, name, values)
    };
    match *operation {
        Operation::Nop => ("other", "nop", Vec::new()),
        Operation::CopyIn { to, bytes, .. } => copy("DMA to the card", "copy in", to, bytes),
        Operation::CopyOut { from, bytes, .. } => copy("DMA to the host", "copy out", from, bytes),
        Operation::Zero { to, bytes, .. } => copy("zeroes", "zero", to, bytes),
        Operation::Install { asid, address, .. } => table("install", asid, address),
        Operation::Invalidate { asid, address, .. } => table("invalidate", asid, address),
        Operation::Protect { asid, address, .. } => table("protect", asid, address),
        Operation::ReadClear { asid, address, .. } => table("read and clear", asid, address),
        Operation::Grow { asid, .. } => (
            "page table",
            "grow",
            vec![("space", u64::from(asid.get()).into())],
        ),
        Operation::FaultReply { token, .. } => {
            let values = vec![("requester", u64::from(token.requester).into())];
            ("fault replies", "reply", values)
        }
    }
}
