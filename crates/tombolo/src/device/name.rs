//! Syntax of device names: `KIND:WHERE[:live][:packets=N|all|any][:timeout=TIME][:buffer=BYTES]`.

use super::packets::UnknownPackets;
use super::{DeviceError, Packets};
use crate::sizes::parse_bytes;
use remote::RemoteMemory;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// A device that a stream port can be connected to: a sequence of bytes without addresses, of unknown length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub(crate) kind: Kind,
    pub(crate) live: bool,
    pub(crate) packets: Option<Packets>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) buffer: u64,
}

/// Kind of a device, with its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Standard input or standard output.
    Standard,
    /// A FIFO, or a device file of the system.
    Pipe(PathBuf),
    /// An outgoing TCP connection.
    Tcp(String),
    /// A listening TCP socket.
    TcpListen(String),
    /// An outgoing connection to a Unix socket.
    Unix(PathBuf),
    /// A listening Unix socket.
    UnixListen(PathBuf),
    /// Memory exported by `tombolo serve`.
    Remote {
        /// Address of the server.
        address: String,
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes; up to the end of the memory if `None`.
        bytes: Option<u64>,
    },
    /// Memory reached over the card's own network interface.
    Network {
        /// Location of the memory.
        place: NetworkPlace,
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes; up to the end of the memory if `None`.
        bytes: Option<u64>,
    },
}

/// The other end of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NetworkPlace {
    /// Memory exported by `tombolo serve`.
    Served(String),
    /// A simulated machine whose memory is this file.
    Node(PathBuf),
}

/// A kind of device, as shown in help texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceKind {
    /// Syntax of its name, for help texts.
    pub form: &'static str,
    /// One-line description of its target.
    pub what: &'static str,
}

/// Default buffer size in bytes.
const BUFFER: u64 = 256 << 10;
/// Buffers are a multiple of this page size.
pub(crate) const PAGE: u64 = 64 << 10;
const LARGEST_BUFFER: u64 = 64 << 20;

