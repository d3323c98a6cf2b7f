//! Reads the RTL of a foreign kernel from an archive or a folder, within bounds.

use super::description::{ImportError, XML_LIMIT};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file of a kernel's RTL.
#[derive(Debug, PartialEq, Eq)]
pub struct RtlFile {
    /// Relative path with `/`; every part consists of letters, digits, `_`, `-` and `.`, and is not hidden.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl RtlFile {
    /// Whether it is compiled, rather than included or read by other files.
    pub fn is_source(&self) -> bool {
        matches!(self.kind(), "v" | "sv")
    }

    /// Whether it is VHDL.
    pub fn is_vhdl(&self) -> bool {
        matches!(self.kind(), "vhd" | "vhdl")
    }

    /// The extension of its name.
    pub fn kind(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(_, kind)| kind)
    }
}

/// Contents of a package or folder.
#[derive(Debug, Default)]
pub struct Contents {
    /// Text of a kernel.xml.
    pub kernel: Option<String>,
    /// Names and texts of component.xml files.
    pub components: Vec<(String, String)>,
    /// Verilog and the files that it includes or reads.
    pub rtl: Vec<RtlFile>,
    /// VHDL, scripts, instances of vendor IP and block designs.
    pub others: Vec<RtlFile>,
    /// Whether it contains C++ for software emulation.
    pub is_software: bool,
}

/// Extensions of files that Verilator may read.
const KINDS: [&str; 7] = ["v", "sv", "vh", "svh", "dat", "mem", "hex"];
const ENTRIES: usize = 10_000;
const FILE_BYTES: u64 = 32 << 20;
const ALL_BYTES: u64 = 256 << 20;
const DEPTH: usize = 16;
/// Maximum size of a component.xml in bytes: large IP lists thousands of ports.
const COMPONENT_LIMIT: u64 = 16 << 20;

/// Extensions of other files with facts about a kernel.
const OTHERS: [&str; 5] = ["vhd", "vhdl", "tcl", "xci", "bd"];

fn kind(name: &str) -> Option<&str> {
    let (_, extension) = name.rsplit_once('.')?;
    KINDS.into_iter().find(|kind| *kind == extension)
}

fn is_other(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, kind)| OTHERS.contains(&kind))
}

