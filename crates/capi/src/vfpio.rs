//! `vfpio.h`: table 1 of vFPIO's paper, over the streams of the library.

use crate::handles::{self, Handle, HandleObject, OpenCard};
use crate::options::{self, ScheduleOptions};
use crate::pointers::text;
use crate::status::{with_errno, Failure, Status};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{
    AddressSpace, Card, CardName, Connection, Continue, FunctionalCard, FunctionalConfig,
    MapOptions, MappedRange, Mapping, Moved, OwnerOptions, Picoseconds, RemoteMemory, SharedMemory,
    ShellConfig, SimOptions, Slot, Stream, StreamErrorKind,
};

const RD: c_int = 1;
const WR: c_int = 2;
const ASYNC: c_int = 4;
const DEVICES: [&str; 3] = ["HOST_MEM", "FPGA_MEM", "RDMA_MEM"];
const HOST_MEM: c_int = 0;
const FPGA_MEM: c_int = 1;
const RDMA_MEM: c_int = 2;

/// The other end of a port.
enum Device {
    /// Memory of `vfpio_huge_alloc`.
    Memory { card: bool },
    /// Memory of a peer: a byte has the same offset there as in its block of `vfpio_huge_alloc`, through which it is
    /// transferred.
    Remote { peer: Arc<Mutex<RemoteMemory>> },
    /// The same over the card's own network interface, to which its ports are connected: bypasses the block and the
    /// host.
    Network,
    /// A file, and the current position.
    File { file: Mapping, at: Mutex<u64> },
    /// Another port.
    Port(Connection),
}

/// Location of `RDMA_MEM`.
#[derive(Clone)]
enum Peer {
    /// The host transfers the bytes.
    Host(Arc<Mutex<RemoteMemory>>),
    /// The card transfers them, with one connection per port: `HOST:PORT`.
    Network(String),
}

/// Prefix of an address that the card's own network interface reaches.
const NETWORK: &str = "net:";

/// The object of a dev_fd.
struct OpenDevice {
    slot: c_int,
    device: Device,
    inputs: Vec<Stream>,
    outputs: Vec<Stream>,
    waits: bool,
    /// Transfers not waited for yet, in order, with their memory unless it is a file's: those into the user logic, and
    /// those out of it.
    begun: [Mutex<VecDeque<Option<Memory>>>; 2],
    /// One thread at a time begins transfers, and one waits for them.
    begins: Mutex<()>,
    turn: Mutex<()>,
}

/// Start of a transfer's memory: a block of `vfpio_huge_alloc`, and an offset in it.
type Memory = (Arc<SharedMemory>, u64);

