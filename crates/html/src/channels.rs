//! Card memory by channel, and the link.

use crate::svg::{bar, Part};
use crate::text::{bytes, count, of_time, percent, rate, share};
use crate::Page;
use std::fmt::{self, Formatter};
use units::ROW_BYTES;

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("<section id=channels><h2>Card memory and PCIe</h2>")?;
    if page.report.has_time() {
        utilisation(page, f)?;
    }
    tables(page, f)
}

/// Utilisation of each channel and each direction of the link.
fn utilisation(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let statistics = &page.report.statistics;
    f.write_str(
        "<p>Card memory by channel: how long its controller’s data bus was busy, of all cycles. Uneven channels are a matter of which frames pages got; see stripes.\
         </p><div class=bars>",
    )?;
    let cycles = statistics.cycles as f64;
    for (number, channel) in statistics.channels.iter().enumerate() {
        let busy = share(channel.busy_cycles as f64, cycles);
        line(f, "memory", &format!("channel {number}"), busy)?;
    }
    let link = &statistics.link;
    for (name, busy) in [
        ("PCIe to the card", link.busy_to_card),
        ("PCIe to the host", link.busy_to_host),
    ] {
        line(f, "link", name, of_time(busy, page.report.time))?;
    }
    f.write_str("</div>")
}

/// Bytes of each channel and each direction of the link; with virtual time also rates.
fn tables(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let statistics = &page.report.statistics;
    let (time, link) = (page.report.time, &statistics.link);
    f.write_str(
        "<div class=table><table><thead><tr><th>channel<th>read<th>written<th>rate\
         <th>row activations<th>rows of 64 B an activation<th>refreshes</thead><tbody>",
    )?;
    for (number, channel) in statistics.channels.iter().enumerate() {
        let rows = channel.rows_read + channel.rows_written;
        let each = match channel.activations {
            0 => "–".to_owned(),
            activations => format!("{:.1}", rows as f64 / activations as f64),
        };
        write!(
            f,
            "<tr><th scope=row>channel {number}<td>{}<td>{}<td>{}<td>{}<td>{each}<td>{}",
            bytes(channel.rows_read * ROW_BYTES),
            bytes(channel.rows_written * ROW_BYTES),
            or_dash(rate(rows * ROW_BYTES, time)),
            count(channel.activations),
            count(channel.refreshes)
        )?;
    }
    f.write_str(
        "</tbody></table></div><div class=table><table><thead><tr><th>PCIe<th>bytes<th>rate while busy\
         </thead><tbody>",
    )?;
    for (name, moved, busy) in [
        ("to the card", link.bytes_to_card, link.busy_to_card),
        ("to the host", link.bytes_to_host, link.busy_to_host),
    ] {
        write!(
            f,
            "<tr><th scope=row>{name}<td>{}<td>{}",
            bytes(moved),
            or_dash(rate(moved, busy))
        )?;
    }
    write!(
        f,
        "</tbody></table></div><p class=note>{} zeroed on the card instead of being sent; {} register reads and {} \
         writes.</p></section>",
        bytes(link.rows_zeroed * ROW_BYTES),
        count(link.register_reads),
        count(link.register_writes)
    )
}

fn or_dash(text: String) -> String {
    match text.is_empty() {
        true => "–".to_owned(),
        false => text,
    }
}

fn line(f: &mut Formatter<'_>, class: &'static str, name: &str, busy: f64) -> fmt::Result {
    write!(f, "<div class=line><span class=name>{name}</span>")?;
    let part = Part {
        class,
        name: "busy",
        share: busy,
    };
    bar(f, &[part])?;
    write!(f, "<span class=share>{}</span></div>", percent(busy))
}
