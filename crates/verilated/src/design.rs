//! A design to build: RTL files, a top module, and the hash that identifies the result.

use crate::error::BuildError;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Reads a regular file. Opening a named pipe would wait for its writer.
pub(crate) fn read_regular(path: &Path) -> Result<Vec<u8>, BuildError> {
    let mut options = std::fs::OpenOptions::new();
    let opened = options.read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let read = opened.and_then(|mut file| {
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("no regular file"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    read.map_err(BuildError::io(path))
}

/// A folder and files below it, as one file list of a design.
#[derive(Clone, Debug)]
pub struct FileSet {
    /// Folder to which Verilator's file names are relative, in messages too.
    pub base: PathBuf,
    /// Files in compilation order, relative to `base`.
    pub files: Vec<PathBuf>,
    /// Folders searched for included files, relative to `base`.
    pub include: Vec<PathBuf>,
}

/// A design to be built as one model.
#[derive(Clone, Debug)]
pub struct Design {
    /// Name for messages: a kernel's name, or `shell`.
    pub name: String,
    /// Top module.
    pub top: String,
    /// Clock port of the top; empty for a design that is only inspected, whose clock is not known yet.
    pub clock: String,
    /// Files of the design.
    pub file_sets: Vec<FileSet>,
    /// Macro definitions: `NAME`, or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Parameters of the top module that differ from their defaults.
    pub parameters: Vec<(String, String)>,
    /// Modules, each in a file of its name, that are not clocked while an edge would not change their state.
    /// `CONTAINER/MODULE` selects the instances in another module's file only. Changes no result. Models with waveforms
    /// have none.
    pub sleeping: Vec<String>,
    /// SystemVerilog generated for this build (the top above shell and kernel), compiled last.
    pub generated: Option<String>,
}

/// Extensions of files that an `include`, `$readmemh` or the like may reach.
const SIDE_FILES: [&str; 9] = ["sv", "v", "svh", "vh", "mem", "hex", "dat", "bin", "vlt"];

/// Maximum depth of folders below an include folder, as in `include "a/b.vh"`.
const INCLUDE_DEPTH: u32 = 3;

impl FileSet {
    /// A kernel's files; every folder that contains one is an include folder.
    pub fn new(base: &Path, files: Vec<PathBuf>) -> Self {
        let include: BTreeSet<PathBuf> = files
            .iter()
            .filter_map(|file| file.parent().map(Path::to_owned))
            .collect();
        Self {
            base: base.to_owned(),
            files,
            include: include.into_iter().collect(),
        }
    }

    /// Reads a file list (`.f`): one path per line, relative to `base`, `+incdir+`, `-f`, `//` and `#` comments.
    ///
    /// # Errors
    /// [`BuildError::Io`].
    pub fn from_list(base: &Path, list: &Path) -> Result<Self, BuildError> {
        let mut set = Self {
            base: base.to_owned(),
            files: Vec::new(),
            include: Vec::new(),
        };
        set.read_list(list, 0)?;
        Ok(set)
    }

    fn read_list(&mut self, list: &Path, depth: u32) -> Result<(), BuildError> {
        let path = self.base.join(list);
        let text = std::fs::read_to_string(&path).map_err(BuildError::io(&path))?;
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or("");
            let line = line.split('#').next().unwrap_or("").trim();
            if let Some(folders) = line.strip_prefix("+incdir+") {
                self.include.extend(folders.split('+').map(PathBuf::from));
            } else if let Some(nested) = line.strip_prefix("-f ").filter(|_| depth < 8) {
                self.read_list(Path::new(nested.trim()), depth + 1)?;
            } else if !line.is_empty() {
                self.files.push(PathBuf::from(line));
            }
        }
        Ok(())
    }

    /// Every file that can affect the model, relative to `base`, sorted.
    pub(crate) fn all_files(&self) -> Result<BTreeSet<PathBuf>, BuildError> {
        let mut all: BTreeSet<PathBuf> = self.files.iter().cloned().collect();
        let mut open: Vec<(PathBuf, u32)> = self
            .include
            .iter()
            .map(|folder| (folder.clone(), 0))
            .collect();
        while let Some((folder, depth)) = open.pop() {
            let path = self.base.join(&folder);
            for entry in std::fs::read_dir(&path).map_err(BuildError::io(&path))? {
                let entry = entry.map_err(BuildError::io(&path))?;
                let name = PathBuf::from(entry.file_name());
                let side = name
                    .extension()
                    .and_then(|extension| extension.to_str())
                    .is_some_and(|extension| SIDE_FILES.contains(&extension));
                let hidden = name.as_os_str().as_encoded_bytes().starts_with(b".");
                if side && entry.path().is_file() {
                    all.insert(folder.join(name));
                } else if depth < INCLUDE_DEPTH
                    && !hidden
                    && entry.file_type().is_ok_and(|kind| kind.is_dir())
                {
                    open.push((folder.join(name), depth + 1));
                }
            }
        }
        Ok(all)
    }
}

impl Design {
    /// Whether a file is Verilog by its name.
    pub(crate) fn has_verilog(&self) -> bool {
        let mut files = self.file_sets.iter().flat_map(|set| &set.files);
        files.any(|file| file.extension().is_some_and(|extension| extension == "v"))
    }

    /// Modules whose instances in `container` sleep.
    pub(crate) fn sleeping_in<'a>(&'a self, container: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = (self.sleeping.iter()).filter_map(|entry| entry.split_once('/'));
        pairs.filter_map(move |(within, module)| (within == container).then_some(module))
    }

    /// Folders whose files the RTL may read, in search order, without symbolic links.
    pub(crate) fn rtl_folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for set in &self.file_sets {
            let of_files = set.files.iter().filter_map(|file| file.parent());
            let named = set.include.iter().map(PathBuf::as_path).chain(of_files);
            for folder in named.chain([Path::new("")]) {
                let folder = set.base.join(folder);
                // A missing folder has no files.
                if let Ok(folder) = std::fs::canonicalize(folder) {
                    if !folders.contains(&folder) {
                        folders.push(folder);
                    }
                }
            }
        }
        folders
    }

    /// The content hash: of every file, the generated text, and `environment` (tools and flags).
    ///
    /// # Errors
    /// [`BuildError::Io`], also for a file of the list that does not exist.
    pub fn hash(&self, environment: &str) -> Result<String, BuildError> {
        let mut hasher = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for text in [environment, &self.top, &self.clock] {
            part(text.as_bytes());
        }
        part(self.generated.as_deref().unwrap_or("").as_bytes());
        part(self.defines.join(" ").as_bytes());
        for (name, value) in &self.parameters {
            part(format!("{name}={value}").as_bytes());
        }
        if !self.sleeping.is_empty() {
            part(self.sleeping.join(" ").as_bytes());
            part(include_bytes!("model/sleep.rs"));
        }
        for set in &self.file_sets {
            for file in set.files.iter().chain(&set.include) {
                part(file.as_os_str().as_encoded_bytes());
            }
            for file in set.all_files()? {
                let path = set.base.join(&file);
                part(file.as_os_str().as_encoded_bytes());
                part(&read_regular(&path)?);
            }
        }
        Ok(short(hasher))
    }

    /// The error of a build of `copy`, with the paths of this design, of which it is a copy.
    pub(crate) fn name_in(&self, mut error: BuildError, copy: &Self) -> BuildError {
        for (copied, named) in copy.file_sets.iter().zip(&self.file_sets) {
            let (from, to) = (copied.base.to_string_lossy(), named.base.to_string_lossy());
            match &mut error {
                BuildError::Rtl { messages: text, .. }
                | BuildError::Refused { place: text, .. } => {
                    *text = text.replace(&*from, &to);
                }
                _ => {}
            }
        }
        error
    }

    /// The same design, of copies of its files in `folder`, which no other process writes.
    ///
    /// # Errors
    /// [`BuildError::Io`].
    pub(crate) fn copy_to(&self, folder: &Path) -> Result<Self, BuildError> {
        let mut copy = self.clone();
        for (number, set) in copy.file_sets.iter_mut().enumerate() {
            // Libraries lie next to the kernel's folder.
            let base = folder.join(number.to_string()).join("kernel");
            let make = |path: &Path| std::fs::create_dir_all(path).map_err(BuildError::io(path));
            make(&base)?;
            for include in set.include.iter().filter(|path| path.is_relative()) {
                make(&base.join(include))?;
            }
            for file in set.all_files()?.iter().filter(|path| path.is_relative()) {
                let to = base.join(file);
                make(to.parent().unwrap_or(&base))?;
                let bytes = read_regular(&set.base.join(file))?;
                std::fs::write(&to, bytes).map_err(BuildError::io(&to))?;
            }
            set.base = base;
        }
        Ok(copy)
    }

    /// Rejects inline C++ (`$c`), which Verilator would compile into the model.
    ///
    /// # Errors
    /// [`BuildError::Refused`] with file and line, or [`BuildError::Io`].
    pub fn refuse_inline_code(&self) -> Result<(), BuildError> {
        for set in &self.file_sets {
            for file in &set.files {
                let path = set.base.join(file);
                let text = std::fs::read(&path).map_err(BuildError::io(&path))?;
                let text = String::from_utf8_lossy(&text);
                for (number, line) in text.lines().enumerate() {
                    let code = line.split("//").next().unwrap_or("");
                    let Some((_, construct)) = inline_code(code, is_call) else {
                        continue;
                    };
                    return Err(BuildError::Refused {
                        design: self.name.clone(),
                        place: format!("{}:{}", file.display(), number + 1),
                        construct,
                    });
                }
            }
        }
        Ok(())
    }
}

