//! Random operations on one card, from several threads, with handles dropped in any order and used after
//! their objects have ended. Also measured by `make bench ONLY=owner.stale`.

use std::fs;
use std::path::{Path, PathBuf};
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, InjectedFault,
    MapOptions, Mapping, OwnerOptions, PageSize, Slot, SlotId,
};

/// Slots that a thread uses; no other does.
const SLOTS: u8 = 2;
/// Spaces that a thread has at once.
const SPACES: usize = 3;
/// Bytes of the longest file.
const LONGEST: u64 = 9000;

/// Operations made and errors found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Calls of the library.
    pub operations: u64,
    /// Of these: with a handle whose object had ended.
    pub stale: u64,
    /// Files with other bytes than were written, stale handles that worked, good ones that did not.
    pub wrong: u64,
}

impl std::ops::AddAssign for Found {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.stale += other.stale;
        self.wrong += other.wrong;
    }
}

/// A mapped file and what the kernel has made of it.
struct Area {
    mapping: Mapping,
    path: PathBuf,
    expected: Vec<u8>,
    writable: bool,
}

/// A space and what is mapped there.
struct Room {
    space: AddressSpace,
    areas: Vec<Area>,
}

/// A kernel, and the number of the room that it works in.
struct Worker {
    slot: Slot,
    room: u64,
}

struct Client<'a> {
    card: &'a Card,
    folder: PathBuf,
    first_slot: u8,
    seed: u64,
    rooms: Vec<(u64, Room)>,
    workers: Vec<Worker>,
    /// Handles whose objects have ended.
    old_mappings: Vec<Mapping>,
    old_slots: Vec<Slot>,
    next: u64,
    found: Found,
}

