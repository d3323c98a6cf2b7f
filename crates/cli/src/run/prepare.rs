//! From options to open inputs and begun outputs, before the card is opened.

use super::coherent::Accesses;
use super::files::{self, Ready};
use super::kernel::KernelOptions;
use super::outputs::Written;
use super::{Run, RunError};
use crate::outputs::Outputs;
use crate::standard::{was_closed, Stream};
use card::kernel::{KernelPackage, Manifest};
use std::path::{Path, PathBuf};
use tombolo::Error;

/// A run whose kernel, inputs and outputs are known to fit together.
pub(super) struct Prepared<'a> {
    /// The kernel's folder.
    pub(super) folder: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) accesses: Option<Accesses>,
    pub(super) files: Vec<Ready<'a>>,
    pub(super) written: Written,
}

impl<'a> Prepared<'a> {
    /// Checks the options, opens inputs, refuses clashes of outputs, and begins the outputs.
    pub(super) fn of(run: &'a Run, outputs: &mut Outputs) -> Result<Self, RunError> {
        let folder = run.kernel.folder()?;
        let package = KernelPackage::open(&folder).map_err(Error::from)?;
        let manifest = &package.manifest;
        check(run, manifest)?;
        let accesses = run.coherent.accesses(manifest)?;
        let mapped = run.kernel.files();
        // Finds a missing or unsuitable platform or preset before anything is built.
        run.card.check(&run.needs(manifest, &mapped, 0))?;

        let access_of = |name: &str| KernelOptions::access_of(manifest, name);
        let planned = files::plan(&mapped, access_of)?;
        let found = run
            .outputs
            .find(run.kernel.fills_standard_output(manifest))?;
        let mut read: Vec<(&Path, &str)> = run.card.files();
        read.extend(
            run.coherent
                .path()
                .map(|path| (path, "the input of --access")),
        );
        files::refuse_clashes(&planned, &found.all(), &package, &read)?;

        let ready = planned.into_iter().map(|file| file.begin(outputs));
        let files = ready.collect::<Result<_, _>>()?;
        let written = run.outputs.begin(found, run.card.is_simulated(), outputs)?;
        Ok(Self {
            folder,
            manifest: package.manifest,
            accesses,
            files,
            written,
        })
    }

    /// Size of the mapped data.
    pub(super) fn bytes(&self) -> u64 {
        let sum = |sum: u64, file: &Ready<'_>| sum.saturating_add(file.bytes);
        self.files.iter().fold(0, sum)
    }
}

/// Fails with the first option that does not fit the manifest.
fn check(run: &Run, manifest: &Manifest) -> Result<(), RunError> {
    run.kernel.check_names(manifest)?;
    run.coherent.check(manifest)?;
    run.kernel.check_ports(manifest)?;
    let reads = run.kernel.reads_standard_input(manifest) || run.coherent.reads_standard_input();
    if reads && was_closed(Stream::Input) {
        let text = "the standard input is closed, and `-` reads it: redirect it (<FILE), or name a file or a pipe";
        return Err(RunError::Arguments(text.to_owned()));
    }
    let fills = run.kernel.fills_standard_output(manifest);
    run.outputs.check_standard_output(fills)?;
    run.kernel.check_values(manifest)
}
