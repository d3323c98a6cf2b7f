//! Shared memory: pages that migrate back and forth, with the program lines that waited for them, and for each block a
//! picture of page ownership over time.

use crate::svg::axis;
use crate::text::{bytes, count, plural, Text};
use crate::{MappingName, Page};
use std::fmt::{self, Formatter, Write};
use std::ops::Range;
use timeline::{Mark, Record};
use units::Picoseconds;

/// The owner's track of shared-memory ownership, and its names (`crates/owner/src/trace.rs`).
const TRACK: &str = "host/shared memory";
/// Time intervals in a picture.
const COLUMNS: usize = 240;
/// Maximum rows of a picture.
const ROWS: u64 = 32;
/// Maximum number of pictures.
const PICTURES: usize = 6;
/// Maximum blocks in the table, and source lines of each.
const LISTED: usize = 100;
const LINES: usize = 5;
/// Ranges closer than this form one block: blocks allocated by the library are further apart.
const GAP: u64 = 1 << 16;

/// Owner of a page.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Whose {
    #[default]
    Program,
    Both,
    Card,
}

/// Cell of a picture: the owner of the page that changed last, or several changes in the interval.
#[derive(Clone, Copy, Default)]
struct OwnerCell {
    whose: Whose,
    changes: u32,
    waited: bool,
}

impl OwnerCell {
    fn letter(self) -> char {
        match (self.changes, self.whose) {
            (2.., _) => 't',
            (_, Whose::Program) => 'p',
            (_, Whose::Both) => 's',
            (_, Whose::Card) => 'c',
        }
    }
}

/// Letters of cells, their classes and meanings.
const LEGEND: [(char, &str, &str); 4] = [
    ('p', "whose-program", "the program’s"),
    ('s', "whose-both", "both read it"),
    ('c', "whose-card", "the card’s"),
    ('t', "whose-turns", "changed hands several times"),
];

fn whose(name: &str) -> Option<Whose> {
    match name {
        "the program's" => Some(Whose::Program),
        "shared" => Some(Whose::Both),
        "the card's" => Some(Whose::Card),
        _ => None,
    }
}

/// A block over time.
struct Picture {
    block: Range<u64>,
    /// Bytes per row.
    row: u64,
    /// Cells by row.
    cells: Vec<[OwnerCell; COLUMNS]>,
}

impl Picture {
    fn of(block: Range<u64>, finest: u64, end: Picoseconds, marks: &[(Mark, What)]) -> Self {
        let mut row = finest;
        while (block.end - block.start).div_ceil(row) > ROWS {
            row *= 2;
        }
        let rows = (block.end - block.start).div_ceil(row) as usize;
        let mut cells = vec![[OwnerCell::default(); COLUMNS]; rows];
        let inside = |mark: &Mark| block.contains(&mark.address);
        for (mark, what) in marks.iter().filter(|(mark, _)| inside(mark)) {
            let at = u128::from(mark.at.get()) * COLUMNS as u128 / u128::from(end.get().max(1));
            let column = (at as usize).min(COLUMNS - 1);
            let first = (mark.address - block.start) / row;
            let behind = (mark.address - block.start + mark.bytes.max(1)).div_ceil(row);
            for line in cells.iter_mut().take(behind as usize).skip(first as usize) {
                match what {
                    What::Waits => line[column].waited = true,
                    What::Is(whose) => {
                        line[column].changes += 1;
                        line[column..]
                            .iter_mut()
                            .for_each(|cell| cell.whose = *whose);
                    }
                }
            }
        }
        Self { block, row, cells }
    }

    fn letters(&self) -> impl Iterator<Item = char> + '_ {
        self.cells.iter().flatten().map(|cell| cell.letter())
    }
}

/// Meaning of a mark.
#[derive(Clone, Copy)]
enum What {
    Is(Whose),
    Waits,
}

