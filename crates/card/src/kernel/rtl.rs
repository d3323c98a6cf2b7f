//! Compilation and clocking of a kernel's RTL.

use super::manifest::ResetPolarity;

/// Default name of the clock.
pub const DEFAULT_CLOCK: &str = "ap_clk";
/// Default name of the interrupt.
pub const DEFAULT_INTERRUPT: &str = "interrupt";
/// Default name of the reset.
pub const DEFAULT_RESET: &str = "ap_rst_n";

/// A parameter of the top module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
    /// Its value as Verilog: `12`, `64'hff`, `"text"`.
    pub value: String,
}

/// An input of the top module with a constant value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Name of the input.
    pub name: String,
    /// Value that the input is tied to.
    pub value: u64,
}

/// An additional clock input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockInput {
    /// Name of the clock input.
    pub name: String,
    /// Its frequency relative to the main clock.
    pub ratio: Ratio,
    /// Active level of its reset.
    pub reset: ResetPolarity,
    /// Name of its reset.
    pub reset_name: String,
}

/// A quotient of two small positive numbers, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    over: u32,
    under: u32,
}

impl Ratio {
    /// The largest part of a ratio.
    pub const LARGEST: u32 = 64;

    /// Parses `3`, `3/2` or `1/4`; `None` for anything else, or if a part is 0 or beyond [`LARGEST`](Self::LARGEST).
    pub fn parse(text: &str) -> Option<Self> {
        let (over, under) = text.split_once('/').unwrap_or((text, "1"));
        let part = |text: &str| text.trim().parse::<u32>().ok();
        Self::new(part(over)?, part(under)?)
    }

    /// The ratio `over / under`, in lowest terms.
    pub fn new(over: u32, under: u32) -> Option<Self> {
        let good = |part: u32| (1..=Self::LARGEST).contains(&part);
        let divisor = greatest_common_divisor(over, under.max(1));
        let (over, under) = (over / divisor.max(1), under / divisor.max(1));
        (good(over) && good(under)).then_some(Self { over, under })
    }

    /// Whether this clock has an edge together with edge `n` of the main clock. Edges 0 coincide.
    pub fn coincides(self, n: u64) -> bool {
        (n * u64::from(self.over)) % u64::from(self.under) == 0
    }

    /// Number of edges of this clock strictly between edges `n` and `n + 1` of the main clock.
    pub fn edges_after(self, n: u64) -> u32 {
        let (over, under) = (u64::from(self.over), u64::from(self.under));
        let before = (n * over) / under;
        let until = ((n + 1) * over).div_ceil(under);
        (until - before - 1) as u32
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.over, self.under)
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => greatest_common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_as_many_edges_as_it_says() {
        for (text, over, under) in [
            ("3/2", 3_u64, 2_u64),
            ("2", 2, 1),
            ("1/4", 1, 4),
            ("5/3", 5, 3),
            ("6/4", 3, 2),
        ] {
            let ratio = Ratio::parse(text).unwrap();
            let cycles = 60 * under;
            let edges: u64 = (0..cycles)
                .map(|n| u64::from(ratio.coincides(n)) + u64::from(ratio.edges_after(n)))
                .sum();
            assert_eq!(edges, 60 * over, "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_ratio() {
        for text in ["0", "1/0", "65", "1/65", "", "a", "3/", "-1", "1/2/3"] {
            assert_eq!(Ratio::parse(text), None, "{text}");
        }
        assert_eq!(Ratio::parse("128/64"), Ratio::parse("2"));
    }
}
