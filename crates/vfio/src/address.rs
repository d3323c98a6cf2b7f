//! PCI addresses.

use std::fmt;
use std::str::FromStr;

/// A PCI address, such as `0000:01:00.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PciAddress {
    domain: u16,
    bus: u8,
    device: u8,
    function: u8,
}

/// Malformed PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no PCI address: `lspci -D` prints them, such as 0000:01:00.0")]
pub struct PciAddressError(String);

impl FromStr for PciAddress {
    type Err = PciAddressError;

    fn from_str(text: &str) -> Result<Self, PciAddressError> {
        let parse = || {
            let (domain, rest) = text.split_once(':')?;
            let (bus, rest) = rest.split_once(':')?;
            let (device, function) = rest.split_once('.')?;
            let digits = |part: &str, most: usize| {
                let hex = part.len() <= most && part.bytes().all(|byte| byte.is_ascii_hexdigit());
                hex.then(|| u16::from_str_radix(part, 16).ok()).flatten()
            };
            let narrow = |part, most, end: u16| digits(part, most).filter(|&number| number < end);
            Some(Self {
                domain: digits(domain, 4)?,
                bus: narrow(bus, 2, 256)? as u8,
                device: narrow(device, 2, 32)? as u8,
                function: narrow(function, 1, 8)? as u8,
            })
        };
        parse().ok_or_else(|| PciAddressError(text.to_owned()))
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for good in ["0000:01:00.0", "ffff:ff:1f.7"] {
            assert_eq!(good.parse::<PciAddress>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            "01:00.0",
            "0000:01:20.0",
            "0000:01:00.8",
            "0000:01:00",
            "0000:+1:00.0",
            "../:0:0.0",
        ] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
    }
}
