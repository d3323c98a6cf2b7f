//! Syntax of the values of `--map`, `--connect`, `--set` and `--priority`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tombolo::{
    AdviceError, Device, FileState, MapOptions, MemoryKind, Packets, UnknownMemory, UnknownPackets,
};
use units::{PageSize, Priority, SlotSchedule};

/// A number of bytes, or the size of another argument's mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// An explicit number of bytes.
    Bytes(u64),
    /// As many bytes as this argument's mapping has.
    Of(String),
}

/// How a file is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Read-only if the manifest declares that the kernel only reads the argument, else read-write.
    AsNeeded,
    /// Read-only.
    ReadOnly,
    /// Read-write.
    ReadWrite,
    /// Created or emptied; as large as given here, or as the largest file that the kernel reads.
    New(Option<Size>),
}

/// `ARGUMENT=FILE[@OFFSET[+BYTES]][:MODE][:page=SIZE][:advice=WORDS][:direct][:hot|:warm|:cold][:holes][:memory=KIND]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapArgument {
    /// The kernel's pointer argument.
    pub argument: String,
    pub file: PathBuf,
    /// Offset of the first mapped byte in the file.
    pub offset: u64,
    /// Length of the mapping; `None` up to the end of the file.
    pub bytes: Option<u64>,
    pub mode: Mode,
    /// Page size, advice, placement; range and access rights are filled in when the file is opened, because they depend
    /// on its length and on the manifest.
    pub options: MapOptions,
    /// Packets that the file takes from the kernel; with `--connect` only.
    pub packets: Option<Packets>,
}

/// `PORT=DEVICE:…`: a stream port of the kernel and the device that it is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectArgument {
    /// A file, mapped as by `--map`.
    File(MapArgument),
    /// A port and a sequential device, such as a pipe or a socket.
    Device(String, Device),
}

/// The value of a scalar argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, of up to 16 hexadecimal digits. Longer ones are bytes.
    Number(u64),
    /// A negative number, stored in two's complement at the argument's width.
    Negative(i64),
    /// Bytes in memory order: the first two hexadecimal digits are the first byte.
    Bytes(Vec<u8>),
    /// The size of this argument's mapping.
    SizeOf(String),
}

/// `ARGUMENT=VALUE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetArgument {
    /// The kernel's argument.
    pub argument: String,
    pub value: Value,
}

/// `SLOT=PRIORITY[,weight=N][,floor=PERCENT][,limit=BYTES]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleArgument {
    /// The slot's number.
    pub slot: u8,
    pub schedule: SlotSchedule,
}

/// Why the value of an option cannot be parsed: `text` is the value as given, `part` the part that is wrong, `form` the
/// expected syntax.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// No `=`.
    #[error("`{text}` has no `=`; write {form}")]
    NoEquals { text: String, form: &'static str },
    /// A part is empty.
    #[error("`{text}`: {part} is missing; write {form}")]
    Missing {
        text: String,
        part: &'static str,
        form: &'static str,
    },
    /// A part that must be text.
    #[error("`{text}`: {part} is not UTF-8; only names of files may be other bytes")]
    NotUtf8 { text: String, part: &'static str },
    /// Not a device.
    #[error("{0}")]
    Device(String),
    /// Not a number of bytes.
    #[error("`{text}` is not a number of bytes; write 4096, 0x1000, 64KiB, 2MiB or 1GiB (powers of 1024; KB, MB and GB are refused)")]
    Bytes { text: String },
    /// Not a page size.
    #[error("`{text}` is not a page size; write a power of two from 4KiB to 1GiB, or auto")]
    PageSize { text: String },
    /// No advice.
    #[error("{0}")]
    Advice(AdviceError),
    /// Unknown kind of memory.
    #[error("{0}")]
    Memory(UnknownMemory),
    /// Not a number of packets.
    #[error("{0}")]
    Packets(UnknownPackets),
    /// Not a schedule.
    #[error("`{text}`: {part} is not understood; write {SCHEDULE_FORM}")]
    Schedule { text: String, part: String },
    /// Not a value.
    #[error("`{text}` is not a value; write 42, -42, 0x2a, f32:1.5, f64:1.5, hex: and pairs of digits (bytes in memory order), or size(ARGUMENT)")]
    Value { text: String },
}

const MAP_FORM: &str =
    "ARGUMENT=FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:hot|:warm|:cold][:holes][:memory=KIND]";
const CONNECT_FORM: &str =
    "PORT=file:FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:hot|:warm|:cold][:holes][:memory=KIND][:packets=N|all|any], or another device, \
     PORT=KIND:WHERE";
const SET_FORM: &str = "ARGUMENT=VALUE";
const SCHEDULE_FORM: &str = "SLOT=low|normal|high|urgent[,weight=N][,floor=PERCENT][,limit=BYTES]";

/// Shows bytes that may be invalid UTF-8 in a message.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn utf8<'a>(text: &'a [u8], whole: &[u8], part: &'static str) -> Result<&'a str, SyntaxError> {
    std::str::from_utf8(text).map_err(|_| SyntaxError::NotUtf8 {
        text: shown(whole),
        part,
    })
}