/// Marks about shared memory, in order of time.
fn marks_of(record: &Record) -> Vec<(Mark, What)> {
    let Some(track) = record.track(TRACK) else {
        return Vec::new();
    };
    let what = |mark: &Mark| {
        let name = track.kinds.get(mark.kind)?.name.as_str();
        let waits = name.ends_with(" waits").then_some(What::Waits);
        whose(name).map(What::Is).or(waits)
    };
    let marks = track.marks.iter();
    marks
        .filter_map(|mark| Some((*mark, what(mark)?)))
        .collect()
}

/// Blocks whose pages changed owner: the known ones, and groups of neighbouring ranges.
fn blocks_of(page: &Page<'_>, marks: &[(Mark, What)]) -> Vec<Range<u64>> {
    let known = page.report.paging.ping_pong.iter();
    let known = known.map(|block| block.address..block.address.saturating_add(block.bytes));
    let changed = marks.iter().filter(|(_, what)| matches!(what, What::Is(_)));
    let changed =
        changed.map(|(mark, _)| mark.address..mark.address.saturating_add(mark.bytes.max(1)));
    let mut all: Vec<Range<u64>> = known.chain(changed).collect();
    all.sort_by_key(|range| range.start);
    let mut blocks: Vec<Range<u64>> = Vec::new();
    for range in all {
        match blocks.last_mut() {
            Some(last) if range.start < last.end.saturating_add(GAP) => {
                last.end = last.end.max(range.end);
            }
            _ => blocks.push(range),
        }
    }
    blocks
}

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let sharing = &page.report.paging.sharing;
    let marks = page.record.map(marks_of).unwrap_or_default();
    if marks.is_empty() && *sharing == tombolo::report::SharingReport::default() {
        return Ok(());
    }
    write!(
        f,
        "<section id=shared><h2>Shared memory</h2><p>The program waited {} for a page that the card had. Pages: {} \
         upgraded for a kernel’s write without moving data, {} shared again for a read of the program, {} returned to \
         it.</p>",
        plural(sharing.traps, "time", "times"),
        count(sharing.upgraded),
        count(sharing.shared),
        count(sharing.returned)
    )?;
    ping_pong(page, f)?;
    if let Some(record) = page.record.filter(|_| !marks.is_empty()) {
        pictures(page, record, &marks, f)?;
    }
    f.write_str("</section>")
}

/// Pages that migrate back and forth, with the lines that waited.
fn ping_pong(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let blocks = &page.report.paging.ping_pong;
    if blocks.is_empty() {
        return Ok(());
    }
    f.write_str(
        "<p>The program waited for pages of these blocks more than once. Data that both write at the same time belongs \
         on different pages.</p><div class=table><table><thead><tr><th>block<th>pages of<th>waits<th>pages that it \
         waited for again<th>worst page<th>waited at</thead><tbody>",
    )?;
    for block in blocks.iter().take(LISTED) {
        write!(
            f,
            "<tr><th scope=row>{} at 0x{:x}<td>{}<td>{}<td>{}<td>offset 0x{:x}, {}<td class=why>",
            bytes(block.bytes),
            block.address,
            bytes(block.page),
            count(block.traps),
            count(block.pages),
            block.worst_offset,
            plural(block.worst_traps, "time", "times")
        )?;
        for (number, at) in block.places.iter().take(LINES).enumerate() {
            let comma = if number > 0 { "<br>" } else { "" };
            write!(f, "{comma}{}: {}", Text(&at.place), count(at.traps))?;
        }
    }
    f.write_str("</tbody></table></div>")
}

