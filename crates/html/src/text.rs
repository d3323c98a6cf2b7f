//! Formatting of text and numbers.

pub(crate) use picture::Text;
use std::fmt::Write;
use units::Picoseconds;

/// A file name in a link: all bytes but letters, digits and `/._-` are percent-encoded.
pub(crate) fn link(name: &str) -> String {
    let mut link = String::new();
    // A colon in the first part would be taken for a scheme.
    if !name.starts_with('/') {
        link.push_str("./");
    }
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                link.push(char::from(byte));
            }
            _ => {
                let _ = write!(link, "%{byte:02X}");
            }
        }
    }
    link
}

/// JSON inside `<script>`: `<` occurs only in strings.
pub(crate) fn json(text: &str) -> String {
    text.replace('<', "\\u003c")
}

pub(crate) use tombolo::report::bytes;

/// A rate; empty without virtual time.
pub(crate) fn rate(count: u64, time: Picoseconds) -> String {
    match time.get() {
        0 => String::new(),
        _ => format!("{:.2} GB/s", count as f64 / time.as_seconds() * 1e-9),
    }
}

/// A count, with thin spaces between groups of three.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A ratio from 0 to 1.
pub(crate) fn share(part: f64, all: f64) -> f64 {
    match all > 0.0 {
        true => (part / all).clamp(0.0, 1.0),
        false => 0.0,
    }
}

/// A ratio of two times, 0 to 1.
pub(crate) fn of_time(part: Picoseconds, all: Picoseconds) -> f64 {
    share(part.get() as f64, all.get() as f64)
}

/// A ratio in per cent.
pub(crate) fn percent(share: f64) -> String {
    match share {
        s if s <= 0.0 => "0 %".to_owned(),
        s if s < 0.001 => "&lt; 0.1 %".to_owned(),
        s if s < 0.0995 => format!("{:.1} %", s * 100.0),
        s => format!("{:.0} %", s * 100.0),
    }
}

/// A count with its noun, singular or plural.
pub(crate) fn plural(number: u64, one: &str, several: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {several}", count(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_name_ends_no_script_and_no_link() {
        let hostile = "</script><img src=x onerror='a' b=\"c\">&\0\x1b";
        assert!(!json(hostile).contains('<'));
        assert_eq!(link("javascript:x"), "./javascript%3Ax");
        assert_eq!(link("/a b/\"ä"), "/a%20b/%22%C3%A4");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(count(1), "1");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        let shown = [0.0, 0.0004, 0.012, 0.0999, 0.5, 1.0].map(percent);
        assert_eq!(
            shown,
            ["0 %", "&lt; 0.1 %", "1.2 %", "10 %", "50 %", "100 %"]
        );
        assert_eq!(plural(1, "fault", "faults"), "1 fault");
        assert_eq!(share(1.0, 0.0), 0.0);
        assert_eq!(rate(5, Picoseconds::ZERO), "");
    }
}
