//! FlexiMem's table III: the area of its components and of their counterparts here, mapped by Yosys.
//!
//! The interconnect, which that table excludes, is in table II: [`area`](super::area).

use super::super::Failure;
use crate::claim::State;
use crate::synthesis::{self, Report};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A row of the table: `[[component]]` of `experiments/fleximem.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The paper's name.
    pub name: String,
    /// LUT, FF and BRAM as published.
    pub paper: [u32; 3],
    /// Our counterpart, if it is a fully associative TLB of 8 entries: log2 of the page size in bytes.
    pub tlb: Option<u8>,
    /// Our counterpart, if it is modules of the shell, counted together.
    #[serde(default)]
    pub modules: Vec<String>,
    /// How ours may be compared with the paper's.
    pub state: State,
    /// Description of the counterpart, or the reason why there is none.
    pub ours: String,
}

/// LUT, FF and block RAM of 36 kbit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Number of 6-input look-up tables.
    pub lut: f64,
    /// Number of registers.
    pub ff: f64,
    /// Number of 36-kbit block RAMs.
    pub bram36: f64,
}

impl Cost {
    fn add(&mut self, report: &Report) {
        self.lut += report.lut;
        self.ff += report.ff;
        self.bram36 += report.bram36;
    }
}

/// Number of modules that are mapped.
pub fn steps(components: &[Component]) -> usize {
    let of = |one: &Component| usize::from(one.tlb.is_some()) + one.modules.len();
    components.iter().map(of).sum()
}

/// Maps the counterpart of each row, which takes some minutes; `None` for a row that has none. `tell` is called for each
/// module.
///
/// # Errors
/// The tools are missing.
pub fn measure(
    components: &[Component],
    mut tell: impl FnMut(&str),
) -> Result<Vec<Option<Cost>>, Failure> {
    let mut costs = Vec::new();
    for component in components {
        let mut cost = None;
        if let Some(bits) = component.tlb {
            tell(&component.name);
            let cost = cost.get_or_insert_with(Cost::default);
            cost.add(&synthesis::tlb(bits, 0, 8)?);
        }
        for top in &component.modules {
            tell(top);
            let cost = cost.get_or_insert_with(Cost::default);
            cost.add(&synthesis::synthesize(synthesis::SHELL, top, &[])?);
        }
        costs.push(cost);
    }
    Ok(costs)
}

/// The table with the paper's figures and ours, human-readable.
pub fn table(components: &[Component], costs: &[Option<Cost>]) -> String {
    let mut text = format!(
        "FlexiMem, table III: components but the interconnect (that is table II). The paper's by Vivado for a U55C, ours \
         by Yosys\n\n{:<14}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}  {}\n",
        "", "LUT", "paper", "FF", "paper", "BRAM", "paper", "ours is"
    );
    for (component, cost) in components.iter().zip(costs) {
        let _ = write!(text, "{:<14}", component.name);
        let ours = cost.map(|cost| [cost.lut, cost.ff, cost.bram36]);
        for (n, paper) in component.paper.into_iter().enumerate() {
            let ours = ours.map_or("-".to_owned(), |ours| format!("{}", ours[n]));
            let _ = write!(text, "{ours:>8}{paper:>8}");
        }
        let _ = writeln!(text, "  {}", component.ours);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::FlexiMem;
    use super::*;

    #[test]
    fn a_row_has_figures_or_says_why_not() {
        let cost = Cost {
            lut: 2011.0,
            ff: 1284.0,
            bram36: 16.5,
        };
        let experiment = FlexiMem::read(&simcard::home().join("experiments")).unwrap();
        let components = experiment.component;
        let absent = |row: &Component| row.tlb.is_none() && row.modules.is_empty();
        let costs: Vec<_> = components
            .iter()
            .map(|row| (!absent(row)).then_some(cost))
            .collect();
        let table = table(&components, &costs);
        for (component, line) in components.iter().zip(table.lines().skip(3)) {
            assert!(line.starts_with(&component.name), "{line}");
            assert!(line.ends_with(&component.ours) && !component.ours.is_empty());
            let figures = line[14..62].split_whitespace().collect::<Vec<_>>();
            let [lut, ff, bram] = component.paper.map(|figure| figure.to_string());
            let expected = match absent(component) {
                true => ["-", &lut, "-", &ff, "-", &bram],
                false => ["2011", &lut, "1284", &ff, "16.5", &bram],
            };
            assert_eq!(figures, expected, "{line}");
            assert_eq!(
                component.ours.starts_with("not measured"),
                absent(component)
            );
        }
    }
}
