//! Do C and C++ programs compile without a warning, and get the right bytes and errors? Built as a stranger
//! builds them, from an installed library; with gcc and clang, under their address and undefined-behaviour
//! sanitizers.

#[path = "common/installed.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod installed;
#[path = "../../tombolo/tests/common/liar.rs"]
mod liar;
#[path = "../../tombolo/tests/common/odd_kernel.rs"]
mod odd_kernel;

use daemon::Daemon;
use installed::{compilers, here, run, skip, Installed, GCC};
use liar::{liar, GOOD, WRONG_KEY};
use odd_kernel::odd_kernel;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use tombolo::{Card, CardName, FunctionalCard, FunctionalConfig};

impl Installed {
    /// Runs an example on a file; what it made.
    fn example(&self, program: &Path, kernel: &str, input: &[u8]) -> Vec<u8> {
        let (from, to) = (self.path("in"), self.path("out"));
        fs::write(&from, input).unwrap();
        let _ = fs::remove_file(&to);
        run(Command::new(program)
            .arg(self.kernel(kernel))
            .arg(&from)
            .arg(&to));
        fs::read(&to).unwrap()
    }
}

fn noise(count: usize) -> Vec<u8> {
    (0..count as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8)
        .collect()
}

#[test]
fn c_and_cpp_programs_work() {
    let installed = Installed::new();
    let input = noise(3_000_001);
    let mut ciphers = Vec::new();
    for compilers in compilers("c_and_cpp_programs_work") {
        for (source, sanitized) in [
            ("examples/copy.cpp", true),
            ("examples/fsrf.c", true),
            ("examples/fsrf.c", false),
        ] {
            let program = installed.compile(compilers, source, sanitized);
            let output = installed.example(&program, "copy", &input);
            assert!(output == input, "{source}");
        }
        let program = installed.compile(compilers, "examples/shared_map.cpp", true);
        run(Command::new(program).arg(installed.kernel("list_sum")));
        let program = installed.compile(compilers, "examples/direct.c", true);
        let told = run(Command::new(program).arg(installed.kernel("copy")));
        let told = String::from_utf8_lossy(&told.stdout);
        assert!(told.contains("direct: "), "{told}");
        let program = installed.compile(compilers, "examples/rpc.c", true);
        run(Command::new(program).arg(installed.kernel("rpc")));
        let program = installed.compile(compilers, "examples/write_buffer.cpp", true);
        run(Command::new(program).arg(installed.kernel("rpc")));
        // Its kernel needs a shell of its own: below.
        installed.compile(compilers, "examples/rpc_lines.c", true);
        let program = installed.compile(compilers, "examples/encrypt.c", true);
        ciphers.push(installed.example(&program, "aes256ctr", &input));
    }
    let key: String = (0..32).map(|byte| format!("{byte:02x}")).collect();
    let iv: String = (0xf0..=0xff).map(|byte| format!("{byte:02x}")).collect();
    let judge = run(Command::new("openssl")
        .args(["enc", "-aes-256-ctr", "-K", &key, "-iv", &iv, "-in"])
        .arg(installed.path("in")));
    for cipher in ciphers {
        assert!(cipher == judge.stdout);
    }
}

#[test]
#[ignore = "deep: builds the model of a directory of two slices"]
fn calls_of_many_lines_get_right_answers() {
    let installed = Installed::new();
    for source in ["tests/rpc_lines.cpp", "examples/rpc_lines.c"] {
        let program = installed.compile(GCC, source, true);
        run(Command::new(program).arg(installed.kernel("rpc_lines")));
    }
}

#[test]
fn bad_input_gets_errors() {
    let installed = Installed::new();
    for compilers in compilers("bad_input_gets_errors") {
        let program = installed.compile(compilers, "tests/bad_input.c", true);
        // The program makes it.
        let _ = fs::remove_file(installed.path("file"));
        run(Command::new(&program)
            .arg(installed.kernel("copy"))
            // It makes the file, which must not be there before.
            .arg(installed.path(&format!("made with {}", compilers.c))));
        let program = installed.compile(compilers, "tests/spaces.cpp", true);
        run(Command::new(&program)
            .arg(installed.kernel("copy"))
            .arg(installed.path("small")));
    }
}

#[test]
fn files_that_others_have_too_lose_nothing() {
    let installed = Installed::new();
    for compilers in compilers("files_that_others_have_too_lose_nothing") {
        let program = installed.compile(compilers, "tests/files.c", true);
        run(Command::new(&program)
            .arg(installed.kernel("copy"))
            .arg(installed.folder.path()));
    }
}

#[test]
fn cards_have_names() {
    let installed = Installed::new();
    for compilers in compilers("cards_have_names") {
        let program = installed.compile(compilers, "tests/named.c", true);
        run(Command::new(&program)
            .env_remove("TOMBOLO_CARD")
            .arg(installed.kernel("copy"))
            .arg(installed.folder.path()));
    }
}

