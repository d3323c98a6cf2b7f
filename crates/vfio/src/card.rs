//! [`VfioCard`]: a card on a VFIO device.

use crate::address::PciAddress;
use crate::card_file::CardFile;
use crate::device::Device;
use crate::geometry::describe;
use crate::transport::VfioTransport;
use crate::watch::{self, Watch};
use card::command::{Command, QueueId};
use card::driver::Driver;
use card::event::Event;
use card::guard::{KernelWord, SlotStatus};
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::schedule::SlotSchedule;
use card::{
    Card, CardDescription, CardError, CheckedDescription, Loader, RequesterStatistics, SlotId,
    SpaceControl, Statistics, Streams,
};
use std::sync::Arc;
use units::{Asid, CommandStatus, HostAddr, Picoseconds, ROW_BYTES};

/// A card behind vfio-pci, in real time.
///
/// Its slots already hold kernels: [`load`](Loader::load) checks that the slot has the ports that a kernel needs and,
/// if the slot identifies its kernel, that it is the same one. Statistics contain only what the shell's registers
/// count: translation, and rows moved by commands, which are reported as the bytes on the link.
pub struct VfioCard {
    driver: Driver<VfioTransport<Device>>,
    watch: Watch,
}

impl VfioCard {
    /// Opens a device that is bound to vfio-pci, and sets up the shell's rings.
    ///
    /// # Errors
    /// [`CardError::Device`]: the device cannot be opened, or has no shell; [`CardError::HostMemory`].
    pub fn open(address: PciAddress, file: &CardFile) -> Result<Self, CardError> {
        let device = Device::open(address).map_err(|error| CardError::Device(error.to_string()))?;
        let name = format!("vfio:{address}");
        let read = |register| device.read(register).unwrap_or(u32::MAX);
        let description = describe(name, file, device.bar_bytes(), read)
            .map_err(|nonsense| CardError::Device(format!("{address}: {nonsense}")))?;
        let driver = Driver::start(VfioTransport::new(device), description)?;
        Ok(Self {
            driver,
            watch: Watch::default(),
        })
    }
}

impl Card for VfioCard {
    fn description(&self) -> &CardDescription {
        self.driver.description()
    }

    fn now(&self) -> Picoseconds {
        self.driver.transport().now()
    }

    fn read_register(&mut self, address: u32) -> Result<u32, CardError> {
        self.driver.read_register(address)
    }

    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.driver.write_register(address, value)
    }

    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        self.driver.map_host(memory)
    }

    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError> {
        self.driver.unmap_host(address)
    }

    fn submit(&mut self, command: Command) -> Result<(), CardError> {
        self.driver.submit(&command)
    }

    fn queue_room(&self, queue: QueueId) -> usize {
        self.driver.queue_room(queue)
    }

    fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError> {
        self.driver.control_slot(slot, asid, run)
    }

    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError> {
        self.driver.read_kernel(slot, offset)
    }

    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError> {
        self.driver.slot_status(slot)
    }

    fn control_space(&mut self, asid: Asid, control: SpaceControl) -> Result<(), CardError> {
        self.driver.control_space(asid, control)
    }

    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError> {
        self.driver.schedule_slot(slot, schedule)
    }

    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError> {
        let events = watch::wait(&mut self.driver, &mut self.watch, deadline)?;
        let fails = |event: &Event| {
            matches!(
                event,
                Event::Completed {
                    status: CommandStatus::BusError,
                    ..
                }
            )
        };
        if events.iter().any(fails) {
            if let Some(held) = self.driver.take_errors()? {
                tracing::warn!("{}: {held}", self.driver.description().name);
            }
        }
        Ok(events)
    }

    fn statistics(&mut self) -> Result<Statistics, CardError> {
        let description = self.driver.description();
        let ports = usize::from(description.slots) * usize::from(description.ports_per_slot);
        let mut statistics = Statistics {
            requesters: vec![RequesterStatistics::default(); 2 * ports],
            ..Statistics::default()
        };
        self.driver.count_requesters(&mut statistics.requesters)?;
        statistics.link.bytes_to_card = ROW_BYTES * self.driver.rows_in()?;
        statistics.link.bytes_to_host = ROW_BYTES * self.driver.rows_out()?;
        statistics.link.rows_zeroed = self.driver.rows_zeroed()?;
        Ok(statistics)
    }

    fn loader(&mut self) -> Option<&mut dyn Loader> {
        Some(self)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        Some(&mut self.driver)
    }
}

impl Loader for VfioCard {
    /// Checks the slot's ports and identity; its contents stay unchanged.
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        self.driver.check_loadable(slot)?;
        self.driver.description().check_fit(&kernel.manifest)?;
        self.driver.check_identity(slot, kernel)
    }
}