/// Splits at the first occurrence of a byte, which is dropped.
fn split_at_first(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|found| *found == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Splits at the last occurrence of a byte, which is dropped.
fn split_at_last(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().rposition(|found| *found == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

fn split<'a>(text: &'a [u8], form: &'static str) -> Result<(&'a str, &'a [u8]), SyntaxError> {
    let (name, rest) = split_at_first(text, b'=').ok_or_else(|| SyntaxError::NoEquals {
        text: shown(text),
        form,
    })?;
    for (part, name_of) in [(name, "the argument's name"), (rest, "what follows `=`")] {
        if part.is_empty() {
            return Err(SyntaxError::Missing {
                text: shown(text),
                part: name_of,
                form,
            });
        }
    }
    Ok((utf8(name, text, "the argument's name")?, rest))
}

/// Reads a number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, SyntaxError> {
    let wrong = || SyntaxError::Bytes {
        text: text.to_owned(),
    };
    tombolo::parse_bytes(text).ok_or_else(wrong)
}

fn size_of(text: &str) -> Option<&str> {
    let name = text.strip_prefix("size(")?.strip_suffix(')')?;
    (!name.is_empty()).then_some(name)
}

impl MapArgument {
    /// Whether the mapping is writable; `needed` is whether the kernel writes to the argument.
    pub fn writes(&self, needed: bool) -> bool {
        match self.mode {
            Mode::ReadOnly => false,
            Mode::AsNeeded => needed,
            Mode::ReadWrite | Mode::New(_) => true,
        }
    }

    /// Parses the value of `--map`; the file name need not be UTF-8.
    pub fn parse(text: &OsStr) -> Result<Self, SyntaxError> {
        Self::parse_as(text, Options::default())
    }

    fn parse_as(text: &OsStr, options: Options) -> Result<Self, SyntaxError> {
        let text = text.as_bytes();
        let (argument, rest) = split(text, MAP_FORM)?;
        let (rest, options) = split_options(rest, options)?;
        let (file, offset, bytes) = split_range(rest)?;
        let named = [file, &options.of_device].concat();
        if file.is_empty() {
            return Err(SyntaxError::Missing {
                text: shown(text),
                part: "the file",
                form: MAP_FORM,
            });
        }
        Ok(Self {
            argument: argument.to_owned(),
            file: OsStr::from_bytes(&named).into(),
            offset,
            bytes,
            mode: options.mode.unwrap_or(Mode::AsNeeded),
            options: options.map,
            packets: options.packets,
        })
    }
}

impl ConnectArgument {
    /// Parses the value of `--connect`; a file name need not be UTF-8.
    pub fn parse(text: &OsStr) -> Result<Self, SyntaxError> {
        let text = text.as_bytes();
        let (port, rest) = split(text, CONNECT_FORM)?;
        let Some(file) = rest.strip_prefix(b"file:") else {
            let device = Device::parse(OsStr::from_bytes(rest));
            let device = device.map_err(|error| SyntaxError::Device(error.to_string()))?;
            return Ok(Self::Device(port.to_owned(), device));
        };
        let map = [port.as_bytes(), b"=", file].concat();
        let options = Options {
            of_connection: true,
            ..Options::default()
        };
        MapArgument::parse_as(OsStr::from_bytes(&map), options).map(Self::File)
    }

    /// The number of packets that it takes from the kernel, if one is given.
    pub fn packets(&self) -> Option<Packets> {
        match self {
            Self::File(map) => map.packets,
            Self::Device(_, device) => device.packets(),
        }
    }

    /// The kernel's port.
    pub fn port(&self) -> &str {
        match self {
            Self::File(map) => &map.argument,
            Self::Device(port, _) => port,
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&MapArgument> {
        match self {
            Self::File(map) => Some(map),
            Self::Device(..) => None,
        }
    }

    /// The stream device, if it is not a file.
    pub fn device(&self) -> Option<&Device> {
        match self {
            Self::File(_) => None,
            Self::Device(_, device) => Some(device),
        }
    }
}

/// Options after a file's name.
struct Options {
    mode: Option<Mode>,
    map: MapOptions,
    /// Whether they belong to `--connect`, which also accepts `:packets=`.
    of_connection: bool,
    packets: Option<Packets>,
    /// Options of a remote or stream device. They belong to its name and keep their colons.
    of_device: Vec<u8>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: None,
            map: MapOptions::read_only(),
            of_connection: false,
            packets: None,
            of_device: Vec::new(),
        }
    }
}

/// Strips options from the end, in any order. File names may contain colons, so the first unknown word ends the search.
fn split_options(mut text: &[u8], mut options: Options) -> Result<(&[u8], Options), SyntaxError> {
    let name = OsStr::from_bytes(text);
    let of_device = Device::names_stream(name) || Device::names_remote(name);
    while let Some((rest, word)) = split_at_last(text, b':') {
        // Options are UTF-8; other bytes belong to the file name.
        let Ok(word) = std::str::from_utf8(word) else {
            break;
        };
        let packets = word.strip_prefix("packets=");
        if let Some(packets) =
            packets.filter(|_| options.of_connection && options.packets.is_none())
        {
            options.packets = Some(packets.parse().map_err(SyntaxError::Packets)?);
            text = rest;
            continue;
        }
        if of_device && Device::is_option(word) && !word.contains('@') {
            let before = std::mem::take(&mut options.of_device);
            options.of_device = [b":", word.as_bytes(), &before].concat();
            text = rest;
            continue;
        }
        let page = word.strip_prefix("page=");
        let advice = word.strip_prefix("advice=");
        if let Some(kind) = word
            .strip_prefix("memory=")
            .filter(|_| options.map.memory.is_none())
        {
            let kind: Result<MemoryKind, UnknownMemory> = kind.parse();
            options.map.memory = Some(kind.map_err(SyntaxError::Memory)?);
            text = rest;
            continue;
        }
        let map = &mut options.map;
        match (page, advice) {
            (Some("auto"), _) if map.page_size.is_none() => *map = map.auto_pages(),
            (Some(size), _) if map.page_size.is_none() && map.auto_pages.is_none() => {
                let wrong = || SyntaxError::PageSize {
                    text: size.to_owned(),
                };
                let bytes = parse_bytes(size).map_err(|_| wrong())?;
                *map = map.page_size(PageSize::from_bytes(bytes).ok_or_else(wrong)?);
            }
            (_, Some(words)) if map.advice.is_empty() => {
                map.advice = words.parse().map_err(SyntaxError::Advice)?;
            }
            _ if word == "direct" && !map.direct => map.direct = true,
            _ if word == "hot" && !map.hot => map.hot = true,
            _ if word == "warm" && map.file_state.is_none() => {
                map.file_state = Some(FileState::Warm);
            }
            _ if word == "cold" && map.file_state.is_none() => {
                map.file_state = Some(FileState::Cold);
            }
            _ if word == "holes" && !map.holes => map.holes = true,
            _ if options.mode.is_some() => break,
            _ => match parse_mode(word)? {
                Some(found) => options.mode = Some(found),
                None => break,
            },
        }
        text = rest;
    }
    Ok((text, options))
}

fn parse_mode(word: &str) -> Result<Option<Mode>, SyntaxError> {
    Ok(Some(match word {
        "ro" => Mode::ReadOnly,
        "rw" => Mode::ReadWrite,
        "new" => Mode::New(None),
        _ => match word.strip_prefix("new=") {
            Some(size) => Mode::New(Some(match size_of(size) {
                Some(name) => Size::Of(name.to_owned()),
                None => Size::Bytes(parse_bytes(size)?),
            })),
            None => return Ok(None),
        },
    }))
}

/// Strips offset and length from the end. File names may contain `@`, so only an `@` before a digit begins a range.
fn split_range(text: &[u8]) -> Result<(&[u8], u64, Option<u64>), SyntaxError> {
    let Some((file, range)) = split_at_last(text, b'@') else {
        return Ok((text, 0, None));
    };
    if !range.first().is_some_and(u8::is_ascii_digit) {
        return Ok((text, 0, None));
    }
    let range = utf8(range, text, "what follows `@`")?;
    Ok(match range.split_once('+') {
        Some((offset, bytes)) => (file, parse_bytes(offset)?, Some(parse_bytes(bytes)?)),
        None => (file, parse_bytes(range)?, None),
    })
}

impl SetArgument {
    /// Parses the value of `--set`.
    pub fn parse(text: &OsStr) -> Result<Self, SyntaxError> {
        let text = text.as_bytes();
        let (argument, value) = split(text, SET_FORM)?;
        Ok(Self {
            argument: argument.to_owned(),
            value: parse_value(utf8(value, text, "what follows `=`")?)?,
        })
    }
}

impl ScheduleArgument {
    /// Parses the value of `--priority`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let wrong = |part: &str| SyntaxError::Schedule {
            text: text.to_owned(),
            part: format!("`{part}`"),
        };
        let (slot, rest) = text.split_once('=').ok_or_else(|| SyntaxError::NoEquals {
            text: text.to_owned(),
            form: SCHEDULE_FORM,
        })?;
        let mut parts = rest.split(',');
        let priority = parts.next().unwrap_or_default();
        let priority = Priority::named(priority).ok_or_else(|| wrong(priority))?;
        let mut schedule = SlotSchedule::from(priority);
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let small = || value.parse().map_err(|_| wrong(part));
            match name {
                "weight" => schedule.weight = small()?,
                "floor" => schedule.floor = small()?,
                "limit" => schedule.limit = Some(parse_bytes(value)?),
                _ => return Err(wrong(part)),
            }
        }
        let slot = slot.parse().map_err(|_| wrong(slot))?;
        Ok(Self { slot, schedule })
    }
}

