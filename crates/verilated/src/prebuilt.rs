//! Models in a package, so that its first simulated run compiles only the user's kernel.
//!
//! A store has a folder for the level of x86-64 that its models were compiled for, with entries like those of the cache
//! and a file `verilator` with the version that made them. An entry is named by the hash of all inputs of a model
//! except the compiler, whose library the model contains, and this machine's processor, of which the level suffices. A
//! model with another hash is built as usual.

use crate::error::BuildError;
use crate::toolchain::{is_set, Toolchain};
use std::path::{Path, PathBuf};

/// Variable in which the Python package passes the path of its models.
const STORE: &str = "TOMBOLO_PREBUILT";

/// Variable by which `tools/release` requests models for other machines; its value is their destination.
const MAKE: &str = "TOMBOLO_MAKE_PREBUILT";

/// Variables by which a user requests separate models.
const OWN: [&str; 3] = ["TOMBOLO_CXX", "TOMBOLO_PROCESSOR", "TOMBOLO_QUICK_MODELS"];

/// File with Verilator's version.
const VERSION: &str = "verilator";

/// The part of a store for one level of the processor.
#[derive(Clone, Debug)]
pub(crate) struct Prebuilt {
    folder: PathBuf,
    level: String,
}

/// Whether builders take models from the store that the environment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrebuiltState {
    /// The environment names no store, or one without models.
    Absent,
    /// The models are for another processor.
    OtherProcessor,
    /// This variable requests separate models.
    Overridden(&'static str),
    /// Models of this store are used.
    Used(PathBuf),
}

impl PrebuiltState {
    /// The state on this machine, with the variables of this process.
    pub fn now() -> Self {
        let Some(store) = std::env::var_os(STORE).filter(|path| !path.is_empty()) else {
            return Self::Absent;
        };
        if let Some(variable) = OWN.into_iter().find(|name| is_set(name)) {
            return Self::Overridden(variable);
        }
        let store = PathBuf::from(store);
        match Prebuilt::of(&store) {
            Some(_) => Self::Used(store),
            None if holds_models(&store) => Self::OtherProcessor,
            None => Self::Absent,
        }
    }
}

/// Whether a store has models of the level.
fn holds_models(store: &Path) -> bool {
    store.join(LEVEL).join(VERSION).is_file()
}

/// The store that the environment names, unless the user requests separate models.
pub(crate) fn of_environment() -> Option<PathBuf> {
    match PrebuiltState::now() {
        PrebuiltState::Used(store) => Some(store),
        _ => None,
    }
}

/// The store that the environment requests to fill.
pub(crate) fn to_fill() -> Option<PathBuf> {
    let store = std::env::var_os(MAKE).filter(|path| !path.is_empty())?;
    Some(store.into())
}

impl Prebuilt {
    /// The part of a store that this processor can run.
    pub(crate) fn of(store: &Path) -> Option<Self> {
        let folder = store.join(LEVEL);
        let is_there = runs_v3() && holds_models(store);
        is_there.then(|| Self {
            folder,
            level: LEVEL.to_owned(),
        })
    }

    /// A store to be filled with models for the processor of these tools.
    ///
    /// # Errors
    /// [`BuildError::Io`]: it cannot be written.
    pub(crate) fn fill(store: &Path, tools: &Toolchain) -> Result<Self, BuildError> {
        let folder = store.join(&tools.processor);
        std::fs::create_dir_all(&folder).map_err(BuildError::io(&folder))?;
        let version = folder.join(VERSION);
        std::fs::write(&version, &tools.verilator_version).map_err(BuildError::io(&version))?;
        Ok(Self {
            folder,
            level: tools.processor.clone(),
        })
    }

    /// Its folder: [`Design::hash`](crate::Design::hash) gives the names of its entries.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces tools and processor in the hash of an entry.
    pub(crate) fn level(&self) -> &str {
        &self.level
    }

    /// Whether these tools would make its models from the same RTL: shell and kernel must come from one Verilator.
    pub(crate) fn is_of(&self, tools: &Toolchain) -> bool {
        let made_by = std::fs::read_to_string(self.folder.join(VERSION));
        made_by.is_ok_and(|version| version == tools.verilator_version)
    }
}

/// The level of x86-64 of a store.
const LEVEL: &str = "x86-64-v3";

/// Whether this processor runs models of that level.
#[cfg(target_arch = "x86_64")]
fn runs_v3() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
}

#[cfg(not(target_arch = "x86_64"))]
fn runs_v3() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Builder, Progress};
    use crate::design::{Design, FileSet};

    fn counter(folder: &Path, step: u32) -> Design {
        let text = format!(
            "module tiny (input logic ap_clk, output logic [31:0] q);\n\
             always_ff @(posedge ap_clk) q <= q + {step};\nendmodule\n"
        );
        std::fs::write(folder.join("tiny.sv"), text).unwrap();
        Design {
            name: "tiny".into(),
            top: "tiny".into(),
            clock: "ap_clk".into(),
            file_sets: vec![FileSet::new(folder, vec!["tiny.sv".into()])],
            defines: Vec::new(),
            parameters: Vec::new(),
            sleeping: Vec::new(),
            generated: None,
        }
    }

    /// The folder of the model, and whether it existed before.
    fn model(builder: &Builder, design: &Design) -> (PathBuf, bool) {
        let mut last = None;
        let built = builder.model(design, &|_| Ok(()), &mut |step| last = Some(step));
        (
            built.unwrap().folder,
            matches!(last, Some(Progress::Prebuilt { .. })),
        )
    }

    #[test]
    fn what_is_in_the_store_is_taken_and_all_else_is_built() {
        if !runs_v3() {
            eprintln!("skipped: this processor runs no prebuilt models");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let tools = Toolchain {
            processor: LEVEL.to_owned(),
            ..Toolchain::locate().unwrap()
        };
        let filling = Builder::new(tools.clone(), &at("making")).filling(&at("store"));
        let design = counter(folder.path(), 1);
        let (made, was_there) = model(&filling.unwrap(), &design);
        assert!(!was_there && made.starts_with(at("store/x86-64-v3")));

        // With its own tools and cache, and also for ports; not with waveforms.
        let user = Builder::new(tools.clone(), &at("cache")).with_prebuilt(&at("store"));
        assert_eq!(model(&user, &design), (made.clone(), true));
        assert!(!at("cache").exists());
        let waves = user.with_waves().prebuilt("", &design).unwrap();
        assert!(waves.is_none());

        // Another Verilator would have parsed the RTL itself.
        let other = Toolchain {
            verilator_version: "Verilator 6".to_owned(),
            ..tools
        };
        let other = Builder::new(other, &at("other")).with_prebuilt(&at("store"));
        assert!(other.prebuilt("", &design).unwrap().is_none());

        // Other RTL, and a damaged library.
        let (folder_of_other, was_there) = model(&user, &counter(folder.path(), 2));
        assert!(!was_there && folder_of_other.starts_with(at("cache")));
        let design = counter(folder.path(), 1);
        std::fs::write(made.join("model.so"), "cut short").unwrap();
        assert!(!model(&user, &design).1);
    }
}
