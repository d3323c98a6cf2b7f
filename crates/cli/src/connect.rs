//! `tombolo run --connect`: the streams of a kernel, connected to files.

use crate::arguments::{ConnectArgument, Mode};
use card::kernel::Manifest;
use card::stream::StreamDirection;
use std::collections::BTreeMap;
use tombolo::{Continue, Error, Mapping, Picoseconds, Progress, Slot};

/// Says what is wrong with the connections, if anything is.
pub fn wrong(connections: &[ConnectArgument], manifest: &Manifest) -> Option<String> {
    let kernel = &manifest.name;
    let names: Vec<&str> = manifest.streams.iter().map(|s| s.name.as_str()).collect();
    let known = match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    for (number, connection) in connections.iter().enumerate() {
        let port = connection.file.argument.as_str();
        let Some((stream, _)) = manifest.stream(port) else {
            return Some(format!(
                "kernel {kernel} has no stream port `{port}`; it has {known}"
            ));
        };
        let before = &connections[..number];
        if before.iter().any(|other| other.file.argument == port) {
            return Some(format!("port `{port}` is connected twice"));
        }
        if manifest.argument(port).is_some() {
            return Some(format!(
                "kernel {kernel} has an argument and a port `{port}`; the command line cannot tell them \
                 apart"
            ));
        }
        let writes = !matches!(connection.file.mode, Mode::ReadOnly | Mode::AsNeeded);
        let made = matches!(connection.file.mode, Mode::New(_));
        match stream.direction {
            StreamDirection::In if made => {
                return Some(format!(
                    "port `{port}` reads its file, so it cannot be :new; leave that away"
                ));
            }
            StreamDirection::Out if connection.file.mode == Mode::ReadOnly => {
                return Some(format!(
                    "port `{port}` writes its file, so it cannot be :ro; write :new or :rw"
                ));
            }
            StreamDirection::Out if !writes => {
                return Some(format!(
                    "port `{port}` writes its file: say :new to make it anew, or :rw to write over what \
                     is there"
                ));
            }
            _ => {}
        }
    }
    let open = names
        .iter()
        .find(|name| !connections.iter().any(|c| c.file.argument == **name));
    open.map(|port| {
        format!("port `{port}` of kernel {kernel} is not connected; use --connect {port}=file:…")
    })
}

/// Moves everything through the kernel: each file in as one packet, and what comes out into each file.
pub fn transfer(
    slot: &Slot,
    connections: &[ConnectArgument],
    mappings: &BTreeMap<String, Mapping>,
    deadline: Option<Picoseconds>,
    mut progress: impl FnMut(Progress) -> Continue,
) -> Result<(), Error> {
    let mut streams = Vec::new();
    for connection in connections {
        let port = connection.file.argument.as_str();
        let found = slot.manifest().stream(port);
        let (Some((described, _)), Some(mapping)) = (found, mappings.get(port)) else {
            continue;
        };
        let stream = slot.open_stream(port)?;
        match described.direction {
            StreamDirection::In => stream.read(mapping.all())?,
            StreamDirection::Out => stream.write(mapping.all())?,
        }
        streams.push((stream, described.direction));
    }
    // What comes out first: a kernel that takes nothing is found by its input all the same.
    streams.sort_by_key(|(_, direction)| *direction == StreamDirection::In);
    for (stream, _) in &streams {
        stream.wait(deadline, &mut progress)?;
    }
    Ok(())
}
