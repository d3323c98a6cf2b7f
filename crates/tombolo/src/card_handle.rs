//! `Card`: the handle that a program opens first.

use crate::behind_vfio;
use crate::card_name::CardName;
use crate::coherent::CoherentMemory;
use crate::connection::Connection;
use crate::link::Link;
use crate::participant::{self, Participant};
use crate::served::Served;
use crate::serving::{Guest, Session};
use crate::sliced_wait::SlicedWait;
use crate::slot::Slot;
use crate::space::AddressSpace;
use card::kernel::KernelPackage;
use error::Error;
use file_io::FileIo;
use funcard::FunctionalCard;
use owner::message::{
    ConnectPorts, CreateSpace, Describe, Load, MakeReport, PollAny, PortOf, ReportOf,
    SetHoldTimeout, SetHomeTimeout, SetNetworkLink, SpaceOptions, TakeStatus,
};
use owner::report::Report;
use owner::{ClockMode, OwnerOptions};
use simcard::{SimCard, SimOptions};
use std::path::Path;
use std::sync::Arc;
use units::{CardDescription, Picoseconds, SlotId, SpacePlacement};
use verilated::Progress as BuildProgress;
use wire::Status;

/// Names the participants in messages: the threads that virtual time waits for.
const PARTICIPANTS: &str = "host threads that count (participants)";

/// A client's handle of a card. Clones share the client.
#[derive(Clone, Debug)]
pub struct Card {
    link: Link,
}

impl Card {
    /// Opens a card by name. The environment variable `TOMBOLO_CARD` overrides `functional` and platform names.
    ///
    /// - `unix:PATH`: the card of a daemon (`tombolo daemon`), shared with other programs.
    /// - `vfio:0000:01:00.0?card=FILE`: a card bound to Linux's vfio-pci, in real time; the file supplies the facts
    ///   that its registers do not hold (docs/pcie.md).
    /// - `functional`: a functional card, without RTL and time.
    /// - Any other name: a platform (`f1`, or its file), which is simulated.
    ///
    /// # Errors
    /// [`Error::Daemon`]: no daemon listens at that path, or it refuses; the device cannot be opened (the message names
    /// the remedy); as [`simulated`](Self::simulated) and [`functional`](Self::functional).
    pub fn open(name: impl AsRef<str>) -> Result<Self, Error> {
        match CardName::selected(name.as_ref()) {
            CardName::Daemon(path) => Ok(Self {
                link: Link::to_daemon(Served::connect(Path::new(&path))?),
            }),
            CardName::Device(device) => {
                let options = OwnerOptions {
                    // A real card runs in real time.
                    clock: ClockMode::Free,
                    ..OwnerOptions::default()
                };
                Self::new(Box::new(behind_vfio::open(&device)?), options)
            }
            CardName::Functional => Self::functional(FunctionalCard::new(Default::default())),
            CardName::Platform(name) => {
                Self::simulated(SimOptions::named(&name)?, Default::default(), |_| {})
            }
        }
    }

    /// Opens a card from any implementation of the card contract; this process becomes its owner.
    ///
    /// # Errors
    /// Host memory for DMA cannot be had, the card does not have the owner's page size, or its memory is
    /// too small for one page.
    pub fn new(card: Box<dyn card::Card>, options: OwnerOptions) -> Result<Self, Error> {
        Self::with_io(card, file_io::best, options)
    }

    /// As [`new`](Card::new), with file I/O of the caller's choice: `io` creates it once per mount that files lie on.
    ///
    /// # Errors
    /// Host memory for DMA cannot be had, the card does not have the owner's page size, or its memory is
    /// too small for one page.
    pub fn with_io(
        card: Box<dyn card::Card>,
        io: impl FnMut() -> Box<dyn FileIo> + Send + 'static,
        options: OwnerOptions,
    ) -> Result<Self, Error> {
        let link = Link::new(owner::start(card, Box::new(io), options)?);
        Ok(Self { link })
    }

