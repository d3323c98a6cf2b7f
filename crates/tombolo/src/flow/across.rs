// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Connects a port to memory reached over the card's own network interface.

use crate::device::name::{Kind, NetworkPlace};
use crate::device::{Device, DeviceError};
use crate::stream::Stream;
use error::Error;
use remote::{FileNode, RemoteError, RemoteMemory};
use units::StreamDirection;

/// A range of a peer's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerRange {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl PeerRange {
    /// The rest of the range after its first `bytes`, if any.
    pub(super) fn behind(self, bytes: u64) -> Option<Self> {
        (bytes < self.bytes).then(|| Self {
            offset: self.offset + bytes,
            bytes: self.bytes - bytes,
        })
    }
}

/// Connects. Returns the whole range that the name gave.
pub(super) fn plug(
    stream: &Stream,
    direction: StreamDirection,
    device: &Device,
) -> Result<PeerRange, Error> {
    let Kind::Network {
        place,
        offset,
        bytes,
    } = &device.kind
    else {
        return Err(Error::Internal("not on the network".to_owned()));
    };
    let name = device.name().to_string_lossy().into_owned();
    let range = |size: u64| {
        let left = size.saturating_sub(*offset);
        let bytes = bytes.unwrap_or(left);
        match bytes > 0 && bytes <= left {
            true => Ok(PeerRange {
                offset: *offset,
                bytes,
            }),
            false => Err(DeviceError::Unfit {
                device: name.clone(),
                rule: format!("it has {size} bytes, and a transfer has at least 1"),
            }),
        }
    };
    match place {
        NetworkPlace::Served(address) => {
            let timeout = device.timeout.unwrap_or(RemoteMemory::TIMEOUT);
            let memory = RemoteMemory::connect(address, timeout).map_err(DeviceError::Remote)?;
            let range = range(memory.bytes())?;
            if direction == StreamDirection::Out && !memory.is_writable() {
                return Err(DeviceError::Remote(RemoteError::Refused {
                    address: address.clone(),
                    why: "it is exported for reading only",
                })
                .into());
            }
            stream.plug_peer(memory)?;
            Ok(range)
        }
        NetworkPlace::Node(path) => {
            let node = FileNode::open(path, direction == StreamDirection::Out);
            let node = node.map_err(|source| DeviceError::Open {
                device: name.clone(),
                what: "opening its file",
                source,
            })?;
            let range = range(node.bytes())?;
            stream.plug_peer(node)?;
            Ok(range)
        }
    }
}
