//! Pictures: areas over time, bars, ticks.

use std::fmt::{self, Formatter, Write};
use units::Picoseconds;

/// Time intervals in a picture.
pub(crate) const PARTS: usize = 320;

/// Shares of 0 to 1 as an area, `PARTS` wide and 100 high. Very small shares are drawn large enough to be seen.
pub(crate) fn area(shares: &[f64]) -> String {
    let mut path = String::from("M0 100");
    let mut last = 100;
    for (place, share) in shares.iter().enumerate() {
        let height = match *share {
            s if s <= 0.0 => 0,
            s => ((s * 100.0).round() as u32).clamp(4, 100),
        };
        let y = 100 - height;
        if y != last {
            let _ = write!(path, "H{place}V{y}");
            last = y;
        }
    }
    let _ = write!(path, "H{}V100Z", shares.len());
    path
}

/// Shares for the script: two base-36 digits each, in thousandths.
pub(crate) fn encoded(shares: &[f64]) -> String {
    let digit = |value: u32| char::from_digit(value % 36, 36).unwrap_or('0');
    shares
        .iter()
        .flat_map(|share| {
            let value = (share * 1000.0).round().clamp(0.0, 1000.0) as u32;
            [digit(value / 36), digit(value)]
        })
        .collect()
}

/// Round times within the range, few enough to be readable.
pub(crate) fn ticks(end: Picoseconds, most: u64) -> Vec<Picoseconds> {
    let end = end.get();
    let least = end.div_ceil(most.max(1)).max(1);
    let mut power = 1u64;
    let step = loop {
        let found = [1, 2, 5].into_iter().map(|n| power.saturating_mul(n));
        match found.into_iter().find(|step| *step >= least) {
            Some(step) => break step,
            None => power = power.saturating_mul(10),
        }
    };
    (0..=end / step)
        .map(|number| Picoseconds::new(number * step))
        .collect()
}

/// A time without trailing digits.
pub(crate) fn short(time: Picoseconds) -> String {
    if time == Picoseconds::ZERO {
        return "0".to_owned();
    }
    let text = time.to_string();
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// The ticks of a picture from 0 at its left edge to `end` at its right edge.
pub(crate) fn axis(f: &mut Formatter<'_>, end: Picoseconds) -> fmt::Result {
    f.write_str("<div class=axis aria-hidden=true>")?;
    let ticks = ticks(end, 6);
    for (number, tick) in ticks.iter().enumerate() {
        let place = 100.0 * tick.get() as f64 / end.get().max(1) as f64;
        let class = match (number, place) {
            (0, _) => "first",
            (_, place) if place > 95.0 => "last",
            (number, _) if number % 2 == 1 => "odd",
            _ => "even",
        };
        write!(
            f,
            "<span class={class} style=\"left:{place:.2}%\">{}</span>",
            short(*tick)
        )?;
    }
    f.write_str("</div>")
}

/// One part of a bar.
pub(crate) struct Part {
    pub(crate) class: &'static str,
    pub(crate) name: &'static str,
    pub(crate) share: f64,
}

/// A stacked bar; each part shows its name under the pointer.
pub(crate) fn bar(f: &mut Formatter<'_>, parts: &[Part]) -> fmt::Result {
    f.write_str("<div class=bar>")?;
    let mut rest: f64 = 1.0;
    for part in parts {
        let share = part.share.min(rest);
        rest -= share;
        if share > 0.0 {
            write!(
                f,
                "<i class={} style=\"width:{:.2}%\" title=\"{}: {}\"></i>",
                part.class,
                share * 100.0,
                part.name,
                crate::text::percent(part.share)
            )?;
        }
    }
    f.write_str("</div>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for end in [1, 7, 99, 12_345, 1_000_000, 98_765_432_109, u64::MAX / 2] {
            let found = ticks(Picoseconds::new(end), 6);
            assert!(found.len() <= 7, "{end}: {found:?}");
            assert!(found.len() >= 2, "{end}: {found:?}");
            assert!(found.iter().all(|tick| tick.get() <= end));
        }
        assert_eq!(ticks(Picoseconds::ZERO, 6).len(), 1);
        assert_eq!(short(Picoseconds::from_micros(20)), "20 µs");
        assert_eq!(short(Picoseconds::new(1_500)), "1.5 ns");
        assert_eq!(short(Picoseconds::new(100)), "100 ps");
    }

    #[test]
    fn areas_say_only_what_changes() {
        assert_eq!(area(&[0.0, 0.5, 0.5, 1.0]), "M0 100H1V50H3V0H4V100Z");
        assert_eq!(area(&[0.001]), "M0 100H0V96H1V100Z");
        assert_eq!(encoded(&[0.0, 0.5, 1.0]), "00dwrs");
    }
}
