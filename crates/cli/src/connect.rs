//! `tombolo run --connect`: the streams of a kernel, connected to files, pipes and sockets.

use crate::arguments::{ConnectArgument, Mode};
use crate::suggest::did_you_mean;
use card::kernel::{Manifest, StreamPort};
use std::collections::BTreeMap;
use tombolo::{AddressSpace, Device, Error, Flow, Mapping, Slot};
use units::StreamDirection;

/// Says which connection names no stream port, if one does, and what the kernel has.
pub fn no_port(connections: &[ConnectArgument], manifest: &Manifest) -> Option<String> {
    let kernel = &manifest.name;
    let mut names = connections.iter().map(ConnectArgument::port);
    let port = names.find(|port| manifest.stream(port).is_none())?;
    if manifest.argument(port).is_some() {
        return Some(format!(
            "`{port}` of kernel {kernel} is an argument: use --map {port}=FILE or --set {port}=VALUE"
        ));
    }
    let ports: Vec<&str> = manifest.streams.iter().map(|s| s.name.as_str()).collect();
    if ports.is_empty() {
        let arguments = manifest.arguments.iter().map(|it| it.name.as_str());
        let arguments: Vec<&str> = arguments.collect();
        return Some(format!(
            "kernel {kernel} has no stream ports: `{port}` cannot be connected; it has the arguments {}, for --map and --set",
            arguments.join(", ")
        ));
    }
    Some(format!(
        "kernel {kernel} has no stream port `{port}`; it has {}{}",
        ports.join(", "),
        did_you_mean(port, ports.iter().copied())
    ))
}

/// Says what is wrong with the connections, if anything is; all name ports.
pub fn wrong(connections: &[ConnectArgument], manifest: &Manifest) -> Option<String> {
    let kernel = &manifest.name;
    let names: Vec<&str> = manifest.streams.iter().map(|s| s.name.as_str()).collect();
    for (number, connection) in connections.iter().enumerate() {
        let port = connection.port();
        let Some((stream, _)) = manifest.stream(port) else {
            continue;
        };
        let before = &connections[..number];
        if before.iter().any(|other| other.port() == port) {
            return Some(format!("port `{port}` is connected twice"));
        }
        if manifest.argument(port).is_some() {
            return Some(format!(
                "kernel {kernel} has an argument and a port `{port}`; the command line cannot distinguish \
                 them"
            ));
        }
        if stream.direction == StreamDirection::In && connection.packets().is_some() {
            return Some(format!(
                "port `{port}` takes one packet, its whole file or device: :packets= is for ports out of a kernel; \
                 omit it"
            ));
        }
        let Some(file) = connection.file() else {
            continue;
        };
        let writes = !matches!(file.mode, Mode::ReadOnly | Mode::AsNeeded);
        let made = matches!(file.mode, Mode::New(_));
        match stream.direction {
            StreamDirection::In if made => {
                return Some(format!(
                    "port `{port}` reads its file, so it cannot be :new; omit that"
                ));
            }
            StreamDirection::Out if file.mode == Mode::ReadOnly => {
                return Some(format!(
                    "port `{port}` writes its file, so it cannot be :ro; write :new or :rw"
                ));
            }
            StreamDirection::Out if !writes => {
                return Some(format!(
                    "port `{port}` writes its file; write :new to create it, or :rw to overwrite it"
                ));
            }
            _ => {}
        }
    }
    let open = names
        .iter()
        .find(|name| !connections.iter().any(|c| c.port() == **name));
    open.map(|port| {
        format!("port `{port}` of kernel {kernel} is not connected; use --connect {port}=file:… or another of `tombolo devices`")
    })
}

/// Network interfaces that the connections need: one for each port of a direction that is plugged into the network.
pub fn interfaces(connections: &[ConnectArgument], manifest: &Manifest) -> u8 {
    let of = |direction| {
        let on_network = connections.iter().filter(|connection| {
            let port = manifest.stream(connection.port());
            port.is_some_and(|(port, _)| port.direction == direction)
                && connection.device().is_some_and(Device::is_on_network)
        });
        on_network.count()
    };
    let most = of(StreamDirection::In).max(of(StreamDirection::Out));
    u8::try_from(most).unwrap_or(u8::MAX)
}

/// Whether the standard output is for what comes out of a kernel.
pub fn fills_standard_output(connections: &[ConnectArgument], manifest: &Manifest) -> bool {
    is_standard(connections, manifest, StreamDirection::Out)
}

/// Whether what goes into a kernel comes from the standard input.
pub fn reads_standard_input(connections: &[ConnectArgument], manifest: &Manifest) -> bool {
    is_standard(connections, manifest, StreamDirection::In)
}

fn is_standard(
    connections: &[ConnectArgument],
    manifest: &Manifest,
    direction: StreamDirection,
) -> bool {
    connections.iter().any(|connection| {
        let goes_there = |(port, _): (&StreamPort, _)| port.direction == direction;
        let goes_there = manifest.stream(connection.port()).is_some_and(goes_there);
        goes_there && connection.device().is_some_and(Device::is_standard)
    })
}

/// Plugs everything in.
pub fn plug<'a>(
    space: &'a AddressSpace,
    slot: &Slot,
    connections: &[ConnectArgument],
    mappings: &BTreeMap<String, Mapping>,
) -> Result<Flow<'a>, Error> {
    let mut flow = Flow::new(space);
    for connection in connections {
        let port = connection.port();
        match (connection, mappings.get(port)) {
            (ConnectArgument::Device(_, device), _) => {
                flow.plug(slot, port, device.clone())?;
            }
            (ConnectArgument::File(file), Some(mapping)) => {
                let packets = file.packets.unwrap_or_default();
                flow.plug_packets(slot, port, mapping.all(), packets)?;
            }
            (ConnectArgument::File(_), None) => {}
        }
    }
    Ok(flow)
}
