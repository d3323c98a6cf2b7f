//! A newcomer's first hour: messages that list the choices, values in the forms that people type, reports at their
//! destinations, completions, the manual page, the cache.

use std::path::Path;
use std::process::{Command, Output};

fn tombolo(folder: &Path, words: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder)
        .args(words)
        .env_remove("TOMBOLO_CARD")
        .output();
    command.unwrap()
}

fn refused(folder: &Path, words: &[&str]) -> String {
    let output = tombolo(folder, words);
    assert!(!output.status.success(), "{words:?} is not refused");
    String::from_utf8(output.stderr).unwrap()
}

fn printed(output: &Output) -> String {
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), vec![7; 4097]).unwrap();
    folder
}

const COPY: [&str; 8] = [
    "run",
    "copy",
    "--functional",
    "--map",
    "input=a",
    "--map",
    "output=b:new",
    "--set",
];

#[test]
fn json_on_the_standard_output_is_json_alone() {
    let folder = folder();
    let folder = folder.path();
    let output = tombolo(
        folder,
        &[&COPY[..], &["bytes=4097", "--json", "-"]].concat(),
    );
    let report: serde_json::Value = serde_json::from_str(&printed(&output)).unwrap();
    assert_eq!(report["runs"][0]["kernel"], "copy");
    // The text is not lost.
    assert!(String::from_utf8_lossy(&output.stderr).contains("kernel copy in slot 0"));
    assert!(!folder.join("-").exists());
    let output = tombolo(
        folder,
        &[&COPY[..], &["bytes=4097", "-q", "--json", "./-"]].concat(),
    );
    assert_eq!(printed(&output), "");
    assert!(folder.join("-").exists());
}

#[test]
fn messages_say_what_the_kernel_has() {
    let folder = folder();
    let folder = folder.path();
    let run = |words: &[&str]| refused(folder, &[&["run"], words, &["--functional"]].concat());
    for (words, wanted) in [
        (
            &["loopback", "--map", "input=a"][..],
            "no argument `input`; it has none, and stream ports, for --connect: in, out",
        ),
        (&["loopback", "--map", "in=a"], "`in` of kernel loopback is a stream port: use --connect in="),
        (
            &["copy", "--connect", "in=file:a"],
            "kernel copy has no stream ports: `in` cannot be connected; it has the arguments input, output, bytes",
        ),
        (&["copy", "--connect", "input=file:a"], "`input` of kernel copy is an argument: use --map input="),
        (&["copy", "--map", "inptu=a"], "it has input, output, bytes; did you mean `input`?"),
        (&["loopback", "--connect", "int=file:a"], "it has in, out; did you mean `in`?"),
        (&["aes265crt", "--map", "input=a"], "did you mean `aes256ctr`?"),
    ] {
        let said = run(words);
        assert!(said.contains(wanted), "{words:?}: {said}");
    }
    let said = refused(folder, &["serve", "64MB"]);
    assert!(
        said.contains("`64MB` is not a number of bytes; write 4096, 0x1000, 64KiB"),
        "{said}"
    );
    assert!(said.contains("nor is there a file of that name"), "{said}");
}

#[test]
fn values_are_what_they_are_written_as() {
    let folder = folder();
    let folder = folder.path();
    // `bytes` has 8 bytes: 4097 as a number, in hexadecimal, and byte by byte.
    for value in ["bytes=4097", "bytes=0x1001", "bytes=hex:0110000000000000"] {
        let output = tombolo(folder, &[&COPY[..], &[value, "-q"]].concat());
        printed(&output);
        let same =
            std::fs::read(folder.join("a")).unwrap() == std::fs::read(folder.join("b")).unwrap();
        assert!(same, "{value}");
        std::fs::remove_file(folder.join("b")).unwrap();
    }
    // transform adds to 32-bit words and rotates: -1 is 0xffffffff.
    std::fs::write(folder.join("t"), [0u8; 64]).unwrap();
    let transformed = |addend: &str| {
        std::fs::copy(folder.join("t"), folder.join("d")).unwrap();
        let words = [
            "run",
            "transform",
            "-q",
            "--functional",
            "--map",
            "data=d",
            "--set",
            "bytes=64",
        ];
        let sets = ["--set", addend, "--set", "pace=0"];
        printed(&tombolo(folder, &[&words[..], &sets].concat()));
        std::fs::read(folder.join("d")).unwrap()
    };
    assert_eq!(transformed("addend=-1"), transformed("addend=0xffffffff"));
    assert_ne!(transformed("addend=-1"), transformed("addend=1"));
    assert_eq!(
        transformed("addend=f32:1.5"),
        transformed("addend=0x3fc00000")
    );
    let said = refused(folder, &[&COPY[..], &["bytes=1.5"]].concat());
    assert!(said.contains("f32:1.5"), "{said}");
    let words = [
        "run",
        "transform",
        "--functional",
        "--map",
        "data=d",
        "--set",
        "bytes=64",
    ];
    let sets = ["--set", "addend=-2147483649", "--set", "pace=0"];
    let said = refused(folder, &[&words[..], &sets].concat());
    assert!(
        said.contains("-2147483649 is out of range: it has 4 bytes"),
        "{said}"
    );
}