impl Device {
    /// All kinds of device.
    pub const KINDS: &'static [DeviceKind] = &[
        kind("-", "the standard input, or the standard output"),
        kind(
            "pipe:PATH",
            "a FIFO (mkfifo), or a device file such as /dev/zero",
        ),
        kind("tcp:HOST:PORT", "a TCP connection to a server"),
        kind(
            "tcp-listen:[HOST:]PORT",
            "the first TCP client that connects; of this machine only, unless HOST says otherwise",
        ),
        kind(
            "remote:HOST:PORT[@OFFSET[+BYTES]]",
            "memory that `tombolo serve` exports there, or a range of it; an error if it is silent for 1.5 s",
        ),
        kind(
            "remote:fabric+PROVIDER://HOST:PORT[@OFFSET[+BYTES]]",
            "the same, by one-sided accesses through libfabric with its provider tcp, shm (this machine) or verbs",
        ),
        kind(
            "net:HOST:PORT[@OFFSET[+BYTES]]",
            "memory that `tombolo serve` exports there, over the card's own network interface: the host moves no data",
        ),
        kind(
            "net-node:FILE[@OFFSET[+BYTES]]",
            "the same, for a simulated machine with this file as its memory: the same in every run",
        ),
        kind("unix:PATH", "a connection to a Unix socket"),
        kind("unix-listen:PATH", "the first client of a new Unix socket"),
    ];

    /// Options, which follow a device name in any order.
    pub const OPTIONS: &'static [DeviceKind] = &[
        kind(
            ":live",
            "forwards each chunk that arrives as a packet, immediately; by default all data is one packet, in full \
             buffers",
        ),
        kind(
            ":packets=N|all|any",
            "number of packets to take from a kernel, concatenated; by default one, and more are an error. any: one packet, \
             or as much of it as fits",
        ),
        kind(
            ":timeout=TIME",
            "fails if the other end is idle for this long, for example 500ms or 5s; by default there is no timeout",
        ),
        kind(
            ":buffer=BYTES",
            "size of each of the two buffers in memory that the card accesses: 64KiB to 64MiB; by default 256KiB",
        ),
    ];

    /// Why memory reached over a network interface of the card cannot be mapped.
    pub const NETWORK_RULE: &'static str =
        "the card's network interface serves stream ports; `remote:` can be mapped";

    /// Parses a device name. Paths may contain any bytes.
    ///
    /// # Errors
    /// [`DeviceError::Syntax`].
    pub fn parse(text: &OsStr) -> Result<Self, DeviceError> {
        let whole = text.as_bytes();
        let wrong = |rule: String| DeviceError::Syntax {
            text: String::from_utf8_lossy(whole).into_owned(),
            rule,
        };
        let mut device = Self {
            kind: Kind::Standard,
            live: false,
            packets: None,
            timeout: None,
            buffer: BUFFER,
        };
        let mut text = whole;
        while let Some(at) = text.iter().rposition(|byte| *byte == b':') {
            let word = &text[at + 1..];
            if word == b"live" {
                device.live = true;
            } else if let Some(packets) = word.strip_prefix(b"packets=") {
                let packets = String::from_utf8_lossy(packets).parse();
                device.packets =
                    Some(packets.map_err(|error: UnknownPackets| wrong(error.to_string()))?);
            } else if let Some(time) = word.strip_prefix(b"timeout=") {
                let time = std::str::from_utf8(time).ok().and_then(time_of);
                let rule = "a time-out is a number and a unit: 500ms, 5s";
                device.timeout = Some(time.ok_or_else(|| wrong(rule.to_owned()))?);
            } else if let Some(bytes) = word.strip_prefix(b"buffer=") {
                let bytes = std::str::from_utf8(bytes).ok().and_then(parse_bytes);
                let fits = bytes
                    .filter(|bytes| (PAGE..=LARGEST_BUFFER).contains(bytes) && bytes % PAGE == 0);
                let rule = "a buffer has 64KiB to 64MiB, in steps of 64KiB";
                device.buffer = fits.ok_or_else(|| wrong(rule.to_owned()))?;
            } else {
                break;
            }
            text = &text[..at];
        }
        if text == b"-" {
            return Ok(device);
        }
        let colon = text.iter().position(|byte| *byte == b':');
        let (word, place) = match colon {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, &b""[..]),
        };
        let word = Word::read(word).ok_or_else(|| {
            let joined = match word {
                b"slot" => "; ports of kernels are joined by a program, with Card::connect",
                _ if colon.is_none() => "; a file is `file:FILE`",
                _ => "",
            };
            let word = String::from_utf8_lossy(word);
            wrong(format!("there is no device `{word}`{joined}"))
        })?;
        let path = || PathBuf::from(OsStr::from_bytes(place));
        let address = || match std::str::from_utf8(place) {
            Ok(place) => Ok(place.to_owned()),
            Err(_) => Err(wrong("the address is not UTF-8".to_owned())),
        };
        device.kind = match word {
            Word::Pipe => Kind::Pipe(path()),
            Word::Unix => Kind::Unix(path()),
            Word::UnixListen => Kind::UnixListen(path()),
            Word::Tcp => Kind::Tcp(address()?),
            Word::TcpListen => Kind::TcpListen(address()?),
            Word::Remote => {
                let form = "write remote:HOST:PORT[@OFFSET[+BYTES]], or remote:fabric+PROVIDER://HOST:PORT…";
                remote_of(&address()?).ok_or_else(|| wrong(form.to_owned()))?
            }
            Word::Net => {
                let form = "write net:HOST:PORT[@OFFSET[+BYTES]]";
                network_of(&address()?).ok_or_else(|| wrong(form.to_owned()))?
            }
            Word::NetNode => {
                let form = "write net-node:FILE[@OFFSET[+BYTES]]";
                node_of(place).ok_or_else(|| wrong(form.to_owned()))?
            }
        };
        if place.is_empty() {
            return Err(wrong("it does not say where".to_owned()));
        }
        match &mut device.kind {
            Kind::Tcp(address) if !has_port(address) => {
                return Err(wrong("write tcp:HOST:PORT".to_owned()));
            }
            Kind::Remote { .. } | Kind::Network { .. } if device.live => {
                let rule =
                    "remote memory has a size, and all of it is one packet: leave :live away";
                return Err(wrong(rule.to_owned()));
            }
            Kind::TcpListen(address) => {
                if address.parse::<u16>().is_ok() {
                    *address = format!("127.0.0.1:{address}");
                }
                if !has_port(address) {
                    return Err(wrong(
                        "write tcp-listen:PORT or tcp-listen:HOST:PORT".to_owned(),
                    ));
                }
            }
            _ => {}
        }
        Ok(device)
    }

    /// Whether a text has the form of a stream's name, not of remote memory or a file: `-`, `pipe:…` and sockets.
    pub fn names_stream(text: &OsStr) -> bool {
        let bytes = text.as_bytes();
        bytes == b"-" || bytes.starts_with(b"-:") || word_of(text).is_some_and(Word::is_stream)
    }

    /// Whether a text has the form of a name of a peer's memory, which can be mapped.
    pub fn names_remote(text: &OsStr) -> bool {
        word_of(text) == Some(Word::Remote)
    }

    /// Whether a text has the form of a name that only a stream port accepts.
    pub fn names_network(text: &OsStr) -> bool {
        matches!(word_of(text), Some(Word::Net | Word::NetNode))
    }

    /// Whether a word is one of [`Device::OPTIONS`], without its colon and whatever its value.
    pub fn is_option(word: &str) -> bool {
        Self::OPTIONS.iter().any(|option| {
            let form = option.form.trim_start_matches(':');
            match form.split_once('=') {
                Some((name, _)) => word.split_once('=').is_some_and(|(found, _)| found == name),
                None => word == form,
            }
        })
    }

    /// Whether it is standard input or standard output.
    pub fn is_standard(&self) -> bool {
        self.kind == Kind::Standard
    }

    /// Whether packets are passed on as they arrive, so that the end of one does not end the stream.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Number of packets taken from a kernel, if the name gives it.
    pub fn packets(&self) -> Option<Packets> {
        self.packets
    }

    /// Number of packets taken from a kernel, given or default.
    pub(crate) fn wanted(&self) -> Packets {
        let otherwise = match self.live {
            true => Packets::All,
            false => Packets::One,
        };
        self.packets.unwrap_or(otherwise)
    }

    /// Connects to remote memory. Also returns offset and length of the named range.
    ///
    /// # Errors
    /// [`DeviceError::Unfit`]: the device is of another kind; [`DeviceError::Remote`], as [`RemoteMemory::connect`].
    pub fn connect_remote(&self) -> Result<(RemoteMemory, u64, Option<u64>), DeviceError> {
        let Kind::Remote {
            address,
            offset,
            bytes,
        } = &self.kind
        else {
            return Err(DeviceError::Unfit {
                device: self.name().to_string_lossy().into_owned(),
                rule: "only remote memory can be mapped".to_owned(),
            });
        };
        let timeout = self.timeout.unwrap_or(RemoteMemory::TIMEOUT);
        let memory = RemoteMemory::connect(address, timeout)?;
        Ok((memory, *offset, *bytes))
    }

    /// Whether it is reached over a network interface of the card, bypassing the host.
    pub fn is_on_network(&self) -> bool {
        matches!(self.kind, Kind::Network { .. })
    }

    /// Whether it is bidirectional, so that one input and one output port can share it.
    pub fn is_two_way(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Standard | Kind::Pipe(_) | Kind::Remote { .. } | Kind::Network { .. }
        )
    }

    /// Whether two ports of the same direction cannot share it.
    pub(crate) fn is_exclusive(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Tcp(_) | Kind::Unix(_) | Kind::Remote { .. } | Kind::Network { .. }
        )
    }

    /// The name as it was written, without options.
    pub fn name(&self) -> OsString {
        let (word, place): (Word, &OsStr) = match &self.kind {
            Kind::Standard => return "-".into(),
            Kind::Remote {
                address,
                offset,
                bytes,
            } => {
                let mut name = Word::Remote.with(address.as_ref());
                name.push(range_of(*offset, *bytes));
                return name;
            }
            Kind::Network {
                place,
                offset,
                bytes,
            } => {
                let mut name = match place {
                    NetworkPlace::Served(address) => Word::Net.with(address.as_ref()),
                    NetworkPlace::Node(path) => Word::NetNode.with(path.as_os_str()),
                };
                name.push(range_of(*offset, *bytes));
                return name;
            }
            Kind::Pipe(path) => (Word::Pipe, path.as_os_str()),
            Kind::Tcp(address) => (Word::Tcp, address.as_ref()),
            Kind::TcpListen(address) => (Word::TcpListen, address.as_ref()),
            Kind::Unix(path) => (Word::Unix, path.as_os_str()),
            Kind::UnixListen(path) => (Word::UnixListen, path.as_os_str()),
        };
        word.with(place)
    }
}

