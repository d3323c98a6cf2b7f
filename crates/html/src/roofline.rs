//! The rate of the run below the rates that its resources allow, as a picture.

use crate::text::Text;
use advice::{Resource, Roof, Roofline};
use std::fmt::{self, Formatter, Write};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;
/// The picture reaches from the run's reuse divided by this to the run's reuse times this.
const REACH: f64 = 16.0;

/// A logarithmic scale over a range of pixels.
struct Scale {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let share = (value / self.least).ln() / (self.most / self.least).ln();
        self.from + share * (self.to - self.from)
    }

    /// Values of one significant digit (1, 2, 5) within the scale.
    fn marks(&self) -> Vec<f64> {
        let powers = self.least.log10().floor() as i32..=self.most.log10().ceil() as i32;
        let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
        all.filter(|mark| (self.least..=self.most).contains(mark))
            .collect()
    }
}

/// A point of the picture.
#[derive(Clone, Copy)]
struct Point {
    reuse: f64,
    rate: f64,
}

/// The axes of a roofline.
struct Axes {
    reuse: Scale,
    rate: Scale,
    /// Reuse of the run; 1 if no byte crossed PCIe.
    run: f64,
}

impl Axes {
    fn of(roofline: &Roofline) -> Self {
        let run = roofline.reuse.unwrap_or(1.0);
        let highest = roofline.roofs.iter().map(|roof| roof.bytes_per_second);
        let highest = highest.fold(roofline.bytes_per_second, f64::max);
        Self {
            reuse: Scale {
                least: run / REACH,
                most: run * REACH,
                from: LEFT,
                to: WIDTH - RIGHT,
            },
            rate: Scale {
                least: roofline.bytes_per_second / REACH,
                most: highest * 1.6,
                from: HEIGHT - BOTTOM,
                to: TOP,
            },
            run,
        }
    }

    /// Both ends of a roof within the picture.
    fn line(&self, roof: &Roof) -> [Point; 2] {
        let Scale { least, most, .. } = self.reuse;
        if !roof.slanted {
            return [least, most].map(|reuse| Point {
                reuse,
                rate: roof.bytes_per_second,
            });
        }
        let per_reuse = roof.bytes_per_second / self.run;
        let from = least.max(self.rate.least / per_reuse);
        let to = most.min(self.rate.most / per_reuse);
        [from, to].map(|reuse| Point {
            reuse,
            rate: reuse * per_reuse,
        })
    }

    fn place(&self, point: Point) -> String {
        let (x, y) = (self.reuse.at(point.reuse), self.rate.at(point.rate));
        format!("{x:.1} {y:.1}")
    }
}

/// Stages on the host have one colour, and lines that are drawn differently.
fn class(resource: Resource) -> &'static str {
    match resource {
        Resource::FaultService => "service",
        Resource::Copies => "copies",
        Resource::Storage => "storage",
        other => crate::bound::class(other),
    }
}

/// A number without trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

pub(crate) fn write(roofline: &Roofline, f: &mut Formatter<'_>) -> fmt::Result {
    let axes = Axes::of(roofline);
    write!(
        f,
        "<figure class=roofline><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"roofline: {:.2} GB/s\">",
        roofline.bytes_per_second * 1e-9
    )?;
    grid(roofline, &axes, f)?;
    for roof in &roofline.roofs {
        let [from, to] = axes.line(roof);
        write!(
            f,
            "<path class={} d=\"M{}L{}\"><title>{}</title></path>",
            class(roof.resource),
            axes.place(from),
            axes.place(to),
            Text(words(roof))
        )?;
    }
    write!(
        f,
        "<circle cx={:.1} cy={:.1} r=5><title>this run: {:.2} GB/s</title></circle></svg><figcaption>",
        axes.reuse.at(axes.run),
        axes.rate.at(roofline.bytes_per_second),
        roofline.bytes_per_second * 1e-9
    )?;
    caption(roofline, f)?;
    f.write_str("</figcaption></figure>")
}

/// Marks and names of both axes.
fn grid(roofline: &Roofline, axes: &Axes, f: &mut Formatter<'_>) -> fmt::Result {
    let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut lines = String::new();
    let in_gigabytes = Scale {
        least: axes.rate.least * 1e-9,
        most: axes.rate.most * 1e-9,
        ..axes.rate
    };
    for mark in in_gigabytes.marks() {
        let y = in_gigabytes.at(mark);
        let _ = write!(lines, "M{LEFT} {y:.1}H{right}");
        write!(
            f,
            "<text x={:.1} y={:.1} text-anchor=end>{}</text>",
            LEFT - 6.0,
            y + 4.0,
            plain(mark)
        )?;
    }
    let below = match roofline.reuse {
        Some(_) => {
            for mark in axes.reuse.marks() {
                let x = axes.reuse.at(mark);
                let _ = write!(lines, "M{x:.1} {TOP}V{floor}");
                write!(
                    f,
                    "<text x={x:.1} y={:.1} text-anchor=middle>{}</text>",
                    floor + 16.0,
                    plain(mark)
                )?;
            }
            "bytes that the kernel reads and writes, for each byte over PCIe"
        }
        None => "no byte crossed PCIe",
    };
    write!(
        f,
        "<path class=grid d=\"{lines}\"/><text x={:.1} y={:.1} text-anchor=middle>{below}</text>\
         <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=middle>GB/s of the kernel</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 8.0,
        (TOP + floor) / 2.0
    )
}

