//! A random case: files, their mappings, the kernel that works on them, and their expected contents afterwards.

use crate::random::Random;
use tombolo::PageSize;

/// Maximum size of a case.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Maximum number of bytes that a kernel writes.
    pub bytes: u64,
    /// Use pages of 2 MiB, and files large enough for them.
    pub large_pages: bool,
}

/// A range of a file.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub file: usize,
    pub offset: u64,
    pub bytes: u64,
    pub page: PageSize,
}

/// Work of a slot.
#[derive(Clone, Debug)]
pub struct Job {
    /// `copy` or `vadd`.
    pub kernel: &'static str,
    pub space: usize,
    pub inputs: Vec<Range>,
    pub output: Range,
    /// Byte count passed to the kernel: more than are mapped, if it is to write out of range.
    pub bytes: u64,
}

impl Job {
    /// Whether the kernel writes beyond its mapping.
    pub fn strays(&self) -> bool {
        self.bytes > self.output.bytes
    }
}

/// A random case; see the module.
#[derive(Debug)]
pub struct StrangerCase {
    pub files: Vec<Vec<u8>>,
    pub spaces: usize,
    pub jobs: Vec<Job>,
    /// Memory of each channel in bytes.
    pub channel_bytes: u64,
    pub table_sets_log2: u8,
    /// A mapped file that is also requested to be created anew, which must be refused.
    pub refused: usize,
}

const CHANNELS: u64 = 4;

impl StrangerCase {
    /// Generates the case of a seed.
    pub fn new(seed: u64, slots: u8, scale: Scale) -> Self {
        let random = &mut Random(seed);
        let jobs = 1 + random.below(u64::from(slots)) as usize;
        let spaces = 1 + random.below(jobs as u64) as usize;
        // Start of the next output in a file: outputs do not overlap, inputs are separate files.
        let mut files: Vec<Vec<u8>> = Vec::new();
        let mut ends: Vec<u64> = Vec::new();
        let mut list = Vec::new();
        for number in 0..jobs {
            let kernel = if random.below(2) == 0 { "copy" } else { "vadd" };
            let bytes = match kernel {
                "vadd" => 4 * length(random, scale.bytes / 4),
                _ => length(random, scale.bytes),
            };
            let file = match (0..files.len()).find(|&file| ends[file] < u64::MAX) {
                Some(file) if random.below(2) == 0 => file,
                _ => {
                    files.push(Vec::new());
                    ends.push(0);
                    files.len() - 1
                }
            };
            let gap = random.below(3) * random.below(5000);
            let offset = (ends[file] + gap).next_multiple_of(64);
            ends[file] = offset + bytes;
            let page = page(random, scale);
            let output = Range {
                file,
                offset,
                bytes,
                page,
            };
            // An out-of-range write needs space after the end in the last page.
            let size = effective(page);
            let room = (size - (offset + bytes) % size) % size;
            let more = match random.below(8) == 0 && room >= 4 {
                true => 4 * (1 + random.below((room / 4).min(1000))),
                false => 0,
            };
            let mut inputs = Vec::new();
            for _ in 0..if kernel == "vadd" { 2 } else { 1 } {
                let mut range = input(random, scale, bytes + more, &mut files, &mut ends);
                // The ranges of a file have pages of one size.
                let same = |other: &&Range| {
                    (other.file, other.offset, other.bytes)
                        == (range.file, range.offset, range.bytes)
                };
                let before = list.iter().flat_map(|job: &Job| &job.inputs);
                if let Some(other) = before.chain(&inputs).find(same) {
                    range.page = other.page;
                }
                inputs.push(range);
            }
            list.push(Job {
                kernel,
                space: number % spaces,
                inputs,
                output,
                bytes: bytes + more,
            });
        }
        let refused = list[0].output.file;
        for (file, &end) in files.iter_mut().zip(&ends) {
            if end < u64::MAX {
                // Usually some bytes after the last range.
                let tail = random.below(3) * random.below(3000);
                *file = content(random, end + tail);
            }
        }
        let largest = list
            .iter()
            .flat_map(|job| job.inputs.iter().chain([&job.output]))
            .map(|range| effective(range.page))
            .fold(4096, u64::max);
        let table_sets_log2 = [10, 12][random.below(2) as usize];
        let tables = spaces as u64 * (64 << table_sets_log2);
        let frames = largest * (2 + random.below(4));
        Self {
            files,
            spaces,
            jobs: list,
            channel_bytes: tables.next_multiple_of(largest) + frames,
            table_sets_log2,
            refused,
        }
    }

