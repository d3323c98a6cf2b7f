//! Messages of fixed sizes, little-endian:
//!
//! | | bytes | |
//! |---|---|---|
//! | hello | 32 | server, first: magic 8, version 4, flags 4 (1: writable; 2: no room for another client, the end), size 8, key 8 |
//! | request | 64 | client: magic 4, operation 4, tag 8, key 8, offset 8, length 4, zero 28; behind a write its bytes |
//! | reply | 64 | server: magic 4, status 4, tag 8, length 4, zero 44; behind a good read its bytes |
//!
//! Heads have the size of a cache line, so that the payload behind them is aligned in the system's buffers as in
//! memory: otherwise each copy of 64 KiB takes a tenth longer.
//!
//! A request for libfabric is followed by the name of a provider. Its reply is followed by key 8, address of the first
//! byte 8, and the endpoint's name; or by the reason of the failure. Data then moves by one-sided accesses, and the
//! connection only carries `Work` messages of the client (no length, no reply) and shows that both sides are alive.
//!
//! Replies come in the order of the requests. The key is new for each connection, so that messages for another
//! connection are refused.

/// Maximum bytes of a request.
pub(super) const LARGEST: u32 = 1 << 20;
/// Maximum bytes of the reply to a request for libfabric.
pub(super) const LARGEST_TICKET: u32 = 1024;
pub(super) const VERSION: u32 = 2;

const HELLO: u64 = u64::from_le_bytes(*b"tombolo\x01");
const REQUEST: u32 = u32::from_le_bytes(*b"TMRQ");
const REPLY: u32 = u32::from_le_bytes(*b"TMRP");
const WRITABLE: u32 = 1;
const FULL: u32 = 2;

/// First message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) writable: bool,
    /// The server has no room for this client, and closes the connection.
    pub(super) full: bool,
    pub(super) bytes: u64,
    pub(super) key: u64,
}

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Read = 1,
    Write = 2,
    /// Use libfabric from now on.
    Fabric = 3,
    /// The client works: libfabric must make progress.
    Work = 4,
}

/// Head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestHeader {
    pub(super) operation: Operation,
    pub(super) tag: u64,
    pub(super) key: u64,
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

/// Status of a completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Good = 0,
    OutOfRange = 1,
    ReadOnly = 2,
    WrongKey = 3,
    Storage = 4,
    /// Libfabric is unavailable; the reason follows.
    NoFabric = 5,
}

/// Head of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyHeader {
    pub(super) status: Status,
    pub(super) tag: u64,
    pub(super) bytes: u32,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn put(to: &mut [u8], parts: &[&[u8]]) {
    let mut at = 0;
    for part in parts {
        to[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
}

impl Hello {
    pub(super) const BYTES: usize = 32;

    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        let flags = flag(self.writable, WRITABLE) | flag(self.full, FULL);
        put(
            &mut bytes,
            &[
                &HELLO.to_le_bytes(),
                &VERSION.to_le_bytes(),
                &flags.to_le_bytes(),
                &self.bytes.to_le_bytes(),
                &self.key.to_le_bytes(),
            ],
        );
        bytes
    }

    pub(super) fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, String> {
        if long(bytes, 0) != HELLO {
            return Err("this is no `tombolo serve`".to_owned());
        }
        let (version, flags) = (word(bytes, 8), word(bytes, 12));
        if version != VERSION {
            return Err(format!(
                "it speaks version {version}, and this side {VERSION}"
            ));
        }
        if flags & !(WRITABLE | FULL) != 0 {
            return Err(format!("unknown flags {flags:#x}"));
        }
        let size = long(bytes, 16);
        if size == 0 || size > i64::MAX as u64 {
            return Err(format!("it says that it has {size} bytes"));
        }
        Ok(Self {
            writable: flags & WRITABLE != 0,
            full: flags & FULL != 0,
            bytes: size,
            key: long(bytes, 24),
        })
    }
}

impl RequestHeader {
    pub(super) const BYTES: usize = 64;

    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        put(
            &mut bytes,
            &[
                &REQUEST.to_le_bytes(),
                &(self.operation as u32).to_le_bytes(),
                &self.tag.to_le_bytes(),
                &self.key.to_le_bytes(),
                &self.offset.to_le_bytes(),
                &self.bytes.to_le_bytes(),
            ],
        );
        bytes
    }

    /// Decodes a head. A head that breaks a rule makes the connection unusable.
    pub(super) fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, String> {
        if word(bytes, 0) != REQUEST || !is_zero(&bytes[36..]) {
            return Err("no head of a request".to_owned());
        }
        let operation = match word(bytes, 4) {
            1 => Operation::Read,
            2 => Operation::Write,
            3 => Operation::Fabric,
            4 => Operation::Work,
            other => return Err(format!("unknown operation {other}")),
        };
        let length = word(bytes, 32);
        let (least, most) = match operation {
            Operation::Read | Operation::Write => (1, LARGEST),
            Operation::Fabric => (1, 32),
            Operation::Work => (0, 0),
        };
        if length < least || length > most {
            return Err(format!(
                "a request of {length} bytes; {least} to {most} are allowed"
            ));
        }
        Ok(Self {
            operation,
            tag: long(bytes, 8),
            key: long(bytes, 16),
            offset: long(bytes, 24),
            bytes: length,
        })
    }
}

