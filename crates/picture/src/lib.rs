//! Pictures in SVG: charts of measurements, and text that stays text in SVG and HTML.
//!
//! ```
//! use picture::{Chart, Series, Text};
//!
//! let chart = Chart::lines("rows a cycle < all", "rows of a burst")
//!     .at(["1", "8", "64"])
//!     .with(Series::ours("8 lanes", [Some(7.9), Some(31.0), Some(32.0)]))
//!     .with(Series::paper("the paper", [None, None, Some(32.0)]));
//! let svg = chart.to_string();
//! assert!(svg.starts_with("<svg ") && svg.contains("rows a cycle &lt; all"));
//! assert_eq!(Text("a < b").to_string(), "a &lt; b");
//! ```

mod chart;
mod scatter;
mod text;

pub use chart::{Chart, Series};
pub use scatter::{pareto, Scatter};
pub use text::Text;

/// Colour of our measurements; the two colours differ in lightness too.
pub const OURS: &str = "#0b5fa5";
/// Colour of a paper's values.
pub const PAPER: &str = "#e0a05a";
