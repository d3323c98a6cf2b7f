//! Runs Verilator and analyses the C++ that it wrote.

use super::ports::{parse_header, ModelPort};
use super::sleep;
use crate::design::Design;
use crate::error::BuildError;
use crate::sandbox::Sandbox;
use crate::toolchain::Toolchain;
use crate::verilator;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Flags that determine a model's behaviour or speed.
pub(crate) const FLAGS: [&str; 18] = [
    "--cc",
    "--quiet",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--no-timing",
    "--output-split",
    "0",
    // Rows stay whole: the compiler moves 64 bytes better than sixteen times 4.
    "--expand-limit",
    "8",
    // Functions of a size that the compiler handles well: faster to compile, and to run.
    "--output-split-cfuncs",
    "1000",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-fatal",
    "-Wno-SYMRSVDWORD",
];

/// Additional flags of models that write waveforms.
pub(crate) const WAVE_FLAGS: [&str; 1] = ["--trace-fst"];

/// Prefix of the generated classes.
const PREFIX: &str = "Vmodel";

/// Description of a model before it is compiled. Stored as `model.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Name for display.
    pub name: String,
    /// Ports of the top module, in the header's order.
    pub ports: Vec<ModelPort>,
    /// Name of the clock in the C++ class.
    pub clock_member: String,
    /// The variable that stores the previous clock, if only rising edges are examined.
    pub clock_history: Option<String>,
    /// The parts of an evaluation, if they may be called separately.
    pub phases: Option<Phases>,
    /// Reason why edges of this model must never be skipped, if there is one: its state is not all in one block, or
    /// depends on time.
    pub unskippable: Option<String>,
}

/// The parts of an evaluation that a model has. Known only for models in which a rising edge of the clock is the only
/// trigger, so that each part runs at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Samples values from before the edge for assertions.
    pub sample: bool,
    /// Evaluates combinational logic that depends on inputs.
    pub combinational: bool,
}

impl ModelInfo {
    /// The port with this name.
    pub fn port(&self, name: &str) -> Option<&ModelPort> {
        self.ports.iter().find(|port| port.name == name)
    }
}

/// C++ files of a model.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) info: ModelInfo,
    /// Code that runs every cycle.
    pub(crate) fast: Vec<PathBuf>,
    /// Code that runs once.
    pub(crate) slow: Vec<PathBuf>,
    /// C++ that describes the sleeping blocks to the glue; empty without any.
    pub(crate) blocks: String,
}

/// Flags of models with sleeping blocks: everything else is inlined into its module, so that a block is one object.
const SLEEP_FLAGS: [&str; 2] = ["--inline-mult", "1000000"];

/// Sources that replace the design's: sleeping blocks, and modules in them.
#[derive(Default)]
struct Sleepers {
    /// Sources by module name.
    sources: BTreeMap<String, PathBuf>,
    /// Blocks and their inputs.
    blocks: Vec<(String, Vec<String>)>,
}

impl Sleepers {
    fn write(design: &Design, folder: &Path) -> Result<Self, BuildError> {
        let mut texts = BTreeMap::new();
        for set in &design.file_sets {
            for file in &set.files {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                let path = set.base.join(file);
                let text = std::fs::read(&path).map_err(BuildError::io(&path))?;
                let text = String::from_utf8_lossy(&text).into_owned();
                texts.insert(name.into_owned(), text);
            }
        }
        let mut sleepers = Self::default();
        for (name, text) in &texts {
            let is_block = design.sleeping.iter().any(|module| module == name);
            let changed = match is_block {
                true => sleep::block(name, text),
                false => sleep::memory(name, text),
            };
            if let Some(changed) = changed {
                if is_block {
                    sleepers.blocks.push((name.clone(), changed.inputs));
                }
                sleepers.add(folder, name, changed.text)?;
                continue;
            }
            let mut now = text.clone();
            for inner in design.sleeping_in(name) {
                let inner_text = texts.get(inner).map(|text| (inner, text.as_str()));
                let changed = inner_text.and_then(|inner| sleep::within((name, &now), inner));
                if let Some((with_block, block, inputs)) = changed {
                    sleepers.blocks.push((block, inputs));
                    now = with_block;
                }
            }
            if now != *text {
                sleepers.add(folder, name, now)?;
            }
        }
        Ok(sleepers)
    }

