//! Memory layout of the message structures.
//!
//! They are declared by FSRF's header: the application, then the arguments of the call in order, each with its C type.
//! Messages about registers begin with the slot; on FSRF's branch `stream`, all do. A program whose header has another
//! layout is served by a description in a file: sizes and offsets in bytes, for the messages that differ.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `PATH_MAX` of Linux.
const PATH_MAX: usize = 4096;
/// Maximum size of a structure in bytes.
const MOST_BYTES: usize = 1 << 16;

/// A member of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// The card's slot: 8 bytes.
    Slot,
    /// The application: 8 bytes.
    App,
    /// An address, or the offset of a register: 8 bytes.
    Address,
    /// Value for a register: 8 bytes.
    Value,
    /// A null-terminated path: the rest of the structure.
    Path,
    /// A descriptor: 4 bytes.
    Descriptor,
    /// A length: 8 bytes.
    Bytes,
    /// `PROT_…`: 4 bytes.
    Protection,
    /// `MAP_…` or `MS_…`: 4 bytes.
    Flags,
    /// Offset in a file: 8 bytes.
    Offset,
    /// The mode to set: 8 bytes.
    Mode,
    /// Value of the mode: 8 bytes.
    Data,
}

impl Field {
    fn width(self) -> usize {
        match self {
            Self::Descriptor | Self::Protection | Self::Flags => 4,
            Self::Path => 1,
            _ => 8,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Slot => "slot",
            Self::App => "app",
            Self::Address => "address",
            Self::Value => "value",
            Self::Path => "path",
            Self::Descriptor => "descriptor",
            Self::Bytes => "bytes",
            Self::Protection => "protection",
            Self::Flags => "flags",
            Self::Offset => "offset",
            Self::Mode => "mode",
            Self::Data => "data",
        }
    }
}

/// A kind of message: its number, its name in a description, and its members in order.
struct Kind {
    number: u32,
    name: &'static str,
    /// All members except the slot.
    fields: &'static [Field],
}

/// The version of FSRF's header that a program was built with: the position of the slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// Branch `main`: messages about registers begin with the slot.
    #[default]
    Main,
    /// Branch `stream`: all messages begin with the slot.
    Stream,
}

impl Header {
    /// The members of a structure.
    fn fields(self, kind: &Kind) -> Vec<Field> {
        let has_slot = self == Self::Stream || matches!(kind.name, "read" | "write");
        let slot = has_slot.then_some(Field::Slot);
        slot.into_iter()
            .chain(kind.fields.iter().copied())
            .collect()
    }
}

/// Even numbers are requests; the odd numbers between are their replies, whose number is not sent.
const KINDS: [Kind; 8] = [
    Kind {
        number: 0,
        name: "read",
        fields: &[Field::App, Field::Address],
    },
    Kind {
        number: 2,
        name: "write",
        fields: &[Field::App, Field::Address, Field::Value],
    },
    Kind {
        number: 4,
        name: "open",
        fields: &[Field::App, Field::Path],
    },
    Kind {
        number: 6,
        name: "close",
        fields: &[Field::App, Field::Descriptor],
    },
    Kind {
        number: 8,
        name: "mmap",
        fields: &[
            Field::App,
            Field::Address,
            Field::Bytes,
            Field::Protection,
            Field::Flags,
            Field::Descriptor,
            Field::Offset,
        ],
    },
    Kind {
        number: 10,
        name: "munmap",
        fields: &[Field::App, Field::Address, Field::Bytes],
    },
    Kind {
        number: 12,
        name: "msync",
        fields: &[Field::App, Field::Address, Field::Bytes, Field::Flags],
    },
    Kind {
        number: 14,
        name: "set_mode",
        fields: &[Field::App, Field::Mode, Field::Data],
    },
];

/// Layout of one structure.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Structure {
    size: usize,
    offsets: BTreeMap<Field, usize>,
}

