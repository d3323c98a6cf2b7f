//! Do programs that know nothing but FSRF's socket get the right bytes, alone, side by side, and after others that were killed?
//! They are compiled here against a client of the documented messages; on the functional card, and on RTL.

mod common;

use common::{compile, compiled, run, tool_is_here, Served, Which, BOTH};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use tombolo_fsrf::Header;

/// Bytes that are not the same anywhere.
fn bytes(count: usize, seed: u32) -> Vec<u8> {
    (0..count as u32)
        .map(|n| (n.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 11) as u8)
        .collect()
}

#[test]
fn kernels_of_hls_are_driven_one_and_two_at_a_time() {
    let hls = compile("hls");
    for which in BOTH {
        let served = Served::new(which, &[(0, "copy"), (7, "copy")]);
        for size in [1, 64, 4095, 4096, 70_001] {
            let from = served.file("in", &bytes(size, 1));
            let to = served.file("out", &vec![0xee; size]);
            run(served
                .program(&hls)
                .args(["0", "1", "0"])
                .arg(&from)
                .arg(&to));
            assert!(fs::read(&to).unwrap() == bytes(size, 1), "{which:?} {size}");
        }
        // Two processes at once.
        let programs = [(0u32, "0"), (1, "7")].map(|(seed, app)| {
            let from = served.file(&format!("in{app}"), &bytes(40_000, seed + 5));
            let to = served.file(&format!("out{app}"), &[0; 40_000]);
            let mut program = served.program(&hls);
            program.args([app, "1", "0"]).arg(&from).arg(&to);
            (program.spawn().unwrap(), to, seed)
        });
        for (mut program, to, seed) in programs {
            assert!(program.wait().unwrap().success());
            assert!(
                fs::read(&to).unwrap() == bytes(40_000, seed + 5),
                "{which:?}"
            );
        }
        served.is_quiet();
    }
}

#[test]
fn programs_of_both_headers_are_served_each_by_its_layout() {
    let programs = [Header::Main, Header::Stream].map(|header| (header, compiled("hls", header)));
    for served_as in [Header::Main, Header::Stream] {
        let served = Served::of(served_as, &[(3, "copy")]);
        for (header, program) in &programs {
            let from = served.file("in", &bytes(5000, 9));
            let to = served.file("out", &[0; 5000]);
            let mut program = served.program(program);
            program.args(["3", "1", "0"]).args([&from, &to]);
            if *header == served_as {
                run(&mut program);
                assert!(fs::read(&to).unwrap() == bytes(5000, 9), "{header:?}");
                served.is_quiet();
                continue;
            }
            // Built with the other header: this is reported, and the server does not wait for the program.
            assert!(!program.output().unwrap().status.success(), "{header:?}");
            served.at_rest();
            let told = served.notices();
            assert!(!told.is_empty(), "{header:?}");
            assert!(fs::read(&to).unwrap() == [0; 5000]);
        }
    }
}

#[test]
fn a_digest_is_that_of_the_system() {
    let hls = compile("hls");
    let served = Served::new(Which::Functional, &[(1, "md5")]);
    let text = bytes(10_007, 2);
    let from = served.file("text", &text);
    let to = served.file("digest", &[0; 16]);
    run(served
        .program(&hls)
        .args(["1", "1", "1"])
        .arg(&from)
        .arg(&to));
    let judged = run(Command::new("md5sum").arg(&from));
    let digest: String = fs::read(&to)
        .unwrap()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert!(judged.starts_with(&digest), "{digest}, and {judged}");
    served.is_quiet();
}

#[test]
fn one_process_uses_several_applications() {
    let hls = compile("hls");
    let served = Served::new(Which::Functional, &[(0, "copy"), (1, "copy"), (2, "copy")]);
    let mut program = served.program(&hls);
    program.args(["0", "3", "0"]);
    for number in 0..3 {
        program.arg(served.file(&format!("in{number}"), &bytes(5000, number)));
    }
    let outputs = [0, 1, 2].map(|number| served.file(&format!("out{number}"), &[0; 5000]));
    run(program.args(&outputs));
    for (number, output) in (0..).zip(&outputs) {
        assert!(fs::read(output).unwrap() == bytes(5000, number));
    }
    served.is_quiet();
}

