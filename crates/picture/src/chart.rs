//! Values over steps, as lines or as bars.

use crate::{Text, OURS, PAPER};
use std::fmt::{self, Display, Formatter};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 48.0;
/// Colours of our lines, from the first to the last; neighbours differ in lightness.
const COLOURS: [&str; 6] = [
    "#0b5fa5", "#5aa9dd", "#23857b", "#7cc6a4", "#6d55b5", "#b39ddb",
];
const DASHED: &str = " stroke-dasharray=\"5 3\"";

/// One line, or the bars of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    name: String,
    values: Vec<Option<f64>>,
    paper: bool,
}

impl Series {
    /// Our measurements; a missing value leaves a gap.
    pub fn ours(name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self {
            name: name.into(),
            values: values.into_iter().collect(),
            paper: false,
        }
    }

    /// Values printed in a paper: another colour, and dashed.
    pub fn paper(name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self {
            paper: true,
            ..Self::ours(name, values)
        }
    }

    /// The values that a scale can show.
    fn drawn(&self, logarithmic: bool) -> impl Iterator<Item = (usize, f64)> + '_ {
        let values = self.values.iter().enumerate();
        values
            .filter_map(|(place, value)| Some((place, (*value)?)))
            .filter(move |(_, value)| value.is_finite() && (!logarithmic || *value > 0.0))
    }
}

/// Both ends of a scale.
#[derive(Clone, Copy, Debug)]
struct Ends {
    least: f64,
    most: f64,
}

/// A chart of values over named steps; write it with [`Display`].
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    title: String,
    below: String,
    steps: Vec<String>,
    series: Vec<Series>,
    bars: bool,
    logarithmic: bool,
}

impl Chart {
    /// Lines from step to step. `title`: the meaning of the values; `below`: that of the steps.
    pub fn lines(title: impl Into<String>, below: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            below: below.into(),
            steps: Vec::new(),
            series: Vec::new(),
            bars: false,
            logarithmic: false,
        }
    }

    /// Grouped bars at each step.
    pub fn bars(title: impl Into<String>, below: impl Into<String>) -> Self {
        Self {
            bars: true,
            ..Self::lines(title, below)
        }
    }

    /// Sets the names of the steps.
    #[must_use]
    pub fn at<T: Into<String>>(mut self, steps: impl IntoIterator<Item = T>) -> Self {
        self.steps = steps.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a line, or a bar at each step.
    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Uses a logarithmic scale; values that are not above 0 are omitted.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.logarithmic = true;
        self
    }

    /// Both ends of the scale.
    fn ends(&self) -> Ends {
        let values = self
            .series
            .iter()
            .flat_map(|one| one.drawn(self.logarithmic))
            .map(|(_, value)| value);
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        let (least, most) = match (least.is_finite(), self.logarithmic) {
            (false, true) => (1.0, 10.0),
            (false, false) => (0.0, 1.0),
            (true, true) => {
                let least = 10f64.powf(least.log10().floor());
                let most = 10f64.powf(most.log10().ceil());
                (least, if most > least { most } else { least * 10.0 })
            }
            (true, false) => {
                let (least, most) = (least.min(0.0), most.max(0.0));
                (least, if most > least { most } else { least + 1.0 })
            }
        };
        Ends { least, most }
    }

    /// Round values on the scale.
    fn marks(&self, Ends { least, most }: Ends) -> Vec<f64> {
        if self.logarithmic {
            let (first, last) = (least.log10().round() as i32, most.log10().round() as i32);
            return (first..=last).map(|power| 10f64.powi(power)).collect();
        }
        let step = rounded_step(most - least);
        let first = (least / step).ceil() as i64;
        let last = (most / step).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }

    fn height(&self, Ends { least, most }: Ends, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value / least).ln() / (most / least).ln(),
            false => (value - least) / (most - least),
        };
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    fn colour(&self, place: usize) -> &'static str {
        if self.series[place].paper {
            return PAPER;
        }
        let ours = self.series[..place].iter().filter(|one| !one.paper).count();
        match self.series.iter().filter(|one| !one.paper).count() {
            1 => OURS,
            _ => COLOURS[ours % COLOURS.len()],
        }
    }

    fn draw_line(&self, f: &mut Formatter<'_>, place: usize, ends: Ends) -> fmt::Result {
        let pitch = (WIDTH - LEFT - RIGHT) / self.steps.len().max(1) as f64;
        let colour = self.colour(place);
        let series = &self.series[place];
        let points: Vec<(f64, f64, f64)> = series
            .drawn(self.logarithmic)
            .map(|(step, value)| {
                let x = LEFT + (step as f64 + 0.5) * pitch;
                (x, self.height(ends, value), value)
            })
            .collect();
        let path: Vec<String> = points
            .iter()
            .map(|(x, y, _)| format!("{x:.1},{y:.1}"))
            .collect();
        let dashed = if series.paper { DASHED } else { "" };
        writeln!(
            f,
            "<polyline class=\"{}\" points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashed}/>",
            class(series),
            path.join(" ")
        )?;
        for (x, y, value) in points {
            writeln!(
                f,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"><title>{}: {}</title></circle>",
                Text(&series.name),
                number(value)
            )?;
        }
        Ok(())
    }

    fn draw_bars(&self, f: &mut Formatter<'_>, place: usize, ends: Ends) -> fmt::Result {
        let pitch = (WIDTH - LEFT - RIGHT) / self.steps.len().max(1) as f64;
        let width = pitch * 0.8 / self.series.len().max(1) as f64;
        let colour = self.colour(place);
        let series = &self.series[place];
        let ground = self.height(ends, if self.logarithmic { ends.least } else { 0.0 });
        for (step, value) in series.drawn(self.logarithmic) {
            let x = LEFT + (step as f64 + 0.1) * pitch + place as f64 * width;
            let y = self.height(ends, value);
            writeln!(
                f,
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{}: \
                 {}</title></rect><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"9\">{}</text>",
                class(series),
                y.min(ground),
                width * 0.92,
                (ground - y).abs(),
                Text(&series.name),
                number(value),
                x + width * 0.46,
                y.min(ground) - 3.0,
                number(value)
            )?;
        }
        Ok(())
    }
}

