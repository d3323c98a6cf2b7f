//! Checks the options against the kernel's manifest, before anything is built or opened.

use super::{Run, RunError};
use crate::arguments::{SetArgument, Value};
use crate::connect;
use crate::standard::{was_closed, Stream};
use crate::suggest::did_you_mean;
use card::kernel::{Manifest, Numbers};
use card::schedule::CheckedSchedule;
use std::path::Path;
use tombolo::{Error, SlotId};

impl Run {
    /// Fails with the first option that does not fit the manifest.
    pub(super) fn check(&self, manifest: &Manifest) -> Result<(), RunError> {
        let names: Vec<&str> = manifest.arguments.iter().map(|a| a.name.as_str()).collect();
        let wrong = |text: String| Err(RunError::Arguments(text));
        let mut given: Vec<&str> = Vec::new();
        let maps = self.maps.iter().map(|map| (map.argument.as_str(), true));
        let sets = self.sets.iter().map(|set| (set.argument.as_str(), false));
        for (name, is_map) in maps.chain(sets) {
            let Some(argument) = manifest.arguments.iter().find(|a| a.name == name) else {
                return wrong(no_argument(manifest, name));
            };
            if is_map && argument.port.is_none() {
                return wrong(format!("`{name}` is no pointer; use --set {name}=VALUE"));
            }
            if given.contains(&name) {
                return wrong(format!("argument `{name}` is given twice"));
            }
            given.push(name);
        }
        // An unknown port is reported before missing arguments, because a misspelling explains them.
        if let Some(text) = connect::no_port(&self.connections, manifest) {
            return wrong(text);
        }
        for name in names {
            if !given.contains(&name) {
                return wrong(format!(
                    "argument `{name}` of kernel {} is not given; use --map or --set",
                    manifest.name
                ));
            }
        }
        let serves = !manifest.lines.is_empty();
        let caches = !manifest.accesses.is_empty();
        if self.coherent && !serves && !caches {
            return wrong(format!(
                "--coherent: kernel {} has nothing to do with cache lines: it has no port of kind axi4_home, \
                 line_operations or host_lines",
                manifest.name
            ));
        }
        if !self.coherent && (serves || caches) {
            return wrong(format!(
                "kernel {} uses cache lines (ports of kind {}): it needs --coherent and --access",
                manifest.name,
                if serves {
                    "line_operations"
                } else {
                    "host_lines"
                }
            ));
        }
        if self.history && caches {
            return wrong(format!(
                "--history: lines of the CPU's own memory, which kernel {} uses, have none",
                manifest.name
            ));
        }
        if let Some(text) = connect::wrong(&self.connections, manifest) {
            return wrong(text);
        }
        self.check_standard_streams(manifest)?;
        if let Some(other) = self.priorities.iter().find(|priority| priority.slot != 0) {
            return wrong(format!(
                "--priority {}=…: the kernel of this command is in slot 0, and no other slot has one",
                other.slot
            ));
        }
        if let [first, _, ..] = &self.priorities[..] {
            return wrong(format!(
                "--priority {}=… is given twice: say all of it at once, as `0=high,weight=3`",
                first.slot
            ));
        }
        for priority in &self.priorities {
            priority.schedule.check(SlotId(priority.slot))?;
        }
        for set in &self.sets {
            check_value(manifest, set)?;
            if let Value::SizeOf(name) = &set.value {
                if !self.files.iter().any(|map| &map.argument == name) {
                    return wrong(format!("size({name}): no file is mapped for `{name}`"));
                }
            }
        }
        Ok(())
    }
}

impl Run {
    /// Refuses a run that would read or write a closed standard stream.
    fn check_standard_streams(&self, manifest: &Manifest) -> Result<(), RunError> {
        let wrong = |text: &str| Err(RunError::Arguments(text.to_owned()));
        let fills = connect::fills_standard_output(&self.connections, manifest);
        let reads = connect::reads_standard_input(&self.connections, manifest);
        let reads = reads || self.access.as_deref() == Some(Path::new("-"));
        if reads && was_closed(Stream::Input) {
            return wrong("the standard input is closed, and `-` reads it: redirect it (<FILE), or name a file or a pipe");
        }
        if fills && was_closed(Stream::Output) {
            return wrong("the standard output is closed, and `-` writes it: redirect it (>FILE), or name a file or a pipe");
        }
        if self.prints_json() && was_closed(Stream::Output) {
            return wrong("the standard output is closed, and `--json -` writes it: redirect it (>FILE), or name a file");
        }
        if !fills && !self.quiet && was_closed(Stream::Output) {
            return wrong("the standard output is closed, and the report goes there: redirect it, or say --quiet");
        }
        Ok(())
    }
}

/// The message for an unknown argument, with the known ones.
fn no_argument(manifest: &Manifest, name: &str) -> String {
    let kernel = &manifest.name;
    if manifest.stream(name).is_some() {
        return format!(
            "`{name}` of kernel {kernel} is a stream port: use --connect {name}=file:… or another of `tombolo devices`"
        );
    }
    let arguments = || manifest.arguments.iter().map(|it| it.name.as_str());
    let list = |names: Vec<&str>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    let mut text = format!(
        "kernel {kernel} has no argument `{name}`; it has {}",
        list(arguments().collect())
    );
    let ports: Vec<&str> = manifest.streams.iter().map(|it| it.name.as_str()).collect();
    if !ports.is_empty() {
        text += &format!(", and stream ports, for --connect: {}", list(ports));
    }
    text + &did_you_mean(name, arguments())
}

/// Whether a value fits its argument and is in its permitted range.
fn check_value(manifest: &Manifest, set: &SetArgument) -> Result<(), RunError> {
    let mut arguments = manifest.arguments.iter();
    let Some(argument) = arguments.find(|argument| argument.name == set.argument) else {
        return Ok(());
    };
    let room = argument.bytes as usize;
    let (fits, given) = match &set.value {
        Value::Number(number) => {
            let bytes = (8 - number.leading_zeros() as usize / 8).max(1);
            (bytes <= room && room <= 8, bytes)
        }
        Value::Negative(number) => {
            let fits = Value::in_bytes(*number, argument.bytes).is_some();
            return match (fits, argument.numbers == Numbers::ALL) {
                (true, true) => Ok(()),
                _ => Err(RunError::Arguments(format!(
                    "argument `{}` of kernel {}: {number} is none of its numbers: {}",
                    set.argument,
                    manifest.name,
                    match fits {
                        true => format!("it takes {}", argument.numbers),
                        false => format!("it has {room} bytes"),
                    }
                ))),
            };
        }
        Value::Bytes(bytes) => (bytes.len() == room, bytes.len()),
        Value::SizeOf(_) => (room <= 8, 8),
    };
    if fits {
        return match &set.value {
            Value::Number(number) if !argument.numbers.have(*number) => {
                Err(RunError::Library(Error::ArgumentValue {
                    kernel: manifest.name.clone(),
                    argument: set.argument.clone(),
                    value: *number,
                    numbers: argument.numbers,
                }))
            }
            _ => Ok(()),
        };
    }
    Err(RunError::Library(Error::ArgumentSize {
        kernel: manifest.name.clone(),
        argument: set.argument.clone(),
        expected: argument.bytes,
        given,
    }))
}