/// The kind that a text begins with.
fn word_of(text: &OsStr) -> Option<Word> {
    let text = text.as_bytes();
    let colon = text.iter().position(|byte| *byte == b':')?;
    Word::read(&text[..colon])
}

/// The word before the first colon of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Pipe,
    Tcp,
    TcpListen,
    Unix,
    UnixListen,
    Remote,
    Net,
    NetNode,
}

impl Word {
    const ALL: [Self; 8] = [
        Self::Pipe,
        Self::Tcp,
        Self::TcpListen,
        Self::Unix,
        Self::UnixListen,
        Self::Remote,
        Self::Net,
        Self::NetNode,
    ];

    const fn text(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Tcp => "tcp",
            Self::TcpListen => "tcp-listen",
            Self::Unix => "unix",
            Self::UnixListen => "unix-listen",
            Self::Remote => "remote",
            Self::Net => "net",
            Self::NetNode => "net-node",
        }
    }

    fn read(text: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|word| word.text().as_bytes() == text)
    }

    /// Whether its bytes are a sequence without addresses.
    fn is_stream(self) -> bool {
        !matches!(self, Self::Remote | Self::Net | Self::NetNode)
    }

    /// The whole name.
    fn with(self, place: &OsStr) -> OsString {
        let mut name = OsString::from(self.text());
        name.push(":");
        name.push(place);
        name
    }
}

