//! Table 6: area of the shell's components, ours mapped by Yosys, the paper's by Vivado.

use super::super::Failure;
use crate::claim::State;
use crate::synthesis;
use serde::Deserialize;
use std::fmt::Write;

/// Name of the row with the card's total LUT, FF and BRAM36.
const CARD: &str = "U280";
/// Column headings.
const KINDS: [&str; 3] = ["LUT", "FF", "BRAM36"];

/// A line of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Name in the paper.
    pub name: String,
    /// LUT, FF, BRAM36 of the paper.
    pub paper: [f64; 3],
    /// How ours may be compared with them, for the reason in `ours`.
    pub state: State,
    /// Description of our counterpart, or the reason why there is none.
    pub ours: String,
    /// Our counterpart, if it exists.
    pub block: Option<Block>,
}

/// A module to map.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Name of the module.
    pub top: String,
    /// Path of its file list.
    #[serde(default = "shell")]
    pub list: String,
    /// Parameters, `NAME=VALUE`.
    #[serde(default)]
    pub parameters: Vec<String>,
    /// Modules that are mapped once for all their instances.
    #[serde(default)]
    pub once: Vec<String>,
    /// Number of instances.
    #[serde(default = "one")]
    pub count: u32,
}

fn shell() -> String {
    synthesis::SHELL.to_owned()
}

fn one() -> u32 {
    1
}

/// Result of a line: figures, nothing to map, or an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Mapped {
    /// LUT, FF, BRAM36.
    Cost([f64; 3]),
    /// There is no counterpart.
    Absent,
    /// Error message of the tool.
    Failed(String),
}

impl std::fmt::Display for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.top)?;
        for parameter in &self.parameters {
            write!(f, ".{parameter}")?;
        }
        Ok(())
    }
}

impl Block {
    fn map(&self) -> Result<[f64; 3], Failure> {
        let found = synthesis::run(
            "synthesis",
            &self.list,
            &self.top,
            &self.parameters,
            &self.once,
        )?;
        let synthesis::Report {
            lut, ff, bram36, ..
        } = found;
        Ok([lut, ff, bram36].map(|kind| kind * f64::from(self.count)))
    }
}

/// Maps the blocks of these lines, which takes some minutes the first time; results are cached. `tell` is called for
/// each. An error in one line does not affect the others.
pub fn measure(lines: &[Resource], mut tell: impl FnMut(&str)) -> Vec<Mapped> {
    let map = |line: &Resource| match &line.block {
        None => Mapped::Absent,
        Some(block) => {
            tell(&format!("{} {}", block.top, block.parameters.join(" ")));
            match block.map() {
                Ok(cost) => Mapped::Cost(cost),
                Err(error) => Mapped::Failed(error.to_string()),
            }
        }
    };
    lines.iter().map(map).collect()
}

/// A whole number with thousands separators; halves keep their fraction.
fn counted(number: f64) -> String {
    if number.fract() != 0.0 {
        return number.to_string();
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The table, human-readable.
pub fn table(lines: &[Resource], mapped: &[Mapped]) -> String {
    let mut text = String::from(
        "\nTable 6: resources; the paper's (Vivado, placed and routed) in brackets, ours mapped by Yosys to the same \
         family, not placed\n",
    );
    let _ = write!(text, "{:<12}", "");
    for kind in KINDS {
        let _ = write!(text, "{kind:>21}");
    }
    let _ = writeln!(text, "{:>10}  ours is", "% of LUT");
    let card = lines.iter().find(|line| line.name == CARD);
    for (line, mapped) in lines.iter().zip(mapped) {
        let _ = write!(text, "{:<12}", line.name);
        for (kind, paper) in line.paper.iter().enumerate() {
            let ours = match mapped {
                Mapped::Cost(cost) => counted(cost[kind]),
                Mapped::Absent | Mapped::Failed(_) => "-".to_owned(),
            };
            let cell = format!("{ours} ({})", counted(*paper));
            let _ = write!(text, "{cell:>21}");
        }
        let share = match (mapped, card) {
            (Mapped::Cost([lut, ..]), Some(card)) => format!("{:.2}", 100.0 * lut / card.paper[0]),
            _ => "-".to_owned(),
        };
        let _ = write!(text, "{share:>10}  ");
        let _ = match mapped {
            Mapped::Cost(_) => writeln!(text, "{}", line.ours),
            Mapped::Absent => writeln!(text, "not there: {}", line.ours),
            Mapped::Failed(why) => writeln!(text, "not measured: {why}"),
        };
    }
    text
}

/// Number of lines that could not be mapped.
pub fn failures(mapped: &[Mapped]) -> usize {
    let failed = |one: &&Mapped| matches!(one, Mapped::Failed(_));
    mapped.iter().filter(failed).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, paper: [f64; 3], block: Option<Block>) -> Resource {
        let ours = format!("what {name} is");
        let name = name.to_owned();
        Resource {
            name,
            paper,
            state: State::OtherSetup,
            ours,
            block,
        }
    }

    #[test]
    fn each_line_says_its_figure_or_why_there_is_none() {
        let lines = [
            line(CARD, [1000.0, 2000.0, 10.0], None),
            line("Scheduler", [270.0, 513.0, 0.0], None),
            line("MMU", [8102.0, 13773.0, 20.5], None),
        ];
        let mapped = [
            Mapped::Absent,
            Mapped::Cost([125.0, 1234.0, 0.5]),
            Mapped::Failed("no Yosys".to_owned()),
        ];
        let text = table(&lines, &mapped);
        let rows: Vec<&str> = text.lines().skip(3).collect();
        assert!(rows[0].contains("not there: what U280 is"), "{text}");
        for part in [
            "125 (270)",
            "1,234 (513)",
            "0.5 (0)",
            " 12.50 ",
            "what Scheduler is",
        ] {
            assert!(rows[1].contains(part), "{part}: {text}");
        }
        assert!(
            rows[2].contains("- (8,102)") && rows[2].contains("- (20.5)"),
            "{text}"
        );
        assert!(rows[2].contains("not measured: no Yosys"), "{text}");
        assert_eq!(failures(&mapped), 1);
    }

    #[test]
    fn a_tool_that_fails_is_said_in_its_line() {
        let block = Block {
            top: "no_such_module".to_owned(),
            list: "rtl/no_such_list.f".to_owned(),
            parameters: Vec::new(),
            once: Vec::new(),
            count: 1,
        };
        let lines = [line("Scheduler", [270.0, 513.0, 0.0], Some(block))];
        let mapped = measure(&lines, |_| {});
        assert_eq!(failures(&mapped), 1, "{mapped:?}");
    }
}
