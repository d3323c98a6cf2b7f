//! Quotas, from a file: which users may use the card, and how much of it.

use serde::de::{Deserializer, Error as _};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use tombolo::serving::{Quota, Tenant};
use tombolo::{parse_bytes, Error};
use wire::{Peer, Use};

/// Minimum card memory of a space: one page of the usual size.
const LEAST_OF_SPACE: u64 = 2 << 20;

/// Why a file of quotas cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QuotasError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The text is invalid; the message gives the line.
    #[error("{path}: {source}", path = .path.display())]
    Text {
        /// The file's path.
        path: PathBuf,
        /// The parser's error, with the line.
        source: Box<toml::de::Error>,
    },
}

/// Which users may use a card, and how much of it: a user belongs to the first tenant that names it.
///
/// ```
/// use tombolo_daemon::Quotas;
///
/// let quotas = Quotas::parse("[[tenant]]\nname = 'lab'\nusers = ['root']\nslots = 2\n").unwrap();
/// assert!(quotas.admits_others());
/// assert!(Quotas::parse("[[tenant]]\nname = 'lab'\nslots = 2\n").is_err());
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotas {
    #[serde(default, deserialize_with = "tenants")]
    tenant: Vec<Arc<Entry>>,
}

/// A tenant of the file.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Text")]
pub(crate) struct Entry {
    tenant: Arc<Tenant>,
    everyone: bool,
    users: BTreeSet<u32>,
    groups: BTreeSet<u32>,
    /// Maximum concurrent clients.
    clients: Option<u64>,
    /// Maximum outstanding requests of all its clients.
    requests: Option<u64>,
    under_way: AtomicU64,
    /// Its clients may load kernels that they can modify.
    pub(crate) own_kernels: bool,
}

/// The file's syntax.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    #[serde(default)]
    users: Vec<User>,
    #[serde(default)]
    groups: Vec<Group>,
    slots: Option<Count>,
    spaces: Option<Count>,
    mappings: Option<Count>,
    card_memory: Option<Bytes>,
    build_time: Option<Count>,
    clients: Option<Count>,
    requests: Option<Count>,
    #[serde(default)]
    own_kernels: bool,
}

impl Quotas {
    /// Reads a file.
    ///
    /// # Errors
    /// See [`QuotasError`].
    pub fn load(path: &Path) -> Result<Self, QuotasError> {
        let text = std::fs::read_to_string(path).map_err(|source| QuotasError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|source| QuotasError::Text {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Parses a text.
    ///
    /// # Errors
    /// The parser's error, with the line.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Whether it admits any user.
    pub fn admits_others(&self) -> bool {
        !self.tenant.is_empty()
    }

    /// The tenant of a process.
    pub(crate) fn tenant_of(&self, peer: Peer) -> Option<&Arc<Entry>> {
        self.tenant.iter().find(|entry| entry.has(peer))
    }
}

impl Entry {
    pub(crate) fn tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }

    pub(crate) fn name(&self) -> &str {
        &self.tenant.name
    }

    /// Use of the client quota, with `used` clients.
    pub(crate) fn clients(&self, used: u64) -> Use {
        let most = self.clients;
        Use { used, most }
    }

    /// Use of the request quota.
    pub(crate) fn requests(&self) -> Use {
        Use {
            used: self.under_way.load(Ordering::Relaxed),
            most: self.requests,
        }
    }

    /// Checks that one more fits.
    ///
    /// # Errors
    /// [`Error::Quota`].
    pub(crate) fn within(&self, what: &'static str, there: Use) -> Result<(), Error> {
        match there.most {
            Some(most) if there.used >= most => Err(self.refuses(what, there.used, most)),
            _ => Ok(()),
        }
    }

    fn refuses(&self, what: &'static str, used: u64, most: u64) -> Error {
        let tenant = self.name().to_owned();
        Error::Quota {
            tenant,
            what,
            used,
            most,
        }
    }

    fn has(&self, peer: Peer) -> bool {
        self.everyone || self.users.contains(&peer.user) || self.groups.contains(&peer.group)
    }
}

/// An outstanding request of a tenant, counted until dropped.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Entry>);

impl UnderWay {
    /// Counts one more request.
    ///
    /// # Errors
    /// [`Error::Quota`].
    pub(crate) fn begin(entry: &Arc<Entry>) -> Result<Self, Error> {
        // Several connections may begin a request concurrently: a refused one must not take the others' room meanwhile.
        let most = entry.requests.unwrap_or(u64::MAX);
        let taken = entry
            .under_way
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < most).then_some(used + 1)
            });
        taken.map_err(|used| entry.refuses("requests under way", used, most))?;
        Ok(Self(entry.clone()))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TryFrom<Text> for Entry {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let name = text.name;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err("a tenant has a name, of letters that can be shown".to_owned());
        }
        if text.users.is_empty() && text.groups.is_empty() {
            return Err(format!(
                "tenant {name} names nobody: say users or groups (users = [\"*\"] is everybody)"
            ));
        }
        let quota = Quota {
            slots: text.slots.map(|count| count.0),
            spaces: text.spaces.map(|count| count.0),
            mappings: text.mappings.map(|count| count.0),
            card_bytes: text.card_memory.map(|bytes| bytes.0),
            build_seconds: text.build_time.map(|count| count.0),
        };
        if let Some(bytes) = quota.card_bytes {
            let Some(spaces) = quota.spaces else {
                return Err(format!(
                    "tenant {name} has card_memory and no spaces: the memory is divided evenly among them, so say how many \
                     there may be"
                ));
            };
            if bytes / spaces < LEAST_OF_SPACE {
                return Err(format!(
                    "tenant {name}: card_memory of {bytes} bytes for {spaces} spaces are {} each, and a space needs 2 MiB: \
                     give more memory, or fewer spaces",
                    bytes / spaces
                ));
            }
        }
        let users = text.users.iter().filter_map(|user| match user {
            User::Everyone => None,
            User::Number(number) => Some(*number),
        });
        let members = text.groups.iter().flat_map(|group| &group.members);
        Ok(Self {
            everyone: text.users.contains(&User::Everyone),
            users: users.chain(members.copied()).collect(),
            groups: text.groups.iter().map(|group| group.number).collect(),
            clients: text.clients.map(|count| count.0),
            requests: text.requests.map(|count| count.0),
            under_way: AtomicU64::new(0),
            own_kernels: text.own_kernels,
            tenant: Arc::new(Tenant { name, quota }),
        })
    }
}

