//! Access check for this socket: a process may use the card if it can itself reach every file that this process would
//! open for it.
//!
//! The protocol sends paths, not descriptors, so this process opens files on behalf of others. It must not lend them
//! privileges: the other process must have this process's user, all of its groups and capabilities, and see the same
//! files.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Why a process is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the system does not say who connected: {0}")]
    Unknown(io::Error),
    #[error("it is user {theirs}, and this daemon serves user {ours}: start one of your own")]
    User { theirs: u32, ours: u32 },
    #[error("what the system says of it cannot be read ({what}: {source}), so it might see other files than this daemon")]
    Hidden { what: String, source: io::Error },
    #[error("it has another {0} than this daemon, and might see other files: start both in the same container")]
    Elsewhere(&'static str),
    #[error("this daemon has rights that it has not ({0}), and would lend them to it: start the daemon with the rights of its programs")]
    Rights(&'static str),
}

/// Properties that decide which files a process reaches.
#[derive(Debug)]
struct Reach {
    groups: BTreeSet<u32>,
    capabilities: u64,
}

/// The process at the other end, if it may use the card.
pub(crate) fn admit(socket: &UnixStream) -> Result<u32, Refused> {
    let peer = wire::peer_of(socket).map_err(Refused::Unknown)?;
    let ours = rustix::process::geteuid().as_raw();
    if peer.user != ours {
        return Err(Refused::User {
            theirs: peer.user,
            ours,
        });
    }
    if peer.process == std::process::id() {
        return Ok(peer.process);
    }
    for (what, name) in [
        ("ns/mnt", "mount namespace"),
        ("ns/user", "user namespace"),
        ("root", "root directory"),
    ] {
        if place(&peer.process.to_string(), what)? != place("self", what)? {
            return Err(Refused::Elsewhere(name));
        }
    }
    let (theirs, own) = (reach(&peer.process.to_string())?, reach("self")?);
    if !own.groups.is_subset(&theirs.groups) {
        return Err(Refused::Rights("a group"));
    }
    if own.capabilities & !theirs.capabilities != 0 {
        return Err(Refused::Rights("a capability"));
    }
    Ok(peer.process)
}

fn hidden(path: PathBuf) -> impl FnOnce(io::Error) -> Refused {
    move |source| Refused::Hidden {
        what: path.display().to_string(),
        source,
    }
}

/// Device and inode of the target of a /proc link.
fn place(process: &str, what: &str) -> Result<(u64, u64), Refused> {
    use std::os::unix::fs::MetadataExt;
    let path = PathBuf::from(format!("/proc/{process}/{what}"));
    let found = path.metadata().map_err(hidden(path))?;
    Ok((found.dev(), found.ino()))
}

fn reach(process: &str) -> Result<Reach, Refused> {
    let path = PathBuf::from(format!("/proc/{process}/status"));
    let text = std::fs::read_to_string(&path).map_err(hidden(path.clone()))?;
    parse(&text).ok_or_else(|| {
        let rule = "it has no Gid, Groups or CapEff";
        hidden(path)(io::Error::new(io::ErrorKind::InvalidData, rule))
    })
}

/// Parses /proc/PID/status.
fn parse(text: &str) -> Option<Reach> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let numbers = |line: &str| {
        let words = line.split_whitespace();
        words
            .map(|word| word.parse().ok())
            .collect::<Option<Vec<u32>>>()
    };
    let mut groups: BTreeSet<u32> = numbers(line("Groups:")?)?.into_iter().collect();
    // Real, effective, saved, file system: the last one decides.
    groups.insert(*numbers(line("Gid:")?)?.get(3)?);
    let capabilities = u64::from_str_radix(line("CapEff:")?.trim(), 16).ok()?;
    Some(Reach {
        groups,
        capabilities,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_of_a_process_is_read() {
        let text = "Name:\ta\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t10 20 \nCapEff:\t000001ffffffffff\n";
        let found = parse(text).unwrap();
        assert_eq!(found.groups, BTreeSet::from([8, 10, 20]));
        assert_eq!(found.capabilities, 0x1ff_ffff_ffff);
        assert!(parse("Gid:\t5\t6\t7\t8\nCapEff:\t0\n").is_none());
        assert!(parse("Gid:\t5\nGroups:\t\nCapEff:\t0\n").is_none());
        assert!(reach("self").is_ok());
    }
}