    fn add(&mut self, folder: &Path, name: &str, text: String) -> Result<(), BuildError> {
        let path = folder.join(format!("{name}.sleep.sv"));
        std::fs::write(&path, text).map_err(BuildError::io(&path))?;
        self.sources.insert(name.to_owned(), path);
        Ok(())
    }
}

/// Runs Verilator into `folder`.
pub(crate) fn verilate(
    tools: &Toolchain,
    design: &Design,
    waves: bool,
    folder: &Path,
    sandbox: &Sandbox,
) -> Result<Generated, BuildError> {
    design.refuse_inline_code()?;
    let sleepers = match design.sleeping.is_empty() || waves {
        true => Sleepers::default(),
        false => Sleepers::write(design, folder)?,
    };
    let mut command = tools.verilator();
    command.args(FLAGS);
    if waves {
        command.args(WAVE_FLAGS);
    }
    command.args(["--prefix", PREFIX, "--top-module", &design.top, "--Mdir"]);
    command.arg(folder);
    verilator::add_sources(&mut command, design, &|file| {
        let name = file.file_stem()?.to_string_lossy();
        sleepers.sources.get(name.as_ref()).cloned()
    });
    if !sleepers.blocks.is_empty() {
        let path = folder.join("sleep.vlt");
        let text = sleep::configuration(&sleepers.blocks);
        std::fs::write(&path, text).map_err(BuildError::io(&path))?;
        command.args(SLEEP_FLAGS).arg(path);
    }
    verilator::add_generated(&mut command, design, folder)?;
    let readable = Readable::new(tools, design, folder)?;
    (verilator::run(design, command, sandbox)).map_err(|error| readable.without_others(error))?;
    readable.check_all_read()?;
    (verilator::refuse_inline_code(tools, design, folder, sandbox))
        .map_err(|error| readable.without_others(error))?;
    let generated = read_generated(design, &sleepers, folder)?;
    if sleepers.blocks.is_empty() || generated.info.phases.is_some() {
        return Ok(generated);
    }
    // Not only rising edges: nothing sleeps.
    tracing::warn!(design = design.name, "its blocks cannot sleep");
    std::fs::remove_dir_all(folder).map_err(BuildError::io(folder))?;
    std::fs::create_dir(folder).map_err(BuildError::io(folder))?;
    let awake = Design {
        sleeping: Vec::new(),
        ..design.clone()
    };
    verilate(tools, &awake, waves, folder, sandbox)
}

/// The files that Verilator may read for a design: `include` takes any path.
struct Readable<'a> {
    design: &'a Design,
    /// Where Verilator lists what it read.
    list: PathBuf,
    /// Without symbolic links.
    folders: Vec<PathBuf>,
    named: BTreeSet<PathBuf>,
    /// Paths of Verilator start here.
    base: PathBuf,
}

impl<'a> Readable<'a> {
    fn new(tools: &Toolchain, design: &'a Design, folder: &Path) -> Result<Self, BuildError> {
        let mut folders = design.rtl_folders();
        // Verilator's own: generated files, and those of its installation.
        for own in [folder, &tools.verilator_root.join("include/..")] {
            folders.push(std::fs::canonicalize(own).map_err(BuildError::io(own))?);
        }
        let base = match design.file_sets.as_slice() {
            [set] => set.base.clone(),
            _ => std::env::current_dir().map_err(BuildError::io("."))?,
        };
        let named = (design.file_sets.iter())
            .flat_map(|set| set.files.iter().map(|file| set.base.join(file)))
            .collect();
        Ok(Self {
            design,
            list: folder.join(format!("{PREFIX}__verFiles.dat")),
            folders,
            named,
            base,
        })
    }

    /// Checks the files that Verilator lists as read.
    fn check_all_read(&self) -> Result<(), BuildError> {
        let text = std::fs::read_to_string(&self.list).map_err(BuildError::io(&self.list))?;
        for name in files_read(&text) {
            let path = self.base.join(name);
            if !self.may_read(&path).map_err(BuildError::io(&path))? {
                return Err(self.refusal(&path));
            }
        }
        Ok(())
    }

    fn may_read(&self, path: &Path) -> std::io::Result<bool> {
        if self.named.contains(path) {
            return Ok(true);
        }
        let real = std::fs::canonicalize(path)?;
        Ok(self.folders.iter().any(|folder| real.starts_with(folder)))
    }

