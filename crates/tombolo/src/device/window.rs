//! A mapped device: byte `n` of a stream is byte `n` of a mapping (FSRF §4.8, memory mode).
//!
//! **In.** A page fault of a kernel waits until the page's bytes have arrived, and so does the kernel. The device is
//! read no further than requested: there is no read-ahead. Received bytes are kept in a file in memory, since pages may
//! be evicted from the card and fetched again.
//!
//! **Out.** Bytes that kernels wrote are sent when the mapping is synced or unmapped, or when a kernel writes far ahead
//! of the stream and waits (`crates/owner/src/paging/pressure.rs`): from the first byte on and without gaps. Until then
//! they are kept, since pages arrive in any order. If the device has failed, kernels get no more pages.
//!
//! A thread of its own waits for the device, so that a silent device delays no other client.

use super::end::{End, Ending, Socket};
use super::name::Kind;
use super::{Device, DeviceError};
use file_io::{Direction, OpenFile, Transfer};
use owner::Done;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use threads::jobs::{Failure, Jobs};
use units::StreamDirection;

/// Maximum bytes per read or write.
const CHUNK: u64 = 64 << 10;

/// A device to be mapped.
#[derive(Debug)]
pub(crate) struct Source {
    socket: Arc<Socket>,
    direction: StreamDirection,
    bytes: u64,
}

impl Source {
    /// Makes all checks that do not need the other end.
    pub(crate) fn prepare(device: Device, out: bool, bytes: u64) -> Result<Self, DeviceError> {
        let unfit = |rule: &str| DeviceError::Unfit {
            device: device.name().to_string_lossy().into_owned(),
            rule: rule.to_owned(),
        };
        if matches!(device.kind, Kind::Remote { .. }) {
            return Err(unfit("remote memory is mapped by its own addresses"));
        }
        if device.is_on_network() {
            return Err(unfit(Device::NETWORK_RULE));
        }
        if device.live {
            return Err(unfit("a mapping has no packets: leave :live away"));
        }
        if device.packets.is_some() {
            return Err(unfit("a mapping has no packets: leave :packets= away"));
        }
        Ok(Self {
            socket: Socket::prepare(device)?,
            direction: if out {
                StreamDirection::Out
            } else {
                StreamDirection::In
            },
            bytes,
        })
    }
}

#[derive(Debug)]
enum Job {
    Move(Transfer),
    Send(u64),
}

/// A mapped device.
#[derive(Debug)]
pub(crate) struct Window {
    jobs: Jobs<Job>,
    /// When this is dropped, the thread stops waiting.
    _stop: UnixStream,
}

impl Window {
    /// Starts the thread. `store` keeps the bytes; `done` is called for each completed operation.
    pub(crate) fn start(
        source: Source,
        store: Arc<OpenFile>,
        done: impl Fn(Done) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let name = source.socket.device.name().to_string_lossy().into_owned();
        let work = WindowWorker {
            source,
            name,
            store,
            stop: stopped,
            end: None,
            so_far: 0,
            ended: false,
            broken: None,
            kept: BTreeMap::new(),
        };
        let work = move |inbox: &_, failure: &_| work.run(inbox, failure, done);
        let jobs = Jobs::start("tombolo-window", work)?;
        Ok(Self { jobs, _stop: stop })
    }

    /// The last failure.
    pub(crate) fn failure(&self) -> Option<String> {
        self.jobs.failure()
    }

    /// Begins to move a page.
    pub(crate) fn transfer(&self, transfer: Transfer) -> io::Result<()> {
        self.jobs.tell(Job::Move(transfer))
    }

    /// Begins to send the written bytes.
    pub(crate) fn send(&self, id: u64) -> io::Result<()> {
        self.jobs.tell(Job::Send(id))
    }
}

struct WindowWorker {
    source: Source,
    name: String,
    store: Arc<OpenFile>,
    stop: UnixStream,
    end: Option<End>,
    /// Bytes received or sent so far.
    so_far: u64,
    /// End of input.
    ended: bool,
    /// The reason why no further bytes can be sent.
    broken: Option<String>,
    /// Ranges written but not sent: start, and end (exclusive).
    kept: BTreeMap<u64, u64>,
}

impl WindowWorker {
    fn run(mut self, inbox: &Receiver<Job>, failure: &Failure, done: impl Fn(Done)) {
        // Waiting reads, by position: a stream arrives in order.
        let mut waiting: BTreeMap<(u64, u64), Transfer> = BTreeMap::new();
        loop {
            let job = match waiting.is_empty() {
                true => match inbox.recv() {
                    Ok(job) => Some(job),
                    Err(_) => break,
                },
                false => inbox.try_recv().ok(),
            };
            match job {
                Some(Job::Send(id)) => {
                    let sent = self.send();
                    done(Done::Sent(id, failure.note(sent)));
                }
                Some(Job::Move(transfer)) if transfer.direction == Direction::Write => {
                    let kept = self.keep(&transfer);
                    done(Done::Moved(transfer.id, failure.note(kept)));
                }
                Some(Job::Move(transfer)) => {
                    waiting.insert((transfer.file_offset, transfer.id.0), transfer);
                }
                None => {
                    let Some((place, transfer)) = waiting.pop_first() else {
                        continue;
                    };
                    match self.read(&transfer).transpose() {
                        Some(read) => done(Done::Moved(transfer.id, failure.note(read))),
                        None => drop(waiting.insert(place, transfer)),
                    }
                }
            }
        }
        if let Some(end) = self
            .end
            .take()
            .filter(|_| self.source.direction == StreamDirection::Out)
        {
            // All promised bytes have been sent, and reported as sent.
            let _ = end.finish(true);
        }
    }

