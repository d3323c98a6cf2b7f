//! The eight kinds of message, and how bytes become them: no socket, no clock.
//!
//! A request is a number of four bytes, its kind, and a C structure as a program on x86-64 Linux lays it out. Four kinds
//! have a reply, which is a number and nothing more; no reply can say that something went wrong.

use crate::layout::{Field, Layout};
use std::collections::VecDeque;

/// What a program asks for. `app` says for which of the card's applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reads a register of 64 bits. The reply has 8 bytes.
    Read {
        /// Which application.
        app: u64,
        /// Offset in bytes.
        register: u64,
    },
    /// Writes a register of 64 bits. No reply.
    Write {
        /// Which application.
        app: u64,
        /// Offset in bytes.
        register: u64,
        /// All 64 bits.
        value: u64,
    },
    /// Opens a file. The reply is a descriptor, in 4 bytes.
    Open {
        /// The path, without the null that ends it.
        path: Vec<u8>,
    },
    /// Closes a descriptor. The reply is 0, or -1, in 4 bytes.
    Close {
        /// The descriptor.
        descriptor: i32,
    },
    /// Maps a file. The reply is the address for the kernel, in 8 bytes.
    Map(Map),
    /// Ends what is mapped in a range. No reply.
    Unmap(Range),
    /// Writes back what is mapped in a range. No reply.
    Sync {
        /// Where.
        range: Range,
        /// `MS_…` of `<sys/mman.h>`.
        flags: i32,
    },
    /// How the card's software pages. No reply.
    SetMode {
        /// What is set.
        mode: u64,
        /// To what.
        data: u64,
    },
}

/// A file to be mapped, with the arguments of mmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// Which application.
    pub app: u64,
    /// Where, with `MAP_FIXED`.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// `PROT_…`
    pub protection: i32,
    /// `MAP_…`
    pub flags: i32,
    /// Of the file.
    pub descriptor: i32,
    /// First byte of the file.
    pub offset: u64,
}

/// A range of an application's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Which application.
    pub app: u64,
    /// First byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Request {
    /// Which application it is for, if it is for one.
    pub fn app(&self) -> Option<u64> {
        match self {
            Self::Read { app, .. }
            | Self::Write { app, .. }
            | Self::Map(Map { app, .. })
            | Self::Unmap(Range { app, .. })
            | Self::Sync {
                range: Range { app, .. },
                ..
            } => Some(*app),
            Self::Open { .. } | Self::Close { .. } | Self::SetMode { .. } => None,
        }
    }
}

/// What a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A register, or an address.
    Word(u64),
    /// A descriptor, or whether closing it went well.
    Number(i32),
}

impl Reply {
    /// The bytes on the socket.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Word(word) => word.to_le_bytes().to_vec(),
            Self::Number(number) => number.to_le_bytes().to_vec(),
        }
    }
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first four bytes are no request's.
    #[error(
        "{0} is none of the eight kinds of message (0, 2, 4, 6, 8, 10, 12, 14); if the program was built with the header \
         of FSRF's branch `stream`, say --fsrf-layout stream; if its header is another, describe it by --fsrf-layout"
    )]
    Kind(u32),
    /// Of FSRF's branch `stream`.
    #[error(
        "{0} is a message of FSRF's streams (`aos_stream_…`), which are not served: use files"
    )]
    Stream(u32),
    /// A path without an end.
    #[error("the path of a file has no null byte that ends it")]
    Path,
}

/// Bytes of the kind.
const KIND: usize = 4;

/// Takes bytes as they come, and gives requests.
#[derive(Debug)]
pub struct Decoder {
    layout: Layout,
    waiting: VecDeque<u8>,
}

impl Decoder {
    /// Of a connection.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            waiting: VecDeque::new(),
        }
    }

    /// Takes more bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
    }

    /// Whether a message has begun and not ended.
    pub fn is_within(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next request, if all of it has come.
    ///
    /// # Errors
    /// See [`Malformed`]: what follows can no longer be understood.
    pub fn next_request(&mut self) -> Result<Option<Request>, Malformed> {
        if self.waiting.len() < KIND {
            return Ok(None);
        }
        let mut kind = [0; KIND];
        for (to, from) in kind.iter_mut().zip(&self.waiting) {
            *to = *from;
        }
        let kind = u32::from_le_bytes(kind);
        let Some(bytes) = self.layout.bytes(kind) else {
            return Err(match kind {
                16 | 18 | 20 | 22 => Malformed::Stream(kind),
                _ => Malformed::Kind(kind),
            });
        };
        if self.waiting.len() < KIND + bytes {
            return Ok(None);
        }
        let message: Vec<u8> = self.waiting.drain(..KIND + bytes).skip(KIND).collect();
        request(&self.layout, kind, &message).map(Some)
    }
}

/// Of a structure that has the layout's size.
fn request(layout: &Layout, kind: u32, message: &[u8]) -> Result<Request, Malformed> {
    let field = |field| layout.read(kind, field, message);
    // Four bytes.
    let int = |name| field(name) as u32 as i32;
    let app = field(Field::App);
    let range = || Range {
        app,
        address: field(Field::Address),
        bytes: field(Field::Bytes),
    };
    Ok(match kind {
        0 => Request::Read {
            app,
            register: field(Field::Address),
        },
        2 => Request::Write {
            app,
            register: field(Field::Address),
            value: field(Field::Value),
        },
        4 => {
            let path = layout.rest(kind, Field::Path, message);
            let end = path.iter().position(|byte| *byte == 0);
            let path = &path[..end.ok_or(Malformed::Path)?];
            Request::Open {
                path: path.to_vec(),
            }
        }
        6 => Request::Close {
            descriptor: int(Field::Descriptor),
        },
        8 => Request::Map(Map {
            app,
            address: field(Field::Address),
            bytes: field(Field::Bytes),
            protection: int(Field::Protection),
            flags: int(Field::Flags),
            descriptor: int(Field::Descriptor),
            offset: field(Field::Offset),
        }),
        10 => Request::Unmap(range()),
        12 => Request::Sync {
            range: range(),
            flags: int(Field::Flags),
        },
        14 => Request::SetMode {
            mode: field(Field::Mode),
            data: field(Field::Data),
        },
        // The layout has no other.
        _ => return Err(Malformed::Kind(kind)),
    })
}
