//! The bound of a run: an estimate for each resource, and the largest.

use crate::remedy::{self, Remedy};
use crate::{Occupancy, Resource, Roofline, Unmodelled, Use};
use serde::Serialize;
use std::fmt::{self, Write};
use timeline::Record;
use tombolo::Report;
use units::Picoseconds;

/// A stage of page-in is named if the run would be faster by this factor without it.
const STANDS_OUT: f64 = 1.15;
/// A stage that is busy for this share of the run is its bound, whatever overlaps it.
const SATURATED: f64 = 0.9;
/// Share of the work overlapping a stage that would be hidden behind other stages if the stage were free. 0: its time
/// is unchanged, 1: all stages become one pipeline.
const HIDDEN: f64 = 0.3;
/// A kernel whose busiest port moves rows in this share of the kernel's own time is bound by the port.
const FULL_PORT: f64 = 0.85;

/// Gain of a run if a resource were free.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Resource of the estimate.
    pub resource: Resource,
    /// Share of the run in which it was busy, 0 to 1.
    pub busy: f64,
    /// Speed-up of the run if it were free; at least 1.
    pub gain: f64,
}

/// The bound of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// The limiting resource.
    pub by: Resource,
    /// Share of the kernel's time that it costs, 0 to 1.
    pub share: f64,
    /// Speed-up of the run if it were free.
    pub gain: f64,
    /// Bytes per second that the kernel would move then, the larger of read and written.
    pub bytes_per_second: f64,
    /// Remedies, the most promising first.
    pub advice: Vec<Remedy>,
    /// All resources.
    pub resources: Vec<Estimate>,
    /// The rate of the run below those that its resources allow; `None` if the kernel moved nothing.
    pub roofline: Option<Roofline>,
}

fn ratio(part: Picoseconds, all: Picoseconds) -> f64 {
    part.get() as f64 / all.get().max(1) as f64
}

/// Shares of a run that the estimates use, 0 to 1.
struct Shares<'a> {
    of: &'a Occupancy,
}

impl Shares<'_> {
    fn share(&self, part: Picoseconds) -> f64 {
        ratio(part, self.of.run).min(1.0)
    }

    fn waiting(&self) -> f64 {
        self.share(self.of.waiting)
    }

    /// Share of the run independent of the card: host and link are busy, or a page is awaited.
    fn without_card(&self) -> f64 {
        1.0 - self.share(self.of.card_alone)
    }

    /// The run's time if a stage of page-in were free, from the other busy times.
    fn without_stage(&self, resource: Resource, stage: Use) -> f64 {
        let of = self.of;
        let mut alone = self.share(stage.alone);
        if resource == Resource::Link {
            // The DMA engine needs its own time for the same rows, and for those that it zeroes.
            let floor = ratio(of.dma, stage.busy).min(1.0);
            alone = self.share(stage.waited) * (1.0 - floor) + self.share(of.messages);
        }
        let left = 1.0 - alone;
        let piped = match resource {
            // Work overlapping the link is ahead of it already.
            Resource::Link => left,
            _ => {
                let others = self.of.stages().into_iter();
                let others = others.filter(|(other, _)| *other != resource);
                let longest = others
                    .map(|(_, other)| self.share(other.busy))
                    .fold(1.0 - self.waiting(), f64::max);
                longest.min(left)
            }
        };
        let hidden = HIDDEN * alone.min(1.0);
        (left - hidden * (left - piped)).max(self.share(of.port))
    }

    /// The run's time if every page were on the card from the start.
    fn without_paging(&self) -> f64 {
        let of = self.of;
        let kernel = 1.0 - self.waiting();
        // While the DMA engine works, ports wait for channels that it uses.
        let beside = self.share(of.dma_beside) / kernel.max(1e-9);
        let left = kernel - self.share(of.stalled) * beside.min(1.0);
        let floor = match self.waiting() > SATURATED {
            true => self.share(of.rows),
            false => 0.0,
        };
        left.max(self.share(of.port)).max(floor)
    }

    /// The run's time if card memory had no latency.
    fn without_memory(&self) -> f64 {
        let left = 1.0 - self.share(self.of.memory);
        left.max(self.share(self.of.port)).max(self.without_card())
    }

    /// The run's time if the kernel's requests and computation took no time.
    fn without_kernel(&self) -> f64 {
        let of = self.of;
        let moving = self.share(of.port) + self.share(of.stalled);
        // Host and link work that the kernel's cycles hide.
        let hidden = (self.without_card() - self.waiting()).max(0.0);
        let left = self.waiting() + self.share(of.rows).max(moving) + (1.0 - HIDDEN) * hidden;
        left.min(1.0).max(self.without_card())
    }
}