    fn refusal(&self, path: &Path) -> BuildError {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        BuildError::Refused {
            design: self.design.name.clone(),
            place: find_in_sources(self.design, &name),
            construct: "including a file outside the folders of the RTL",
        }
    }

    /// The error, or a refusal if it names another file: Verilator quotes lines of the files with errors, and the
    /// RTL's owner may lack the right to read what this process can.
    fn without_others(&self, error: BuildError) -> BuildError {
        let BuildError::Rtl { messages, .. } = &error else {
            return error;
        };
        // What is no file has no lines to quote.
        let other = (places_in(messages).map(|name| self.base.join(name)))
            .find(|path| matches!(self.may_read(path), Ok(false)));
        other.map_or(error, |path| self.refusal(&path))
    }
}

/// Names of files in messages of Verilator: `%Error-NAME: a.sv:3:7: text`, and `    a.sv:3:7: ... note: text`.
fn places_in(messages: &str) -> impl Iterator<Item = &str> {
    messages.lines().filter_map(|line| {
        let place = match line.strip_prefix('%') {
            Some(error) => error.split_once(": ")?.1,
            None => line.trim_start(),
        };
        let mut ends = place.match_indices(':').map(|(at, _)| at);
        let end = ends.find(|at| place[at + 1..].starts_with(|c: char| c.is_ascii_digit()))?;
        Some(&place[..end])
    })
}

/// The files that Verilator read, from its list of read (`S`) and written (`T`) files.
fn files_read(list: &str) -> impl Iterator<Item = &str> {
    list.lines()
        .filter(|line| line.starts_with('S'))
        .filter_map(|line| line.split('"').nth(3))
}

fn read_generated(
    design: &Design,
    sleepers: &Sleepers,
    folder: &Path,
) -> Result<Generated, BuildError> {
    let mut classes = Vec::new();
    let mut fast = Vec::new();
    let mut slow = Vec::new();
    let mut scan = Scan::default();
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect())
        .map_err(BuildError::io(folder))?;
    names.sort();
    for path in names {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        // Verilator writes an empty one next to variables that the glue accesses.
        let imports = |text: &str| text.replace("extern \"C\" {", "").contains("extern");
        if name.contains("__Dpi")
            && (sleepers.blocks.is_empty()
                || imports(&std::fs::read_to_string(&path).map_err(BuildError::io(&path))?))
        {
            return Err(BuildError::Refused {
                design: design.name.clone(),
                place: scan_dpi(design),
                construct: "a C function (DPI)",
            });
        }
        if !(name.ends_with(".cpp") || name.ends_with(".h")) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(BuildError::io(&path))?;
        scan.read(&text);
        classes.extend(sleep::Class::read(&text, &sleepers.blocks));
        if name.ends_with(".cpp") {
            if name.contains("__Slow") {
                slow.push(path);
            } else {
                fast.push(path);
            }
        }
    }
    if let Some((call, construct)) = scan.refused {
        return Err(BuildError::Refused {
            design: design.name.clone(),
            place: find_in_sources(design, call),
            construct,
        });
    }
    let header_path = folder.join(format!("{PREFIX}.h"));
    let header = std::fs::read_to_string(&header_path).map_err(BuildError::io(&header_path))?;
    let ports = parse_header(&header);
    let is_inspected = design.clock.is_empty().then(String::new);
    let clock_member = ports
        .iter()
        .find(|port| port.name == design.clock && port.width == 1 && !port.array)
        .map(|port| port.member.clone())
        .or(is_inspected)
        .ok_or_else(|| BuildError::Mismatch {
            kernel: design.name.clone(),
            rule: format!(
                "module {} has no 1-bit clock input `{}`",
                design.top, design.clock
            ),
        })?;
    let symbols_path = folder.join(format!("{PREFIX}__Syms.h"));
    let symbols = std::fs::read_to_string(&symbols_path).map_err(BuildError::io(&symbols_path))?;
    let mut blocks = sleep::instances(&symbols, &classes);
    // With some parameters a block has no state: no variable stores its clock, and there is nothing to skip.
    blocks.retain(|block| scan.history.contains(&block.history()));
    let clock_history = match clock_member.as_str() {
        "" => None,
        clock => scan.clock_history(clock),
    };
    let phases = scan.phases(&clock_member, clock_history.as_deref(), &blocks);
    Ok(Generated {
        info: ModelInfo {
            name: design.name.clone(),
            clock_history,
            phases,
            clock_member,
            ports,
            unskippable: scan.unskippable,
        },
        fast,
        slow,
        blocks: match blocks.is_empty() {
            true => String::new(),
            false => sleep::description(&classes, &blocks),
        },
    })
}

