//! Collects what a package states about a kernel, before Verilator reads its RTL.

use super::comments;
use super::component::{Component, Register};
use super::description::{control_word, number, Description, ImportError};
use super::rtl::{self, Contents, RtlFile};
use super::script;
use super::sources::{Reached, SourcesError, Tree};
use super::stand_ins;
use super::vhdl::Vhdl;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Options of the command that complete or override the package.
#[derive(Debug, Default)]
pub struct ImportOptions {
    /// Top module; by default the described one, or a guess.
    pub top: Option<String>,
    /// Parameters of the top module; values are TOML.
    pub parameters: BTreeMap<String, String>,
}

/// The known properties of a kernel.
#[derive(Debug)]
pub struct Plan {
    /// The package, folder or file to import, for messages.
    pub path: PathBuf,
    pub name: String,
    pub top: String,
    /// Source of the description, human-readable.
    pub origin: String,
    /// From a kernel.xml.
    pub description: Option<Description>,
    /// From a component.xml or a packaging script; otherwise empty.
    pub component: Component,
    /// Value of `kernel.control`, if known.
    pub control: Option<&'static str>,
    /// Registers from a comment in the RTL.
    pub commented: Vec<Register>,
    /// Parameters of the top module; values are TOML.
    pub parameters: BTreeMap<String, String>,
    pub files: Reached,
    /// Omissions and assumptions, one per line.
    pub notes: Vec<String>,
}

/// The contents of a package, a description with its RTL, or plain RTL.
struct ImportSource {
    contents: Contents,
    /// The Verilog file that the user named.
    focus: Option<String>,
    /// Text of the packaging script that was named.
    script: Option<String>,
}

fn open(path: &Path, rtl: Option<&Path>) -> Result<ImportSource, ImportError> {
    let kind = path
        .extension()
        .and_then(|kind| kind.to_str())
        .unwrap_or("");
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("")
        .to_owned();
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (mut focus, mut script) = (None, None);
    let mut contents = match kind {
        _ if path.is_dir() => rtl::read_folder(path)?,
        "xo" | "zip" => rtl::read_archive(path)?,
        "xml" if name == "component.xml" => rtl::read_folder(folder)?,
        "xml" => {
            let rtl = rtl.ok_or(ImportError::NoRtlFolder)?;
            let kernel = rtl::read_text(path)?;
            Contents {
                kernel: Some(kernel),
                ..rtl::read_folder(rtl)?
            }
        }
        "tcl" => {
            script = Some(rtl::read_text(path)?);
            match rtl::read_folder(rtl.unwrap_or(folder)) {
                // Packaging scripts often have a folder next to that of the sources.
                Err(ImportError::NoVerilog(_)) if rtl.is_none() => {
                    rtl::read_folder(&folder.join(".."))?
                }
                read => read?,
            }
        }
        "v" | "sv" => {
            focus = Some(name);
            match rtl {
                Some(rtl) => rtl::read_folder(rtl)?,
                None => rtl::read_beside(folder)?,
            }
        }
        _ => {
            // Reports a missing file as such.
            rtl::read_text(path)?;
            return Err(ImportError::WhatIsIt(path.to_owned()));
        }
    };
    if let (Some(rtl), "xo" | "zip") = (rtl, kind) {
        contents.rtl = rtl::read_folder(rtl)?.rtl;
    }
    Ok(ImportSource {
        contents,
        focus,
        script,
    })
}

/// The component of the package itself, not of a part of it: the one at the smallest depth.
fn component_of(
    path: &Path,
    contents: &Contents,
    is_needed: bool,
) -> Result<Option<Component>, ImportError> {
    let depth = |name: &str| name.matches('/').count();
    let mut components: Vec<&(String, String)> = contents.components.iter().collect();
    components.sort_by_key(|(name, _)| (depth(name), name.clone()));
    let Some((name, text)) = components.first() else {
        return Ok(None);
    };
    match Component::parse(&path.join(name), text) {
        Ok(component) => Ok(Some(component)),
        // A kernel.xml suffices without it.
        Err(_) if !is_needed => Ok(None),
        Err(error) => Err(error),
    }
}

