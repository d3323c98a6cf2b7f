//! Can any words after `tombolo run` make it fail inside, or change a file that is no output?
//!
//! Random command lines over the grammar, hostile values included, on the functional card.
//! `TOMBOLO_COMMAND_LINES` sets their number (the bar `stranger.internal_errors` takes 20,000), `TOMBOLO_SEED` the
//! seed. The last line of the output is a JSON object with the counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{symlink, MetadataExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// SplitMix64, and whether the present line may have hostile words.
struct Random(u64, bool);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// As [`one_in`](Self::one_in), in lines that may have hostile words.
    fn hostile(&mut self, count: usize) -> bool {
        self.below(count) == 0 && self.1
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Files that commands may name, with what they have.
const FILES: [(&str, usize); 4] = [("in", 10_000), ("odd", 4097), ("old", 3), ("page", 4096)];
const NAMES: &[&str] = &[
    "in",
    "in",
    "odd",
    "odd",
    "old",
    "page",
    "hard",
    "soft",
    "dangling",
    "empty",
    "folder",
    "pipe",
    "new1",
    "new1",
    "new2",
    "x:new",
    "x@5",
    "nowhere/x",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/stdout",
    "/proc/self/mem",
    "/proc/x",
    "folder/..",
    "./in",
    "folder/../in",
    "a=b",
    ":",
    "@",
    "in/",
    "",
    ".",
    "/",
];
const KERNELS: [(&str, &[&str], &[&str]); 3] = [
    ("copy", &["input", "output"], &["bytes"]),
    ("vadd", &["a", "b", "c"], &["length"]),
    ("aes256ctr", &["input", "output"], &["bytes", "key", "iv"]),
];
const NUMBERS: &[&str] = &[
    "0", "1", "3", "63", "64", "65", "100", "4095", "4096", "4097", "10000", "10001", "0x10", "1K",
    "64KiB", "1MiB",
];
const HOSTILE: &[&str] = &[
    "18446744073709551615",
    "18446744073709551616",
    "0xffffffffffffffff",
    "0x8000000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "281474976710656",
    "281474976710655",
    "-1",
    "+5",
    "1e9",
    "",
    "0x",
    "0xg",
    "1.5",
    "1GiB",
    "17179869184G",
    "16777216T",
    "99999999999G",
    "32GiB",
    "1TiB",
    "\u{663}",
    " 5",
    "5 ",
    "5KiBKiB",
    "NaN",
    "00000000000000000000000000001",
];
const PAGES: &[&str] = &[
    "4KiB", "4KiB", "8KiB", "64KiB", "2MiB", "1MiB", "32MiB", "0", "1", "2KiB", "3KiB", "4095",
    "2GiB", "x", "",
];
const MEMORIES: &[&str] = &[
    "0", "1", "8191", "8192", "512KiB", "1MiB", "2MiB", "3MiB", "4MiB", "4608KiB", "5MiB", "6MiB",
    "8MiB", "9MiB", "16MiB", "1GiB", "32GiB", "33GiB", "4097", "1048577",
];

/// A number; `small` ones do not make a run long.
fn number(random: &mut Random, small: bool) -> &'static str {
    match !small && random.hostile(3) {
        true => random.pick(HOSTILE),
        false => random.pick(NUMBERS),
    }
}

fn name(random: &mut Random) -> OsString {
    if random.hostile(20) {
        return OsStr::from_bytes(b"\xff\xfe").to_owned();
    }
    if random.hostile(40) {
        return "n".repeat(300).into();
    }
    match random.hostile(3) {
        true => random.pick(NAMES).into(),
        false => random.pick(&["in", "odd", "page", "hard", "soft"]).into(),
    }
}

fn map(random: &mut Random, argument: &str, output: bool) -> OsString {
    let mut text = OsString::from(argument);
    text.push("=");
    text.push(match output && !random.hostile(3) {
        true => random.pick(&["new1", "new2", "old", "dangling"]).into(),
        false => name(random),
    });
    if random.hostile(3) {
        text.push(format!("@{}", number(random, false)));
        if random.one_in(2) {
            text.push(format!("+{}", number(random, false)));
        }
    } else if !output && random.one_in(8) {
        text.push(random.pick(&["@64", "@0+100", "@1000+500", "@4000+96"]));
    }
    let other = ["input", "a", "b", "output", "c", "x", ""];
    let mode = match random.below(10) {
        _ if output && !random.hostile(3) => random.pick(&[":new", ":new=64KiB"]).to_owned(),
        0 => format!(":new={}", number(random, false)),
        1 => format!(":new=size({})", random.pick(&other[..])),
        2 if random.1 => random.pick(&[":RO", ":new:new", ":ro:rw", ":"]).to_owned(),
        3 => random.pick(&[":rw", ":ro"]).to_owned(),
        _ => String::new(),
    };
    text.push(mode);
    if random.one_in(3) {
        let sizes = if random.hostile(3) {
            PAGES
        } else {
            &["4KiB", "64KiB", "2MiB"]
        };
        text.push(format!(":page={}", random.pick(sizes)));
    }
    text
}

