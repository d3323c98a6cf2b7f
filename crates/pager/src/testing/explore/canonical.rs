//! Canonical form of states: irrelevant details are removed before states are compared.
//!
//! Details that distinguish a correct pager from a wrong one are kept. Names that count up are replaced by their rank.
//! Only the order of a page's writes matters, because every rule compares them. Memory without valid data is replaced
//! by garbage, which is stricter: a reader of it is detected even if the old content would have been right by chance.

use super::whole::{buffer_of, frame_of, Content, Requester, Whole, World};
use crate::event::Event;
use crate::page::State;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use units::Operation;

impl Whole {
    /// Removes irrelevant details.
    pub(super) fn normalise(&mut self) {
        self.poison();
        for page in 0..self.world.latest.len() {
            rank(&mut self.world, page);
        }
    }

    /// A fingerprint of the state, after [`Whole::normalise`].
    ///
    /// Commands and I/O are identified by their meaning to the pager; their identifiers do not matter.
    pub(super) fn fingerprint(&self) -> u128 {
        let mut hasher = Wide::default();
        let pager = &self.brain.pager;
        pager.hash_state(&mut hasher);
        self.brain.policy.fifo().hash(&mut hasher);
        let World {
            commands,
            events,
            io,
            table,
            frames,
            buffers,
            disk,
            latest,
            requesters,
            mapped,
            closed,
            requests,
            left,
            failed,
        } = &self.world;
        let issued = pager.issued().operations();
        (issued.len(), commands.len(), events.len()).hash(&mut hasher);
        for command in commands {
            issued.get(&command.id).hash(&mut hasher);
            let mut operation = command.operation;
            // Accessed bits are never read: the policy of these models does not examine pages.
            if let Operation::Install { entry, .. }
            | Operation::FaultReply {
                entry: Some(entry), ..
            } = &mut operation
            {
                entry.accessed = false;
            }
            (operation, command.fence, command.notify).hash(&mut hasher);
        }
        for event in events {
            match *event {
                Event::OperationDone {
                    id,
                    status,
                    accessed,
                    dirty,
                } => {
                    (issued.get(&id), status, accessed, dirty).hash(&mut hasher);
                }
                other => other.hash(&mut hasher),
            }
        }
        let mut io: Vec<_> = io.iter().map(|io| (io.page, io.write, io.buffer)).collect();
        io.sort_unstable();
        (io, table, frames, buffers, disk, latest).hash(&mut hasher);
        (requesters, mapped, closed, requests, left, failed).hash(&mut hasher);
        hasher.wide()
    }

    /// Fills memory without data with garbage.
    fn poison(&mut self) {
        let world = &mut self.world;
        let mut live: BTreeSet<u64> = world.table.values().map(|entry| entry.frame).collect();
        for (_, page) in self.brain.pager.pages().iter() {
            let empty = matches!(
                page.state(),
                State::Waiting
                    | State::AwaitingBuffer
                    | State::AwaitingZero
                    | State::Reading(_)
                    | State::Fetching
            );
            if !empty {
                live.extend(page.target().map(|(frame, _)| u64::from(frame.get())));
            }
        }
        for requester in &world.requesters {
            if let Requester::Left { frame, .. } = requester {
                live.insert(*frame);
            }
        }
        let free: Vec<_> = self.brain.pager.buffers().free().collect();
        let mut full: Vec<bool> = (0..world.buffers.len())
            .map(|buffer| free.iter().all(|part| part.buffer.0 as usize != buffer))
            .collect();
        for io in &world.io {
            if let Some(buffer) = io.buffer {
                full[buffer] = io.write;
            }
        }
        for command in &world.commands {
            match command.operation {
                Operation::CopyIn { from, .. } => full[buffer_of(from)] = true,
                Operation::CopyOut { from, to, .. } => {
                    full[buffer_of(to)] = false;
                    live.insert(frame_of(from));
                }
                Operation::Install { entry, .. }
                | Operation::FaultReply {
                    entry: Some(entry), ..
                } => {
                    live.insert(u64::from(entry.frame.get()));
                }
                _ => {}
            }
        }
        world
            .frames
            .retain(|frame, content| content.is_some() && live.contains(frame));
        for (content, full) in world.buffers.iter_mut().zip(full) {
            if !full {
                *content = None;
            }
        }
    }
}

/// Numbers the writes of a page by their order among those that some part of the state refers to.
fn rank(world: &mut World, page: usize) {
    fn holds(content: &mut Content, page: usize) -> Option<&mut u8> {
        match content {
            Some((Some(held), version)) if *held == page as u64 => Some(version),
            _ => None,
        }
    }
    let World {
        frames,
        buffers,
        disk,
        latest,
        requests,
        ..
    } = world;
    let contents = frames.values_mut().chain(buffers);
    let mut versions: Vec<&mut u8> = contents.filter_map(|c| holds(c, page)).collect();
    versions.extend([&mut disk[page], &mut latest[page]]);
    versions.extend(
        requests
            .values_mut()
            .flatten()
            .map(|promise| &mut promise[page]),
    );
    // Zero is the object's initial content, and stays.
    let known: BTreeSet<u8> = versions.iter().map(|v| **v).filter(|v| *v > 0).collect();
    for version in versions {
        *version = known.range(..=*version).count() as u8;
    }
}

/// Two products of 64 x 64 bits in parallel: fast, and wide enough for millions of states.
#[derive(Clone, Copy, Debug)]
struct Wide(u64, u64);

impl Default for Wide {
    fn default() -> Self {
        Self(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344)
    }
}

impl Wide {
    fn wide(self) -> u128 {
        u128::from(self.0) << 64 | u128::from(self.1)
    }

    fn mix(value: u64, factor: u64) -> u64 {
        let product = u128::from(value) * u128::from(factor);
        (product >> 64) as u64 ^ product as u64
    }
}

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = Self::mix(self.0 ^ word, 0x9e37_79b9_7f4a_7c15).wrapping_add(word);
        self.1 = Self::mix(self.1.wrapping_add(word), 0xd6e8_feb8_6659_fd93) ^ self.0;
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