impl Plan {
    /// Reads a package, folder or file.
    pub fn read(
        path: &Path,
        rtl: Option<&Path>,
        options: ImportOptions,
    ) -> Result<Self, ImportError> {
        let ImportSource {
            mut contents,
            focus,
            script,
        } = open(path, rtl)?;
        let description = contents
            .kernel
            .as_deref()
            .map(|xml| Description::parse(path, xml))
            .transpose()?;
        let component = match component_of(path, &contents, description.is_none())? {
            Some(component) => component,
            None => {
                let others = &contents.others;
                let named = script.as_deref().map(|text| script::read(text, others));
                let scripts = others.iter().filter(|file| file.kind() == "tcl");
                let mut said = scripts
                    .filter_map(|file| script::read(&String::from_utf8_lossy(&file.bytes), others));
                let said = named.flatten().or_else(|| said.next());
                said.filter(|_| focus.is_none()).unwrap_or_default()
            }
        };
        let unadded = keep_added(&mut contents.rtl, &component.added);
        let commented = match description.is_none() && component.registers.is_empty() {
            true => commented(&contents.rtl),
            false => Vec::new(),
        };
        let failed = |source| ImportError::Sources {
            path: path.to_owned(),
            source,
        };
        let vhdl = Vhdl::new(&contents.others);
        let mut tree = Tree::new(contents.rtl, &contents.others);
        let kernel_name = description.as_ref().map(|one| one.name.clone());
        let known = [
            options.top.clone(),
            component.top.clone(),
            kernel_name.clone(),
        ];
        let is_there = |top: &String| tree.has(top) || vhdl.has(top);
        let known = known.into_iter().flatten().find(is_there);
        let mut top = match (known, &options.top) {
            (Some(top), None) => top,
            (Some(top), Some(wanted)) if top == *wanted => top,
            // If it does not exist, a later error lists the known modules.
            (_, Some(wanted)) => wanted.clone(),
            (None, None) => match (tree.guess_top(focus.as_deref()), vhdl.guess_top()) {
                (Ok(top), _) | (Err(SourcesError::NoModule), Some(top)) => top,
                // The description names one that no file has.
                (Err(SourcesError::WhichTop(known)), _) if component.top.is_some() => {
                    let top = component.top.clone().unwrap_or_default();
                    return Err(failed(SourcesError::NoTop { top, known }));
                }
                (Err(error), _) => return Err(failed(error)),
            },
        };
        let is_vhdl = !tree.has(&top) && vhdl.has(&top);
        let mut overrides = options.parameters;
        let mut translated = Vec::new();
        if is_vhdl {
            tree.add(
                vhdl.verilog(&top, &std::mem::take(&mut overrides))
                    .map_err(failed)?,
            );
            translated.push(top.clone());
            top = tree.module_like(&top).unwrap_or(top);
        } else {
            // Entities that Verilog instantiates.
            for entity in vhdl.entities() {
                // VHDL ignores case: an export has `k_RAM_1R` in both languages.
                if tree.module_like(entity).is_none() && tree.uses(entity) {
                    tree.add(vhdl.verilog(entity, &BTreeMap::new()).map_err(failed)?);
                    translated.push(entity.clone());
                }
            }
        }
        stand_ins::add_to(&mut tree);
        let (parameters, mut notes) = packaged(&component, &tree, &top);
        let unadded = unadded
            .iter()
            .map(|name| format!("left out: {name}: the script does not add it"));
        notes.extend(unadded);
        notes.extend(
            translated
                .iter()
                .map(|entity| format!("{entity}: VHDL, made Verilog by GHDL")),
        );
        let parameters = parameters.into_iter().chain(overrides).collect();
        // A file that the command names comes before others in its folder.
        let preferred: Vec<String> = focus.iter().chain(&component.files).cloned().collect();
        let mut files = tree.reach(&top, &preferred).map_err(failed)?;
        notes.extend(stand_ins::notes(&mut files));
        notes.append(&mut files.blanked);
        notes.extend(left_out(&files, focus.as_deref(), &top));
        let named = kernel_name
            .or(Some(component.name.clone()).filter(|name| super::super::is_identifier(name)));
        let said = component.control.as_deref().and_then(control_word);
        let by_registers = match (component.registers.is_empty(), component.has_start) {
            (_, true) => Some("ap_ctrl_hs"),
            (false, false) => Some("ap_ctrl_none"),
            (true, false) => None,
        };
        Ok(Self {
            path: path.to_owned(),
            name: named.unwrap_or_else(|| top.clone()),
            origin: description
                .as_ref()
                .map_or_else(|| component.origin.clone(), |one| one.origin.clone()),
            control: description
                .as_ref()
                .and_then(|one| one.control)
                .or(said)
                .or(by_registers),
            top,
            description,
            component,
            commented,
            parameters,
            files,
            notes,
        })
    }
}

