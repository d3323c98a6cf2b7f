//! Checks of arguments against the kernel's manifest, before anything is built or opened.

use super::RunError;
use crate::arguments::{ScheduleArgument, SetArgument, Value};
use crate::kernel::example;
use crate::suggest::did_you_mean;
use card::kernel::{Argument, Manifest, Numbers};
use card::schedule::CheckedSchedule;
use tombolo::{Error, SlotId};

fn wrong<T>(text: String) -> Result<T, RunError> {
    Err(RunError::Arguments(text))
}

/// The names of the given arguments, each with whether it maps a file; fails if one is unknown, repeated, or mapped
/// without being a pointer.
pub(super) fn given<'a>(
    manifest: &Manifest,
    names: impl Iterator<Item = (&'a str, bool)>,
) -> Result<Vec<&'a str>, RunError> {
    let mut given: Vec<&str> = Vec::new();
    for (name, is_map) in names {
        let Some(argument) = manifest.argument(name) else {
            return wrong(no_argument(manifest, name));
        };
        if is_map && argument.port.is_none() {
            return wrong(format!("`{name}` is not a pointer; use --set {name}=VALUE"));
        }
        if given.contains(&name) {
            return wrong(format!("argument `{name}` is given twice"));
        }
        given.push(name);
    }
    Ok(given)
}

/// Fails if an argument of the kernel is not given, with an option that gives it.
pub(super) fn complete(manifest: &Manifest, given: &[&str]) -> Result<(), RunError> {
    let is_missing = |argument: &&Argument| !given.contains(&argument.name.as_str());
    let mut missing = manifest.arguments.iter().filter(is_missing);
    let Some(first) = missing.next() else {
        return Ok(());
    };
    let means = match first.description.as_str() {
        "" => String::new(),
        text => format!(" ({text})"),
    };
    let others: Vec<String> = missing.map(|it| format!("`{}`", it.name)).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("; also missing: {}", others.join(", ")),
    };
    wrong(format!(
        "argument `{}` of kernel {} is not given{means}; for example {}{others}",
        first.name,
        manifest.name,
        example::of_argument(manifest, first)
    ))
}

/// Fails if a schedule is for another slot than the kernel's, repeated, or out of range.
pub(super) fn schedules(priorities: &[ScheduleArgument]) -> Result<(), RunError> {
    if let Some(other) = priorities.iter().find(|priority| priority.slot != 0) {
        return wrong(format!(
            "--priority {}=…: the kernel of this command is in slot 0, and no other slot has one",
            other.slot
        ));
    }
    if let [first, _, ..] = priorities {
        return wrong(format!(
            "--priority {}=… is given twice: combine both, as `0=high,weight=3`",
            first.slot
        ));
    }
    for priority in priorities {
        priority.schedule.check(SlotId(priority.slot))?;
    }
    Ok(())
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
pub(super) fn value(manifest: &Manifest, set: &SetArgument) -> Result<(), RunError> {
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
                    "argument `{}` of kernel {}: {number} is out of range: {}",
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
