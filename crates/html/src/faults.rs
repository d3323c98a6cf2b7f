//! Page faults over time, and their latencies.

use crate::svg::axis;
use crate::text::{bytes, count, plural, Text};
use crate::Page;
use std::fmt::{self, Formatter, Write};
use timeline::{Kind, Record};
use units::Picoseconds;

/// Columns of the picture.
const COLUMNS: usize = 80;

/// Kinds of faults in stacking order, with their colours.
const KINDS: [(&str, &str); 4] = [
    ("read fault", "fault-read"),
    ("write fault", "fault-write"),
    ("read fault, ahead", "fault-read-ahead"),
    ("write fault, ahead", "fault-write-ahead"),
];

fn kinds<'a>(record: &'a Record, name: &'a str) -> impl Iterator<Item = &'a Kind> {
    let tracks = record.tracks.iter();
    let faults = tracks.filter(|track| track.name.ends_with("/faults"));
    faults.flat_map(move |track| track.kinds.iter().filter(move |kind| kind.name == name))
}

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let paging = &page.report.paging;
    write!(
        f,
        "<section id=faults><h2>Faults</h2><p>{} reached the host, {} of them found by looking ahead. Pages: {} \
         read from files ({}), {} zeroed, {} written back ({}), {} evicted, {} left clean.</p>",
        plural(paging.faults, "fault", "faults"),
        count(paging.faults_ahead),
        count(paging.pages_read),
        bytes(paging.bytes_read),
        count(paging.pages_zeroed),
        count(paging.pages_written),
        bytes(paging.bytes_written),
        count(paging.evictions),
        count(paging.pages_dropped_clean)
    )?;
    if let Some(record) = page
        .record
        .filter(|_| paging.faults > 0 && page.report.has_time())
    {
        over_time(record, page.report.time, f)?;
        lengths(record, f)?;
    }
    f.write_str("</section>")
}

/// Faults over time, by their start.
fn over_time(record: &Record, end: Picoseconds, f: &mut Formatter<'_>) -> fmt::Result {
    let counts = KINDS.map(|(name, _)| {
        let mut sum = vec![0; COLUMNS];
        for kind in kinds(record, name) {
            let parts = kind.begins.parts(end, COLUMNS);
            sum.iter_mut().zip(parts).for_each(|(all, new)| *all += new);
        }
        sum
    });
    let column = |place: usize| counts.iter().map(|kind| kind[place]).sum::<u64>();
    let most = (0..COLUMNS).map(column).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    f.write_str("<p class=legend>")?;
    for ((name, class), _) in KINDS
        .iter()
        .zip(&counts)
        .filter(|(_, counts)| counts.iter().any(|count| *count > 0))
    {
        write!(f, "<i class={class}></i>{name} ")?;
    }
    write!(
        f,
        "· full height: {} in one of {COLUMNS} stretches</p><svg class=columns viewBox=\"0 0 {COLUMNS} 100\" \
         preserveAspectRatio=none role=img aria-label=\"faults over time\">",
        Text(plural(most, "fault", "faults"))
    )?;
    let mut below = vec![0; COLUMNS];
    for ((_, class), counts) in KINDS.iter().zip(&counts) {
        let mut path = String::new();
        for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let scale = |count: u64| 100.0 * count as f64 / most as f64;
            let (bottom, height) = (100.0 - scale(below[place]), scale(*count));
            let _ = write!(path, "M{place}.1 {bottom:.1}v-{height:.1}h.8v{height:.1}z");
            below[place] += count;
        }
        if !path.is_empty() {
            write!(f, "<path class={class} d=\"{path}\"/>")?;
        }
    }
    f.write_str("</svg>")?;
    axis(f, end)
}

/// Fault latencies.
fn lengths(record: &Record, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(
        "<div class=table><table><thead><tr><th>from the host’s seeing it to its answer<th>faults<th>half within\
         <th>99 % within<th>longest</thead><tbody>",
    )?;
    for (name, _) in KINDS {
        let spaces = record.tracks.iter().filter_map(|track| {
            let space = track.name.strip_suffix("/faults")?;
            Some((space, track.kinds.iter().find(|kind| kind.name == name)?))
        });
        for (space, kind) in spaces {
            write!(
                f,
                "<tr><th scope=row>{name}, {}<td>{}<td>{}<td>{}<td>{}",
                Text(space),
                count(kind.lengths.count()),
                kind.lengths.quantile(0.5),
                kind.lengths.quantile(0.99),
                kind.lengths.longest()
            )?;
        }
    }
    f.write_str("</tbody></table></div>")
}
