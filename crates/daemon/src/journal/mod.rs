//! A daemon's journal: what its clients sent and where the owner took it, so that it can be replayed.
//!
//! Clients' threads and the owner's thread append entries to a queue; a thread writes them. The owner's thread never
//! waits; clients' threads wait while the queue is long. A journal that cannot be written ends, and the daemon goes on.

mod entry;
pub(crate) mod files;
mod read;

pub(crate) use entry::checksum;
pub use entry::{
    FileEntry, Header, JournalEntry, Passed, ReportEntry, RequestEntry, Rights, Taken, TenantEntry,
    FORMAT,
};
pub use read::{Cut, JournalError, JournalReader};

use entry::Chain;
use files::{Files, Will};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tombolo::serving::{
    Arrival, Arrivals, AsideWork, Input, InputPlace, Inputs, RecordInputs, Tenant,
};
use tombolo::{Picoseconds, Report};
use wire::{ClientId, Failure, Message};

/// Entries in the queue above which clients' threads wait.
const LONG: usize = 16 << 10;
/// Entries in the queue above which the journal ends: the owner's thread cannot wait.
const TOO_LONG: usize = 1 << 20;

#[derive(Default)]
struct Queue {
    entries: VecDeque<JournalEntry>,
    /// Nothing more is accepted.
    ended: bool,
    /// The writer is to end when the queue is empty.
    closing: bool,
}

#[derive(Default)]
struct EntryQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl EntryQueue {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an entry without waiting.
    fn push(&self, entry: JournalEntry) {
        let mut queue = self.queue();
        if queue.ended {
            return;
        }
        if queue.entries.len() >= TOO_LONG {
            let why = format!("{TOO_LONG} entries waited to be written: the storage is too slow");
            tracing::error!(why, "the journal ends here");
            queue.entries.push_back(JournalEntry::Stopped(why));
            queue.ended = true;
        } else {
            queue.entries.push_back(entry);
        }
        self.changed.notify_all();
    }

    /// Appends an entry when there is room.
    fn push_in_turn(&self, entry: JournalEntry) {
        let mut queue = self.queue();
        while queue.entries.len() >= LONG && !queue.ended {
            let woken = self.changed.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
        drop(queue);
        self.push(entry);
    }

    /// Writes entries until the journal is closed.
    fn write(&self, mut file: File, path: &Path) {
        let mut chain = Chain::default();
        loop {
            let mut queue = self.queue();
            while queue.entries.is_empty() && !queue.closing {
                let woken = self.changed.wait(queue);
                queue = woken.unwrap_or_else(PoisonError::into_inner);
            }
            if queue.entries.is_empty() {
                return;
            }
            let entries = std::mem::take(&mut queue.entries);
            drop(queue);
            self.changed.notify_all();
            let mut text = Vec::new();
            for entry in &entries {
                match entry::line(&mut chain, entry) {
                    Ok(line) => text.extend_from_slice(&line),
                    Err(error) => return self.fail(path, &io::Error::other(error)),
                }
            }
            if let Err(error) = file.write_all(&text) {
                return self.fail(path, &error);
            }
        }
    }

    fn fail(&self, path: &Path, error: &io::Error) {
        tracing::error!(%error, path = %path.display(), "writing the journal: it ends here");
        let mut queue = self.queue();
        queue.ended = true;
        queue.entries.clear();
        self.changed.notify_all();
    }
}

/// A journal that is being written.
pub struct Journal {
    shared: Arc<EntryQueue>,
    path: PathBuf,
    file: Mutex<Option<File>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Folder for copies of files.
    data: Option<PathBuf>,
    files: Mutex<Files>,
    numbers: Mutex<BTreeMap<ClientId, u64>>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Journal").field(&self.path).finish()
    }
}

/// Receives the owner's inputs.
struct Recorder(Arc<EntryQueue>);

impl RecordInputs for Recorder {
    fn taken(&mut self, place: InputPlace, now: Picoseconds, input: Input) {
        let taken = match input {
            Input::Begin(id, name) => Taken::Begin(id.client.0, id.ticket, name.to_owned()),
            Input::Cancel(id) => Taken::Cancel(id.client.0, id.ticket),
            Input::Ended(client) => Taken::Ended(client.0),
            Input::Forget(client) => Taken::Forget(client.0),
            Input::Done(AsideWork::Moved(id)) => Taken::Moved(id),
            Input::Done(AsideWork::Durable(id)) => Taken::Durable(id),
            Input::Done(AsideWork::Worked(id)) => Taken::Worked(id),
            Input::Rung => Taken::Rung,
            Input::Timeout => Taken::Timeout,
        };
        self.0
            .push(JournalEntry::In(place.round, place.idle, now.get(), taken));
    }
}

/// A request, until it is known whether the owner gets it.
struct Looked {
    number: u64,
    message: Message,
    passed: Vec<Passed>,
}

