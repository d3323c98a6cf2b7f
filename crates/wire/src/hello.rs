//! The first words over a socket: who speaks which version.

use crate::ClientId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of the messages.
///
/// Another major number means other messages. A higher minor number knows more of them, and more fields that may be left
/// out; so a client of an older minor version is served, and a newer one is refused: what it asked for in a field that the
/// daemon does not know would be lost in silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Of the messages as a whole.
    pub major: u16,
    /// Of additions.
    pub minor: u16,
}

impl Version {
    /// What this library speaks.
    pub const THIS: Self = Self { major: 1, minor: 2 };

    /// Whether a daemon of this version serves a client of another.
    ///
    /// # Errors
    /// It does not; with what to do.
    pub fn serves(self, client: Self) -> Result<(), VersionError> {
        match client.major == self.major && client.minor <= self.minor {
            true => Ok(()),
            false => Err(VersionError {
                daemon: self,
                client,
            }),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A client that a daemon does not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the daemon speaks version {daemon}, this program {client}: {}",
    if client.major > daemon.major || client.major == daemon.major && client.minor > daemon.minor {
        "start the daemon of the newer version"
    } else {
        "link the program with the newer library"
    }
)]
pub struct VersionError {
    /// The daemon's.
    pub daemon: Version,
    /// The client's.
    pub client: Version,
}

/// What a client says first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What it speaks.
    pub version: Version,
    /// What it is called, for people.
    pub program: String,
}

/// What a daemon answers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// What it speaks.
    pub version: Version,
    /// Who the client is.
    pub client: ClientId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_minor_versions_are_served_and_others_refused_by_name() {
        let version = |major, minor| Version { major, minor };
        let daemon = version(2, 3);
        for client in [version(2, 3), version(2, 0)] {
            assert_eq!(daemon.serves(client), Ok(()));
        }
        let told = |client| daemon.serves(client).unwrap_err().to_string();
        assert!(told(version(2, 4)).contains("start the daemon of the newer"));
        assert!(told(version(3, 0)).contains("start the daemon of the newer"));
        assert!(told(version(1, 9)).contains("link the program with the newer"));
    }
}