fn set(random: &mut Random, argument: &str) -> OsString {
    let other = ["input", "output", "a", "c", "x"];
    let value = match (argument, random.below(8)) {
        (_, 0 | 1) if random.hostile(2) => number(random, false).to_owned(),
        (_, 2) if random.hostile(2) => format!("0x{}", "f".repeat(random.below(80))),
        (_, 3) if random.hostile(2) => format!("size({})", random.pick(&other[..])),
        ("key", _) => format!("0x{}", "01".repeat(32)),
        ("iv", _) => format!("0x{}", "01".repeat(16)),
        // A thousand numbers fit into every file that is copied whole.
        ("length", _) => random.pick(&["1", "16", "17", "1000"]).to_owned(),
        (_, 4 | 5) => random.pick(&["1", "63", "64", "96"]).to_owned(),
        _ => "size(input)".to_owned(),
    };
    let mut text = OsString::from(format!("{argument}={value}"));
    if random.hostile(100) {
        text.push(OsStr::from_bytes(b"\xff"));
    }
    text
}

/// The words of a command, and files that it may change.
struct Line {
    words: Vec<OsString>,
}

fn line(random: &mut Random) -> Line {
    random.1 = !random.one_in(3);
    let (kernel, pointers, scalars) = KERNELS[random.below(KERNELS.len())];
    let kernel = match random.hostile(25) {
        true => name(random),
        false => kernel.into(),
    };
    // A deadline ends what huge sizes begin.
    let deadline = match random.hostile(2) {
        true => random.pick(&["1us", "50us", "1ms", "0ns", "3000ns"]),
        false => "20ms",
    };
    let mut words: Vec<OsString> = vec![kernel];
    words.extend(["--deadline".into(), deadline.into()]);
    let mut more: Vec<[OsString; 2]> = Vec::new();
    for (number, pointer) in pointers.iter().enumerate() {
        let pointer = match random.hostile(30) {
            true => random.pick(&["bytes", "x", "", "input", "c"]),
            false => pointer,
        };
        if !random.hostile(30) {
            let output = number + 1 == pointers.len();
            more.push(["--map".into(), map(random, pointer, output)]);
        }
    }
    for scalar in scalars {
        if !random.hostile(30) {
            more.push(["--set".into(), set(random, scalar)]);
        }
    }
    if random.hostile(3) {
        more.push(["--card-memory".into(), random.pick(MEMORIES).into()]);
    } else if random.hostile(15) {
        more.push(["--card-memory".into(), number(random, false).into()]);
    } else if random.one_in(3) {
        more.push([
            "--card-memory".into(),
            random.pick(&["9MiB", "16MiB", "32MiB"]).into(),
        ]);
    }
    if random.one_in(3) {
        let mut place: OsString = match random.hostile(2) {
            true => name(random),
            false => "report".into(),
        };
        // To write into a pipe is to wait for its reader.
        if place == "pipe" {
            place = "new3".into();
        }
        more.push(["--json".into(), place]);
    }
    if random.hostile(30) {
        let options = [
            "--platform",
            "--deadline",
            "--wave",
            "--trace",
            "--wave-from",
        ];
        more.push([
            random.pick(&options[..]).into(),
            number(random, false).into(),
        ]);
    }
    for at in (1..more.len()).rev() {
        more.swap(at, random.below(at + 1));
    }
    words.extend(more.into_iter().flatten());
    for flag in ["--cold", "--no-idle-skipping", "--quiet"] {
        if random.one_in(20) {
            words.push(flag.into());
        }
    }
    if random.hostile(50) {
        words.push(random.pick(&["--", "-x", "", "--map", "--json"]).into());
    }
    Line { words }
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 256) as u8).collect()
}

/// Makes the files that commands may name.
fn fill(folder: &Path) {
    let at = |name: &str| folder.join(name);
    for (name, bytes) in FILES {
        fs::write(at(name), content(bytes)).unwrap();
    }
    fs::write(at("empty"), b"").unwrap();
    fs::write(at("x:new"), content(77)).unwrap();
    fs::write(at("x@5"), content(78)).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"\xff\xfe")), content(79)).unwrap();
    fs::hard_link(at("in"), at("hard")).unwrap();
    symlink("in", at("soft")).unwrap();
    symlink("not there yet", at("dangling")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("folder/kept"), b"kept").unwrap();
    assert!(Command::new("mkfifo")
        .arg(at("pipe"))
        .status()
        .unwrap()
        .success());
}

