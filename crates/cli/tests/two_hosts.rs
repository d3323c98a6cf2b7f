//! Do two hosts share memory, over a network that is between them and can fail?

use std::io::Write;
use std::process::{Command, Output};

/// A command in a network namespace of its own, as its root.
fn alone(user: &str, command: &[&str], folder: &std::path::Path) -> Option<Output> {
    let mut unshare = Command::new("unshare");
    let unshare = unshare.args([user, "--kill-child", "--fork"]).args(command);
    unshare.current_dir(folder).output().ok()
}

fn skipped(reason: &str) {
    let line = format!("skipped: two_hosts_share_memory: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The script is the two hosts: `tombolo serve` on one, kernels on the other by `remote:`, `net:` and libfabric, a
/// cable that is pulled.
#[test]
fn two_hosts_share_memory() {
    let folder = tempfile::tempdir().unwrap();
    let try_cable = "ip link add one type veth peer name two && nsenter --net --target $$ true";
    // A root that may not make namespaces of networks may often do so in one of users, and so may others.
    let users = ["--net", "--net --map-root-user"];
    let works = |user: &&str| {
        let words: Vec<&str> = user.split(' ').collect();
        let tried = [&words[1..], &["sh", "-c", try_cable]].concat();
        alone(words[0], &tried, folder.path()).is_some_and(|output| output.status.success())
    };
    let Some(user) = users.into_iter().find(works) else {
        return skipped("no network namespaces, or no `ip` (iproute2, util-linux)");
    };
    let mut command: Vec<&str> = user.split(' ').skip(1).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/two_hosts.sh");
    command.extend(["bash", script, env!("CARGO_BIN_EXE_tombolo")]);
    let output = alone("--net", &command, folder.path()).unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    if !output.stdout.is_empty() {
        skipped("one-sided accesses between them: no libfabric (libfabric1)");
    }
}
