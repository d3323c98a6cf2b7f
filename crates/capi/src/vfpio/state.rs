//! State of the interface: the card, its slots, the memory and the open dev_fds of the process.

use super::device::{remote, Device, OpenDevice};
use super::ports::{Flag, Ports};
use crate::handles::{self, Handle, HandleObject, OpenCard};
use crate::status::{Failure, Status};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{
    AddressSpace, Card, CardName, FunctionalCard, FunctionalConfig, MappedRange, OwnerOptions,
    RemoteMemory, SharedMemory, ShellConfig, SimOptions,
};

const DEVICES: [&str; 3] = ["HOST_MEM", "FPGA_MEM", "RDMA_MEM"];
const HOST_MEM: c_int = 0;
const FPGA_MEM: c_int = 1;
const RDMA_MEM: c_int = 2;

/// Prefix of an address that the card's own network interface reaches.
const NETWORK: &str = "net:";

/// Selects the card of this interface alone; the next choice is [`CardName::VARIABLE`].
const CARD: &str = "TOMBOLO_VFPIO_CARD";

/// Location of `RDMA_MEM`.
#[derive(Clone)]
pub(super) enum Peer {
    /// The host transfers the bytes.
    Host(Arc<Mutex<RemoteMemory>>),
    /// The card transfers them, with one connection per port: `HOST:PORT`.
    Network(String),
}

/// The card that the calls use.
struct OpenedCard {
    card: Handle,
    attached: bool,
    space: AddressSpace,
    /// Handles, so that programs can set arguments and start kernels with the calls of tombolo.h.
    slots: BTreeMap<c_int, Handle>,
}

/// State of this interface, one per process as in the paper.
pub(super) struct VfpioState {
    place: Option<OpenedCard>,
    open: BTreeMap<c_int, Arc<OpenDevice>>,
    opened: c_int,
    memory: BTreeMap<usize, Arc<SharedMemory>>,
    /// Location of `RDMA_MEM`.
    peer: Option<Peer>,
    /// By device: its substitute.
    substitutes: [c_int; 3],
}

static STATE: Mutex<VfpioState> = Mutex::new(VfpioState {
    place: None,
    open: BTreeMap::new(),
    opened: 0,
    memory: BTreeMap::new(),
    peer: None,
    substitutes: [HOST_MEM, FPGA_MEM, RDMA_MEM],
});

