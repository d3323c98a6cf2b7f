//! Pages of address spaces: the pager, and the execution of its actions.
//!
//! Events of the card and completed transfers go in ([`pump`]), commands and transfers come out; what clients ask for is in
//! [`requests`]. The card is an argument, with its kernels ([`Kernels`]), and so are the handles of clients.

mod answers;
mod clients;
mod commands;
mod direct;
mod faults;
mod files;
mod host_time;
mod hot;
mod lanes;
mod memory;
mod moved;
mod out_of_range;
mod page_cache;
mod policies;
mod pressure;
mod programs;
mod pump;
mod requests;
mod service;
mod shares;
mod spaces;
mod timeouts;
mod transfers;

use crate::inbox::Inbox;
use crate::kernels::{HomeRange, Kernels};
use crate::lane::Post;
use crate::message::{ClientId, Progress};
use crate::report::{PagingReport, SharingReport};
use crate::trace::Trace;
use crate::OwnerOptions;
use card::memory::HostMemory;
use card::Card;
use commands::Commands;
use error::Error;
use files::Files;
pub(crate) use files::{
    check_options, check_rights, Durable, Looked, Source, View, Wanted, EMPTYING,
};
use hot::Hot;
pub(crate) use lanes::InLane;
use lanes::Lanes;
pub use lanes::MakeIo;
use memory::Memories;
pub(crate) use memory::ProgramAccess;
use moved::MovedBytes;
use pager::{
    BufferId, ChannelMemory, Config, InstallOrder, Occupied, Pager, Policies, SpaceStatistics,
};
use policies::Words;
pub(crate) use pressure::Flush;
pub(crate) use programs::TrapElsewhere;
use pump::{Parts, Pump};
use service::Service;
pub use service::ServiceThreads;
use spaces::Spaces;
use std::collections::BTreeSet;
use std::sync::Arc;
use timeouts::FileTimeouts;
pub(crate) use timeouts::FileWait;
use transfers::{HostPlace, Transfers};
use units::{Asid, CardAddr, CardDescription, HostAddr, PageSize, Picoseconds};

/// See the module.
pub(crate) struct Paging {
    spaces: Spaces,
    files: Files,
    options: Arc<OwnerOptions>,
    /// Dropped last: files are closed in it.
    pump: Pump,
}

/// Host memory for DMA, and its address on the card.
pub(crate) struct Buffers {
    memory: Arc<HostMemory>,
    base: HostAddr,
}

impl Buffers {
    /// Size of one buffer, in bytes.
    const EACH: u64 = PageSize::MIB_2.bytes();

    /// Allocates and maps `count` buffers.
    ///
    /// # Errors
    /// Host memory cannot be had.
    pub(crate) fn map(card: &mut dyn Card, count: u32) -> Result<Self, Error> {
        let total = Self::EACH * u64::from(count);
        let memory = HostMemory::allocate(total as usize).map_err(|source| Error::File {
            path: "/dev/zero".into(),
            what: "allocating DMA buffers",
            source,
        })?;
        let memory = Arc::new(memory);
        let base = card.map_host(memory.clone())?;
        Ok(Self { memory, base })
    }

    /// The address of a buffer on the card.
    fn address(&self, number: u32) -> HostAddr {
        self.base.offset(u64::from(number) * Self::EACH)
    }

    /// Position of a byte of a buffer in host memory.
    fn place_in(&self, buffer: BufferId, offset: u64) -> HostPlace {
        let address = self.address(buffer.0).offset(offset);
        HostPlace {
            memory: self.memory.clone(),
            offset: u64::from(buffer.0) * Self::EACH + offset,
            around: None,
            buffer: Some(address),
        }
    }
}

/// Channels of the owner's thread: its messages, and results of work on other threads.
pub(crate) struct Ways {
    pub(crate) inbox: Inbox,
    pub(crate) post: Post,
}