/// Tenants, with unique names.
fn tenants<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Arc<Entry>>, D::Error> {
    let all = Vec::<Entry>::deserialize(from)?;
    let mut names = BTreeSet::new();
    for entry in &all {
        if !names.insert(entry.name()) {
            let rule = format!(
                "two tenants are called {}: give each its own name",
                entry.name()
            );
            return Err(D::Error::custom(rule));
        }
    }
    Ok(all.into_iter().map(Arc::new).collect())
}

/// A count of at least one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
struct Count(u64);

impl TryFrom<i64> for Count {
    type Error = String;

    fn try_from(count: i64) -> Result<Self, String> {
        match u64::try_from(count) {
            Ok(count) if count > 0 => Ok(Self(count)),
            _ => Err(format!(
                "{count}: a quota is a number from 1 on; leave it out where there is none"
            )),
        }
    }
}

/// A number, or a text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number or a text belongs here")]
enum Word {
    Number(i64),
    Text(String),
}

/// The number of an account.
fn number(word: i64) -> Result<u32, String> {
    u32::try_from(word).map_err(|_| format!("{word} is no number of a user or a group"))
}

/// A byte count, as a number or with a unit.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Word")]
struct Bytes(u64);

impl TryFrom<Word> for Bytes {
    type Error = String;

    fn try_from(word: Word) -> Result<Self, String> {
        let bytes = match &word {
            Word::Number(number) => u64::try_from(*number).ok(),
            Word::Text(text) => parse_bytes(text),
        };
        let rule = || "bytes are a number, or a text such as 512MiB or 2GiB".to_owned();
        bytes.map(Self).ok_or_else(rule)
    }
}

/// A user of this machine, or all users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Word")]
enum User {
    Everyone,
    Number(u32),
}

impl TryFrom<Word> for User {
    type Error = String;

    fn try_from(word: Word) -> Result<Self, String> {
        Ok(match word {
            Word::Text(name) if name == "*" => Self::Everyone,
            Word::Text(name) => Self::Number(number_of("/etc/passwd", &name)?),
            Word::Number(word) => Self::Number(number(word)?),
        })
    }
}

/// A group of this machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Word")]
struct Group {
    number: u32,
    /// Listed members, besides users whose primary group it is.
    members: Vec<u32>,
}

impl TryFrom<Word> for Group {
    type Error = String;

