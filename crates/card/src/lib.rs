//! What any PCIe card offers, and no more: registers, reachable host memory, commands, one wait.
//!
//! The library above speaks only to the [`Card`] trait. Implementations: `sim` (Verilated shell and
//! kernels in deterministic virtual time) and [`functional`] (no RTL, no time).

pub mod coherent;
pub mod command;
pub mod directory_registers;
pub mod event;
pub mod functional;
pub mod guard;
pub mod home_registers;
pub mod kernel;
pub mod memories;
pub mod memory;
pub mod network;
pub mod registers;
pub mod schedule;
pub mod sim;
pub mod stream;

use command::{Command, QueueId};
use event::Event;
use guard::SlotStatus;
use kernel::KernelPackage;
use memories::CardMemory;
use memory::HostMemory;
use schedule::SlotSchedule;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use stream::{StreamDirection, StreamId, StreamSource, StreamState, SwitchState, Transfer};
use units::{HostAddr, Picoseconds};

/// A region of the card that holds one kernel.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SlotId(pub u8);

/// What a card is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardDescription {
    /// Name for people, for example `sim:f1`.
    pub name: String,
    /// Number of slots.
    pub slots: u8,
    /// Ports of each slot: AXI4 ports first, then one for each stream pair.
    pub ports_per_slot: u8,
    /// Stream pairs of each slot. Left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub streams_per_slot: u8,
    /// Network interfaces, each a stream pair. Left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub network_pairs: u8,
    /// Memory channels.
    pub channels: u8,
    /// log2 of the bytes of address space that a channel owns.
    pub channel_bytes_log2: u8,
    /// Bytes of memory that each channel really has (at most its address space); where there are several kinds, the
    /// least of them.
    pub channel_bytes: u64,
    /// What hangs at the channels. Left out of reports where it is of one kind, and empty on a card without timing.
    #[serde(default, skip_serializing_if = "is_one_kind")]
    pub memories: Vec<CardMemory>,
    /// Address spaces (ASIDs 0 to n − 1).
    pub spaces: u8,
    /// Command queues.
    pub queues: u8,
    /// False for the identity translator: addresses of kernels are card addresses.
    pub translated: bool,
    /// Sizes that pages can have.
    pub page_sizes: units::PageSizes,
    /// Those of them that the shell has an L1 TLB for; none without L1 TLBs, and on a card without time.
    pub l1_sizes: units::PageSizes,
    /// How much each of these L1 TLBs translates, smallest pages first. Not in reports.
    #[serde(skip)]
    pub l1_reach: Vec<L1Reach>,
    /// Period of the shell's clock; zero on a card without time.
    pub clock_period: Picoseconds,
    /// Pages may lie in host memory. Left out where they may not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_channel: bool,
}

/// How much an L1 TLB of an address lane translates at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L1Reach {
    /// Its pages.
    pub page: units::PageSize,
    /// Their bytes, of all its entries.
    pub bytes: u64,
}

impl L1Reach {
    /// What pages of 2 MiB and more should become where so many bytes are more than their L1 TLB reaches: the next
    /// larger pages that have one, if it reaches further and there are bytes for such a page; and the reach of the
    /// smaller. Pages below 2 MiB stay: who has those wants little of each.
    pub fn beyond(
        all: &[Self],
        page: units::PageSize,
        bytes: u64,
    ) -> Option<(units::PageSize, u64)> {
        let usual = |l1: &&Self| l1.page == page && page >= units::PageSize::MIB_2;
        let own = all.iter().find(usual)?;
        let larger = all.iter().find(|l1| l1.page > page)?;
        let helps = larger.bytes > own.bytes && bytes > own.bytes && bytes >= larger.page.bytes();
        helps.then_some((larger.page, own.bytes))
    }
}