#[test]
fn a_register_that_does_not_change_between_two_reads_is_the_end_of_the_work() {
    let engine = compile("engine");
    let served = Served::new(Which::Rtl, &[(0, "dma_engine"), (1, "copy")]);
    for size in [64, 30_016] {
        let from = served.file("in", &bytes(size, 3));
        let to = served.file("out", &vec![0; size]);
        run(served.program(&engine).arg("0").args([&from, &to]));
        assert!(fs::read(&to).unwrap() == bytes(size, 3), "{size}");
    }
    served.is_quiet();
}

#[test]
fn a_program_that_is_killed_leaves_the_application_to_the_next() {
    let (endless, hls) = (compile("endless"), compile("hls"));
    for which in BOTH {
        let served = Served::new(which, &[(0, "gups"), (1, "copy")]);
        let before = served.held();
        for _ in 0..2 {
            let table = served.file("table", &[1; 32 << 10]);
            let mut victim = served.program(&endless);
            let mut victim = victim
                .arg("0")
                .arg(&table)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = [0; 9];
            std::io::Read::read_exact(victim.stdout.as_mut().unwrap(), &mut said).unwrap();
            // Another process finds the application taken.
            let other = served
                .program(&endless)
                .arg("0")
                .arg(&table)
                .output()
                .unwrap();
            assert_eq!(other.status.code(), Some(3));
            let told = served.notices();
            assert!(
                told.contains(&format!("process {} uses it", victim.id())),
                "{told}"
            );
            // One on another application works meanwhile.
            let from = served.file("in", &bytes(9000, 4));
            let to = served.file("out", &[0; 9000]);
            run(served
                .program(&hls)
                .args(["1", "1", "0"])
                .arg(&from)
                .arg(&to));
            assert!(fs::read(&to).unwrap() == bytes(9000, 4));
            victim.kill().unwrap();
            victim.wait().unwrap();
            served.at_rest();
            // The kernel's writes are in the file.
            assert!(fs::read(&table).unwrap() != vec![1; 32 << 10]);
            // A kill may fall between a message's kind and its body, which are two sends.
            let within = format!("process {}: it ended within a message", victim.id());
            let told = served.notices();
            assert!(told.is_empty() || told == within, "{told}");
        }
        served.assert_held(before);
    }
}

#[test]
fn a_server_that_stops_writes_back_and_ends_its_programs() {
    let endless = compile("endless");
    let mut served = Served::new(Which::Functional, &[(0, "gups")]);
    let table = served.file("table", &[1; 32 << 10]);
    let mut victim = served.program(&endless);
    victim.arg("0").arg(&table).stdout(Stdio::piped());
    let mut victim = victim.spawn().unwrap();
    let mut said = [0; 9];
    std::io::Read::read_exact(victim.stdout.as_mut().unwrap(), &mut said).unwrap();
    served.stop();
    assert_eq!(victim.wait().unwrap().code(), Some(3));
    assert!(fs::read(&table).unwrap() != vec![1; 32 << 10]);
    assert!(!served.path("socket").exists());
    assert_eq!(served.notices(), "");
}

