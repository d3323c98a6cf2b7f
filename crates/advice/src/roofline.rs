//! The rate of a run below the rates that its resources allow.

use crate::{Occupancy, Resource};
use serde::Serialize;
use tombolo::Report;
use units::{Picoseconds, ROW_BYTES};

/// A rate that a resource allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Roof {
    /// Its bandwidth or occupancy gives the rate.
    pub resource: Resource,
    /// Bytes per second that the kernel would read and write if this resource were never idle.
    pub bytes_per_second: f64,
    /// Whether the rate grows with [`Roofline::reuse`]: the resource is a stage of page-in.
    pub slanted: bool,
}

/// A run as a point, and its resources as roofs above it (Williams, Waterman, Patterson: *Roofline*, CACM 2009).
///
/// Operations of a kernel are not known, so the axes are bytes: below, the bytes that the kernel reads and writes for each byte
/// that crosses PCIe; upwards, those bytes per second. Roofs of the card are flat: ports and memory channels at their peak.
/// Roofs of host and link are slanted, at the rate that the resource had in this run while it was busy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// Bytes that the kernel read and wrote, for each byte over PCIe; `None` if none crossed it.
    pub reuse: Option<f64>,
    /// Bytes per second that the kernel read and wrote, from start to done.
    pub bytes_per_second: f64,
    /// The roofs, lowest first.
    pub roofs: Vec<Roof>,
}

/// Bytes per second; `None` without bytes or time.
fn rate(bytes: f64, time: Picoseconds) -> Option<f64> {
    (bytes > 0.0 && time > Picoseconds::ZERO).then(|| bytes / time.as_seconds())
}

impl Roofline {
    /// The roofline of a report's runs; `None` if the kernel moved nothing.
    pub fn of(report: &Report, occupancy: &Occupancy) -> Option<Self> {
        let statistics = &report.statistics;
        let (read, written) = report.kernel_bytes();
        let moved = read as f64 + written as f64;
        let bytes_per_second = rate(moved, occupancy.run)?;

        let period = report.card.clock_period;
        let moving = statistics.requesters.iter().filter(|one| one.rows > 0);
        // A beat each cycle at each port and direction that the kernel used.
        let ports = moving.map(|one| one.bytes as f64 / one.rows as f64).sum();
        let channels = statistics.channels.iter();
        let channel = channels.filter_map(|one| {
            let bytes = (one.rows_read + one.rows_written) * ROW_BYTES;
            rate(bytes as f64, period * one.busy_cycles)
        });
        let channel = channel.fold(0.0, f64::max);
        let flat = [
            (Resource::Port, rate(ports, period)),
            (
                Resource::CardMemory,
                (channel > 0.0).then_some(channel * statistics.channels.len() as f64),
            ),
        ];
        let slanted = occupancy
            .stages()
            .map(|(resource, stage)| (resource, rate(moved, stage.busy)));
        let roofs = |from: &[(Resource, Option<f64>)], slanted| -> Vec<Roof> {
            let known = from.iter().filter_map(|(resource, rate)| {
                rate.map(|bytes_per_second| Roof {
                    resource: *resource,
                    bytes_per_second,
                    slanted,
                })
            });
            known.collect()
        };
        let crossed = statistics.link.bytes_to_card + statistics.link.bytes_to_host;
        let mut all = roofs(&flat, false);
        if crossed > 0 {
            all.extend(roofs(&slanted, true));
        }
        all.sort_by(|one, other| one.bytes_per_second.total_cmp(&other.bytes_per_second));
        Some(Self {
            reuse: (crossed > 0).then(|| moved / crossed as f64),
            bytes_per_second,
            roofs: all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Use;
    use tombolo::{Card, FunctionalCard, FunctionalConfig};

    /// A run of 1 ms whose kernel reads 4 MB at one port, in rows, from two channels.
    fn report(to_card: u64) -> Report {
        let card = FunctionalCard::new(FunctionalConfig {
            channels: 2,
            ..FunctionalConfig::default()
        });
        let mut report = Card::functional(card).unwrap().report().unwrap();
        report.card.clock_period = Picoseconds::from_nanos(4);
        let reads = &mut report.statistics.requesters[0];
        (reads.bytes, reads.rows) = (4_000_000, 62_500);
        for channel in &mut report.statistics.channels {
            (channel.rows_read, channel.busy_cycles) = (31_250, 31_250);
        }
        report.statistics.link.bytes_to_card = to_card;
        report
    }

    fn occupancy() -> Occupancy {
        Occupancy {
            run: Picoseconds::from_micros(1000),
            link: Use {
                busy: Picoseconds::from_micros(500),
                ..Use::default()
            },
            ..Occupancy::default()
        }
    }

    #[test]
    fn roofs_are_rates_of_a_kernel_that_never_waits_for_them() {
        let found = Roofline::of(&report(2_000_000), &occupancy()).unwrap();
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 1e-9;
        assert!(near(found.bytes_per_second, 4e9));
        assert!(near(found.reuse.unwrap(), 2.0));
        let [link, port, memory] = found.roofs[..] else {
            panic!("{found:?}")
        };
        assert!(link.resource == Resource::Link && link.slanted);
        assert!(near(link.bytes_per_second, 8e9));
        assert!(port.resource == Resource::Port && !port.slanted);
        assert!(near(port.bytes_per_second, 16e9));
        assert!(memory.resource == Resource::CardMemory && !memory.slanted);
        assert!(near(memory.bytes_per_second, 32e9));
    }

    #[test]
    fn what_crossed_no_link_has_no_reuse_and_no_slope() {
        let found = Roofline::of(&report(0), &occupancy()).unwrap();
        assert_eq!(found.reuse, None);
        assert!(found.roofs.iter().all(|roof| !roof.slanted));
        let mut idle = report(0);
        idle.statistics.requesters[0].bytes = 0;
        assert_eq!(Roofline::of(&idle, &occupancy()), None);
    }
}
