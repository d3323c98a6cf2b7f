//! RTL to loadable model: Verilator, a C++ compiler, and a cache by content.
//!
//! A model lives in `<cache>/models/<hash>/` as `model.so` and `model.json`. The hash covers every
//! byte that can matter: RTL, generated tops, flags, versions of both tools, the CPU. A folder
//! appears whole or not at all (it is built beside and renamed), and concurrent builders of the same
//! model take turns at a lock, so the second finds the work done.

mod compile;
mod design;
mod error;
mod ports;
mod toolchain;
pub(crate) mod top;
mod verilate;
pub(crate) mod wrapper;

pub use design::{Design, FileSet};
pub use error::BuildError;
pub use ports::{Direction, ModelPort};
pub use toolchain::{cache_root, Toolchain};
pub use verilate::ModelInfo;

pub(crate) use compile::ABI;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a build is doing, for a progress display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The model was in the cache.
    Cached {
        /// Name of the design.
        design: String,
    },
    /// Another process builds the same model; waiting for it.
    Waiting {
        /// Name of the design.
        design: String,
    },
    /// Verilator runs.
    Verilating {
        /// Name of the design.
        design: String,
    },
    /// The C++ compiler runs.
    Compiling {
        /// Name of the design.
        design: String,
        /// Files compiled.
        done: usize,
        /// Files there are.
        of: usize,
    },
    /// The model was built.
    Built {
        /// Name of the design.
        design: String,
    },
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cached { design } => write!(f, "{design}: in the cache"),
            Self::Waiting { design } => write!(f, "{design}: another process builds it; waiting"),
            Self::Verilating { design } => write!(f, "{design}: Verilator"),
            Self::Compiling { design, done, of } => {
                write!(f, "{design}: compiling, {done} of {of} files")
            }
            Self::Built { design } => write!(f, "{design}: built"),
        }
    }
}

/// Receives progress; long builds call it from the thread that asked for the build.
pub type ProgressSink<'a> = dyn FnMut(Progress) + 'a;

/// A model in the cache.
#[derive(Clone, Debug)]
pub struct BuiltModel {
    /// Its folder.
    pub folder: PathBuf,
    /// What is known of it.
    pub info: ModelInfo,
}

impl BuiltModel {
    /// The shared library.
    pub fn library(&self) -> PathBuf {
        self.folder.join("model.so")
    }
}

/// Builds models, or finds them in the cache.
#[derive(Clone, Debug)]
pub struct Builder {
    tools: Toolchain,
    models: PathBuf,
    waves: bool,
}

impl Builder {
    /// A builder with the machine's tools and the user's cache.
    ///
    /// # Errors
    /// [`BuildError::MissingTool`].
    pub fn locate() -> Result<Self, BuildError> {
        Ok(Self::new(Toolchain::locate()?, &cache_root()))
    }

    /// A builder with these tools and this cache folder.
    pub fn new(tools: Toolchain, cache: &Path) -> Self {
        Self {
            tools,
            models: cache.join("models"),
            waves: false,
        }
    }

    /// A builder of models that can write waveforms; they are slower, and other models.
    pub fn with_waves(&self) -> Self {
        Self {
            waves: true,
            ..self.clone()
        }
    }

    /// Everything but the design that decides what a model is.
    fn environment(&self) -> String {
        let waves = match self.waves {
            true => format!(
                "{:?} {:?} {}",
                verilate::WAVE_FLAGS,
                compile::WAVE_FLAGS,
                compile::WAVES
            ),
            false => String::new(),
        };
        format!(
            "{}{waves}\n{:?} {:?} {:?} {:?} {} {}\n{}\n{}",
            self.tools.identity,
            verilate::FLAGS,
            compile::COMMON_FLAGS,
            compile::FAST_FLAGS,
            compile::SLOW_FLAGS,
            ABI,
            env!("CARGO_PKG_VERSION"),
            compile::GLUE,
            compile::RUNTIME_HEADER,
        )
    }

    /// The model of a design: from the cache, else built. `check` sees the ports before anything
    /// expensive happens.
    ///
    /// # Errors
    /// [`BuildError`], also from `check`.
    pub fn build(
        &self,
        design: &Design,
        check: &dyn Fn(&ModelInfo) -> Result<(), BuildError>,
        progress: &mut ProgressSink<'_>,
    ) -> Result<BuiltModel, BuildError> {
        let folder = self.models.join(design.hash(&self.environment())?);
        if let Some(model) = read_built(&folder)? {
            check(&model.info)?;
            progress(Progress::Cached {
                design: design.name.clone(),
            });
            return Ok(model);
        }
        std::fs::create_dir_all(&self.models).map_err(BuildError::io(&self.models))?;
        let _lock = lock(&folder.with_extension("lock"), &mut || {
            progress(Progress::Waiting {
                design: design.name.clone(),
            });
        })?;
        if let Some(model) = read_built(&folder)? {
            check(&model.info)?;
            progress(Progress::Cached {
                design: design.name.clone(),
            });
            return Ok(model);
        }
        remove_abandoned(&self.models);
        let building = Scratch::create(&folder)?;
        progress(Progress::Verilating {
            design: design.name.clone(),
        });
        let generated = verilate::verilate(&self.tools, design, self.waves, &building.0)?;
        check(&generated.info)?;
        let runtime = self.runtime()?;
        compile::compile(
            &self.tools,
            &generated,
            self.waves,
            &runtime,
            &building.0,
            &mut |done, of| {
                progress(Progress::Compiling {
                    design: design.name.clone(),
                    done,
                    of,
                });
            },
        )?;
        building.finish_model(&generated.info, &folder)?;
        progress(Progress::Built {
            design: design.name.clone(),
        });
        Ok(BuiltModel {
            folder,
            info: generated.info,
        })
    }