impl Paging {
    /// For the memory of a card, without the range `home` behind the directory.
    ///
    /// # Errors
    /// The card's memory is too small for one page.
    pub(crate) fn new(
        card: &mut dyn Card,
        home: Option<HomeRange>,
        buffers: Buffers,
        io: MakeIo,
        ways: Ways,
        options: Arc<OwnerOptions>,
    ) -> Result<Self, Error> {
        let description = card.description().clone();
        let page = options.largest_page();
        let channels = (0..description.channels)
            .map(|channel| {
                let channel_bytes = description.bytes_of_channel(channel);
                let channel = u64::from(channel);
                let base = CardAddr::new(channel << description.channel_bytes_log2);
                let bytes = home.map_or(channel_bytes, |home| home.rest_of(channel, channel_bytes));
                base.map(|base| ChannelMemory { base, bytes })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Error::Internal("channels beyond the card's address space".into()))?;
        let addresses = (0..options.dma_buffers)
            .map(|number| buffers.address(number))
            .collect();
        let config = Config {
            page_size: page,
            page_sizes: description.page_sizes,
            buffer_bytes: Buffers::EACH,
            piece_bytes: options.piece_bytes,
            channel_bytes_log2: description.channel_bytes_log2,
            // Copies of several pages overlap, in both directions, which outweighs the round trip to the host.
            install_order: InstallOrder::OnCompletion,
            clean_ahead: options.clean_ahead_bytes / page.bytes(),
            overlap: options.overlap,
            table_sets_log2: options.table_sets_log2,
            grow_percent: options.table_grow_percent,
            ..Config::new(channels, addresses)
        };
        let chosen = options.fetching();
        let policies = Policies {
            fetch: Box::new(chosen),
            eviction: options.eviction.policy(),
            size: Box::new(policies::page_sizes(&description.l1_reach)),
            ..Policies::default()
        };
        let pager = Pager::with_policies(config, policies).map_err(|source| Error::CardMemory {
            channels: description.channels,
            channel_bytes: description.channel_bytes,
            source,
        })?;
        let timed = card
            .simulation()
            .is_some_and(|card| card.has_virtual_time());
        let moved = timed.then(MovedBytes::new);
        let timeouts = FileTimeouts::new(options.clock, options.file_limit());
        Ok(Self {
            spaces: Spaces::new(description.spaces),
            files: Files::new(options.clone()),
            pump: Pump::new(Parts {
                pager,
                commands: Commands::new(description.queues),
                service: Service::new(options.service_threads),
                transfers: Transfers::new(buffers, moved, &options),
                memories: Memories::new(ways.inbox, options.host.clone()),
                trace: Trace::new(options.timeline.clone()),
                lanes: Lanes::new(io, ways.post, timeouts),
            }),
            options,
        })
    }

    /// The files that are mapped.
    pub(crate) fn files(&mut self) -> &mut Files {
        &mut self.files
    }

    /// The memory that programs share.
    pub(crate) fn memories(&mut self) -> &mut Memories {
        self.pump.memories_mut()
    }

    /// The threads of mounts.
    pub(crate) fn lanes(&mut self) -> &mut Lanes {
        self.pump.lanes()
    }

    /// The scheduling of events for the host's service threads.
    pub(crate) fn service(&mut self) -> &mut Service {
        self.pump.service_mut()
    }

    /// The state of preloading.
    pub(crate) fn hot(&mut self) -> &mut Hot {
        self.pump.hot_mut()
    }

    /// The pager, to look at.
    pub(crate) fn pager(&self) -> &Pager {
        self.pump.pager()
    }

    /// The paging policy of each of these files on a card, with its reason.
    pub(crate) fn policies(
        &self,
        card: &CardDescription,
        of: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let words = Words::new(card, &self.options, self.pager().statistics());
        words.policies(&self.files, of)
    }

    /// Whether the modelled time of a transfer is over before its bytes have arrived.
    pub(crate) fn any_late(&self) -> bool {
        self.pump.transfers().any_late()
    }

    /// Virtual time, bytes and faults so far.
    pub(crate) fn progress(&self, kernels: &Kernels) -> Progress {
        let paging = self.pager().statistics();
        Progress {
            now: match kernels.description().clock_period {
                Picoseconds::ZERO => Picoseconds::ZERO,
                _ => kernels.now(),
            },
            bytes_in: paging.spaces.bytes_read + paging.bytes_zeroed,
            bytes_out: paging.spaces.bytes_written,
            faults: paging.spaces.faults,
        }
    }

    /// Each space, its statistics, and its card memory.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = (Asid, SpaceStatistics, Occupied)> + '_ {
        self.pager().spaces()
    }

    /// Clients with a space, now or earlier, that are not forgotten.
    pub(crate) fn clients(&self) -> BTreeSet<ClientId> {
        self.pump.service().clients.clients()
    }

    /// Paging of a client in all its spaces, those that have ended included.
    pub(crate) fn of_client(&self, client: ClientId) -> SpaceStatistics {
        let spaces = self.spaces().map(|(space, counted, _)| (space, counted));
        self.pump.service().clients.of(client, spaces)
    }

    /// Counts bytes that were preloaded for a client.
    pub(crate) fn add_made_hot(&mut self, client: ClientId, bytes: u64) {
        self.service().clients.add_made_hot(client, bytes);
    }

    /// Drops the counts of a client that has gone.
    pub(crate) fn forget_client(&mut self, client: ClientId) {
        self.service().clients.forget(client);
    }

    /// Virtual time with a fault waiting.
    pub(crate) fn fault_time(&self) -> Picoseconds {
        self.pump.service().fault_time()
    }

    /// The hash of all bytes that were moved; nothing without virtual time.
    pub(crate) fn bytes_hash(&self) -> String {
        self.pump.transfers().bytes_hash()
    }

    /// The paging report of all spaces together.
    pub(crate) fn report(&self) -> PagingReport {
        let memories = self.pump.memories();
        let counts = PagingReport::of(&self.pager().statistics().spaces);
        PagingReport {
            fault_time: self.fault_time(),
            ping_pong: memories.ping_pong(),
            made_hot: self.pump.hot().bytes(),
            sharing: SharingReport {
                free_threads: memories.free_threads(),
                protect_time: memories.protect_time(),
                ..counts.sharing
            },
            ..counts
        }
    }

    /// The paging report of a client, in all its spaces, those that have ended included.
    pub(crate) fn report_of(&self, client: ClientId, fault_time: Picoseconds) -> PagingReport {
        PagingReport {
            fault_time,
            made_hot: self.pump.service().clients.made_hot(client),
            ..PagingReport::of(&self.of_client(client))
        }
    }

    /// Page sizes that were used.
    pub(crate) fn page_sizes(&self) -> impl Iterator<Item = PageSize> + '_ {
        self.files.page_sizes()
    }

    /// Files that are or were mapped for writing on a file system without locks, by name.
    pub(crate) fn unlocked(&self) -> impl Iterator<Item = &String> {
        self.files.unlocked()
    }
}
