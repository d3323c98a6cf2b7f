//! The card behind PCIe: guest programs that drive it through vfio-pci, and the state left by killed programs
//! (docs/pcie.md).

use super::counted::{Counting, Counts};
use super::Failure;
use crate::row::Row;
use std::path::PathBuf;
use std::process::Command;

/// Figures of [`programs`].
pub const PROGRAMS: &[&str] = &["pcie.guest_programs"];
/// Figures of [`overlap`].
pub const OVERLAP: &[&str] = &[
    "pcie.overlap_unexplained",
    "pcie.overlap_commands",
    "pcie.torn_missed",
    "pcie.torn_records",
];
/// Figures of [`socket_kills`].
pub const SOCKET: &[&str] = &[
    "pcie.socket_kills_lost",
    "pcie.socket_kills",
    "pcie.socket_kills_busy",
];
/// Figures of [`mutants`].
pub const MUTANTS: &[&str] = &["pcie.mutants_missed", "pcie.mutants"];
/// Figures of [`killed`].
pub const KILLED: &[&str] = &[
    "pcie.kill_reopen_lost",
    "pcie.kills",
    "pcie.kills_watched",
    "pcie.kills_busy",
];

/// Guest programs, each on pages of 4 KiB and on huge pages.
const STAGES: [&str; 12] = [
    "first",
    "shared_list",
    "two_slots",
    "streams",
    "user_managed",
    "slow_user_managed",
    "command",
    "c",
    "cpp",
    "xrt",
    "python",
    "aes256ctr",
];
/// Number of programs to kill. Some end before they are killed; at least 100 must not.
const KILLS: u32 = 110;
/// Number of programs to kill without a guest.
const SOCKET_KILLS: u64 = 200;
/// Commands of the run in which host and shell run concurrently.
const OVERLAPPING: u64 = 100_000;

/// Report of `tools/guest/run --json`.
#[derive(serde::Deserialize)]
struct GuestReport {
    passed: Vec<String>,
    failed: Vec<String>,
    kills: Option<f64>,
    lost: Option<f64>,
    watched: Option<f64>,
    busy: Option<f64>,
    mutants: Option<f64>,
    mutants_missed: Option<f64>,
}

fn count(figure: Option<f64>) -> Result<f64, Failure> {
    figure.ok_or_else(|| "a stage in the guest ended before it had counted".into())
}

/// Runs stages in guests.
fn guest(name: &str, words: &[&str]) -> Result<GuestReport, Failure> {
    let home = simcard::home();
    let folder = home.join("build/guest");
    std::fs::create_dir_all(&folder)?;
    let file: PathBuf = folder.join(format!("{name}.json"));
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    // The command fails if a stage fails; its report identifies the stage.
    Command::new(crate::tools::python(&home))
        .arg(home.join("tools/guest/run"))
        .arg("--json")
        .arg(&file)
        .args(words)
        .status()?;
    let text = std::fs::read(&file)
        .map_err(|error| format!("tools/guest/run gave up: {}: {error}", file.display()))?;
    let report: GuestReport = serde_json::from_slice(&text)?;
    for stage in &report.failed {
        eprintln!("pcie: stage {stage} failed");
    }
    Ok(report)
}

/// `pcie.guest_programs`: programs with correct results on both kinds of pages.
pub fn programs() -> Result<Vec<Row>, Failure> {
    let report = guest("programs", &STAGES)?;
    let equal = report.passed.len() as f64;
    Ok(vec![Row::new(PROGRAMS[0], equal, "programs")])
}

/// `pcie.kill_reopen_lost`: kills after which the next program failed, had wrong results, or a byte was written after
/// the card's reset.
pub fn killed() -> Result<Vec<Row>, Failure> {
    let report = guest("killed", &["killed", "--kills", &KILLS.to_string()])?;
    Ok(vec![
        Row::new(KILLED[0], count(report.lost)?, "kills"),
        Row::new(KILLED[1], count(report.kills)?, "kills"),
        Row::new(KILLED[2], count(report.watched)?, "kills"),
        Row::new(KILLED[3], count(report.busy)?, "kills"),
    ])
}

/// `pcie.mutants_missed`: mutants of the RTL that guest programs do not detect. One is in the kernel, the others are in
/// the shell.
pub fn mutants() -> Result<Vec<Row>, Failure> {
    let report = guest("mutants", &["mutant", "rtl_mutants"])?;
    let of_kernel = !report.passed.iter().any(|stage| stage == "mutant");
    let missed = count(report.mutants_missed)? + f64::from(u8::from(of_kernel));
    let all = count(report.mutants)? + 1.0;
    Ok(vec![
        Row::new(MUTANTS[0], missed, "mutants"),
        Row::new(MUTANTS[1], all, "mutants"),
    ])
}

/// Runs tests of `crates/device/tests` with larger counts than in `make test`.
fn device_test(file: &'static str, variable: &str, count: u64) -> Result<Counts, Failure> {
    let test = Counting {
        package: "tombolo-device",
        file,
        name: None,
    };
    test.run(&[(variable, count.to_string())])
}

/// `pcie.socket_kills_lost`: killed programs at the device's socket, without a guest, after which the next program does
/// not find the initial state, or memory is still written.
pub fn socket_kills() -> Result<Vec<Row>, Failure> {
    let counts = device_test("killed", "TOMBOLO_KILLS", SOCKET_KILLS)?;
    Ok(vec![
        Row::new(SOCKET[0], counts.get("lost")?, "kills"),
        Row::new(SOCKET[1], counts.get("kills")?, "kills"),
        Row::new(SOCKET[2], counts.get("in_the_middle")?, "kills"),
    ])
}

/// Random commands while host and shell run concurrently on two threads, with intentionally torn records.
pub fn overlap() -> Result<Vec<Row>, Failure> {
    let counts = device_test("overlap", "TOMBOLO_OVERLAP_COMMANDS", OVERLAPPING)?;
    Ok(vec![
        Row::new(OVERLAP[0], counts.get("unexplained")?, ""),
        Row::new(OVERLAP[1], counts.get("commands")?, "commands"),
        Row::new(OVERLAP[2], counts.get("torn_missed")?, "records"),
        Row::new(OVERLAP[3], counts.get("torn")?, "records"),
    ])
}
