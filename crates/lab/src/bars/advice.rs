//! Checks whether the bound of a run is identified correctly and the gain of its removal predicted well. The reference
//! is ablation: each resource is made free in turn (a platform file with other figures, data already on the card, a
//! kernel without pauses), and the resource with the largest gain is the bound. Half of the runs are chosen by hand,
//! half are random.

use super::{the_command, Failure};
use crate::random::Random;
use crate::row::Row;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const NAMES: &[&str] = &[
    "advice.runs",
    "advice.right",
    "advice.right_drawn",
    "advice.gain_error",
    "advice.gain_error_median",
    "advice.remedies_faster",
];

/// Gains within this factor of the largest count as equal: two resources are equally limiting.
const ALIKE: f64 = 1.1;
/// If the largest true gain of a stage is below this, no resource stands out.
const NONE_STANDS_OUT: f64 = 1.25;
const DRAWN: usize = 12;
/// Seed of the random runs. The model was fitted to other runs.
const SEED: u64 = 20_261_126;

/// Platform figures that make a resource free: the fastest values that a platform file may have.
const FREE: [(&str, &[(&str, u64)]); 5] = [
    (
        "fault-service",
        &[
            ("service_batch_ps", 1),
            ("service_event_ps", 1),
            ("wake_ps", 1),
        ],
    ),
    (
        "copies",
        &[
            ("copy_bytes_per_second", 10_000_000_000_000),
            ("copy_setup_ps", 1),
            ("copy_threads", 64),
        ],
    ),
    (
        "storage",
        &[
            ("storage_read_bytes_per_second", 10_000_000_000_000),
            ("storage_write_bytes_per_second", 10_000_000_000_000),
            ("storage_read_ps", 1),
            ("storage_write_ps", 1),
            ("storage_queue", 4096),
        ],
    ),
    (
        "link",
        &[
            ("wire_bytes_per_second", 10_000_000_000_000),
            ("tlp_overhead", 0),
            ("link_overhead", 0),
            ("read_tags", 1024),
            ("posted_credits", 4096),
            ("credit_return_ps", 1),
            ("to_host_ps", 1),
            ("to_card_ps", 1),
            ("host_read_ps", 1),
            ("host_write_ps", 1),
            ("register_ps", 1),
        ],
    ),
    (
        "card-memory",
        &[
            ("clock_ps", 100),
            ("request_ps", 1),
            ("response_ps", 1),
            ("write_response_ps", 1),
            ("refi", 100_000),
            ("rfc", 1),
        ],
    ),
];

/// A run: a kernel, the size of its input, how files are mapped, and what limits its rate.
#[derive(Clone, Debug)]
struct Trial {
    kernel: &'static str,
    bytes: u64,
    mapping: String,
    pace: u64,
}

impl Trial {
    fn new(kernel: &'static str, bytes: u64, mapping: &str, pace: u64) -> Self {
        Self {
            kernel,
            bytes,
            mapping: mapping.to_owned(),
            pace,
        }
    }

    /// Arguments of `tombolo run`; files are in the working directory.
    fn words(&self) -> Vec<String> {
        let Self {
            bytes,
            mapping,
            pace,
            ..
        } = self;
        // New files are neither cached nor on storage.
        let new = mapping.replace(":cold", "").replace(":warm", "");
        let input = format!("in{bytes}{mapping}");
        let (log2, size) = (bytes.ilog2(), "bytes=size(input)".to_owned());
        let (maps, sets) = match self.kernel {
            "copy" => (
                vec![format!("input={input}"), format!("output=o:new{new}")],
                vec![size],
            ),
            "aes256ctr" => (
                vec![format!("input={input}"), format!("output=o:new{new}")],
                vec![
                    size,
                    format!("key=0x{}", "01".repeat(32)),
                    format!("iv=0x{}", "02".repeat(16)),
                ],
            ),
            "sum" => (
                vec![format!("input={input}"), "output=o:new=64".to_owned()],
                vec![size],
            ),
            "sha256" => (
                vec![format!("input={input}"), "output=o:new=4096".to_owned()],
                vec![size, format!("lanes={pace}")],
            ),
            "vadd" => (
                vec![
                    format!("a={input}"),
                    format!("b={input}"),
                    format!("c=o:new{new}"),
                ],
                vec![format!("length={}", bytes / 4)],
            ),
            "transform" => (
                vec![format!("data=data{mapping}")],
                vec![
                    "bytes=size(data)".to_owned(),
                    "addend=3".to_owned(),
                    format!("pace={pace}"),
                ],
            ),
            "gups" => (
                vec![format!("table=data{mapping}")],
                vec![
                    format!("words_log2={}", log2 - 3),
                    format!("updates={pace}"),
                    "seed=5".to_owned(),
                    "under_way=0".to_owned(),
                ],
            ),
            _ => (
                vec![format!("input={input}"), "output=o:new=64".to_owned()],
                vec![
                    format!("rows_log2={}", log2 - 6),
                    format!("reads={pace}"),
                    "seed=5".to_owned(),
                ],
            ),
        };
        let option = |name: &str, values: Vec<String>| {
            let name = name.to_owned();
            values
                .into_iter()
                .flat_map(move |value| [name.clone(), value])
                .collect::<Vec<_>>()
        };
        let mut words = vec![self.kernel.to_owned()];
        words.extend(option("--map", maps));
        words.extend(option("--set", sets));
        words
    }

