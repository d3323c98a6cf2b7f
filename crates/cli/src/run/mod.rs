//! `tombolo run`
//!
//! The options are divided by what they describe: the [`kernel`], the [`card`], its [`coherent`] CPU, and the [`outputs`].
//! A run checks them and opens its files ([`prepare`]), opens the card and maps the files ([`open`]), and runs the kernel.

mod card;
mod check;
mod coherent;
mod end;
mod failure;
mod files;
mod kernel;
mod open;
mod outputs;
mod page;
mod prepare;
mod report;
mod values;
mod waves;

use crate::arguments::MapArgument;
use crate::outputs::Outputs;
use ::card::kernel::Manifest;
use card::{CardNeeds, CardOptions};
use clap::builder::TypedValueParser;
use clap::Args;
use coherent::CoherentOptions;
pub use failure::RunError;
use kernel::KernelOptions;
use open::{OpenRun, RunResult};
use outputs::{OutputOptions, Shown};
use prepare::Prepared;
use std::path::PathBuf;
use tombolo::{CardName, Picoseconds};
use values::{parse_time, text};

/// Runs a kernel on files and streams, and prints where the time went.
///
/// The kernel accesses the files through its address space: pages are loaded when the kernel touches them, and written
/// back if it changed them.
#[derive(Args)]
#[command(after_help = "Examples:
  Encrypt a file:
    tombolo run aes256ctr --map input=plain --map output=cipher:new \\
      --set 'bytes=size(input)' --set key=0x0001…1f --set iv=0xf0f1…ff
  Add two files of 32-bit integers, with a timeout and a JSON report:
    tombolo run vadd --map a=a.bin --map b=b.bin --map c=sum.bin:new \\
      --set length=1000 --deadline 10ms --json report.json
  A card memory smaller than the data:
    tombolo run copy --card-memory 16MiB --map input=big --map output=big2:new \\
      --set 'bytes=size(input)'
  Pages of 64 KiB for one file, of 2 MiB or less (the default) for the other:
    tombolo run copy --map input=a:page=64KiB --map output=b:new --set 'bytes=size(input)'
  On Coyote's TLB, as FSRF's evaluation has it:
    tombolo run copy --preset coyote-2m --map input=a --map output=b:new --set 'bytes=size(input)'
  A file through a kernel with streams, into another:
    tombolo run loopback --connect in=file:a --connect out=file:b:new
  A part of a pipeline of commands:
    cat a | tombolo run loopback --connect in=- --connect out=- >b
  A kernel that serves cache lines, and the accesses of a coherent CPU to them:
    tombolo run rpc --coherent --access accesses --history --set base=0x10000000 --set handler=0 \\
      --set calls=0 --set contexts=0
  See where the time went, in a browser:
    tombolo run copy --map input=a --map output=b:new --set 'bytes=size(input)' --html run.html
  See what happened, on a timeline and cycle for cycle:
    tombolo run copy --map input=a --map output=b:new --set 'bytes=size(input)' \\
      --trace run.pftrace --wave run.fst --wave-from first-activity --wave-for 5us")]
pub struct Run {
    #[command(flatten)]
    kernel: KernelOptions,

    /// Timeout in virtual time, for example 500us, 10ms, 2s.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_time(&text)))]
    deadline: Option<Picoseconds>,

    #[command(flatten, next_help_heading = "Card")]
    card: CardOptions,

    #[command(flatten, next_help_heading = "Coherent CPU")]
    coherent: CoherentOptions,

    #[command(flatten, next_help_heading = "Outputs")]
    outputs: OutputOptions,
}

impl Run {
    /// Runs the kernel. It can fail more than once: in the kernel, and while outputs are written.
    ///
    /// Everything that can be rejected without the card is checked first, and existing files stay unchanged until the
    /// end: outputs are made next to their destinations.
    pub fn run(mut self) -> Result<(), Vec<RunError>> {
        let environment = CardName::from_environment(CardName::VARIABLE);
        let coherent = self.coherent.is_coherent();
        self.card
            .select(environment, coherent)
            .map_err(|error| vec![error])?;
        let mut outputs = Outputs::default();
        let result = self.run_with(&mut outputs);
        // The card is closed by now, so waveforms are complete.
        let named = |(path, source): (PathBuf, _)| RunError::Report { path, source };
        let finished = outputs.finish(result.is_ok()).map_err(named);
        match (result, finished) {
            (Ok(()), Ok(())) => Ok(()),
            (Ok(()), Err(failure)) => Err(vec![failure]),
            (Err(mut failures), finished) => {
                failures.extend(finished.err());
                Err(failures)
            }
        }
    }

    fn run_with(&self, outputs: &mut Outputs) -> Result<(), Vec<RunError>> {
        let one = |failure: RunError| vec![failure];
        let prepared = Prepared::of(self, outputs).map_err(one)?;
        let (mapped, bytes) = (self.kernel.files(), prepared.bytes());
        let Prepared {
            folder,
            manifest,
            accesses,
            files,
            written,
        } = prepared;
        let needs = self.needs(&manifest, &mapped, bytes);
        let card = self.card.open(&needs, &written).map_err(one)?;
        let mut open = OpenRun::new(card, files, &manifest, bytes).map_err(one)?;
        let mut names = open.names(&mapped, &manifest);
        let mut failures = Vec::new();
        let mut ran = RunResult::default();
        match open.run(&self.kernel, &folder, self.deadline, accesses.as_ref()) {
            // A failed run is worth its records; one that did not begin has none.
            Ok(result) => {
                outputs.keep_records(true);
                match result {
                    Ok(well) => ran = well,
                    Err(several) => failures.extend(several),
                }
            }
            Err(failure) => failures.push(failure),
        }
        if let Some(slot) = ran.slot() {
            names.place(slot);
        }
        failures.extend(open.unmap(&ran));
        if failures.is_empty() {
            failures.extend(ran.check_taken().err());
        }
        let shown = Shown {
            card: open.card(),
            names: &names,
            functional: self.card.is_functional(),
            fills_standard_output: self.kernel.fills_standard_output(&manifest),
        };
        self.outputs.finish(written, &shown, outputs, &mut failures);
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures),
        }
    }

    fn needs<'a>(
        &self,
        manifest: &'a Manifest,
        files: &'a [&'a MapArgument],
        bytes: u64,
    ) -> CardNeeds<'a> {
        CardNeeds {
            manifest,
            files,
            network_interfaces: self.kernel.network_interfaces(manifest),
            coherent: self.coherent.is_coherent(),
            bytes,
        }
    }
}