/// The state; not to be held across a wait for a kernel.
pub(super) fn state() -> MutexGuard<'static, VfpioState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VfpioState {
    /// Loads the kernel of a folder; its slot.
    pub(super) fn load(&mut self, folder: &Path) -> Result<c_int, Failure> {
        let place = self.place()?;
        // The card chooses: other programs may have kernels on it.
        let slot = handles::with_card(place.card, |card| {
            Ok(card.load_anywhere(folder, &place.space)?)
        })?;
        let number = c_int::from(slot.id().0);
        let slot = handles::insert(place.card, HandleObject::Slot(Box::new(slot)))?;
        place.slots.insert(number, slot);
        Ok(number)
    }

    /// Closes a slot and the dev_fds of its ports.
    pub(super) fn release(&mut self, slot: c_int) -> Result<(), Failure> {
        let handle = self.slot(slot)?;
        self.place()?.slots.remove(&slot);
        let closed = close_slot(handle);
        self.open.retain(|_, open| open.slot() != slot);
        closed
    }

    /// A slot of vfpio_init. Does not open a card: without a card there is no slot.
    pub(super) fn slot(&self, slot: c_int) -> Result<Handle, Failure> {
        let place = self.place.as_ref();
        let found = place.and_then(|place| place.slots.get(&slot));
        found.copied().ok_or_else(|| {
            let rule = format!("{slot} is no slot of vfpio_init, or it was released");
            Failure::new(Status::Handle, rule)
        })
    }

    /// Opens the ports of a slot that a flag selects.
    pub(super) fn ports(&self, slot: c_int, flag: Flag, port: c_int) -> Result<Ports, Failure> {
        handles::with_slot(self.slot(slot)?, |slot| Ports::open(slot, flag, port))
    }

    /// The card's handle; opens the card if there is none.
    pub(super) fn card(&mut self) -> Result<Handle, Failure> {
        Ok(self.place()?.card)
    }

    /// The address space of all slots; opens the card if there is none.
    pub(super) fn space(&mut self) -> Result<&AddressSpace, Failure> {
        Ok(&self.place()?.space)
    }

    /// The card; opened if there is none.
    fn place(&mut self) -> Result<&mut OpenedCard, Failure> {
        if self.place.is_none() {
            let card = OpenCard::new(open_card(self.peer.as_ref())?, None);
            let card = handles::insert_card(card);
            let place = OpenedCard::new(card, false);
            // The handle was not given out yet.
            let place = place.or_else(|why| handles::close(card, "card").and(Err(why)))?;
            self.place = Some(place);
        }
        let rule = "no card is open";
        let place = self.place.as_mut();
        place.ok_or_else(|| Failure::new(Status::Order, rule))
    }

    /// Uses a card that the program has opened.
    pub(super) fn attach(&mut self, card: Handle) -> Result<(), Failure> {
        if self.place.is_some() {
            let rule = "there is a card already: call vfpio_detach first";
            return Err(Failure::new(Status::Order, rule));
        }
        self.place = Some(OpenedCard::new(card, true)?);
        Ok(())
    }

    /// Removes everything that is open, to be closed without the state.
    pub(super) fn take(&mut self) -> Result<Opened, Failure> {
        let none = || Failure::new(Status::Unsupported, "there is no card");
        Ok(Opened {
            card: self.place.take().ok_or_else(none)?,
            devices: std::mem::take(&mut self.open),
            memory: std::mem::take(&mut self.memory),
        })
    }

    /// Adds a block of memory; its first byte.
    pub(super) fn alloc(&mut self, bytes: usize) -> Result<*mut u8, Failure> {
        let memory = self.space()?.alloc(bytes)?;
        let start = memory.as_ptr();
        self.memory.insert(start as usize, Arc::new(memory));
        Ok(start)
    }

    /// Frees a block of memory by its first byte.
    pub(super) fn free(&mut self, start: *const u8) -> Result<(), Failure> {
        let place = start as usize;
        let Some(found) = self.memory.get(&place) else {
            let rule = format!("{start:?} is not what vfpio_huge_alloc gave, or it was freed");
            return Err(Failure::argument(rule));
        };
        let mut open = self.open.iter();
        if let Some((dev_fd, _)) = open.find(|(_, open)| open.uses(found)) {
            let rule = format!(
                "a transfer at dev_fd {dev_fd} is under way in this memory: call vfpio_sync first"
            );
            return Err(Failure::new(Status::Order, rule));
        }
        self.memory.remove(&place);
        Ok(())
    }

    /// The memory that contains a range.
    pub(super) fn range(
        &self,
        address: *const u8,
        size: usize,
    ) -> Result<(Arc<SharedMemory>, MappedRange), Failure> {
        let at = address as usize;
        let found = self.memory.range(..=at).next_back();
        let inside = found.filter(|(start, memory)| at - **start < memory.len());
        let Some((start, memory)) = inside else {
            let rule = format!("{at:#x} is no address in memory of vfpio_huge_alloc");
            return Err(Failure::argument(rule));
        };
        let range = memory.part((at - start) as u64, size as u64)?;
        Ok((memory.clone(), range))
    }

    /// The object of a dev_fd.
    pub(super) fn device(&self, dev_fd: c_int) -> Result<Arc<OpenDevice>, Failure> {
        let found = self.open.get(&dev_fd).map(Arc::clone);
        found.ok_or_else(|| {
            let rule = format!("{dev_fd} is no dev_fd of vfpio_open, or it was closed");
            Failure::new(Status::Handle, rule)
        })
    }

    /// Adds an object; its dev_fd.
    pub(super) fn add(&mut self, open: OpenDevice) -> c_int {
        // As for descriptors, the first three numbers are reserved.
        let dev_fd = 3 + self.opened;
        self.opened += 1;
        self.open.insert(dev_fd, Arc::new(open));
        dev_fd
    }

    pub(super) fn remove(&mut self, dev_fd: c_int) {
        self.open.remove(&dev_fd);
    }

    /// The device of an `IODev`, or its substitute.
    pub(super) fn named(&self, device: c_int) -> Result<Device, Failure> {
        let substitute = self.substitutes[known(device)?];
        match (substitute, self.peer.clone()) {
            (RDMA_MEM, None) => {
                let rule = "RDMA_MEM: no peer is known; vfpio_peer names one, and vfpio_stand_in a device to be \
                            used instead";
                Err(Failure::new(Status::Unsupported, rule))
            }
            (RDMA_MEM, Some(Peer::Host(peer))) => Ok(Device::Remote { peer }),
            (RDMA_MEM, Some(Peer::Network(address))) => Ok(Device::Network { address }),
            _ => Ok(Device::Memory {
                card: substitute == FPGA_MEM,
            }),
        }
    }

    pub(super) fn substitute(&mut self, missing: c_int, instead: c_int) -> Result<(), Failure> {
        let (missing, _) = (known(missing)?, known(instead)?);
        self.substitutes[missing] = instead;
        Ok(())
    }

    /// Names the peer whose memory `RDMA_MEM` is.
    pub(super) fn set_peer(&mut self, peer: Peer) {
        self.peer = Some(peer);
    }
}

