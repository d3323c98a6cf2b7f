//! `tombolo run --coherent`: accesses of a CPU's cores, from a file, to lines that the kernel serves or caches.

use super::RunError;
use crate::print::{print, NotPrinted};
use card::kernel::Manifest;
use clap::Args;
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use tombolo::{CoherentMemory, Error, PendingLine, Picoseconds};
use units::access::{ADDRESS_BITS, CORES, LINE_BYTES};

const LINE: u64 = LINE_BYTES as u64;
/// Maximum number of lines in a history.
const SHOWN: usize = 8;

/// An operation of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operation {
    Load,
    LoadExclusive,
    Store(Vec<u8>),
    Prefetch,
    Flush,
    Clean,
    /// Adds a number to a word of the CPU's own memory, atomically.
    Add(u64),
    /// Waits for all accesses that were begun.
    Wait,
    /// Waits for the end of the kernel.
    Done,
}

impl Operation {
    fn name(&self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::LoadExclusive => "load-exclusive",
            Self::Store(_) => "store",
            Self::Prefetch => "prefetch",
            Self::Flush => "flush",
            Self::Clean => "clean",
            Self::Add(_) => "add",
            Self::Wait => "wait",
            Self::Done => "done",
        }
    }

    fn has_address(&self) -> bool {
        !matches!(self, Self::Wait | Self::Done)
    }
}

/// An access, as one line of the file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Access {
    /// Line number, from 1.
    line: usize,
    core: u8,
    operation: Operation,
    address: u64,
    /// Ends with `&`: the next access does not wait for this one.
    begun: bool,
}

/// Options of a card with a coherent CPU.
#[derive(Args)]
pub(super) struct CoherentOptions {
    /// Adds a coherent CPU to the card. The kernel serves cache lines (ports of kind axi4_home), or uses 64 MiB of the
    /// CPU's own memory (host_lines); --access lists the CPU's accesses. The run ends with the last access. See
    /// docs/tutorials/coherent-lines.md.
    #[arg(long, requires = "access", conflicts_with_all = ["functional", "preset", "shell"])]
    coherent: bool,

    /// Accesses of the CPU's cores, one per line: [CORE:] load|load-exclusive|store|prefetch|flush|clean|add ADDRESS
    /// [BYTES] [&]. BYTES are the data of a store, as 0x…, or the number to add to a word of the CPU's own memory. With
    /// & the next access does not wait for this one; `wait` waits for all of them, `done` for the end of the kernel. -
    /// is the standard input.
    #[arg(long, value_name = "FILE", requires = "coherent")]
    access: Option<PathBuf>,

    /// Prints the messages of the first eight lines that the accesses use.
    #[arg(long, requires = "coherent")]
    history: bool,
}

/// All accesses of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Accesses {
    path: PathBuf,
    all: Vec<Access>,
    /// Whether to print the history of the first lines.
    history: bool,
}

/// Why the accesses ended early.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Access(#[from] Error),
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    let whole = !digits.is_empty() && digits.len() % 2 == 0;
    if !whole || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let pair = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// Parses `[CORE:] OPERATION [ADDRESS [BYTES]] [&]`; the error states the broken rule.
fn parse(line: usize, text: &str) -> Result<Access, String> {
    // Escapes control characters, which a terminal would not show in an error.
    parse_words(line, &text.escape_debug().to_string())
}

