//! The kernel of a run, with its arguments and ports.

use super::values::text;
use super::{check, RunError};
use crate::arguments::{ConnectArgument, MapArgument, ScheduleArgument, SetArgument, Value};
use crate::connect;
use crate::kernel::{folder_of, NoSuchKernel};
use card::kernel::{AccessMode, Manifest};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tombolo::{AddressSpace, Error, Flow, Mapping, Slot};
use units::StreamDirection;

/// Options that select a kernel and set its arguments.
#[derive(Args)]
pub(super) struct KernelOptions {
    /// A kernel's folder, or the name of one in `kernels/`.
    kernel: PathBuf,

    /// Maps a file and passes its address:
    /// ARGUMENT=FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:hot|:warm|:cold][:memory=KIND].
    /// A new file has BYTES bytes, or as many as size(ARGUMENT), or as the largest existing file that is mapped; it
    /// appears whole after a successful run, or not at all. If a file's name ends like an option, add one: x:new:rw is
    /// the file x:new. See docs/command.md.
    #[arg(long = "map", value_name = "ARGUMENT=FILE",
          value_parser = OsStringValueParser::new().try_map(|text| MapArgument::parse(&text)))]
    maps: Vec<MapArgument>,

    /// Connects a stream port to a device:
    /// PORT=file:FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:hot|:warm|:cold][:memory=KIND][:packets=N|all|any].
    /// An input file is one packet. By default an output file takes one packet, which ends the run, and further data is
    /// an error. :packets=all takes all packets, contiguously, N the first N, any one packet or as much of it as fits;
    /// N and any discard the rest. Other devices are pipes, sockets, the standard input and output (-): `tombolo
    /// devices` lists them.
    #[arg(long = "connect", value_name = "PORT=DEVICE:…",
          value_parser = OsStringValueParser::new().try_map(|text| ConnectArgument::parse(&text)))]
    connections: Vec<ConnectArgument>,

    /// Sets an argument: ARGUMENT=VALUE. VALUE is a number (42, -42, 0x2a), bytes in memory order (hex: and pairs of
    /// digits, or 0x and more than 16 digits), f32:1.5, f64:1.5, or size(ARGUMENT).
    #[arg(long = "set", value_name = "ARGUMENT=VALUE",
          value_parser = OsStringValueParser::new().try_map(|text| SetArgument::parse(&text)))]
    sets: Vec<SetArgument>,

    /// Sets a slot's share of card memory bandwidth:
    /// SLOT=low|normal|high|urgent[,weight=N][,floor=PERCENT][,limit=BYTES]. The kernel is in slot 0. Priority, weight
    /// and floor take effect if other slots access card memory concurrently; the limit, in bytes a second, applies to
    /// the slot's reads and to its writes. See docs/command.md.
    #[arg(long = "priority", value_name = "SLOT=PRIORITY",
          value_parser = text().try_map(|text| ScheduleArgument::parse(&text)))]
    priorities: Vec<ScheduleArgument>,
}

impl KernelOptions {
    /// The kernel as the user named it.
    pub(super) fn named(&self) -> &Path {
        &self.kernel
    }

    pub(super) fn folder(&self) -> Result<PathBuf, NoSuchKernel> {
        folder_of(&self.kernel)
    }

    /// The mapped files: of pointers, then of stream ports.
    pub(super) fn files(&self) -> Vec<&MapArgument> {
        let connected = self.connections.iter().filter_map(ConnectArgument::file);
        self.maps.iter().chain(connected).collect()
    }

    /// How the kernel accesses the file of an argument or port.
    pub(super) fn access_of(manifest: &Manifest, name: &str) -> AccessMode {
        let stream = manifest.stream(name).map(|(port, _)| port.direction);
        match (manifest.argument(name), stream) {
            (Some(argument), _) => argument.access,
            (None, Some(StreamDirection::In)) => AccessMode::Read,
            (None, _) => AccessMode::ReadWrite,
        }
    }

    /// Network interfaces that the connections need.
    pub(super) fn network_interfaces(&self, manifest: &Manifest) -> u8 {
        connect::interfaces(&self.connections, manifest)
    }

    /// Whether a port writes the standard output.
    pub(super) fn fills_standard_output(&self, manifest: &Manifest) -> bool {
        connect::fills_standard_output(&self.connections, manifest)
    }

    /// Whether a port reads the standard input.
    pub(super) fn reads_standard_input(&self, manifest: &Manifest) -> bool {
        connect::reads_standard_input(&self.connections, manifest)
    }

    /// Refuses unknown, repeated and missing arguments, and unknown ports.
    pub(super) fn check_names(&self, manifest: &Manifest) -> Result<(), RunError> {
        let maps = self.maps.iter().map(|map| (map.argument.as_str(), true));
        let sets = self.sets.iter().map(|set| (set.argument.as_str(), false));
        let given = check::given(manifest, maps.chain(sets))?;
        // An unknown port is reported before missing arguments, because a misspelling explains them.
        if let Some(text) = connect::no_port(&self.connections, manifest) {
            return Err(RunError::Arguments(text));
        }
        check::complete(manifest, &given)
    }

    /// Refuses connections that do not fit their ports.
    pub(super) fn check_ports(&self, manifest: &Manifest) -> Result<(), RunError> {
        match connect::wrong(&self.connections, manifest) {
            Some(text) => Err(RunError::Arguments(text)),
            None => Ok(()),
        }
    }

    /// Refuses schedules and values that are out of range.
    pub(super) fn check_values(&self, manifest: &Manifest) -> Result<(), RunError> {
        check::schedules(&self.priorities)?;
        let files = self.files();
        for set in &self.sets {
            check::value(manifest, set)?;
            if let Value::SizeOf(name) = &set.value {
                if !files.iter().any(|map| &map.argument == name) {
                    let text = format!("size({name}): no file is mapped for `{name}`");
                    return Err(RunError::Arguments(text));
                }
            }
        }
        Ok(())
    }

    /// Sets arguments and schedule of a loaded kernel.
    pub(super) fn apply(
        &self,
        slot: &mut Slot,
        mappings: &BTreeMap<String, Mapping>,
    ) -> Result<(), RunError> {
        for map in &self.maps {
            if let Some(mapping) = mappings.get(&map.argument) {
                slot.set_pointer(&map.argument, mapping.address())?;
            }
        }
        for set in &self.sets {
            set_argument(slot, set, mappings)?;
        }
        for priority in &self.priorities {
            slot.set_schedule(priority.schedule)?;
        }
        Ok(())
    }

    /// Connects the stream ports of a loaded kernel.
    pub(super) fn connect<'a>(
        &self,
        space: &'a AddressSpace,
        slot: &Slot,
        mappings: &BTreeMap<String, Mapping>,
    ) -> Result<Flow<'a>, Error> {
        connect::plug(space, slot, &self.connections, mappings)
    }
}

fn set_argument(
    slot: &mut Slot,
    set: &SetArgument,
    mappings: &BTreeMap<String, Mapping>,
) -> Result<(), RunError> {
    match &set.value {
        Value::Number(number) => slot.set(&set.argument, *number)?,
        Value::Bytes(bytes) => slot.set_bytes(&set.argument, bytes)?,
        Value::Negative(number) => {
            let argument = slot.manifest().argument(&set.argument);
            let bytes = argument.and_then(|it| Value::in_bytes(*number, it.bytes));
            slot.set_bytes(&set.argument, &bytes.unwrap_or_default())?;
        }
        Value::SizeOf(name) => {
            slot.set(&set.argument, mappings.get(name).map_or(0, Mapping::bytes))?;
        }
    }
    Ok(())
}
