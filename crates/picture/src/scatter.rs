//! Points over two measured values, with the best of them joined.

use crate::chart::{number, rounded_step};
use crate::{Text, OURS, PAPER};
use std::fmt::{self, Display, Formatter};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;

/// A point of a [`Scatter`].
#[derive(Clone, Debug, PartialEq)]
struct Point {
    name: String,
    cost: f64,
    value: f64,
}

/// Values over their costs; the Pareto front is joined and labelled. Write it with [`Display`].
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    title: String,
    below: String,
    points: Vec<Point>,
}

/// For each point (cost, value), whether no other has at least its value at no more cost, and less of one.
pub fn pareto(points: &[(f64, f64)]) -> Vec<bool> {
    let better = |(cost, value): (f64, f64), (other_cost, other_value): (f64, f64)| {
        other_cost <= cost && other_value >= value && (other_cost < cost || other_value > value)
    };
    let points = || points.iter().copied();
    points()
        .map(|one| !points().any(|other| better(one, other)))
        .collect()
}

impl Scatter {
    /// No points. `title`: the meaning of the values; `below`: that of the costs.
    pub fn new(title: impl Into<String>, below: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            below: below.into(),
            points: Vec::new(),
        }
    }

    /// Adds a point; one that is not finite is omitted.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, cost: f64, value: f64) -> Self {
        if cost.is_finite() && value.is_finite() {
            let name = name.into();
            self.points.push(Point { name, cost, value });
        }
        self
    }

    /// Both ends of a scale with a margin, and the distance of its marks.
    fn scale(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        let (least, most) = match least.is_finite() {
            true => (least, most),
            false => (0.0, 1.0),
        };
        let margin = match most > least {
            true => (most - least) * 0.08,
            false => most.abs().max(1.0) * 0.5,
        };
        let (least, most) = (least - margin, most + margin);
        (least, most, rounded_step(most - least))
    }
}

impl Display for Scatter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (left, right, across) = Self::scale(self.points.iter().map(|point| point.cost));
        let (low, high, up) = Self::scale(self.points.iter().map(|point| point.value));
        let x = |cost: f64| LEFT + (cost - left) / (right - left) * (WIDTH - LEFT - RIGHT);
        let y =
            |value: f64| HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"12\" y=\"22\" font-size=\"14\">{}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
            Text(&self.title),
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 12.0,
            Text(&self.below)
        )?;
        let marks = |least: f64, most: f64, step: f64| {
            let (first, last) = ((least / step).ceil() as i64, (most / step).floor() as i64);
            (first..=last).map(move |number| number as f64 * step)
        };
        for mark in marks(low, high, up) {
            writeln!(
                f,
                "<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>",
                y(mark),
                WIDTH - RIGHT,
                LEFT - 6.0,
                y(mark) + 4.0,
                number(mark)
            )?;
        }
        for mark in marks(left, right, across) {
            writeln!(
                f,
                "<line x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{1:.1}\" stroke=\"#eee\"/>\
                 <text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{3}</text>",
                x(mark),
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 16.0,
                number(mark)
            )?;
        }
        let pairs: Vec<(f64, f64)> = self
            .points
            .iter()
            .map(|one| (one.cost, one.value))
            .collect();
        let best = pareto(&pairs);
        let of_front = self.points.iter().zip(&best).filter(|(_, best)| **best);
        let mut front: Vec<&Point> = of_front.map(|(point, _)| point).collect();
        front.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        let path: Vec<String> = front
            .iter()
            .map(|point| format!("{:.1},{:.1}", x(point.cost), y(point.value)))
            .collect();
        writeln!(
            f,
            "<polyline class=\"front\" points=\"{}\" fill=\"none\" stroke=\"{OURS}\" stroke-width=\"1.5\"/>",
            path.join(" ")
        )?;
        for (point, best) in self.points.iter().zip(best) {
            let colour = if best { OURS } else { PAPER };
            let (x, y) = (x(point.cost), y(point.value));
            let name = Text(&point.name);
            write!(
                f,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"><title>{name}: {} at {}</title></circle>",
                number(point.value),
                number(point.cost)
            )?;
            if best {
                // Towards the middle, so that the text stays inside.
                let (at, anchor) = match x > WIDTH / 2.0 {
                    true => (x - 7.0, "end"),
                    false => (x + 7.0, "start"),
                };
                write!(
                    f,
                    "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"9\">{name}</text>",
                    y - 6.0
                )?;
            }
            f.write_str("\n")?;
        }
        f.write_str("</svg>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_on_the_front_unless_another_is_better() {
        let points = [(1.0, 1.0), (2.0, 3.0), (3.0, 3.0), (3.0, 2.0), (4.0, 4.0)];
        assert_eq!(pareto(&points), [true, true, false, false, true]);
        // Equal points are equally good.
        assert_eq!(pareto(&[(1.0, 1.0), (1.0, 1.0)]), [true, true]);
    }

    #[test]
    fn a_circle_per_point_and_names_are_only_text() {
        let svg = Scatter::new("MiB/s", "LUT")
            .with("a < b", 100.0, 5.0)
            .with("c", 200.0, 4.0)
            .with("nothing", f64::NAN, 4.0)
            .to_string();
        assert_eq!(svg.matches("<circle").count(), 2);
        // The front's points alone are labelled; every point has a title.
        assert_eq!(svg.matches("a &lt; b").count(), 2);
        assert_eq!(svg.matches(">c").count(), 1, "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
        let none = Scatter::new("t", "b").to_string();
        assert!(none.ends_with("</svg>\n") && !none.contains("NaN"));
        let one = Scatter::new("t", "b").with("a", 0.0, 0.0).to_string();
        assert!(!one.contains("NaN") && !one.contains("inf"), "{one}");
    }
}