/// Notes on files that are left out: one each, or one for all that are next to a file that the user named.
fn left_out(files: &Reached, focus: Option<&str>, top: &str) -> Vec<String> {
    const NAMED: usize = 3;
    let all = &files.left_out;
    match focus {
        Some(focus) if all.len() > 1 => {
            let names: Vec<&str> = all
                .iter()
                .filter_map(|what| Some(what.split_once(':')?.0))
                .take(NAMED)
                .collect();
            let more = if all.len() > NAMED { ", …" } else { "" };
            vec![format!(
                "left out: {} files next to {focus} that {top} does not use ({}{more})",
                all.len(),
                names.join(", ")
            )]
        }
        _ => all.iter().map(|what| format!("left out: {what}")).collect(),
    }
}

/// Removes the sources that a packaging script does not add, if it adds any of them; their names.
fn keep_added(files: &mut Vec<RtlFile>, patterns: &[String]) -> Vec<String> {
    let is_added = |file: &RtlFile| script::adds(patterns, &file.name);
    if !files.iter().any(|file| file.is_source() && is_added(file)) {
        return Vec::new();
    }
    let (kept, others) = std::mem::take(files)
        .into_iter()
        .partition(|file| !file.is_source() || is_added(file));
    *files = kept;
    others.into_iter().map(|file: RtlFile| file.name).collect()
}

/// Registers from the comment of HLS or of the RTL kernel wizard.
fn commented(files: &[RtlFile]) -> Vec<Register> {
    let code = files.iter().filter(|file| file.is_source());
    let mut found = code.map(|file| comments::registers(&String::from_utf8_lossy(&file.bytes)));
    found
        .find(|registers| !registers.is_empty())
        .unwrap_or_default()
}

/// Parameters whose value in the package differs from the default of the top module, with notes on those that are not
/// numbers.
fn packaged(
    component: &Component,
    tree: &Tree,
    top: &str,
) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut parameters, mut notes) = (BTreeMap::new(), Vec::new());
    for (name, value) in &component.parameters {
        let bits = value
            .strip_prefix("0b")
            .and_then(|digits| u64::from_str_radix(digits, 2).ok());
        let flag = matches!(value.as_str(), "true")
            .then_some(1)
            .or((value == "false").then_some(0));
        let Some(value_number) = number(value).or(bits).or(flag) else {
            if tree.takes(top, name, u64::MAX) {
                notes.push(format!("parameter {name} = {value}: left as the RTL has it; --parameter {name}=… sets it"));
            }
            continue;
        };
        if tree.takes(top, name, value_number) && i64::try_from(value_number).is_ok() {
            parameters.insert(name.clone(), value_number.to_string());
        }
    }
    (parameters, notes)
}
