//! The builder: finds models in the cache, and builds missing ones once.

use crate::design::{self, Design};
use crate::entry::{self, lock, lock_of, lock_unless, Scratch};
use crate::error::BuildError;
use crate::model::compile;
use crate::model::verilate::{self, ModelInfo};
use crate::prebuilt::{self, Prebuilt};
use crate::program::{self, Program};
use crate::sandbox::{check_sources, Limits, Sandbox};
use crate::toolchain::{cache_root, Toolchain};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;

/// State of a build, for a progress display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The model is prebuilt by the package.
    Prebuilt {
        /// Name of the design.
        design: String,
    },
    /// The model was in the cache.
    Cached {
        /// Name of the design.
        design: String,
    },
    /// The cached model differs from the one that was built; it is built again.
    Damaged {
        /// Name of the design.
        design: String,
        /// Folder of the model in the cache.
        folder: PathBuf,
        /// Difference that was found.
        reason: String,
    },
    /// Another process is building the same model; this one waits.
    Waiting {
        /// Name of the design.
        design: String,
    },
    /// Verilator is running.
    Verilating {
        /// Name of the design.
        design: String,
    },
    /// The C++ compiler is running.
    Compiling {
        /// Name of the design.
        design: String,
        /// Name of the compiler.
        compiler: String,
        /// Number of compiled files.
        done: usize,
        /// Total number of files.
        of: usize,
    },
    /// The model was built.
    Built {
        /// Name of the design.
        design: String,
    },
}

impl Progress {
    fn compiling(design: &Design, tools: &Toolchain, done: usize, of: usize) -> Self {
        Self::Compiling {
            design: design.name.clone(),
            compiler: tools.compiler.name(),
            done,
            of,
        }
    }
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Prebuilt { design } => write!(f, "{design}: prebuilt"),
            Self::Cached { design } => write!(f, "{design}: in the cache"),
            Self::Damaged {
                design,
                folder,
                reason,
            } => write!(
                f,
                "{design}: the cache is damaged ({}: {reason}); building it again",
                folder.display()
            ),
            Self::Waiting { design } => write!(f, "{design}: another process builds it; waiting"),
            Self::Verilating { design } => write!(f, "{design}: Verilator"),
            Self::Compiling {
                design,
                compiler,
                done,
                of,
            } => {
                write!(
                    f,
                    "{design}: compiling with {compiler}, {done} of {of} files"
                )
            }
            Self::Built { design } => write!(f, "{design}: built"),
        }
    }
}

/// Receives progress; long builds call it from the thread that requested the build.
pub type ProgressSink<'a> = dyn FnMut(Progress) + 'a;

/// A model in the cache.
#[derive(Clone, Debug)]
pub struct BuiltModel {
    /// Folder of the entry.
    pub folder: PathBuf,
    /// Description of the model.
    pub info: ModelInfo,
    /// Folders whose files the RTL may read (`$readmemh`), in search order.
    pub rtl_folders: Vec<PathBuf>,
}

impl BuiltModel {
    /// Path of the shared library.
    pub fn library(&self) -> PathBuf {
        self.folder.join("model.so")
    }
}

/// Builds models, or finds them in the cache.
#[derive(Clone, Debug)]
pub struct Builder {
    /// `None`: a tool is missing, which is an error once something has to be built.
    tools: Option<Toolchain>,
    models: PathBuf,
    /// Prebuilt models.
    prebuilt: Option<Prebuilt>,
    /// Store to fill with models for other machines.
    filled: Option<Prebuilt>,
    waves: bool,
    quick: bool,
    /// For RTL of others.
    limits: Option<Limits>,
    /// Set when no client waits for the build any more.
    abandoned: Option<Arc<AtomicBool>>,
}

/// Variable by which tests request models that compile faster and run slower.
const QUICK: &str = "TOMBOLO_QUICK_MODELS";

impl Builder {
    /// A builder for RTL of others: its tools reach only what the build needs, within limits.
    #[must_use]
    pub fn confined(self, limits: Limits) -> Self {
        Self {
            limits: Some(limits),
            ..self
        }
    }

