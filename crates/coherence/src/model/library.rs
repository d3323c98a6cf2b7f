//! A Verilated block as a shared library with a C interface of its own.

use std::path::{Path, PathBuf};

use simcard::home;
use verilated::{Builder, Design, Effort, FileSet, Form, Program};

use super::build::ModelError;

/// Code shared by the C interfaces.
const SHARED_GLUE: &str = include_str!("glue.hpp");

/// A change of the RTL, to see whether the tests find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The property that it breaks.
    pub what: &'static str,
    /// The file, relative to the checkout.
    pub file: &'static str,
    /// Text that occurs in the file exactly once.
    pub from: &'static str,
    /// Text that replaces it.
    pub to: &'static str,
}

impl Mutation {
    /// The file, and its text with the change.
    fn apply(self, files: &FileSet) -> Result<(PathBuf, String), ModelError> {
        let path = files.base.join(self.file);
        let text = std::fs::read_to_string(&path).map_err(verilated::BuildError::io(&path))?;
        let listed = files.files.iter().any(|file| file == Path::new(self.file));
        if !listed || text.matches(self.from).count() != 1 {
            return Err(ModelError::Mutation {
                what: self.what,
                file: self.file,
            });
        }
        Ok((self.file.into(), text.replacen(self.from, self.to, 1)))
    }
}

/// Inputs of a library build.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// Its name; the Verilated class is `V` and the name.
    pub(crate) name: &'static str,
    /// File list of the RTL, relative to the checkout.
    pub(crate) rtl: &'static str,
    /// The top module, defined in `harness`.
    pub(crate) top: &'static str,
    pub(crate) harness: &'static str,
    /// The C interface.
    pub(crate) glue: &'static str,
    pub(crate) parameters: Vec<(&'static str, usize)>,
    /// Macros of the RTL.
    pub(crate) rtl_defines: Vec<String>,
    /// Macros of the C interface.
    pub(crate) defines: Vec<String>,
    /// Assertions of the RTL end a run.
    pub(crate) assertions: bool,
    pub(crate) mutation: Option<Mutation>,
}

impl Recipe {
    /// Builds the library, or finds it in the cache.
    pub(crate) fn build(&self) -> Result<PathBuf, ModelError> {
        let files = FileSet::from_list(&home(), Path::new(self.rtl))?;
        let changed = self.mutation.map(|mutation| mutation.apply(&files));
        let parameters = self.parameters.iter();
        let program = Program {
            class: format!("V{}", self.name),
            changed: changed.transpose()?.into_iter().collect(),
            design: Design {
                name: self.name.to_owned(),
                top: self.top.to_owned(),
                clock: "clk_i".to_owned(),
                file_sets: vec![files],
                defines: self.rtl_defines.clone(),
                parameters: parameters
                    .map(|(name, value)| ((*name).to_owned(), value.to_string()))
                    .collect(),
                sleeping: Vec::new(),
                generated: Some(self.harness.to_owned()),
            },
            form: Form::Library,
            sources: Vec::new(),
            texts: [("glue.hpp", SHARED_GLUE), ("glue.cpp", self.glue)]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .to_vec(),
            flags: self
                .defines
                .iter()
                .map(|define| format!("-D{define}"))
                .collect(),
            effort: Effort::Long,
            assertions: self.assertions,
            random_start: false,
        };
        Ok(Builder::locate()?.program(&program, &mut |_| {})?)
    }
}
