//! The rights matrix: what one program can do to a file that another has mapped, by the descriptor that it has. Each cell is
//! a process of its own; the bytes of both are compared. The table in docs/daemon.md is what this finds.

mod common;

use common::{kernel, Served};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tombolo::{AddressSpace, Advice, Card, Error, FunctionalConfig, MapOptions, Mapping, Unsaved};

/// Bytes of a file: some pages, and a part of one.
const BYTES: usize = 10_000;
/// Of a file that is truncated.
const SHORT: u64 = 5000;
const PAGE: u64 = 4096;

/// The action of another program's process, and its descriptor; its folder is that of the daemon.
const ACT: &str = "TOMBOLO_TEST_CHILD";

/// Actions of a program on a file that another has mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Read,
    Advise,
    Prefetch,
    MakeHot,
    Sync,
    Refresh,
    Drop,
    Write,
    MapWritable,
    MakeAnew,
    Truncate,
    Unmap,
    UnmapPart,
    Die,
}

impl Act {
    const ALL: [Self; 14] = [
        Self::Read,
        Self::Advise,
        Self::Prefetch,
        Self::MakeHot,
        Self::Sync,
        Self::Refresh,
        Self::Drop,
        Self::Write,
        Self::MapWritable,
        Self::MakeAnew,
        Self::Truncate,
        Self::Unmap,
        Self::UnmapPart,
        Self::Die,
    ];

    /// As the table of docs/daemon.md calls it.
    fn words(self) -> &'static str {
        match self {
            Self::Read => "maps it read-only, and a kernel reads",
            Self::Advise => "gives advice",
            Self::Prefetch => "prefetches",
            Self::MakeHot => "makes it hot",
            Self::Sync => "`sync`",
            Self::Refresh => "`refresh`, unsaved bytes saved",
            Self::Drop => "`refresh`, unsaved bytes dropped",
            Self::Write => "its kernel writes",
            Self::MapWritable => "maps it for writing",
            Self::MakeAnew => "maps it `:new`",
            Self::Truncate => "truncates it",
            Self::Unmap => "`unmap`",
            Self::UnmapPart => "`unmap_part`",
            Self::Die => "is killed",
        }
    }
}

/// Access rights of a descriptor or a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    Read,
    Write,
}

impl Rights {
    const BOTH: [Self; 2] = [Self::Read, Self::Write];

    fn options(self) -> MapOptions {
        match self {
            Self::Read => MapOptions::read_only(),
            Self::Write => MapOptions::read_write(),
        }
    }
}

fn pattern(seed: usize) -> Vec<u8> {
    (0..BYTES).map(|n| (n * seed % 251) as u8 + 1).collect()
}

/// In the file at first, written by the program that has it mapped, and written by the other.
fn old() -> Vec<u8> {
    pattern(7)
}
fn written() -> Vec<u8> {
    pattern(11)
}
fn others() -> Vec<u8> {
    pattern(13)
}

/// A kernel copies one mapping to another.
fn copy(card: &Card, space: &AddressSpace, from: &Mapping, to: &Mapping) -> Result<(), Error> {
    let slot = card.load_anywhere(kernel("copy"), space)?;
    slot.set_mapping("input", from)?;
    slot.set_mapping("output", to)?;
    slot.set("bytes", from.bytes())?;
    slot.run()?;
    slot.close()
}

/// A program with a mapping of the file.
struct Program {
    card: Card,
    space: AddressSpace,
    folder: PathBuf,
}

impl Program {
    fn open(folder: &Path) -> Self {
        let card = Card::open(format!("unix:{}", folder.join("card").display())).unwrap();
        let space = card.create_space().unwrap();
        let folder = folder.to_owned();
        Self {
            card,
            space,
            folder,
        }
    }

    /// The bytes that a kernel reads.
    fn view(&self, of: &Mapping) -> Result<Vec<u8>, Error> {
        let mut seen = tempfile::tempfile().unwrap();
        let options = MapOptions::create(of.bytes());
        let to = self
            .space
            .map_open_file(seen.try_clone().unwrap(), Path::new("seen"), options);
        let to = to.unwrap();
        let copied = copy(&self.card, &self.space, of, &to);
        to.unmap().unwrap();
        let mut bytes = Vec::new();
        seen.read_to_end(&mut bytes).unwrap();
        copied.map(|()| bytes)
    }

    /// A kernel writes there.
    fn write(&self, to: &Mapping, from: &str) -> Result<(), Error> {
        let from = self.folder.join(from);
        let from = self.space.map_file(from, MapOptions::read_only());
        copy(&self.card, &self.space, &from.unwrap(), to)
    }
}

