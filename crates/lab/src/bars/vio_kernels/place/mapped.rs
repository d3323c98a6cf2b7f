//! Memory that the card maps: its own, the program's, and files.

use super::{Given, Place, Port, Shelf, Site};
use crate::bars::Failure;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tombolo::{
    AddressSpace, Flow, MapOptions, MappedRange, Mapping, MemoryKind, PageSize, SharedMemory,
};

/// Small pages, so that not everything moves for a byte.
fn page() -> Result<PageSize, Failure> {
    Ok(PageSize::from_bytes(64 << 10).ok_or("no such page")?)
}

/// A file with the subject's data, and one with room for all that may come.
fn files(site: &Site<'_>, name: &str) -> Result<[PathBuf; 2], Failure> {
    let [from, to] = ["in", "out"].map(|way| site.folder.join(format!("{name}.{way}")));
    std::fs::write(&from, &site.subject.data)?;
    std::fs::write(&to, Shelf::blank(site.subject.room()))?;
    Ok([from, to])
}

/// Card memory: pages of files that come once, and stay till the end.
pub struct Resident {
    name: String,
    from: Mapping,
    to: Mapping,
    result: PathBuf,
    shelf: Shelf,
}

impl Resident {
    /// In memory of that kind.
    pub fn new(site: &Site<'_>, kind: Option<MemoryKind>) -> Result<Self, Failure> {
        let name = kind.map_or_else(|| "card".to_owned(), |kind| format!("card {kind}"));
        let [source, result] = files(site, &name)?;
        let placed = |options: MapOptions| kind.map_or(options, |kind| options.memory(kind));
        let map = |path, options| site.space.map_file(path, placed(options));
        Ok(Self {
            from: map(&source, MapOptions::read_only())?,
            to: map(&result, MapOptions::read_write())?,
            result,
            shelf: Shelf::default(),
            name,
        })
    }
}

impl Place for Resident {
    fn name(&self) -> &str {
        &self.name
    }

    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: Given<'_>,
    ) -> Result<(), Failure> {
        let range = self.from.slice(given.offset, given.bytes.len() as u64)?;
        Ok(flow.plug_memory(port.slot, port.name, range)?)
    }

    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure> {
        let range = self.to.slice(self.shelf.next(room), room)?;
        Ok(flow.plug_memory(port.slot, port.name, range)?)
    }

    fn taken(&mut self, bytes: u64) -> Result<(), Failure> {
        self.shelf.put(bytes);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        self.to.unmap()?;
        self.shelf.packets(&std::fs::read(&self.result)?)
    }
}

/// Files that are mapped for each transfer, and unmapped after it.
pub struct Mapped<'a> {
    space: &'a AddressSpace,
    paths: [PathBuf; 2],
    open: [Option<Mapping>; 2],
    shelf: Shelf,
}

impl<'a> Mapped<'a> {
    /// None is open yet.
    pub fn new(site: &Site<'a>) -> Result<Self, Failure> {
        Ok(Self {
            space: site.space,
            paths: files(site, "file")?,
            open: [None, None],
            shelf: Shelf::default(),
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

impl Place for Mapped<'_> {
    fn name(&self) -> &str {
        "file"
    }

    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: Given<'_>,
    ) -> Result<(), Failure> {
        let range = self.map(0, given.offset, given.bytes.len() as u64)?;
        Ok(flow.plug_memory(port.slot, port.name, range)?)
    }

    fn given(&mut self) -> Result<(), Failure> {
        self.unmap(0)
    }

    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure> {
        let at = self.shelf.next(room);
        let range = self.map(1, at, room)?;
        Ok(flow.plug_memory(port.slot, port.name, range)?)
    }

    fn taken(&mut self, bytes: u64) -> Result<(), Failure> {
        self.shelf.put(bytes);
        self.unmap(1)
    }

    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        self.shelf.packets(&std::fs::read(&self.paths[1])?)
    }
}

/// Memory of the program, whose pages come for each transfer, and go back.
pub struct Shared {
    name: &'static str,
    from: SharedMemory,
    to: SharedMemory,
    shelf: Shelf,
    room: u64,
}

impl Shared {
    /// Under that name.
    pub fn new(site: &Site<'_>, name: &'static str) -> Result<Self, Failure> {
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
            to: shared(&Shelf::blank(site.subject.room()))?,
            shelf: Shelf::default(),
            room: site.subject.room(),
        })
    }
}

impl Place for Shared {
    fn name(&self) -> &str {
        self.name
    }

    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: Given<'_>,
    ) -> Result<(), Failure> {
        let bytes = given.bytes.len() as u64;
        self.from.take(given.offset, bytes, true)?;
        let range = self.from.part(given.offset, bytes)?;
        Ok(flow.plug_memory(port.slot, port.name, range)?)
    }

    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure> {
        let at = self.shelf.next(room);
        self.to.take(at, room, true)?;
        Ok(flow.plug_memory(port.slot, port.name, self.to.part(at, room)?)?)
    }

    fn taken(&mut self, bytes: u64) -> Result<(), Failure> {
        self.shelf.put(bytes);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        self.to.take(0, self.room, false)?;
        let bytes = self.to.slice::<AtomicU8>();
        let bytes: Vec<u8> = bytes.iter().map(|byte| byte.load(Relaxed)).collect();
        self.shelf.packets(&bytes[..self.room as usize])
    }
}
