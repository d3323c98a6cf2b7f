//! `tombolo device`: what it refuses, and what a host at its socket finds.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use vfio_user::Client;

fn tombolo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    command
        .arg("device")
        .args(arguments)
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn refused(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = tombolo(arguments).output().unwrap();
    assert!(!status.success(), "{arguments:?}");
    String::from_utf8(stderr).unwrap()
}

/// A child that does not outlive the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connect(socket: &Path) -> Client {
    let limit = Instant::now() + Duration::from_secs(300);
    loop {
        match Client::new(socket) {
            Ok(client) => return client,
            Err(error) => assert!(Instant::now() < limit, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_cannot_be_served_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let (file, free) = (file.to_str().unwrap(), folder.path().join("free"));
    let free = free.to_str().unwrap();
    for (arguments, said) in [
        (vec!["--slot", "0=copy"], "--socket"),
        (vec!["--socket", free, "--slot", "copy"], "SLOT=KERNEL"),
        (
            vec!["--socket", free, "--slot", "0=nothing-like-it"],
            "nothing-like-it",
        ),
        (
            vec!["--socket", free, "--slot", "0=copy", "--slot", "0=copy"],
            "slot 0",
        ),
        (vec!["--socket", free, "--slot", "9=copy"], "slot 9"),
        (vec!["--socket", free, "--slot", "0=loopback"], "loopback"),
        (vec!["--socket", file, "--slot", "0=copy"], "file"),
    ] {
        let text = refused(&arguments);
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "precious");
}

#[test]
fn a_host_finds_the_shell_and_the_device_ends_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, card) = (
        folder.path().join("socket"),
        folder.path().join("card.toml"),
    );
    // As if an earlier one had been killed.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let arguments = [
        "--once",
        "--slot",
        "0=copy",
        "--socket",
        socket.to_str().unwrap(),
        "--card",
        card.to_str().unwrap(),
    ];
    let mut served = Served(tombolo(&arguments).stdout(Stdio::null()).spawn().unwrap());
    let mut client = connect(&socket);
    let mut word = [0; 4];
    client.region_read(0, 0, &mut word).unwrap();
    assert_eq!(u32::from_le_bytes(word), card::registers::ID_MAGIC);
    // An unused register, and one outside the BAR.
    client.region_read(0, (2 << 20) + 8, &mut word).unwrap();
    assert_eq!(word, [0xff; 4]);
    let text = std::fs::read_to_string(&card).unwrap();
    assert!(text.contains("channel_bytes"), "{text}");
    drop(client);
    assert!(served.0.wait().unwrap().success());
    assert!(!socket.exists());
}