impl Client<'_> {
    fn random(&mut self, below: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 20) as usize % below.max(1)
    }

    fn wrong(&mut self, what: &str) {
        self.found.wrong += 1;
        if self.found.wrong == 1 {
            eprintln!("slot {}: {what}", self.first_slot);
        }
    }

    /// Counts a call that must work.
    fn good<T>(&mut self, what: &str, result: Result<T, Error>) -> Option<T> {
        self.found.operations += 1;
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.wrong(&format!("{what}: {error}"));
                None
            }
        }
    }

    /// Counts a call with a stale handle, which must be refused by name.
    fn refused<T>(&mut self, what: &str, result: Result<T, Error>) {
        self.found.operations += 1;
        self.found.stale += 1;
        if !matches!(result, Err(Error::Gone { .. })) {
            self.wrong(&format!("{what} of an ended object was not refused"));
        }
    }

    fn check(&mut self, path: &Path, expected: &[u8]) {
        let same = fs::read(path).is_ok_and(|bytes| bytes == expected);
        if !same {
            self.wrong(&format!("{} has the wrong bytes", path.display()));
        }
        let _ = fs::remove_file(path);
    }

    fn step(&mut self) {
        match self.random(16) {
            0 if self.rooms.len() < SPACES => {
                let space = self.card.create_space();
                if let Some(space) = self.good("create_space", space) {
                    self.next += 1;
                    let areas = Vec::new();
                    self.rooms.push((self.next, Room { space, areas }));
                }
            }
            0 | 1 => self.end_room(),
            2..=4 => self.map(),
            5 | 6 => self.unmap(),
            7 => self.load(),
            8 => self.stale_mapping(),
            9 => self.stale_slot(),
            10 => self.sync(),
            _ => self.copy(),
        }
    }

    fn map(&mut self) {
        let room = self.random(self.rooms.len());
        if self.rooms.get(room).is_none_or(|(_, r)| r.areas.len() > 6) {
            return;
        }
        self.next += 1;
        let path = self.folder.join(self.next.to_string());
        let bytes = 64 * (1 + self.random(LONGEST as usize / 64));
        let writable = self.random(2) == 0;
        let (options, expected) = if writable {
            (MapOptions::create(bytes as u64), vec![0; bytes])
        } else {
            let mut content = vec![0; bytes];
            let start = self.random(250);
            for (place, byte) in content.iter_mut().enumerate() {
                *byte = 1 + ((place + start) % 251) as u8;
            }
            if fs::write(&path, &content).is_err() {
                return self.wrong("a file could not be written");
            }
            (MapOptions::read_only(), content)
        };
        let mapping = self.rooms[room].1.space.map_file(&path, options);
        if let Some(mapping) = self.good("map_file", mapping) {
            self.rooms[room].1.areas.push(Area {
                mapping,
                path,
                expected,
                writable,
            });
        }
    }

    fn unmap(&mut self) {
        let room = self.random(self.rooms.len());
        let area = self.random(self.rooms.get(room).map_or(0, |(_, r)| r.areas.len()));
        let Some((_, room)) = self.rooms.get_mut(room) else {
            return;
        };
        if area >= room.areas.len() {
            return;
        }
        let area = room.areas.swap_remove(area);
        if self.random(2) == 0 {
            let result = area.mapping.unmap();
            self.good("unmap", result);
        } else {
            self.found.operations += 1;
            drop(area.mapping);
        }
        self.check(&area.path, &area.expected);
    }

    fn sync(&mut self) {
        let room = self.random(self.rooms.len());
        let Some((_, room)) = self.rooms.get(room) else {
            return;
        };
        let Some(area) = room.areas.iter().find(|area| area.writable) else {
            return;
        };
        let result = area.mapping.sync();
        let same = fs::read(&area.path).is_ok_and(|bytes| bytes == area.expected);
        self.good("sync", result);
        if !same {
            self.wrong("a synced file has the wrong bytes");
        }
    }

    /// Drops a space before its mappings and kernels, or after.
    fn end_room(&mut self) {
        let room = self.random(self.rooms.len());
        if room >= self.rooms.len() {
            return;
        }
        let (number, room) = self.rooms.swap_remove(room);
        let (ended, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.workers)
            .into_iter()
            .partition(|worker| worker.room == number);
        self.workers = kept;
        self.old_slots.extend(ended.into_iter().map(|w| w.slot));
        let mappings_first = self.random(3) == 0;
        let mut files = Vec::new();
        let mut mappings = Vec::new();
        for area in room.areas {
            files.push((area.path, area.expected));
            mappings.push(area.mapping);
        }
        if mappings_first {
            self.found.operations += mappings.len() as u64;
            mappings.clear();
        }
        self.found.operations += 1;
        drop(room.space);
        self.old_mappings.append(&mut mappings);
        for (path, expected) in files {
            self.check(&path, &expected);
        }
    }

    fn load(&mut self) {
        let room = self.random(self.rooms.len());
        let slot = SlotId(self.first_slot + self.random(SLOTS.into()) as u8);
        let Some((number, room)) = self.rooms.get(room) else {
            return;
        };
        let number = *number;
        let kernel = simcard::home().join("kernels/copy");
        let loaded = self.card.load(slot, &kernel, &room.space);
        if let Some(loaded) = self.good("load", loaded) {
            let before = self.workers.iter().position(|w| w.slot.id() == slot);
            if let Some(before) = before {
                let before = self.workers.swap_remove(before);
                self.old_slots.push(before.slot);
            }
            self.workers.push(Worker {
                slot: loaded,
                room: number,
            });
        }
    }

    fn stale_mapping(&mut self) {
        if self.old_mappings.is_empty() {
            return;
        }
        let which = self.random(self.old_mappings.len());
        match self.random(5) {
            0 => {
                let result = self.old_mappings[which].sync();
                self.refused("sync", result);
            }
            1 => {
                let result = self.old_mappings[which].prefetch();
                self.refused("prefetch", result);
            }
            2 => {
                let result = self.old_mappings.swap_remove(which).unmap();
                self.refused("unmap", result);
            }
            _ => {
                self.found.operations += 1;
                self.found.stale += 1;
                drop(self.old_mappings.swap_remove(which));
            }
        }
    }

    fn stale_slot(&mut self) {
        if self.old_slots.is_empty() {
            return;
        }
        let which = self.random(self.old_slots.len());
        let slot = &mut self.old_slots[which];
        let (what, result) = match self.seed % 4 {
            0 => ("set", slot.set("bytes", 64)),
            1 => ("start", slot.start()),
            2 => ("wait", slot.wait(None, |_| Continue::Yes)),
            _ => ("read_register", slot.read_register(0).map(drop)),
        };
        self.refused(what, result);
        if self.random(2) == 0 {
            self.old_slots.swap_remove(which);
        }
    }

    /// A kernel copies one file of its room to another.
    fn copy(&mut self) {
        let which = self.random(self.workers.len());
        let Some(worker) = self.workers.get_mut(which) else {
            return;
        };
        let room = self.rooms.iter_mut().find(|(n, _)| *n == worker.room);
        let Some((_, room)) = room else {
            return;
        };
        let (mut outputs, mut inputs): (Vec<_>, Vec<_>) =
            room.areas.iter_mut().partition(|area| area.writable);
        let place = (self.seed >> 30) as usize;
        let (from, to) = match (inputs.len(), outputs.len()) {
            (0, _) | (_, 0) => return,
            (ins, outs) => (&mut inputs[place % ins], &mut outputs[(place >> 8) % outs]),
        };
        let bytes = from.mapping.bytes().min(to.mapping.bytes());
        let slot = &mut worker.slot;
        let result = slot
            .set_pointer("input", from.mapping.address())
            .and_then(|()| slot.set_pointer("output", to.mapping.address()))
            .and_then(|()| slot.set("bytes", bytes))
            .and_then(|()| slot.start())
            .and_then(|()| slot.wait(None, |_| Continue::Yes));
        if result.is_ok() {
            let bytes = bytes as usize;
            to.expected[..bytes].copy_from_slice(&from.expected[..bytes]);
        }
        self.found.operations += 4;
        self.good("copy", result);
    }

    fn end(mut self) -> Found {
        while !self.rooms.is_empty() {
            self.end_room();
        }
        self.found
    }
}

/// Runs at least `operations` operations on `threads` threads.
pub fn run(operations: u64, threads: u8, seed: u64, injected: Option<InjectedFault>) -> Found {
    let config = FunctionalConfig {
        slots: threads * SLOTS,
        spaces: 16,
        channel_bytes: 64 << 20,
        ..FunctionalConfig::default()
    };
    let options = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        table_sets_log2: 10,
        injected,
        ..OwnerOptions::default()
    };
    let card = Card::new(Box::new(FunctionalCard::new(config)), options);
    let card = card.expect("a functional card");
    let memory = Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let folder = folder.expect("a folder for files");
    let each = operations / u64::from(threads) + 1;
    let mut found = Found::default();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..threads)
            .map(|number| {
                let folder = folder.path().join(number.to_string());
                let card = &card;
                scope.spawn(move || {
                    fs::create_dir(&folder).expect("a folder");
                    let mut client = Client {
                        card,
                        folder,
                        first_slot: number * SLOTS,
                        seed: seed.wrapping_mul(0x9e37_79b9) + u64::from(number) + 1,
                        rooms: Vec::new(),
                        workers: Vec::new(),
                        old_mappings: Vec::new(),
                        old_slots: Vec::new(),
                        next: 0,
                        found: Found::default(),
                    };
                    while client.found.operations < each {
                        client.step();
                    }
                    client.end()
                })
            })
            .collect();
        for client in clients {
            found += client.join().expect("a client");
        }
    });
    found
}