/// Properties of the generated C++.
#[derive(Default)]
struct Scan {
    /// A call that kernels must not use: the call in the RTL, and a description.
    refused: Option<(&'static str, &'static str)>,
    unskippable: Option<String>,
    /// Statements that mention a clock's history, or triggers, without white space.
    history: String,
    triggers: String,
    /// Functions that exist.
    sample: bool,
    combinational: bool,
    act: bool,
    nba: bool,
}

/// Calls in generated C++ that reach beyond the model whatever their arguments are; their origin in the RTL, and a
/// description. Files that are opened with a mode are checked at the call (`tmb_fopen` in `glue.cpp`).
const REFUSED: [(&str, &str, &str); 4] = [
    ("VL_SYSTEM_", "$system", "$system"),
    (
        "VL_FOPEN_MCD_",
        "$fopen",
        "writing a file of the host ($fopen without a mode)",
    ),
    (
        "VL_WRITEMEM_",
        "$writemem",
        "writing a file of the host ($writememh, $writememb)",
    ),
    // In models that write waveforms.
    (
        "->_traceDumpOpen()",
        "$dumpvars",
        "writing a file of the host ($dumpvars; `--waves` needs no such call)",
    ),
];

impl Scan {
    fn read(&mut self, text: &str) {
        for (mark, call, construct) in REFUSED {
            if self.refused.is_none() && text.contains(mark) {
                self.refused = Some((call, construct));
            }
        }
        // Messages contain the time, but the state does not depend on it.
        let without_messages = text.replace("'#',64,VL_TIME_UNITED_Q", "");
        for (mark, why) in [
            ("VL_TIME_", "it reads the time"),
            ("VL_RAND", "it draws random numbers"),
            ("VL_URAND", "it draws random numbers"),
            ("VlQueue<", "it has queues"),
            ("VlAssocArray<", "it has associative arrays"),
            ("VlClassRef<", "it has objects"),
            ("std::string __", "it has strings"),
            ("VL_FGETS", "it reads files"),
            ("VL_FSCANF", "it reads files"),
            ("VL_FREAD", "it reads files"),
            ("VL_FGETC", "it reads files"),
        ] {
            if self.unskippable.is_none() && without_messages.contains(mark) {
                self.unskippable = Some(why.to_owned());
            }
        }
        // Statements may be broken over lines: keep them whole, without white space.
        let keep = |mark: &str, kept: &mut String| {
            for statement in text.split(';').filter(|statement| statement.contains(mark)) {
                kept.extend(statement.chars().filter(|c| !c.is_whitespace()));
                kept.push(';');
            }
        };
        keep("__Vtrigprevexpr", &mut self.history);
        keep("Triggered[", &mut self.triggers);
        let defines = |function: &str| text.contains(&format!("{PREFIX}___024root___{function}("));
        self.sample |= defines("sample");
        self.combinational |= defines("eval_phase__ico");
        self.act |= defines("eval_phase__act");
        self.nba |= defines("eval_phase__nba");
    }

    /// Whether the only triggers are "first time" for combinational logic and the rising clock, and those of blocks; if
    /// all state is in blocks, the clock itself triggers nothing.
    fn phases(
        &self,
        clock: &str,
        history: Option<&str>,
        blocks: &[sleep::Instance],
    ) -> Option<Phases> {
        let assignments = |vector: &str| {
            let start = format!("{vector}Triggered[0U]=");
            let found = self.triggers.match_indices(&start);
            let values = found.map(|(at, _)| self.triggers[at + start.len()..].split(';').next());
            values.flatten().collect::<Vec<_>>()
        };
        let first = "((0xfffffffffffffffeULL&vlSelfRef.__VicoTriggered[0U])\
                     |(IData)((IData)(vlSelfRef.__VicoFirstIteration)))";
        let own = history.map(|history| (format!("vlSelfRef.{clock}"), history.to_owned()));
        let clocked = match (&own, blocks.is_empty()) {
            (None, true) => false,
            (Some((clock, history)), true) => {
                let rising =
                    format!("(QData)((IData)(((IData)({clock})&(~(IData)(vlSelfRef.{history})))))");
                assignments("__Vact") == [rising]
            }
            (_, false) => sleep::are_apart(blocks) && self.only_rising(own, blocks),
        };
        let clocked = self.act && self.nba && clocked;
        let inputs = match self.combinational {
            true => assignments("__Vico") == [first],
            false => assignments("__Vico").is_empty(),
        };
        (clocked && inputs).then_some(Phases {
            sample: self.sample,
            combinational: self.combinational,
        })
    }