impl ReplyHeader {
    pub(super) const BYTES: usize = 64;

    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        put(
            &mut bytes,
            &[
                &REPLY.to_le_bytes(),
                &(self.status as u32).to_le_bytes(),
                &self.tag.to_le_bytes(),
                &self.bytes.to_le_bytes(),
            ],
        );
        bytes
    }

    /// Decodes the reply to this request; any other is an error.
    pub(super) fn decode(bytes: &[u8; Self::BYTES], ask: &RequestHeader) -> Result<Self, String> {
        if word(bytes, 0) != REPLY || !is_zero(&bytes[20..]) {
            return Err("no head of a reply".to_owned());
        }
        let status = match word(bytes, 4) {
            0 => Status::Good,
            1 => Status::OutOfRange,
            2 => Status::ReadOnly,
            3 => Status::WrongKey,
            4 => Status::Storage,
            5 => Status::NoFabric,
            other => return Err(format!("unknown status {other}")),
        };
        let (tag, length) = (long(bytes, 8), word(bytes, 16));
        if tag != ask.tag {
            return Err(format!(
                "the reply to request {tag} came, not to {}",
                ask.tag
            ));
        }
        let (least, most) = match (status, ask.operation) {
            (Status::Good, Operation::Read) => (ask.bytes, ask.bytes),
            (Status::Good, Operation::Fabric) => (17, LARGEST_TICKET),
            (Status::NoFabric, Operation::Fabric) => (1, LARGEST_TICKET),
            _ => (0, 0),
        };
        if length < least || length > most {
            return Err(format!("a reply of {length} bytes came, not of {most}"));
        }
        Ok(Self {
            status,
            tag,
            bytes: length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_what_was_sent_and_no_other_bytes_are_one() {
        let hello = Hello {
            writable: true,
            full: false,
            bytes: 77,
            key: u64::MAX,
        };
        assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
        let ask = RequestHeader {
            operation: Operation::Write,
            tag: 1 << 40,
            key: 3,
            offset: u64::MAX,
            bytes: LARGEST,
        };
        assert_eq!(RequestHeader::decode(&ask.encode()), Ok(ask));
        let answer = ReplyHeader {
            status: Status::Good,
            tag: 1 << 40,
            bytes: 0,
        };
        assert_eq!(ReplyHeader::decode(&answer.encode(), &ask), Ok(answer));
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        };
        let (mut good, mut decoded) = (ask.encode(), 0);
        for round in 0..200_000 {
            // Noise, and valid heads with a byte of noise.
            let noise: [u8; RequestHeader::BYTES] = std::array::from_fn(|_| random());
            let _ = Hello::decode(noise.first_chunk().unwrap());
            let _ = ReplyHeader::decode(noise.first_chunk().unwrap(), &ask);
            assert!(RequestHeader::decode(&noise).is_err());
            good[round % RequestHeader::BYTES] = random();
            if let Ok(head) = RequestHeader::decode(&good) {
                let work = head.operation == Operation::Work;
                assert!(work || (1..=LARGEST).contains(&head.bytes));
                decoded += 1;
            }
            good = ask.encode();
        }
        assert!(decoded > 1000);
    }
}