/// Runs the action in the other process, with the descriptor as its standard input.
fn act(act: Act, rights: Rights, folder: &Path) -> Result<(), Error> {
    let program = Program::open(folder);
    let file = || File::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let map = |options| {
        program
            .space
            .map_open_file(file(), Path::new("the file"), options)
    };
    let mapped = || map(rights.options());
    match act {
        Act::Read => {
            let mapping = map(MapOptions::read_only())?;
            program.view(&mapping).map(drop)
        }
        Act::Advise => mapped()?.advise(Advice::STREAM.and(Advice::LOW_USE).unwrap()),
        Act::Prefetch => mapped()?.prefetch(),
        Act::MakeHot => mapped()?.make_hot().map(drop),
        Act::Sync => mapped()?.sync(),
        Act::Refresh => mapped()?.refresh(Unsaved::Save),
        Act::Drop => mapped()?.refresh(Unsaved::Drop),
        Act::Write => program.write(&mapped()?, "others"),
        Act::MapWritable => map(MapOptions::read_write()).map(drop),
        Act::MakeAnew => map(MapOptions::create(BYTES as u64)).map(drop),
        Act::Truncate => file().set_len(SHORT).map_err(|source| Error::File {
            path: "the file".into(),
            what: "truncating it",
            source,
        }),
        Act::Unmap => mapped()?.unmap(),
        Act::UnmapPart => mapped()?.unmap_part(0, PAGE).map(drop),
        Act::Die => {
            let _mapping = mapped()?;
            std::process::abort()
        }
    }
}

/// No test, but the other process of one.
#[test]
fn another_process_acts_if_it_is_one() {
    let Ok(told) = std::env::var(ACT) else {
        return;
    };
    let all = Act::ALL.into_iter();
    let mut all = all.flat_map(|act| Rights::BOTH.map(|rights| (act, rights)));
    let (what, rights) = all.find(|one| format!("{one:?}") == told).unwrap();
    let result = act(what, rights, &std::env::current_dir().unwrap());
    println!(
        "\nact: {}",
        result.map_or_else(|error| error.to_string(), |()| "done".to_owned())
    );
}

/// Result of an action, and of the program that has the file mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    done: bool,
    /// The bytes that a kernel of the other program reads afterwards.
    view: Vec<u8>,
    /// The other's sync went well.
    saved: bool,
    /// The file at the end.
    file: Vec<u8>,
}

/// Expected result of an action.
fn expected(act: Act, rights: Rights, holder: Rights) -> Outcome {
    let before = match holder {
        Rights::Read => old(),
        Rights::Write => written(),
    };
    let done = Outcome {
        done: true,
        view: before.clone(),
        saved: true,
        file: before.clone(),
    };
    let refused = Outcome {
        done: false,
        ..done.clone()
    };
    match (act, rights) {
        (Act::MakeAnew, _) | (Act::Write | Act::MapWritable | Act::Truncate, Rights::Read) => {
            refused
        }
        (Act::Drop, Rights::Read) if holder == Rights::Write => refused,
        (Act::Drop, Rights::Write) => Outcome {
            view: old(),
            file: old(),
            ..done
        },
        (Act::Write, Rights::Write) => Outcome {
            view: others(),
            file: others(),
            ..done
        },
        (Act::Truncate, Rights::Write) => Outcome {
            saved: holder == Rights::Read,
            file: old()[..SHORT as usize].to_vec(),
            ..done
        },
        _ => done,
    }
}

/// A user without rights of his own.
const NOBODY: u32 = 65_534;

/// Whether a test can run as another user: the superuser's can, in a checkout that others can read.
fn can_be_another() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only the superuser's processes can be another user's (root)".to_owned());
    }
    let needs = [
        std::env::current_exe().unwrap(),
        kernel("copy").join("kernel.toml"),
    ];
    for path in needs {
        // By its path: the folders of the superuser that PATH names are not for others.
        let mut reads = Command::new("/bin/cat");
        let reads = reads
            .arg(&path)
            .uid(NOBODY)
            .gid(NOBODY)
            .stdout(Stdio::null());
        if !reads.status().is_ok_and(|status| status.success()) {
            return Err(format!(
                "other users cannot read {} (a checkout for all)",
                path.display()
            ));
        }
    }
    Ok(())
}