#[test]
fn cmake_finds_the_package() {
    if Command::new("cmake").arg("--version").output().is_err() {
        let reason = "cmake is not installed (apt-get install cmake)";
        return skip("cmake_finds_the_package", reason);
    }
    let installed = Installed::new();
    let folder = TempDir::new().unwrap();
    let examples = here().join("examples");
    let project = format!(
        "cmake_minimum_required(VERSION 3.16)\n\
         project(stranger LANGUAGES C CXX)\n\
         set(CMAKE_CXX_STANDARD 17)\n\
         find_package(Tombolo {} REQUIRED)\n\
         add_executable(shared {examples}/copy.cpp)\n\
         target_link_libraries(shared PRIVATE Tombolo::tombolo)\n\
         add_executable(static {examples}/fsrf.c)\n\
         target_link_libraries(static PRIVATE Tombolo::tombolo_static)\n\
         file(WRITE ${{CMAKE_BINARY_DIR}}/kernels \"${{Tombolo_KERNELS}}\")\n",
        env!("CARGO_PKG_VERSION"),
        examples = examples.display()
    );
    fs::write(folder.path().join("CMakeLists.txt"), project).unwrap();
    let build = folder.path().join("build");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", installed.folder.path().display());
    run(Command::new("cmake")
        .arg("-S")
        .arg(folder.path())
        .arg("-B")
        .arg(&build)
        .arg(&prefix));
    run(Command::new("cmake").arg("--build").arg(&build));
    let kernels = fs::read_to_string(build.join("kernels")).unwrap();
    assert!(Path::new(&kernels).join("copy/kernel.toml").is_file());
    let input = noise(100_001);
    for program in ["shared", "static"] {
        let output = installed.example(&build.join(program), "copy", &input);
        assert!(output == input, "{program}");
    }
    // A version that is not there is refused.
    let newer = fs::read_to_string(folder.path().join("CMakeLists.txt")).unwrap();
    let asked = concat!("Tombolo ", env!("CARGO_PKG_VERSION"));
    fs::write(
        folder.path().join("CMakeLists.txt"),
        newer.replace(asked, "Tombolo 99"),
    )
    .unwrap();
    let refused = Command::new("cmake")
        .arg("-S")
        .arg(folder.path())
        .arg("-B")
        .arg(folder.path().join("other"))
        .arg(&prefix)
        .output()
        .unwrap();
    assert!(!refused.status.success());
}

/// Everything of `vfpio.h` in C, on the card that a variable of the environment names.
fn vfpio_works(installed: &Installed, (variable, card): (&str, &str)) {
    let program = installed.compile(GCC, "tests/vfpio.c", true);
    let (from, to) = (installed.path("in"), installed.path("out"));
    let input = noise(5000);
    fs::write(&from, &input).unwrap();
    let odd = [None, Some(12)].map(|width| {
        let folder = installed.path(&format!("odd{width:?}"));
        odd_kernel(&folder, width);
        folder
    });
    let mut command = Command::new(&program);
    command
        .env(variable, card)
        .arg(installed.kernel("loopback"));
    run(command.arg(&from).arg(&to).args(odd));
    assert!(fs::read(&to).unwrap() == input);
}

/// Listing 2 of vFPIO's paper, and everything of `vfpio.h` in C.
#[test]
fn vfpio_programs_work() {
    let installed = Installed::new();
    let functional = |program: &Path| {
        let mut command = Command::new(program);
        command
            .env("TOMBOLO_VFPIO_CARD", "functional")
            .arg(installed.kernel("loopback"));
        command
    };
    let listing = installed.compile(GCC, "examples/vfpio_listing2.cpp", true);
    run(&mut functional(&listing));
    let export = tombolo::Export::memory(200_000).unwrap();
    let server = tombolo::RemoteServer::listen(export, "127.0.0.1:0").unwrap();
    let address = server.address().to_string();
    let patience = std::time::Duration::from_secs(20);
    let mut peer = tombolo::RemoteMemory::connect(&address, patience).unwrap();
    let bytes = noise(200_000);
    peer.write(0, &bytes).unwrap();
    run(functional(&listing).arg(&address));
    let mut got = vec![0; bytes.len()];
    peer.read(0, &mut got).unwrap();
    assert!(got[..50_000] == bytes[..50_000] && got[51_000..] == bytes[51_000..]);
    assert!(got[50_000..51_000] == bytes[..1000]);
    vfpio_works(&installed, ("TOMBOLO_VFPIO_CARD", "functional"));
}

/// Everything of `vfpio.h` on a daemon's card; then several programs on one at once, whose slots the daemon chooses.
#[test]
fn vfpio_programs_share_the_card_of_a_daemon() {
    let installed = Installed::new();
    let daemon = |slots, spaces, socket: &Path| {
        let config = FunctionalConfig {
            slots,
            spaces,
            queues: slots + 1,
            streams_per_slot: 2,
            ..FunctionalConfig::default()
        };
        let card = Card::functional(FunctionalCard::new(config)).unwrap();
        let name = format!("unix:{}", socket.display());
        (Daemon::listen(card, socket).unwrap(), name)
    };
    let (alone, card) = daemon(4, 2, &installed.path("alone"));
    vfpio_works(&installed, (CardName::VARIABLE, &card));
    alone.stop();

    let (many, card) = daemon(6, 4, &installed.path("many"));
    let listing = installed.compile(GCC, "examples/vfpio_listing2.cpp", true);
    let arguments = installed.compile(GCC, "tests/vfpio_arguments.c", true);
    let programs = [(&listing, "loopback"), (&arguments, "sha3")];
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for (program, kernel) in programs.iter().cycle().take(4) {
                let mut command = Command::new(program);
                command.env("TOMBOLO_VFPIO_CARD", &card);
                command.arg(installed.kernel(kernel));
                scope.spawn(move || run(&mut command));
            }
        });
    }
    many.stop();
}

