//! Memory that the card maps: its own, the program's, and files.

use super::{DataPart, PacketStore, Port, StreamDevice, TestBench};
use crate::bars::Failure;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tombolo::{
    AddressSpace, Flow, MapOptions, MappedRange, Mapping, MemoryKind, PageSize, SharedMemory,
};

/// Memory with the subject's data, and memory with room for all output.
pub trait Memory {
    /// Name of the device.
    fn name(&self) -> &str;

    /// A part of the data, ready for a kernel to read.
    fn source(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure>;

    /// Called after the kernel has read it.
    fn read(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// A part of the room, ready for a kernel to write.
    fn target(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure>;

    /// Called after the kernel has written it.
    fn written(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Final contents of the room.
    fn content(&mut self) -> Result<Vec<u8>, Failure>;
}

/// Memory as a device: packets are stored consecutively.
pub struct MemoryDevice<M> {
    memory: M,
    store: PacketStore,
}

impl<M> From<M> for MemoryDevice<M> {
    fn from(memory: M) -> Self {
        let store = PacketStore::default();
        Self { memory, store }
    }
}

impl<M: Memory> StreamDevice for MemoryDevice<M> {
    fn name(&self) -> &str {
        self.memory.name()
    }

    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: DataPart<'_>,
    ) -> Result<(), Failure> {
        let bytes = given.bytes.len() as u64;
        let range = self.memory.source(given.offset, bytes)?;
        Ok(flow.plug_memory(port.slot, port.name, range)?)
    }

    fn given(&mut self) -> Result<(), Failure> {
        self.memory.read()
    }

    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure> {
        let range = self.memory.target(self.store.next(room), room)?;
        Ok(flow.plug_memory(port.slot, port.name, range)?)
    }

    fn taken(&mut self, bytes: u64) -> Result<(), Failure> {
        self.store.put(bytes);
        self.memory.written()
    }

    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        self.store.packets(&self.memory.content()?)
    }
}

/// Small pages, so that little data moves for a byte.
fn page() -> Result<PageSize, Failure> {
    Ok(PageSize::from_bytes(64 << 10).ok_or("no such page")?)
}

/// A file with the subject's data, and one with room for all output.
fn files(site: &TestBench<'_>, name: &str) -> Result<[PathBuf; 2], Failure> {
    let [from, to] = ["in", "out"].map(|way| site.folder.join(format!("{name}.{way}")));
    std::fs::write(&from, &site.subject.data)?;
    std::fs::write(&to, PacketStore::blank(site.subject.room()))?;
    Ok([from, to])
}

/// Card memory: pages of files that are fetched once and stay until the end.
pub struct Resident {
    name: String,
    from: Mapping,
    to: Mapping,
    result: PathBuf,
}

impl Resident {
    /// In card memory of the given kind.
    pub fn new(site: &TestBench<'_>, kind: Option<MemoryKind>) -> Result<Self, Failure> {
        let name = kind.map_or_else(|| "card".to_owned(), |kind| format!("card {kind}"));
        let [source, result] = files(site, &name)?;
        let placed = |options: MapOptions| kind.map_or(options, |kind| options.memory(kind));
        let map = |path, options| site.space.map_file(path, placed(options));
        Ok(Self {
            from: map(&source, MapOptions::read_only())?,
            to: map(&result, MapOptions::read_write())?,
            result,
            name,
        })
    }
}

impl Memory for Resident {
    fn name(&self) -> &str {
        &self.name
    }

    fn source(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure> {
        Ok(self.from.slice(offset, bytes)?)
    }

    fn target(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure> {
        Ok(self.to.slice(offset, bytes)?)
    }

    fn content(&mut self) -> Result<Vec<u8>, Failure> {
        self.to.unmap()?;
        Ok(std::fs::read(&self.result)?)
    }
}

/// Files that are mapped for each transfer, and unmapped after it.
pub struct MappedFiles<'a> {
    space: &'a AddressSpace,
    paths: [PathBuf; 2],
    open: [Option<Mapping>; 2],
}

impl<'a> MappedFiles<'a> {
    /// Opens none yet.
    pub fn new(site: &TestBench<'a>) -> Result<Self, Failure> {
        Ok(Self {
            space: site.space,
            paths: files(site, "file")?,
            open: [None, None],
        })
    }

    fn map(&mut self, which: usize, offset: u64, bytes: u64) -> Result<MappedRange, Failure> {
        let options = match which {
            0 => MapOptions::read_only(),
            _ => MapOptions::read_write(),
        };
        let options = options.page_size(page()?);
        let mapping = self.space.map_file(&self.paths[which], options)?;
        let range = mapping.slice(offset, bytes)?;
        self.open[which] = Some(mapping);
        Ok(range)
    }

    fn unmap(&mut self, which: usize) -> Result<(), Failure> {
        let mapping = self.open[which].take().ok_or("nothing is mapped")?;
        Ok(mapping.unmap()?)
    }
}

impl Memory for MappedFiles<'_> {
    fn name(&self) -> &str {
        "file"
    }

    fn source(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure> {
        self.map(0, offset, bytes)
    }

    fn read(&mut self) -> Result<(), Failure> {
        self.unmap(0)
    }

    fn target(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure> {
        self.map(1, offset, bytes)
    }

    fn written(&mut self) -> Result<(), Failure> {
        self.unmap(1)
    }

    fn content(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(std::fs::read(&self.paths[1])?)
    }
}

/// Memory of the program, whose pages are fetched and returned in each transfer.
pub struct Shared {
    name: &'static str,
    from: SharedMemory,
    to: SharedMemory,
    room: u64,
}

impl Shared {
    /// Named `name`.
    pub fn new(site: &TestBench<'_>, name: &'static str) -> Result<Self, Failure> {
        let shared = |bytes: &[u8]| -> Result<SharedMemory, Failure> {
            let memory = site.space.alloc_untrapped(bytes.len(), page()?)?;
            for (to, byte) in memory.slice::<AtomicU8>().iter().zip(bytes) {
                to.store(*byte, Relaxed);
            }
            Ok(memory)
        };
        Ok(Self {
            name,
            from: shared(&site.subject.data)?,
            to: shared(&PacketStore::blank(site.subject.room()))?,
            room: site.subject.room(),
        })
    }
}

impl Memory for Shared {
    fn name(&self) -> &str {
        self.name
    }

    fn source(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure> {
        self.from.take(offset, bytes, true)?;
        Ok(self.from.part(offset, bytes)?)
    }

    fn target(&mut self, offset: u64, bytes: u64) -> Result<MappedRange, Failure> {
        self.to.take(offset, bytes, true)?;
        Ok(self.to.part(offset, bytes)?)
    }

    fn content(&mut self) -> Result<Vec<u8>, Failure> {
        self.to.take(0, self.room, false)?;
        let room = &self.to.slice::<AtomicU8>()[..self.room as usize];
        Ok(room.iter().map(|byte| byte.load(Relaxed)).collect())
    }
}
