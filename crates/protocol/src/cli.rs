//! `tombolo protocol check|generate|show FILE`, without the terminal: the caller provides a writer for results and a
//! callback for progress.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::check::{buffers, check, Buffers, CheckError, Setting, Verdict};
use crate::export::{self, Agent, Output};
use crate::generate::{generate, GenerateError, Protocol};
use crate::spec::{self, Spec, SpecError};

/// Cause of a failed command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The specification breaks a rule of the language.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// No machine can be generated.
    #[error("{file}: {error}")]
    Generate {
        /// Path of the specification.
        file: PathBuf,
        /// Case that the rules leave open.
        error: GenerateError,
    },
    /// A model could not be explored.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The protocol breaks a property; the trace has been written.
    #[error("{file}: {headline}")]
    Broken {
        /// Path of the specification.
        file: PathBuf,
        /// Broken property.
        headline: String,
    },
    /// A result could not be printed.
    #[error("cannot print the result: {0}")]
    Print(#[from] std::io::Error),
}

/// Progress of a command.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Name of the model under exploration.
    pub task: &'a str,
    /// Steps from the start.
    pub depth: usize,
    /// States found so far.
    pub states: usize,
}

/// Output format of `show`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables in Markdown.
    Markdown,
    /// Graphviz text of the home agent.
    Home,
    /// Graphviz text of the remote agent.
    Remote,
    /// A summary in numbers.
    Summary,
}

/// A model to explore, by name.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name, for display.
    pub name: String,
    /// Number of caches.
    pub caches: usize,
    /// The rest of the setting.
    pub setting: Setting,
}

/// The models that `check` explores: one to `caches` caches on one line, then two lines.
#[must_use]
pub fn tasks(spec: &Spec, caches: usize, threads: usize) -> Vec<Task> {
    let mut tasks: Vec<Task> = (1..=caches.clamp(1, 3))
        .map(|caches| Task {
            name: format!("{caches} x {}, one line", spec.remote),
            caches,
            setting: Setting::default(),
        })
        .collect();
    let frees_ways = spec.operations.iter().any(|op| op.internal);
    if frees_ways {
        tasks.extend((1..=caches.clamp(1, 2)).map(|caches| Task {
            name: format!("{caches} x {}, two lines, one way, one unit", spec.remote),
            caches,
            setting: Setting::shared_way(),
        }));
    }
    tasks.push(Task {
        name: "two lines, one unit, waiting application".to_owned(),
        caches: 1,
        setting: Setting::application_waits(),
    });
    tasks.push(Task {
        name: format!("{} x {}, room for all", caches.clamp(1, 2), spec.remote),
        caches: caches.clamp(1, 2),
        setting: Setting::roomy(),
    });
    for task in &mut tasks {
        task.setting.threads = threads;
    }
    tasks
}

/// Reads a specification from a file.
///
/// # Errors
///
/// [`CliError::File`] or [`CliError::Spec`].
pub fn read(file: &Path) -> Result<Spec, CliError> {
    let bytes = std::fs::read(file).map_err(|source| CliError::File {
        path: file.to_owned(),
        source,
    })?;
    Ok(spec::parse_bytes(&file.display().to_string(), &bytes)?)
}

/// Generates the machines of a file for a number of caches.
///
/// # Errors
///
/// Those of [`read`], and [`CliError::Generate`].
pub fn load(file: &Path, caches: usize) -> Result<Protocol, CliError> {
    let spec = read(file)?;
    generate(&spec, caches).map_err(|error| CliError::Generate {
        file: file.to_owned(),
        error,
    })
}

/// Extent of a check.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Maximum number of caches.
    pub caches: usize,
    /// Number of threads, at least one.
    pub threads: usize,
    /// Whether states that differ only in the numbers of caches or lines are counted separately, as other checkers do.
    pub all_states: bool,
}

/// `check FILE`: explores every model of [`tasks`] and prints a line for each. A violation is
/// printed as a trace, and written as sequence diagrams into `traces` if that is given.
///
/// # Errors
///
/// [`CliError::Broken`] if a property breaks, and those of [`load`].
pub fn check_file(
    file: &Path,
    extent: Extent,
    traces: Option<&Path>,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), CliError> {
    let spec = read(file)?;
    for mut task in tasks(&spec, extent.caches, extent.threads) {
        task.setting.symmetry &= !extent.all_states;
        let protocol = generate(&spec, task.caches).map_err(|error| CliError::Generate {
            file: file.to_owned(),
            error,
        })?;
        let verdict = check(&protocol, &task.setting, &mut |level| {
            progress(Progress {
                task: &task.name,
                depth: level.depth,
                states: level.states,
            });
        })?;
        print_verdict(&task, &verdict, out)?;
        if let Some(trace) = &verdict.failure {
            write!(out, "{trace}")?;
            if let Some(folder) = traces {
                write(
                    folder,
                    &Output {
                        name: "trace.mmd".into(),
                        text: trace.mermaid(),
                    },
                    out,
                )?;
                write(
                    folder,
                    &Output {
                        name: "trace.svg".into(),
                        text: trace.svg(),
                    },
                    out,
                )?;
            }
            return Err(CliError::Broken {
                file: file.to_owned(),
                headline: trace.headline.clone(),
            });
        }
        if task.setting.capacity == Setting::roomy().capacity {
            check_buffers(file, &protocol, &verdict, out)?;
        }
    }
    Ok(())
}

