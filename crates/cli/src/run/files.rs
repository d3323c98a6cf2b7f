//! The files that a run reads, writes and creates, all checked before anything is built or changed.

use super::RunError;
use crate::arguments::{MapArgument, Mode, Size};
use crate::outputs::{file_behind, OutputPath, Outputs};
use card::kernel::{AccessMode, KernelPackage};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use tombolo::{Device, DeviceError, Error, MapOptions, RemoteMemory};

/// Identifies a file by device and inode, whatever its name; a file that does not exist yet, by its folder and name.
pub(super) type Identity = (u64, u64, Option<OsString>);

fn identity(of: &Metadata) -> Identity {
    (of.dev(), of.ino(), None)
}

/// The identity of the file that an output replaces or creates.
pub(super) fn identity_of(place: &OutputPath) -> std::io::Result<Identity> {
    if let Some(there) = &place.there {
        return Ok(identity(there));
    }
    let folder = crate::outputs::folder_of(&place.path).metadata()?;
    let name = place.path.file_name().map(OsString::from);
    Ok((folder.dev(), folder.ino(), name))
}

/// How a mapped file is provided.
pub(super) enum Source {
    /// An existing file, open.
    There(File),
    Remote(Box<RemoteMemory>),
    /// A stream device, opened on first access.
    Stream(Device),
    /// A file to create at this destination.
    New(Box<OutputPath>),
}

/// A file to be mapped.
pub(super) struct Mapped<'a> {
    pub map: &'a MapArgument,
    pub source: Source,
    pub identity: Identity,
    pub write: bool,
    /// Offset of the first mapped byte.
    pub offset: u64,
    /// Length of the file, and of the mapped range.
    pub length: u64,
    pub bytes: u64,
}

/// The backing of a mapping.
pub(super) enum Opened {
    File(File),
    Remote(Box<RemoteMemory>),
    Stream(Device),
}

/// An open file with the library's options for its mapping.
pub(super) struct Ready<'a> {
    pub map: &'a MapArgument,
    pub opened: Opened,
    pub options: MapOptions,
    pub bytes: u64,
}

impl<'a> Mapped<'a> {
    /// Creates the file, if it is new.
    pub fn begin(self, outputs: &mut Outputs) -> Result<Ready<'a>, RunError> {
        let options = self.options();
        let opened = match self.source {
            Source::There(file) => Opened::File(file),
            Source::Remote(memory) => Opened::Remote(memory),
            Source::Stream(device) => Opened::Stream(device),
            Source::New(place) => {
                let made = outputs.file(*place);
                Opened::File(made.map_err(failed(&self.map.file, "creating it"))?.0)
            }
        };
        Ok(Ready {
            map: self.map,
            opened,
            options,
            bytes: self.bytes,
        })
    }

    fn options(&self) -> MapOptions {
        MapOptions {
            read: true,
            write: self.write || matches!(self.source, Source::New(_)),
            create: matches!(self.source, Source::New(_)).then_some(self.length),
            offset: self.offset,
            bytes: Some(self.bytes),
            ..self.map.options
        }
    }
}

fn unmappable(path: &Path, rule: impl Into<String>) -> RunError {
    RunError::Library(Error::Unmappable {
        path: path.to_owned(),
        rule: rule.into(),
    })
}

/// The error for direct pages on a shell without a host channel.
pub(super) fn no_host_channel(path: &Path) -> RunError {
    unmappable(
        path,
        "direct pages need a shell with a host channel, and this one has none: omit --preset and --coherent, set \
         host_channel = true under [shell] in the file for --shell, or omit :direct",
    )
}

fn failed(path: &Path, what: &'static str) -> impl FnOnce(std::io::Error) -> RunError {
    let path = path.to_owned();
    move |source| RunError::Library(Error::File { path, what, source })
}

/// Opens existing files and finds the destinations of new ones, with all sizes.
///
/// A file that is mapped for writing and for reading comes for writing first, so that the library opens its pages with
/// both rights. Otherwise existing files keep the order of the command line, and new ones follow.
pub(super) fn plan<'a>(
    maps: &[&'a MapArgument],
    access_of: impl Fn(&str) -> AccessMode,
) -> Result<Vec<Mapped<'a>>, RunError> {
    let mut planned = Vec::new();
    for map in maps.iter().copied().filter(|map| !is_new(map)) {
        planned.push(open(map, access_of(&map.argument))?);
    }
    let read = planned.iter().filter(|file| !file.write);
    let read: Vec<Identity> = read.map(|file| file.identity.clone()).collect();
    planned.sort_by_key(|file| !(file.write && read.contains(&file.identity)));

    let known = |file: &Mapped<'a>| (file.map.argument.as_str(), file.bytes);
    let mut sizes: BTreeMap<&str, u64> = planned.iter().map(known).collect();
    let largest = sizes.values().copied().max();
    let mut waiting: Vec<&MapArgument> = maps.iter().copied().filter(|map| is_new(map)).collect();
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut later = Vec::new();
        for map in std::mem::take(&mut waiting) {
            match new_length(map, &sizes, largest)? {
                None => later.push(map),
                Some(length) => {
                    let file = make(map, length)?;
                    sizes.insert(&map.argument, file.bytes);
                    planned.push(file);
                }
            }
        }
        if later.len() == before {
            let Mode::New(Some(Size::Of(name))) = &later[0].mode else {
                continue;
            };
            return Err(RunError::Arguments(format!(
                "{}: size({name}) is not known; it is the size of no file that is mapped, or leads back to \
                 this one. Write :new=BYTES",
                later[0].file.display()
            )));
        }
        waiting = later;
    }
    Ok(planned)
}