fn is_one_kind(memories: &[CardMemory]) -> bool {
    memories.len() < 2
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl CardDescription {
    /// AXI4 ports of each slot.
    pub fn memory_ports_per_slot(&self) -> u8 {
        self.ports_per_slot.saturating_sub(self.streams_per_slot)
    }

    /// The streams of the network interfaces are those of this slot, which is behind the last one and has no kernel.
    pub fn network_slot(&self) -> SlotId {
        SlotId(self.slots)
    }

    /// Stream pairs of a slot, or of the network.
    fn pairs_of(&self, slot: SlotId) -> u8 {
        match slot == self.network_slot() {
            true => self.network_pairs,
            false => self.streams_per_slot,
        }
    }

    /// Whether a slot, or the network, has the stream.
    ///
    /// # Errors
    /// [`CardError::NoSuchSlot`], [`CardError::NoSuchStream`].
    pub fn check_stream(&self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        if slot.0 >= self.slots && !(slot == self.network_slot() && self.network_pairs > 0) {
            return Err(CardError::NoSuchSlot {
                slot,
                card: self.name.clone(),
                last: self.slots.saturating_sub(1),
            });
        }
        let pairs = self.pairs_of(slot);
        if stream.pair >= pairs {
            return Err(CardError::NoSuchStream {
                slot,
                stream,
                pairs,
            });
        }
        Ok(())
    }

    /// Whether both ports of a connection are there. Returns the number of the incoming one's pair,
    /// counted over all slots.
    ///
    /// # Errors
    /// [`CardError::NoSuchSlot`], [`CardError::NoSuchStream`].
    pub fn check_connection(
        &self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<u8, CardError> {
        let direction = StreamDirection::In;
        self.check_stream(slot, StreamId { pair, direction })?;
        if let StreamSource::Port { slot, pair } = source {
            let direction = StreamDirection::Out;
            self.check_stream(slot, StreamId { pair, direction })?;
        }
        Ok(slot.0 * self.streams_per_slot + pair)
    }

    fn no_network(&self, interface: u8) -> CardError {
        CardError::NoNetwork {
            card: self.name.clone(),
            interface,
            interfaces: self.network_pairs,
        }
    }

    /// Bytes of memory that a channel has.
    pub fn bytes_of_channel(&self, channel: u8) -> u64 {
        memories::of_channel(&self.memories, channel)
            .map_or(self.channel_bytes, |memory| memory.channel_bytes)
    }

    /// Whether the card can have a stripe.
    ///
    /// # Errors
    /// [`CardError::NoSuchStripe`] when not.
    pub fn check_stripe(&self, stripe: units::Stripe) -> Result<(), CardError> {
        if stripe.fits(self.channels, self.channel_bytes_log2) {
            return Ok(());
        }
        Err(CardError::NoSuchStripe {
            stripe,
            channels: self.channels,
            channel_bytes: 1 << self.channel_bytes_log2,
        })
    }
}

/// What the host does beside the card, as far as it costs time.
///
/// On a card in virtual time the cost comes from the platform file; elsewhere the work is over at
/// once, because real work takes real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostWork {
    /// One thread of the host decides about this many faults or completions.
    ServeEvents(u32),
    /// Another thread, of an application, does.
    ServeEventsOf {
        /// Which thread, from 1 on.
        thread: u8,
        /// Faults or completions.
        events: u32,
    },
    /// The same thread is busy for so long.
    Serve(Picoseconds),
    /// Copies bytes from the page cache to a DMA buffer, or back.
    PageCacheCopy {
        /// Bytes copied.
        bytes: u64,
    },
    /// Reads bytes from storage (not in the page cache).
    StorageRead {
        /// Bytes read.
        bytes: u64,
    },
    /// Writes bytes to storage.
    StorageWrite {
        /// Bytes written.
        bytes: u64,
    },
    /// Puts another kernel into a slot (partial reconfiguration).
    Reconfigure,
}

/// Work before a kernel is loaded.
pub type Preparation = Box<dyn FnOnce() -> Result<(), CardError> + Send>;

/// Names a piece of host work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// A card, real or simulated.
///
/// Nothing here blocks except [`wait`](Card::wait) and, for the time of a bus access, the register
/// calls. A card is driven by one thread at a time.
pub trait Card: Send {
    /// What the card is made of.
    fn description(&self) -> &CardDescription;

    /// Virtual time (or time since the card was opened, on a real one).
    fn now(&self) -> Picoseconds;

    /// Puts a kernel into a slot. The slot stays in reset until [`control_slot`](Card::control_slot).
    ///
    /// # Errors
    /// No such slot, slot running, a kernel that does not fit the slot, or one that does not build.
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError>;

    /// Reads a 32-bit register of the BAR (`address` in bytes, a multiple of 4).
    ///
    /// # Errors
    /// [`CardError::Bus`] when the card answers with an error, for example from a hung kernel.
    fn read_register(&mut self, address: u32) -> Result<u32, CardError>;

    /// Writes a 32-bit register of the BAR. Posted: returns before the card has it, but registers
    /// and commands take effect in the order of the calls.
    ///
    /// # Errors
    /// [`CardError::Bus`] when the address is outside the BAR.
    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// Makes host memory reachable by the card until [`unmap_host`](Card::unmap_host).
    ///
    /// # Errors
    /// [`CardError::HostMemory`] when no address range is left.
    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError>;

    /// Ends what [`map_host`](Card::map_host) began. The card must not be using the memory.
    ///
    /// # Errors
    /// [`CardError::HostMemory`] when nothing is mapped there.
    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError>;

    /// Queues a command; its completion comes as [`Event::Completed`]. Commands of a queue start in
    /// order; queues take turns;
    /// `docs/architecture.md` ("Command ring") says what runs beside what.
    ///
    /// # Errors
    /// [`CardError::QueueFull`] when as many commands as the queue's ring holds are unfinished;
    /// [`CardError::NoSuchQueue`].
    fn submit(&mut self, command: Command) -> Result<(), CardError>;

    /// Commands that [`submit`](Card::submit) still takes for a queue before it answers `QueueFull`.
    fn queue_room(&self, queue: QueueId) -> usize;

    /// Starts work of the host; its end comes as [`Event::HostWorkDone`].
    fn host_work(&mut self, work: HostWork) -> WorkId;

    /// Attaches an address space to a slot and lets the slot run (`run`), or holds it in reset.
    /// While it is in reset its parked accesses are forgotten.
    ///
    /// # Errors
    /// No such slot or space, or [`CardError::Bus`].
    fn control_slot(&mut self, slot: SlotId, asid: units::Asid, run: bool)
        -> Result<(), CardError>;

    /// What the slot's guard knows: why it is closed, and what its ports wait for. What they wait for is
    /// gone once the slot is in reset; why it was closed stays until it leaves reset.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`].
    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError>;

    /// Tells the shell where the page table of a space is, and which page sizes it uses (bit k:
    /// size class k). `None` disables the space.
    ///
    /// # Errors
    /// No such space, or [`CardError::Bus`].
    fn control_space(
        &mut self,
        asid: units::Asid,
        table: Option<(units::TableGeometry, u32)>,
    ) -> Result<(), CardError>;

    /// Tells the shell which page sizes a space that is enabled has from now on (bit k: size class k). It
    /// may get more of them at any time; pages of a size that is left out are not found.
    ///
    /// # Errors
    /// No such space, or [`CardError::Bus`].
    fn use_page_sizes(&mut self, asid: units::Asid, size_classes: u32) -> Result<(), CardError>;

    /// Spreads the frames of a space over channels: card addresses in its page-table entries are
    /// striped from the next [`control_space`](Card::control_space) on, and copies to and from its
    /// frames have to say so ([`Command::stripe`]). To be called while no slot runs in the space.
    ///
    /// # Errors
    /// No such space, or a stripe that the card cannot have.
    fn stripe_space(&mut self, asid: units::Asid, stripe: units::Stripe) -> Result<(), CardError>;

    /// Begins a transfer between memory and a stream; its end comes as
    /// [`Event::TransferDone`]. One at a time for each stream; the slot must be out of reset, and its reset
    /// forgets the transfer, without an event.
    ///
    /// # Errors
    /// No such slot or stream, [`CardError::StreamBusy`], or [`CardError::Bus`].
    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError> {
        let _ = transfer;
        self.description().check_stream(slot, stream)?;
        Err(CardError::NoSuchStream {
            slot,
            stream,
            pairs: 0,
        })
    }

    /// Ends a transfer out of a kernel, if one is under way, as if its range were full: what has come is in
    /// memory, what comes waits for the next transfer. Its end comes as [`Event::TransferDone`].
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        self.description().check_stream(slot, stream)
    }

    /// What a stream does now.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError> {
        self.description().check_stream(slot, stream)?;
        Ok(StreamState::default())
    }

    /// Says what the incoming port of a stream pair takes its beats from, from the next packet on; see
    /// [`switch_state`](Card::switch_state).
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn connect_stream(
        &mut self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<(), CardError> {
        self.description()
            .check_connection(slot, pair, source)
            .map(|_| ())
    }

    /// Connects an interface in a direction (*into* it is sent, *out* of it is received) to a peer. What failed there
    /// before is forgotten; a transfer under way goes on with the new peer.
    ///
    /// # Errors
    /// [`CardError::NoNetwork`]: no such interface.
    fn connect_peer(
        &mut self,
        interface: u8,
        direction: StreamDirection,
        peer: Box<dyn network::Peer>,
    ) -> Result<(), CardError> {
        let _ = (direction, peer);
        Err(self.description().no_network(interface))
    }

    /// Why an interface works no more in a direction, since a peer was connected.
    ///
    /// # Errors
    /// As [`connect_peer`](Card::connect_peer).
    fn network_failure(
        &mut self,
        interface: u8,
        direction: StreamDirection,
    ) -> Result<Option<String>, CardError> {
        let _ = direction;
        Err(self.description().no_network(interface))
    }

    /// Pulls the cable of an interface (`false`), or puts it back: for tests of what happens then.
    ///
    /// # Errors
    /// As [`connect_peer`](Card::connect_peer); a real card.
    fn set_network_link(&mut self, interface: u8, up: bool) -> Result<(), CardError> {
        let _ = up;
        Err(self.description().no_network(interface))
    }

    /// What is connected to the incoming port of a stream pair now.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError> {
        let mover = StreamSource::Mover;
        self.description().check_connection(slot, pair, mover)?;
        Ok(SwitchState::default())
    }

    /// Says what a slot gets of card memory while others want it too. It counts from the next cycle on, for
    /// what has not left yet, until it is said anew.
    ///
    /// # Errors
    /// No such slot, [`CardError::Schedule`], or [`CardError::Bus`].
    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError>;

    /// Starts an access of a core of the coherent CPU beside the card; its end comes as
    /// [`Event::AccessDone`].
    ///
    /// # Errors
    /// [`CardError::NotCoherent`]: the card has no directory, or the platform no such CPU;
    /// [`CardError::Access`]: no such core, or a store that leaves its line.
    fn access(&mut self, access: coherent::LineAccess) -> Result<coherent::AccessId, CardError> {
        let _ = access;
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// Shows a page of a program that holds the lines from `address` on, if the CPU has them all, for itself
    /// alone if they are to be written; false if not. The page is hidden before anybody else gets one of
    /// its lines.
    ///
    /// # Errors
    /// As [`access`](Card::access); the system refuses.
    fn show_page(
        &mut self,
        address: u64,
        write: bool,
        pages: std::sync::Arc<dyn coherent::LinePages>,
    ) -> Result<bool, CardError> {
        let _ = (address, write, pages);
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// Hides all pages of programs that show lines of this range.
    ///
    /// # Errors
    /// As [`show_page`](Card::show_page).
    fn hide_pages(&mut self, base: u64, bytes: u64) -> Result<(), CardError> {
        let _ = (base, bytes);
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// Records what happens to lines from now on, by the names that they have in pictures; what was
    /// recorded before is forgotten. Changes no result.
    ///
    /// # Errors
    /// As [`access`](Card::access).
    fn record_lines(&mut self, history: cpu::history::History) -> Result<(), CardError> {
        drop(history);
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// What was recorded.
    fn line_history(&self) -> cpu::history::History {
        cpu::history::History::default()
    }

    /// The one wait: returns as soon as there are events, or none at the deadline.
    ///
    /// Without a deadline, and when nothing is under way that could bring an event, it returns
    /// [`CardError::NothingToWaitFor`] rather than hang.
    ///
    /// # Errors
    /// A broken card ([`CardError::Broken`]); errors of kernels and commands are events.
    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError>;

    /// What of [`load`](Card::load) takes long and needs no card: to be done first, on any thread. `None` if
    /// there is nothing.
    fn preparation(&self, _kernel: &KernelPackage) -> Option<Preparation> {
        None
    }

    /// From now on [`wait`](Card::wait) also returns, without events, soon after the bell rings (is set).
    /// Whoever waits again with the same deadline sees the same events at the same times. A card may
    /// ignore it, if it waits never long.
    fn set_bell(&mut self, _bell: Arc<AtomicBool>) {}

    /// True when nothing can happen any more unless the host does something: no command, no host
    /// work, no data on the way, and no kernel that would change its state on a further clock edge.
    /// `false` when the card cannot know.
    fn is_quiescent(&mut self) -> bool {
        false
    }

    /// Where the time went since the card was opened.
    fn statistics(&mut self) -> Result<Statistics, CardError>;
}

/// Counts since the card was opened. Every figure in virtual time is deterministic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Edges of the shell's clock, skipped ones included.
    pub cycles: u64,
    /// Edges that were evaluated rather than skipped (a matter of the simulator's speed only).
    pub evaluated_cycles: u64,
    /// Per requester, in requester order (port p: read 2p, write 2p+1).
    pub requesters: Vec<RequesterStatistics>,
    /// Per memory channel.
    pub channels: Vec<ChannelStatistics>,
    /// The link and the DMA engine.
    pub link: LinkStatistics,
    /// The host's models.
    pub host: HostStatistics,
    /// How often the next row over the slot boundary was another slot's: context switches.
    #[serde(default, skip_serializing_if = "OwnerChanges::is_none")]
    pub owner_changes: OwnerChanges,
}

/// How often the next row over the slot boundary is another slot's than the row before: what a scheduler that
/// keeps to one slot has few of. Rows of memory ports; those of movers do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerChanges {
    /// Of rows that are read.
    pub reads: u64,
    /// Of rows that are written.
    pub writes: u64,
}

impl OwnerChanges {
    /// Only one slot had rows.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What one requester (a port in one direction) did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequesterStatistics {
    /// Beats over the slot boundary: rows of 64 bytes at ports of 512 bits.
    pub rows: u64,
    /// Bytes of the accepted bursts: beats × 2^AxSIZE.
    pub bytes: u64,
    /// Bursts over the slot boundary.
    pub bursts: u64,
    /// Cycles in which the kernel offered a burst and the shell did not take it.
    pub address_stall_cycles: u64,
    /// Cycles with a burst unfinished and no row transferred because the shell had none (reads) or
    /// took none (writes).
    pub shell_stall_cycles: u64,
    /// Cycles in which the kernel did not take a row that was there (reads) or did not bring one
    /// (writes) while a burst was unfinished.
    pub kernel_stall_cycles: u64,
    /// L1 TLB hits.
    pub l1_hits: u64,
    /// L1 TLB misses.
    pub l1_misses: u64,
    /// Walks that found a usable entry.
    pub walk_hits: u64,
    /// Walks that did not.
    pub walk_misses: u64,
    /// Faults reported.
    pub faults: u64,
    /// Lookups repeated after a fault or an invalidation.
    pub retries: u64,
}

/// What one memory channel did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelStatistics {
    /// Rows read.
    pub rows_read: u64,
    /// Rows written.
    pub rows_written: u64,
    /// Cycles with a row on the read or the write data channel, or both.
    pub busy_cycles: u64,
    /// Activations of a DRAM row.
    pub activations: u64,
    /// Refreshes.
    pub refreshes: u64,
}