    /// A confined builder whose builds take at most this duration.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        let limits = self.limits.unwrap_or_default();
        let time = limits.time.min(time);
        self.confined(Limits { time, ..limits })
    }

    /// A builder that gives up once the flag is set: it stops waiting for another build, and kills the tools of a
    /// confined one. Another builder that waits for the same model then builds it.
    #[must_use]
    pub fn unless(self, abandoned: Arc<AtomicBool>) -> Self {
        Self {
            abandoned: Some(abandoned),
            ..self
        }
    }

    /// The sandbox of a build into a folder, with Verilator's own compiled files if it compiles.
    fn sandbox(
        &self,
        tools: &Toolchain,
        design: &Design,
        folder: &Path,
        runtime: Option<&Path>,
    ) -> Result<Sandbox, BuildError> {
        let abandoned = self.abandoned.clone();
        Sandbox::of(self.limits, abandoned, tools, design, folder, runtime)
    }

    /// For a confined build into `scratch`: the design with copies of its sources, which are those of the hash: others
    /// may change theirs meanwhile, and the model is kept for all users of the same sources.
    ///
    /// # Errors
    /// [`BuildError::Source`]: they have changed.
    fn copied(
        &self,
        design: &Design,
        scratch: &Scratch,
        is_same: &dyn Fn(&Design) -> Result<bool, BuildError>,
    ) -> Result<Option<Design>, BuildError> {
        // Only the shell's own RTL sleeps.
        if self.limits.is_none() || !design.sleeping.is_empty() {
            return Ok(None);
        }
        let copy = design.copy_to(&scratch.path().join("sources"))?;
        match is_same(&copy)? {
            true => Ok(Some(copy)),
            false => Err(BuildError::Source {
                design: design.name.clone(),
                path: PathBuf::from("its sources"),
                rule: "they changed during the build; load the kernel again",
            }),
        }
    }

    fn check_sources(&self, design: &Design) -> Result<(), BuildError> {
        let check = |limits| check_sources(design, limits);
        self.limits.map_or(Ok(()), check)
    }

    /// A builder with the machine's tools and the user's cache. With `TOMBOLO_QUICK_MODELS=1` its models compile faster
    /// and run slower, with the same results. With prebuilt models (`TOMBOLO_PREBUILT`) a missing tool is an error only
    /// once it is needed.
    ///
    /// # Errors
    /// [`BuildError::MissingTool`].
    pub fn locate() -> Result<Self, BuildError> {
        let store = prebuilt::of_environment();
        let tools = match Toolchain::locate() {
            Err(BuildError::MissingTool { .. }) if store.is_some() => None,
            tools => Some(tools?),
        };
        let mut builder = Self {
            quick: std::env::var_os(QUICK).is_some_and(|value| value == "1"),
            ..Self::of(tools, &cache_root())
        };
        if let Some(store) = store {
            builder = builder.with_prebuilt(&store);
        }
        match prebuilt::to_fill() {
            Some(store) => builder.filling(&store),
            None => Ok(builder),
        }
    }

    /// A builder that uses models of a store if they equal those that it would build.
    pub fn with_prebuilt(self, store: &Path) -> Self {
        let tools = self.tools.as_ref();
        let fits = |prebuilt: &Prebuilt| tools.is_none_or(|tools| prebuilt.is_of(tools));
        Self {
            prebuilt: Prebuilt::of(store).filter(fits),
            ..self
        }
    }

    /// A builder that puts its models into a store, for every machine with the processor of its tools.
    ///
    /// # Errors
    /// [`BuildError::Io`]: the store cannot be written. [`BuildError::MissingTool`].
    pub fn filling(self, store: &Path) -> Result<Self, BuildError> {
        let filled = Prebuilt::fill(store, &*self.tools()?)?;
        Ok(Self {
            filled: Some(filled),
            ..self
        })
    }

    /// A builder with these tools and this cache folder.
    pub fn new(tools: Toolchain, cache: &Path) -> Self {
        Self::of(Some(tools), cache)
    }

    fn of(tools: Option<Toolchain>, cache: &Path) -> Self {
        Self {
            tools,
            models: cache.join("models"),
            prebuilt: None,
            filled: None,
            waves: false,
            quick: false,
            limits: None,
            abandoned: None,
        }
    }

    /// The tools. Missing ones are searched again: the user may have installed them meanwhile.
    fn tools(&self) -> Result<Cow<'_, Toolchain>, BuildError> {
        match &self.tools {
            Some(tools) => Ok(Cow::Borrowed(tools)),
            None => Toolchain::locate().map(Cow::Owned),
        }
    }

    /// Compiler flags of code that runs every cycle.
    fn fast_flags(&self) -> &'static [&'static str] {
        match self.quick {
            true => &compile::QUICK_FLAGS,
            false => &compile::FAST_FLAGS,
        }
    }

    /// A builder of models that can write waveforms; they are slower, and cached separately.
    pub fn with_waves(&self) -> Self {
        Self {
            waves: true,
            ..self.clone()
        }
    }

    /// All inputs of a model except its design; `made_by` names the tools and the processor.
    fn environment(&self, made_by: &str) -> String {
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
            "{}{waves}\n{:?} {:?} {:?} {:?} {:?} {} {}\n{}\n{}",
            made_by,
            verilate::FLAGS,
            compile::COMMON_FLAGS,
            self.fast_flags(),
            compile::SLOW_FLAGS,
            (compile::WHOLE, compile::SECOND),
            compile::ABI,
            env!("CARGO_PKG_VERSION"),
            compile::GLUE,
            compile::RUNTIME_HEADER,
        )
    }

    /// Path of a design's model in the cache, built or not.
    fn place(
        &self,
        prefix: &str,
        design: &Design,
        tools: &Toolchain,
    ) -> Result<PathBuf, BuildError> {
        let (folder, made_by) = match &self.filled {
            Some(filled) if !self.waves => (filled.folder(), filled.level()),
            _ => (&*self.models, &*tools.identity),
        };
        let hash = design.hash(&self.environment(made_by))?;
        Ok(folder.join(format!("{prefix}{hash}")))
    }

    /// The prebuilt model of a design, if there is an intact one.
    pub(crate) fn prebuilt(
        &self,
        prefix: &str,
        design: &Design,
    ) -> Result<Option<BuiltModel>, BuildError> {
        let Some(prebuilt) = self.prebuilt.as_ref().filter(|_| !self.waves) else {
            return Ok(None);
        };
        let hash = design.hash(&self.environment(prebuilt.level()))?;
        let folder = prebuilt.folder().join(format!("{prefix}{hash}"));
        Ok(entry::read(&folder)?.map(|info| BuiltModel {
            folder,
            info,
            rtl_folders: design.rtl_folders(),
        }))
    }

    /// The model of a design: prebuilt, from the cache, or newly built. `check` examines the ports before the expensive
    /// steps.
    ///
    /// # Errors
    /// [`BuildError`], also from `check`.
    pub fn model(
        &self,
        design: &Design,
        check: &dyn Fn(&ModelInfo) -> Result<(), BuildError>,
        progress: &mut ProgressSink<'_>,
    ) -> Result<BuiltModel, BuildError> {
        self.check_sources(design)?;
        if let Some(built) = self.prebuilt("", design)? {
            progress(Progress::Prebuilt {
                design: design.name.clone(),
            });
            check(&built.info)?;
            return Ok(built);
        }
        let tools = &*self.tools()?;
        let folder = self.place("", design, tools)?;
        let find = || entry::read(&folder);
        let is_same = |copy: &Design| Ok(self.place("", copy, tools)? == folder);
        let build = |building: &Scratch, progress: &mut ProgressSink<'_>| {
            let copy = self.copied(design, building, &is_same)?;
            let used = copy.as_ref().unwrap_or(design);
            // The tools may read it, and no other entry of the cache.
            let runtime = match self.limits {
                Some(_) => Some(self.runtime(tools)?),
                None => None,
            };
            let sandbox = self.sandbox(tools, used, building.path(), runtime.as_deref())?;
            let generated = verilate::verilate(tools, used, self.waves, building.path(), &sandbox)
                .map_err(|error| design.name_in(error, used))?;
            check(&generated.info)?;
            let runtime = self.runtime(tools)?;
            compile::compile(
                tools,
                &generated,
                self.fast_flags(),
                self.waves,
                &runtime,
                (building.path(), &sandbox),
                &mut |done, of| progress(Progress::compiling(design, tools, done, of)),
            )?;
            building.finish_model(&generated.info, &folder)?;
            Ok(generated.info)
        };
        let (info, found) = self.find_or_build(design, &folder, &find, &build, progress)?;
        if found {
            check(&info)?;
        }
        Ok(BuiltModel {
            folder,
            info,
            rtl_folders: design.rtl_folders(),
        })
    }

    /// A program: RTL with C++ of the caller. Returns its path in the cache, where it was found or built.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn program(
        &self,
        program: &Program,
        progress: &mut ProgressSink<'_>,
    ) -> Result<PathBuf, BuildError> {
        let design = &program.design;
        let tools = &*self.tools()?;
        let folder = self.models.join(program.hash(tools)?);
        let find = || Ok(entry::is_whole(&folder).then_some(()));
        let build = |building: &Scratch, progress: &mut ProgressSink<'_>| {
            let runtime = self.runtime_of(&program.runtime_key(tools), &|path| {
                program::compile_runtime(tools, path)
            })?;
            program.build(tools, &runtime, building.path(), &mut |done, of| {
                progress(Progress::compiling(design, tools, done, of));
            })?;
            building.keep_only(&program.file())?;
            building.finish(&folder)
        };
        self.find_or_build(design, &folder, &find, &build, progress)?;
        Ok(folder.join(program.file()))
    }

    /// The result of `find` in the cache, otherwise that of `build`, made under the entry's lock; and whether it was
    /// found.
    fn find_or_build<T>(
        &self,
        design: &Design,
        folder: &Path,
        find: &dyn Fn() -> Result<Option<T>, BuildError>,
        build: &dyn Fn(&Scratch, &mut ProgressSink<'_>) -> Result<T, BuildError>,
        progress: &mut ProgressSink<'_>,
    ) -> Result<(T, bool), BuildError> {
        let name = || design.name.clone();
        if let Some(found) = find()? {
            progress(Progress::Cached { design: name() });
            return Ok((found, true));
        }
        let models = folder.parent().unwrap_or(&self.models);
        std::fs::create_dir_all(models).map_err(BuildError::cache(models))?;
        let mut waiting = || progress(Progress::Waiting { design: name() });
        let abandoned = self.abandoned.as_deref();
        let Some(_lock) = lock_unless(abandoned, &lock_of(folder), &mut waiting)? else {
            return Err(BuildError::Abandoned { design: name() });
        };
        if let Some(found) = find()? {
            progress(Progress::Cached { design: name() });
            return Ok((found, true));
        }
        if let Some(reason) = entry::clear(folder)? {
            progress(Progress::Damaged {
                design: name(),
                folder: folder.to_owned(),
                reason,
            });
        }
        entry::remove_abandoned(models, folder);
        let building = Scratch::create(folder)?;
        progress(Progress::Verilating { design: name() });
        let built = build(&building, progress)?;
        progress(Progress::Built { design: name() });
        Ok((built, false))
    }

    /// The folder with Verilator's own files, compiled once for all models.
    fn runtime(&self, tools: &Toolchain) -> Result<PathBuf, BuildError> {
        self.runtime_of(&self.environment(&tools.identity), &|path| {
            compile::compile_runtime(tools, self.waves, path)
        })
    }

    /// The folder with Verilator's own files as `compile` compiles them, once for all programs with the same `key`.
    fn runtime_of(
        &self,
        key: &str,
        compile: &dyn Fn(&Path) -> Result<(), BuildError>,
    ) -> Result<PathBuf, BuildError> {
        let folder = self
            .models
            .join(format!("runtime-{}", design::hash_of(&[key])));
        if entry::is_whole(&folder) {
            return Ok(folder);
        }
        std::fs::create_dir_all(&self.models).map_err(BuildError::cache(&self.models))?;
        let _lock = lock(&lock_of(&folder), &mut || {})?;
        if !entry::is_whole(&folder) {
            entry::clear(&folder)?;
            let building = Scratch::create(&folder)?;
            compile(building.path())?;
            building.finish(&folder)?;
        }
        Ok(folder)
    }

    /// The ports of a design, without compiling it. Cached like models.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn inspect(&self, design: &Design) -> Result<ModelInfo, BuildError> {
        self.check_sources(design)?;
        if let Some(built) = self.prebuilt("ports-", design)? {
            return Ok(built.info);
        }
        let tools = &*self.tools()?;
        let folder = self.place("ports-", design, tools)?;
        let find = || entry::read(&folder);
        let is_same = |copy: &Design| Ok(self.place("ports-", copy, tools)? == folder);
        let build = |scratch: &Scratch, _: &mut ProgressSink<'_>| {
            let copy = self.copied(design, scratch, &is_same)?;
            let used = copy.as_ref().unwrap_or(design);
            let sandbox = self.sandbox(tools, used, scratch.path(), None)?;
            let info = verilate::verilate(tools, used, self.waves, scratch.path(), &sandbox)
                .map_err(|error| design.name_in(error, used))?
                .info;
            scratch.finish_model(&info, &folder)?;
            Ok(info)
        };
        let found = self.find_or_build(design, &folder, &find, &build, &mut |_| {})?;
        Ok(found.0)
    }
}

/// Removes unfinished builds of this process from the user's cache, if it ends during a build.
pub fn remove_unfinished() {
    entry::remove_unfinished(&cache_root().join("models"));
}