#[test]
fn what_cannot_be_is_answered_or_reported() {
    let mistakes = compile("mistakes");
    for which in BOTH {
        let served = Served::new(which, &[(0, "copy")]);
        let file = served.file("file", &bytes(8192, 1));
        for (mistake, answer, told) in [
            ("missing", "-1", "missing: opening it: No such file"),
            ("close twice", "6", "is no descriptor"),
            ("length", "MAP_FAILED", "a length of 0"),
            ("offset", "MAP_FAILED", "no multiple of 4096"),
            ("too long", "MAP_FAILED", "file"),
            ("private", "MAP_FAILED", "MAP_PRIVATE"),
            ("anonymous", "MAP_FAILED", "MAP_ANONYMOUS"),
            ("no rights", "MAP_FAILED", "neither read nor write"),
            ("descriptor", "MAP_FAILED", "is no descriptor"),
            ("fixed", "MAP_FAILED", "48 bits"),
            (
                "nothing mapped",
                "0",
                "nothing is mapped in 64 bytes from 0x1000000",
            ),
            // These end the connection: the program learns no number that means nothing.
            (
                "app",
                "",
                "application 9, which there is not: applications are 0",
            ),
            ("register", "", "register 0xfffc"),
            ("address", "", "a read at 0x000000123000 failed"),
        ] {
            let file = match mistake {
                "missing" => served.path("missing"),
                _ => file.clone(),
            };
            let app = if mistake == "app" { "9" } else { "0" };
            let output = served
                .program(&mistakes)
                .arg(mistake)
                .arg(&file)
                .arg(app)
                .output()
                .unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            assert_eq!(said.trim(), answer, "{which:?}: {mistake}");
            let code = if answer.is_empty() { 3 } else { 0 };
            assert_eq!(output.status.code(), Some(code), "{which:?}: {mistake}");
            served.at_rest();
            let notices = served.notices();
            assert!(notices.contains(told), "{which:?}: {mistake}: {notices}");
        }
    }
}

/// Skips a test that needs the superuser.
fn is_superuser(test: &str) -> bool {
    let is = rustix::process::geteuid().is_root();
    if !is {
        common::skip(test, "only the superuser can start programs of others");
    }
    is
}

#[test]
fn a_file_that_may_only_be_read_is_not_mapped_writable() {
    if is_superuser("a_file_that_may_only_be_read_is_not_mapped_writable") {
        // Root may write every file but a program that is running.
        let served = Served::new(Which::Functional, &[(0, "copy")]);
        let mistakes = compile("mistakes");
        let output = served
            .program(&mistakes)
            .arg("writable")
            .arg(&mistakes)
            .arg("0")
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().trim(),
            "MAP_FAILED"
        );
        return;
    }
    let served = Served::new(Which::Functional, &[(0, "copy")]);
    let file = served.file("file", &[1; 64]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    let mistakes = compile("mistakes");
    let output = served
        .program(&mistakes)
        .arg("writable")
        .arg(&file)
        .arg("0")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        "MAP_FAILED"
    );
}

#[test]
fn who_reaches_less_than_the_daemon_is_refused() {
    if !is_superuser("who_reaches_less_than_the_daemon_is_refused") {
        return;
    }
    let served = Served::new(Which::Functional, &[(0, "copy")]);
    let mistakes = compile("mistakes");
    let file = served.file("file", &[1; 64]);
    // Only its user can connect at all; here others can try.
    for path in [served.folder.path().to_owned(), served.path("socket")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    for (how, told) in [
        (
            &["setpriv", "--reuid", "65534", "--clear-groups"][..],
            "it is user 65534",
        ),
        (
            &["setpriv", "--regid", "12345", "--clear-groups"],
            "(a group)",
        ),
        (
            &[
                "setpriv",
                "--bounding-set",
                "-chown",
                "--inh-caps",
                "-chown",
            ],
            "(a capability)",
        ),
        (&["unshare", "--mount"], "another mount namespace"),
        (&["chroot", "/proc/self/root/usr/.."], ""),
    ] {
        if !tool_is_here(how) {
            common::skip(
                "who_reaches_less_than_the_daemon_is_refused",
                &how.join(" "),
            );
            continue;
        }
        let mut command = Command::new(how[0]);
        command
            .args(&how[1..])
            .arg(&mistakes)
            .env("AOS_SOCKET", served.path("socket"));
        let output = command
            .arg("nothing mapped")
            .arg(&file)
            .arg("0")
            .output()
            .unwrap();
        let notices = served.notices();
        match told {
            // The same place by another name.
            "" => assert_eq!(output.status.code(), Some(0), "{how:?}: {notices}"),
            told => {
                assert_eq!(output.status.code(), Some(3), "{how:?}: {notices}");
                assert!(notices.contains(told), "{how:?}: {notices}");
            }
        }
    }
}
