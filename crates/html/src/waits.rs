//! Waits by cause.

use crate::svg::{bar, Part};
use crate::text::{bytes, count, of_time, percent, plural, share, Text};
use crate::time_line::{runs_of, CARD, HOST};
use crate::Page;
use std::fmt::{self, Formatter};
use timeline::{Busy, Record};
use units::Picoseconds;

/// Times in which at least one of several tracks was busy.
fn any<'a>(record: &'a Record, wanted: impl Fn(&str) -> bool + 'a) -> Busy {
    let tracks = record.tracks.iter().filter(|track| wanted(&track.name));
    tracks.fold(Busy::default(), |all, track| all.or(&track.busy))
}

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("<section id=waits><h2>What waited for what</h2>")?;
    if let Some(record) = page.record {
        pages(record, f)?;
    }
    ports(page, f)?;
    f.write_str("</section>")
}

/// Utilisation while kernels waited for pages.
fn pages(record: &Record, f: &mut Formatter<'_>) -> fmt::Result {
    let faults = any(record, |name| name.ends_with("/faults"));
    let runs = any(record, |name| runs_of(name).is_some());
    let waited = faults.total();
    if waited == Picoseconds::ZERO {
        return f.write_str("<p>No access waited for a page.</p>");
    }
    let during = runs.overlap(&faults);
    write!(
        f,
        "<p>Kernels ran for {}; for <strong>{}</strong> of it ({}) at least one access waited for a page. In \
         that time these were busy, several of them at once:</p><div class=bars>",
        runs.total(),
        percent(of_time(during, runs.total())),
        during
    )?;
    let mut known = Busy::default();
    let mut rows: Vec<(&str, &str, Picoseconds)> = Vec::new();
    let groups = [("host", &HOST), ("link", &CARD)];
    for (class, tracks) in groups {
        for (track, name) in tracks {
            let Some(track) = record.track(track) else {
                continue;
            };
            let both = faults.overlap(&track.busy);
            known = known.or(&track.busy);
            rows.push((class, name, both));
        }
    }
    rows.retain(|row| row.2 > Picoseconds::ZERO);
    rows.sort_by_key(|row| std::cmp::Reverse(row.2));
    let rest = waited - faults.overlap(&known);
    rows.push(("rest", "none of these", rest));
    for (class, name, time) in rows {
        let part = of_time(time, waited);
        write!(f, "<div class=line><span class=name>{name}</span>")?;
        bar(
            f,
            &[Part {
                class,
                name,
                share: part,
            }],
        )?;
        write!(
            f,
            "<span class=share>{} · {}</span></div>",
            percent(part),
            time
        )?;
    }
    f.write_str(
        "</div><p class=note>“None of these” is the way of messages: events and interrupts to the host, commands \
         and replies to the card.</p>",
    )
}

/// Cycles of each port.
fn ports(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let report = page.report;
    let requesters = &report.statistics.requesters;
    let ports_per_slot = usize::from(report.card.ports_per_slot.max(1));
    let timed = report.card.clock_period > Picoseconds::ZERO;
    let used: Vec<usize> = (0..requesters.len())
        .filter(|number| requesters[*number].bursts > 0)
        .collect();
    if used.is_empty() {
        return f.write_str("<p>No port carried data.</p>");
    }
    if timed {
        f.write_str(
            "<p>What each port did in the cycles of its kernel’s runs. “Waits for the shell” has all of pages, \
             translation and card memory; what “waits for the kernel” the kernel’s author can change.</p>\
             <p class=legend><i class=moves></i>data move <i class=shell></i>waits for the shell \
             <i class=slow></i>waits for the kernel <i class=rest></i>nothing to do</p><div class=bars>",
        )?;
        for number in &used {
            let requester = &requesters[*number];
            let slot = number / 2 / ports_per_slot;
            let cycles: u64 = {
                let runs = report.runs.iter();
                let of_slot = runs.filter(|run| usize::from(run.slot) == slot);
                of_slot.map(|run| run.cycles).sum()
            };
            // A kernel without runs (it runs whenever it has data) is compared with the whole time.
            let cycles = match cycles {
                0 => report.statistics.cycles,
                cycles => cycles,
            } as f64;
            write!(
                f,
                "<div class=line><span class=name>{}</span>",
                Text(name(page, *number))
            )?;
            let moves = share(requester.rows as f64, cycles);
            let part = |class, name, cycles_of: u64| Part {
                class,
                name,
                share: share(cycles_of as f64, cycles),
            };
            let parts = [
                part("moves", "data move", requester.rows),
                part("shell", "waits for the shell", requester.shell_stall_cycles),
                part(
                    "slow",
                    "waits for the kernel",
                    requester.kernel_stall_cycles,
                ),
            ];
            bar(f, &parts)?;
            write!(f, "<span class=share>data {}</span></div>", percent(moves))?;
        }
        f.write_str("</div>")?;
    }
    f.write_str(
        "<div class=table><table><thead><tr><th>port<th>bursts<th>bytes<th>L1 TLB hits\
         <th>walks<th>found no page<th>faults<th>retries<th>address stalls</thead><tbody>",
    )?;
    for number in used {
        let requester = &requesters[number];
        let lookups = requester.l1_hits + requester.l1_misses;
        let walks = requester.walk_hits + requester.walk_misses;
        let hits = match lookups {
            0 => "–".to_owned(),
            _ => percent(share(requester.l1_hits as f64, lookups as f64)),
        };
        write!(
            f,
            "<tr><th scope=row>{}<td>{}<td>{}<td>{hits}<td>{}<td>{}<td>{}<td>{}<td>{}",
            Text(name(page, number)),
            count(requester.bursts),
            bytes(requester.bytes),
            count(walks),
            count(requester.walk_misses),
            count(requester.faults),
            count(requester.retries),
            match timed {
                true => plural(requester.address_stall_cycles, "cycle", "cycles"),
                false => "–".to_owned(),
            },
        )?;
    }
    f.write_str("</tbody></table></div>")
}

/// Kernel, port and direction of a requester of the report.
fn name(page: &Page<'_>, number: usize) -> String {
    let ports = usize::from(page.report.card.ports_per_slot.max(1));
    let (slot, port, write) = (number / 2 / ports, number / 2 % ports, number % 2 == 1);
    let slot = u8::try_from(slot).unwrap_or(u8::MAX);
    let way = if write { "writes" } else { "reads" };
    let port = page.port(slot, port, write);
    match page.report.card.slots {
        0 | 1 => format!("{port} {way}"),
        _ => format!("{} {slot}: {port} {way}", page.kernel(slot)),
    }
}