    /// Whether the rise of each of these clocks, given with its history variable, triggers something, and nothing else
    /// does.
    fn only_rising(&self, own: Option<(String, String)>, blocks: &[sleep::Instance]) -> bool {
        let values = self.triggers.split(';').filter_map(|statement| {
            let (_, rest) = statement.split_once("__VactTriggered[")?;
            let (index, value) = rest.split_once("U]=")?;
            index.bytes().all(|c| c.is_ascii_digit()).then_some(value)
        });
        let mut left = values.collect::<Vec<_>>().join(";");
        let of_blocks = blocks.iter().map(|block| (block.clock(), block.history()));
        for (clock, history) in of_blocks.chain(own) {
            let rising = format!("((IData)({clock})&(~(IData)(vlSelfRef.{history})))");
            if left.matches(&rising).count() != 1 {
                return false;
            }
            left = left.replace(&rising, "");
        }
        // Shifts and casts join them.
        for word in ["(IData)", "(QData)", "ULL", "U", "0x"] {
            left = left.replace(word, "");
        }
        left.chars()
            .all(|c| c.is_ascii_hexdigit() || "()|<;".contains(c))
    }

    /// The history variable of the clock, if it is read only by tests for a rising edge.
    fn clock_history(&self, clock: &str) -> Option<String> {
        let name = format!("__Vtrigprevexpr___TOP__{clock}__0");
        let rising = format!("((IData)(vlSelfRef.{clock})&(~(IData)(vlSelfRef.{name})))");
        let assigned = format!("vlSelfRef.{name}=");
        let cleared = format!("vlSelf->{name}=0;");
        let declared = format!("CData/*0:0*/{name}");
        let mentions = |what: &str| self.history.matches(what).count();
        let all = mentions(&name);
        let known =
            mentions(&rising) + mentions(&assigned) + mentions(&cleared) + mentions(&declared);
        (mentions(&rising) > 0 && all == known).then_some(name)
    }
}

fn find_in_sources(design: &Design, what: &str) -> String {
    for set in &design.file_sets {
        for file in &set.files {
            let text = std::fs::read(set.base.join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if let Some(number) = text.lines().position(|line| line.contains(what)) {
                return format!("{}:{}", file.display(), number + 1);
            }
        }
    }
    format!("module {}", design.top)
}

fn scan_dpi(design: &Design) -> String {
    find_in_sources(design, "\"DPI")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_messages_name_are_found() {
        let messages = "%Error: /etc/passwd:1:6: syntax error\n    1 | root:x:0:0\n      |      ^\n        \
                        t.v:3:1: ... note: In file included from 't.v'\n%Error-PKG: b.sv:2:1: none\n%Error: no place";
        let found: Vec<_> = places_in(messages)
            .filter(|name| !name.contains('|'))
            .collect();
        assert_eq!(found, ["/etc/passwd", "t.v", "b.sv"]);
    }

    #[test]
    fn falling_edges_keep_the_clock_honest() {
        let name = "__Vtrigprevexpr___TOP__clk_i__0";
        let mut scan = Scan::default();
        scan.read(&format!(
            "x = ((IData)(vlSelfRef.clk_i)\n & (~ (IData)(vlSelfRef.{name})));\nvlSelfRef.{name} = 1;"
        ));
        scan.read(&format!("CData/*0:0*/ {name};\nvlSelf->{name} = 0;"));
        assert_eq!(scan.clock_history("clk_i").as_deref(), Some(name));
        scan.read(&format!(
            "y = ((~ (IData)(vlSelfRef.clk_i)) & (IData)(vlSelfRef.{name}));"
        ));
        assert_eq!(scan.clock_history("clk_i"), None);
    }

    #[test]
    fn the_time_in_a_message_is_no_state() {
        let mut scan = Scan::default();
        scan.read("VL_WRITEF_NX(\"%t\",3, '#',64,VL_TIME_UNITED_Q(1));");
        assert_eq!(scan.unskippable, None);
        scan.read("q = VL_TIME_UNITED_Q(1);");
        assert!(scan.unskippable.is_some());
    }
}
