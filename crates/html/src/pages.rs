//! A map of each mapping: which parts the kernel touched, how much, and where it faulted.

use crate::text::{bytes, count, percent, share, Text};
use crate::time_line::port_of;
use crate::{MappingName, Page};
use std::fmt::{self, Formatter, Write};
use timeline::{Record, Touched};

/// Maximum cells of a map.
const CELLS: u64 = 1024;
/// Cells per row.
const COLUMNS: usize = 64;
/// Maximum number of maps; further mappings are listed.
const MAPS: usize = 16;
/// Maximum lines of that list.
const LISTED: usize = 200;
/// Shades of a touched cell.
const SHADES: u64 = 8;

/// Accesses to a cell.
#[derive(Clone, Copy, Default)]
struct AccessCell {
    read: u64,
    written: u64,
    faults: u64,
}

impl AccessCell {
    fn bytes(&self) -> u64 {
        self.read + self.written
    }
}

/// The cells of a mapping, and their size.
struct Map {
    cells: Vec<AccessCell>,
    cell: u64,
}

impl Map {
    fn of(page: &Page<'_>, record: &Record, mapping: &MappingName) -> Self {
        let own = format!("space {}/faults", mapping.space);
        let slots: Vec<u8> = page
            .slots
            .iter()
            .filter(|slot| slot.space == mapping.space)
            .map(|slot| slot.slot)
            .collect();
        // If the kernel of a slot is no longer known, its space is not, either.
        let known = |slot: &u8| page.slots.iter().any(|named| named.slot == *slot);
        let belongs = |slot: u8| slots.contains(&slot) || !known(&slot);
        let tracks = record.tracks.iter().filter_map(|track| {
            let port = port_of(&track.name).filter(|port| belongs(port.0));
            (port.is_some() || track.name == own).then_some((track, port))
        });
        let tracks: Vec<_> = tracks.collect();
        let grain = tracks.iter().map(|(track, _)| track.places.grain()).max();
        let mut cell = grain.unwrap_or(4096);
        while mapping.bytes.div_ceil(cell) > CELLS {
            cell *= 2;
        }
        let number = mapping.bytes.div_ceil(cell).max(1) as usize;
        let mut cells = vec![AccessCell::default(); number];
        for (track, port) in tracks {
            let touched: Vec<Touched> = track.places.cells(mapping.address.get(), cell, number);
            for (cell, touched) in cells.iter_mut().zip(touched) {
                match port {
                    None => cell.faults += touched.slices,
                    Some((_, _, true)) => cell.written += touched.bytes,
                    Some((_, _, false)) => cell.read += touched.bytes,
                }
            }
        }
        Self { cells, cell }
    }

    fn sum(&self, of: impl Fn(&AccessCell) -> u64) -> u64 {
        self.cells.iter().map(of).sum()
    }
}

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("<section id=pages><h2>Pages</h2>")?;
    if page.mappings.is_empty() {
        return f.write_str("<p class=none>The mappings of this run are not known.</p></section>");
    }
    if let Some(record) = page.record {
        f.write_str(
            "<p>Each cell is a piece of a mapping, in the order of addresses: the stronger its colour, the more bytes the \
             kernel moved there; outlined where an access faulted; empty where nothing came by.</p>",
        )?;
        for mapping in page.mappings.iter().take(MAPS) {
            map(page, record, mapping, f)?;
        }
    }
    let rest = match page.record {
        Some(_) => page.mappings.get(MAPS..).unwrap_or(&[]),
        None => page.mappings,
    };
    if !rest.is_empty() {
        f.write_str(
            "<div class=table><table><thead><tr><th>mapping<th>what<th>bytes<th>address<th>space</thead><tbody>",
        )?;
        for mapping in rest.iter().take(LISTED) {
            write!(
                f,
                "<tr><th scope=row>{}<td>{}<td>{}<td>0x{:x}<td>{}",
                Text(&mapping.name),
                Text(&mapping.what),
                bytes(mapping.bytes),
                mapping.address.get(),
                mapping.space
            )?;
        }
        f.write_str("</tbody></table></div>")?;
        if let Some(more) = rest.len().checked_sub(LISTED).filter(|more| *more > 0) {
            write!(f, "<p class=note>and {} more</p>", count(more as u64))?;
        }
    }
    f.write_str("</section>")
}

fn map(
    page: &Page<'_>,
    record: &Record,
    mapping: &MappingName,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let map = Map::of(page, record, mapping);
    let (read, written) = (map.sum(|cell| cell.read), map.sum(|cell| cell.written));
    let faults = map.sum(|cell| cell.faults);
    let untouched = map.sum(|cell| u64::from(cell.bytes() == 0));
    let mode = if mapping.write {
        "read and write"
    } else {
        "read only"
    };
    write!(
        f,
        "<figure class=map><figcaption><b>{}</b> ",
        Text(&mapping.name)
    )?;
    write!(
        f,
        "<span class=what>{}</span><br>{} at 0x{:x}, space {}, {mode}{} · read {}, written {} · {} {} · {} \
         untouched</figcaption>",
        Text(&mapping.what),
        bytes(mapping.bytes),
        mapping.address.get(),
        mapping.space,
        mapping
            .page_size
            .map_or_else(String::new, |size| format!(", pages of {}", bytes(size.bytes()))),
        bytes(read),
        bytes(written),
        count(faults),
        if faults == 1 { "fault" } else { "faults" },
        percent(share(untouched as f64, map.cells.len() as f64))
    )?;
    let columns = map.cells.len().min(COLUMNS);
    let rows = map.cells.len().div_ceil(COLUMNS);
    write!(
        f,
        "<svg class=cells viewBox=\"0 0 {columns} {rows}\" style=\"max-width:{}px\" role=img \
         aria-label=\"map of {}\" data-address={} data-cell={} data-cells=\"{}\">",
        columns * 16,
        Text(&mapping.name),
        mapping.address.get(),
        map.cell,
        encoded(&map.cells)
    )?;
    let most = map
        .cells
        .iter()
        .map(AccessCell::bytes)
        .max()
        .unwrap_or(0)
        .max(1);
    let shade = |cell: &AccessCell| (cell.bytes() * SHADES).div_ceil(most);
    for wanted in 0..=SHADES {
        squares(f, &format!("s{wanted}"), &map.cells, |cell| {
            shade(cell) == wanted
        })?;
    }
    squares(f, "faulted", &map.cells, |cell| cell.faults > 0)?;
    write!(
        f,
        "</svg><p class=note>one cell: {}; strongest: {}</p></figure>",
        bytes(map.cell),
        bytes(most)
    )
}

/// The cells of one kind.
fn squares(
    f: &mut Formatter<'_>,
    class: &str,
    cells: &[AccessCell],
    is: impl Fn(&AccessCell) -> bool,
) -> fmt::Result {
    let mut path = String::new();
    for (place, _) in cells.iter().enumerate().filter(|(_, cell)| is(cell)) {
        let (x, y) = (place % COLUMNS, place / COLUMNS);
        let _ = write!(path, "M{x}.06 {y}.06h.88v.88h-.88z");
    }
    match path.is_empty() {
        true => Ok(()),
        false => write!(f, "<path class={class} d=\"{path}\"/>"),
    }
}

/// Cells for the script: read, written, faults; a comma between, a space after; nothing for zero.
fn encoded(cells: &[AccessCell]) -> String {
    let mut text = String::new();
    for cell in cells {
        if cell.bytes() + cell.faults > 0 {
            let _ = write!(text, "{},{},{}", cell.read, cell.written, cell.faults);
        }
        text.push(' ');
    }
    text.pop();
    text
}