    /// Opens a simulated card: the real shell RTL in virtual time. The first use builds the shell's model (about a
    /// minute), and the first use of a kernel builds the kernel's; `progress` is called with each build.
    ///
    /// # Errors
    /// Verilator is missing, the RTL does not compile, or the platform file is invalid.
    pub fn simulated(
        options: SimOptions,
        owner: OwnerOptions,
        progress: impl FnMut(BuildProgress) + Send + 'static,
    ) -> Result<Self, Error> {
        let owner = OwnerOptions {
            platform: options.platform.name().to_owned(),
            platform_hash: options.platform.hash().to_owned(),
            timeline: options.timeline.clone().or(owner.timeline),
            ..owner
        };
        Self::new(Box::new(SimCard::open(options, progress)?), owner)
    }

    /// Opens a functional card: kernels are models in Rust, without RTL and without time.
    ///
    /// # Errors
    /// Host memory for DMA cannot be had, the card does not have the owner's page size, or its memory is
    /// too small for one page.
    pub fn functional(card: FunctionalCard) -> Result<Self, Error> {
        Self::new(Box::new(card), OwnerOptions::default())
    }

    /// Another client of the same card. Clients cannot reach each other's spaces, mappings and kernels.
    pub fn client(&self) -> Self {
        let link = self.link.another();
        Self { link }
    }

    /// Sets a callback for interrupting blocked calls: from now on every waiting call of this client calls `watch`
    /// every few hundredths of a second, on the waiting thread. Once it returns true, the call returns
    /// [`Error::Interrupted`]: a kernel that was waited for is stopped; other operations that were begun run to
    /// completion.
    pub fn interrupt_when(&self, watch: impl Fn() -> bool + Send + Sync + 'static) {
        self.link.watch(Arc::new(watch));
    }