fn pictures(
    page: &Page<'_>,
    record: &Record,
    marks: &[(Mark, What)],
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let last = marks.last().map_or(Picoseconds::ZERO, |(mark, _)| mark.at);
    let end = page.report.time.max(last);
    if end == Picoseconds::ZERO || !page.report.has_time() {
        return f.write_str("<p class=none>This card has no time: there is no picture of it.</p>");
    }
    let grain = record
        .track(TRACK)
        .map_or(4096, |track| track.marks.grain());
    let blocks = blocks_of(page, marks);
    f.write_str("<p>Who had which page when: addresses from top to bottom, time from left to right.</p><p class=legend>")?;
    for (_, class, name) in LEGEND {
        write!(f, "<i class={class}></i>{name} ")?;
    }
    f.write_str("<i class=whose-waited></i>the program waited</p>")?;
    for block in blocks.iter().take(PICTURES) {
        // Fine enough that every range that changed owner is whole rows. Several pages may have changed at once.
        let ranges = marks
            .iter()
            .filter(|(mark, _)| block.contains(&mark.address) && mark.bytes > 0);
        let finest = ranges
            .map(|(mark, _)| (mark.address - block.start) | mark.bytes)
            .map(|edges| 1 << edges.trailing_zeros())
            .min();
        let finest = finest.unwrap_or(4096).max(4096).max(grain);
        let picture = Picture::of(block.clone(), finest, end, marks);
        draw(page, &picture, end, f)?;
    }
    match blocks.len().checked_sub(PICTURES) {
        Some(more @ 1..) => write!(
            f,
            "<p class=note>and {} more blocks</p>",
            count(more as u64)
        ),
        _ => Ok(()),
    }
}

fn draw(
    page: &Page<'_>,
    picture: &Picture,
    end: Picoseconds,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let rows = picture.cells.len();
    let block = &picture.block;
    let named = |mapping: &&MappingName| {
        let first = mapping.address.get();
        block.start < first.saturating_add(mapping.bytes) && first < block.end
    };
    let name = page.mappings.iter().find(named);
    write!(
        f,
        "<figure class=map><figcaption><b>{}</b> <span class=what>{}</span><br>{} at 0x{:x}; a row is {}{}</figcaption>",
        Text(name.map_or("", |mapping| mapping.name.as_str())),
        Text(name.map_or("", |mapping| mapping.what.as_str())),
        bytes(block.end - block.start),
        block.start,
        bytes(picture.row),
        match picture.cells.iter().flatten().any(|cell| cell.changes > 1) {
            true => ", and shows the page in it that changed last",
            false => "",
        }
    )?;
    write!(
        f,
        "<svg class=owners viewBox=\"0 0 {COLUMNS} {rows}\" preserveAspectRatio=none style=\"height:{}px\" role=img \
         aria-label=\"who had which page of 0x{:x}\" data-address={} data-row={} data-end={} data-cells={}>",
        (rows * 14).clamp(28, 256),
        block.start,
        block.start,
        picture.row,
        end.get(),
        picture.letters().collect::<String>()
    )?;
    for (letter, class, _) in LEGEND {
        let path = runs(picture, |cell| cell.letter() == letter);
        if !path.is_empty() {
            write!(f, "<path class={class} d=\"{path}\"/>")?;
        }
    }
    let mut waited = String::new();
    for (y, line) in picture.cells.iter().enumerate() {
        for (x, _) in line.iter().enumerate().filter(|(_, cell)| cell.waited) {
            let _ = write!(waited, "M{x}.3 {y}.2h.5v.6h-.5z");
        }
    }
    if !waited.is_empty() {
        write!(f, "<path class=whose-waited d=\"{waited}\"/>")?;
    }
    f.write_str("</svg>")?;
    axis(f, end)?;
    f.write_str("</figure>")
}

/// Neighbouring cells of one kind in a row, merged into one rectangle each.
fn runs(picture: &Picture, is: impl Fn(&OwnerCell) -> bool) -> String {
    let mut path = String::new();
    for (y, line) in picture.cells.iter().enumerate() {
        let mut x = 0;
        while x < COLUMNS {
            let length = line[x..].iter().take_while(|cell| is(cell)).count();
            if length > 0 {
                let _ = write!(path, "M{x} {y}h{length}v1h-{length}z");
            }
            x += length.max(1);
        }
    }
    path
}
