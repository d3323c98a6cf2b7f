//! Devices: the card is opened when an xclbin is loaded.

use crate::card_selection::{selected_card, sim_options, DEFAULT_PLATFORM};
use crate::container::{self, Container};
use crate::error::XrtError;
use crate::session::Session;
use crate::uuid::Uuid;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tombolo::{CardName, SimOptions};

/// A device of this process. Clones refer to the same device; its card is closed with the last object that uses it.
#[derive(Clone, Debug)]
pub struct Device {
    inner: Arc<DeviceInner>,
}

#[derive(Debug)]
struct DeviceInner {
    number: u32,
    session: Mutex<Option<Arc<Session>>>,
}

/// Queries of `xrt::device::get_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names of XRT's enumeration")]
pub enum Information {
    Bdf = 0,
    InterfaceUuid = 1,
    Kdma = 2,
    MaxClockFrequencyMhz = 3,
    M2m = 4,
    Name = 5,
    Nodma = 6,
    Offline = 7,
    Electrical = 8,
    Thermal = 9,
    Mechanical = 10,
    Memory = 11,
    Platform = 12,
    PcieInfo = 13,
    Host = 14,
    Aie = 15,
    AieShim = 16,
    DynamicRegions = 17,
    Vmr = 18,
    AieMem = 19,
}

impl Information {
    /// The query with this number in XRT's enumeration.
    pub fn from_number(number: u32) -> Option<Self> {
        const ALL: [Information; 20] = [
            Information::Bdf,
            Information::InterfaceUuid,
            Information::Kdma,
            Information::MaxClockFrequencyMhz,
            Information::M2m,
            Information::Name,
            Information::Nodma,
            Information::Offline,
            Information::Electrical,
            Information::Thermal,
            Information::Mechanical,
            Information::Memory,
            Information::Platform,
            Information::PcieInfo,
            Information::Host,
            Information::Aie,
            Information::AieShim,
            Information::DynamicRegions,
            Information::Vmr,
            Information::AieMem,
        ];
        ALL.get(number as usize).copied()
    }
}

static OPEN: Mutex<BTreeMap<u32, Weak<DeviceInner>>> = Mutex::new(BTreeMap::new());

/// Number of devices: `TOMBOLO_XRT_DEVICES`, else 1.
pub fn device_count() -> u32 {
    let asked = std::env::var("TOMBOLO_XRT_DEVICES").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(1)
}

fn bdf(number: u32) -> String {
    format!("0000:{:02x}:00.1", number + 1)
}

impl Device {
    /// Opens device `number`, without opening its card.
    ///
    /// # Errors
    /// [`XrtError::NoDevice`]; [`XrtError::Environment`]: `XCL_EMULATION_MODE` requests C models.
    pub fn open(number: u32) -> Result<Self, XrtError> {
        let count = device_count();
        if number >= count {
            let name = number.to_string();
            return Err(XrtError::NoDevice { name, count });
        }
        if let Ok(value) = std::env::var("XCL_EMULATION_MODE") {
            if value != "hw_emu" && value != "hw" {
                return Err(XrtError::Environment {
                    variable: "XCL_EMULATION_MODE",
                    value,
                    rule: "kernels run as RTL on a simulated card; set it to hw_emu",
                });
            }
        }
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = open.get(&number).and_then(Weak::upgrade) {
            return Ok(Self { inner });
        }
        let session = Mutex::default();
        let inner = Arc::new(DeviceInner { number, session });
        open.insert(number, Arc::downgrade(&inner));
        Ok(Self { inner })
    }