    fn end(&mut self) -> Result<&mut End, String> {
        if self.end.is_none() {
            let stop = self.stop.try_clone().map_err(|error| error.to_string())?;
            let end = self.source.socket.open(self.source.direction, stop);
            self.end = Some(end.map_err(told)?);
        }
        self.end.as_mut().ok_or_else(|| "it is closed".to_owned())
    }

    /// Reads a page for a kernel; `None` if only part of it has arrived.
    fn read(&mut self, transfer: &Transfer) -> Result<Option<usize>, String> {
        let (offset, bytes) = (transfer.file_offset, transfer.bytes as u64);
        let comes = self.source.direction == StreamDirection::In;
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        let wanted = (offset + bytes).min(self.source.bytes);
        if comes && self.so_far < wanted && !self.ended {
            self.fetch(wanted)?;
            return Ok(None);
        }
        let there = if comes { self.so_far } else { wanted };
        let there = there.saturating_sub(offset).min(bytes);
        if there == 0 {
            return Err(format!(
                "{}: the stream has ended after {} bytes",
                self.name, self.so_far
            ));
        }
        let mut page = vec![0; transfer.bytes];
        self.stored(offset, &mut page[..there as usize])?;
        let put = transfer.memory.write(transfer.memory_offset, &page);
        put.map_err(|error| error.to_string())?;
        Ok(Some(transfer.bytes))
    }

    /// Receives bytes, at most up to a position.
    fn fetch(&mut self, wanted: u64) -> Result<(), String> {
        let mut piece = vec![0; (wanted - self.so_far).min(CHUNK) as usize];
        let read = self.end()?.read(&mut piece).map_err(told)?;
        self.ended = read == 0;
        let kept = self.store.write_all_at(&piece[..read], self.so_far);
        kept.map_err(|error| format!("{}: keeping its bytes: {error}", self.name))?;
        self.so_far += read as u64;
        Ok(())
    }

    /// Keeps the bytes that a kernel wrote.
    fn keep(&mut self, transfer: &Transfer) -> Result<usize, String> {
        let (offset, bytes) = (transfer.file_offset, transfer.bytes as u64);
        let mut page = vec![0; transfer.bytes];
        let taken = transfer.memory.read(transfer.memory_offset, &mut page);
        taken.map_err(|error| error.to_string())?;
        let gone = self.so_far.saturating_sub(offset).min(bytes) as usize;
        let mut before = vec![0; gone];
        self.stored(offset, &mut before)?;
        if before != page[..gone] {
            return Err(format!(
                "{}: bytes of the first {} have changed, and these have gone out already; a kernel writes a page of a \
                 stream before it is synced, not after it",
                self.name, self.so_far
            ));
        }
        let kept = self.store.write_all_at(&page, offset);
        kept.map_err(|error| format!("{}: keeping its bytes: {error}", self.name))?;
        if gone < transfer.bytes {
            let end = self.kept.entry(offset + gone as u64).or_default();
            *end = (*end).max(offset + bytes);
        }
        Ok(transfer.bytes)
    }

    /// Sends the kept bytes.
    fn send(&mut self) -> Result<(), String> {
        if self.source.direction == StreamDirection::In {
            return Ok(());
        }
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        if let Err(why) = self.end().map(drop) {
            self.broken = Some(why.clone());
            return Err(why);
        }
        while let Some((start, end)) = self.kept.pop_first() {
            if start > self.so_far {
                self.kept.insert(start, end);
                return Err(format!(
                    "{}: nothing was written from byte {} on, so what was written from byte {start} on cannot go out: a \
                     stream is written without gaps",
                    self.name, self.so_far
                ));
            }
            while self.so_far < end {
                let mut piece = vec![0; (end - self.so_far).min(CHUNK) as usize];
                self.stored(self.so_far, &mut piece)?;
                let sent = self.end()?.write(&piece).map_err(told);
                if let Err(why) = sent {
                    // The amount sent is unknown; no byte is sent twice.
                    self.so_far = end.max(self.so_far);
                    self.broken = Some(why.clone());
                    return Err(why);
                }
                self.so_far += piece.len() as u64;
            }
        }
        Ok(())
    }

    fn stored(&self, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        let read = self.store.read_exact_at(bytes, offset);
        read.map_err(|error| format!("{}: {error}", self.name))
    }
}

fn told(ending: Ending) -> String {
    match ending {
        Ending::Stopped => "it was unmapped meanwhile".to_owned(),
        Ending::Failed(error) => error.to_string(),
    }
}
