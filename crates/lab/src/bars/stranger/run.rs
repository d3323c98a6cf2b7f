//! Runs a case on a card, with or without an injected fault, and compares the files.

use super::super::Failure;
use super::case::{Job, Range, StrangerCase};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tombolo::io::{best, Direction, FileIo, Transfer, TransferId};
use tombolo::{
    AddressSpace, Card, Continue, Error, MapOptions, Mapping, OwnerOptions, PageSize, Picoseconds,
    SlotId,
};

/// A fault that the comparison must detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// A write-back writes one byte beyond the mapping.
    ClipOffByOne,
    /// A kernel receives an address that it rounds.
    PointerUnaligned,
    /// A file is truncated before its mapping is refused.
    TruncateFirst,
}

/// All faults.
pub const INJECTED_FAULTS: [InjectedFault; 3] = [
    InjectedFault::ClipOffByOne,
    InjectedFault::PointerUnaligned,
    InjectedFault::TruncateFirst,
];

/// Maximum duration of a run, in virtual time.
const TIMEOUT: Picoseconds = Picoseconds::from_millis(2000);

/// File I/O that writes one byte too many.
struct Greedy(Box<dyn FileIo>);

impl FileIo for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn start(&mut self, transfer: Transfer) {
        let more = usize::from(transfer.direction == Direction::Write);
        let room = transfer.memory.len() - transfer.memory_offset;
        let bytes = (transfer.bytes + more).min(room);
        self.0.start(Transfer { bytes, ..transfer });
    }

    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        self.0.finish(id)
    }
}

/// Runs a case in an empty folder; returns the discrepancy, if any.
pub fn run(
    case: &StrangerCase,
    raw: Box<dyn card::Card>,
    folder: &Path,
    fault: Option<InjectedFault>,
) -> Result<Option<String>, Failure> {
    let paths: Vec<PathBuf> = (0..case.files.len())
        .map(|number| folder.join(format!("file{number}")))
        .collect();
    for (path, content) in paths.iter().zip(&case.files) {
        fs::write(path, content)?;
    }
    let told = {
        let io = move || match fault {
            Some(InjectedFault::ClipOffByOne) => Box::new(Greedy(best())),
            _ => best(),
        };
        let options = OwnerOptions {
            // Each range sets its own page size; the card must have room for a page of this one.
            page_size: Some(PageSize::KIB_4),
            table_sets_log2: case.table_sets_log2,
            ..OwnerOptions::default()
        };
        let card = Card::with_io(raw, io, options)?;
        work(case, &card, &paths, fault)?
    };
    if let Some(wrong) = told {
        return Ok(Some(wrong));
    }
    for (number, (path, expected)) in paths.iter().zip(case.expected()).enumerate() {
        let found = fs::read(path)?;
        if found != expected {
            let same = found.iter().zip(&expected).take_while(|(a, b)| a == b);
            let (at, lengths) = (same.count(), (found.len(), expected.len()));
            return Ok(Some(format!(
                "file {number} differs from byte {at} on; lengths {lengths:?}"
            )));
        }
    }
    Ok(None)
}

fn map(
    space: &AddressSpace,
    path: &Path,
    range: &Range,
    options: MapOptions,
) -> Result<Mapping, Error> {
    let options = options.offset(range.offset).bytes(range.bytes);
    space.map_file(path, options.page_size(range.page))
}

/// Executes the case; returns the first wrong report of the library, if any.
fn work(
    case: &StrangerCase,
    card: &Card,
    paths: &[PathBuf],
    fault: Option<InjectedFault>,
) -> Result<Option<String>, Failure> {
    let spaces: Vec<AddressSpace> = (0..case.spaces)
        .map(|_| card.create_space())
        .collect::<Result<_, _>>()?;
    let mut running = Vec::new();
    for (number, job) in (0..).zip(&case.jobs) {
        let space = &spaces[job.space];
        let mut inputs = Vec::new();
        for range in &job.inputs {
            let path = &paths[range.file];
            let range = match fault {
                Some(InjectedFault::PointerUnaligned) if range.bytes > 8 => Range {
                    offset: range.offset + 8,
                    bytes: range.bytes - 8,
                    ..*range
                },
                _ => *range,
            };
            inputs.push(map(space, path, &range, MapOptions::read_only())?);
        }
        let path = &paths[job.output.file];
        let output = map(space, path, &job.output, MapOptions::read_write())?;
        let kernel = simcard::home().join("kernels").join(job.kernel);
        let slot = card.load(SlotId(number), &kernel, space)?;
        let (names, length): (&[&str], _) = match job.kernel {
            "vadd" => (&["a", "b", "c"], ("length", job.bytes / 4)),
            _ => (&["input", "output"], ("bytes", job.bytes)),
        };
        for (name, mapping) in names.iter().zip(inputs.iter().chain([&output])) {
            let address = mapping.address().get();
            // Writes the register directly, as if the library had not checked the value.
            let at = 0x10 + 8 * names.iter().position(|other| other == name).unwrap_or(0) as u32;
            match address % 64 {
                0 => slot.set_pointer(name, mapping.address())?,
                _ => {
                    slot.write_register(at, address as u32)?;
                    slot.write_register(at + 4, (address >> 32) as u32)?;
                }
            }
        }
        slot.set(length.0, length.1)?;
        running.push((slot, output, inputs, job));
    }
    // Requests that a mapped file be created anew.
    let file = &paths[case.refused];
    if fault == Some(InjectedFault::TruncateFirst) {
        File::create(file)?;
    }
    if spaces[0].map_file(file, MapOptions::create(10)).is_ok() {
        return Ok(Some("a file that is mapped was made anew".to_owned()));
    }
    for (slot, ..) in &running {
        slot.start()?;
    }
    for (slot, ..) in &running {
        if let Err(error) = slot.wait(Some(TIMEOUT), |_| Continue::Yes) {
            return Ok(Some(error.to_string()));
        }
    }
    for (_, output, inputs, job) in running {
        if let Some(wrong) = told(job, output.unmap()) {
            return Ok(Some(wrong));
        }
        for input in inputs {
            input.unmap()?;
        }
    }
    Ok(None)
}

/// Checks the reported end of an output; returns the discrepancy, if any.
fn told(job: &Job, ended: Result<(), Error>) -> Option<String> {
    match (job.strays(), ended) {
        (false, Ok(())) | (true, Err(Error::Outside { .. })) => None,
        (true, Ok(())) => Some("a write behind a mapping was not told".to_owned()),
        (_, Err(error)) => Some(error.to_string()),
    }
}