    /// Registers a host thread as a participant: virtual time passes only while every participant waits in a call.
    /// Single-threaded programs need none.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn participant(&self) -> Result<Participant, Error> {
        Participant::new(self.link.here(PARTICIPANTS)?.clone())
    }

    /// Runs a closure that waits for other threads or for external events; virtual time does not wait for this thread
    /// meanwhile. Has no effect on threads that are not participants.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn outside<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        match self.link.here(PARTICIPANTS) {
            Ok(owner) => participant::outside(owner, work),
            // The owner is in another process, which has no participants of ours.
            Err(_) => Ok(work()),
        }
    }

    /// The card's components and parameters, and its current virtual time.
    ///
    /// # Errors
    /// The connection to the owner is broken.
    pub fn describe(&self) -> Result<(CardDescription, Picoseconds), Error> {
        let description = self.link.call(Describe)?;
        Ok((*description.card, description.now))
    }

    /// Creates an address space. It ends when the handle is dropped.
    ///
    /// # Errors
    /// [`Error::NoFreeSpace`], or the card has no memory left for its page table.
    pub fn create_space(&self) -> Result<AddressSpace, Error> {
        self.create_space_on(SpacePlacement::Anywhere)
    }

    /// Creates an address space with a frame placement: on one channel, striped over several, or isolated from those of
    /// other spaces ([`SpacePlacement::Isolated`]).
    ///
    /// # Errors
    /// As [`create_space`](Self::create_space); or the card has no such channels.
    pub fn create_space_on(&self, placement: SpacePlacement) -> Result<AddressSpace, Error> {
        self.create_space_with(SpaceOptions::new().placement(placement))
    }

    /// Creates an address space with options: frame placement, frame quota and translation mode.
    ///
    /// # Errors
    /// As [`create_space_on`](Self::create_space_on); [`Error::NoSuchTranslation`].
    pub fn create_space_with(&self, options: SpaceOptions) -> Result<AddressSpace, Error> {
        let made = self.link.call(CreateSpace { options })?;
        Ok(AddressSpace::new(self.link.clone(), made))
    }

    /// Loads the kernel of a folder into a slot, with an address space, and releases its reset.
    ///
    /// # Errors
    /// The manifest is invalid or does not match the RTL, the RTL does not compile, or there is no such slot.
    pub fn load(
        &self,
        slot: SlotId,
        folder: impl AsRef<Path>,
        space: &AddressSpace,
    ) -> Result<Slot, Error> {
        self.load_into(Some(slot), folder.as_ref(), space)
    }

    /// Loads the kernel of a folder into the first empty slot.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`Error::NoFreeSlot`].
    pub fn load_anywhere(
        &self,
        folder: impl AsRef<Path>,
        space: &AddressSpace,
    ) -> Result<Slot, Error> {
        self.load_into(None, folder.as_ref(), space)
    }

    fn load_into(
        &self,
        slot: Option<SlotId>,
        folder: &Path,
        space: &AddressSpace,
    ) -> Result<Slot, Error> {
        if !self.link.is(space.link()) {
            return Err(Error::OtherCard);
        }
        let kernel = KernelPackage::open(folder)?;
        let manifest = kernel.manifest.clone();
        let loaded = self.link.call(Load {
            slot,
            kernel: Box::new(kernel),
            space: space.id(),
        })?;
        Ok(Slot::new(self.link.clone(), loaded, space.id(), manifest))
    }

    /// Waits until one of several kernels is done, at most for `deadline` of virtual time from now. Returns its index
    /// in `slots`, the lowest if several are done; its [`join`](Slot::join) then returns the result without waiting.
    ///
    /// # Errors
    /// [`Error::NoneDone`] at the deadline, or if `slots` is empty; the kernels keep running. [`Error::SlotState`] if
    /// one is not running.
    pub fn wait_any(&self, slots: &[&Slot], deadline: Option<Picoseconds>) -> Result<usize, Error> {
        if !slots.iter().all(|slot| self.link.is(slot.link())) {
            return Err(Error::OtherCard);
        }
        let mut wait = SlicedWait::new(&self.link, deadline);
        loop {
            let slice = wait.next_slice();
            let loads = slots.iter().map(|slot| slot.load()).collect();
            match self.link.call(PollAny { loads, slice })? {
                Some(place) => return Ok(place),
                None => wait.slice_over(),
            }
            if slots.is_empty() || wait.is_over() {
                let slots = slots.len();
                let elapsed = wait.elapsed();
                return Err(Error::NoneDone { slots, elapsed });
            }
        }
    }

    /// Connects an outgoing stream port of one kernel with an incoming port of another kernel, or of the same,
    /// immediately. There is no memory between the ports, and the host moves no bytes. The ports may have different
    /// widths.
    ///
    /// # Errors
    /// [`Error::OtherCard`], [`StreamError::NoSuchPort`], [`StreamError::WrongEnd`],
    /// [`StreamError::Taken`]; [`StreamError::MidPacket`]: a packet is not over on one of them.
    ///
    /// [`StreamError::NoSuchPort`]: crate::StreamError::NoSuchPort
    /// [`StreamError::WrongEnd`]: crate::StreamError::WrongEnd
    /// [`StreamError::Taken`]: crate::StreamError::Taken
    /// [`StreamError::MidPacket`]: crate::StreamError::MidPacket
    pub fn connect(
        &self,
        from: &Slot,
        output: &str,
        to: &Slot,
        input: &str,
    ) -> Result<Connection, Error> {
        if !self.link.is(from.link()) || !self.link.is(to.link()) {
            return Err(Error::OtherCard);
        }
        let end = |slot: &Slot, port: &str| PortOf {
            load: slot.load(),
            port: port.to_owned(),
        };
        let ports = ConnectPorts {
            from: end(from, output),
            to: end(to, input),
        };
        Connection::new(self.link.clone(), ports)
    }

    /// Memory behind the directory: `bytes` from `base` on, multiples of 128. The kernel defines which addresses it
    /// serves.
    ///
    /// # Errors
    /// [`Error::CoherentRange`].
    pub fn coherent_memory(&self, base: u64, bytes: u64) -> Result<CoherentMemory, Error> {
        CoherentMemory::of_kernel(self.link.clone(), base, bytes)
    }

    /// Card memory behind the directory, without a kernel: the first `home_bytes` of the link's address range (see
    /// [`OwnerOptions`](crate::OwnerOptions)). Initially zero.
    ///
    /// # Errors
    /// [`Error::NoHomeMemory`]; a kernel serves the directory's lines ([`Error::Home`]).
    pub fn home_memory(&self) -> Result<CoherentMemory, Error> {
        CoherentMemory::of_card(self.link.clone())
    }

    /// The part of the CPU's own memory that kernels with `host_lines` ports may use: the first
    /// [`OwnerOptions::host_line_bytes`](crate::OwnerOptions::host_line_bytes) of it, initially zero. The CPU is the
    /// home of its lines; the card caches them. Kernel addresses begin at 0, like the offsets here.
    ///
    /// # Errors
    /// [`Error::NoHostLines`], or the card is not coherent.
    pub fn host_lines(&self) -> Result<CoherentMemory, Error> {
        CoherentMemory::of_cpu(self.link.clone())
    }

    /// Sets how long a kernel may hold a line of the CPU's own memory, in card cycles, before its slot is closed and
    /// the shell releases the line; 0: without limit. The default is 2^20. A hold that another access waits for is
    /// broken much sooner.
    ///
    /// # Errors
    /// As [`host_lines`](Self::host_lines).
    pub fn set_hold_patience(&self, cycles: u32) -> Result<(), Error> {
        self.link.call(SetHoldTimeout { cycles })
    }

    /// Sets the answer timeout of the kernel behind the directory, in card cycles, after which its slot is closed and
    /// the shell answers for it; 0: no timeout. The default is 2^20.
    ///
    /// # Errors
    /// The card is not coherent.
    pub fn set_home_patience(&self, cycles: u32) -> Result<(), Error> {
        self.link.call(SetHomeTimeout { cycles })
    }

    /// Disconnects (`false`) or reconnects (`true`) the cable of a network interface of a simulated card, for tests of
    /// link loss.
    ///
    /// # Errors
    /// No such interface.
    pub fn set_network_link(&self, interface: u8, up: bool) -> Result<(), Error> {
        self.link.call(SetNetworkLink { interface, up })
    }

    /// Creates a client for the process at the other end of a socket.
    ///
    /// # Errors
    /// The card is broken; it belongs to a daemon itself.
    pub fn session(&self, guest: Guest) -> Result<Session, Error> {
        Session::new(&self.link, guest)
    }

    /// Ends everything that was created through this handle and its clones: stops kernels, writes back, ends address
    /// spaces. Dropping spaces and mappings does the same, but can only log losses. The last client of the card also
    /// ends the library's threads and closes their files, even if handles remain. Shared memory stays mapped until the
    /// program drops it, but its accesses are no longer trapped.
    ///
    /// # Errors
    /// The first page that could not be written back; all others are. Other handles return [`Error::Gone`] from now on,
    /// as does a second call.
    pub fn close(&self) -> Result<(), Error> {
        self.link.close()
    }

    /// Closes the connection to a daemon abruptly, as the end of the process would; for tests of daemons.
    #[doc(hidden)]
    pub fn hang_up(&self) {
        self.link.hang_up();
    }

    /// Time spent since the card was opened, by cause; for a daemon's card, the share of this client.
    ///
    /// # Errors
    /// The card is broken.
    pub fn report(&self) -> Result<Report, Error> {
        let of = ReportOf::Card;
        self.link.call(MakeReport { of }).map(|report| *report)
    }

    /// Resources of the card by client; for a daemon's card, also process, connections, descriptors and threads of the
    /// daemon.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn status(&self) -> Result<Status, Error> {
        self.link.call(TakeStatus)
    }
}