    /// The folder with Verilator's own files, compiled once for all models.
    fn runtime(&self) -> Result<PathBuf, BuildError> {
        let hash = design::hash_of(&[&self.environment()]);
        let folder = self.models.join(format!("runtime-{hash}"));
        if folder.exists() {
            return Ok(folder);
        }
        let _lock = lock(&folder.with_extension("lock"), &mut || {})?;
        if !folder.exists() {
            let building = Scratch::create(&folder)?;
            compile::compile_runtime(&self.tools, self.waves, &building.0)?;
            building.finish(&folder)?;
        }
        Ok(folder)
    }

    /// The ports of a design, without compiling it. Cached as models are.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn inspect(&self, design: &Design) -> Result<ModelInfo, BuildError> {
        let hash = design.hash(&self.environment())?;
        let folder = self.models.join(format!("ports-{hash}"));
        if let Some(inspected) = read_built(&folder)? {
            return Ok(inspected.info);
        }
        std::fs::create_dir_all(&self.models).map_err(BuildError::io(&self.models))?;
        let _lock = lock(&folder.with_extension("lock"), &mut || {})?;
        if let Some(inspected) = read_built(&folder)? {
            return Ok(inspected.info);
        }
        let scratch = Scratch::create(&folder)?;
        let info = verilate::verilate(&self.tools, design, self.waves, &scratch.0)?.info;
        scratch.finish_model(&info, &folder)?;
        Ok(info)
    }
}

fn read_built(folder: &Path) -> Result<Option<BuiltModel>, BuildError> {
    let path = folder.join("model.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BuildError::io(path)(error)),
    };
    let info = serde_json::from_str(&text).map_err(|error| BuildError::Damaged {
        path: folder.to_owned(),
        reason: format!("model.json: {error}"),
    })?;
    Ok(Some(BuiltModel {
        folder: folder.to_owned(),
        info,
    }))
}

/// Takes the lock until the file is dropped; calls `waiting` once if somebody has it.
fn lock(path: &Path, waiting: &mut dyn FnMut()) -> Result<File, BuildError> {
    let file = File::create(path).map_err(BuildError::io(path))?;
    let mut flags = libc::LOCK_EX | libc::LOCK_NB;
    loop {
        // SAFETY: a call on a descriptor that `file` keeps open.
        if unsafe { libc::flock(file.as_raw_fd(), flags) } == 0 {
            return Ok(file);
        }
        let error = std::io::Error::last_os_error();
        match error.kind() {
            std::io::ErrorKind::WouldBlock => {
                waiting();
                flags = libc::LOCK_EX;
            }
            std::io::ErrorKind::Interrupted => {}
            _ => return Err(BuildError::io(path)(error)),
        }
    }
}

/// Removes what this process is building in the user's cache, when it ends in the middle of it.
pub fn remove_unfinished() {
    let own = std::process::id().to_string();
    remove_scratch(&cache_root().join("models"), |process| process == own);
}

/// Removes what builders left behind that were killed. Failing to is no reason not to build.
fn remove_abandoned(models: &Path) {
    remove_scratch(models, |process| !Path::new("/proc").join(process).exists());
}

/// Removes the scratch folders of some processes.
fn remove_scratch(models: &Path, of: impl Fn(&str) -> bool) {
    for entry in std::fs::read_dir(models).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let builder = name
            .to_str()
            .and_then(|name| name.split_once(".tmp")?.1.split_once('-'));
        if let Some((process, _)) = builder {
            if of(process) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// A folder that vanishes unless it is finished.
struct Scratch(PathBuf);

impl Scratch {
    /// A new folder beside `folder`.
    fn create(folder: &Path) -> Result<Self, BuildError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.with_extension(format!("tmp{}-{number}", std::process::id()));
        // A folder of this name can only be what a killed process with our number left.
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(BuildError::io(path)(error));
            }
            _ => {}
        }
        std::fs::create_dir_all(&path).map_err(BuildError::io(&path))?;
        Ok(Self(path))
    }

    /// Gives the folder its name.
    fn finish(&self, folder: &Path) -> Result<(), BuildError> {
        std::fs::rename(&self.0, folder).map_err(BuildError::io(folder))
    }

    /// Keeps what a model needs and gives the folder its name.
    fn finish_model(&self, info: &ModelInfo, folder: &Path) -> Result<(), BuildError> {
        for entry in std::fs::read_dir(&self.0).map_err(BuildError::io(&self.0))? {
            let path = entry.map_err(BuildError::io(&self.0))?.path();
            let kept = path.ends_with("model.so") || path.extension().is_some_and(|e| e == "sv");
            if !kept {
                std::fs::remove_file(&path).map_err(BuildError::io(&path))?;
            }
        }
        let text = serde_json::to_string_pretty(info).map_err(|error| BuildError::Damaged {
            path: self.0.clone(),
            reason: error.to_string(),
        })?;
        let path = self.0.join("model.json");
        std::fs::write(&path, text).map_err(BuildError::io(&path))?;
        self.finish(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.0.exists() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
