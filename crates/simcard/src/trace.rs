//! The timeline of a simulated card: every burst at its buses, every command, every fault, host work
//! and interrupts, and counters of bandwidth, faults under way and resident pages. A flow leads from a fault over the
//! reads of its page from a file and the transfers into its frame to the reply. Without a timeline none of this exists.

use super::bus::Finder;
use super::config::ShellConfig;
use super::model::{Instance, Pin};
use card::command::Command;
use card::event::Event;
use card::kernel::Manifest;
use card::{HostWork, SlotId};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use timeline::{Flow, Timeline, Track, Value};
use units::{
    Asid, CommandId, CommandStatus, Fault, FaultToken, Operation, PageEntry, Picoseconds, Target,
    VirtAddr,
};
use verilated::BuildError;

/// A burst between its address and its last beat or response.
struct TracedBurst {
    since: Picoseconds,
    address: u64,
    bytes: u64,
    response: u8,
}

/// Bytes over time: a counter of MB/s, over windows of a microsecond.
struct Rate {
    track: Track,
    /// Begin of the window.
    since: Picoseconds,
    bytes: u64,
    /// The value that was written last.
    last: u64,
}

/// A window of a [`Rate`]: a byte in it is 1 MB/s.
const WINDOW: Picoseconds = Picoseconds::from_micros(1);

impl Rate {
    fn new(timeline: &Timeline, name: &str, group: Option<Track>) -> Self {
        Self {
            track: timeline.counter(&format!("bandwidth of {name} (MB/s)"), group),
            since: Picoseconds::ZERO,
            bytes: 0,
            last: 0,
        }
    }

    #[inline]
    fn add(&mut self, now: Picoseconds, bytes: u64, timeline: &Timeline) {
        if now >= self.since + WINDOW {
            self.write(now, timeline);
        }
        self.bytes += bytes;
    }

    /// Writes the window that is over, and zero if another one without bytes followed; begins the window of `now`.
    fn write(&mut self, now: Picoseconds, timeline: &Timeline) {
        let windows = (now - self.since).get() / WINDOW.get();
        let mut set = |at, value: u64| {
            if value != self.last {
                timeline.count(self.track, at, value as i64);
                self.last = value;
            }
        };
        set(self.since, self.bytes);
        if windows > 1 {
            set(self.since + WINDOW, 0);
        }
        self.since += WINDOW * windows;
        self.bytes = 0;
    }
}

