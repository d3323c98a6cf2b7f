//! FlexiMem's table III: the area of its components and of their counterparts here, mapped by Yosys.
//!
//! The interconnect, which that table excludes, is in table II: [`area`](super::area).

use super::super::Failure;
use crate::synthesis::{self, Report};
use std::fmt::Write;

/// Counterpart of one of the paper's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// A fully associative TLB of 8 entries: log2 of the page size in bytes.
    Tlb(u8),
    /// Modules of the shell, counted together.
    Modules(&'static [&'static str]),
    /// No counterpart that could be mapped.
    Nothing,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The paper's name.
    pub name: &'static str,
    /// LUT, FF and BRAM as published.
    pub paper: [u32; 3],
    /// Our counterpart.
    pub ours: Ours,
    /// Description of the counterpart, or the reason why there is none.
    pub why: &'static str,
}

const TLB: &str = "tmb_l1_tlb, 8 entries, fully associative";

/// The rows of components. The LUT of the PCIe IP are printed as "5,4419", with 4.174 % of 1,303,680.
pub const TABLE3: [Component; 6] = [
    Component {
        name: "TLB, 32 KiB",
        paper: [1464, 1102, 0],
        ours: Ours::Tlb(15),
        why: TLB,
    },
    Component {
        name: "TLB, 256 KiB",
        paper: [1419, 1054, 0],
        ours: Ours::Tlb(18),
        why: TLB,
    },
    Component {
        name: "TLB, 2 MiB",
        paper: [1344, 1006, 0],
        ours: Ours::Tlb(21),
        why: TLB,
    },
    Component {
        name: "Microblaze",
        paper: [3698, 3708, 34],
        ours: Ours::Modules(&["tmb_walker", "tmb_table_engine"]),
        why: "no processor: page walker and table engine, faults are served by the host",
    },
    Component {
        name: "HBM IP",
        paper: [778, 824, 2],
        ours: Ours::Nothing,
        why: "not measured: the vendor's, here a model of its timing",
    },
    Component {
        name: "PCIe IP",
        paper: [54_419, 54_089, 76],
        ours: Ours::Modules(&["tmb_dma"]),
        why: "its DMA alone; the core is the vendor's, here a model of its timing",
    },
];

/// Number of mapped modules.
pub const STEPS: usize = 6;

/// LUT, FF and block RAM of 36 kbit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

/// Maps the counterpart of each row, which takes some minutes. `tell` is called for each module.
///
/// # Errors
/// The tools are missing.
pub fn measure(mut tell: impl FnMut(&str)) -> Result<[Option<Cost>; 6], Failure> {
    let mut costs = [None; 6];
    for (component, place) in TABLE3.iter().zip(&mut costs) {
        let mut cost = Cost::default();
        match component.ours {
            Ours::Nothing => continue,
            Ours::Tlb(bits) => {
                tell(component.name);
                cost.add(&synthesis::tlb(bits, 0, 8)?);
            }
            Ours::Modules(tops) => {
                for top in tops {
                    tell(top);
                    cost.add(&synthesis::synthesize(synthesis::SHELL, top, &[])?);
                }
            }
        }
        *place = Some(cost);
    }
    Ok(costs)
}

/// The table with the paper's figures and ours, human-readable.
pub fn table(costs: &[Option<Cost>; 6]) -> String {
    let mut text = format!(
        "FlexiMem, table III: components but the interconnect (that is table II). The paper's by Vivado for a U55C, ours \
         by Yosys\n\n{:<14}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}  {}\n",
        "", "LUT", "paper", "FF", "paper", "BRAM", "paper", "ours is"
    );
    for (component, cost) in TABLE3.iter().zip(costs) {
        let _ = write!(text, "{:<14}", component.name);
        let ours = cost.map(|cost| [cost.lut, cost.ff, cost.bram36]);
        for (n, paper) in component.paper.into_iter().enumerate() {
            let ours = ours.map_or("-".to_owned(), |ours| format!("{}", ours[n]));
            let _ = write!(text, "{ours:>8}{paper:>8}");
        }
        let _ = writeln!(text, "  {}", component.why);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_figures_or_says_why_not() {
        let cost = Cost {
            lut: 2011.0,
            ff: 1284.0,
            bram36: 16.5,
        };
        let costs = TABLE3.map(|row| (row.ours != Ours::Nothing).then_some(cost));
        let table = table(&costs);
        for (component, line) in TABLE3.iter().zip(table.lines().skip(3)) {
            assert!(line.starts_with(component.name), "{line}");
            assert!(line.ends_with(component.why) && !component.why.is_empty());
            let figures = line[14..62].split_whitespace().collect::<Vec<_>>();
            let [lut, ff, bram] = component.paper.map(|figure| figure.to_string());
            let expected = match component.ours {
                Ours::Nothing => ["-", &lut, "-", &ff, "-", &bram],
                _ => ["2011", &lut, "1284", &ff, "16.5", &bram],
            };
            assert_eq!(figures, expected, "{line}");
            assert_eq!(
                component.why.starts_with("not measured"),
                component.ours == Ours::Nothing
            );
        }
    }
}
