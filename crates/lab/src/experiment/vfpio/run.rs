//! Transfers through a kernel, and their duration.

use super::super::Failure;
use super::{Application, ArgumentValue, Vfpio};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Instant;
use tombolo::{
    AddressSpace, Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, MappedRange,
    Mapping, MemoryNode, OwnerOptions, Picoseconds, SharedMemory, SimOptions, Slot, SlotId, Stream,
};
use units::PageSize;

/// Device that a kernel's ports are connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Card memory, with resident pages.
    Card,
    /// Program memory: pages are fetched and returned.
    Host,
}

/// Results of an application.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationOutcome {
    /// Throughput in MiB/s, card memory.
    pub card: f64,
    /// Throughput in MiB/s, host memory.
    pub host: f64,
    /// MiB/s from a peer's memory, over the card's network interface, to card memory; for a source, to the peer.
    pub network: f64,
    /// MiB/s of the same through memory ports, card memory.
    pub wired: Option<f64>,
    /// MiB/s of the kernel's model on this machine's processor, in wall-clock time.
    pub processor: f64,
}

impl ArgumentValue {
    /// The bytes in register order.
    ///
    /// # Errors
    /// The text has characters that are not hexadecimal digits.
    pub fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let digits = match self {
            Self::Number(number) => return Ok(number.to_le_bytes().to_vec()),
            Self::Bytes(digits) => digits,
        };
        let pairs = digits.as_bytes().chunks(2).map(std::str::from_utf8);
        pairs
            .map(|pair| Ok(u8::from_str_radix(pair?, 16)?))
            .collect()
    }
}

/// End point of a stream in one transfer.
enum End {
    Range(MappedRange),
    /// This many bytes of the peer that the port is connected to, from its first on.
    Peer(u64),
}

impl End {
    fn bytes(&self) -> u64 {
        match self {
            Self::Range(range) => range.bytes(),
            Self::Peer(bytes) => *bytes,
        }
    }
}

/// A kernel in slot 0 with its streams.
pub struct StreamBench<'a> {
    card: &'a Card,
    space: AddressSpace,
    slot: Slot,
    input: Option<Stream>,
    output: Stream,
    starts: bool,
}

fn folder(kernel: &str) -> PathBuf {
    simcard::home().join("kernels").join(kernel)
}

/// Bytes that compress roughly like text: words of a small set.
pub fn data(bytes: u64) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes as usize + 16);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    while (data.len() as u64) < bytes {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let word = (state >> 56).wrapping_mul(0x2545_f491_4f6c_dd1d);
        data.extend_from_slice(&word.to_le_bytes()[..3 + (state >> 61) as usize % 5]);
    }
    data.truncate(bytes as usize);
    data
}

impl<'a> StreamBench<'a> {
    /// Loads an application's kernel.
    ///
    /// # Errors
    /// The kernel does not build, or does not fit.
    pub fn new(card: &'a Card, application: &Application) -> Result<Self, Failure> {
        let mut station = Self::of(card, &application.kernel, application.source)?;
        station.starts = !application.arguments.is_empty();
        for (name, value) in &application.arguments {
            station.slot.set_bytes(name, &value.bytes()?)?;
        }
        Ok(station)
    }

    /// Loads a kernel without arguments; it has an input unless it is a source.
    fn of(card: &'a Card, kernel: &str, source: bool) -> Result<Self, Failure> {
        let space = card.create_space()?;
        let slot = card.load(SlotId(0), folder(kernel), &space)?;
        Ok(Self {
            card,
            space,
            input: (!source).then(|| slot.open_stream("in")).transpose()?,
            output: slot.open_stream("out")?,
            starts: false,
            slot,
        })
    }

    /// Address space of the kernel.
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// Sets an argument.
    ///
    /// # Errors
    /// The kernel has no argument with this name.
    pub fn set(&self, name: &str, value: u64) -> Result<(), Failure> {
        Ok(self.slot.set(name, value)?)
    }

    fn now(&self) -> Result<Picoseconds, Failure> {
        Ok(self.card.describe()?.1)
    }

    /// Transfers one packet in and one out; returns the size of the output in bytes.
    ///
    /// # Errors
    /// A transfer failed, a packet had no end, or one was truncated.
    pub fn transfer(&self, from: Option<MappedRange>, to: MappedRange) -> Result<u64, Failure> {
        self.between(from.map(End::Range), End::Range(to))
    }