const fn kind(form: &'static str, what: &'static str) -> DeviceKind {
    DeviceKind { form, what }
}

fn has_port(address: &str) -> bool {
    address
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// `@OFFSET[+BYTES]`, as written after a place; empty for the whole memory.
fn range_of(offset: u64, bytes: Option<u64>) -> String {
    match (offset, bytes) {
        (0, None) => String::new(),
        (offset, None) => format!("@{offset}"),
        (offset, Some(bytes)) => format!("@{offset}+{bytes}"),
    }
}

/// Offset and length of a range.
fn range_in(range: Option<&str>) -> Option<(u64, Option<u64>)> {
    Some(
        match range.map(|range| range.split_once('+').ok_or(range)) {
            None => (0, None),
            Some(Ok((offset, bytes))) => (parse_bytes(offset)?, Some(parse_bytes(bytes)?)),
            Some(Err(offset)) => (parse_bytes(offset)?, None),
        },
    )
}

fn network_of(text: &str) -> Option<Kind> {
    let (address, range) = match text.split_once('@') {
        Some((address, range)) => (address, Some(range)),
        None => (text, None),
    };
    let (offset, bytes) = range_in(range)?;
    has_port(address).then(|| Kind::Network {
        place: NetworkPlace::Served(address.to_owned()),
        offset,
        bytes,
    })
}

fn node_of(place: &[u8]) -> Option<Kind> {
    // A file name may contain an `@`; the text after the last one is a range if it parses as one.
    let at = place.iter().rposition(|byte| *byte == b'@');
    let split = at.and_then(|at| {
        let range = std::str::from_utf8(&place[at + 1..]).ok()?;
        Some((&place[..at], range_in(Some(range))?))
    });
    let (path, (offset, bytes)) = split.unwrap_or((place, (0, None)));
    (!path.is_empty()).then(|| Kind::Network {
        place: NetworkPlace::Node(PathBuf::from(OsStr::from_bytes(path))),
        offset,
        bytes,
    })
}

fn remote_of(text: &str) -> Option<Kind> {
    let (address, range) = match text.split_once('@') {
        Some((address, range)) => (address, Some(range)),
        None => (text, None),
    };
    let (offset, bytes) = range_in(range)?;
    let (provider, place) = remote::split(address);
    let fits = provider.is_none_or(remote::is_provider) && has_port(place);
    fits.then(|| Kind::Remote {
        address: address.to_owned(),
        offset,
        bytes,
    })
}

fn time_of(text: &str) -> Option<Duration> {
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, Duration::from_millis(1)),
        None => (text.strip_suffix('s')?, Duration::from_secs(1)),
    };
    let number: u32 = digits.parse().ok()?;
    unit.checked_mul(number).filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Device, DeviceError> {
        Device::parse(OsStr::new(text))
    }

    #[test]
    fn names_of_streams_are_the_kinds_that_have_no_addresses() {
        for kind in Device::KINDS {
            let remote = kind.form.starts_with("remote:") || kind.form.starts_with("net");
            assert_eq!(
                Device::names_stream(kind.form.as_ref()),
                !remote,
                "{}",
                kind.form
            );
        }
        for file in [
            "a",
            "",
            "pipe",
            "-x",
            "./pipe:x",
            "tape:x",
            "tcp-listener:1",
        ] {
            assert!(!Device::names_stream(file.as_ref()), "{file}");
        }
        assert!(Device::names_stream("-:live".as_ref()));
    }

    #[test]
    fn names() {
        let device = parse("tcp:localhost:80:timeout=5s:live:buffer=1MiB").unwrap();
        assert_eq!(device.kind, Kind::Tcp("localhost:80".into()));
        assert_eq!(device.timeout, Some(Duration::from_secs(5)));
        assert_eq!((device.live, device.buffer), (true, 1 << 20));
        assert_eq!(parse("-:buffer=0x100K").unwrap().buffer, 256 << 10);
        let three = Packets::Count(3.try_into().unwrap());
        for (name, packets) in [
            ("-", Packets::One),
            ("-:live", Packets::All),
            ("-:packets=3", three),
            ("-:packets=3:live", three),
            ("pipe:a:packets=all", Packets::All),
            ("remote:peer:7010:packets=any", Packets::Any),
        ] {
            assert_eq!(parse(name).unwrap().wanted(), packets, "{name}");
        }
        assert_eq!(parse("-:live").unwrap().name(), "-");
        let path = Kind::Pipe("/odd:name".into());
        assert_eq!(parse("pipe:/odd:name").unwrap().kind, path);
        let listen = parse("tcp-listen:70").unwrap();
        assert_eq!(listen.name(), "tcp-listen:127.0.0.1:70");
        let fabric = parse("remote:fabric+verbs://peer:7010@4KiB+9:timeout=1s").unwrap();
        assert_eq!(fabric.name(), "remote:fabric+verbs://peer:7010@4096+9");
        let net = parse("net:peer:7010@4KiB+9:timeout=1s").unwrap();
        assert_eq!(net.name(), "net:peer:7010@4096+9");
        assert!(net.is_on_network() && !fabric.is_on_network());
        for name in ["net-node:a@b", "net-node:/x/y@1+2", "net-node:a@b@7"] {
            assert_eq!(parse(name).unwrap().name(), name);
        }
        for wrong in [
            "net:peer",
            "net:peer:1@x",
            "net:peer:1:live",
            "net-node:",
            "net-node:@1",
            "remote:fabric+://peer:7010",
            "remote:fabric+tc p://peer:7010",
            "remote:fabric+tcp://peer",
            "",
            "tape:x",
            "pipe",
            "pipe:",
            "tcp:host",
            "tcp::80",
            "tcp:a:99999",
            "tcp-listen:x",
            "-:timeout=0s",
            "-:packets=0",
            "-:packets=",
            "-:packets=some",
            "-:timeout=5",
            "-:buffer=1",
            "-:buffer=1GiB",
            "-x",
            "-:x",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