/// The last part of a path.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Checks that a path is relative and plain; the error is the reason for a refusal.
fn plain_name(name: &str) -> Result<String, String> {
    let plain = |part: &&str| {
        let characters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        part.chars().all(characters) && !part.starts_with(['.', '-'])
    };
    let parts: Vec<&str> = name.split('/').collect();
    if name.len() > 512 || parts.len() > DEPTH {
        return Err("is too long or too deep".to_owned());
    }
    if parts.iter().all(|part| !part.is_empty() && plain(part)) {
        return Ok(parts.join("/"));
    }
    Err("is not a plain relative path".to_owned())
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ImportError + '_ {
    |source| ImportError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Reads at most `limit` bytes; `None` if there are more.
fn read_bounded(from: impl Read, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Reads a kernel.xml.
pub fn read_text(path: &Path) -> Result<String, ImportError> {
    let file = File::open(path).map_err(io(path))?;
    let bytes = read_bounded(file, XML_LIMIT).map_err(io(path))?;
    text(path, bytes)
}

fn text(path: &Path, bytes: Option<Vec<u8>>) -> Result<String, ImportError> {
    let Some(bytes) = bytes else {
        return Err(ImportError::TooMuch {
            what: format!("{}: the kernel.xml", path.display()),
            limit: format!("{XML_LIMIT} bytes"),
        });
    };
    String::from_utf8(bytes).map_err(|_| ImportError::Xml {
        path: path.to_owned(),
        reason: "it is not UTF-8".to_owned(),
    })
}

/// Collects files within limits on their number and size.
struct Collection<'a> {
    path: &'a Path,
    files: Vec<RtlFile>,
    names: BTreeSet<String>,
    room: u64,
}

impl<'a> Collection<'a> {
    fn new(path: &'a Path) -> Self {
        Self {
            path,
            files: Vec::new(),
            names: BTreeSet::new(),
            room: ALL_BYTES,
        }
    }

    fn too_much(&self, what: &str, limit: impl ToString) -> ImportError {
        ImportError::TooMuch {
            what: format!("{}: {what}", self.path.display()),
            limit: limit.to_string(),
        }
    }

    fn refused(&self, reason: String) -> ImportError {
        ImportError::Archive {
            path: self.path.to_owned(),
            reason,
        }
    }

    fn add(&mut self, name: &str, from: impl Read) -> Result<(), ImportError> {
        let name = plain_name(name)
            .map_err(|rule| self.refused(format!("the name {name:?} {rule}; refused")))?;
        let bytes = read_bounded(from, FILE_BYTES.min(self.room))
            .map_err(|error| self.refused(format!("{name}: {error}")))?;
        let Some(bytes) = bytes else {
            let limit = format!("{FILE_BYTES} bytes a file, {ALL_BYTES} in all");
            return Err(self.too_much(&name, limit));
        };
        self.room -= bytes.len() as u64;
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(self.refused(format!("{name} occurs twice")));
        }
        self.files.push(RtlFile { name, bytes });
        Ok(())
    }

    /// Reads a file, if it is relevant.
    fn take(
        &mut self,
        contents: &mut Contents,
        name: &str,
        from: impl Read,
    ) -> Result<(), ImportError> {
        if base(name) == "kernel.xml" {
            let bytes = read_bounded(from, XML_LIMIT)
                .map_err(|error| self.refused(format!("{name}: {error}")))?;
            let xml = text(self.path, bytes)?;
            if contents.kernel.replace(xml).is_some() {
                return Err(self.refused("it has more than one kernel.xml".to_owned()));
            }
        } else if base(name) == "component.xml" {
            let bytes = read_bounded(from, COMPONENT_LIMIT)
                .map_err(|error| self.refused(format!("{name}: {error}")))?;
            let Some(bytes) = bytes else {
                return Err(self.too_much(name, format!("{COMPONENT_LIMIT} bytes")));
            };
            let xml = String::from_utf8_lossy(&bytes).into_owned();
            contents.components.push((name.to_owned(), xml));
        } else if name.split('/').any(|part| part == "cpu_sources") {
            contents.is_software = true;
        } else if kind(name).is_some() {
            self.add(name, from)?;
        } else if is_other(name) && plain_name(name).is_ok() {
            // A file that is too large to read is skipped; the others may suffice.
            let bytes = read_bounded(from, FILE_BYTES.min(self.room))
                .map_err(|error| self.refused(format!("{name}: {error}")))?;
            if let Some(bytes) = bytes {
                self.room -= bytes.len() as u64;
                contents.others.push(RtlFile {
                    name: name.to_owned(),
                    bytes,
                });
            }
        }
        Ok(())
    }

    /// Removes the path prefix that all files share.
    fn finish(mut self, contents: Contents) -> Result<Contents, ImportError> {
        let vhdl = contents.others.iter().any(RtlFile::is_vhdl);
        if !vhdl && !self.files.iter().any(RtlFile::is_source) {
            if contents.is_software {
                return Err(ImportError::Software(self.path.to_owned()));
            }
            return Err(ImportError::NoVerilog(self.path.to_owned()));
        }
        while let Some(first) = self
            .files
            .first()
            .and_then(|file| file.name.split_once('/'))
            .map(|(first, _)| first)
        {
            let prefix = format!("{first}/");
            if !self.files.iter().all(|file| file.name.starts_with(&prefix)) {
                break;
            }
            for file in &mut self.files {
                file.name.drain(..prefix.len());
            }
        }
        self.files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Contents {
            rtl: self.files,
            ..contents
        })
    }
}

/// Reads an archive: an .xo file, or the .zip of an IP export.
pub fn read_archive(path: &Path) -> Result<Contents, ImportError> {
    let mut files = Collection::new(path);
    let damaged = |error: zip::result::ZipError| ImportError::Archive {
        path: path.to_owned(),
        reason: format!("not a good .xo or .zip file: {error}"),
    };
    let mut archive = zip::ZipArchive::new(File::open(path).map_err(io(path))?).map_err(damaged)?;
    if archive.len() > ENTRIES {
        return Err(files.too_much("the archive", format!("{ENTRIES} files")));
    }
    let mut contents = Contents::default();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(damaged)?;
        let name = entry.name().to_owned();
        // A path out of the archive is hostile, even if the file would not be used.
        if entry.enclosed_name().is_none() || entry.is_symlink() {
            let reason = format!("{name:?} leads out of the archive, or is a link; refused");
            return Err(files.refused(reason));
        }
        if entry.is_file() {
            files.take(&mut contents, &name, entry)?;
        }
    }
    files.finish(contents)
}

