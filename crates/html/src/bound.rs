//! The bottleneck of the run, and remedies.

use crate::svg::{bar, Part};
use crate::text::{percent, Text};
use crate::{roofline, Page};
use advice::{Bound, Remedy, Resource};
use std::fmt::{self, Formatter};

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let Some(bound) = page.bound else {
        return Ok(());
    };
    f.write_str("<section id=bound><h2>What bounds it</h2>")?;
    match bound {
        Ok(bound) => known(bound, f)?,
        Err(why) => write!(
            f,
            "<p class=none>There is no model for this run ({}), so there is no advice.</p>",
            Text(why)
        )?,
    }
    f.write_str("</section>")
}

pub(crate) fn class(resource: Resource) -> &'static str {
    match resource {
        Resource::Compute | Resource::Port => "kernel",
        Resource::CardMemory => "memory",
        Resource::Paging => "wait",
        Resource::FaultService | Resource::Copies | Resource::Storage => "host",
        Resource::Link => "link",
    }
}

fn known(bound: &Bound, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "<p class=hint><strong>Bound by {}", Text(bound.by))?;
    match bound.gain < 1.05 {
        true => f.write_str("</strong>: nothing else would make it more than 5 % faster.</p>")?,
        false => write!(
            f,
            "</strong>: {} of the kernel’s time. Without it the run would be at most {:.1} × as fast: {:.2} GB/s.</p>",
            percent(bound.share),
            bound.gain,
            bound.bytes_per_second * 1e-9
        )?,
    }
    if !bound.advice.is_empty() {
        f.write_str("<ul>")?;
        for remedy in &bound.advice {
            advise(remedy, f)?;
        }
        f.write_str("</ul>")?;
    }
    f.write_str(
        "<p>How long each part was busy while the kernel ran, and how much faster the run would be if that part alone \
         were free (an estimate, from what overlapped what):</p><div class=bars>",
    )?;
    for estimate in &bound.resources {
        let name = estimate.resource.name();
        write!(f, "<div class=line><span class=name>{}</span>", Text(name))?;
        let part = Part {
            class: class(estimate.resource),
            name,
            share: estimate.busy,
        };
        bar(f, &[part])?;
        write!(
            f,
            "<span class=share>{} · × {:.2}</span></div>",
            percent(estimate.busy),
            estimate.gain
        )?;
    }
    f.write_str(
        "</div><p class=note>First-touch paging is all waiting for pages; fault service, copies, storage and PCIe are its \
         stages. Not in these figures: writing back after the kernel’s end, and whatever the platform prices at zero.</p>",
    )?;
    match &bound.roofline {
        Some(found) => roofline::write(found, f),
        None => Ok(()),
    }
}

fn advise(remedy: &Remedy, f: &mut Formatter<'_>) -> fmt::Result {
    match (remedy.mapping.as_str(), remedy.words.as_str()) {
        ("", "") => write!(f, "<li>{}", Text(&remedy.why)),
        ("", words) => write!(f, "<li><code>{}</code>: {}", Text(words), Text(&remedy.why)),
        (mapping, _) => write!(
            f,
            "<li><code>--map …{}</code>: {}",
            Text(mapping),
            Text(&remedy.why)
        ),
    }
}