/// One direction of a bus.
struct Direction {
    name: &'static str,
    track: Track,
    rate: Rate,
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
                    self.rate.add(now, burst.bytes, timeline);
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
    /// Name of the bus in its group of tracks.
    name: String,
    group: Track,
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
        let rate = |direction: &str| {
            let name = format!("{} {direction}", place.name);
            Rate::new(timeline, &name, Some(place.group))
        };
        Ok(Self {
            reads: Direction {
                name: "read",
                track: place.tracks.0,
                rate: rate("reads"),
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
                rate: rate("writes"),
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
        let tracks = |group: Track, what: &str| {
            let track = |direction| timeline.lanes(&format!("{what} {direction}"), Some(group));
            (track("reads"), track("writes"))
        };
        let memory = timeline.group("card memory", None);
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
                    name: format!("port {}", place.number),
                    group: slot_group(timeline, place.slot),
                    tracks: (track(false), track(true)),
                    port: Some(place),
                },
            )?);
        }
        for channel in 0..u32::from(config.channels) {
            let name = format!("channel {channel}");
            probes.push(Self::new(
                timeline,
                &TracedBus {
                    find: find("mem", channel),
                    shell_drives: true,
                    tracks: tracks(memory, &name),
                    name,
                    group: memory,
                    port: None,
                },
            )?);
        }
        let pcie = timeline.group("PCIe", None);
        probes.push(Self::new(
            timeline,
            &TracedBus {
                find: find("host", 0),
                shell_drives: true,
                name: "host memory".to_owned(),
                group: pcie,
                tracks: tracks(pcie, "host memory"),
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

/// Maximum number of flows of an event.
const FLOWS: usize = 8;

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
    spaces: BTreeMap<Asid, SpaceTrace>,
    /// The last transfer to each address of the card at which one began.
    arrivals: BTreeMap<u64, Arrival>,
    /// Flows of reads into DMA buffers that no transfer has taken from there, by address.
    read: BTreeMap<u64, Flow>,
    ports_per_slot: u32,
}

/// A transfer to the card.
struct Arrival {
    at: Picoseconds,
    flow: Flow,
}

/// Tracks of an address space, and the values of its counters.
struct SpaceTrace {
    faults: Track,
    /// Counter of faults without a reply.
    under_way: Track,
    waiting: i64,
    /// Counter of bytes of pages in the page table.
    resident: Track,
    /// Sizes of these pages, and the times of their entries, by address.
    pages: BTreeMap<VirtAddr, (u64, Picoseconds)>,
    bytes: u64,
}

impl SpaceTrace {
    fn new(timeline: &Timeline, asid: Asid) -> Self {
        let group = Some(timeline.group(&format!("space {}", asid.get()), None));
        Self {
            faults: timeline.lanes("faults", group),
            under_way: timeline.counter("faults under way", group),
            waiting: 0,
            resident: timeline.counter("resident (KiB)", group),
            pages: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// The time of the last entry of a page in the page table.
    fn installed(&self, address: VirtAddr) -> Option<Picoseconds> {
        self.pages.get(&address).map(|(_, at)| *at)
    }

    /// Sets the size of a page: 0 for none.
    fn set_page(&mut self, timeline: &Timeline, now: Picoseconds, address: VirtAddr, bytes: u64) {
        let before = match bytes {
            0 => self.pages.remove(&address),
            _ => self.pages.insert(address, (bytes, now)),
        };
        let before = before.map_or(0, |(bytes, _)| bytes);
        self.bytes = self.bytes + bytes - before;
        if before != bytes {
            timeline.count(self.resident, now, (self.bytes >> 10) as i64);
        }
    }

    fn count_faults(&mut self, timeline: &Timeline, now: Picoseconds, change: i64) {
        self.waiting += change;
        timeline.count(self.under_way, now, self.waiting);
    }
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
            spaces: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            read: BTreeMap::new(),
            ports_per_slot,
        }
    }

    /// Records a command that is submitted to the shell.
    pub(crate) fn submitted(&mut self, now: Picoseconds, command: &Command) {
        let (track, name, mut values) = describe(&command.operation);
        match command.operation {
            Operation::FaultReply { token, entry } => {
                // A transfer before the fault was not for it.
                let since = self.faults.get(&token).map(|(since, _)| *since);
                let is_later = |arrival: &Arrival| since.is_some_and(|since| arrival.at >= since);
                let flows = entry.map_or_else(Vec::new, |entry| self.arrived_in(&entry, is_later));
                values.extend(flows.iter().map(|flow| ("", Value::Flow(*flow))));
                self.answered(now, token, entry.is_some(), &flows);
            }
            Operation::CopyIn {
                from, to, bytes, ..
            } => {
                let flows = self.taken_from(from.get()..from.get() + bytes);
                let flow = flows[0];
                self.arrivals.insert(to.get(), Arrival { at: now, flow });
                values.extend(flows.into_iter().map(|flow| ("", flow.into())));
            }
            Operation::Install {
                asid,
                address,
                entry,
            } => {
                let installed = self
                    .spaces
                    .get(&asid)
                    .and_then(|space| space.installed(address));
                let is_new = |arrival: &Arrival| installed.is_none_or(|last| arrival.at > last);
                let flows = self.arrived_in(&entry, is_new);
                values.extend(flows.into_iter().map(|flow| ("", Value::Flow(flow))));
                let timeline = self.timeline.clone();
                let space = self.space(asid);
                space.set_page(&timeline, now, address, entry.size.bytes());
            }
            Operation::Invalidate { asid, address, .. } => {
                let timeline = self.timeline.clone();
                self.space(asid).set_page(&timeline, now, address, 0);
            }
            _ => {}
        }
        if command.notify {
            self.open.insert(command.id, (now, track, name, values));
        } else {
            let track = self.timeline.lanes(track, Some(self.commands));
            self.timeline.instant(track, name, now, &values);
        }
    }

    fn space(&mut self, asid: Asid) -> &mut SpaceTrace {
        let timeline = &self.timeline;
        let space = self.spaces.entry(asid);
        space.or_insert_with(|| SpaceTrace::new(timeline, asid))
    }

    /// Flows of a transfer from a part of a DMA buffer: those of the reads into it, or a new one.
    fn taken_from(&mut self, part: Range<u64>) -> Vec<Flow> {
        let mut taken = self.read.split_off(&part.start);
        self.read.append(&mut taken.split_off(&part.end));
        match taken.is_empty() {
            true => vec![self.timeline.flow()],
            false => taken.into_values().take(FLOWS).collect(),
        }
    }

    /// Flows of the transfers into the frame of a page that `is_wanted`: the first ones, if there are many.
    fn arrived_in(&self, entry: &PageEntry, is_wanted: impl Fn(&Arrival) -> bool) -> Vec<Flow> {
        if entry.target != Target::Card {
            return Vec::new();
        }
        let frame = entry.frame.card_address().get();
        let within = self.arrivals.range(frame..frame + entry.size.bytes());
        let wanted = within.filter(|(_, arrival)| is_wanted(arrival));
        wanted
            .map(|(_, arrival)| arrival.flow)
            .take(FLOWS)
            .collect()
    }

    fn answered(&mut self, now: Picoseconds, token: FaultToken, granted: bool, flows: &[Flow]) {
        let Some((since, fault)) = self.faults.remove(&token) else {
            return;
        };
        let timeline = self.timeline.clone();
        let space = self.space(fault.asid);
        space.count_faults(&timeline, now, -1);
        let track = space.faults;
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
        values.extend(flows.iter().map(|flow| ("", Value::Flow(*flow))));
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
                let timeline = self.timeline.clone();
                self.space(fault.asid).count_faults(&timeline, now, 1);
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
        let mut read_into = None;
        let (track, name, key, count) = match work {
            HostWork::ServeEvents(events) => {
                ("fault service", "serve", "events", events.total().into())
            }
            HostWork::ServeEventsOf { events, .. } => {
                ("fault service", "serve", "events", events.total().into())
            }
            HostWork::Serve(span) => ("fault service", "protect", "ps", span.get()),
            HostWork::PageCacheCopy { bytes, into } => {
                read_into = into;
                ("page-cache copies", "copy", "bytes", bytes)
            }
            HostWork::StorageRead { bytes, into } => {
                read_into = into;
                ("storage", "read", "bytes", bytes)
            }
            HostWork::StorageWrite { bytes } => ("storage", "write", "bytes", bytes),
            HostWork::Reconfigure => ("slots", "reconfigure", "slots", 1),
        };
        let mut values: Values = vec![(key, count.into())];
        if let Some(address) = read_into {
            let timeline = &self.timeline;
            let flow = self.read.entry(address.get());
            let flow = *flow.or_insert_with(|| timeline.flow());
            values.push(("", flow.into()));
        }
        let track = self.timeline.lanes(track, Some(self.host));
        self.timeline.slice(track, name, now, ends, &values);
    }
}

/// Track, name and values of a command.
fn describe(operation: &Operation) -> (&'static str, &'static str, Values) {
    let table = |name, asid: Asid, address: VirtAddr| {
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