fn words(roof: &Roof) -> String {
    let name = roof.resource.name();
    let rate = roof.bytes_per_second * 1e-9;
    format!("{name}: {rate:.2} GB/s at most")
}

/// A legend with the rates, and an explanation.
fn caption(roofline: &Roofline, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("<p class=legend>")?;
    for roof in &roofline.roofs {
        write!(
            f,
            "<i class={}></i>{} ",
            class(roof.resource),
            Text(words(roof))
        )?;
    }
    write!(
        f,
        "</p><p class=note>The point is this run: {:.2} GB/s read and written. A line is the rate that one resource allows if it \
         is never idle: flat, the card’s ports and memory at their peak",
        roofline.bytes_per_second * 1e-9
    )?;
    if roofline.reuse.is_some() {
        f.write_str(
            "; slanted, host and PCIe at the rate that they had while busy. A run close below a slanted line is faster if it \
             uses each page for longer while that is on the card",
        )?;
    }
    f.write_str(". Far below all of them, the run waits for one resource after the other.</p>")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Picture<'a>(&'a Roofline);

    impl fmt::Display for Picture<'_> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            write(self.0, f)
        }
    }

    fn roof(resource: Resource, bytes_per_second: f64, slanted: bool) -> Roof {
        Roof {
            resource,
            bytes_per_second,
            slanted,
        }
    }

    fn roofline() -> Roofline {
        Roofline {
            reuse: Some(2.0),
            bytes_per_second: 4e9,
            roofs: vec![
                roof(Resource::Link, 8e9, true),
                roof(Resource::Port, 16e9, false),
            ],
        }
    }

    /// The ends of the lines of one class.
    fn ends(svg: &str, class: &str) -> Vec<(f64, f64)> {
        let from = svg.split(&format!("<path class={class} d=\"M")).nth(1);
        let path = from.unwrap().split('"').next().unwrap();
        let point = |text: &str| {
            let (x, y) = text.split_once(' ').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        path.split('L').map(point).collect()
    }

    #[test]
    fn the_point_lies_below_flat_and_slanted_roofs() {
        let svg = Picture(&roofline()).to_string();
        let (link, port) = (ends(&svg, "link"), ends(&svg, "kernel"));
        let (x, y) = {
            let axes = Axes::of(&roofline());
            (axes.reuse.at(2.0), axes.rate.at(4e9))
        };
        assert!(svg.contains(&format!("<circle cx={x:.1} cy={y:.1}")));
        assert!((port[0].1 - port[1].1).abs() < 0.01 && port[0].1 < y);
        let (from, to) = (link[0], link[1]);
        assert!(from.1 > to.1 && from.0 < to.0, "{link:?}");
        // Where the run is, twice as high as the run.
        let there = from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0);
        let axes = Axes::of(&roofline());
        assert!((there - axes.rate.at(8e9)).abs() < 0.2, "{there}");
    }

    #[test]
    fn lines_stay_inside_whatever_the_rates() {
        for (reuse, low, high) in [(0.01, 1e6, 9e10), (1e6, 1e3, 1e4), (1.0, 5e9, 5e9)] {
            let svg = Picture(&Roofline {
                reuse: Some(reuse),
                bytes_per_second: low,
                roofs: vec![
                    roof(Resource::Storage, low * 1.001, true),
                    roof(Resource::CardMemory, high, false),
                ],
            })
            .to_string();
            for (x, y) in [ends(&svg, "storage"), ends(&svg, "memory")].concat() {
                assert!((LEFT - 0.1..=WIDTH - RIGHT + 0.1).contains(&x), "{x}");
                assert!((TOP - 0.1..=HEIGHT - BOTTOM + 0.1).contains(&y), "{y}");
            }
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn a_run_that_used_no_link_has_no_scale_of_reuse() {
        let svg = Picture(&Roofline {
            reuse: None,
            ..roofline()
        })
        .to_string();
        assert!(svg.contains("no byte crossed PCIe") && !svg.contains("for each byte"));
    }
}
