//! A figure as SVG: one bar per point, with the paper's below ours.

use super::table::number;
use super::{Figure, Measurements};
use crate::claim::Claims;
use picture::{Text, OURS, PAPER};
use std::fmt::Write;

const LEFT: f64 = 190.0;
const WIDTH: f64 = 760.0;
/// Length of the longest bar.
const SPAN: f64 = WIDTH - LEFT - 80.0;
const TOP: f64 = 62.0;
/// Height of a point with both bars.
const PITCH: f64 = 36.0;
const BAR: f64 = 13.0;

fn bar(out: &mut String, (y, class, colour): (f64, &str, &str), value: f64, most: f64) {
    let width = SPAN * value / most;
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        LEFT + width + 5.0,
        y + BAR - 3.0,
        number(value)
    );
}

impl Figure {
    /// The figure as SVG; points that were not measured have no bar.
    pub fn picture(&self, claims: &Claims, outcome: &Measurements) -> String {
        let ours = |row: &str| outcome.row(row).map(|judged| judged.row.value);
        let paper = |row: &str| claims.published(row);
        let points = self.points.iter();
        let values = points.flat_map(|point| [ours(&point.row), paper(&point.row)]);
        let most = values.flatten().fold(f64::MIN_POSITIVE, f64::max);
        let height = TOP + PITCH * self.points.len() as f64 + 10.0;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"12\" y=\"22\" font-size=\"14\">{}</text>\n\
             <text x=\"12\" y=\"44\">{}; <tspan fill=\"{OURS}\">ours</tspan>, <tspan fill=\"{PAPER}\">the \
             paper's</tspan></text>\n",
            Text(&self.title),
            Text(&self.unit)
        );
        for (index, point) in self.points.iter().enumerate() {
            let y = TOP + PITCH * index as f64;
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + BAR,
                Text(&point.label)
            );
            if let Some(value) = ours(&point.row) {
                bar(&mut out, (y, "ours", OURS), value, most);
            }
            if let Some(value) = paper(&point.row) {
                bar(&mut out, (y + BAR + 2.0, "paper", PAPER), value, most);
            }
        }
        out.push_str("</svg>\n");
        out
    }
}