/// A round distance that divides a span into at most six.
pub(crate) fn rounded_step(span: f64) -> f64 {
    let power = 10f64.powf((span / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    let step = steps.into_iter().find(|step| span / step <= 6.0);
    step.unwrap_or(span)
}

fn class(series: &Series) -> &'static str {
    match series.paper {
        true => "paper",
        false => "ours",
    }
}

/// A number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        size => (2.0 - size.log10().floor()) as usize,
    };
    format!("{value:.digits$}")
}

impl Display for Chart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ends = self.ends();
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"12\" y=\"22\" font-size=\"14\">{}</text>",
            Text(&self.title)
        )?;
        let right = WIDTH - RIGHT;
        for mark in self.marks(ends) {
            let y = self.height(ends, mark);
            writeln!(
                f,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                number(mark)
            )?;
        }
        let pitch = (right - LEFT) / self.steps.len().max(1) as f64;
        for (place, step) in self.steps.iter().enumerate() {
            writeln!(
                f,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                LEFT + (place as f64 + 0.5) * pitch,
                HEIGHT - BOTTOM + 16.0,
                Text(step)
            )?;
        }
        writeln!(
            f,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 10.0,
            Text(&self.below)
        )?;
        for (place, series) in self.series.iter().enumerate() {
            match self.bars {
                true => self.draw_bars(f, place, ends)?,
                false => self.draw_line(f, place, ends)?,
            }
            let y = TOP + 6.0 + 18.0 * place as f64;
            let dashed = if series.paper { DASHED } else { "" };
            writeln!(
                f,
                "<line x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"{}\" stroke-width=\"3\"{dashed}/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                right + 12.0,
                right + 34.0,
                self.colour(place),
                right + 40.0,
                y + 4.0,
                Text(&series.name)
            )?;
        }
        f.write_str("</svg>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        Chart::lines("time < all", "size")
            .at(["2", "4", "8"])
            .with(Series::ours("a & b", [Some(1.0), Some(10.0), Some(250.0)]))
            .with(Series::paper("theirs", [None, Some(20.0), None]))
    }

    /// For each point, its distance from the top.
    fn heights(svg: &str) -> Vec<f64> {
        let circles = svg.split("cy=\"").skip(1);
        let ends = circles.map(|rest| rest.split('"').next().unwrap());
        ends.map(|y| y.parse().unwrap()).collect()
    }

    #[test]
    fn a_point_for_each_value_that_is_there_and_words_are_only_words() {
        let svg = chart().to_string();
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("class=\"paper\"").count(), 1);
        assert!(svg.contains("time &lt; all") && svg.contains("a &amp; b"));
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    }

    #[test]
    fn larger_values_are_higher_and_inside() {
        for chart in [chart(), chart().logarithmic()] {
            let found = heights(&chart.to_string());
            assert!(found[0] > found[1] && found[1] > found[2], "{found:?}");
            assert!(found[3] < found[1] && found[3] > found[2], "{found:?}");
            for y in found {
                assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{y}");
            }
        }
    }

    #[test]
    fn a_scale_of_tens_has_the_same_step_for_each() {
        let chart = Chart::lines("t", "s")
            .at(["a", "b", "c"])
            .with(Series::ours("x", [Some(1.0), Some(10.0), Some(100.0)]))
            .logarithmic();
        let found = heights(&chart.to_string());
        assert!((found[0] - 2.0 * found[1] + found[2]).abs() < 0.2);
    }

    #[test]
    fn bars_have_their_values_and_nothing_is_drawn_of_nothing() {
        let bars = Chart::bars("shares", "pages")
            .at(["32k", "2m"])
            .with(Series::ours("ours", [Some(0.5), Some(-0.25)]))
            .with(Series::paper("paper", [Some(0.25), Some(f64::NAN)]))
            .to_string();
        assert_eq!(bars.matches("<rect class").count(), 3);
        assert!(
            bars.contains(">0.50<") && bars.contains(">-0.25<"),
            "{bars}"
        );
        let none = Chart::lines("t", "s").logarithmic().to_string();
        assert!(
            none.ends_with("</svg>\n") && !none.contains("NaN"),
            "{none}"
        );
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.0123, 0.5, 13.3, 1234.5].map(number);
        assert_eq!(shown, ["0", "0.0123", "0.50", "13.3", "1234"]);
    }
}