/// Reads a folder, without following links or entering hidden folders.
pub fn read_folder(folder: &Path) -> Result<Contents, ImportError> {
    let mut files = Collection::new(folder);
    let mut contents = Contents::default();
    let mut open: Vec<(PathBuf, String)> = vec![(folder.to_owned(), String::new())];
    let mut seen = 0;
    while let Some((path, prefix)) = open.pop() {
        for entry in std::fs::read_dir(&path).map_err(io(&path))? {
            let entry = entry.map_err(io(&path))?;
            seen += 1;
            if seen > ENTRIES {
                return Err(files.too_much("the folder", format!("{ENTRIES} files")));
            }
            let path = entry.path();
            let own = entry.file_name().to_string_lossy().into_owned();
            let name = format!("{prefix}{own}");
            let what = entry.file_type().map_err(io(&path))?;
            if own.starts_with('.') {
                continue;
            }
            if what.is_dir() && name.matches('/').count() < DEPTH {
                open.push((path, format!("{name}/")));
            } else if what.is_file() {
                files.take(&mut contents, &name, File::open(&path).map_err(io(&path))?)?;
            }
        }
    }
    contents.components.sort();
    contents.others.sort_by(|a, b| a.name.cmp(&b.name));
    files.finish(contents)
}

/// Reads the folder of a Verilog file without the folders below it, and the files in other folders that the text names,
/// as in `` `include "inc/k.vh" `` and `$readmemh("../data/k.mem")`: relative to the folder, or to the naming file's.
/// Included files that are not in the folder are also searched for in `include` and `inc`, below it and next to it.
pub fn read_beside(folder: &Path) -> Result<Contents, ImportError> {
    const INCLUDE_FOLDERS: [&str; 4] = ["include", "inc", "../include", "../inc"];
    let mut files = Collection::new(folder);
    let mut contents = Contents::default();
    let mut entries = std::fs::read_dir(folder)
        .map_err(io(folder))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(io(folder))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for (seen, entry) in entries.into_iter().enumerate() {
        if seen >= ENTRIES {
            return Err(files.too_much("the folder", format!("{ENTRIES} files")));
        }
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().map_err(io(&path))?.is_file();
        if is_file && !name.starts_with('.') {
            files.take(&mut contents, &name, File::open(&path).map_err(io(&path))?)?;
        }
    }
    // A description belongs to a whole folder.
    contents.kernel = None;
    contents.components.clear();
    let mut next = 0;
    while let Some(file) = files.files.get(next) {
        next += 1;
        let text = String::from_utf8_lossy(&file.bytes);
        let here = file.name.rsplit_once('/').map_or("", |(here, _)| here);
        let mut named = Vec::new();
        for name in text.split('"').skip(1).step_by(2) {
            let is_known = kind(name).is_some_and(|kind| !matches!(kind, "v" | "sv"));
            if is_known && !name.contains(['\n', '\\']) && !name.starts_with('/') {
                named.push((name.to_owned(), format!("{here}/{name}")));
            }
        }
        for (name, from_here) in named {
            let from_here = from_here.trim_start_matches('/').to_owned();
            let in_folders = INCLUDE_FOLDERS.map(|folder| format!("{folder}/{name}"));
            let places = [name.clone(), from_here].into_iter().chain(in_folders);
            let Some((place, found)) = places
                .map(|place| (place.clone(), folder.join(place)))
                .find(|(_, path)| path.is_file())
            else {
                continue;
            };
            let inner = place.trim_start_matches("../").trim_start_matches("./");
            if plain_name(inner).is_ok() && !files.names.contains(&inner.to_ascii_lowercase()) {
                files.add(inner, File::open(&found).map_err(io(&found))?)?;
            }
        }
    }
    contents.others.sort_by(|a, b| a.name.cmp(&b.name));
    files.finish(contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Cursor, Write};
    use zip::write::SimpleFileOptions;

    const XML: &str = include_str!("../../../../../docs/tutorials/hls-export/kernel.xml");

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            let options = SimpleFileOptions::default();
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn read(bytes: &[u8]) -> Result<Contents, ImportError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.xo");
        std::fs::write(&path, bytes).unwrap();
        read_archive(&path)
    }

    fn good() -> Vec<u8> {
        archive(&[
            ("k/kernel.xml", XML.as_bytes()),
            ("ip_repo/k/hdl/verilog/b.v", b"module b; endmodule"),
            ("ip_repo/k/hdl/verilog/rom/a.dat", b"00"),
            ("ip_repo/k/hdl/vhdl/b.vhd", b"entity"),
        ])
    }

    #[test]
    fn an_archive_gives_its_description_and_its_verilog() {
        let Contents {
            kernel,
            rtl: files,
            others,
            ..
        } = read(&good()).unwrap();
        assert_eq!(kernel.as_deref(), Some(XML));
        assert_eq!(others[0].name, "ip_repo/k/hdl/vhdl/b.vhd");
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["b.v", "rom/a.dat"]);
        assert_eq!(files[0].bytes, b"module b; endmodule");
    }

    #[test]
    fn a_file_is_read_with_its_folder_and_what_the_text_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("rtl/k.v", "`include \"k.vh\"\nmodule k; endmodule\n");
        write("rtl/sub.v", "initial $readmemh(\"../data/k.mem\", m);");
        write("rtl/include/k.vh", "`include \"inner.vh\"\n");
        write("rtl/include/inner.vh", "");
        write("rtl/include/unused.vh", "");
        write("data/k.mem", "0");
        write("rtl/other/k.v", "module k; endmodule");
        write("rtl/other/deep/a.v", "module a; endmodule");
        let names = |contents: Contents| -> Vec<String> {
            contents.rtl.into_iter().map(|file| file.name).collect()
        };
        assert_eq!(
            names(read_beside(&folder.path().join("rtl")).unwrap()),
            [
                "data/k.mem",
                "include/inner.vh",
                "include/k.vh",
                "k.v",
                "sub.v"
            ]
        );
        let all = names(read_folder(&folder.path().join("rtl")).unwrap());
        assert!(all.contains(&"other/deep/a.v".to_owned()), "{all:?}");
    }

    #[test]
    fn hostile_archives_are_refused() {
        type Files<'a> = &'a [(&'a str, &'a [u8])];
        let xml: (&str, &[u8]) = ("kernel.xml", XML.as_bytes());
        let zeroes = vec![0; FILE_BYTES as usize + 1];
        let huge = vec![b' '; XML_LIMIT as usize + 1];
        let cases: [(Files, &str); 8] = [
            (&[xml, ("../up.v", b"")], "leads out"),
            (&[xml, ("a/../../up.txt", b"")], "leads out"),
            (&[xml, ("/etc/x.v", b"")], "refused"),
            (&[xml, ("a b.v", b"")], "not a plain relative path"),
            (&[xml, (".hidden/a.v", b"")], "not a plain relative path"),
            (&[xml, ("a.v", b""), ("A.v", b"")], "twice"),
            (&[xml, ("bomb.v", &zeroes)], "more than"),
            (&[("kernel.xml", &huge), ("a.v", b"")], "more than"),
        ];
        for (entries, words) in cases {
            let error = read(&archive(entries)).unwrap_err().to_string();
            assert!(error.contains(words), "{:?}: {error}", entries[0].0);
        }
        let two = archive(&[xml, ("b/kernel.xml", b"<root/>"), ("a.v", b"")]);
        assert!(read(&two)
            .unwrap_err()
            .to_string()
            .contains("more than one"));
    }

    #[test]
    fn a_package_of_an_emulation_in_software_is_named() {
        let files = archive(&[
            ("k/kernel.xml", XML.as_bytes()),
            ("k/cpu_sources/k.cpp", b"void k();"),
        ]);
        let error = read(&files).unwrap_err().to_string();
        assert!(error.contains("sw_emu"), "{error}");
    }

    #[test]
    fn a_bomb_of_many_files_is_refused() {
        let names: Vec<String> = (0..=ENTRIES).map(|n| format!("{n}.v")).collect();
        let entries: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &b""[..])).collect();
        assert!(matches!(
            read(&archive(&entries)),
            Err(ImportError::TooMuch { .. })
        ));
    }

    #[test]
    fn a_link_in_an_archive_is_refused() {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default();
        writer.add_symlink("a.v", "/etc/passwd", options).unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        assert!(read(&bytes).unwrap_err().to_string().contains("link"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_damage_is_fatal(changes in proptest::collection::vec((0usize..2000, any::<u8>()), 1..8)) {
            let mut bytes = good();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            if let Ok(contents) = read(&bytes) {
                for file in contents.rtl {
                    prop_assert!(plain_name(&file.name).is_ok());
                }
            }
        }
    }
}