fn parse_words(line: usize, text: &str) -> Result<Access, String> {
    let mut words: VecDeque<&str> = text.split_whitespace().collect();
    let begun = words.back() == Some(&"&");
    if begun {
        words.pop_back();
    }
    let mut core = None;
    if let Some(named) = words.front().and_then(|word| word.strip_suffix(':')) {
        let known = named.parse().ok().filter(|core| *core < CORES);
        let unknown = || format!("core `{named}`: cores are 0 to {}", CORES - 1);
        core = Some(known.ok_or_else(unknown)?);
        words.pop_front();
    }
    let name = words.pop_front().unwrap_or_default();
    let mut operation = match name {
        "load" => Operation::Load,
        "load-exclusive" => Operation::LoadExclusive,
        "store" => Operation::Store(Vec::new()),
        "prefetch" => Operation::Prefetch,
        "flush" => Operation::Flush,
        "clean" => Operation::Clean,
        "add" => Operation::Add(0),
        "wait" => Operation::Wait,
        "done" => Operation::Done,
        _ => {
            return Err(format!(
                "`{name}` is not an operation: write load, load-exclusive, store, prefetch, flush, clean, add, wait, done"
            ))
        }
    };
    let mut address = 0;
    if operation.has_address() {
        let word = words.pop_front().unwrap_or_default();
        address = number(word)
            .filter(|address| address >> ADDRESS_BITS == 0)
            .ok_or_else(|| {
                format!("`{word}` is not an address: write a number below 2^{ADDRESS_BITS}")
            })?;
    }
    if let Operation::Store(bytes) = &mut operation {
        let word = words.pop_front().unwrap_or_default();
        let room = LINE - address % LINE;
        *bytes = hex(word)
            .filter(|bytes| bytes.len() as u64 <= room)
            .ok_or_else(|| {
                format!("`{word}` is nothing to store: 0x and two digits a byte, at most {room} bytes here")
            })?;
    } else if let Operation::Add(value) = &mut operation {
        let word = words.pop_front().unwrap_or_default();
        *value = number(word).ok_or_else(|| format!("`{word}` is nothing to add: a number"))?;
        if address % 8 != 0 {
            return Err(format!(
                "{address:#x} is not where a word begins: a multiple of 8"
            ));
        }
        if begun {
            return Err("`add` ends before the next access begins: leave out &".to_owned());
        }
    } else if address % LINE != 0 {
        return Err(format!(
            "{address:#x} is not where a line begins: a multiple of {LINE}"
        ));
    }
    match words.front() {
        None if !operation.has_address() && (begun || core.is_some()) => Err(format!(
            "`{name}` is of no core, and ends before the next access begins: write `{name}` alone"
        )),
        None => Ok(Access {
            line,
            core: core.unwrap_or(0),
            operation,
            address,
            begun,
        }),
        Some(word) => Err(format!("`{word}` is more than `{name}` takes")),
    }
}

impl CoherentOptions {
    pub(super) fn is_coherent(&self) -> bool {
        self.coherent
    }

    /// The file of accesses.
    pub(super) fn path(&self) -> Option<&Path> {
        self.access.as_deref()
    }

    /// Whether the accesses come from the standard input.
    pub(super) fn reads_standard_input(&self) -> bool {
        self.path() == Some(Path::new("-"))
    }

    /// Fails if the kernel uses cache lines and the card has no coherent CPU, or the other way round.
    pub(super) fn check(&self, manifest: &Manifest) -> Result<(), RunError> {
        let wrong = |text| Err(RunError::Arguments(text));
        let name = &manifest.name;
        let serves = !manifest.lines.is_empty();
        let caches = !manifest.accesses.is_empty();
        if self.coherent && !serves && !caches {
            return wrong(format!(
                "--coherent: kernel {name} has nothing to do with cache lines: it has no port of kind axi4_home, \
                 line_operations or host_lines"
            ));
        }
        if !self.coherent && (serves || caches) {
            let kind = if serves {
                "line_operations"
            } else {
                "host_lines"
            };
            return wrong(format!(
                "kernel {name} uses cache lines (ports of kind {kind}): it needs --coherent and --access"
            ));
        }
        if self.history && caches {
            return wrong(format!(
                "--history: lines of the CPU's own memory, which kernel {name} uses, have none"
            ));
        }
        Ok(())
    }

    /// Reads the accesses and checks them against the kernel; `None` without `--access`.
    pub(super) fn accesses(&self, manifest: &Manifest) -> Result<Option<Accesses>, RunError> {
        let Some(path) = self.path() else {
            return Ok(None);
        };
        let accesses = Accesses::read(path, self.history)?;
        accesses.check(manifest.accesses.is_empty())?;
        Ok(Some(accesses))
    }
}