fn parse_value(text: &str) -> Result<Value, SyntaxError> {
    if let Some(name) = size_of(text) {
        return Ok(Value::SizeOf(name.to_owned()));
    }
    let wrong = || SyntaxError::Value {
        text: text.to_owned(),
    };
    if let Some(hex) = text.strip_prefix("hex:") {
        return pairs(hex).map(Value::Bytes).ok_or_else(wrong);
    }
    if let Some(number) = text.strip_prefix("f32:") {
        let number: f32 = number.parse().map_err(|_| wrong())?;
        return Ok(Value::Bytes(number.to_le_bytes().into()));
    }
    if let Some(number) = text.strip_prefix("f64:") {
        let number: f64 = number.parse().map_err(|_| wrong())?;
        return Ok(Value::Bytes(number.to_le_bytes().into()));
    }
    if text.starts_with('-') {
        let number = text.parse().map_err(|_| wrong())?;
        return Ok(match number {
            // `-0`
            0.. => Value::Number(0),
            _ => Value::Negative(number),
        });
    }
    let Some(hex) = text.strip_prefix("0x") else {
        return text.parse().map(Value::Number).map_err(|_| wrong());
    };
    if let Ok(number) = u64::from_str_radix(hex, 16) {
        if hex.len() <= 16 {
            return Ok(Value::Number(number));
        }
    }
    pairs(hex).map(Value::Bytes).ok_or_else(wrong)
}

