//! Entries of a journal, and their lines.
//!
//! A line is a checksum of 16 hexadecimal digits, a blank, and the entry as JSON. The checksum covers the entry and all
//! lines before it, so a changed, lost or moved line is found where it is.

use serde::{Deserialize, Serialize};
use wire::Message;

/// Format of journals. Another number means that this version cannot read them.
pub const FORMAT: u32 = 1;

/// First entry: version and card of the recording daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// Version of the messages.
    pub messages: String,
    /// Configuration of the card, to open it again.
    pub card: serde_json::Value,
    /// Properties of the card that must be equal for a replay, by name: its shape, the platform, the shell.
    pub same: Vec<(String, String)>,
}

impl Header {
    /// A header of this version.
    pub fn new(card: serde_json::Value, same: Vec<(String, String)>) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            messages: wire::Version::THIS.to_string(),
            card,
            same,
        }
    }
}

/// A tenant with its quota.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantEntry {
    /// Unique among tenants.
    pub name: String,
    /// Maximum number of slots, spaces, mappings, and bytes of card memory.
    pub quota: [Option<u64>; 4],
}

/// Content of a file when a client passed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Number of the file in this journal.
    pub file: u64,
    /// Its path, as the daemon saw it.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the content; `None`: zeros without storage.
    pub hash: Option<String>,
    /// Name of the copy in the folder of `--journal-data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
}

/// A descriptor that came with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Passed {
    /// A regular file, with its number and the rights of the descriptor.
    File(u64, Rights),
    /// A kernel's folder and the kernel's identity.
    Kernel(String, u64),
    /// Memory of the client.
    Memory,
    /// No regular file.
    Other,
}

/// Rights of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// It may read.
    pub read: bool,
    /// It may write.
    pub write: bool,
    /// Its writes go to the end of the file.
    pub append: bool,
}

/// A request of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestEntry {
    /// Sender, by its identifier at the owner.
    pub client: u64,
    /// Number of the request among those of the client.
    pub number: u64,
    /// The client's ticket.
    pub ticket: u64,
    /// Body, as sent.
    pub message: Message,
    /// Descriptors, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<Passed>,
}

/// An input that the owner took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Taken {
    /// A request: client, ticket, name.
    Begin(u64, u64, String),
    /// A request is not awaited any more: client, ticket.
    Cancel(u64, u64),
    /// The last handle of a client is gone.
    Ended(u64),
    /// A client sends nothing more.
    Forget(u64),
    /// Bytes have moved between a file and memory.
    Moved(u64),
    /// A file is on storage.
    Durable(u64),
    /// Other work on another thread is complete.
    Worked(u64),
    /// A message interrupted the card.
    Rung,
    /// A file system did not answer in real time.
    Timeout,
}

/// The report at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportEntry {
    /// Its hash, which is equal on every machine.
    pub hash: String,
    /// Virtual time, in picoseconds.
    pub time: u64,
}

/// An entry of a journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum JournalEntry {
    /// Version and card.
    Header(Header),
    /// A client has come.
    Opened(u64, Option<TenantEntry>),
    /// A file that a client passes, as it is now.
    File(FileEntry),
    /// A client's request goes to the owner.
    Request(RequestEntry),
    /// The owner's thread took an input: round of its loop, whether it was idle, virtual time in picoseconds, input.
    In(u64, bool, u64, Taken),
    /// A reply was sent: client, number of the request, checksum.
    Reply(u64, u64, String),
    /// A client ends.
    Closing(u64),
    /// Size and SHA-256 of a file that a client wrote, after the client's end.
    Written(u64, u64, String),
    /// The daemon's report when it stopped.
    Report(ReportEntry),
    /// Nothing more was recorded, because of this.
    Stopped(String),
}

/// Checksum of the lines so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(u64);

impl Default for Chain {
    fn default() -> Self {
        // FNV-1a, 64 bits.
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Chain {
    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    pub(crate) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Checksum of some bytes.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    let mut chain = Chain::default();
    chain.add(bytes);
    chain.hex()
}

/// The line of an entry.
///
/// # Errors
/// None: entries have text, numbers and lists.
pub(crate) fn line(chain: &mut Chain, entry: &JournalEntry) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(entry)?;
    chain.add(&json);
    let mut line = format!("{} ", chain.hex()).into_bytes();
    line.extend_from_slice(&json);
    line.push(b'\n');
    Ok(line)
}
