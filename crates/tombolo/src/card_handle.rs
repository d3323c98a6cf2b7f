//! `Card`: what a program opens first.

use crate::behind_vfio;
use crate::link::Link;
use crate::participant::{self, Participant};
use crate::served::Served;
use crate::slot::Slot;
use crate::space::AddressSpace;
use card::kernel::KernelPackage;
use error::Error;
use file_io::FileIo;
use funcard::FunctionalCard;
use owner::message::{
    CreateSpace, Describe, Load, MakeReport, PollAny, ReportOf, SpaceOptions, TakeStatus,
};
use owner::report::Report;
use owner::{ClockMode, OwnerOptions, SLICE};
use simcard::{SimCard, SimOptions};
use std::path::Path;
use std::sync::Arc;
use units::{CardDescription, Picoseconds, SlotId, SpacePlacement};
use verilated::Progress as BuildProgress;
use wire::Status;

/// What the threads are that virtual time waits for.
const PARTICIPANTS: &str = "host threads that count (participants)";

/// A client's view of a card. Clones share it.
#[derive(Clone, Debug)]
pub struct Card {
    link: Link,
}

impl Card {
    /// Opens a card by its name: `unix:PATH`, the card of a daemon (`tombolo daemon`), shared with other programs;
    /// `vfio:0000:01:00.0?card=FILE`, a card behind Linux's vfio-pci, in real time, and a file with what its registers do
    /// not say (docs/pcie.md); `functional`; else a platform (`f1`, or its file), which is simulated. Of the last two the
    /// environment has the last word: if `TOMBOLO_CARD` is set, it is the name.
    ///
    /// # Errors
    /// [`Error::Daemon`]: nobody listens at that path, or who does refuses; the device cannot be opened, and what to do
    /// about it; as [`simulated`](Self::simulated) and [`functional`](Self::functional).
    pub fn open(name: impl AsRef<str>) -> Result<Self, Error> {
        let told = std::env::var("TOMBOLO_CARD").ok();
        let name = name_to_open(name.as_ref(), told.as_deref());
        match name.split_once(':') {
            Some(("unix", path)) => Ok(Self {
                link: Link::to_daemon(Served::connect(Path::new(path))?),
            }),
            Some(("vfio", device)) => {
                let options = OwnerOptions {
                    // Time is the world's.
                    clock: ClockMode::Free,
                    ..OwnerOptions::default()
                };
                Self::new(Box::new(behind_vfio::open(device)?), options)
            }
            _ if name == "functional" => Self::functional(FunctionalCard::new(Default::default())),
            _ => Self::simulated(SimOptions::named(name)?, Default::default(), |_| {}),
        }
    }

    /// Takes any implementation of the card contract; this process owns it.
    ///
    /// # Errors
    /// Host memory for DMA cannot be had, the card does not have the owner's page size, or its memory is
    /// too small for one page.
    pub fn new(card: Box<dyn card::Card>, options: OwnerOptions) -> Result<Self, Error> {
        Self::with_io(card, file_io::best, options)
    }

    /// As [`new`](Card::new), with file I/O of the caller's choice: `io` makes it, for each mount that files lie on.
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

    /// Opens a simulated card: the real shell RTL in virtual time. The first time, this builds the
    /// shell's model (a minute or so), which `progress` is told about; so it is of kernels later.
    ///
    /// # Errors
    /// No Verilator, RTL that does not compile, an unusable platform file.
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

    /// Opens a functional card: no RTL, no time, for kernels with a model in Rust.
    ///
    /// # Errors
    /// Host memory for DMA cannot be had, the card does not have the owner's page size, or its memory is
    /// too small for one page.
    pub fn functional(card: FunctionalCard) -> Result<Self, Error> {
        Self::new(Box::new(card), OwnerOptions::default())
    }

    /// Another client of the same card, with things of its own: what one makes, the other does not reach.
    pub fn client(&self) -> Self {
        let link = self.link.another();
        Self { link }
    }

    /// From now on every call of this client that waits asks `watch` every few hundredths of a second, on the
    /// thread that waits, whether to end; it returns [`Error::Interrupted`] then. A kernel that was waited
    /// for is stopped; anything else that was begun goes on to its end.
    pub fn interrupt_when(&self, watch: impl Fn() -> bool + Send + Sync + 'static) {
        self.link.watch(Arc::new(watch));
    }

