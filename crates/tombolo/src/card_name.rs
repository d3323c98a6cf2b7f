//! Names of cards, as programs, options and the environment give them.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// The name of a card, as [`Card::open`](crate::Card::open) takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardName {
    /// `unix:PATH`: the card of a daemon, by its socket.
    Daemon(String),
    /// `vfio:ADDRESS?card=FILE`: a card behind Linux's vfio-pci.
    Device(String),
    /// `functional`: a functional card, without RTL and time.
    Functional,
    /// A simulated card of a platform, by its name or file.
    Platform(String),
}

impl CardName {
    /// The environment variable that selects a card.
    pub const VARIABLE: &str = "TOMBOLO_CARD";

    /// The name in an environment variable; `None` if it is unset or empty.
    #[must_use]
    pub fn from_environment(variable: &str) -> Option<Self> {
        let name = std::env::var(variable).ok();
        name.as_deref()
            .filter(|name| !name.is_empty())
            .map(Self::from)
    }

    /// Whether the card exists independently of this process: it is connected to, not made.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self, Self::Daemon(_) | Self::Device(_))
    }

    /// The card that a program names, or that `TOMBOLO_CARD` names instead, unless the program's is external.
    #[must_use]
    pub fn selected(name: &str) -> Self {
        Self::from(name).unless_overridden(Self::from_environment(Self::VARIABLE))
    }

    /// Gives way to the name in the environment, unless the card is external.
    fn unless_overridden(self, environment: Option<Self>) -> Self {
        match environment {
            Some(other) if !self.is_external() => other,
            _ => self,
        }
    }
}

impl From<&str> for CardName {
    fn from(name: &str) -> Self {
        match name.split_once(':') {
            Some(("unix", path)) => Self::Daemon(path.to_owned()),
            Some(("vfio", device)) => Self::Device(device.to_owned()),
            _ if name == "functional" => Self::Functional,
            _ => Self::Platform(name.to_owned()),
        }
    }
}

/// For options of a command.
impl FromStr for CardName {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Self::from(name))
    }
}

impl fmt::Display for CardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daemon(path) => write!(f, "unix:{path}"),
            Self::Device(device) => write!(f, "vfio:{device}"),
            Self::Functional => f.write_str("functional"),
            Self::Platform(platform) => f.write_str(platform),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CardName;

    #[test]
    fn a_name_is_read_and_written_alike() {
        for (name, card) in [
            ("unix:a:b", CardName::Daemon("a:b".to_owned())),
            (
                "vfio:0000:01:00.0?card=c.toml",
                CardName::Device("0000:01:00.0?card=c.toml".to_owned()),
            ),
            ("functional", CardName::Functional),
            ("f1", CardName::Platform("f1".to_owned())),
            ("a/b:c.toml", CardName::Platform("a/b:c.toml".to_owned())),
        ] {
            assert_eq!(CardName::from(name), card);
            assert_eq!(card.to_string(), name);
        }
    }

    #[test]
    fn the_environment_names_the_card_unless_the_program_names_an_external_one() {
        let opened = |name: &str, environment: Option<&str>| {
            let environment = environment.map(CardName::from);
            CardName::from(name)
                .unless_overridden(environment)
                .to_string()
        };
        assert_eq!(opened("f1", None), "f1");
        assert_eq!(opened("functional", Some("unix:a")), "unix:a");
        assert_eq!(opened("unix:b", Some("unix:a")), "unix:b");
        assert_eq!(opened("vfio:0000:01:00.0", Some("f1")), "vfio:0000:01:00.0");
        assert_eq!(CardName::from_environment("NO_SUCH_VARIABLE"), None);
    }
}
