//! Does the command say what is wrong, in one line, and exit accordingly?

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn tombolo(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command.current_dir(folder).args(words).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in"), vec![5; 10_000]).unwrap();
    fs::write(folder.path().join("empty"), b"").unwrap();
    folder
}

const COPY: [&str; 7] = [
    "run",
    "copy",
    "--functional",
    "--quiet",
    "--set",
    "bytes=size(input)",
    "--map",
];

fn copy<'a>(words: &[&'a str]) -> Vec<&'a str> {
    COPY.iter().copied().chain(words.iter().copied()).collect()
}

#[test]
fn a_good_run_copies_and_reports() {
    let folder = folder();
    let words = copy(&[
        "input=in",
        "--map",
        "output=out:new",
        "--json",
        "report.json",
    ]);
    let output = tombolo(folder.path(), &words);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(fs::read(folder.path().join("out")).unwrap() == vec![5; 10_000]);
    let json = fs::read(folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(report["runs"][0]["kernel"], "copy");
    assert_eq!(report["paging"]["bytes_written"], 10_000);
    assert_eq!(report["units"]["bytes, *_bytes, bytes_*"], "bytes");
    for time in [
        &report["time"],
        &report["units"]["time"],
        &report["runs"][0]["time"],
    ] {
        assert!(time.is_null(), "the functional card has none: {time}");
    }
}

#[test]
fn bad_input_is_named_in_one_line() {
    let folder = folder();
    let new = "output=out:new";
    let cases: [(&[&str], &str); 8] = [
        (
            &["input=missing", "--map", new],
            "missing: opening it for reading",
        ),
        (
            &["input=in", "--map", "output=missing"],
            "to create it, append :new to its name",
        ),
        (&["input=empty", "--map", new], "empty: the file is empty"),
        (&["input=in@10000", "--map", new], "past the end"),
        (
            &["input=in"],
            "argument `output` of kernel copy is not given (where it goes; aligned to 64); \
             for example --map output=output.bin:new",
        ),
        (
            &["input=in", "--map", "inpt=in"],
            "no argument `inpt`; it has input, output, bytes",
        ),
        (
            &["input=in", "--map", "bytes=in"],
            "`bytes` is not a pointer",
        ),
        (&["input=in", "--map", new, "--map", new], "given twice"),
    ];
    for (words, expected) in cases {
        let output = tombolo(folder.path(), &copy(words));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(
            said.starts_with("tombolo: error: ") && said.contains(expected),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_direct_file_stays_in_host_memory() {
    let folder = folder();
    let words = ["input=in:direct", "--map", "output=out:direct:new"];
    let words = [&copy(&words)[..], &["--json", "report.json"]].concat();
    let output = tombolo(folder.path(), &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(fs::read(folder.path().join("out")).unwrap() == vec![5; 10_000]);
    let json = fs::read(folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(report["paging"]["direct"]["pages"], 2);
    assert_eq!(report["paging"]["direct"]["pages_written"], 1);

    // Automatic sizes are for pages that move; a shell that was asked for is as it is.
    for (words, expected) in [
        (
            &["input=in:direct:page=auto", "--map", "output=b:new"][..],
            "have one size",
        ),
        (
            &[
                "input=in:direct",
                "--map",
                "output=b:new",
                "--preset",
                "fsrf",
            ],
            "omit --preset",
        ),
    ] {
        let functional = |word: &&str| !words.contains(&"--preset") || *word != "--functional";
        let words: Vec<&str> = copy(words).into_iter().filter(functional).collect();
        let output = tombolo(folder.path(), &words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains(expected) && said.lines().count() == 1,
            "{said}"
        );
        assert!(!folder.path().join("b").exists());
    }
}

#[test]
fn a_stream_is_mapped_at_addresses() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    for name in ["from", "to"] {
        let made = Command::new("mkfifo").arg(path(name)).status();
        assert!(made.unwrap().success());
    }
    let (from, to) = (path("from"), path("to"));
    let writer = std::thread::spawn(move || fs::write(from, vec![7; 9_999]).unwrap());
    let reader = std::thread::spawn(move || fs::read(to).unwrap());
    let output = tombolo(
        folder.path(),
        &copy(&["input=pipe:from@0+9999", "--map", "output=pipe:to@0+9999"]),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    writer.join().unwrap();
    assert!(reader.join().unwrap() == vec![7; 9_999]);

    let cases: [(&str, &str); 4] = [
        ("input=pipe:from", "append the number of bytes to map"),
        ("input=pipe:from@5+9", "append the number of bytes to map"),
        ("input=pipe:from:new", "a stream cannot be created"),
        ("input=pipe:in@0+9", "write file:PATH"),
    ];
    for (word, expected) in cases {
        let output = tombolo(folder.path(), &copy(&[word, "--map", "output=b:new=9"]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(expected), "{word}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!path("b").exists());
    }
}

#[test]
fn an_unknown_kernel_lists_those_there_are() {
    let folder = folder();
    let output = tombolo(folder.path(), &["run", "cpoy"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("no kernel `cpoy`")
            && said.contains("aes256ctr, ")
            && said.contains(" copy, "),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_kernel_is_checked_by_the_name_that_runs_it() {
    let folder = folder();
    let output = tombolo(folder.path(), &["kernel", "check", "copy"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.starts_with("kernel copy: manifest and RTL agree"),
        "{told}"
    );
    let output = tombolo(folder.path(), &["kernel", "build", "cpoy"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("no kernel `cpoy`"), "{told}");
}

#[test]
fn wrong_words_are_usage_errors() {
    let folder = folder();
    let output = tombolo(folder.path(), &["run", "copy", "--map", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has no `=`"));
    let help = tombolo(folder.path(), &["run", "--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("Examples:"));
}

#[test]
fn a_mistyped_option_of_a_file_is_named() {
    let folder = folder();
    for (word, named) in [("input=in:hott", "`:hott`"), ("input=in@x", "`@x`")] {
        let output = tombolo(folder.path(), &copy(&[word, "--map", "output=b:new=9"]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(named) && said.lines().count() == 1, "{said}");
        assert!(said.contains(":hot"), "{said}");
    }
    // Where no such file is there, nothing is guessed.
    let output = tombolo(
        folder.path(),
        &copy(&["input=no:hott", "--map", "output=b:new=9"]),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("no option"), "{said}");
}

#[test]
fn advice_and_presets_that_cannot_be_are_refused() {
    let folder = folder();
    let run = |words: &[&str]| {
        let words = [
            "run",
            "copy",
            "--set",
            "bytes=size(input)",
            "--map",
            "output=b:new",
        ]
        .iter()
        .chain(words);
        let output = tombolo(folder.path(), &words.copied().collect::<Vec<_>>());
        assert!(!output.status.success() && !folder.path().join("b").exists());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for words in ["stream+random", "reuse+lowuse"] {
        let said = run(&["--map", &format!("input=in:advice={words}")]);
        assert!(said.contains("exclude each other"), "{said}");
    }
    for (words, told) in [
        (&["--preset", "coyote"][..], "there are tombolo, "),
        (&["--preset", "physical"], "no virtual memory"),
        (
            &["--preset", "tombolo", "--platform", "enzian"],
            "does not fit platform enzian",
        ),
        (
            &["--preset", "tombolo", "--card-memory", "1M"],
            "has no room for",
        ),
        (&["--shell", "none.toml"], "none.toml"),
    ] {
        let said = run(&[&["--map", "input=in"], words].concat());
        assert!(said.contains(told) && said.lines().count() == 1, "{said}");
    }
}

/// Sixty-four pages, more than the functional card's TLB has room for.
#[test]
fn what_translates_is_chosen_and_changes_no_byte() {
    let folder = folder();
    let bytes: Vec<u8> = (0..1 << 18).map(|n: u32| (n ^ (n >> 8)) as u8).collect();
    fs::write(folder.path().join("large"), &bytes).unwrap();
    for how in ["both", "table", "tlb"] {
        let maps = ["input=large:page=4K", "--map", "output=out:new:page=4K"];
        let words = [&copy(&maps)[..], &["--translation", how]].concat();
        let output = tombolo(folder.path(), &words);
        assert!(output.status.success(), "{output:?}");
        assert!(fs::read(folder.path().join("out")).unwrap() == bytes);
        fs::remove_file(folder.path().join("out")).unwrap();
    }
    let output = tombolo(
        folder.path(),
        &copy(&["input=large", "--translation", "walker"]),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("both, table, tlb"),
        "{said}"
    );
}

#[test]
fn a_pipe_that_is_silent_or_closes_fails_the_run_and_leaves_no_output() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    for name in ["silent", "short"] {
        let made = Command::new("mkfifo").arg(path(name)).status();
        assert!(made.unwrap().success());
    }
    let (silent, short) = (path("silent"), path("short"));
    let quiet = std::thread::spawn(move || fs::OpenOptions::new().write(true).open(silent));
    let writer = std::thread::spawn(move || fs::write(short, vec![7; 5_000]).unwrap());
    for (word, told) in [
        ("input=pipe:silent@0+9999:timeout=100ms", "silent"),
        ("input=pipe:short@0+9999", "short"),
    ] {
        let output = tombolo(folder.path(), &copy(&[word, "--map", "output=b:new"]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{said}");
        assert!(!path("b").exists());
    }
    quiet.join().unwrap().unwrap();
    writer.join().unwrap();
}

/// An experiment takes half an hour, so unwritable output files are reported before it begins.
#[test]
fn a_lab_refuses_files_that_it_could_not_write_before_it_runs() {
    let folder = folder();
    let words = |paper, option, file| ["lab", paper, option, file];
    for (words, told) in [
        (words("fsrf", "--html", "build/a.html"), "no folder build"),
        (words("fsrf", "--csv", "build/a.csv"), "no folder build"),
        (words("vfpio", "--html", "."), "is a folder"),
        (words("fleximem", "--csv", "build/a.csv"), "no folder build"),
        (words("cckit", "--csv", "build/a.csv"), "no folder build"),
        (words("cckit", "--html", "build/a.html"), "no folder build"),
        (words("all", "--csv", "build/a.csv"), "no folder build"),
    ] {
        let output = tombolo(folder.path(), &words);
        assert!(!output.status.success(), "{words:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            error.lines().count() == 1 && error.contains(told),
            "{words:?}: {error}"
        );
    }
}

/// Without results of earlier runs, `--kept` writes the pages at once: every figure is on the index, none is measured.
#[test]
fn a_lab_of_all_papers_writes_a_page_each_and_an_index() {
    let folder = folder();
    let output = Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .args(["lab", "all", "--kept", "--html", "pages", "--csv", "a.csv"])
        .env("TOMBOLO_CACHE", folder.path().join("cache"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let page =
        |name: &str| std::fs::read_to_string(folder.path().join("pages").join(name)).unwrap();
    let index = page("index.html");
    for (paper, figure) in [
        ("fsrf", "figure9"),
        ("fleximem", "table3"),
        ("vfpio", "figure6"),
        ("cckit", "figure10"),
    ] {
        let link = format!("href=\"{paper}.html#{figure}\"");
        assert!(index.contains(&link), "{link}");
        let section = format!("<section id={figure}>");
        assert!(page(&format!("{paper}.html")).contains(&section), "{paper}");
    }
    assert!(index.contains("not measured"));
    let values = std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    assert_eq!(values.lines().count(), 1, "{values}");
}

/// A sweep names unknown fields, and lists impossible shells before anything runs.
#[test]
fn a_sweep_names_an_unknown_field_and_lists_refused_shells() {
    let folder = folder();
    let text = r#"
title = "t"
platform = "u280"
[workload]
kernel = "copy"
arguments = { input = { bytes = 64 }, output = { bytes = 64 }, bytes = 64 }
[fields]
"shell.lanes" = [1, 3]
"#;
    let sweep = |text: &str| {
        std::fs::write(folder.path().join("a.toml"), text).unwrap();
        Command::new(env!("CARGO_BIN_EXE_tombolo"))
            .args([
                "lab", "sweep", "a.toml", "--kept", "--csv", "a.csv", "--html", "a.html",
            ])
            .env("TOMBOLO_CACHE", folder.path().join("cache"))
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let output = sweep(&text.replace("shell.lanes", "shell.lanse"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{error}");
    assert!(error.contains("did you mean `lanes`?"), "{error}");
    assert!(!folder.path().join("a.csv").exists());
    let output = sweep(text);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let points = std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    let lines: Vec<&str> = points.lines().collect();
    assert_eq!(lines.len(), 3, "{points}");
    assert!(lines[1].ends_with("not measured"), "{points}");
    assert!(lines[2].contains("refused: lanes = 3"), "{points}");
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(page.contains("refused: lanes = 3"));
}

#[test]
fn kernels_are_listed_and_described_with_a_command_that_runs() {
    let folder = folder();
    let listed = tombolo(folder.path(), &["kernel", "list"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("copy "));
    assert!(line
        .is_some_and(|line| line.ends_with("copies bytes from one buffer to another, 64 a cycle")));
    assert_eq!(text.lines().filter(|line| line.starts_with(' ')).count(), 0);

    let described = tombolo(folder.path(), &["kernel", "list", "copy"]);
    let text = String::from_utf8(described.stdout).unwrap();
    assert!(
        text.contains("  argument bytes at 0x20: 8 bytes, scalar"),
        "{text}"
    );
    assert!(
        text.contains("  bytes: how many bytes; any number"),
        "{text}"
    );
    let (_, example) = text.split_once("  for example: tombolo ").unwrap();
    fs::rename(folder.path().join("in"), folder.path().join("input.bin")).unwrap();
    let words = example.trim().replace('\'', "");
    let words: Vec<&str> = words
        .split(' ')
        .chain(["--functional", "--quiet"])
        .collect();
    let done = tombolo(folder.path(), &words);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert_eq!(
        fs::read(folder.path().join("output.bin")).unwrap(),
        vec![5; 10_000]
    );

    let wrong = tombolo(folder.path(), &["kernel", "list", "nonsense"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("no kernel `nonsense`"));
}