impl Structure {
    /// Members in order, each aligned to its width, as a C compiler for x86-64 places them.
    fn of(fields: &[Field]) -> Self {
        let mut offsets = BTreeMap::new();
        let mut end: usize = 0;
        let mut alignment = 1;
        for field in fields {
            let at = end.next_multiple_of(field.width());
            offsets.insert(*field, at);
            alignment = alignment.max(field.width());
            end = match field {
                Field::Path => at + PATH_MAX,
                _ => at + field.width(),
            };
        }
        let size = end.next_multiple_of(alignment);
        Self { size, offsets }
    }
}

/// Layout of all structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    structures: BTreeMap<u32, Structure>,
}

impl Default for Layout {
    fn default() -> Self {
        Self::of(Header::default())
    }
}

/// A structure in a description file.
#[derive(Debug, Deserialize)]
struct Described {
    size: usize,
    #[serde(flatten)]
    offsets: BTreeMap<String, usize>,
}

/// Why a description cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The file cannot be read.
    #[error("{path}: reading the layout of messages: {source}", path = .path.display())]
    File {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not valid TOML, or lacks the required form.
    #[error("{path}: {source}", path = .path.display())]
    Form {
        /// The file's path.
        path: PathBuf,
        /// The parser's error, with the line.
        source: Box<toml::de::Error>,
    },
    /// The description breaks a rule.
    #[error("{path}: [{message}]: {rule}", path = .path.display())]
    Rule {
        /// The file's path.
        path: PathBuf,
        /// The table of the message.
        message: String,
        /// The rule that it breaks.
        rule: String,
    },
}

impl Layout {
    /// The layout of a version of FSRF's header.
    pub fn of(header: Header) -> Self {
        let structures = KINDS
            .iter()
            .map(|one| (one.number, Structure::of(&header.fields(one))));
        Self {
            structures: structures.collect(),
        }
    }

    /// The layout of a header version (`main`, `stream`), or of a description file.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn named(name: &Path) -> Result<Self, LayoutError> {
        match name.to_str() {
            Some("main") => Ok(Self::of(Header::Main)),
            Some("stream") => Ok(Self::of(Header::Stream)),
            _ => Self::load(name),
        }
    }

    /// The layout of `main`, with the messages that a TOML file describes replaced: a table for each (`[write]`), with
    /// `size` and the offset of each member in bytes.
    ///
    /// # Errors
    /// See [`LayoutError`].
    pub fn load(path: &Path) -> Result<Self, LayoutError> {
        let text = std::fs::read_to_string(path).map_err(|source| LayoutError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, LayoutError> {
        let described: BTreeMap<String, Described> =
            toml::from_str(text).map_err(|source| LayoutError::Form {
                path: path.to_owned(),
                source: Box::new(source),
            })?;
        let mut layout = Self::default();
        for (message, structure) in described {
            let (number, structure) =
                checked(&message, &structure).map_err(|rule| LayoutError::Rule {
                    path: path.to_owned(),
                    message,
                    rule,
                })?;
            layout.structures.insert(number, structure);
        }
        Ok(layout)
    }

    /// Size of a message without its kind in bytes; `None` if there is no such kind.
    pub(crate) fn bytes(&self, kind: u32) -> Option<usize> {
        self.structures.get(&kind).map(|one| one.size)
    }

    /// A member of a complete message; 0 if the structure has no such member.
    pub(crate) fn read(&self, kind: u32, field: Field, message: &[u8]) -> u64 {
        let bytes = self.rest(kind, field, message);
        let bytes = bytes.iter().take(field.width()).rev();
        bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    /// The bytes of a message from a member on.
    pub(crate) fn rest<'a>(&self, kind: u32, field: Field, message: &'a [u8]) -> &'a [u8] {
        let structure = self.structures.get(&kind);
        let at = structure.and_then(|one| one.offsets.get(&field));
        at.and_then(|at| message.get(*at..)).unwrap_or_default()
    }
}