/// The hash of some texts.
pub(crate) fn hash_of(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    short(hasher)
}

/// The whole hash of some bytes, as `sha256sum` writes it.
pub(crate) fn hash_of_bytes(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Half of the hash suffices for a name.
fn short(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Position and kind of the first inline C++: a directive, or a `$c`, `$c8`, `$cpure` that is a call by the text before
/// and after it.
pub(crate) fn inline_code(
    text: &str,
    is_call: fn(&str, &str) -> bool,
) -> Option<(usize, &'static str)> {
    if let Some(at) = text.find("`systemc_") {
        return Some((at, "inline C++ (`systemc_…)"));
    }
    let mut named = text.match_indices("$c").map(|(at, _)| at);
    let at = named.find(|&at| {
        let rest = &text[at + 2..];
        let rest = rest.strip_prefix("pure").unwrap_or(rest);
        is_call(
            &text[..at],
            rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        )
    })?;
    Some((at, "inline C++ ($c)"))
}

/// In a line of a source: `$c(` and the like, but not `$clog2(` or `$ceil(`.
fn is_call(_before: &str, rest: &str) -> bool {
    rest.trim_start().starts_with('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_code_is_told_from_functions() {
        let is_inline_call = |code| inline_code(code, is_call).is_some();
        assert!(is_inline_call("x = $c(\"1\");"));
        assert!(is_inline_call("x = $c32 (\"1\");"));
        assert!(is_inline_call("x = $cpure(\"1\");"));
        assert!(!is_inline_call(
            "x = $clog2(8) + $ceil(2.0) + $countones(y);"
        ));
    }

    #[test]
    fn the_hash_follows_every_byte_that_can_matter() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("a.sv", "module a; endmodule");
        write("b.svh", "// one");
        write("notes.txt", "one");
        let design = Design {
            name: "a".into(),
            top: "a".into(),
            clock: "ap_clk".into(),
            file_sets: vec![FileSet::new(folder.path(), vec!["a.sv".into()])],
            defines: Vec::new(),
            parameters: Vec::new(),
            sleeping: Vec::new(),
            generated: None,
        };
        let first = design.hash("tools").unwrap();
        write("notes.txt", "two");
        assert_eq!(design.hash("tools").unwrap(), first);
        assert_ne!(design.hash("other tools").unwrap(), first);
        let defines = vec!["FAST".to_owned()];
        let other = Design {
            defines,
            ..design.clone()
        };
        assert_ne!(other.hash("tools").unwrap(), first);
        write("b.svh", "// two");
        let second = design.hash("tools").unwrap();
        assert_ne!(second, first);
        std::fs::create_dir(folder.path().join("more")).unwrap();
        write("more/c.vh", "// one");
        let third = design.hash("tools").unwrap();
        assert_ne!(third, second);
        write("more/c.vh", "// two");
        assert_ne!(design.hash("tools").unwrap(), third);
    }
}