    fn between(&self, from: Option<End>, to: End) -> Result<u64, Failure> {
        match to {
            End::Range(range) => self.output.write(range)?,
            End::Peer(bytes) => self.output.write_peer(0, bytes)?,
        }
        if self.starts {
            self.slot.start()?;
        }
        let wanted = from.as_ref().map(End::bytes);
        if let (Some(input), Some(from)) = (&self.input, from) {
            match from {
                End::Range(range) => input.read(range)?,
                End::Peer(bytes) => input.read_peer(0, bytes)?,
            }
        }
        let moved = self.output.wait(None, |_| Continue::Yes)?;
        if let Some(input) = &self.input {
            let taken = input.wait(None, |_| Continue::Yes)?.bytes;
            if Some(taken) != wanted {
                return Err(format!("{taken} bytes were taken of {wanted:?}").into());
            }
        }
        if self.starts {
            self.slot.wait(None, |_| Continue::Yes)?;
        }
        match moved.last {
            true => Ok(moved.bytes),
            false => Err("the packet out of the kernel does not end".into()),
        }
    }

    /// Maps an input and an output file of these sizes; pages are resident from the first transfer on.
    fn files(
        &self,
        folder: &tempfile::TempDir,
        bytes: u64,
        room: u64,
    ) -> Result<[Mapping; 2], Failure> {
        let source = folder.path().join("in");
        std::fs::write(&source, data(bytes))?;
        let from = self.space.map_file(&source, MapOptions::read_only())?;
        let result = out_of(folder, bytes);
        let to = self.space.map_file(&result, MapOptions::create(room))?;
        Ok([from, to])
    }

    /// Mean time of transfers with resident pages.
    ///
    /// # Errors
    /// As [`transfer`](Self::transfer).
    pub fn on_card(&self, bytes: u64, room: u64, transfers: u32) -> Result<Picoseconds, Failure> {
        let folder = tempfile::tempdir()?;
        let [from, to] = self.files(&folder, bytes, room)?;
        let input = || self.input.as_ref().map(|_| from.all());
        self.transfer(input(), to.all())?;
        let begins = self.now()?;
        for _ in 0..transfers {
            self.transfer(input(), to.all())?;
        }
        Ok(Picoseconds::new(
            (self.now()? - begins).get() / u64::from(transfers),
        ))
    }

    /// Time of a transfer from a peer's memory through the kernel to resident pages or, for a source, to the peer; and
    /// the output. The card has a network interface.
    ///
    /// # Errors
    /// As [`transfer`](Self::transfer).
    pub fn over_network(&self, bytes: u64, room: u64) -> Result<(Picoseconds, Vec<u8>), Failure> {
        let folder = tempfile::tempdir()?;
        let [_, to] = self.files(&folder, bytes, room)?;
        let node = MemoryNode::new(vec![0; room as usize]);
        match &self.input {
            Some(input) => input.plug_peer(MemoryNode::new(data(bytes)))?,
            None => self.output.plug_peer(node.clone())?,
        }
        let (mut time, mut came) = (Picoseconds::ZERO, 0);
        // The second run has no faults.
        for _ in 0..2 {
            let begins = self.now()?;
            came = match &self.input {
                Some(_) => self.between(Some(End::Peer(bytes)), End::Range(to.all()))?,
                None => self.between(None, End::Peer(room))?,
            };
            time = self.now()? - begins;
        }
        to.unmap()?;
        let mut made = match &self.input {
            Some(_) => std::fs::read(out_of(&folder, bytes))?,
            None => node.bytes(),
        };
        made.truncate(came as usize);
        Ok((time, made))
    }

    /// Program memory, with pages not much larger than `bytes`.
    fn memory(&self, bytes: u64) -> Result<SharedMemory, Failure> {
        let wanted = bytes.next_power_of_two().clamp(4096, 2 << 20);
        let page = PageSize::from_bytes(wanted).ok_or("no such page")?;
        Ok(self.space.alloc_untrapped(bytes as usize, page)?)
    }

    /// Mean time of transfers between program memory buffers.
    ///
    /// # Errors
    /// As [`transfer`](Self::transfer).
    pub fn on_host(&self, bytes: u64, room: u64, transfers: u32) -> Result<Picoseconds, Failure> {
        let (from, to) = (self.memory(bytes)?, self.memory(room)?);
        let words = from.slice::<std::sync::atomic::AtomicU8>();
        for (word, byte) in words.iter().zip(data(bytes)) {
            word.store(byte, std::sync::atomic::Ordering::Relaxed);
        }
        let mut sum = Picoseconds::ZERO;
        for _ in 0..transfers {
            from.take(0, bytes, true)?;
            to.take(0, room, true)?;
            let begins = self.now()?;
            let input = self.input.as_ref().map(|_| from.part(0, bytes));
            let came = self.transfer(input.transpose()?, to.part(0, room)?)?;
            to.take(0, came.max(1), false)?;
            sum += self.now()? - begins;
        }
        Ok(Picoseconds::new(sum.get() / u64::from(transfers)))
    }
}

/// Path of the output file of such a transfer.
fn out_of(folder: &tempfile::TempDir, bytes: u64) -> PathBuf {
    folder.path().join(format!("out{bytes}"))
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / f64::from(1 << 20) / seconds
}

