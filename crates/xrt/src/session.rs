//! A card with a design loaded in its slots.

use crate::card_selection::{selected_card, sim_options};
use crate::container::Container;
use crate::design::{Design, KernelImage, MemoryType};
use crate::dispatch::Dispatcher;
use crate::error::XrtError;
use crate::unpacked::Unpacked;
use crate::uuid::Uuid;
use card::kernel::{KernelPackage, Manifest, Sideband};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{
    AddressSpace, Card, CardName, Connection, FunctionalCard, FunctionalConfig, OwnerOptions,
    ShellConfig, Slot, SlotId,
};

/// Resources of a loaded design. Fields are declared in the order in which they must be dropped.
#[derive(Debug)]
pub(crate) struct Session {
    container: Arc<Container>,
    dispatcher: Dispatcher,
    contexts: Mutex<BTreeMap<usize, Context>>,
    _connections: Vec<Connection>,
    units: Vec<Arc<Slot>>,
    space: AddressSpace,
    card: Card,
    host_memory: bool,
    /// Highest address of each pointer, by kernel and offset of its register.
    addresses: BTreeMap<String, BTreeMap<u32, u64>>,
    _folder: Unpacked,
}

/// Open contexts of a compute unit.
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    shared: usize,
    exclusive: bool,
}

/// A card that was opened for a design.
struct Opened {
    card: Card,
    host_memory: bool,
    /// A daemon's card, whose other slots may belong to other designs.
    is_shared: bool,
}

impl Session {
    pub(crate) fn open(origin: String, container: Container) -> Result<Self, XrtError> {
        let design = &container.design;
        let folder = Unpacked::new(design)?;
        let mut packages = Vec::new();
        for (number, kernel) in design.kernels.iter().enumerate() {
            let package = KernelPackage::open(&kernel_folder(folder.path(), number, kernel));
            packages.push(package.map_err(|error| XrtError::BadXclbin {
                origin: origin.clone(),
                rule: error.to_string(),
            })?);
        }
        let manifests: Vec<&Manifest> = packages.iter().map(|one| &one.manifest).collect();
        let Opened {
            card,
            host_memory,
            is_shared,
        } = open_card(&origin, design, &manifests)?;
        let space = card.create_space()?;
        let mut units = Vec::new();
        for (number, unit) in design.units.iter().enumerate() {
            let kernel = &design.kernels[unit.kernel];
            let folder = kernel_folder(folder.path(), unit.kernel, kernel);
            // A design has at most 16 units.
            units.push(Arc::new(match is_shared {
                true => card.load_anywhere(&folder, &space)?,
                false => card.load(SlotId(number as u8), &folder, &space)?,
            }));
        }
        let mut connections = Vec::new();
        for link in &design.streams {
            let (from, to) = (&units[link.from], &units[link.to]);
            connections.push(card.connect(from, &link.output, to, &link.input)?);
        }
        let addresses = manifests.iter().map(|manifest| {
            let pointers = manifest.arguments.iter().filter(|one| one.port.is_some());
            pointers.map(|one| (one.offset, one.numbers.most)).collect()
        });
        let addresses = design
            .kernels
            .iter()
            .map(|kernel| kernel.name.clone())
            .zip(addresses)
            .collect();
        Ok(Self {
            addresses,
            dispatcher: Dispatcher::new(units.clone()),
            contexts: Mutex::default(),
            container: Arc::new(container),
            _connections: connections,
            units,
            space,
            card,
            host_memory,
            _folder: folder,
        })
    }

    pub(crate) fn uuid(&self) -> Uuid {
        self.container.uuid
    }

    pub(crate) fn container(&self) -> Arc<Container> {
        self.container.clone()
    }

    pub(crate) fn design(&self) -> &Design {
        &self.container.design
    }

    pub(crate) fn platform(&self) -> &str {
        &self.container.design.platform
    }

    pub(crate) fn card(&self) -> &Card {
        &self.card
    }

    pub(crate) fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// Whether kernels can access host memory over PCIe.
    pub(crate) fn has_host_memory(&self) -> bool {
        self.host_memory
    }

    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// The highest address that a pointer of a kernel takes, by the offset of its register.
    pub(crate) fn last_address(&self, kernel: &str, offset: u32) -> u64 {
        let pointers = self.addresses.get(kernel);
        let most = pointers.and_then(|pointers| pointers.get(&offset));
        most.copied().unwrap_or(u64::MAX)
    }

    pub(crate) fn slot(&self, unit: usize) -> &Arc<Slot> {
        &self.units[unit]
    }