impl Accesses {
    /// Reads a file of accesses; `-` is the standard input.
    fn read(path: &Path, history: bool) -> Result<Self, RunError> {
        let mut text = String::new();
        let read = match path == Path::new("-") {
            true => std::io::stdin().read_to_string(&mut text).map(drop),
            false => std::fs::read_to_string(path).map(|read| text = read),
        };
        read.map_err(RunError::writing(path))?;
        let all = Self::parse(&text).map_err(|(line, what)| {
            RunError::Arguments(format!("{}:{line}: {what}", path.display()))
        })?;
        let path = path.to_owned();
        Ok(Self { path, all, history })
    }

    /// Parses the text of a file; the error has its line number.
    fn parse(text: &str) -> Result<Vec<Access>, (usize, String)> {
        let mut all = Vec::new();
        let mut done = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let access = parse(number, line).map_err(|what| (number, what))?;
            if access.operation == Operation::Done {
                if let Some(first) = done.replace(number) {
                    let what = format!(
                        "`done` waits for the kernel's end, which it has once; line {first} has waited for it already"
                    );
                    return Err((number, what));
                }
            }
            all.push(access);
        }
        Ok(all)
    }

    /// Refuses operations that this kind of kernel does not support. If the kernel `serves` lines, the card is their
    /// home; atomic instructions exist for the CPU's own lines only.
    fn check(&self, serves: bool) -> Result<(), RunError> {
        let add = |access: &&Access| matches!(access.operation, Operation::Add(_));
        match self.all.iter().find(add).filter(|_| serves) {
            None => Ok(()),
            Some(access) => Err(RunError::Arguments(format!(
                "{}:{}: `add` is for lines of the CPU's own memory (kernels with ports of kind host_lines), and this \
                 kernel is asked for lines that the card serves",
                self.path.display(),
                access.line
            ))),
        }
    }

    /// Performs the accesses in order and prints each result. `done` waits for the kernel.
    pub(super) fn run(
        &self,
        all: &CoherentMemory,
        done: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), RunError> {
        if self.history {
            self.record(all)?;
        }
        print(format_args!(
            "{:>12} {:>10}  core  access\n",
            "begun ns", "took ns"
        ))?;
        let failed = |access: &Access, stopped| match stopped {
            Stopped::NotPrinted(error) => error.into(),
            Stopped::Access(source) => RunError::Access {
                path: self.path.clone(),
                line: access.line,
                source: Box::new(source),
            },
        };
        let mut begun = Vec::new();
        let wait = |begun: &mut Vec<(&Access, _, _)>| {
            let mut all_begun = begun.drain(..);
            all_begun.try_for_each(|(access, began, pending)| {
                end(all, access, began, pending).map_err(|stopped| failed(access, stopped))
            })
        };
        for access in &self.all {
            if access.operation == Operation::Wait {
                wait(&mut begun)?;
                continue;
            }
            let step = || -> Result<_, Stopped> {
                if access.operation == Operation::Done {
                    done()?;
                    return Ok(None);
                }
                let began = all.now()?;
                let pending = access.begin(&all.on_core(access.core))?;
                if !access.begun {
                    end(all, access, began, pending)?;
                    return Ok(None);
                }
                Ok(Some((access, began, pending)))
            };
            begun.extend(step().map_err(|stopped| failed(access, stopped))?);
        }
        wait(&mut begun)?;
        if self.history {
            let text = all.history()?.to_text();
            print(format_args!(
                "\nsent, arrived (ns), line, from -> to, what\n{text}"
            ))?;
        }
        Ok(())
    }

    /// Records the history of the first lines.
    fn record(&self, all: &CoherentMemory) -> Result<(), Error> {
        let mut lines: Vec<u64> = Vec::new();
        let used = self
            .all
            .iter()
            .filter(|access| access.operation.has_address());
        for line in used.map(|access| access.address / LINE * LINE) {
            if !lines.contains(&line) && lines.len() < SHOWN {
                lines.push(line);
            }
        }
        let names: Vec<String> = lines.iter().map(|line| format!("{line:#x}")).collect();
        let named: Vec<(u64, &str)> = lines
            .iter()
            .copied()
            .zip(names.iter().map(|name| &**name))
            .collect();
        all.record(&named)
    }
}