    /// A place for a host thread that counts: virtual time passes only while every one of them waits in a
    /// call. Programs of one thread need none.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn participant(&self) -> Result<Participant, Error> {
        Participant::new(self.link.here(PARTICIPANTS)?.clone())
    }

    /// Runs something that waits for other threads or for the world; virtual time does not wait for this
    /// thread meanwhile. Without effect for threads that are no participants.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn outside<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        match self.link.here(PARTICIPANTS) {
            Ok(owner) => participant::outside(owner, work),
            // Nobody counts there.
            Err(_) => Ok(work()),
        }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// What the card is made of, and its time.
    ///
    /// # Errors
    /// The connection to the owner is broken.
    pub fn describe(&self) -> Result<(CardDescription, Picoseconds), Error> {
        let description = self.link.call(Describe)?;
        Ok((*description.card, description.now))
    }

    /// Makes an address space. It ends when the handle is dropped.
    ///
    /// # Errors
    /// [`Error::NoFreeSpace`], or no card memory for its page table.
    pub fn create_space(&self) -> Result<AddressSpace, Error> {
        self.create_space_on(SpacePlacement::Anywhere)
    }

    /// Makes an address space whose frames lie on one channel, are striped over several, or keep apart from those of
    /// other spaces ([`SpacePlacement::Isolated`]).
    ///
    /// # Errors
    /// As [`create_space`](Self::create_space); and channels that the card does not have.
    pub fn create_space_on(&self, placement: SpacePlacement) -> Result<AddressSpace, Error> {
        self.create_space_with(SpaceOptions::new().placement(placement))
    }

    /// Makes an address space with options: where its frames lie, how many there may be, and what translates.
    ///
    /// # Errors
    /// As [`create_space_on`](Self::create_space_on); [`Error::NoSuchTranslation`].
    pub fn create_space_with(&self, options: SpaceOptions) -> Result<AddressSpace, Error> {
        let made = self.link.call(CreateSpace { options })?;
        Ok(AddressSpace::new(self.link.clone(), made))
    }

    /// Puts the kernel of a folder into a slot, in a space, and releases its reset.
    ///
    /// # Errors
    /// A manifest that is wrong or does not match its RTL, RTL that does not compile, no such slot.
    pub fn load(
        &self,
        slot: SlotId,
        folder: impl AsRef<Path>,
        space: &AddressSpace,
    ) -> Result<Slot, Error> {
        self.load_into(Some(slot), folder.as_ref(), space)
    }

    /// Puts the kernel of a folder into the first slot that has none.
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

    /// Waits until one of several kernels is done, at most until `deadline` of virtual time from now. Gives
    /// its place in `slots`, the first if several are done; its [`join`](Slot::join) tells at once how it
    /// went.
    ///
    /// # Errors
    /// [`Error::NoneDone`] at the deadline, or if there is none to wait for; all go on then.
    /// [`Error::SlotState`] if one is not running.
    pub fn wait_any(&self, slots: &[&Slot], deadline: Option<Picoseconds>) -> Result<usize, Error> {
        if !slots.iter().all(|slot| self.link.is(slot.link())) {
            return Err(Error::OtherCard);
        }
        let mut elapsed = Picoseconds::ZERO;
        loop {
            let slice = deadline.map_or(SLICE, |deadline| SLICE.min(deadline - elapsed));
            let loads = slots.iter().map(|slot| slot.load()).collect();
            match self.link.call(PollAny { loads, slice })? {
                Some(place) => return Ok(place),
                None => elapsed += slice,
            }
            if slots.is_empty() || deadline.is_some_and(|deadline| elapsed >= deadline) {
                let slots = slots.len();
                return Err(Error::NoneDone { slots, elapsed });
            }
        }
    }

    /// Ends everything that was made through this handle and its clones: stops kernels, writes back, ends
    /// address spaces. Dropping spaces and mappings does the same, but can only log what was lost. With the last client
    /// of the card it ends the library's threads, and what they have open, too, whatever handles are still there. The
    /// program keeps shared memory, which nobody traps any more, until it drops it.
    ///
    /// # Errors
    /// The first page that could not be written back; all that can be is. Other handles give
    /// [`Error::Gone`] from now on, as does a second call.
    pub fn close(&self) -> Result<(), Error> {
        self.link.close()
    }

    /// Ends the connection to a daemon as the end of the process would; for tests of daemons.
    #[doc(hidden)]
    pub fn hang_up(&self) {
        self.link.hang_up();
    }

    /// Where the time went since the card was opened; of a daemon's card, what this client did with it.
    ///
    /// # Errors
    /// The card is broken.
    pub fn report(&self) -> Result<Report, Error> {
        let of = ReportOf::Card;
        self.link.call(MakeReport { of }).map(|report| *report)
    }

    /// Who uses what of the card. Of a daemon, with what its process has.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn status(&self) -> Result<Status, Error> {
        self.link.call(TakeStatus)
    }
}

/// The card to open where a program asks for one by a name, and the environment may say another.
fn name_to_open<'a>(asked: &'a str, told: Option<&'a str>) -> &'a str {
    let is_place = asked.starts_with("unix:") || asked.starts_with("vfio:");
    told.filter(|told| !told.is_empty() && !is_place)
        .unwrap_or(asked)
}

#[cfg(test)]
mod tests {
    use super::name_to_open;

    #[test]
    fn the_environment_names_the_card_unless_the_program_names_a_place() {
        assert_eq!(name_to_open("f1", None), "f1");
        assert_eq!(name_to_open("f1", Some("")), "f1");
        assert_eq!(name_to_open("functional", Some("unix:a")), "unix:a");
        assert_eq!(name_to_open("unix:b", Some("unix:a")), "unix:b");
        assert_eq!(
            name_to_open("vfio:0000:01:00.0", Some("f1")),
            "vfio:0000:01:00.0"
        );
    }
}
