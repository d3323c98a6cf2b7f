//! `[[argument]]`.

use super::{RawArgument, Reader, CONTROL_WINDOW};
use crate::kernel::error::{KernelError, ManifestRule};
use crate::kernel::manifest::{AccessMode, Argument, Numbers, Port, RegisterPort, SECOND_BUNDLE};
use std::collections::HashSet;
use std::ops::Range;
use toml::Spanned;

/// One row, in bytes: most kernels move whole rows, and ignore the low address bits.
const DEFAULT_ALIGNMENT: u32 = 64;
const MAX_ALIGNMENT: u32 = 4096;

/// Reads the arguments of a kernel with these ports.
pub(super) struct ArgumentReader<'a> {
    pub(super) reader: &'a Reader<'a>,
    /// Offsets of a bundle that arguments may have.
    pub(super) window: Range<u32>,
    pub(super) ports: &'a [Port],
    pub(super) bundles: &'a [RegisterPort],
}

impl ArgumentReader<'_> {
    pub(super) fn read(&self, raw: Vec<RawArgument>) -> Result<Vec<Argument>, KernelError> {
        let mut seen = HashSet::new();
        let mut arguments: Vec<Argument> = Vec::new();
        for argument in raw {
            let offset = self.place(&argument, &arguments)?;
            let (port, access) = self.pointer(&argument)?;
            let alignment = self.alignment(&argument)?;
            let numbers = match port {
                None => self.numbers(&argument)?,
                Some(port) => self.addresses(&argument, &self.ports[port])?,
            };
            let name = self
                .reader
                .unique("argument.name", argument.name, &mut seen)?;
            arguments.push(Argument {
                name,
                offset,
                bytes: argument.bytes.into_inner(),
                port,
                access,
                alignment,
                numbers,
                description: argument.description,
            });
        }
        Ok(arguments)
    }

    fn broken(&self, key: &'static str, span: Range<usize>, rule: ManifestRule) -> KernelError {
        self.reader.broken(key, span, rule)
    }

    /// Checks offset and size against the window and the earlier arguments; returns the offset in the
    /// slot's window.
    fn place(&self, argument: &RawArgument, before: &[Argument]) -> Result<u32, KernelError> {
        let (window, bundles) = (&self.window, self.bundles);
        let named = argument.bundle.as_ref();
        let number = match named {
            None => 0,
            Some(name) => {
                let found = bundles.iter().position(|one| one.name == *name.get_ref());
                let rule = || ManifestRule::NoSuchBundle(name.get_ref().clone());
                found.ok_or_else(|| self.broken("argument.bundle", name.span(), rule()))?
            }
        };
        let window = match (bundles.len(), number) {
            (0 | 1, _) => window.clone(),
            (_, 0) => window.start..SECOND_BUNDLE,
            _ => 0..window.end - SECOND_BUNDLE,
        };
        let base = SECOND_BUNDLE * number as u32;
        let offset = *argument.offset.get_ref();
        let bytes = *argument.bytes.get_ref();
        let at_offset = |rule| Err(self.broken("argument.offset", argument.offset.span(), rule));
        if offset < window.start {
            return at_offset(ManifestRule::OffsetReserved(offset));
        }
        if offset % 4 != 0 {
            return at_offset(ManifestRule::OffsetMisaligned(offset));
        }
        if bytes == 0 || bytes % 4 != 0 {
            let rule = ManifestRule::ArgumentBytes(bytes);
            return Err(self.broken("argument.bytes", argument.bytes.span(), rule));
        }
        let end = match offset.checked_add(bytes) {
            Some(end) if end <= window.end => end,
            Some(_) if bundles.len() > 1 => {
                return at_offset(ManifestRule::OffsetBeyondBundle(offset))
            }
            Some(end) if end <= CONTROL_WINDOW => {
                let rule = "offsets from 0xff00 on belong to the slot";
                return at_offset(ManifestRule::Through(rule));
            }
            _ => return at_offset(ManifestRule::OffsetBeyondWindow { offset, bytes }),
        };
        let (first, end) = (base + offset, base + end);
        let overlaps = |other: &&Argument| first < other.offset + other.bytes && other.offset < end;
        match before.iter().find(overlaps) {
            None => Ok(first),
            Some(other) => at_offset(ManifestRule::Overlap {
                offset,
                other: other.name.clone(),
                start: other.offset - base,
                end: other.offset - base + other.bytes - 1,
            }),
        }
    }

    /// Alignment of a pointer's address, in bytes; 1 for a scalar.
    fn alignment(&self, argument: &RawArgument) -> Result<u32, KernelError> {
        let is_pointer = argument.port.is_some();
        let Some(alignment) = &argument.alignment else {
            return Ok(if is_pointer { DEFAULT_ALIGNMENT } else { 1 });
        };
        let bytes = *alignment.get_ref();
        let rule = match is_pointer {
            false => ManifestRule::AlignmentWithoutPort,
            true if !bytes.is_power_of_two() || bytes > MAX_ALIGNMENT => {
                ManifestRule::Alignment(bytes)
            }
            true => return Ok(bytes),
        };
        Err(self.broken("argument.alignment", alignment.span(), rule))
    }

    /// Permitted values of a scalar; all values for other arguments.
    fn numbers(&self, argument: &RawArgument) -> Result<Numbers, KernelError> {
        let all = Numbers::ALL;
        let given = [&argument.least, &argument.most, &argument.multiple_of];
        let Some(first) = given.into_iter().flatten().next() else {
            return Ok(all);
        };
        let number =
            |key: &Option<Spanned<u64>>, none| key.as_ref().map_or(none, |key| *key.get_ref());
        let numbers = Numbers {
            least: number(&argument.least, all.least),
            most: number(&argument.most, all.most),
            multiple_of: number(&argument.multiple_of, all.multiple_of),
        };
        let is_number = argument.port.is_none() && *argument.bytes.get_ref() <= 8;
        let unit = numbers.multiple_of;
        // The smallest permitted multiple, if there is one.
        let some = numbers.least.checked_next_multiple_of(unit);
        match is_number && unit != 0 && some.is_some_and(|number| number <= numbers.most) {
            true => Ok(numbers),
            false => Err(self.broken("argument", first.span(), ManifestRule::Numbers(numbers))),
        }
    }

    /// The addresses that fit into the port and into the registers of a pointer.
    fn addresses(&self, argument: &RawArgument, port: &Port) -> Result<Numbers, KernelError> {
        // A pointer cannot have other limits.
        self.numbers(argument)?;
        let registers = u64::MAX >> (64 - 8 * (*argument.bytes.get_ref()).min(8));
        Ok(Numbers {
            most: port.last_address().min(registers),
            ..Numbers::ALL
        })
    }

    /// The port of a pointer and its access there; none for a scalar.
    fn pointer(&self, argument: &RawArgument) -> Result<(Option<usize>, AccessMode), KernelError> {
        let ports = self.ports;
        let (name, access) = match (&argument.port, &argument.access) {
            (None, None) => return Ok((None, AccessMode::Read)),
            (Some(name), Some(access)) => (name, access),
            (Some(only), None) => {
                return Err(self.broken(
                    "argument.port",
                    only.span(),
                    ManifestRule::AccessWithoutPort,
                ))
            }
            (None, Some(only)) => {
                return Err(self.broken(
                    "argument.access",
                    only.span(),
                    ManifestRule::AccessWithoutPort,
                ))
            }
        };
        let Some(index) = ports.iter().position(|port| port.name == *name.get_ref()) else {
            let rule = ManifestRule::NoSuchPort(name.get_ref().clone());
            return Err(self.broken("argument.port", name.span(), rule));
        };
        let bytes = *argument.bytes.get_ref();
        let short = bytes == 4 && ports[index].address_width <= 32;
        if bytes != 8 && !short {
            let rule = ManifestRule::PointerBytes(bytes);
            return Err(self.broken("argument.bytes", argument.bytes.span(), rule));
        }
        let (wanted, offered) = (*access.get_ref(), ports[index].access);
        if (wanted.reads() && !offered.reads()) || (wanted.writes() && !offered.writes()) {
            let rule = ManifestRule::AccessBeyondPort {
                access: wanted.as_str(),
                port: ports[index].name.clone(),
                port_access: offered.as_str(),
            };
            return Err(self.broken("argument.access", access.span(), rule));
        }
        Ok((Some(index), wanted))
    }
}