/// One cell: a program has a file mapped, another does something, as a user of its own or as another one.
fn cell(
    served: &Served,
    user: Option<u32>,
    (act, rights, holder): (Act, Rights, Rights),
) -> (Outcome, String) {
    let path = served.file("file", &old());
    let program = Program::open(served.folder.path());
    let mapping = program.space.map_file(&path, holder.options()).unwrap();
    assert_eq!(program.view(&mapping).unwrap(), old());
    if holder == Rights::Write {
        program.write(&mapping, "written").unwrap();
    }
    let mut how = OpenOptions::new();
    let descriptor = how.read(true).write(rights == Rights::Write).open(&path);
    let mut other = Command::new(std::env::current_exe().unwrap());
    if let Some(user) = user {
        other.uid(user).gid(user);
    }
    let output = other
        .args([
            "--exact",
            "another_process_acts_if_it_is_one",
            "--nocapture",
        ])
        .env(ACT, format!("{:?}", (act, rights)))
        .current_dir(served.folder.path())
        .stdin(Stdio::from(descriptor.unwrap()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = said.lines().find_map(|line| line.strip_prefix("act: "));
    assert!(
        told.is_some() || act == Act::Die,
        "{act:?}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    wait_until_alone(&program.card);
    let view = program.view(&mapping).unwrap_or_default();
    let saved = mapping.sync().is_ok();
    let outcome = Outcome {
        done: told.is_none_or(|told| told == "done"),
        view,
        saved,
        file: std::fs::read(&path).unwrap(),
    };
    // Of a file that is too short it says so once more.
    let _ = mapping.unmap();
    (outcome, told.unwrap_or("killed").to_owned())
}

/// Until everything of the other program has ended.
fn wait_until_alone(card: &Card) {
    while card.status().unwrap().daemon.connections > 1 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The effect of an action on others, in words: by its results with a mapping for reading, and with one for writing.
fn words(read: &Outcome, write: &Outcome) -> &'static str {
    let kept = |outcome: &Outcome, before: Vec<u8>| outcome.view == before && outcome.saved;
    match (read.done, write.done) {
        (false, false) => "refused",
        (true, false) => "refused while others have it mapped for writing",
        (false, true) => "refused while others have it mapped for reading",
        (true, true) if kept(read, old()) && kept(write, written()) => "changes nothing for others",
        (true, true) if kept(read, old()) && write.view == old() => {
            "what others have not saved is lost"
        }
        (true, true) if read.view == others() => "others see it",
        (true, true) => {
            "others keep what is on the card; saving bytes behind the end of the file fails"
        }
    }
}

/// All cells with another program of the same user, or of another; the table, how many cells, and those that are wrong.
fn matrix(served: &Served, user: Option<u32>) -> (String, usize, Vec<String>) {
    served.file("written", &written());
    served.file("others", &others());
    let mut table = String::from(
        "| a program | with a read-only descriptor | with a descriptor for writing too |\n|---|---|---|\n",
    );
    let mut cells = 0;
    let mut violations = Vec::new();
    for act in Act::ALL {
        let row = Rights::BOTH.map(|rights| {
            let beside = Rights::BOTH.map(|holder| {
                let (found, told) = cell(served, user, (act, rights, holder));
                cells += 1;
                if found != expected(act, rights, holder) {
                    let shown = |bytes: &[u8]| match bytes {
                        _ if bytes == old() => "old".to_owned(),
                        _ if bytes == written() => "written".to_owned(),
                        _ if bytes == others() => "others'".to_owned(),
                        _ => format!("{} others", bytes.len()),
                    };
                    violations.push(format!(
                        "{act:?} by {rights:?} of {user:?} beside {holder:?}: {told}; view {}, file {}, saved {}",
                        shown(&found.view),
                        shown(&found.file),
                        found.saved
                    ));
                }
                found
            });
            let [read, write] = &beside;
            words(read, write)
        });
        let [read, write] = row;
        writeln!(table, "| {} | {read} | {write} |", act.words()).unwrap();
    }
    (table, cells, violations)
}

#[test]
fn a_program_does_to_others_what_its_descriptor_lets_it_and_no_more() {
    let quotas = format!("[[tenant]]\nname = 'others'\nusers = [{NOBODY}]\n");
    let served = Served::within(FunctionalConfig::default(), &quotas);
    let (table, mut cells, mut violations) = matrix(&served, None);
    match can_be_another() {
        Ok(()) => {
            let others = matrix(&served, Some(NOBODY));
            assert_eq!(others.0, table);
            cells += others.1;
            violations.extend(others.2);
        }
        Err(why) => {
            let line = format!("skipped: rights of another user: {why}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
        }
    }
    // For the bar.
    println!("{{\"cells\":{cells},\"violations\":{}}}", violations.len());
    assert!(violations.is_empty(), "{violations:#?}");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/daemon.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    assert!(
        docs.contains(&table),
        "docs/daemon.md has another table than\n{table}"
    );
}