fn checked(message: &str, described: &Described) -> Result<(u32, Structure), String> {
    let names = || KINDS.map(|one| one.name).join(", ");
    let kind = KINDS.iter().find(|one| one.name == message);
    let kind = kind.ok_or_else(|| format!("no such message: {}", names()))?;
    if described.size > MOST_BYTES {
        return Err(format!("size = {}: at most {MOST_BYTES}", described.size));
    }
    let mut offsets = BTreeMap::new();
    for (name, at) in &described.offsets {
        let members = || std::iter::once(&Field::Slot).chain(kind.fields);
        let field = members().find(|field| field.name() == name);
        let known = || members().map(|field| field.name());
        let field = field.ok_or_else(|| {
            let known = known().collect::<Vec<_>>().join(", ");
            format!("{name}: its members are {known}")
        })?;
        let end = at.checked_add(field.width());
        if end.is_none_or(|end| end > described.size) {
            return Err(format!(
                "{name} = {at}: {} bytes from there on are not in a structure of {}",
                field.width(),
                described.size
            ));
        }
        offsets.insert(*field, *at);
    }
    // A structure may lack the application only if the message needs none.
    let needed = |field: &&Field| match (message, field) {
        ("open" | "close" | "set_mode", Field::App) => false,
        (_, field) => !offsets.contains_key(field),
    };
    if let Some(missing) = kind.fields.iter().find(needed) {
        return Err(format!("{} is missing", missing.name()));
    }
    let size = described.size;
    Ok((kind.number, Structure { size, offsets }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_those_of_a_c_compiler() {
        let layout = Layout::default();
        let sizes = KINDS.iter().map(|one| layout.bytes(one.number).unwrap());
        assert_eq!(
            sizes.collect::<Vec<_>>(),
            [24, 32, 4104, 16, 48, 24, 32, 24]
        );
        let stream = Layout::of(Header::Stream);
        let sizes = KINDS.iter().map(|one| stream.bytes(one.number).unwrap());
        assert_eq!(
            sizes.collect::<Vec<_>>(),
            [24, 32, 4112, 24, 56, 32, 40, 32]
        );
        assert_eq!(stream.structures[&4].offsets[&Field::Path], 16);
        let map = &layout.structures[&8].offsets;
        let offsets: Vec<usize> = KINDS[4].fields.iter().map(|field| map[field]).collect();
        assert_eq!(offsets, [0, 8, 16, 24, 28, 32, 40]);
    }

    #[test]
    fn a_description_changes_what_it_names_and_is_checked() {
        let parse = |text: &str| Layout::parse(Path::new("layout.toml"), text);
        let layout = parse("[write]\nsize = 40\napp = 0\naddress = 16\nvalue = 24\n").unwrap();
        assert_eq!(layout.bytes(2), Some(40));
        let message: Vec<u8> = (0..40).collect();
        assert_eq!(
            layout.read(2, Field::Value, &message),
            0x1f1e_1d1c_1b1a_1918
        );
        assert_eq!(layout.bytes(8), Layout::default().bytes(8));
        parse("[set_mode]\nsize = 16\nmode = 0\ndata = 8\n").unwrap();
        for (text, rule) in [
            ("[writes]\nsize = 8\n", "no such message: read, write"),
            ("[read]\nsize = 8\naddress = 0\n", "app is missing"),
            (
                "[read]\nsize = 8\napp = 0\naddress = 8\n",
                "address = 8: 8 bytes from there on",
            ),
            (
                "[read]\nsize = 16\napp = 0\nvalue = 8\n",
                "value: its members are slot, app, address",
            ),
            (
                "[read]\nsize = 65537\napp = 0\naddress = 8\n",
                "at most 65536",
            ),
            ("[read]\nsize = -1\n", "invalid value"),
            ("read = 1\n", "invalid type"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(rule), "{text}: {error}");
        }
    }
}
