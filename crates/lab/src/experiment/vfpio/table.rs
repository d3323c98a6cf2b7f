//! Output of the experiment as human-readable text.

use super::{Application, ApplicationOutcome, Complexity, Vfpio};
use std::fmt::Write;
use std::path::PathBuf;

/// Ours followed by the paper's.
fn beside(ours: impl std::fmt::Display, paper: impl std::fmt::Display) -> String {
    format!("{ours} ({paper})")
}

impl Vfpio {
    /// Figure 5 and table 5.
    pub fn throughput(&self, outcomes: &[(&Application, ApplicationOutcome)]) -> String {
        let mut text = format!(
            "{}; the paper's figures in brackets\nplatform {}\n",
            self.title, self.platform
        );
        for difference in &self.known_differences {
            let _ = writeln!(text, "  known to differ: {difference}");
        }
        text.push_str("\nTable 5 and figure 5: MiB/s, the same kernel on each device\n");
        let _ = writeln!(
            text,
            "{:<8}{:>20}{:>20}{:>12}{:>22}{:>14}",
            "", "card (HBM)", "host", "network", "of wired, card", "processor"
        );
        for (one, outcome) in outcomes {
            let share = match outcome.wired {
                Some(wired) => format!("{:.1} %", 100.0 * outcome.card / wired),
                None => "-".to_owned(),
            };
            let _ = writeln!(
                text,
                "{:<8}{:>20}{:>20}{:>12.1}{:>22}{:>14.1}",
                one.name,
                beside(format!("{:.1}", outcome.card), one.paper.card),
                beside(format!("{:.1}", outcome.host), one.paper.host),
                outcome.network,
                beside(share, format!("{} %", one.paper.card_percent)),
                outcome.processor
            );
        }
        text.push_str(
            "`network`: input from a peer's memory by RDMA over the card's own interface, a model of 100 Gb/s Ethernet; output \
             to card memory,\nand of rng to the peer (the paper's are a picture).\n`wired`: the kernel with memory ports of its own.\n`processor`: the kernel's model on this machine, by the clock on the wall: a real run, in \
             no ratio with the others,\nwhich are virtual time (the paper's host only; 11.5 times slower than vFPIO, on \
             its machine).\nFrom one device to the other nothing is reconfigured: a transfer names its memory. A port that is joined \
             to another kernel's\nchanges in what the bar vio.switch_us says (paper 1.3 us; Coyote 17 to 29 ms).\n",
        );
        text
    }

    /// Figure 7.
    pub fn latencies(&self, host: &[f64], card: &[f64]) -> String {
        let mut text = format!(
            "\nFigure 7: mean latency of {} transfers, cycles (the paper's are a picture)\n{:>10}{:>14}{:>14}\n",
            self.transfers, "bytes", "perf-host", "perf-fpga"
        );
        for ((size, host), card) in self.sizes.iter().zip(host).zip(card) {
            let _ = writeln!(text, "{size:>10}{host:>14.0}{card:>14.0}");
        }
        text
    }

    /// Table 4: the user logic with memory ports, and with streams.
    ///
    /// # Errors
    /// A source cannot be read.
    pub fn complexity(&self) -> std::io::Result<String> {
        let mut text = format!(
            "\nTable 4: source lines and branches of the user logic, with memory ports and with streams (the paper's: \
             Coyote, vFPIO)\n{:<8}{:>30}{:>30}\n",
            "", "lines", "branches"
        );
        let pair = |[a, b]: [u32; 2]| format!("{a} -> {b}");
        let home = simcard::home().join("kernels");
        for one in &self.application {
            let Some(wired) = &one.wired else { continue };
            let top = |kernel: &str| -> PathBuf { home.join(kernel).join(format!("{kernel}.sv")) };
            let (before, after) = (top(wired), top(&one.kernel));
            let [before, after] = [Complexity::of(&[&before])?, Complexity::of(&[&after])?];
            let _ = writeln!(
                text,
                "{:<8}{:>30}{:>30}",
                one.name,
                beside(pair([before.lines, after.lines]), pair(one.paper.lines)),
                beside(
                    pair([before.branches, after.branches]),
                    pair(one.paper.complexity)
                )
            );
        }
        let examples = simcard::home().join("crates/tombolo/examples");
        let of = |name: &str| Complexity::of(&[&examples.join(name)]);
        let [before, after] = [of("loopback_direct.rs")?, of("loopback.rs")?];
        let lines = beside(pair([before.lines, after.lines]), pair([141, 58]));
        let branches = beside(pair([before.branches, after.branches]), pair([21, 5]));
        let _ = writeln!(text, "{:<8}{lines:>30}{branches:>30}", "host");
        text.push_str(
            "Ours is the top module alone: what lies below it both share. host: a file through `loopback` into another, by \
             a program that\ndrives the card itself (page table, copies, movers, events) and by one with the library.\n",
        );
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_program_is_shorter_with_the_library() {
        let experiments = simcard::home().join("experiments");
        let text = Vfpio::read(&experiments).unwrap().complexity().unwrap();
        let row = text.lines().find(|line| line.starts_with("host ")).unwrap();
        let ours = row.split(['(', ')']).step_by(2).take(2);
        for ours in ours {
            let words = ours.trim_start_matches("host").trim();
            let (before, after) = words.split_once(" -> ").unwrap();
            let [before, after] = [before, after].map(|n| n.trim().parse::<u32>().unwrap());
            assert!(before > after && after > 0, "{row}");
        }
        println!("{row}");
    }
}