    pub(crate) fn unit_name(&self, unit: usize) -> String {
        let design = self.design();
        design.full_name(&design.units[unit])
    }

    pub(crate) fn unit_names(&self) -> Vec<String> {
        (0..self.units.len())
            .map(|unit| self.unit_name(unit))
            .collect()
    }

    fn contexts(&self) -> MutexGuard<'_, BTreeMap<usize, Context>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens compute units, all or none.
    pub(crate) fn open_units(&self, units: &[usize], exclusive: bool) -> Result<(), XrtError> {
        let mut contexts = self.contexts();
        for unit in units {
            let open = contexts.get(unit).copied().unwrap_or_default();
            let how = match (open.exclusive, exclusive && open.shared > 0) {
                (true, _) => "exclusively",
                (_, true) => "by others",
                _ => continue,
            };
            let unit = self.unit_name(*unit);
            return Err(XrtError::UnitTaken { unit, how });
        }
        for unit in units {
            let open = contexts.entry(*unit).or_default();
            open.exclusive |= exclusive;
            open.shared += usize::from(!exclusive);
        }
        Ok(())
    }

    pub(crate) fn close_units(&self, units: &[usize], exclusive: bool) {
        let mut contexts = self.contexts();
        for unit in units {
            let open = contexts.entry(*unit).or_default();
            match exclusive {
                true => open.exclusive = false,
                false => open.shared = open.shared.saturating_sub(1),
            }
        }
    }
}

/// Each kernel has its own folder, so that libraries with the same name do not collide.
fn kernel_folder(root: &Path, number: usize, kernel: &KernelImage) -> std::path::PathBuf {
    root.join(number.to_string()).join(&kernel.name)
}

/// Bits of TID or TDEST that pass from kernel to kernel: those of connections whose two ends have it.
fn id_width(design: &Design, manifests: &[&Manifest], signal: Sideband) -> u8 {
    let of = |unit: usize, port: &str| {
        let found = manifests[design.units[unit].kernel].stream(port);
        found.map_or(0, |(port, _)| port.carried_width(signal))
    };
    let both = design.streams.iter().map(|link| {
        match (of(link.from, &link.output), of(link.to, &link.input)) {
            (_, 0) => 0,
            (sent, _) => sent,
        }
    });
    both.max().unwrap_or(0)
}

/// Opens a card whose slots are large enough for every kernel.
fn open_card(origin: &str, design: &Design, manifests: &[&Manifest]) -> Result<Opened, XrtError> {
    let pairs = manifests
        .iter()
        .map(|one| one.stream_pairs())
        .max()
        .unwrap_or(0);
    let ports = manifests
        .iter()
        .map(|one| one.ports.len())
        .max()
        .unwrap_or(0);
    let least = ShellConfig::default();
    let ports_per_slot = least.ports_per_slot.max(ports as u8 + pairs);
    let slots = design.units.len() as u8;
    let host_memory = design
        .memories
        .iter()
        .any(|one| one.used && one.kind == MemoryType::Host);
    let selected = selected_card();
    if let Some(name) = selected.as_ref().filter(|name| name.is_external()) {
        let card = Card::open(name.to_string())?;
        let host_memory = card.describe()?.0.host_channel;
        return Ok(Opened {
            card,
            host_memory,
            is_shared: matches!(name, CardName::Daemon(_)),
        });
    }
    if selected == Some(CardName::Functional) {
        let config = FunctionalConfig {
            slots,
            ports_per_slot,
            streams_per_slot: pairs,
            host_channel: host_memory,
            ..FunctionalConfig::default()
        };
        let card = Card::functional(FunctionalCard::new(config))?;
        return Ok(Opened {
            card,
            host_memory,
            is_shared: false,
        });
    }
    match selected {
        Some(CardName::Platform(card)) if card != design.platform => {
            return Err(XrtError::OtherPlatform {
                origin: origin.to_owned(),
                linked: design.platform.clone(),
                card,
            });
        }
        _ => {}
    }
    let mut options = sim_options(&design.platform)?;
    options.shell.slots = slots;
    options.shell.ports_per_slot = ports_per_slot;
    options.shell.streams_per_slot = pairs;
    options.shell.tid_width = id_width(design, manifests, Sideband::Tid);
    options.shell.tdest_width = id_width(design, manifests, Sideband::Tdest);
    options.shell.host_channel = host_memory;
    let card = Card::simulated(options, OwnerOptions::default(), |step| {
        tracing::info!("{step}");
    })?;
    Ok(Opened {
        card,
        host_memory,
        is_shared: false,
    })
}