/// Everything in a folder: kind, mode, and bytes, or where a link leads.
fn everything(folder: &Path) -> BTreeMap<OsString, (u32, Vec<u8>)> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let seen = entries.map(|path| {
        let metadata = path.symlink_metadata().unwrap();
        let bytes = if metadata.is_symlink() {
            path.read_link().unwrap().into_os_string().into_vec()
        } else if metadata.is_dir() {
            let inside = fs::read_dir(&path).unwrap();
            inside
                .flat_map(|entry| entry.unwrap().file_name().into_vec())
                .collect()
        } else if metadata.is_file() && metadata.len() < 1 << 20 {
            fs::read(&path).unwrap()
        } else {
            metadata.len().to_le_bytes().to_vec()
        };
        let name = path.file_name().unwrap().to_owned();
        (name, (metadata.mode(), bytes))
    });
    seen.collect()
}

/// The files that a command may change: its outputs, if it succeeds, and files that are mapped for writing, even if it
/// fails. Names of the same file count once.
fn outputs(words: &[OsString]) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let (mut new, mut written) = (BTreeSet::new(), BTreeSet::new());
    for pair in words.windows(2) {
        let text = pair[1].as_bytes();
        match pair[0].to_str() {
            Some("--json") => drop(new.insert(PathBuf::from(&pair[1]))),
            Some("--map") => {
                let file = text
                    .splitn(2, |byte| *byte == b'=')
                    .nth(1)
                    .unwrap_or_default();
                // The longest names first: options may be part of a name.
                let cuts =
                    (0..=file.len()).filter(|at| matches!(file.get(*at), None | Some(b':' | b'@')));
                for cut in cuts {
                    let path = PathBuf::from(OsStr::from_bytes(&file[..cut]));
                    let lossy = String::from_utf8_lossy(&file[cut..]);
                    if lossy.contains(":new") {
                        new.insert(path);
                    } else if !lossy.contains(":ro") {
                        written.insert(path);
                    }
                }
            }
            _ => {}
        }
    }
    (new, written)
}

/// Names in the folder that a path may be: itself, links to it, and other names of the same file.
fn known_as(folder: &Path, paths: &BTreeSet<PathBuf>) -> BTreeSet<OsString> {
    let mut names = BTreeSet::new();
    for path in paths {
        let plain = path
            .to_string_lossy()
            .replace("folder/../", "")
            .replace("./", "");
        names.insert(OsString::from(plain.trim_end_matches('/')));
        names.extend(path.file_name().map(OsString::from));
        if let Ok(found) = folder.join(path).metadata() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let other = entry.path().metadata();
                if other.is_ok_and(|other| (other.dev(), other.ino()) == (found.dev(), found.ino()))
                {
                    names.insert(entry.file_name());
                }
            }
        }
        if path == Path::new("dangling") {
            names.insert("not there yet".into());
        }
    }
    names
}

#[derive(Default)]
struct Counts {
    lines: u64,
    succeeded: u64,
    usage: u64,
    internal: u64,
    changed: u64,
}

fn environment(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn no_words_fail_inside_or_change_other_files() {
    let (lines, seed) = (
        environment("TOMBOLO_COMMAND_LINES", 200),
        environment("TOMBOLO_SEED", 1),
    );
    let mut random = Random(seed, false);
    let mut counts = Counts::default();
    let mut folder = TempDir::new().unwrap();
    fill(folder.path());
    let fresh = everything(folder.path());
    let mut wrong = Vec::new();
    for _ in 0..lines {
        let Line { words } = line(&mut random);
        let (new, written) = outputs(&words);
        let (new, written) = (
            known_as(folder.path(), &new),
            known_as(folder.path(), &written),
        );
        let output = Command::new(env!("CARGO_BIN_EXE_tombolo"))
            .current_dir(folder.path())
            .args(["run", "--functional"])
            .args(&words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        counts.lines += 1;
        match output.status.code() {
            Some(0) => counts.succeeded += 1,
            Some(2) => counts.usage += 1,
            _ => {}
        }
        let inside = said.contains("internal error") || said.contains("panicked");
        let ended = matches!(output.status.code(), Some(0..=2));
        if inside || !ended || output.status.signal().is_some() {
            counts.internal += 1;
            wrong.push(format!("{words:?}: {}: {said}", output.status));
        }
        let after = everything(folder.path());
        if after == fresh {
            continue;
        }
        let succeeded = output.status.success();
        let allowed = |name: &OsString| (succeeded && new.contains(name)) || written.contains(name);
        let names: BTreeSet<&OsString> = fresh.keys().chain(after.keys()).collect();
        for name in names
            .into_iter()
            .filter(|name| fresh.get(*name) != after.get(*name))
        {
            if !allowed(name) {
                counts.changed += 1;
                wrong.push(format!(
                    "{words:?} changed {}: {said}",
                    name.to_string_lossy()
                ));
            }
        }
        folder = TempDir::new().unwrap();
        fill(folder.path());
    }
    println!(
        "{{\"command_lines\": {}, \"succeeded\": {}, \"usage\": {}, \"internal_errors\": {}, \
         \"changed\": {}}}",
        counts.lines, counts.succeeded, counts.usage, counts.internal, counts.changed
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The generator must not lose itself in what is refused at once.
    assert!(
        counts.succeeded * 20 > lines,
        "only {} succeeded",
        counts.succeeded
    );
}