/// Timeout of a wait for transfers.
#[derive(Clone, Copy)]
enum WaitLimit {
    NoWait,
    /// Virtual time.
    Within(Picoseconds),
    Unlimited,
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
struct VfpioState {
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
fn state() -> MutexGuard<'static, VfpioState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unknown(dev_fd: c_int) -> Failure {
    let rule = format!("{dev_fd} is no dev_fd of vfpio_open, or it was closed");
    Failure::new(Status::Handle, rule)
}

/// Selects the card of this interface alone; the next choice is [`CardName::VARIABLE`].
const CARD: &str = "TOMBOLO_VFPIO_CARD";

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

impl VfpioState {
    /// A slot of vfpio_init. Does not open a card: without a card there is no slot.
    fn slot(&self, slot: c_int) -> Result<Handle, Failure> {
        let place = self.place.as_ref();
        let found = place.and_then(|place| place.slots.get(&slot));
        found.copied().ok_or_else(|| {
            let rule = format!("{slot} is no slot of vfpio_init, or it was released");
            Failure::new(Status::Handle, rule)
        })
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

    fn device(&self, dev_fd: c_int) -> Result<Arc<OpenDevice>, Failure> {
        let found = self.open.get(&dev_fd).map(Arc::clone);
        found.ok_or_else(|| unknown(dev_fd))
    }

    fn add(&mut self, open: OpenDevice) -> c_int {
        // As for descriptors, the first three numbers are reserved.
        let dev_fd = 3 + self.opened;
        self.opened += 1;
        self.open.insert(dev_fd, Arc::new(open));
        dev_fd
    }

    /// The memory that contains a range.
    fn range(
        &self,
        address: *const c_void,
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
}

/// The name of a stream port by its index in kernel.toml.
fn port_name(slot: &Slot, port: c_int) -> Result<String, Failure> {
    let streams = &slot.manifest().streams;
    let found = usize::try_from(port)
        .ok()
        .and_then(|port| streams.get(port));
    found.map(|port| port.name.clone()).ok_or_else(|| {
        let kernel = &slot.manifest().name;
        let count = streams.len();
        let rule = format!("kernel {kernel} has no stream port {port}; it has {count}, from 0 on");
        Failure::argument(rule)
    })
}

fn check_flag(flag: c_int) -> Result<(), Failure> {
    match flag & !ASYNC {
        RD | WR => Ok(()),
        both if both == RD | WR => Ok(()),
        _ => Err(Failure::argument(format!(
            "rw_flag is {flag}: use VFPIO_RD, VFPIO_WR, VFPIO_RDWR or ASYNC_RD, ASYNC_WR, ASYNC_RDWR"
        ))),
    }
}

/// Opens the ports that a flag selects; all of them for port -1.
fn open_ports(
    slot: &Slot,
    flag: c_int,
    port: c_int,
) -> Result<(Vec<Stream>, Vec<Stream>), Failure> {
    check_flag(flag)?;
    let named = match port {
        -1 => None,
        _ => Some(port_name(slot, port)?),
    };
    let mut inputs = Vec::new();
    let mut outputs = Vec::new();
    for stream in &slot.manifest().streams {
        let out = stream.direction == tombolo::StreamDirection::Out;
        let (side, ports) = match out {
            true => (WR, &mut outputs),
            false => (RD, &mut inputs),
        };
        let wanted = named
            .as_ref()
            .map_or(flag & side != 0, |name| *name == stream.name);
        if !wanted {
            continue;
        }
        if flag & side == 0 {
            return Err(Failure::argument(format!(
                "kernel {}, port {}: its data go {}; rw_flag says the other way",
                slot.manifest().name,
                stream.name,
                stream.direction.as_str()
            )));
        }
        ports.push(slot.open_stream(&stream.name)?);
    }
    match inputs.is_empty() && outputs.is_empty() {
        true => Err(Failure::argument(format!(
            "kernel {} has no stream port that rw_flag {flag} concerns",
            slot.manifest().name
        ))),
        false => Ok((inputs, outputs)),
    }
}

impl OpenDevice {
    /// Waits for all transfers that were begun; returns the first failure.
    fn sync(&self, limit: WaitLimit) -> Result<(), Failure> {
        let mut result = Ok(());
        for (stream, writes) in self.streams() {
            result = result.and(self.drain(stream, writes, limit).map(drop));
        }
        result
    }

    /// Its ports, each with whether it leads out of the user logic.
    fn streams(&self) -> impl Iterator<Item = (&Stream, bool)> {
        let inputs = self.inputs.iter().map(|stream| (stream, false));
        inputs.chain(self.outputs.iter().map(|stream| (stream, true)))
    }

    /// Waits for all transfers that were begun at a port; returns the bytes of the last one, or the first failure.
    /// Transfers that miss the timeout stay under way.
    fn drain(&self, stream: &Stream, writes: bool, limit: WaitLimit) -> Result<u64, Failure> {
        // The bytes go to the memory of their own transfer, whichever thread waits for it.
        let _turn = lock(&self.turn);
        let mut result = Ok(0);
        loop {
            let waited = match limit {
                WaitLimit::NoWait => stream.poll(),
                WaitLimit::Within(time) => stream.wait(Some(time), |_| Continue::Yes).map(Some),
                WaitLimit::Unlimited => stream.wait(None, |_| Continue::Yes).map(Some),
            };
            let over = match waited {
                Ok(Some(moved)) => Ok(moved),
                Ok(None) => return result,
                Err(error) => match error.stream_kind() {
                    Some(StreamErrorKind::NothingUnderWay) => return result,
                    Some(StreamErrorKind::TransferFailed) => Err(error.into()),
                    _ => return result.and(Err(error.into())),
                },
            };
            // Only the bytes that have arrived; the memory of bytes still to come is the kernel's.
            let memory = lock(&self.begun[usize::from(writes)]).pop_front().flatten();
            let over = over.and_then(|moved: Moved| match memory {
                Some(memory) if writes => self.arrived(memory, moved.bytes).map(|()| moved.bytes),
                _ => Ok(moved.bytes),
            });
            result = match (result, over) {
                (Ok(_), over) => over,
                (failed, _) => failed,
            };
        }
    }

    /// Delivers bytes from the user logic to the device.
    fn arrived(&self, (memory, offset): Memory, moved: u64) -> Result<(), Failure> {
        let peer = match &self.device {
            Device::Memory { card: false } => return Ok(memory.sync()?),
            Device::Remote { peer } if moved > 0 => peer,
            _ => return Ok(()),
        };
        memory.take(offset, moved, false)?;
        let (start, bytes) = bytes_of(&memory, offset, moved);
        // SAFETY: the transfer into it is over, and it was taken for reading.
        let bytes = unsafe { std::slice::from_raw_parts(start, bytes) };
        lock(peer).write(offset, bytes).map_err(remote)
    }

    /// Whether a transfer that was not waited for uses this memory.
    fn uses(&self, memory: &Arc<SharedMemory>) -> bool {
        self.begun.iter().any(|begun| {
            let begun = lock(begun);
            let mut used = begun.iter().flatten();
            used.any(|(used, _)| Arc::ptr_eq(used, memory))
        })
    }

    /// Begins a transfer at one of its ports.
    fn begin(
        &self,
        stream: &Stream,
        address: *const c_void,
        size: usize,
        writes: bool,
    ) -> Result<(), Failure> {
        let bytes = size as u64;
        let _one = lock(&self.begins);
        let begin = |memory, range: MappedRange| {
            // Recorded before it begins: another thread may wait for it, and find it complete.
            let begun = &self.begun[usize::from(writes)];
            lock(begun).push_back(memory);
            let (offset, bytes) = (range.offset(), range.bytes());
            let result = match (&self.device, writes) {
                (Device::Network, true) => stream.write_peer(offset, bytes),
                (Device::Network, false) => stream.read_peer(offset, bytes),
                (_, true) => stream.write(range),
                (_, false) => stream.read(range),
            };
            if result.is_err() {
                lock(begun).pop_back();
            }
            result
        };
        match &self.device {
            Device::Port(_) => {
                let rule = "this dev_fd connects two ports: there is nothing to read or write";
                return Err(Failure::argument(rule));
            }
            Device::File { file, at } => {
                if !address.is_null() {
                    let rule = "address: a file has none here, the next bytes are moved; use NULL";
                    return Err(Failure::argument(rule));
                }
                let mut at = lock(at);
                begin(None, file.slice(*at, bytes)?)?;
                *at += bytes;
                return Ok(());
            }
            Device::Memory { .. } | Device::Remote { .. } | Device::Network => {}
        }
        let (memory, range) = state().range(address, size)?;
        let offset = range.offset();
        match &self.device {
            Device::Remote { peer } if !writes => {
                memory.take(offset, bytes, true)?;
                let (start, bytes) = bytes_of(&memory, offset, bytes);
                // SAFETY: as long as no transfer uses it it is the program's, which has given it to this call.
                let bytes = unsafe { std::slice::from_raw_parts_mut(start, bytes) };
                lock(peer).read(offset, bytes).map_err(remote)?;
            }
            Device::Memory { card: true } if !writes => memory.prefetch()?,
            _ => {}
        }
        Ok(begin(Some((memory, offset)), range)?)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn transfer(
    dev_fd: c_int,
    address: *const c_void,
    size: usize,
    writes: bool,
) -> Result<usize, Failure> {
    let open = state().device(dev_fd)?;
    let (streams, way) = match writes {
        true => (&open.outputs, "out of"),
        false => (&open.inputs, "into"),
    };
    let [stream] = &streams[..] else {
        let count = streams.len();
        return Err(Failure::argument(format!(
            "dev_fd {dev_fd} has {count} ports {way} the user logic, and a transfer needs one: open them one by \
             one, by port_id, with a rw_flag that fits"
        )));
    };
    open.begin(stream, address, size, writes)?;
    if !open.waits {
        return Ok(size);
    }
    let moved = open.drain(stream, writes, WaitLimit::Unlimited)?;
    open.sync(WaitLimit::Unlimited)?;
    Ok(usize::try_from(moved).unwrap_or(size))
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_init(bitstream: *const c_void) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or a string, as the header asks.
        let folder = Path::new(unsafe { text(bitstream.cast(), "bitstream") }?);
        let mut state = state();
        let place = state.place()?;
        // The card chooses: other programs may have kernels on it.
        let slot = handles::with_card(place.card, |card| {
            Ok(card.load_anywhere(folder, &place.space)?)
        })?;
        let number = c_int::from(slot.id().0);
        let slot = handles::insert(place.card, HandleObject::Slot(Box::new(slot)))?;
        place.slots.insert(number, slot);
        Ok(number)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_release(slot_id: c_int) -> c_int {
    with_errno(-1, || {
        let mut state = state();
        let slot = state.slot(slot_id)?;
        state.place()?.slots.remove(&slot_id);
        let closed = close_slot(slot);
        state.open.retain(|_, open| open.slot != slot_id);
        closed?;
        Ok(0)
    })
}

/// Closes a slot that the program may have closed already through its handle.
fn close_slot(slot: Handle) -> Result<(), Failure> {
    match handles::with_slot(slot, |_| Ok(())) {
        Ok(()) => handles::close(slot, "slot"),
        Err(_) => Ok(()),
    }
}

#[no_mangle]
pub extern "C" fn vfpio_slot(slot_id: c_int) -> Handle {
    with_errno(Handle::NULL, || state().slot(slot_id))
}

#[no_mangle]
pub extern "C" fn vfpio_huge_alloc(data_size: usize) -> *mut u64 {
    with_errno(std::ptr::null_mut(), || {
        if data_size == 0 {
            return Err(Failure::argument("data_size is 0"));
        }
        let mut state = state();
        let memory = state.place()?.space.alloc(data_size)?;
        let start = memory.as_ptr();
        state.memory.insert(start as usize, Arc::new(memory));
        Ok(start.cast())
    })
}

#[no_mangle]
pub extern "C" fn vfpio_free(memory: *mut u64) -> c_int {
    with_errno(-1, || {
        if memory.is_null() {
            return Ok(0);
        }
        let mut state = state();
        let place = memory as usize;
        let Some(found) = state.memory.get(&place) else {
            let rule = format!("{memory:?} is not what vfpio_huge_alloc gave, or it was freed");
            return Err(Failure::argument(rule));
        };
        let mut open = state.open.iter();
        if let Some((dev_fd, _)) = open.find(|(_, open)| open.uses(found)) {
            let rule = format!(
                "a transfer at dev_fd {dev_fd} is under way in this memory: call vfpio_sync first"
            );
            return Err(Failure::new(Status::Order, rule));
        }
        state.memory.remove(&place);
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_open(
    device_type: c_int,
    rw_flag: c_int,
    slot_id: c_int,
    port_id: c_int,
) -> c_int {
    with_errno(-1, || {
        let mut state = state();
        let device = known(device_type)?;
        let given = state.substitutes[device];
        let mut network = None;
        let device = match (given, state.peer.clone()) {
            (RDMA_MEM, None) => {
                let rule = "RDMA_MEM: no peer is known; vfpio_peer names one, and vfpio_stand_in a device to be \
                            used instead";
                return Err(Failure::new(Status::Unsupported, rule));
            }
            (RDMA_MEM, Some(Peer::Host(peer))) => Device::Remote { peer },
            (RDMA_MEM, Some(Peer::Network(address))) => {
                network = Some(address);
                Device::Network
            }
            _ => Device::Memory {
                card: given == FPGA_MEM,
            },
        };
        let slot = state.slot(slot_id)?;
        let (inputs, outputs) =
            handles::with_slot(slot, |slot| open_ports(slot, rw_flag, port_id))?;
        if let Some(address) = network {
            for stream in inputs.iter().chain(&outputs) {
                let peer = RemoteMemory::connect(&address, RemoteMemory::TIMEOUT);
                stream.plug_peer(peer.map_err(remote)?)?;
            }
        }
        Ok(state.add(OpenDevice {
            slot: slot_id,
            device,
            inputs,
            outputs,
            waits: rw_flag & ASYNC == 0,
            begun: Default::default(),
            begins: Mutex::default(),
            turn: Mutex::default(),
        }))
    })
}

/// The index of a device; an error for an unknown one.
fn known(device: c_int) -> Result<usize, Failure> {
    let index = usize::try_from(device).ok();
    index.filter(|index| *index < DEVICES.len()).ok_or_else(|| {
        let names = DEVICES.join(", ");
        Failure::argument(format!("{device} is no device; there are {names}"))
    })
}

#[no_mangle]
pub extern "C" fn vfpio_stand_in(missing: c_int, instead: c_int) -> c_int {
    with_errno(-1, || {
        let (missing, _) = (known(missing)?, known(instead)?);
        state().substitutes[missing] = instead;
        Ok(0)
    })
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_peer(address: *const c_char) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or a string, as the header asks.
        let address = unsafe { text(address, "address") }?;
        let (place, on_card) = match address.strip_prefix(NETWORK) {
            Some(place) => (place, true),
            None => (address, false),
        };
        let peer = RemoteMemory::connect(place, RemoteMemory::TIMEOUT).map_err(remote)?;
        state().peer = Some(match on_card {
            true => Peer::Network(place.to_owned()),
            false => Peer::Host(Arc::new(Mutex::new(peer))),
        });
        Ok(0)
    })
}

fn remote(error: tombolo::RemoteError) -> Failure {
    tombolo::Error::from(tombolo::DeviceError::from(error)).into()
}

/// Bytes of a block of shared memory, which the program owns while no transfer uses them.
fn bytes_of(memory: &SharedMemory, offset: u64, bytes: u64) -> (*mut u8, usize) {
    // SAFETY: the range was checked when its transfer was begun.
    (
        unsafe { memory.as_ptr().add(offset as usize) },
        bytes as usize,
    )
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_open_file(
    path: *const c_char,
    rw_flag: c_int,
    slot_id: c_int,
    port_id: c_int,
    size: usize,
) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or a string, as the header asks.
        let path = Path::new(unsafe { text(path, "path") }?);
        check_flag(rw_flag)?;
        let options = match (rw_flag & !ASYNC, size as u64) {
            (RD, 0) => MapOptions::read_only(),
            (RD, size) => MapOptions::read_only().bytes(size),
            (WR, 0) => {
                return Err(Failure::argument(
                    "size is 0: say how long the file shall be",
                ))
            }
            (WR, size) => MapOptions::create(size),
            _ => {
                let rule = "a file goes one way: open it for reading and for writing by itself";
                return Err(Failure::argument(rule));
            }
        };
        let mut state = state();
        let slot = state.slot(slot_id)?;
        let (inputs, outputs) =
            handles::with_slot(slot, |slot| open_ports(slot, rw_flag, port_id))?;
        let file = state.place()?.space.map_file(path, options)?;
        Ok(state.add(OpenDevice {
            slot: slot_id,
            device: Device::File {
                file,
                at: Mutex::new(0),
            },
            inputs,
            outputs,
            waits: rw_flag & ASYNC == 0,
            begun: Default::default(),
            begins: Mutex::default(),
            turn: Mutex::default(),
        }))
    })
}

#[no_mangle]
pub extern "C" fn vfpio_connect(
    from_slot_id: c_int,
    from_port_id: c_int,
    to_slot_id: c_int,
    to_port_id: c_int,
) -> c_int {
    with_errno(-1, || {
        let mut state = state();
        let (from, to) = (state.slot(from_slot_id)?, state.slot(to_slot_id)?);
        let card = state.place()?.card;
        let connection = handles::with_slot(from, |from| {
            let output = port_name(from, from_port_id)?;
            handles::with_slot(to, |to| {
                let input = port_name(to, to_port_id)?;
                handles::with_card(card, |card| Ok(card.connect(from, &output, to, &input)?))
            })
        })?;
        Ok(state.add(OpenDevice {
            slot: from_slot_id,
            device: Device::Port(connection),
            inputs: Vec::new(),
            outputs: Vec::new(),
            waits: false,
            begun: Default::default(),
            begins: Mutex::default(),
            turn: Mutex::default(),
        }))
    })
}

#[no_mangle]
pub extern "C" fn vfpio_close(dev_fd: c_int) -> c_int {
    with_errno(-1, || {
        let open = state().device(dev_fd)?;
        // Finished transfers that were not waited for are delivered, and their result is returned.
        let mut told = open.sync(WaitLimit::NoWait);
        if open.begun.iter().any(|begun| !lock(begun).is_empty()) {
            told?;
            let rule =
                format!("a transfer at dev_fd {dev_fd} is under way: vfpio_sync waits for it");
            return Err(Failure::new(Status::Order, rule));
        }
        for (stream, _) in open.streams() {
            let Err(error) = stream.close() else {
                continue;
            };
            match error.stream_kind() {
                Some(StreamErrorKind::NotOpen) => {}
                // It is closed nevertheless.
                Some(StreamErrorKind::Unread) => told = told.and(Err(error.into())),
                _ => return Err(error.into()),
            }
        }
        match &open.device {
            Device::File { file, .. } => file.unmap()?,
            Device::Port(connection) => connection.disconnect()?,
            Device::Memory { .. } | Device::Remote { .. } | Device::Network => {}
        }
        state().open.remove(&dev_fd);
        told.map(|()| 0)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_read(dev_fd: c_int, address: *const c_void, size: usize) -> usize {
    with_errno(0, || transfer(dev_fd, address, size, false))
}

#[no_mangle]
pub extern "C" fn vfpio_write(dev_fd: c_int, address: *mut c_void, size: usize) -> usize {
    with_errno(0, || transfer(dev_fd, address.cast_const(), size, true))
}

/// More entries than a program has open: the list lacks its end.
const LONGEST_LIST: usize = 1 << 16;

/// Waits for the transfers of several dev_fds, with a timeout per port.
///
/// # Safety
/// Null, or a list that ends with -1.
unsafe fn sync(dev_fds: *const c_int, limit: WaitLimit) -> Result<c_int, Failure> {
    if dev_fds.is_null() {
        return Err(Failure::argument("dev_fds is a null pointer"));
    }
    let mut all = Vec::new();
    for index in 0..LONGEST_LIST {
        // SAFETY: not null, and as the caller promises.
        let dev_fd = unsafe { dev_fds.add(index).read() };
        if dev_fd == -1 {
            break;
        }
        all.push(state().device(dev_fd)?);
    }
    let results: Vec<_> = all.iter().map(|open| open.sync(limit)).collect();
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(0)
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_sync(dev_fds: *const c_int) -> c_int {
    // SAFETY: as the header asks.
    with_errno(-1, || unsafe { sync(dev_fds, WaitLimit::Unlimited) })
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_sync_within(dev_fds: *const c_int, deadline_ps: u64) -> c_int {
    let limit = WaitLimit::Within(Picoseconds::new(deadline_ps));
    // SAFETY: as the header asks.
    with_errno(-1, || unsafe { sync(dev_fds, limit) })
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_set_schedule(
    slot_id: c_int,
    options: *const ScheduleOptions,
) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or the caller's options, as the header asks.
        let schedule = unsafe { options::read(options) }?.schedule()?;
        let slot = state().slot(slot_id)?;
        handles::with_slot(slot, |slot| Ok(slot.set_schedule(schedule)?))?;
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_attach(card: Handle) -> c_int {
    with_errno(-1, || {
        let mut state = state();
        if state.place.is_some() {
            let rule = "there is a card already: call vfpio_detach first";
            return Err(Failure::new(Status::Order, rule));
        }
        state.place = Some(OpenedCard::new(card, true)?);
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_detach() -> c_int {
    with_errno(-1, || {
        let (place, open, memory) = {
            let mut state = state();
            let open = std::mem::take(&mut state.open);
            let memory = std::mem::take(&mut state.memory);
            (state.place.take(), open, memory)
        };
        let Some(place) = place else {
            return Err(Failure::new(Status::Unsupported, "there is no card"));
        };
        drop(open);
        for slot in place.slots.into_values() {
            close_slot(slot)?;
        }
        drop(memory);
        match place.space.close() {
            // Closed with its card.
            Ok(()) | Err(tombolo::Error::Gone { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if !place.attached {
            handles::close(place.card, "card")?;
        }
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_error() -> *const c_char {
    crate::status::tmb_last_error()
}