/// On both kinds of card.
#[test]
fn vfpio_kernels_have_arguments() {
    let installed = Installed::new();
    let program = installed.compile(GCC, "tests/vfpio_arguments.c", true);
    for card in ["functional", "u280"] {
        let mut command = Command::new(&program);
        command.env("TOMBOLO_VFPIO_CARD", card);
        run(command.arg(installed.kernel("sha3")));
    }
}

/// `RDMA_MEM`: peers that lie, a card without an interface, and one with it.
#[test]
fn peers_of_vfpio_programs() {
    let installed = Installed::new();
    let program = installed.compile(GCC, "tests/vfpio_peer.c", true);
    let play = |card: &str, address: &str, how: &str| {
        let kernel = installed.kernel("loopback");
        let mut command = Command::new(&program);
        command.env("TOMBOLO_VFPIO_CARD", card);
        run(command.arg(kernel).args([address, how]));
    };
    play("functional", &liar(None), "nobody");
    play("functional", &liar(Some((GOOD, 11))), "a reply of 11 bytes");
    let key = "the key is of another connection";
    play("functional", &liar(Some((WRONG_KEY, 0))), key);

    let export = tombolo::Export::memory(200_000).unwrap();
    let server = tombolo::RemoteServer::listen(export, "127.0.0.1:0").unwrap();
    let address = server.address().to_string();
    let patience = std::time::Duration::from_secs(20);
    let mut peer = tombolo::RemoteMemory::connect(&address, patience).unwrap();
    let mut bytes = noise(200_000);
    peer.write(0, &bytes).unwrap();
    play("functional", &address, "stuck");
    bytes.copy_within(..100, 100_000);
    bytes.copy_within(1000..1200, 100_500);
    let network = format!("net:{address}");
    play("functional", &network, "alone");
    play("u280", &network, "works");
    bytes.copy_within(7..90_008, 100_050);
    let mut got = vec![0; bytes.len()];
    peer.read(0, &mut got).unwrap();
    assert!(got == bytes);
}

#[test]
fn pkg_config_names_what_is_there() {
    let installed = Installed::new();
    let text = fs::read_to_string(installed.path("lib/pkgconfig/tombolo.pc")).unwrap();
    // Relative to the file, so that the folder may be moved.
    assert!(text.contains("prefix=${pcfiledir}/../..\n"), "{text}");
    let prefix = installed.path("lib/pkgconfig/../..");
    for variable in ["libdir", "includedir", "kernels"] {
        let start = format!("{variable}=${{prefix}}/");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        assert!(prefix.join(line.unwrap()).is_dir(), "{variable}");
    }
    assert!(text.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"))));
    // A folder with a blank in its name is one word of what pkg-config prints.
    let words = text.split_whitespace();
    let folders = words.filter_map(|word| word.strip_prefix("-I").or(word.strip_prefix("-L")));
    let folders: Vec<&str> = folders.collect();
    assert_eq!(folders, [r#""${libdir}""#, r#""${includedir}""#], "{text}");
}

#[test]
fn handles_may_end_with_the_process() {
    let installed = Installed::new();
    let input = noise(4096);
    for sanitized in [true, false] {
        let program = installed.compile(GCC, "tests/guest_exit.cpp", sanitized);
        assert!(installed.example(&program, "copy", &input) == input);
    }
}

#[test]
fn cards_leave_nothing_behind() {
    let installed = Installed::new();
    let file = installed.path("file");
    fs::write(&file, noise(4096)).unwrap();
    for compilers in compilers("cards_leave_nothing_behind") {
        // With the leak sanitizer.
        let program = installed.compile(compilers, "tests/guest_leaks.c", true);
        let told = run(Command::new(&program)
            .arg(installed.kernel("copy"))
            .arg(&file)
            .arg("125"));
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.starts_with("0 descriptors, 0 threads, "), "{told}");
    }
}

#[test]
fn signals_are_the_programs() {
    let installed = Installed::new();
    let pipe = installed.path("pipe");
    run(Command::new("mkfifo").arg(&pipe));
    let program = installed.compile(GCC, "tests/guest_signals.c", false);
    for way in 0..3 {
        for micros in [100, 1000] {
            let told = run(Command::new(&program)
                .arg(installed.kernel("copy"))
                .arg(format!("pipe:{}", pipe.display()))
                .args([way, micros, 20].map(|number| number.to_string())));
            let told = String::from_utf8_lossy(&told.stdout).into_owned();
            let right = "handled, 0 on other threads, 0 wrong runs, 1 terms";
            assert!(told.contains(right), "{told}");
        }
    }
}
