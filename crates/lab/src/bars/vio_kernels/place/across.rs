//! Devices behind another kernel or on another machine.

use super::{DataPart, PacketStore, Port, StreamDevice, TestBench};
use crate::bars::served::Server;
use crate::bars::Failure;
use std::path::{Path, PathBuf};
use tombolo::{Card, Connection, Device, Flow, Slot};

/// A device behind a loopback in another slot: connected port to port, without memory in between.
pub struct Neighbour<'a> {
    card: &'a Card,
    loopback: &'a Slot,
    behind: Box<dyn StreamDevice + 'a>,
    joined: Option<Connection>,
}

impl<'a> Neighbour<'a> {
    /// Places a device behind the loopback.
    pub fn new(site: &TestBench<'a>, behind: Box<dyn StreamDevice + 'a>) -> Self {
        Self {
            card: site.card,
            loopback: site.loopback,
            behind,
            joined: None,
        }
    }

    fn part(&mut self) -> Result<(), Failure> {
        let joined = self.joined.take().ok_or("no ports are joined")?;
        Ok(joined.disconnect()?)
    }
}

impl StreamDevice for Neighbour<'_> {
    fn name(&self) -> &str {
        self.behind.name()
    }

    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: DataPart<'_>,
    ) -> Result<(), Failure> {
        let joined = self
            .card
            .connect(self.loopback, "out", port.slot, port.name)?;
        self.joined = Some(joined);
        let first = Port {
            slot: self.loopback,
            name: "in",
        };
        self.behind.give(flow, first, given)
    }

    fn given(&mut self) -> Result<(), Failure> {
        self.part()?;
        self.behind.given()
    }

    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure> {
        let joined = self
            .card
            .connect(port.slot, port.name, self.loopback, "in")?;
        self.joined = Some(joined);
        let last = Port {
            slot: self.loopback,
            name: "out",
        };
        self.behind.take(flow, last, room)
    }

    fn taken(&mut self, bytes: u64) -> Result<(), Failure> {
        self.part()?;
        self.behind.taken(bytes)
    }

    fn is_one_way(&self) -> bool {
        true
    }

    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        self.behind.collect()
    }
}

/// Addressable memory backed by a file: the subject's data, followed by room for the output.
pub struct Addressed {
    name: &'static str,
    /// Name of the device, without its range.
    form: String,
    file: PathBuf,
    data: Vec<u8>,
    store: PacketStore,
    server: Option<Server>,
}

impl Addressed {
    fn new(site: &TestBench<'_>, name: &'static str) -> Result<Self, Failure> {
        let file = site.folder.join(name.replace(['/', ':'], "."));
        let blank = PacketStore::blank(site.subject.room());
        std::fs::write(&file, [site.subject.data.as_slice(), &blank].concat())?;
        Ok(Self {
            name,
            form: String::new(),
            file,
            data: site.subject.data.clone(),
            store: PacketStore::default(),
            server: None,
        })
    }

    /// Memory of a simulated machine at the card's network interface.
    pub fn node(site: &TestBench<'_>) -> Result<Self, Failure> {
        let place = Self::new(site, "net-node:")?;
        let form = format!("net-node:{}", place.file.display());
        Ok(Self { form, ..place })
    }

    /// Memory served by another process; `kind` is the transport.
    pub fn served(
        site: &TestBench<'_>,
        tombolo: &Path,
        kind: &'static str,
    ) -> Result<Self, Failure> {
        let place = Self::new(site, kind)?;
        let server = Server::start(tombolo, place.file.as_os_str())?;
        Ok(Self {
            form: format!("{kind}{}", server.address()),
            server: Some(server),
            ..place
        })
    }

    fn device(&self, offset: u64, bytes: u64) -> Result<Device, Failure> {
        let options = match self.server {
            Some(_) => ":timeout=60s:buffer=64KiB",
            None => "",
        };
        let name = format!("{}@{offset}+{bytes}{options}", self.form);
        Ok(Device::parse(name.as_ref())?)
    }
}

impl StreamDevice for Addressed {
    fn name(&self) -> &str {
        self.name
    }

    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: DataPart<'_>,
    ) -> Result<(), Failure> {
        let device = self.device(given.offset, given.bytes.len() as u64)?;
        flow.plug(port.slot, port.name, device)?;
        Ok(())
    }

    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure> {
        let at = self.data.len() as u64 + self.store.next(room);
        flow.plug(port.slot, port.name, self.device(at, room)?)?;
        Ok(())
    }

    fn taken(&mut self, bytes: u64) -> Result<(), Failure> {
        self.store.put(bytes);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        let all = std::fs::read(&self.file)?;
        let (data, store) = all.split_at(self.data.len());
        match data == self.data {
            true => self.store.packets(store),
            false => Err("what was only read has changed".into()),
        }
    }
}
