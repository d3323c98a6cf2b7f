//! Deserialisation with range checks: numbers from a file or a message that the type cannot hold are rejected.

use crate::{Asid, PageSize, Stripe, VirtAddr};
use serde::Deserialize;

macro_rules! checked {
    ($($name:ident($number:ty), $new:path, $get:ident, $rule:literal;)*) => {
        $(
            impl TryFrom<$number> for $name {
                type Error = &'static str;

                fn try_from(number: $number) -> Result<Self, Self::Error> {
                    $new(number).ok_or($rule)
                }
            }

            impl From<$name> for $number {
                fn from(one: $name) -> Self {
                    one.$get()
                }
            }
        )*
    };
}

checked! {
    VirtAddr(u64), Self::new, get, "a virtual address has 48 bits";
    Asid(u8), Self::new, get, "there are 16 address spaces at most";
    PageSize(u8), Self::from_class, class, "pages are of 4 KiB to 1 GiB: classes 0 to 18";
}

/// The serialised form of a stripe.
#[derive(Deserialize)]
pub(crate) struct WrittenStripe {
    channels_log2: u8,
    granule_log2: u8,
}

impl TryFrom<WrittenStripe> for Stripe {
    type Error = &'static str;

    fn try_from(written: WrittenStripe) -> Result<Self, Self::Error> {
        let power = |log2: u8| 1u64.checked_shl(log2.into());
        match (written.channels_log2, written.granule_log2) {
            (0, 0) => Some(Self::NONE),
            (channels, granule) => power(granule)
                .zip(power(channels))
                .and_then(|(granule, channels)| Self::new(granule, channels)),
        }
        .ok_or("a stripe has granules of 64 bytes to 1 GiB, over 1 to 32 channels")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::value::{Error, U64Deserializer, U8Deserializer};
    use serde::de::IntoDeserializer;

    #[test]
    fn what_the_types_do_not_have_is_refused() {
        let address = |n: u64| {
            let number: U64Deserializer<Error> = n.into_deserializer();
            VirtAddr::deserialize(number)
        };
        assert_eq!(address(1 << 47).unwrap().get(), 1 << 47);
        assert!(address(1 << 48).is_err());
        let byte = |n: u8| -> U8Deserializer<Error> { n.into_deserializer() };
        assert_eq!(PageSize::deserialize(byte(9)).unwrap(), PageSize::MIB_2);
        assert!(PageSize::deserialize(byte(19)).is_err());
        assert!(Asid::deserialize(byte(16)).is_err());
        let stripe = |channels_log2, granule_log2| {
            Stripe::try_from(WrittenStripe {
                channels_log2,
                granule_log2,
            })
        };
        assert_eq!(stripe(0, 0), Ok(Stripe::NONE));
        assert_eq!(stripe(2, 12), Ok(Stripe::new(4096, 4).unwrap()));
        assert!(stripe(2, 5).is_err() && stripe(6, 12).is_err() && stripe(64, 64).is_err());
    }
}
