//! Memory that programs share with kernels: objects of the pager like files, but where they are.

use super::handles::MappedRange;
use super::Owner;
use crate::error::Error;
use crate::message::{MappingId, SpaceId};
use crate::trap::{Ticket, View, Wake};
use card::SlotId;
use pager::{Event, HostAccess, IoError, IoId, ObjectId, ObjectKind, RequestId, Success};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use units::{Asid, HostAddr, VirtAddr};

/// A block.
#[derive(Debug)]
struct Memory {
    asid: Asid,
    view: Arc<View>,
    host: HostAddr,
    /// Threads that were told to try again, by the byte that they want.
    woken: Vec<(u64, Wake)>,
    /// A right could not be given back to programs.
    stuck: bool,
}

/// All blocks, and the traps that wait.
#[derive(Debug, Default)]
pub(super) struct Memories {
    blocks: BTreeMap<ObjectId, Memory>,
    traps: BTreeMap<RequestId, (ObjectId, u64, Ticket)>,
    /// Changes of protection that the pager is to be told of.
    pub(super) protected: VecDeque<(IoId, Result<u64, IoError>)>,
}

impl Memories {
    fn holds(&self, object: ObjectId) -> bool {
        self.blocks.contains_key(&object)
    }

    fn find(&self, address: usize) -> Option<(ObjectId, u64)> {
        self.blocks.iter().find_map(|(object, memory)| {
            let offset = address.checked_sub(memory.view.start() as usize)?;
            (offset < memory.view.bytes()).then_some((*object, offset as u64))
        })
    }

    pub(super) fn protect(
        &mut self,
        io: IoId,
        object: ObjectId,
        (offset, bytes): (u64, u64),
        access: HostAccess,
    ) {
        let result = match self.blocks.get_mut(&object) {
            None => Err(IoError::Os(libc::EINVAL)),
            Some(memory) => {
                if access != HostAccess::ReadWrite {
                    // A thread that was let in gets the time to go in.
                    memory.woken.retain(|(at, wake)| {
                        let here = (offset..offset + bytes).contains(at);
                        if here {
                            wake.wait_until_up();
                        }
                        !here
                    });
                }
                let result = memory.view.protect(offset, bytes, access);
                memory.stuck |= result.is_err() && access == HostAccess::ReadWrite;
                result
                    .map(|()| 0)
                    .map_err(|error| IoError::Os(error.raw_os_error().unwrap_or(libc::EINVAL)))
            }
        };
        self.protected.push_back((io, result));
    }

    /// A trap is answered: lets its thread go on, or not.
    pub(super) fn answered(&mut self, request: RequestId, good: bool) {
        let Some((object, offset, ticket)) = self.traps.remove(&request) else {
            return;
        };
        if good {
            let wake = ticket.serve();
            if let Some(memory) = self.blocks.get_mut(&object) {
                memory.woken.push((offset, wake));
            }
        }
    }
}

impl Owner {
    /// A name for an object, for messages.
    pub(super) fn label(&self, object: ObjectId) -> String {
        match self.memories.holds(object) {
            true => "shared memory".to_owned(),
            false => self.files.label(object),
        }
    }

    /// Shares a block with the kernels of a space.
    pub(super) fn share(
        &mut self,
        space: SpaceId,
        view: Arc<View>,
    ) -> Result<(MappingId, VirtAddr), Error> {
        let asid = self.handles.space(space)?;
        let host = self.card.map_host(view.alias().clone())?;
        let object = self.files.new_object();
        let (address, bytes) = (view.address(), view.bytes() as u64);
        let memory = Memory {
            asid,
            view: view.clone(),
            host,
            woken: Vec::new(),
            stuck: false,
        };
        self.memories.blocks.insert(object, memory);
        let created = self.ask(|request| Event::CreateObject {
            request,
            object,
            offset: 0,
            bytes,
            kind: ObjectKind::Host { memory: host },
            page_size: Some(view.page()),
        });
        let mapped = created.and_then(|_| {
            self.ask(|request| Event::Map {
                request,
                asid,
                address: Some(address),
                object,
                offset: 0,
                bytes,
                read: true,
                write: true,
            })
        });
        match mapped {
            Ok(Success::Mapped(_)) => {}
            Ok(Success::Done) => {
                return Err(Error::Internal("a mapping without an address".into()));
            }
            Err(error) => {
                self.forget_memory(object);
                return Err(error);
            }
        }
        let mapping = self.handles.add_mapping(MappedRange {
            space,
            asid,
            address,
            bytes,
        });
        Ok((mapping, address))
    }

    /// Ends the sharing of a block that no kernel uses.
    pub(super) fn free(&mut self, mapping: MappingId) -> Result<(), Error> {
        let range = self.handles.mapping(mapping)?;
        for number in 0..self.slots.len() {
            if self.slots[number].runs_in(range.asid) {
                return Err(Error::MemoryInUse {
                    address: range.address,
                    slot: SlotId(number as u8),
                });
            }
        }
        self.handles.end_mapping(mapping);
        self.unmap(range.asid, range.address, range.bytes)
    }

    /// Forgets blocks of a space (in a range) that are not mapped any more.
    pub(super) fn forget_memories(&mut self, space: Asid, range: Option<(u64, u64)>) {
        let inside = |memory: &Memory| {
            let start = memory.view.address().get();
            let end = start + memory.view.bytes() as u64;
            memory.asid == space && range.is_none_or(|(from, to)| from < end && start < to)
        };
        let blocks = self.memories.blocks.iter();
        let gone: Vec<ObjectId> = blocks
            .filter(|(_, memory)| inside(memory))
            .map(|(object, _)| *object)
            .collect();
        for object in gone {
            self.forget_memory(object);
        }
    }

    fn forget_memory(&mut self, object: ObjectId) {
        // What a broken card could not give back was told by the unmap. An object that was refused is unknown.
        let closed = self.ask(|request| Event::CloseObject {
            request,
            object,
            discard: true,
        });
        if let Err(error) = closed {
            tracing::debug!(%error, "closing shared memory");
        }
        if let Some(memory) = self.memories.blocks.remove(&object) {
            // Whatever happened: the memory is the program's alone now.
            let bytes = memory.view.bytes() as u64;
            if let Err(error) = memory.view.protect(0, bytes, HostAccess::ReadWrite) {
                tracing::error!(%error, "opening memory that was shared");
            }
            if let Err(error) = self.card.unmap_host(memory.host) {
                tracing::error!(%error, "ending the card's access to memory that was shared");
            }
        }
    }

    /// A program's access was trapped: lets its thread go on when it may.
    pub(super) fn trap(
        &mut self,
        address: usize,
        write: bool,
        ticket: Ticket,
    ) -> Result<(), Error> {
        let Some((object, offset)) = self.memories.find(address) else {
            // Its sharing has just ended, and the memory is open.
            ticket.serve();
            return Ok(());
        };
        let request = self.take_request();
        self.memories
            .traps
            .insert(request, (object, offset, ticket));
        let result = self.ask_as(
            request,
            Event::HostTrap {
                request,
                object,
                offset,
                write,
            },
        );
        // Without an answer the access fails.
        self.memories.traps.remove(&request);
        let Some(memory) = self.memories.blocks.get_mut(&object) else {
            return result.map(|_| ());
        };
        if std::mem::take(&mut memory.stuck) {
            // Everything that the card does not hold is the program's again, or will be at the next trap.
            tracing::error!(%object, "a page of shared memory could not be opened");
        }
        result.map(|_| ())
    }
}