/// Bytes as pairs of hexadecimal digits, the first byte first.
fn pairs(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.bytes().map(|digit| char::from(digit).to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let whole = !digits.is_empty() && digits.len() % 2 == 0;
    whole.then(|| {
        let pairs = digits.chunks_exact(2);
        pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    })
}

impl Value {
    /// A negative number in two's complement, `bytes` wide; `None` if it does not fit.
    pub fn in_bytes(number: i64, bytes: u32) -> Option<Vec<u8>> {
        let fits = match bytes {
            1..8 => number >= -1 << (8 * bytes - 1),
            _ => bytes == 8,
        };
        fits.then(|| number.to_le_bytes()[..bytes as usize].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(text: &str) -> MapArgument {
        MapArgument::parse(OsStr::new(text)).unwrap()
    }

    #[test]
    fn the_words_of_the_table_of_options_are_understood() {
        let plain = map("a=b");
        for field in wire::MAP_FIELDS {
            let Some(word) = field.command else {
                continue;
            };
            let found = map(&format!("a=b{word}"));
            assert_eq!(
                found.file, plain.file,
                "{word} is taken for a part of the name"
            );
            assert_ne!(found, plain, "{word} says nothing");
        }
    }

    #[test]
    fn maps() {
        let plain = map("input=a.bin");
        assert_eq!(
            (plain.argument.as_str(), plain.offset, plain.bytes),
            ("input", 0, None)
        );
        assert_eq!(plain.mode, Mode::AsNeeded);
        let range = map("a=b@2MiB+0x10:rw");
        assert_eq!(
            (range.offset, range.bytes, range.mode),
            (2 << 20, Some(16), Mode::ReadWrite)
        );
        assert_eq!(map("a=b:new").mode, Mode::New(None));
        assert_eq!(map("a=b:new=4K").mode, Mode::New(Some(Size::Bytes(4096))));
        assert_eq!(
            map("a=b:new=size(x)").mode,
            Mode::New(Some(Size::Of("x".into())))
        );
        assert_eq!(map("a=odd:name@home").file, PathBuf::from("odd:name@home"));
        let paged = map("a=b@1+2:ro:page=64KiB");
        assert_eq!(paged.options.page_size.map(PageSize::bytes), Some(64 << 10));
        assert_eq!(
            (paged.file, paged.bytes, paged.mode),
            ("b".into(), Some(2), Mode::ReadOnly)
        );
        let new = map("a=b:page=1GiB:new=5");
        assert_eq!(new.options.page_size, Some(PageSize::GIB_1));
        assert!(map("in=data.bin:page=auto").options.auto_pages == Some(true));
        let direct = map("in=data.bin:direct:ro");
        assert!(direct.options.direct && direct.mode == Mode::ReadOnly);
        assert!(!map("in=data.bin:ro").options.direct);
        let hot = map("in=data.bin:hot:ro");
        let states =
            ["in=a:cold:ro", "in=a:ro:warm", "in=a"].map(|text| map(text).options.file_state);
        assert_eq!(states, [Some(FileState::Cold), Some(FileState::Warm), None]);
        assert!(hot.options.hot && hot.mode == Mode::ReadOnly && !map("in=data.bin").options.hot);
        let placed = map("in=data.bin:memory=hbm:ro");
        assert_eq!(
            (placed.options.memory, placed.mode),
            (Some(MemoryKind::Hbm), Mode::ReadOnly)
        );
        assert!(MapArgument::parse(OsStr::new("in=x:memory=sram")).is_err());
        assert_eq!(map("in=x:direct:direct").file, PathBuf::from("x:direct"));
        let advised = map("in=data.bin:advice=stream+lowuse:ro");
        assert_eq!(advised.options.advice.to_string(), "stream+lowuse");
        assert_eq!(advised.mode, Mode::ReadOnly);
        let both = MapArgument::parse(OsStr::new("in=data.bin:advice=stream+random")).unwrap_err();
        assert!(both.to_string().contains("exclude each other"), "{both}");
        assert_eq!(new.mode, Mode::New(Some(Size::Bytes(5))));
        for wrong in [
            "a=b:page=3KiB",
            "a=b:page=2GiB",
            "a=b:page=2KiB:ro",
            "a=b:page=",
            "a=",
            "=b",
            "nothing",
            "a=b@3+x",
        ] {
            let parsed = MapArgument::parse(OsStr::new(wrong));
            assert!(parsed.is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_of_a_device_may_stand_behind_its_range() {
        for text in [
            "in=pipe:p@0+9:timeout=1s:ro:buffer=64KiB",
            "in=pipe:p:timeout=1s@0+9:buffer=64KiB:ro",
            "in=pipe:p:timeout=1s:buffer=64KiB@0+9:ro",
        ] {
            let map = map(text);
            assert_eq!(
                map.file,
                PathBuf::from("pipe:p:timeout=1s:buffer=64KiB"),
                "{text}"
            );
            assert_eq!((map.bytes, map.mode), (Some(9), Mode::ReadOnly), "{text}");
        }
        let remote = map("in=remote:a:1@4+9:timeout=1s");
        assert_eq!(remote.file, PathBuf::from("remote:a:1:timeout=1s"));
        assert_eq!((remote.offset, remote.bytes), (4, Some(9)));
        assert_eq!(map("in=x:timeout=1s").file, PathBuf::from("x:timeout=1s"));
    }

    #[test]
    fn names_that_look_like_options_need_options_after_them() {
        let named = |text: &str| map(text).file;
        assert_eq!(named("a=x:new"), PathBuf::from("x"));
        assert_eq!(named("a=x:new:ro"), PathBuf::from("x:new"));
        assert_eq!(named("a=x:new:new"), PathBuf::from("x:new"));
        assert_eq!(named("a=x@5"), PathBuf::from("x"));
        assert_eq!(named("a=x@5@0"), PathBuf::from("x@5"));
    }

    #[test]
    fn names_of_files_may_be_any_bytes() {
        let text = OsStr::from_bytes(b"a=\xff:\xfe@4+1:rw");
        let map = MapArgument::parse(text).unwrap();
        assert_eq!(map.file.as_os_str().as_bytes(), b"\xff:\xfe");
        assert_eq!((map.offset, map.bytes), (4, Some(1)));
        for wrong in [&b"\xff=b"[..], b"a=b@1\xff"] {
            let error = MapArgument::parse(OsStr::from_bytes(wrong)).unwrap_err();
            assert!(matches!(error, SyntaxError::NotUtf8 { .. }), "{error}");
        }
        assert!(SetArgument::parse(OsStr::from_bytes(b"n=\xff")).is_err());
    }

    #[test]
    fn connections() {
        let connect = |text: &str| ConnectArgument::parse(OsStr::new(text));
        let file = |text: &str| connect(text).unwrap().file().cloned().unwrap();
        let device = connect("in=-:live").unwrap();
        assert_eq!((device.port(), device.file()), ("in", None));
        assert!(device.device().is_some_and(Device::is_live));
        let named = file("in=file:file:x").file;
        let file = file("out=file:b@2+3:new=5");
        assert_eq!((file.argument.as_str(), file.offset), ("out", 2));
        assert_eq!(file.mode, Mode::New(Some(Size::Bytes(5))));
        assert_eq!(named, PathBuf::from("file:x"));
        let packets = |text: &str| connect(text).map(|connection| connection.packets());
        assert_eq!(
            packets("out=file:b:new:packets=all"),
            Ok(Some(Packets::All))
        );
        assert_eq!(
            packets("out=file:b:packets=any:new=7"),
            Ok(Some(Packets::Any))
        );
        assert_eq!(packets("out=-:packets=all"), Ok(Some(Packets::All)));
        assert_eq!(packets("out=file:b:new"), Ok(None));
        assert!(packets("out=file:b:new:packets=none").is_err());
        // A file that is mapped has none, so the word belongs to its name.
        let mapped = map("a=x:packets=all");
        assert_eq!(
            (mapped.file, mapped.packets),
            ("x:packets=all".into(), None)
        );
        let tape = connect("in=tape:a").unwrap_err().to_string();
        assert!(tape.contains("no device `tape`"), "{tape}");
        for wrong in ["in", "in=", "in=a", "in=file:", "=file:a"] {
            assert!(connect(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn schedules() {
        let schedule = |text: &str| ScheduleArgument::parse(text);
        let plain = schedule("0=high").unwrap();
        assert_eq!((plain.slot, plain.schedule), (0, Priority::High.into()));
        let all = schedule("2=low,weight=4,floor=10,limit=100M").unwrap();
        let expected = SlotSchedule {
            priority: Priority::Low,
            weight: 4,
            floor: 10,
            limit: Some(100 << 20),
        };
        assert_eq!((all.slot, all.schedule), (2, expected));
        for wrong in [
            "0",
            "=high",
            "0=",
            "0=higher",
            "x=high",
            "256=high",
            "0=high,",
            "0=high,weight",
            "0=high,weight=x",
            "0=high,weight=256",
            "0=high,limit=x",
            "0=high,share=1",
        ] {
            assert!(schedule(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values() {
        let value = |text: &str| SetArgument::parse(OsStr::new(text)).map(|set| set.value);
        assert_eq!(value("n=42"), Ok(Value::Number(42)));
        assert_eq!(value("n=0x2a"), Ok(Value::Number(42)));
        assert_eq!(value("n=size(input)"), Ok(Value::SizeOf("input".into())));
        let bytes = Value::Bytes((0..10).collect());
        assert_eq!(value("k=0x00010203040506070809"), Ok(bytes));
        let bytes = |bytes: &[u8]| Ok(Value::Bytes(bytes.to_vec()));
        // As a number the last digits come first in memory, as bytes the first ones.
        assert_eq!(value("k=0x0102"), Ok(Value::Number(0x102)));
        assert_eq!(value("k=hex:0102"), bytes(&[1, 2]));
        assert_eq!(value("x=f32:1.5"), bytes(&1.5f32.to_le_bytes()));
        assert_eq!(value("x=f64:-1e300"), bytes(&(-1e300f64).to_le_bytes()));
        assert_eq!(value("n=-42"), Ok(Value::Negative(-42)));
        assert_eq!(value("n=-0"), Ok(Value::Number(0)));
        assert_eq!(Value::in_bytes(-2, 4), Some(vec![0xfe, 0xff, 0xff, 0xff]));
        assert_eq!(Value::in_bytes(-128, 1), Some(vec![0x80]));
        assert_eq!(Value::in_bytes(-129, 1), None);
        assert_eq!(Value::in_bytes(i64::MIN, 8).map(|b| b[7]), Some(0x80));
        assert_eq!(Value::in_bytes(-1, 16), None);
        for wrong in [
            "n=-",
            "n=--1",
            "n=1.5",
            "n=f32:",
            "n=f32:x",
            "n=hex:",
            "n=hex:1",
            "n=hex:+1",
            "n=0x+1020304050607080901",
            "n=-9223372036854775809",
            "n=x",
            "n=0xg",
            "n=0x",
            "n=0x000102030405060708090",
            "n=size()",
        ] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = MapArgument::parse(OsStr::new(&text));
            let _ = SetArgument::parse(OsStr::new(&text));
            let _ = parse_bytes(&text);
        }

        #[test]
        fn no_near_miss_panics(text in "[a-z]=(0x)?[0-9a-fé@+:=()siz]{0,40}") {
            let _ = MapArgument::parse(OsStr::new(&text));
            let _ = SetArgument::parse(OsStr::new(&text));
        }
    }
}
