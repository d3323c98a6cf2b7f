//! The eight kinds of message and their decoder: no socket, no clock.
//!
//! A request is a number of four bytes, its kind, and a C structure as a program on x86-64 Linux lays it out. Four kinds
//! have a reply, which is a number and nothing more; no reply can say that something went wrong.

use crate::layout::{Field, Layout};
use std::collections::VecDeque;

/// A request of a program. `app` selects one of the card's applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reads a register of 64 bits. The reply has 8 bytes.
    Read {
        /// Application number.
        app: u64,
        /// Offset in bytes.
        register: u64,
    },
    /// Writes a register of 64 bits. No reply.
    Write {
        /// Application number.
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
        /// Descriptor to close.
        descriptor: i32,
    },
    /// Maps a file. The reply is the address for the kernel, in 8 bytes.
    Map(Map),
    /// Unmaps a range. No reply.
    Unmap(Range),
    /// Writes back a range. No reply.
    Sync {
        /// Range of addresses.
        range: Range,
        /// `MS_…` of `<sys/mman.h>`.
        flags: i32,
    },
    /// Sets a paging mode of the card's software. No reply.
    SetMode {
        /// The mode to set.
        mode: u64,
        /// Value of the mode.
        data: u64,
    },
}

/// A file to be mapped, with the arguments of mmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// Application number.
    pub app: u64,
    /// Address, with `MAP_FIXED`.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// `PROT_…`
    pub protection: i32,
    /// `MAP_…`
    pub flags: i32,
    /// Descriptor of the file.
    pub descriptor: i32,
    /// Offset in the file.
    pub offset: u64,
}

/// A range of an application's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Application number.
    pub app: u64,
    /// Address of the first byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Request {
    /// The application, if the request names one.
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

/// Reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A register value, or an address.
    Word(u64),
    /// A descriptor, or the result of closing one.
    Number(i32),
}

impl Reply {
    /// The bytes sent.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Word(word) => word.to_le_bytes().to_vec(),
            Self::Number(number) => number.to_le_bytes().to_vec(),
        }
    }
}

/// Invalid bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first four bytes are not the number of a request.
    #[error(
        "{0} is none of the eight kinds of message (0, 2, 4, 6, 8, 10, 12, 14); if the program was built with the header \
         of FSRF's branch `stream`, say --fsrf-layout stream; if its header is another, describe it by --fsrf-layout"
    )]
    Kind(u32),
    /// A message of FSRF's branch `stream`.
    #[error(
        "{0} is a message of FSRF's streams (`aos_stream_…`), which are not served: use files"
    )]
    Stream(u32),
    /// A path without a terminating null.
    #[error("the path of a file has no null byte that ends it")]
    Path,
}

/// Size of the kind in bytes.
const KIND: usize = 4;

/// Decodes requests from a byte stream.
#[derive(Debug)]
pub struct Decoder {
    layout: Layout,
    waiting: VecDeque<u8>,
}

impl Decoder {
    /// A decoder for one connection.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            waiting: VecDeque::new(),
        }
    }

    /// Appends received bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
    }

    /// Whether a message is incomplete.
    pub fn is_within(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next complete request, if any.
    ///
    /// # Errors
    /// See [`Malformed`]: the following bytes can no longer be decoded.
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

/// Decodes a structure that has the layout's size.
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