impl Bound {
    /// The bound of a report's run; `record` is what its card recorded.
    ///
    /// # Errors
    /// The reason why there is no model of the run.
    pub fn of(report: &Report, record: Option<&Record>) -> Result<Self, Unmodelled> {
        let occupancy = Occupancy::of(report, record)?;
        let mut bound = Self::of_occupancy(&occupancy);
        let (read, written) = report.kernel_bytes();
        let seconds = occupancy.run.as_seconds().max(1e-12);
        bound.bytes_per_second = read.max(written) as f64 / seconds * bound.gain;
        bound.advice = remedy::of(&bound, report);
        bound.roofline = Roofline::of(report, &occupancy);
        Ok(bound)
    }

    /// Speed-up of the run if a resource were free; 1 if it is not among those of the run.
    pub fn gain_of(&self, resource: Resource) -> f64 {
        let all = self.resources.iter();
        let mut of = all.filter(|estimate| estimate.resource == resource);
        of.next().map_or(1.0, |estimate| estimate.gain)
    }

    /// The bound without advice, rates and roofline.
    pub fn of_occupancy(occupancy: &Occupancy) -> Self {
        let shares = Shares { of: occupancy };
        let of = |resource, busy: Picoseconds, left: f64| Estimate {
            resource,
            busy: shares.share(busy),
            gain: (1.0 / left.max(1e-3)).max(1.0),
        };
        let o = occupancy;
        let stages = occupancy.stages().map(|(resource, stage)| {
            let left = shares.without_stage(resource, stage);
            of(resource, stage.busy, left)
        });
        let kernel = o.run - o.waiting - o.stalled;
        let own = match ratio(o.port, kernel) >= FULL_PORT {
            true => (Resource::Port, o.port),
            false => (Resource::Compute, kernel - o.port),
        };
        let own = of(own.0, own.1, shares.without_kernel());
        let memory = of(Resource::CardMemory, o.memory, shares.without_memory());
        let paging = of(Resource::Paging, o.waiting, shares.without_paging());

        let mut by = [paging, memory, own].into_iter().fold(own, |best, one| {
            if one.gain > best.gain {
                one
            } else {
                best
            }
        });
        if by.resource == Resource::Paging {
            let best = |key: fn(&Estimate) -> f64| {
                let all = stages.iter().copied();
                all.fold(
                    stages[0],
                    |best, one| if key(&one) > key(&best) { one } else { best },
                )
            };
            let (gain, busy) = (best(|one| one.gain), best(|one| one.busy));
            if gain.gain >= STANDS_OUT {
                by = gain;
            } else if busy.busy >= SATURATED {
                by = busy;
            }
        }
        let mut resources = vec![own, memory, paging];
        resources.extend(stages);
        Self {
            by: by.resource,
            share: 1.0 - 1.0 / by.gain,
            gain: by.gain,
            bytes_per_second: 0.0,
            advice: Vec::new(),
            resources,
            roofline: None,
        }
    }

    /// The bound as JSON; for a run without a model, the reason.
    pub fn json(bound: &Result<Self, Unmodelled>) -> serde_json::Value {
        match bound {
            // A bound has only strings, numbers and lists, so it always serializes.
            Ok(bound) => serde_json::to_value(bound).unwrap_or_default(),
            Err(why) => serde_json::json!({ "unmodelled": why.to_string() }),
        }
    }