fn is_new(map: &MapArgument) -> bool {
    matches!(map.mode, Mode::New(_))
}

/// The length of a new file, or `None` until the sizes that it depends on are known.
fn new_length(
    map: &MapArgument,
    sizes: &BTreeMap<&str, u64>,
    largest: Option<u64>,
) -> Result<Option<u64>, RunError> {
    if Device::names_stream(map.file.as_os_str()) {
        let rule = "a stream cannot be created; omit `:new` and write @0+BYTES";
        return Err(unmappable(&map.file, rule));
    }
    match &map.mode {
        Mode::New(Some(Size::Bytes(bytes))) => Ok(Some(*bytes)),
        Mode::New(Some(Size::Of(name))) => Ok(sizes.get(name.as_str()).copied()),
        _ => largest.map(Some).ok_or_else(|| {
            RunError::Arguments(format!(
                "{}: the size of the new file is not known, because no other file is mapped; write :new=BYTES",
                map.file.display()
            ))
        }),
    }
}

fn device_failed(error: DeviceError) -> RunError {
    RunError::Library(error.into())
}

fn open_remote(map: &MapArgument, write: bool) -> Result<Mapped<'_>, RunError> {
    let path = map.file.as_path();
    let device = Device::parse(path.as_os_str()).map_err(device_failed)?;
    if device.packets().is_some() {
        return Err(unmappable(path, "a mapping has no packets; omit :packets="));
    }
    let (memory, offset, bytes) = device.connect_remote().map_err(device_failed)?;
    let length = memory.bytes();
    // The range follows the name or precedes the device's options.
    let range = match (map.offset, map.bytes) {
        (0, None) => (offset, bytes),
        _ if (offset, bytes) == (0, None) => (map.offset, map.bytes),
        _ => return Err(unmappable(path, "it has two ranges; write one")),
    };
    let named = MapArgument {
        offset: range.0,
        bytes: range.1,
        ..map.clone()
    };
    Ok(Mapped {
        bytes: range_within(&named, length)?,
        identity: (u64::MAX, 0, Some(memory.address().into())),
        source: Source::Remote(Box::new(memory)),
        map,
        write,
        offset: range.0,
        length,
    })
}

/// A stream mapped at addresses; opened on first access.
fn open_stream(map: &MapArgument, write: bool) -> Result<Mapped<'_>, RunError> {
    let path = map.file.as_path();
    let device = Device::parse(path.as_os_str()).map_err(device_failed)?;
    let bytes = map.bytes.filter(|_| map.offset == 0).ok_or_else(|| {
        let rule = "a stream has no size; append the number of bytes to map, @0+BYTES";
        unmappable(path, rule)
    })?;
    Ok(Mapped {
        bytes,
        identity: (u64::MAX, 1, Some(map.argument.clone().into())),
        source: Source::Stream(device),
        map,
        write,
        offset: 0,
        length: bytes,
    })
}

fn open(map: &MapArgument, access: AccessMode) -> Result<Mapped<'_>, RunError> {
    let path = map.file.as_path();
    let write = map.writes(access != AccessMode::Read);
    if Device::names_remote(path.as_os_str()) {
        return open_remote(map, write);
    }
    if Device::names_network(path.as_os_str()) {
        return Err(unmappable(path, Device::NETWORK_RULE));
    }
    if Device::names_stream(path.as_os_str()) {
        return open_stream(map, write);
    }
    let what = match write {
        true => "opening it for reading and writing, as the mapping asks",
        false => "opening it for reading",
    };
    // Checked before opening, because opening a pipe blocks until its other end is open.
    let found = path.metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound if write => unmappable(
            path,
            format!("{what}: {error}; to create it, append :new to its name"),
        ),
        ErrorKind::NotFound => match mistyped(path) {
            Some(rule) => unmappable(path, format!("{what}: {error}; {rule}")),
            None => failed(path, what)(error),
        },
        _ => failed(path, what)(error),
    })?;
    if !found.is_file() {
        return Err(unmappable(path, kind_refused(&found)));
    }
    let file = OpenOptions::new().read(true).write(write).open(path);
    let file = file.map_err(failed(path, what))?;
    let found = file.metadata().map_err(failed(path, "looking at it"))?;
    let length = found.len();
    Ok(Mapped {
        bytes: range_within(map, length)?,
        identity: identity(&found),
        source: Source::There(file),
        map,
        write,
        offset: map.offset,
        length,
    })
}