#[test]
fn a_folder_that_hides_a_kernel_is_reported() {
    let folder = folder();
    let folder = folder.path();
    // Neither an installed kernel nor a folder without a kernel causes the note.
    std::fs::create_dir(folder.join("copy")).unwrap();
    let run = [&COPY[..], &["bytes=4097", "-q"]].concat();
    let output = tombolo(folder, &run);
    printed(&output);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    printed(&tombolo(folder, &["kernel", "new", "sum"]));
    let output = tombolo(folder, &["kernel", "list", "sum"]);
    printed(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("note: kernel sum is the folder ./sum here; the one that comes"),
        "{said}"
    );
    // The list of all is that of the library.
    let all = printed(&tombolo(folder, &["kernel", "list"]));
    assert!(all.contains("adds up 64-bit words in eight lanes"), "{all}");
}

#[test]
fn completions_know_commands_options_and_kernels() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&tombolo(folder.path(), &["completions", shell]));
        for word in ["diff", "deadline"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // The generator gives fish no values of words without an option.
        assert_eq!(script.contains("aes256ctr"), shell != "fish", "{shell}");
    }
    // The completion in bash, where it is installed.
    let script = printed(&tombolo(folder.path(), &["completions", "bash"]));
    std::fs::write(folder.path().join("c"), script).unwrap();
    let asked = "source ./c; COMP_WORDS=(tombolo run aes256); COMP_CWORD=2; _tombolo tombolo aes256 run; echo ${COMPREPLY[@]}";
    let bash = Command::new("bash")
        .current_dir(folder.path())
        .args(["-c", asked])
        .output();
    let bash = bash.unwrap();
    let said = String::from_utf8_lossy(&bash.stdout);
    assert!(
        said.split_whitespace().any(|word| word == "aes256ctr"),
        "{said} {bash:?}"
    );
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = folder();
    let page = printed(&tombolo(folder.path(), &["man"]));
    assert!(page.contains(".TH tombolo 1"), "{page}");
    printed(&tombolo(folder.path(), &["man", "--into", "."]));
    for name in [
        "tombolo.1",
        "tombolo-run.1",
        "tombolo-kernel-list.1",
        "tombolo-diff.1",
    ] {
        let page = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(!folder.path().join("tombolo-help.1").exists());
    let said = refused(folder.path(), &["man", "--into", "absent"]);
    assert!(said.contains("absent/tombolo.1: No such file"), "{said}");
}

#[test]
fn the_cache_is_listed_measured_and_cleared() {
    let folder = folder();
    let models = folder.path().join("cache/models");
    let cache = |words: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_tombolo"))
            .arg("cache")
            .args(words)
            .env("TOMBOLO_CACHE", folder.path().join("cache"))
            .output();
        command.unwrap()
    };
    assert!(printed(&cache(&["list"])).starts_with("0 models, 0.0 MB, in "));
    for name in ["0123", "4567", "89ab.tmp12", "89ab.build-cdef-0"] {
        std::fs::create_dir_all(models.join(name).join("deep")).unwrap();
        std::fs::write(models.join(name).join("deep/model.so"), vec![1; 100_000]).unwrap();
    }
    let list = printed(&cache(&["list"]));
    assert!(
        list.contains("0123 ") && list.contains("0.1 MB  unused for 0 days"),
        "{list}"
    );
    assert!(printed(&cache(&["size"])).starts_with("2 models, 0.2 MB, in "));
    // Nothing of these is old.
    assert!(printed(&cache(&["clear", "--unused-for", "1"])).starts_with("removed 0 models"));
    // A process that builds or loads a model holds its lock.
    let lock = std::fs::File::create(models.join("4567.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let output = cache(&["clear"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("1 are being built or loaded right now")
    );
    assert!(!models.join("0123").exists() && models.join("4567/deep/model.so").exists());
    drop(lock);
    assert!(printed(&cache(&["clear"])).starts_with("removed 1 models"));
    for name in ["89ab.tmp12", "89ab.build-cdef-0"] {
        assert!(models.join(name).exists(), "somebody makes it");
    }
}

#[test]
fn a_configuration_file_sets_defaults_and_the_command_line_wins() {
    let folder = folder();
    let folder = folder.path();
    let config = folder.join("tombolo/config.toml");
    std::fs::create_dir(config.parent().unwrap()).unwrap();
    let run = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tombolo"))
            .current_dir(folder)
            .args(words)
            .env_remove("TOMBOLO_CARD")
            .env_remove("TOMBOLO_CONFIG")
            .env("XDG_CONFIG_HOME", folder)
            .output()
            .unwrap()
    };
    let copy = [
        "run",
        "copy",
        "--map",
        "input=a",
        "--map",
        "output=b:new",
        "--set",
        "bytes=4097",
    ];
    std::fs::write(&config, "[run]\nfunctional = true\njson = \"r.json\"\n").unwrap();
    let output = run(&copy);
    assert!(printed(&output).contains("a functional card"), "{output:?}");
    let report = std::fs::read_to_string(folder.join("r.json")).unwrap();
    assert!(report.contains("\"copy\""));
    assert_eq!(
        std::fs::read(folder.join("a")).unwrap(),
        std::fs::read(folder.join("b")).unwrap()
    );
    let output = run(&[&copy[..], &["--json", "s.json"]].concat());
    assert!(output.status.success() && folder.join("s.json").exists());
    // An error in the command line names the additions of the file; help does not depend on it.
    let output = run(&["run", "copy", "--no-such"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("config.toml adds --functional, --json"),
        "{said}"
    );
    std::fs::write(&config, "[run]\nplatfrom = \"f1\"\n").unwrap();
    let said = String::from_utf8(run(&copy).stderr).unwrap();
    assert!(said.contains("did you mean `platform`?"), "{said}");
    assert!(run(&["run", "--help"]).status.success());
}