    /// The same run with its data already on the card.
    fn hot(&self) -> Self {
        let words = self
            .mapping
            .split(':')
            .filter(|word| word.starts_with("page="));
        let page: String = words.map(|word| format!(":{word}")).collect();
        Self {
            mapping: format!("{page}:hot"),
            ..self.clone()
        }
    }

    /// The same run without pauses of the kernel; `None` if it has none.
    fn without_pauses(&self) -> Option<Self> {
        let pace = match self.kernel {
            "transform" if self.pace > 1 => 1,
            "sha256" if self.pace < 128 => 128,
            _ => return None,
        };
        Some(Self {
            pace,
            ..self.clone()
        })
    }
}

/// Hand-chosen runs, each with a different bound.
fn chosen() -> Vec<Trial> {
    vec![
        Trial::new("copy", 4 << 20, "", 0),
        Trial::new("copy", 1 << 20, ":page=4KiB", 0),
        Trial::new("copy", 4 << 20, ":page=64KiB", 0),
        Trial::new("copy", 4 << 20, ":cold", 0),
        Trial::new("copy", 4 << 20, ":hot", 0),
        Trial::new("vadd", 4 << 20, "", 0),
        Trial::new("sum", 4 << 20, "", 0),
        Trial::new("sum", 4 << 20, ":hot", 0),
        Trial::new("transform", 2 << 20, ":hot", 8),
        Trial::new("gups", 4 << 20, ":page=4KiB", 20_000),
        Trial::new("random_read", 8 << 20, ":page=64KiB", 20_000),
        Trial::new("sha256", 256 << 10, "", 1),
    ]
}

fn pick<T: Clone>(random: &mut Random, from: &[T]) -> T {
    from[(random.next() % from.len() as u64) as usize].clone()
}

fn drawn() -> Vec<Trial> {
    let mut random = Random(SEED);
    let kernels = [
        "copy",
        "vadd",
        "sum",
        "transform",
        "gups",
        "random_read",
        "aes256ctr",
        "sha256",
    ];
    let mut draw = || {
        let kernel = pick(&mut random, &kernels);
        let mut bytes = 1 << pick(&mut random, &[20, 21, 22]);
        let page = pick(
            &mut random,
            &["", ":page=4KiB", ":page=64KiB", ":page=2MiB"],
        );
        let state = pick(&mut random, &["", ":warm", ":cold", ":hot"]);
        let advice = [
            "",
            "",
            ":advice=stream",
            ":advice=preload",
            ":advice=random",
        ];
        let advice = match state {
            ":hot" => "",
            _ => pick(&mut random, &advice),
        };
        let pace = match kernel {
            "transform" => pick(&mut random, &[1, 2, 4, 8, 16]),
            "gups" | "random_read" => pick(&mut random, &[5_000, 20_000, 60_000]),
            _ => pick(&mut random, &[1, 8, 64, 128]),
        };
        if kernel == "sha256" && pace < 64 {
            bytes = 256 << 10;
        }
        Trial::new(kernel, bytes, &format!("{page}{advice}{state}"), pace)
    };
    (0..DRAWN).map(|_| draw()).collect()
}