/// A remedy for a missing file, if the name without the word after its last colon or `@` exists.
fn mistyped(path: &Path) -> Option<String> {
    let name = path.to_str()?;
    let at = name.rfind([':', '@'])?;
    let (file, word) = (&name[..at], &name[at..]);
    Path::new(file).is_file().then(|| {
        format!(
            "{file} exists, and `{word}` is not an option; options are @OFFSET+BYTES, :ro, :rw, :new, :page=, :advice=, \
             :direct, :hot, :warm, :cold and :memory="
        )
    })
}

fn make(map: &MapArgument, length: u64) -> Result<Mapped<'_>, RunError> {
    let path = map.file.as_path();
    if Device::names_remote(path.as_os_str()) {
        return Err(unmappable(
            path,
            "remote memory exists and has its own size; omit `:new`",
        ));
    }
    let place = OutputPath::find(path).map_err(failed(path, "creating it"))?;
    if let Some(there) = place.there.as_ref().filter(|there| !there.is_file()) {
        return Err(unmappable(path, kind_refused(there)));
    }
    Ok(Mapped {
        bytes: range_within(map, length)?,
        identity: identity_of(&place).map_err(failed(path, "creating it"))?,
        source: Source::New(Box::new(place)),
        map,
        write: true,
        offset: map.offset,
        length,
    })
}

fn kind_refused(found: &Metadata) -> String {
    let kind = found.file_type();
    let what = if kind.is_dir() {
        "this is a folder"
    } else if kind.is_fifo() {
        "this is a pipe"
    } else {
        "this is a device or a socket"
    };
    format!(
        "only regular files can be mapped, with a size and bytes that can be read again; {what}"
    )
}

/// Bytes to map of a file of this length.
fn range_within(map: &MapArgument, length: u64) -> Result<u64, RunError> {
    let (path, offset) = (map.file.as_path(), map.offset);
    if length == 0 {
        let rule = "the file is empty; only files of at least 1 byte can be mapped";
        return Err(unmappable(path, rule));
    }
    if offset >= length {
        let rule = format!("offset {offset} is past the end of the file, which has {length} bytes");
        return Err(unmappable(path, rule));
    }
    let rest = length - offset;
    match map.bytes.unwrap_or(rest) {
        bytes if bytes == 0 || bytes > rest => Err(unmappable(
            path,
            format!(
                "{bytes} bytes from offset {offset} cannot be mapped; the file has {rest} there"
            ),
        )),
        bytes => Ok(bytes),
    }
}

/// The option that names the JSON report.
pub(super) const REPORT: &str = "--json";

/// Outputs other than mapped files: the option and the destination of each.
pub(super) type Others<'a> = [(&'static str, &'a OutputPath)];

/// Refuses outputs that would replace another file of the run.
pub(super) fn refuse_clashes(
    planned: &[Mapped<'_>],
    others: &Others<'_>,
    kernel: &KernelPackage,
    read: &[(&Path, &str)],
) -> Result<(), RunError> {
    let mut used: Vec<(Identity, String)> = Vec::new();
    let mut uses = |path: &Path, why: &str| {
        let found = path.metadata().ok().filter(Metadata::is_file);
        used.extend(found.map(|found| (identity(&found), why.to_owned())));
    };
    let name = &kernel.manifest.name;
    uses(
        &kernel.directory.join("kernel.toml"),
        &format!("the manifest of kernel {name}"),
    );
    for source in kernel.sources() {
        uses(&source, &format!("RTL of kernel {name}"));
    }
    for (path, what) in read {
        uses(path, what);
    }
    let streams = [
        (
            file_behind(std::io::stdout()),
            "the standard output of this command",
        ),
        (
            file_behind(std::io::stderr()),
            "where this command writes its messages",
        ),
    ];
    for (found, what) in streams {
        used.extend(found.map(|found| (identity(&found), what.to_owned())));
    }
    let mut outputs: Vec<(Identity, String, &Path)> = Vec::new();
    for file in planned {
        let mapped = format!("mapped for `{}`", file.map.argument);
        match &file.source {
            Source::Remote(_) | Source::Stream(_) => {}
            Source::There(_) => used.push((file.identity.clone(), mapped)),
            Source::New(place) => outputs.push((file.identity.clone(), mapped, &place.named)),
        }
    }
    for (option, place) in others {
        // A report on the same file as the standard output is written through the standard output, so they do not
        // clash.
        if place.is_special() || (*option == REPORT && place.is_standard_output()) {
            continue;
        }
        let identity = identity_of(place).map_err(RunError::writing(&place.named))?;
        outputs.push((identity, format!("the output of {option}"), &place.named));
    }
    for (number, (identity, what, path)) in outputs.iter().enumerate() {
        let earlier = outputs[..number]
            .iter()
            .map(|(identity, what, _)| (identity, what));
        let all = used.iter().map(|(identity, what)| (identity, what));
        if let Some((_, other)) = all.chain(earlier).find(|(found, _)| *found == identity) {
            return Err(RunError::Arguments(format!(
                "{}: is {other} and {what}, which would replace it; name another file (to change a file in place, \
                 map it once, `rw`)",
                path.display()
            )));
        }
    }
    Ok(())
}