/// What the PCIe link and the DMA engine did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkStatistics {
    /// Payload bytes, host to card.
    pub bytes_to_card: u64,
    /// Payload bytes, card to host.
    pub bytes_to_host: u64,
    /// Time with payload on the wire, host to card.
    pub busy_to_card: Picoseconds,
    /// Time with payload on the wire, card to host.
    pub busy_to_host: Picoseconds,
    /// Rows zeroed by command.
    pub rows_zeroed: u64,
    /// Register reads.
    pub register_reads: u64,
    /// Register writes.
    pub register_writes: u64,
}

/// What the models of the host did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostStatistics {
    /// Time the fault-service thread was busy.
    pub service_busy: Picoseconds,
    /// Time spent copying between page cache and DMA buffers.
    pub copy_busy: Picoseconds,
    /// Time with storage busy.
    pub storage_busy: Picoseconds,
    /// Interrupts delivered.
    pub interrupts: u64,
}

/// Why a card refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The slot does not exist.
    #[error("slot {slot} does not exist: {card} has slots 0 to {last}", slot = .slot.0)]
    NoSuchSlot {
        /// The slot asked for.
        slot: SlotId,
        /// The card's name.
        card: String,
        /// The last slot it has.
        last: u8,
    },
    /// The address space does not exist.
    #[error("address space {asid} does not exist: the shell has {spaces}")]
    NoSuchSpace {
        /// The ASID asked for.
        asid: u8,
        /// Number of spaces.
        spaces: u8,
    },
    /// A stripe beyond the card's channels.
    #[error("{stripe}: the card has {channels} channels of {channel_bytes} bytes")]
    NoSuchStripe {
        /// The stripe asked for.
        stripe: units::Stripe,
        /// Channels.
        channels: u8,
        /// Bytes of address space of one.
        channel_bytes: u64,
    },
    /// A kernel is running in the slot.
    #[error("slot {slot} is running; hold it in reset first", slot = .slot.0)]
    SlotBusy {
        /// The slot.
        slot: SlotId,
    },
    /// The kernel cannot be put into a slot.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelError),
    /// RTL did not become a model that runs.
    #[error(transparent)]
    Build(#[from] verilated::BuildError),
    /// A card of this kind cannot be made.
    #[error("simulated card: {0}")]
    Configuration(String),
    /// The card answered a register access with an error.
    #[error("register 0x{address:06x}: the card answered with an error ({what})")]
    Bus {
        /// BAR address.
        address: u32,
        /// What was tried and why it failed.
        what: &'static str,
    },
    /// Host memory could not be made reachable, or is not mapped.
    #[error("host memory: {0}")]
    HostMemory(String),
    /// The command ring is full.
    #[error("the command ring is full: {limit} commands are unfinished")]
    QueueFull {
        /// Commands that the ring holds.
        limit: usize,
    },
    /// The queue does not exist.
    #[error("command queue {queue} does not exist: the card has {queues}", queue = .queue.0)]
    NoSuchQueue {
        /// The queue asked for.
        queue: QueueId,
        /// Number of queues.
        queues: u8,
    },
    /// The slot does not have the stream.
    #[error("slot {slot} has no {stream}: it has {pairs} stream pairs", slot = .slot.0)]
    NoSuchStream {
        /// The slot.
        slot: SlotId,
        /// The stream asked for.
        stream: StreamId,
        /// Pairs of the slot.
        pairs: u8,
    },
    /// The stream has a transfer under way.
    #[error("slot {slot}, {stream}: a transfer is under way", slot = .slot.0)]
    StreamBusy {
        /// The slot.
        slot: SlotId,
        /// The stream.
        stream: StreamId,
    },
    /// The network interface does not exist.
    #[error(
        "network interface {interface}: {card} has {interfaces}; the shell's `network_pairs` says how many there are, \
         and only a simulated card has any"
    )]
    NoNetwork {
        /// The card's name.
        card: String,
        /// The interface asked for.
        interface: u8,
        /// Interfaces that it has.
        interfaces: u8,
    },
    /// A number of a slot's schedule is out of range.
    #[error("slot {slot}: {what} {value}: {least} to {most} is possible", slot = .slot.0)]
    Schedule {
        /// The slot.
        slot: SlotId,
        /// Which number.
        what: &'static str,
        /// What it is.
        value: u64,
        /// The least possible.
        least: u64,
        /// The most.
        most: u64,
    },
    /// Waiting would never end.
    #[error("nothing is under way that could bring an event, and no deadline was given")]
    NothingToWaitFor,
    /// The card has no coherent CPU beside it.
    #[error(
        "{card} is not coherent: it needs a platform with [link] and [cpu], such as enzian, and a \
         shell with a directory"
    )]
    NotCoherent {
        /// The card's name.
        card: String,
    },
    /// An access of a core that cannot be.
    #[error("access of core {core} at 0x{address:x}: {rule}")]
    Access {
        /// The core.
        core: u8,
        /// The address.
        address: u64,
        /// What it broke.
        rule: &'static str,
    },
    /// The card is broken; nothing more can be done with it.
    #[error("the card is broken: {0}")]
    Broken(String),
    /// A platform file that cannot be used.
    #[error("platform: {0}")]
    Platform(String),
}
