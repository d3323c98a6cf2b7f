//! Waveforms: files, start, and a warning if they are flat.

use super::values::{parse_time, text};
use super::RunError;
use crate::outputs::{OutputPath, Outputs};
use crate::print::say;
use clap::builder::TypedValueParser;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use tombolo::{Card, Picoseconds, WaveStart, Waves};

/// Whose waveforms to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum WaveOf {
    /// The kernel's signals.
    Kernel,
    /// The shell's signals.
    Shell,
    /// The kernel's and the shell's signals, in a file each.
    Both,
}

/// Options for waveforms.
#[derive(Args)]
pub(super) struct WaveOptions {
    /// Writes waveforms: waves.fst gives waves.kernel-0.fst and waves.shell.fst, according to --wave-of.
    #[arg(long, value_name = "FILE.fst", conflicts_with = "functional")]
    wave: Option<PathBuf>,

    /// Whose waveforms to write. The shell's model with waveforms takes minutes to build the first time.
    #[arg(long, value_enum, default_value_t = WaveOf::Kernel, requires = "wave")]
    wave_of: WaveOf,

    /// Begins waveforms at this virtual time, or at `first-activity`: the first data beat at a port of the kernel,
    /// which follows the arrival of its first page.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_start(&text)),
          default_value = "0ns", requires = "wave")]
    wave_from: WaveStart,

    /// Duration of the waveforms; file size grows with it.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_time(&text)), default_value = "1ms", requires = "wave")]
    wave_for: Picoseconds,
}

impl WaveOptions {
    /// Warns if no signal changed, because then the stretch was probably the wrong one.
    pub(super) fn warn_if_flat(&self, card: &Card, waves: &Waves) {
        if waves.changed.load(Ordering::Relaxed) {
            return;
        }
        let stretch = match self.wave_from {
            WaveStart::At(from) => format!("in the {} from {from} on", self.wave_for),
            WaveStart::FirstActivity => "because no row of data crossed a port".to_owned(),
        };
        let ended = card.describe().map_or_else(
            |_| String::new(),
            |(_, now)| format!("; the run ended at {now}"),
        );
        let advice = match self.wave_from {
            WaveStart::At(_) => ". `--wave-from first-activity` begins with the first row of data",
            WaveStart::FirstActivity => ". `--wave-from 0ns` begins with the run",
        };
        let name = self.files().into_iter().next().unwrap_or_default();
        say!(
            "tombolo: warning: {} is flat: nothing changed {stretch}{ended}{advice}",
            name.display()
        );
    }

    /// The files that `--wave` creates.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.wave
            .iter()
            .flat_map(|path| self.waves_at(path))
            .collect()
    }

    /// The files' names if `path` were given as `--wave`.
    fn waves_at(&self, path: &Path) -> Vec<PathBuf> {
        let waves = self.waves(path);
        let kernel = waves.kernels.then(|| waves.file("kernel-0"));
        kernel
            .into_iter()
            .chain(waves.shell.then(|| waves.file("shell")))
            .collect()
    }

    fn waves(&self, path: &Path) -> Waves {
        Waves {
            path: path.to_owned(),
            from: self.wave_from,
            span: self.wave_for,
            shell: self.wave_of != WaveOf::Kernel,
            kernels: self.wave_of != WaveOf::Shell,
            changed: Arc::default(),
        }
    }

    /// Creates the files under temporary names.
    pub(super) fn begin(
        &self,
        places: Vec<OutputPath>,
        outputs: &mut Outputs,
    ) -> Result<Option<Waves>, RunError> {
        let (Some(named), Some(first)) = (&self.wave, places.first()) else {
            return Ok(None);
        };
        let folder_of = |place: &OutputPath| crate::outputs::folder_of(&place.path).to_owned();
        if let Some(other) = places
            .iter()
            .find(|place| folder_of(place) != folder_of(first))
        {
            return Err(RunError::Arguments(format!(
                "{} and {}: these are links into different folders; waveforms of a run are made in one",
                first.named.display(),
                other.named.display()
            )));
        }
        let folder = outputs
            .folder_for(first)
            .map_err(RunError::writing(&first.named))?;
        let base = folder.join(named.file_name().unwrap_or_default());
        for (place, temporary) in places.into_iter().zip(self.waves_at(&base)) {
            let name = place.named.clone();
            outputs
                .file_at(&temporary, place, true)
                .map_err(RunError::writing(&name))?;
        }
        Ok(Some(self.waves(&base)))
    }
}

/// Parses the start of waveforms.
fn parse_start(text: &str) -> Result<WaveStart, String> {
    match text {
        "first-activity" => Ok(WaveStart::FirstActivity),
        _ => parse_time(text).map(WaveStart::At),
    }
}
