//! Byte counts as text: one syntax for the command, devices and servers.

/// Parses a byte count: decimal, or hexadecimal after `0x`, optionally followed by a binary unit: `KiB`, `MiB`, `GiB`,
/// or `K`, `M`, `G` for the same. Signs, blanks, fractions and values above 2^64 - 1 are rejected.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let units = [
        ("KiB", 10),
        ("MiB", 20),
        ("GiB", 30),
        ("K", 10),
        ("M", 20),
        ("G", 30),
    ];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
        .unwrap_or((text, 0));
    let (digits, radix) = match number.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // Rust's own parser accepts a sign.
    let all_digits = digits.chars().all(|digit| digit.is_digit(radix));
    let number = u64::from_str_radix(digits, radix).ok();
    number.filter(|_| all_digits)?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn numbers_and_units() {
        for (text, bytes) in [
            ("0", 0),
            ("64", 64),
            ("0x40", 64),
            ("0xABcd", 0xabcd),
            ("64KiB", 64 << 10),
            ("64K", 64 << 10),
            ("3M", 3 << 20),
            ("0x10MiB", 16 << 20),
            ("1GiB", 1 << 30),
            ("18446744073709551615", u64::MAX),
            ("0xffffffffffffffff", u64::MAX),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for wrong in [
            "",
            "K",
            "KiB",
            "0x",
            "+5",
            "-5",
            "0x+5",
            " 5",
            "5 ",
            "5 KiB",
            "5KB",
            "5kib",
            "1.5K",
            "1e3",
            "5KK",
            "0X5",
            "5KiBK",
            "18446744073709551616",
            "0x1ffffffffffffffff",
            "17179869184G",
            "five",
            "٣",
        ] {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
    }
}