impl Journal {
    /// Creates a journal file, which must not exist. With `data`, a folder, contents of clients' files are copied there.
    ///
    /// # Errors
    /// The file exists, or the system refuses.
    pub fn create(path: &Path, data: Option<&Path>) -> Result<Arc<Self>, JournalError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::File { path, source }
        };
        if let Some(folder) = data {
            std::fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        let file = File::create_new(path).map_err(failed(path))?;
        Ok(Arc::new(Self {
            shared: Arc::default(),
            path: path.to_owned(),
            file: Mutex::new(Some(file)),
            writer: Mutex::default(),
            data: data.map(Path::to_owned),
            files: Mutex::default(),
            numbers: Mutex::default(),
        }))
    }

    /// The option of an owner whose inputs are recorded. For one owner.
    pub fn inputs(&self) -> Inputs {
        Inputs::recorded(Recorder(self.shared.clone()))
    }

    /// Begins to write, with the header first, then the entries recorded so far.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn begin(&self, header: Header) -> Result<(), JournalError> {
        let shared = self.shared.clone();
        shared
            .queue()
            .entries
            .push_front(JournalEntry::Header(header));
        let file = self
            .file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(file) = file else {
            return Ok(());
        };
        let path = self.path.clone();
        let failed = |source| JournalError::File {
            path: self.path.clone(),
            source,
        };
        let writer = threads::spawn("tombolo-journal", move || shared.write(file, &path));
        let writer = writer.map_err(|error| failed(io::Error::other(error.to_string())))?;
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(())
    }

    /// Appends an entry, for tests of replays.
    #[doc(hidden)]
    pub fn append(&self, entry: JournalEntry) {
        self.shared.push_in_turn(entry);
    }

    /// Appends the daemon's last report, and ends the journal.
    pub fn end(&self, report: Option<&Report>) {
        if let Some(report) = report {
            let time = report.time.get();
            let hash = report.hash();
            self.shared
                .push(JournalEntry::Report(ReportEntry { hash, time }));
        }
        let mut queue = self.shared.queue();
        (queue.ended, queue.closing) = (true, true);
        drop(queue);
        self.shared.changed.notify_all();
        let writer = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A panic there is in the log.
        drop(writer.map(JoinHandle::join));
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Describes a passed descriptor. A file's content is read, on the client's thread.
    fn passed(
        &self,
        client: ClientId,
        message: &Message,
        descriptor: &OwnedFd,
    ) -> io::Result<Passed> {
        match message {
            Message::ShareDescriptor(_) | Message::ShareTrapped(_) => return Ok(Passed::Memory),
            Message::LoadFolder(_) => {
                let folder = tombolo::serving::path_of_folder(descriptor);
                let folder = folder.map_err(|error| io::Error::other(error.to_string()))?;
                let identity = tombolo::serving::identity_of_kernel(&folder);
                let identity = identity.map_err(|error| io::Error::other(error.to_string()))?;
                return Ok(Passed::Kernel(folder.display().to_string(), identity));
            }
            _ => {}
        }
        let file = File::from(descriptor.try_clone()?);
        let rights = files::rights(&file)?;
        if !file.metadata()?.is_file() {
            return Ok(Passed::Other);
        }
        let will = match message {
            Message::MapDescriptor(map) => Will {
                write: map.options.write && rights.write,
                replace: map.options.create.is_some() && rights.write,
            },
            _ => Will {
                write: false,
                replace: false,
            },
        };
        let data = self.data.as_deref();
        let mut files = self.files();
        let (number, entry) = files.pass(client.0, descriptor, will, data)?;
        // Under the lock: another client's request that names this file comes after it.
        if let Some(entry) = entry {
            self.shared.push_in_turn(JournalEntry::File(entry));
        }
        Ok(Passed::File(number, rights))
    }
}

impl Arrivals for Journal {
    fn opened(&self, client: ClientId, tenant: Option<&Tenant>) {
        let tenant = tenant.map(|tenant| TenantEntry {
            name: tenant.name.clone(),
            quota: [
                tenant.quota.slots,
                tenant.quota.spaces,
                tenant.quota.mappings,
                tenant.quota.card_bytes,
            ],
        });
        self.shared
            .push_in_turn(JournalEntry::Opened(client.0, tenant));
    }

    fn look(&self, client: ClientId, message: &Message, descriptors: &[OwnedFd]) -> Arrival {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let number = numbers.entry(client).or_default();
        *number += 1;
        let number = *number;
        drop(numbers);
        let passed = descriptors.iter().map(|descriptor| {
            let passed = self.passed(client, message, descriptor);
            passed.unwrap_or_else(|error| {
                tracing::warn!(%error, request = message.name(), "a file is not in the journal");
                Passed::Other
            })
        });
        let looked = Looked {
            number,
            message: message.clone(),
            passed: passed.collect(),
        };
        let record = Box::new(looked);
        Arrival { number, record }
    }

    fn begins(&self, client: ClientId, ticket: u64, arrival: Arrival) {
        let Ok(looked) = arrival.record.downcast::<Looked>() else {
            return;
        };
        self.shared
            .push_in_turn(JournalEntry::Request(RequestEntry {
                client: client.0,
                number: looked.number,
                ticket,
                message: looked.message,
                passed: looked.passed,
            }));
    }

    fn replied(&self, client: ClientId, number: u64, reply: Result<&[u8], &Failure>) {
        let sum = sum_of(reply);
        self.shared
            .push_in_turn(JournalEntry::Reply(client.0, number, sum));
    }

    fn closing(&self, client: ClientId) {
        self.shared.push_in_turn(JournalEntry::Closing(client.0));
    }

    fn closed(&self, client: ClientId) {
        self.numbers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&client);
        let mut files = self.files();
        for (file, content) in files.closed(client.0) {
            match content {
                Ok(content) => {
                    let hash = content.hash();
                    self.shared
                        .push_in_turn(JournalEntry::Written(file, content.bytes, hash));
                }
                Err(error) => tracing::warn!(%error, file, "a written file is not in the journal"),
            }
        }
    }
}

/// Checksum of a reply.
pub(crate) fn sum_of(reply: Result<&[u8], &Failure>) -> String {
    match reply {
        Ok(bytes) => checksum(bytes),
        Err(failure) => {
            // Text and numbers, which always serialize.
            let mut bytes = b"failure ".to_vec();
            bytes.extend(wire::encode(failure).unwrap_or_default());
            checksum(&bytes)
        }
    }
}