impl Vfpio {
    /// Time of the kernel with dedicated memory ports, on resident pages; its shell has no streams.
    fn wired(&self, kernel: &str, one: &Application) -> Result<Picoseconds, Failure> {
        let options = SimOptions::named(&self.platform)?;
        let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
        let files = tempfile::tempdir()?;
        let source = files.path().join("in");
        std::fs::write(&source, data(one.bytes))?;
        let space = card.create_space()?;
        let from = space.map_file(&source, MapOptions::read_only())?;
        let to = space.map_file(files.path().join("out"), MapOptions::create(one.room))?;
        let slot = card.load(SlotId(0), folder(kernel), &space)?;
        slot.set_pointer("input", from.address())?;
        slot.set_pointer("output", to.address())?;
        slot.set("bytes", one.bytes)?;
        for (name, value) in &one.arguments {
            slot.set_bytes(name, &value.bytes()?)?;
        }
        let mut time = Picoseconds::ZERO;
        // The second run has no faults.
        for _ in 0..2 {
            let begins = card.describe()?.1;
            slot.start()?;
            slot.wait(None, |_| Continue::Yes)?;
            time = card.describe()?.1 - begins;
        }
        Ok(time)
    }

    /// Time of the kernel's model on this machine's processor, and its output.
    fn processor(&self, one: &Application) -> Result<(f64, Vec<u8>), Failure> {
        let card = FunctionalCard::new(FunctionalConfig {
            slots: 2,
            streams_per_slot: 1,
            queues: 3,
            ..FunctionalConfig::default()
        });
        let card = Card::new(Box::new(card), OwnerOptions::default())?;
        let station = StreamBench::new(&card, one)?;
        let folder = tempfile::tempdir()?;
        let [from, to] = station.files(&folder, one.bytes, one.room)?;
        let input = || station.input.as_ref().map(|_| from.all());
        station.transfer(input(), to.all())?;
        let begins = Instant::now();
        let came = station.transfer(input(), to.all())?;
        let time = begins.elapsed().as_secs_f64();
        to.unmap()?;
        let mut made = std::fs::read(out_of(&folder, one.bytes))?;
        made.truncate(came as usize);
        Ok((time, made))
    }

    /// Time over the card's network interface, on a shell that has one; the output must equal the model's.
    fn over_network(&self, one: &Application, wanted: &[u8]) -> Result<Picoseconds, Failure> {
        let mut options = self.options()?;
        options.shell.network_pairs = 1;
        let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
        let (time, made) = StreamBench::new(&card, one)?.over_network(one.bytes, one.room)?;
        match made == wanted {
            true => Ok(time),
            false => Err("over the network other bytes come out than of the model".into()),
        }
    }

    /// MiB/s of an application on card memory, and of the same kernel with dedicated memory ports.
    ///
    /// # Errors
    /// There is no such kernel, or a transfer failed.
    pub fn against_wired(&self, card: &Card, one: &Application) -> Result<(f64, f64), Failure> {
        let kernel = one.wired.as_ref().ok_or("no kernel with memory ports")?;
        let wired = self.wired(kernel, one)?.as_seconds();
        let station = StreamBench::new(card, one)?;
        let on_card = station.on_card(one.bytes, one.room, 1)?.as_seconds();
        Ok((rate(one.bytes, on_card), rate(one.bytes, wired)))
    }

    /// Runs an application on both devices, through memory ports if there is such a kernel, and on the processor.
    ///
    /// # Errors
    /// A transfer failed.
    pub fn run(&self, card: &Card, one: &Application) -> Result<ApplicationOutcome, Failure> {
        let wired = match &one.wired {
            Some(kernel) => Some(self.wired(kernel, one)?.as_seconds()),
            None => None,
        };
        let station = StreamBench::new(card, one)?;
        let on_card = station.on_card(one.bytes, one.room, 1)?;
        let on_host = station.on_host(one.bytes, one.room, 1)?;
        let (processor, made) = self.processor(one)?;
        let network = self.over_network(one, &made)?;
        Ok(ApplicationOutcome {
            network: rate(one.bytes, network.as_seconds()),
            card: rate(one.bytes, on_card.as_seconds()),
            host: rate(one.bytes, on_host.as_seconds()),
            wired: wired.map(|seconds| rate(one.bytes, seconds)),
            processor: rate(one.bytes, processor),
        })
    }

    /// Figure 7: the kernel of perf-host and perf-fpga, in card cycles, by size.
    ///
    /// # Errors
    /// A transfer failed.
    pub fn latency(&self, card: &Card, device: Device) -> Result<Vec<f64>, Failure> {
        let clock = card.describe()?.0.clock_period.as_seconds();
        let station = StreamBench::of(card, "perf_stream", false)?;
        let times = self.sizes.iter().map(|&bytes| {
            let time = match device {
                Device::Card => station.on_card(bytes, bytes, self.transfers)?,
                Device::Host => station.on_host(bytes, bytes, self.transfers)?,
            };
            Ok(time.as_seconds() / clock)
        });
        times.collect()
    }
}