    /// The bound as a sentence.
    pub fn words(bound: &Result<Self, Unmodelled>) -> String {
        match bound {
            Ok(bound) => bound.to_string(),
            Err(why) => format!("bound: no model for this run ({why}), so no advice"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("bound by {}", self.by);
        let rate = self.bytes_per_second * 1e-9;
        // Writing into a string cannot fail.
        let _ = match self.gain < 1.05 {
            true => write!(text, ": nothing else would make it more than 5 % faster"),
            false => write!(
                text,
                ": {:.0} % of the kernel's time; without it at most {:.1} × as fast, {rate:.2} GB/s",
                100.0 * self.share,
                self.gain
            ),
        };
        f.write_str(&text)?;
        for remedy in &self.advice {
            write!(f, "\n  try: {remedy}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(count: u64) -> Picoseconds {
        Picoseconds::from_micros(count)
    }

    fn used(busy: u64, waited: u64, alone: u64) -> Use {
        Use {
            busy: us(busy),
            waited: us(waited),
            alone: us(alone),
        }
    }

    /// A run of 1000 us that neither waits nor moves.
    fn idle() -> Occupancy {
        Occupancy {
            run: us(1000),
            card_alone: us(1000),
            ..Occupancy::default()
        }
    }

    #[test]
    fn a_kernel_that_computes_is_bound_by_itself() {
        let bound = Bound::of_occupancy(&Occupancy {
            port: us(125),
            rows: us(250),
            ..idle()
        });
        assert_eq!(bound.by, Resource::Compute);
        assert!((bound.gain - 4.0).abs() < 1e-9, "{bound:?}");
        assert!((bound.share - 0.75).abs() < 1e-9);
    }

    #[test]
    fn a_full_port_is_the_bound_and_nothing_is_to_be_gained() {
        let bound = Bound::of_occupancy(&Occupancy {
            port: us(970),
            rows: us(970),
            ..idle()
        });
        assert_eq!(bound.by, Resource::Port);
        assert!(bound.gain < 1.05 && bound.to_string().contains("nothing else"));
    }

    #[test]
    fn stalls_without_faults_are_card_memory() {
        let bound = Bound::of_occupancy(&Occupancy {
            port: us(440),
            rows: us(880),
            stalled: us(550),
            memory: us(550),
            ..idle()
        });
        assert_eq!(bound.by, Resource::CardMemory);
        assert!((bound.gain - 1.0 / 0.45).abs() < 1e-9, "{bound:?}");
    }

    #[test]
    fn what_is_busy_alone_while_pages_are_awaited_is_named() {
        let waits = Occupancy {
            waiting: us(800),
            card_alone: us(200),
            port: us(100),
            rows: us(200),
            ..idle()
        };
        let service = Occupancy {
            service: used(900, 750, 600),
            link: used(200, 150, 50),
            ..waits
        };
        let bound = Bound::of_occupancy(&service);
        assert_eq!(bound.by, Resource::FaultService);
        assert!(bound.gain > 2.0 && bound.gain < 1.0 / 0.2);
        let storage = Occupancy {
            storage: used(900, 750, 600),
            link: used(200, 150, 50),
            ..waits
        };
        assert_eq!(Bound::of_occupancy(&storage).by, Resource::Storage);
        // Stages in turn, each a little: the whole of it.
        let turns = Occupancy {
            service: used(100, 100, 60),
            copies: used(100, 100, 60),
            link: used(200, 200, 200),
            dma: us(180),
            ..waits
        };
        let bound = Bound::of_occupancy(&turns);
        assert_eq!(bound.by, Resource::Paging);
        assert!((bound.gain - 5.0).abs() < 1e-9, "{bound:?}");
        // Side by side, and one of them all the time.
        let both = Occupancy {
            service: used(850, 780, 10),
            storage: used(970, 790, 20),
            ..waits
        };
        assert_eq!(Bound::of_occupancy(&both).by, Resource::Storage);
    }

    #[test]
    fn a_link_is_no_faster_than_the_dma_engine() {
        let run = |dma| Occupancy {
            waiting: us(500),
            card_alone: us(250),
            port: us(250),
            rows: us(250),
            link: used(700, 450, 400),
            dma: us(dma),
            ..idle()
        };
        let link = |dma| Bound::of_occupancy(&run(dma)).gain_of(Resource::Link);
        assert!((link(700) - 1.0).abs() < 1e-9);
        assert!((link(350) - 1.0 / 0.775).abs() < 1e-9, "{}", link(350));
    }

    #[test]
    fn no_occupancy_gives_a_gain_below_one_or_without_end() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            Picoseconds::new((state >> 33) % below)
        };
        for _ in 0..20_000 {
            let mut one = || Use {
                busy: random(1200),
                waited: random(1200),
                alone: random(1200),
            };
            let stages = [one(), one(), one(), one()];
            let bound = Bound::of_occupancy(&Occupancy {
                run: random(1000),
                waiting: random(1200),
                service: stages[0],
                copies: stages[1],
                storage: stages[2],
                link: stages[3],
                messages: random(1200),
                card_alone: random(1200),
                port: random(1200),
                rows: random(1200),
                dma: random(1200),
                dma_beside: random(1200),
                stalled: random(1200),
                memory: random(1200),
            });
            for one in &bound.resources {
                assert!(one.gain >= 1.0 && one.gain <= 1000.0, "{bound:?}");
                assert!((0.0..=1.0).contains(&one.busy), "{bound:?}");
            }
            let most = bound.resources.iter().map(|one| one.gain);
            assert!(bound.gain <= most.fold(1.0, f64::max));
        }
    }
}
