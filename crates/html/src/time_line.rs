//! Utilisation over time, with a row for each resource.

use crate::svg::{area, axis, encoded, PARTS};
use crate::text::{of_time, percent, Text};
use crate::Page;
use std::fmt::{self, Formatter};
use timeline::TrackRecord;
use units::Picoseconds;

/// A group of rows.
struct Group {
    class: &'static str,
    title: String,
    rows: Vec<(String, String)>,
}

/// A port's track: its slot, the port, and the direction.
pub(crate) fn port_of(track: &str) -> Option<(u8, usize, bool)> {
    let (slot, port) = track.strip_prefix("slot ")?.split_once("/port ")?;
    let (port, way) = port.split_once(' ')?;
    Some((
        slot.parse().ok()?,
        port.parse().ok()?,
        way.starts_with("writes"),
    ))
}

/// A slot's track of runs.
pub(crate) fn runs_of(track: &str) -> Option<u8> {
    let slot = track.strip_prefix("slot ")?.strip_suffix("/runs")?;
    slot.parse().ok()
}

/// Tracks other than ports, with their titles.
pub(crate) const HOST: [(&str, &str); 4] = [
    ("host/fault service", "fault service"),
    ("host/page-cache copies", "page-cache copies"),
    ("host/storage", "storage"),
    ("host/slots", "reconfiguration"),
];
pub(crate) const CARD: [(&str, &str); 4] = [
    ("commands/DMA to the card", "DMA to the card"),
    ("commands/DMA to the host", "DMA to the host"),
    ("commands/zeroes", "zeroing frames"),
    ("commands/page table", "page-table commands"),
];

fn groups(page: &Page<'_>, tracks: &[TrackRecord]) -> Vec<Group> {
    let there = |names: &[(&str, &str)]| -> Vec<(String, String)> {
        let known = |name: &str| tracks.iter().any(|track| track.name == name);
        let names = names.iter().filter(|(name, _)| known(name));
        names
            .map(|(t, n)| ((*t).to_owned(), (*n).to_owned()))
            .collect()
    };
    let mut groups = Vec::new();
    let mut slots: Vec<u8> = page.slots.iter().map(|slot| slot.slot).collect();
    slots.extend(tracks.iter().filter_map(|track| runs_of(&track.name)));
    slots.sort_unstable();
    slots.dedup();
    for slot in slots {
        let mut rows = there(&[(&format!("slot {slot}/runs"), "running")]);
        for track in tracks {
            if let Some((_, port, write)) = port_of(&track.name).filter(|port| port.0 == slot) {
                let way = if write { "writes" } else { "reads" };
                let name = format!("{} {way}", page.port(slot, port, write));
                rows.push((track.name.clone(), name));
            }
        }
        groups.push(Group {
            class: "kernel",
            title: format!("{} in slot {slot}", page.kernel(slot)),
            rows,
        });
    }
    let faults = tracks
        .iter()
        .filter(|track| track.name.ends_with("/faults"));
    groups.push(Group {
        class: "wait",
        title: "waiting for pages".to_owned(),
        rows: faults
            .map(|track| {
                let space = track.name.trim_end_matches("/faults");
                (track.name.clone(), format!("faults of {space}"))
            })
            .collect(),
    });
    groups.push(Group {
        class: "host",
        title: "host".to_owned(),
        rows: there(&HOST),
    });
    groups.push(Group {
        class: "link",
        title: "commands of the host".to_owned(),
        rows: there(&CARD),
    });
    let memory = tracks
        .iter()
        .filter_map(|track| Some((&track.name, track.name.strip_prefix("card memory/")?)));
    groups.push(Group {
        class: "memory",
        title: "card memory".to_owned(),
        rows: memory.map(|(t, n)| (t.clone(), n.to_owned())).collect(),
    });
    groups
}

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("<section id=time-line><h2>Time line</h2>")?;
    let end = page.report.time;
    let Some(record) = page.record.filter(|_| end > Picoseconds::ZERO) else {
        f.write_str("<p class=none>")?;
        match page.report.card.clock_period == Picoseconds::ZERO {
            true => f.write_str("This card has no time: it runs a model of the kernel, not its RTL. The counts below are real.")?,
            false => f.write_str("Nothing was recorded over time.")?,
        }
        f.write_str("</p>")?;
        perfetto(page, f)?;
        return f.write_str("</section>");
    };
    write!(
        f,
        "<p>How much of each stretch something was under way: full height is all of it. \
         {} of virtual time since the card was opened.</p><div class=lines data-end={}>",
        Text(end),
        end.get()
    )?;
    for group in groups(page, &record.tracks) {
        let mut idle = Vec::new();
        let mut shown = Vec::new();
        for (track, name) in &group.rows {
            let Some(track) = record.track(track) else {
                continue;
            };
            let busy = track.busy.total();
            if busy == Picoseconds::ZERO {
                idle.push(name.as_str());
                continue;
            }
            if shown.is_empty() {
                write!(f, "<h3>{}</h3>", Text(&group.title))?;
            }
            shown.push(name.as_str());
            let shares = track.busy.shares(end, PARTS);
            let slices: u64 = track.kinds.iter().map(|kind| kind.begins.total()).sum();
            write!(
                f,
                "<div class=line><span class=name>{}</span><svg class=\"strip {}\" viewBox=\"0 0 {PARTS} 100\" \
                 preserveAspectRatio=none role=img aria-label=\"{}: busy {} of the time\" data-shares={} \
                 data-slices={slices}><path d=\"{}\"/></svg><span class=share>{}</span></div>",
                Text(name),
                group.class,
                Text(name),
                percent(of_time(busy, end)),
                encoded(&shares),
                area(&shares),
                percent(of_time(busy, end))
            )?;
        }
        // A port has a track before its kernel is known, and another one afterwards.
        idle.retain(|name| !shown.contains(name));
        idle.sort_unstable();
        idle.dedup();
        if !shown.is_empty() && !idle.is_empty() {
            write!(f, "<p class=idle>idle: {}</p>", Text(idle.join(", ")))?;
        }
    }
    f.write_str("<div class=line><span class=name></span>")?;
    axis(f, end)?;
    f.write_str("<span class=share></span></div></div>")?;
    perfetto(page, f)?;
    f.write_str("</section>")
}

/// How to see every transaction.
fn perfetto(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let viewer =
        "<a href=\"https://ui.perfetto.dev\" rel=noreferrer target=_blank>ui.perfetto.dev</a>";
    match (page.trace, page.advice) {
        (Some(file), _) => write!(
            f,
            "<p class=trace>Every transaction of this run is in <a href=\"{}\">{}</a>: open it on {viewer}. \
             Ports have their numbers there, with their names behind them; the times are the same.</p>",
            crate::text::link(file),
            Text(file)
        ),
        (None, Some(advice)) => write!(
            f,
            "<p class=trace>For every transaction, one by one: {}, and open the file on {viewer}.</p>",
            Text(advice)
        ),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tracks_are_understood() {
        assert_eq!(port_of("slot 2/port 11 writes"), Some((2, 11, true)));
        assert_eq!(port_of("slot 2/port 0 reads"), Some((2, 0, false)));
        let named = "slot 2/port 1 writes (copy.writes)";
        assert_eq!(port_of(named), Some((2, 1, true)));
        assert_eq!(port_of("slot 2/runs"), None);
        assert_eq!(runs_of("slot 2/runs"), Some(2));
        assert_eq!(runs_of("card memory/channel 0 reads"), None);
    }
}