    fn try_from(word: Word) -> Result<Self, String> {
        let number = match word {
            Word::Text(name) => number_of("/etc/group", &name)?,
            Word::Number(word) => number(word)?,
        };
        let members = members_of(number);
        Ok(Self { number, members })
    }
}

/// Lines of an account file, split into fields.
fn accounts(path: &str) -> Result<Vec<Vec<String>>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let fields = |line: &str| line.split(':').map(str::to_owned).collect();
    Ok(text.lines().map(fields).collect())
}

fn number_in(fields: &[String]) -> Option<u32> {
    fields.get(2)?.parse().ok()
}

/// The number of a user or group, by name.
fn number_of(path: &str, name: &str) -> Result<u32, String> {
    let accounts = accounts(path)?;
    let mut found = accounts.iter().filter(|fields| fields[0] == name);
    found
        .find_map(|fields| number_in(fields))
        .ok_or_else(|| format!("{path} has no {name:?}; write its number if it is known elsewhere"))
}

/// Listed members of a group.
fn members_of(group: u32) -> Vec<u32> {
    let groups = accounts("/etc/group").unwrap_or_default();
    let own = groups
        .iter()
        .filter(|fields| number_in(fields) == Some(group));
    let names = own.filter_map(|fields| fields.get(3));
    let names = names
        .flat_map(|names| names.split(','))
        .filter(|name| !name.is_empty());
    // A listed name without an account cannot connect.
    names
        .filter_map(|name| number_of("/etc/passwd", name).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Quotas::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let tenant =
            |more: &str| format!("# quotas\n[[tenant]]\nname = 'a'\nusers = ['root']\n{more}\n");
        for (text, line, rule) in [
            (tenant("slots = 0"), 5, "from 1 on"),
            (tenant("slots = -1"), 5, "from 1 on"),
            (tenant("slots = 'many'"), 5, "invalid type"),
            (tenant("slot = 1"), 5, "unknown field `slot`"),
            (
                tenant("spaces = 2\ncard_memory = '1 GB'"),
                6,
                "such as 512MiB",
            ),
            (tenant("card_memory = '1GiB'"), 2, "say how many"),
            (
                tenant("spaces = 4\ncard_memory = '4MiB'"),
                2,
                "1048576 each",
            ),
            (tenant("own_kernels = 1"), 5, "invalid type"),
            (tenant("groups = [true]"), 5, "a number or a text"),
            (tenant("groups = ['no such group']"), 5, "/etc/group has no"),
            (
                "[[tenant]]\nname = 'a'\nusers = ['no such user']".into(),
                3,
                "/etc/passwd has no",
            ),
            (
                "[[tenant]]\nname = 'a'\nusers = [-1]".into(),
                3,
                "no number of a user",
            ),
            ("[[tenant]]\nname = 'a'".into(), 1, "names nobody"),
            (
                "[[tenant]]\nname = ''\nusers = ['*']".into(),
                1,
                "has a name",
            ),
            (
                "[[tenant]]\nusers = ['*']".into(),
                1,
                "missing field `name`",
            ),
            (tenant("") + &tenant(""), 2, "two tenants are called a"),
            ("[tenant]\nname = 'a'".into(), 1, "invalid type"),
            ("[[tenants]]\n".into(), 1, "unknown field"),
            ("\n\nslots".into(), 3, "expected"),
        ] {
            let told = refused(&text);
            assert!(
                told.contains(&format!("line {line},")) && told.contains(rule),
                "{text}\n{told}"
            );
        }
    }

    #[test]
    fn the_first_tenant_that_names_a_user_is_the_users() {
        let text = "
            [[tenant]]
            name = 'lab'
            users = [1000]
            groups = [77]
            slots = 2
            spaces = 4
            card_memory = '1GiB'

            [[tenant]]
            name = 'others'
            users = ['*', 'root']
            requests = 8
        ";
        let quotas = Quotas::parse(text).unwrap();
        let of = |user, group| {
            let peer = Peer {
                process: 1,
                user,
                group,
            };
            quotas.tenant_of(peer).unwrap().name().to_owned()
        };
        assert_eq!(of(1000, 1000), "lab");
        assert_eq!(of(1001, 77), "lab");
        assert_eq!(of(1001, 1001), "others");
        assert_eq!(of(0, 0), "others");
        let quota = quotas.tenant[0].tenant.quota;
        assert_eq!((quota.slots, quota.spaces), (Some(2), Some(4)));
        assert_eq!((quota.mappings, quota.card_bytes), (None, Some(1 << 30)));
        assert!(!Quotas::parse("").unwrap().admits_others());
    }
}