impl Access {
    /// Begins an access; a hint has no completion.
    fn begin(&self, core: &CoherentMemory) -> Result<Option<PendingLine>, Error> {
        let pending = match &self.operation {
            Operation::Load => core.begin_load(self.address),
            Operation::LoadExclusive => core.begin_load_exclusive(self.address),
            Operation::Store(bytes) => core.begin_store(self.address, bytes),
            Operation::Flush => core.begin_flush(self.address),
            Operation::Clean => core.begin_clean(self.address),
            Operation::Add(value) => return core.add(self.address, *value).map(|_| None),
            Operation::Prefetch => return core.prefetch(self.address).map(|()| None),
            Operation::Wait | Operation::Done => return Ok(None),
        };
        pending.map(Some)
    }
}

/// Waits for an access and prints it; for a load also the line, up to its last non-zero byte.
fn end(
    all: &CoherentMemory,
    access: &Access,
    began: Picoseconds,
    pending: Option<PendingLine>,
) -> Result<(), Stopped> {
    let line = pending.map(PendingLine::wait).transpose()?;
    let took = all.now()? - began;
    let mut shown = String::new();
    if let (Operation::Load | Operation::LoadExclusive, Some(line)) = (&access.operation, line) {
        let bytes = line
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(1, |last| last + 1);
        let digits: String = line[..bytes]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        shown = format!(": 0x{digits}");
    }
    print(format_args!(
        "{:>12.1} {:>10.1}  {:>4}  {} {:#x}{shown}\n",
        began.get() as f64 / 1000.0,
        took.get() as f64 / 1000.0,
        access.core,
        access.operation.name(),
        access.address,
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_access() {
        let access = parse(3, "7: store 0x1003 0x0aff &").unwrap();
        let expected = Access {
            line: 3,
            core: 7,
            operation: Operation::Store(vec![0x0a, 0xff]),
            address: 0x1003,
            begun: true,
        };
        assert_eq!(access, expected);
        assert_eq!(parse(1, "load 128").unwrap().operation, Operation::Load);
        assert_eq!(parse(1, "wait").unwrap().operation, Operation::Wait);
        assert_eq!(parse(1, "done").unwrap().operation, Operation::Done);
        let add = parse(1, "2: add 0x88 5").unwrap();
        assert_eq!((add.operation, add.address), (Operation::Add(5), 0x88));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("fetch 0", "`fetch` is not an operation"),
            ("load", "`` is not an address"),
            ("load 0x10000000000", "below 2^40"),
            ("load 64", "a multiple of 128"),
            ("48: load 0", "cores are 0 to 47"),
            ("x: load 0", "core `x`"),
            ("store 126 0x010203", "at most 2 bytes here"),
            ("store 0 12", "`12` is nothing to store"),
            ("store 0 0x", "`0x` is nothing to store"),
            ("store 0 0xé1", "nothing to store"),
            ("store 0 0x+1", "nothing to store"),
            ("load 0 1", "`1` is more than `load` takes"),
            ("wait 0", "`0` is more"),
            ("done 0", "`0` is more"),
            ("5: done", "write `done` alone"),
            ("wait &", "write `wait` alone"),
            ("load 0\0", "`0\\0` is not an address"),
            ("add 4 1", "a multiple of 8"),
            ("add 8", "`` is nothing to add"),
            ("add 8 1 &", "leave out &"),
            ("&", "`` is not an operation"),
        ] {
            let error = parse(1, text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn a_kernel_ends_once() {
        let text = "load 0\n# twice\ndone\nload 0\n\ndone\n";
        let (line, what) = Accesses::parse(text).unwrap_err();
        assert_eq!(line, 6);
        assert!(what.contains("line 3 has waited"), "{what}");
        let lines = Accesses::parse("load 0\n\ndone\n").unwrap();
        let lines: Vec<usize> = lines.iter().map(|access| access.line).collect();
        assert_eq!(lines, [1, 3]);
    }

    #[test]
    fn only_the_cpus_own_words_are_added_to() {
        let all = Accesses::parse("load 0\nadd 8 1\n").unwrap();
        let path = PathBuf::from("words");
        let history = false;
        let accesses = Accesses { path, all, history };
        assert!(accesses.check(false).is_ok());
        let error = accesses.check(true).unwrap_err().to_string();
        assert!(error.starts_with("words:2: `add` is for"), "{error}");
    }
}