/// Working folder and inputs of the runs.
struct TrialBench {
    command: PathBuf,
    folder: tempfile::TempDir,
    platforms: Vec<(&'static str, PathBuf)>,
}

/// Writes a platform file with changed figures; returns its path.
fn platform(text: &str, name: &str, figures: &[(&str, u64)]) -> Result<String, Failure> {
    let mut changed = 0;
    let lines = text.lines().map(|line| {
        let key = line.split('=').next().unwrap_or("").trim();
        match figures.iter().find(|(figure, _)| *figure == key) {
            Some((_, value)) => {
                changed += 1;
                format!("{key} = {value}\n")
            }
            None if key == "name" => format!("name = \"f1-{name}\"\n"),
            None => format!("{line}\n"),
        }
    });
    let text: String = lines.collect();
    match changed == figures.len() {
        true => Ok(text),
        false => Err(format!(
            "{name}: {changed} of {} figures are in f1.toml",
            figures.len()
        )
        .into()),
    }
}

impl TrialBench {
    fn new() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let text = std::fs::read_to_string(simcard::home().join("platforms/f1.toml"))?;
        let platforms = FREE.iter().map(|(name, figures)| {
            let path = folder.path().join(format!("f1-{name}.toml"));
            std::fs::write(&path, platform(&text, name, figures)?)?;
            Ok((*name, path))
        });
        let platforms = platforms.collect::<Result<_, Failure>>()?;
        Ok(Self {
            command: the_command()?,
            folder,
            platforms,
        })
    }

    fn input(&self, bytes: u64) -> Result<PathBuf, Failure> {
        let path = self.folder.path().join(format!("in{bytes}"));
        if !path.exists() {
            let mut random = Random(bytes);
            let words = (0..bytes / 8).flat_map(|_| random.next().to_le_bytes());
            std::fs::write(&path, words.collect::<Vec<u8>>())?;
        }
        Ok(path)
    }

    /// Runs a trial and returns its report.
    fn report(&self, run: &Trial, platform: &Path, more: &[&str]) -> Result<Value, Failure> {
        let input = self.input(run.bytes)?;
        std::fs::copy(&input, self.folder.path().join("data"))?;
        let ran = Command::new(&self.command)
            .current_dir(self.folder.path())
            .args(["run", "--quiet", "--json", "run.json", "--platform"])
            .arg(platform)
            .args(run.words())
            .args(more)
            .output()?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            return Err(format!("{run:?}: {said}").into());
        }
        let json = std::fs::read(self.folder.path().join("run.json"))?;
        Ok(serde_json::from_slice(&json)?)
    }

    fn time(&self, run: &Trial, platform: &Path, more: &[&str]) -> Result<f64, Failure> {
        Ok(time_of(&self.report(run, platform, more)?))
    }
}

fn time_of(report: &Value) -> f64 {
    report["runs"][0]["time"].as_f64().unwrap_or(f64::NAN)
}

/// The predictions for a run, and whether they hold.
struct JudgedRun {
    right: bool,
    /// Relative error of the predicted gain; `None` if no gain was predicted or none can be measured.
    error: Option<f64>,
    /// Whether the first advice that is an option made the run faster.
    faster: Option<bool>,
}

/// The largest of several gains, and at least 1.
fn largest<'a>(gains: impl Iterator<Item = &'a (&'static str, f64)>) -> f64 {
    gains.fold(1.0, |most, gain| most.max(gain.1))
}