    /// Size of all card memory in bytes.
    pub fn card_bytes(&self) -> u64 {
        self.channel_bytes * CHANNELS
    }

    /// Expected contents of the files afterwards.
    pub fn expected(&self) -> Vec<Vec<u8>> {
        let mut after = self.files.clone();
        for job in &self.jobs {
            let from = |range: &Range| {
                let start = range.offset as usize;
                &self.files[range.file][start..start + range.bytes as usize]
            };
            let result: Vec<u8> = match job.kernel {
                "vadd" => from(&job.inputs[0])
                    .chunks(4)
                    .zip(from(&job.inputs[1]).chunks(4))
                    .flat_map(|(a, b)| {
                        let word = |x: &[u8]| u32::from_le_bytes([x[0], x[1], x[2], x[3]]);
                        word(a).wrapping_add(word(b)).to_le_bytes()
                    })
                    .collect(),
                _ => from(&job.inputs[0]).to_vec(),
            };
            let start = job.output.offset as usize;
            let bytes = job.output.bytes as usize;
            after[job.output.file][start..start + bytes].copy_from_slice(&result[..bytes]);
        }
        after
    }
}

/// The effective page size of a range: none here is larger than 2 MiB.
fn effective(page: PageSize) -> u64 {
    page.bytes().min(PageSize::MIB_2.bytes())
}

fn length(random: &mut Random, most: u64) -> u64 {
    1 + match random.below(4) {
        0 => random.below(200.min(most)),
        1 => 4096 * (1 + random.below(3)) - random.below(3),
        _ => random.below(most),
    }
    .min(most)
}

fn page(random: &mut Random, scale: Scale) -> PageSize {
    match random.below(8) {
        0..=3 => PageSize::KIB_4,
        4 if scale.large_pages => PageSize::MIB_2,
        5 if scale.large_pages => PageSize::GIB_1,
        // 8 KiB to 128 KiB.
        pick => PageSize::from_class(1 + pick as u8 % 5).unwrap_or(PageSize::KIB_4),
    }
}

/// A range to read: of a new file, or of an existing input.
fn input(
    random: &mut Random,
    scale: Scale,
    bytes: u64,
    files: &mut Vec<Vec<u8>>,
    ends: &mut Vec<u64>,
) -> Range {
    let offset = 64 * random.below(3) * random.below(100);
    let needed = offset + bytes;
    let fits = |file: &usize| ends[*file] == u64::MAX && files[*file].len() as u64 >= needed;
    let shared = (0..files.len()).find(fits).filter(|_| random.below(2) == 0);
    let file = shared.unwrap_or_else(|| {
        let tail = random.below(3) * random.below(3000);
        files.push(content(random, needed + tail));
        ends.push(u64::MAX);
        files.len() - 1
    });
    Range {
        file,
        offset,
        bytes,
        page: page(random, scale),
    }
}

/// Bytes without zeroes, so that missing reads and misplaced writes are visible.
fn content(random: &mut Random, bytes: u64) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes as usize + 8);
    while (all.len() as u64) < bytes {
        all.extend((random.next() | 0x0101_0101_0101_0101).to_le_bytes());
    }
    all.truncate(bytes as usize);
    all
}
