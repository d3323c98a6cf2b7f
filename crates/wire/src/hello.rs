//! Handshake of a connection: the protocol versions of both sides.

use crate::ClientId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of the messages.
///
/// Another major version means incompatible messages. A higher minor version adds messages and optional fields. A
/// daemon therefore serves clients of older minor versions and refuses newer ones: it would silently ignore fields that
/// it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Major version: counts incompatible changes.
    pub major: u16,
    /// Minor version: counts compatible additions.
    pub minor: u16,
}

impl Version {
    /// Version of this library.
    pub const THIS: Self = Self { major: 1, minor: 3 };

    /// Checks whether a daemon of this version serves a client of another version.
    ///
    /// # Errors
    /// It does not; the error names the remedy.
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

/// The daemon does not serve the client's version.
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
    /// Version of the daemon.
    pub daemon: Version,
    /// Version of the client.
    pub client: Version,
}

/// First message of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the client.
    pub version: Version,
    /// Name of the program, for display.
    pub program: String,
}

/// Response of a daemon to a [`Hello`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// Version of the daemon.
    pub version: Version,
    /// Identifier given to the client.
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