fn judge(bench: &TrialBench, run: &Trial) -> Result<JudgedRun, Failure> {
    let f1 = Path::new("f1");
    let base = bench.report(run, f1, &[])?;
    let time = time_of(&base);
    let mut stages = Vec::new();
    for (name, path) in &bench.platforms {
        stages.push((*name, time / bench.time(run, path, &[])?));
    }
    let mut classes: Vec<(&str, f64)> = stages.pop().into_iter().collect();
    classes.push(("paging", time / bench.time(&run.hot(), f1, &[])?));
    match run.without_pauses() {
        Some(without) => classes.push(("kernel", time / bench.time(&without, f1, &[])?)),
        // Only the kernel remains.
        None if largest(classes.iter()) < ALIKE => classes.push(("kernel", f64::NAN)),
        None => {}
    }

    let bound = &base["bound"];
    let by = bound["by"].as_str().ok_or("no bound")?;
    let claimed = bound["gain"].as_f64().ok_or("no gain")?;
    let stage = stages.iter().find(|(name, _)| *name == by);
    let class = match by {
        "port" | "compute" => "kernel",
        _ if stage.is_some() => "paging",
        other => other,
    };
    let alike = |gain: f64, most: f64| gain.is_nan() || gain * ALIKE >= most;
    let of_class = classes.iter().find(|(name, _)| *name == class);
    let class_right = of_class.is_some_and(|(_, gain)| alike(*gain, largest(classes.iter())));
    let stage_right = match (class, stage) {
        ("paging", Some((_, gain))) => alike(*gain, largest(stages.iter())),
        ("paging", None) => largest(stages.iter()) < NONE_STANDS_OUT,
        _ => true,
    };
    let truth = stage.or(of_class).map_or(f64::NAN, |(_, gain)| *gain);
    let right = class_right && stage_right;
    let error = (right && !truth.is_nan()).then(|| (claimed / truth - 1.0).abs());

    let mut faster = None;
    let advice = bound["advice"].as_array().ok_or("no advice")?;
    let tried = advice.iter().find_map(|remedy| {
        let of = |key: &str| remedy[key].as_str().unwrap_or("");
        let (mapping, words) = (of("mapping"), of("words"));
        // An advice that only demonstrates a run with hot data is no remedy.
        let is_option = !(mapping.is_empty() && words.is_empty()) && mapping != ":hot";
        is_option.then_some((mapping, words))
    });
    if let Some((mapping, words)) = tried {
        // Repeated settings of a mapping would be refused, so drop the earlier ones.
        let kept = run.mapping.split(':').filter(|word| !word.is_empty());
        let kept = kept.filter(|word| {
            let key = |word: &str| match word.split('=').next().unwrap_or("") {
                "hot" | "warm" | "cold" => "state".to_owned(),
                other => other.to_owned(),
            };
            let new = mapping.split(':').filter(|word| !word.is_empty());
            !new.clone().any(|new| key(new) == key(word))
        });
        let kept: String = kept.map(|word| format!(":{word}")).collect();
        let other = Trial {
            mapping: format!("{kept}{mapping}"),
            ..run.clone()
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        faster = Some(bench.time(&other, f1, &words)? < time);
    }
    let shown = |gains: &[(&str, f64)]| {
        let gains = gains.iter().map(|(name, gain)| format!("{name} {gain:.2}"));
        gains.collect::<Vec<_>>().join(", ")
    };
    println!(
        "  {} {} {}{} {}: by {by} × {claimed:.2}; true: {}; {}{}",
        if right { "right" } else { "WRONG" },
        run.kernel,
        run.bytes,
        run.mapping,
        run.pace,
        shown(&classes),
        shown(&stages),
        match faster {
            None => "",
            Some(true) => "; advice faster",
            Some(false) => "; advice NOT faster",
        }
    );
    Ok(JudgedRun {
        right,
        error,
        faster,
    })
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let bench = TrialBench::new()?;
    let judge_all = |runs: Vec<Trial>| -> Result<Vec<JudgedRun>, Failure> {
        runs.iter().map(|run| judge(&bench, run)).collect()
    };
    let mut all = judge_all(chosen())?;
    let drawn = judge_all(drawn())?;
    let share = |of: &[JudgedRun]| {
        let right = of.iter().filter(|judged| judged.right).count();
        right as f64 / of.len() as f64
    };
    let of_drawn = share(&drawn);
    all.extend(drawn);
    let mut errors: Vec<f64> = all.iter().filter_map(|judged| judged.error).collect();
    errors.sort_by(f64::total_cmp);
    let worst = errors.last().copied().unwrap_or(f64::NAN);
    let median = errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN);
    let tried: Vec<bool> = all.iter().filter_map(|judged| judged.faster).collect();
    let faster = tried.iter().filter(|faster| **faster).count() as f64 / tried.len() as f64;
    Ok(vec![
        Row::new("advice.runs", all.len() as f64, ""),
        Row::new("advice.right", share(&all), ""),
        Row::new("advice.right_drawn", of_drawn, ""),
        Row::new("advice.gain_error", worst, ""),
        Row::new("advice.gain_error_median", median, ""),
        Row::new("advice.remedies_faster", faster, ""),
    ])
}
