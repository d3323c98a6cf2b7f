//! Fits parameters that the paper does not publish to the ratios that it does.

use super::super::Failure;
use super::{FlexiMem, Page};
use tombolo::TrapFigures;
use units::Picoseconds;

/// Candidate rates of the accelerator: cycles per 64 bytes.
const PACES: [u32; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const SYSTEM_PAGE: f64 = 4096.0;

/// The rate and the costs whose ratios are nearest to the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// Cycles per 64 bytes.
    pub pace: u32,
    /// Host costs per page.
    pub traps: TrapFigures,
    /// Root mean square of the logarithms of our ratios over the paper's, for all six ratios.
    pub deviation: f64,
}

/// Simulated times at one rate in seconds, without any host cost.
struct UncostedTimes {
    ready: f64,
    /// For each page size: the time, and the number of page transfers between host and card.
    pages: Vec<(f64, f64)>,
}

/// Seconds per page transfer: constant, and with traps in addition per call and per 4096 bytes.
type Costs = [f64; 3];

/// The paper's ratios, and the times at one rate that are compared with them.
struct Comparison<'a> {
    pages: &'a [Page],
    measured: &'a UncostedTimes,
}

impl Comparison<'_> {
    /// Ratios with these costs: with traps over ready, and over without traps.
    fn ratios(&self, costs: Costs) -> Vec<(f64, f64)> {
        let [service, call, small_page] = costs;
        let pages = self.pages.iter().zip(&self.measured.pages);
        let ratios = pages.map(|(page, (time, changes))| {
            let basic = time + changes * service;
            let traps = call + small_page * page.bytes as f64 / SYSTEM_PAGE;
            let trapped = basic + changes * traps;
            (trapped / self.measured.ready, trapped / basic)
        });
        ratios.collect()
    }

    fn deviation(&self, costs: Costs) -> f64 {
        let ratios = self.ratios(costs);
        let squares = self.pages.iter().zip(ratios).map(|(page, (over, traps))| {
            let over = (over / page.over_ready).ln();
            let traps = (traps / (1.0 + page.traps)).ln();
            over * over + traps * traps
        });
        (squares.sum::<f64>() / (2 * self.pages.len()) as f64).sqrt()
    }

    /// The best costs for one rate, by coordinate descent with decreasing steps.
    fn best(&self) -> (Costs, f64) {
        let mut costs = [20e-6, 10e-6, 0.1e-6];
        let mut least = self.deviation(costs);
        let mut step = 2.0;
        while step > 1.0005 {
            let mut better = false;
            for place in 0..costs.len() {
                for factor in [step, 1.0 / step] {
                    let mut tried = costs;
                    tried[place] *= factor;
                    let deviation = self.deviation(tried);
                    if deviation < least {
                        (costs, least, better) = (tried, deviation, true);
                    }
                }
            }
            if !better {
                step = step.sqrt();
            }
        }
        (costs, least)
    }
}

/// Fits rate and costs of the paper's system; `tell` is called for each rate.
pub(super) fn fit(experiment: &FlexiMem, mut tell: impl FnMut(&Fitted)) -> Result<Fitted, Failure> {
    let mut best: Option<Fitted> = None;
    for pace in PACES {
        let ready = experiment.ready(&experiment.paper, pace)?.as_seconds();
        let pages = experiment.page.iter().map(|page| {
            let time = experiment.shared(&experiment.paper, page, pace, false, None)?;
            // Each page is read and then written.
            let changes = 2.0 * (experiment.bytes / page.bytes) as f64;
            Ok::<_, Failure>((time.as_seconds(), changes))
        });
        let pages = pages.collect::<Result<Vec<_>, _>>()?;
        let comparison = Comparison {
            pages: &experiment.page,
            measured: &UncostedTimes { ready, pages },
        };
        let (costs, deviation) = comparison.best();
        let [service_ps, protect_ps, protect_page_ps] = costs.map(picoseconds);
        let fitted = Fitted {
            pace,
            traps: TrapFigures {
                service_ps,
                protect_ps,
                protect_page_ps,
                ..TrapFigures::default()
            },
            deviation,
        };
        tell(&fitted);
        if best.is_none_or(|best| deviation < best.deviation) {
            best = Some(fitted);
        }
    }
    best.ok_or_else(|| "no rate was tried".into())
}

fn picoseconds(seconds: f64) -> Picoseconds {
    Picoseconds::new((seconds * 1e12).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_made_the_ratios_are_found() {
        let folder = simcard::home().join("experiments");
        let mut experiment = FlexiMem::read(&folder).unwrap();
        let pages = experiment.page.iter().map(|page| {
            let changes = 2.0 * (experiment.bytes / page.bytes) as f64;
            (1.1e-3 + changes * 2e-6, changes)
        });
        let measured = UncostedTimes {
            ready: 1e-3,
            pages: pages.collect(),
        };
        let made = [37e-6, 4e-6, 0.21e-6];
        let published = Comparison {
            pages: &experiment.page,
            measured: &measured,
        };
        let ratios = published.ratios(made);
        for (page, (over, traps)) in experiment.page.iter_mut().zip(ratios) {
            page.over_ready = over;
            page.traps = traps - 1.0;
        }
        let fitted = Comparison {
            pages: &experiment.page,
            measured: &measured,
        };
        let (found, deviation) = fitted.best();
        assert!(deviation < 1e-3, "{deviation}");
        for (found, made) in found.iter().zip(made) {
            assert!((found / made - 1.0).abs() < 0.02, "{found} and not {made}");
        }
    }
}
