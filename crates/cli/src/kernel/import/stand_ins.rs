//! Replaces vendor modules that come without RTL with open models of their documented behaviour (`kernels/vendor`).

use super::rtl::RtlFile;
use super::sources::{Reached, Tree};
use crate::kernel::find;
use std::path::Path;

/// Folder of the models in an imported kernel.
const FOLDER: &str = "stand_ins";
/// Prefix of modules that several models share.
const PART: &str = "tmb_";
/// Maximum number of inputs of a logic analyser.
const PROBES: usize = 1024;
/// The model of a module that each user calls by another name, with a version at its end.
const VERSIONED: &str = "floating_point_v7_1";

/// Adds the models that a tree uses and does not declare.
pub fn add_to(tree: &mut Tree) {
    let mut there = read(&find::library().join("vendor"));
    let versioned = there.iter().position(|file| module_of(file) == VERSIONED);
    if let Some(at) = versioned {
        let file = there.remove(at);
        let text = String::from_utf8_lossy(&file.bytes).into_owned();
        for name in tree.lacking(&format!("{VERSIONED}_")) {
            let module = format!("module {VERSIONED} ");
            tree.add(RtlFile {
                name: format!("{FOLDER}/{name}.sv"),
                bytes: text
                    .replace(&module, &format!("module {name} "))
                    .into_bytes(),
            });
        }
    }
    for name in tree.lacking_analysers() {
        let probes: Vec<String> = (0..PROBES).map(|number| format!("probe{number}")).collect();
        let text = format!(
            "// An analyser looks, and changes nothing.\nmodule {name} (\n  input logic clk,\n  input logic {}\n);\nendmodule\n",
            probes.join(", ")
        );
        tree.add(RtlFile {
            name: format!("{FOLDER}/{name}.sv"),
            bytes: text.into_bytes(),
        });
    }
    // A model may use others.
    loop {
        let is_missing = |file: &RtlFile| tree.lacks(module_of(file));
        let (missing, rest): (Vec<_>, Vec<_>) = there.into_iter().partition(is_missing);
        if missing.is_empty() {
            return;
        }
        for file in missing {
            tree.add(file);
        }
        there = rest;
    }
}

/// A note for each model that the kernel uses; unused ones are not listed as left out.
pub fn notes(files: &mut Reached) -> Vec<String> {
    let is_ours = |name: &str| name.starts_with(FOLDER);
    files.left_out.retain(|what| !is_ours(what));
    let ours = files.sources.iter().filter(|file| is_ours(&file.name));
    let names = ours
        .map(module_of)
        .filter(|module| !module.starts_with(PART));
    names
        .map(|module| format!("{module}: a stand-in of ours, after its documented behaviour"))
        .collect()
}

fn module_of(file: &RtlFile) -> &str {
    let name = file.name.rsplit('/').next().unwrap_or_default();
    name.split('.').next().unwrap_or_default()
}

/// Without this folder, missing vendor modules are refused.
fn read(folder: &Path) -> Vec<RtlFile> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<RtlFile> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let bytes = std::fs::read(entry.path()).ok();
            let bytes = bytes.filter(|_| name.ends_with(".sv"))?;
            let name = format!("{FOLDER}/{name}");
            Some(RtlFile { name, bytes })
        })
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}