impl Peer {
    /// Connects to a peer, to learn that it is there.
    pub(super) fn connect(address: &str) -> Result<Self, Failure> {
        let on_card = address.strip_prefix(NETWORK);
        let place = on_card.unwrap_or(address);
        let peer = RemoteMemory::connect(place, RemoteMemory::TIMEOUT).map_err(remote)?;
        Ok(match on_card {
            Some(place) => Self::Network(place.to_owned()),
            None => Self::Host(Arc::new(Mutex::new(peer))),
        })
    }
}

impl OpenedCard {
    fn new(card: Handle, attached: bool) -> Result<Self, Failure> {
        let space = handles::with_card(card, |card| Ok(card.create_space()?))?;
        Ok(Self {
            card,
            attached,
            space,
            slots: BTreeMap::new(),
        })
    }
}

/// Everything that was open.
pub(super) struct Opened {
    card: OpenedCard,
    devices: BTreeMap<c_int, Arc<OpenDevice>>,
    memory: BTreeMap<usize, Arc<SharedMemory>>,
}

impl Opened {
    pub(super) fn close(self) -> Result<(), Failure> {
        drop(self.devices);
        for slot in self.card.slots.into_values() {
            close_slot(slot)?;
        }
        drop(self.memory);
        match self.card.space.close() {
            // Closed with its card.
            Ok(()) | Err(tombolo::Error::Gone { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        match self.card.attached {
            true => Ok(()),
            false => handles::close(self.card.card, "card"),
        }
    }
}

/// Closes a slot that the program may have closed already through its handle.
fn close_slot(slot: Handle) -> Result<(), Failure> {
    match handles::with_slot(slot, |_| Ok(())) {
        Ok(()) => handles::close(slot, "slot"),
        Err(_) => Ok(()),
    }
}

/// Opens the card that the environment names.
fn open_card(peer: Option<&Peer>) -> Result<Card, Failure> {
    let named =
        CardName::from_environment(CARD).or_else(|| CardName::from_environment(CardName::VARIABLE));
    let platform = match named {
        Some(name) if name.is_external() => return Ok(Card::open(name.to_string())?),
        Some(CardName::Functional) => {
            let config = FunctionalConfig {
                slots: 4,
                queues: 5,
                streams_per_slot: 2,
                ..FunctionalConfig::default()
            };
            return Ok(Card::functional(FunctionalCard::new(config))?);
        }
        Some(name) => name.to_string(),
        None => "u280".to_owned(),
    };
    let mut options = SimOptions::named(&platform).map_err(tombolo::Error::from)?;
    options.shell = ShellConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        network_pairs: u8::from(matches!(peer, Some(Peer::Network(_)))),
        ..ShellConfig::default()
    };
    Ok(Card::simulated(options, OwnerOptions::default(), |_| {})?)
}

/// The index of a device; an error for an unknown one.
fn known(device: c_int) -> Result<usize, Failure> {
    let index = usize::try_from(device).ok();
    index.filter(|index| *index < DEVICES.len()).ok_or_else(|| {
        let names = DEVICES.join(", ");
        Failure::argument(format!("{device} is no device; there are {names}"))
    })
}
