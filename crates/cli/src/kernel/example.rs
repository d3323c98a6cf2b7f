//! Options of an example run of a kernel.

use card::kernel::{AccessMode, Argument, Manifest};
use card::stream::StreamDirection;
use std::fmt::Write;

/// A file for each pointer and stream, a permitted number for each scalar.
pub fn of_run(manifest: &Manifest) -> String {
    let mut text = String::new();
    for argument in &manifest.arguments {
        text += " ";
        text += &of_argument(manifest, argument);
    }
    for port in &manifest.streams {
        let new = match port.direction {
            StreamDirection::In => "",
            StreamDirection::Out => ":new",
        };
        let name = &port.name;
        // Writing to a string cannot fail.
        let _ = write!(text, " --connect {name}=file:{name}.bin{new}");
    }
    text
}

/// The option that gives an argument.
pub fn of_argument(manifest: &Manifest, argument: &Argument) -> String {
    let name = &argument.name;
    match (argument.port, argument.access) {
        (Some(_), AccessMode::Write) => format!("--map {name}={name}.bin:new"),
        (Some(_), _) => format!("--map {name}={name}.bin"),
        (None, _) => format!("--set '{name}={}'", number(manifest, argument)),
    }
}

/// A permitted number for an argument; for one called `bytes`, the size of the input file.
fn number(manifest: &Manifest, argument: &Argument) -> String {
    let mut arguments = manifest.arguments.iter();
    let read = arguments.find(|argument| argument.port.is_some() && argument.access.reads());
    match (argument.name.as_str(), read) {
        ("bytes", Some(read)) => format!("size({})", read.name),
        _ if argument.bytes > 8 => format!("0x{}", "00".repeat(argument.bytes as usize)),
        _ => argument.numbers.least.max(1).to_string(),
    }
}