/// Checks whether the buffers of all classes drain with any number of lines; prints their order.
fn check_buffers(
    file: &Path,
    protocol: &Protocol,
    verdict: &Verdict,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    match buffers(protocol, verdict) {
        Buffers::Ordered(names) => {
            let what = "buffers, each waits for later ones only";
            Ok(writeln!(out, "{what}: {}", names.join(", "))?)
        }
        circle @ Buffers::Circle(_) => {
            let headline = "buffers: messages wait for each other in a circle".to_owned();
            writeln!(out, "{headline}\n{circle}")?;
            let file = file.to_owned();
            Err(CliError::Broken { file, headline })
        }
    }
}

fn print_verdict(task: &Task, verdict: &Verdict, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<42} {:>10} states {:>11} steps, depth {:>3}, {:>7.3} s, {:>5.2} M states/s: {}",
        task.name,
        verdict.states,
        verdict.steps,
        verdict.depth,
        (verdict.explored_in + verdict.progress_in).as_secs_f64(),
        verdict.states_per_second() / 1e6,
        if verdict.failure.is_none() {
            "holds"
        } else {
            "BROKEN"
        },
    )
}

/// `generate FILE`: writes every output for a number of caches into a folder, and SVG pictures if Graphviz is
/// installed.
///
/// # Errors
///
/// Those of [`load`], and [`CliError::File`].
pub fn generate_file(
    file: &Path,
    caches: usize,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let protocol = load(file, caches)?;
    for output in export::all(&protocol) {
        write(folder, &output, out)?;
        if output.name.ends_with(".dot") {
            draw(&folder.join(&output.name), out)?;
        }
    }
    Ok(())
}

/// Renders a Graphviz file to an SVG next to it. Graphviz is optional: if it is missing, a note is printed.
fn draw(dot: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let svg = dot.with_extension("svg");
    let run = Command::new("dot")
        .arg("-Tsvg")
        .arg(dot)
        .arg("-o")
        .arg(&svg)
        .output();
    match run {
        Ok(result) if result.status.success() => writeln!(out, "wrote {}", svg.display())?,
        Ok(result) => {
            let why = String::from_utf8_lossy(&result.stderr);
            writeln!(out, "no picture of {}: {}", dot.display(), why.trim())?;
        }
        Err(error) => writeln!(out, "no picture of {}: dot: {error}", dot.display())?,
    }
    Ok(())
}

fn write(folder: &Path, output: &Output, out: &mut dyn Write) -> Result<(), CliError> {
    let path = folder.join(&output.name);
    let fault = |source| CliError::File {
        path: path.clone(),
        source,
    };
    std::fs::create_dir_all(folder).map_err(fault)?;
    std::fs::write(&path, &output.text).map_err(fault)?;
    Ok(writeln!(out, "wrote {}", path.display())?)
}

/// `show FILE`: prints the machines generated for a number of caches.
///
/// # Errors
///
/// Those of [`load`].
pub fn show_file(
    file: &Path,
    caches: usize,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let protocol = load(file, caches)?;
    let text = match format {
        Format::Markdown => export::markdown(&protocol),
        Format::Home => export::graphviz(&protocol, Agent::Home),
        Format::Remote => export::graphviz(&protocol, Agent::Cache),
        Format::Summary => summary(&protocol),
    };
    Ok(write!(out, "{text}")?)
}

/// Sizes of a protocol's machines, as text.
#[must_use]
pub fn summary(protocol: &Protocol) -> String {
    let Protocol {
        spec,
        cache,
        directory,
        effort,
    } = protocol;
    format!(
        "protocol {}: {} messages in {} classes, {} operations\n\
         {}: {} states, {} transitions, {} stalls\n\
         {}: {} states, {} transitions\n\
         on the way: {} beliefs about a {}, {} after uniting; {} states before merging\n",
        spec.name,
        spec.messages.len(),
        spec.classes.len(),
        spec.operations.len(),
        spec.home,
        directory.states.len(),
        directory.transitions(),
        directory.stalls(),
        spec.remote,
        cache.states.len(),
        cache.transitions(),
        effort.beliefs,
        spec.remote,
        effort.tracks,
        effort.directory_states_raw,
    )
}