    /// Opens a device by its PCIe address (`0000:01:00.1`) or by its number in digits.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_named(name: &str) -> Result<Self, XrtError> {
        let count = device_count();
        let by_address = (0..count).find(|number| {
            let own = bdf(*number);
            own == name || own.trim_start_matches("0000:") == name
        });
        match by_address.or_else(|| name.parse().ok()) {
            Some(number) => Self::open(number),
            None => Err(XrtError::NoDevice {
                name: name.to_owned(),
                count,
            }),
        }
    }

    /// Device number, from 0.
    pub fn number(&self) -> u32 {
        self.inner.number
    }

    /// Whether both refer to the same device.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        let session = self.inner.session.lock();
        session.unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an `.xclbin`, opens a card for it, and puts its compute units into the card's slots. No effect if it is
    /// already loaded.
    ///
    /// # Errors
    /// The file is missing, damaged, or in another format; another design is in use; the card or a kernel cannot be
    /// built.
    pub fn load_file(&self, path: &Path) -> Result<Uuid, XrtError> {
        self.load(path.display().to_string(), container::read(path)?)
    }

    /// As [`load_file`](Self::load_file), from bytes.
    ///
    /// # Errors
    /// As [`load_file`](Self::load_file).
    pub fn load_bytes(&self, bytes: &[u8]) -> Result<Uuid, XrtError> {
        let origin = "the bytes given";
        self.load(origin.to_owned(), container::parse(origin, bytes)?)
    }

    /// As [`load_file`](Self::load_file), from a container; `origin` names it in errors.
    ///
    /// # Errors
    /// As [`load_file`](Self::load_file).
    pub fn load(&self, origin: String, container: Container) -> Result<Uuid, XrtError> {
        let mut present = self.lock();
        if let Some(session) = &*present {
            if session.uuid() == container.uuid {
                return Ok(container.uuid);
            }
            let users = Arc::strong_count(session) - 1;
            if users > 0 {
                return Err(XrtError::DeviceBusy {
                    device: self.number(),
                    present: session.uuid().to_string(),
                    users,
                });
            }
        }
        // The previous card is closed first: only one can be open.
        *present = None;
        let uuid = container.uuid;
        let session = Session::open(origin, container)?;
        *present = Some(Arc::new(session));
        Ok(uuid)
    }

    /// The session of the loaded design; `call` names the caller in the error.
    ///
    /// # Errors
    /// [`XrtError::NothingLoaded`].
    pub(crate) fn session(&self, call: &'static str) -> Result<Arc<Session>, XrtError> {
        self.lock().clone().ok_or(XrtError::NothingLoaded {
            device: self.number(),
            call,
        })
    }

    /// As [`session`](Self::session), checking the UUID that the program passes.
    pub(crate) fn session_of(
        &self,
        uuid: Uuid,
        call: &'static str,
    ) -> Result<Arc<Session>, XrtError> {
        let session = self.session(call)?;
        match session.uuid() == uuid {
            true => Ok(session),
            false => Err(XrtError::OtherUuid {
                device: self.number(),
                given: uuid.to_string(),
                present: session.uuid().to_string(),
            }),
        }
    }

    /// UUID of the loaded design; all zeroes if there is none.
    pub fn uuid(&self) -> Uuid {
        self.lock()
            .as_ref()
            .map_or_else(Uuid::default, |session| session.uuid())
    }

    /// The loaded container; `call` names the caller in the error.
    ///
    /// # Errors
    /// [`XrtError::NothingLoaded`].
    pub fn container(&self, call: &'static str) -> Result<Arc<Container>, XrtError> {
        Ok(self.session(call)?.container())
    }

    /// Unloads the design and stops its runs.
    ///
    /// # Errors
    /// [`XrtError::DeviceBusy`]: objects of the program still use the design.
    pub fn reset(&self) -> Result<(), XrtError> {
        let mut present = self.lock();
        if let Some(session) = &*present {
            let users = Arc::strong_count(session) - 1;
            if users > 0 {
                return Err(XrtError::DeviceBusy {
                    device: self.number(),
                    present: session.uuid().to_string(),
                    users,
                });
            }
        }
        *present = None;
        Ok(())
    }

    /// Virtual time since the card was opened, in picoseconds; 0 if no card is open.
    ///
    /// # Errors
    /// The card is broken.
    pub fn now(&self) -> Result<u64, XrtError> {
        match &*self.lock() {
            Some(session) => Ok(session.card().describe()?.1.get()),
            None => Ok(0),
        }
    }

    fn platform(&self) -> Result<SimOptions, XrtError> {
        let loaded = self
            .lock()
            .as_ref()
            .map(|session| session.platform().to_owned());
        let selected = match selected_card() {
            Some(CardName::Platform(name)) => Some(name),
            Some(CardName::Functional | CardName::Daemon(_) | CardName::Device(_)) | None => None,
        };
        sim_options(
            &loaded
                .or(selected)
                .unwrap_or_else(|| DEFAULT_PLATFORM.to_owned()),
        )
    }

    /// Result of a `get_info` query as text: a number in digits, `true` or `false`, or a JSON document for reports.
    ///
    /// # Errors
    /// The platform file cannot be read.
    pub fn information(&self, what: Information) -> Result<String, XrtError> {
        let options = self.platform()?;
        let platform = &options.platform;
        let report =
            |key: &str, value: serde_json::Value| serde_json::json!({ key: value }).to_string();
        Ok(match what {
            Information::Bdf => bdf(self.number()),
            Information::InterfaceUuid => self.uuid().to_string(),
            Information::Kdma => "0".to_owned(),
            Information::MaxClockFrequencyMhz => {
                (1_000_000 / platform.clock().period_ps.get().max(1)).to_string()
            }
            Information::M2m => "true".to_owned(),
            Information::Nodma | Information::Offline => "false".to_owned(),
            Information::Name => format!("tombolo_{}", platform.name()),
            Information::Memory => {
                let memories = platform.memories().iter().map(|memory| {
                    serde_json::json!({
                        "type": format!("{:?}", memory.kind),
                        "banks": memory.channels,
                        "bytes_of_a_bank": memory.channel_bytes,
                    })
                });
                report("memories", memories.collect())
            }
            Information::Platform => report(
                "platforms",
                serde_json::json!([{
                    "static_region": { "vbnv": format!("tombolo_{}", platform.name()) },
                    "description": platform.description(),
                }]),
            ),
            Information::PcieInfo => {
                report("pcie", serde_json::json!({ "bdf": bdf(self.number()) }))
            }
            Information::Host => report(
                "host",
                serde_json::json!({ "library": "tombolo", "version": env!("CARGO_PKG_VERSION") }),
            ),
            Information::DynamicRegions => {
                let loaded = self.lock().clone();
                let units: Vec<String> = loaded
                    .iter()
                    .flat_map(|session| session.unit_names())
                    .collect();
                report("compute_units", units.into())
            }
            Information::Electrical => report("electrical", "not simulated".into()),
            Information::Thermal => report("thermals", "not simulated".into()),
            Information::Mechanical => report("mechanical", "not simulated".into()),
            Information::Aie | Information::AieShim | Information::AieMem => {
                report("aie", "this card has no AI engines".into())
            }
            Information::Vmr => report("vmr", "not simulated".into()),
        })
    }
}
