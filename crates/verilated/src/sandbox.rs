//! Runs the tools of a build within limits, and without access to what the build does not need.
//!
//! RTL of one user may be compiled with the rights of another (a daemon's). Verilator and the compiler then read only
//! their own files and the folders of the RTL, write only the folder of the build, and reach no network; each build has
//! a limit of time, memory and storage. Every tool is the leader of a process group, which is killed whole at a limit.
//!
//! Files are restricted by Landlock, the network by a namespace; a system that lacks one of them is named by
//! [`sandbox_state`].

use crate::design::Design;
use crate::error::BuildError;
use crate::toolchain::Toolchain;
use landlock::{
    path_beneath_rules, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, ABI,
};
use std::ffi::c_int;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Limits of a build, for RTL of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Duration of a build.
    pub time: Duration,
    /// Memory of each tool's process, in bytes.
    pub memory: u64,
    /// Bytes that a build may write, and that its sources may have (at most 256 MiB).
    pub storage: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(1800),
            memory: 8 << 30,
            storage: 4 << 30,
        }
    }
}

/// Parts of a sandbox that this system offers; the reason of a missing one.
#[derive(Clone, Debug)]
pub struct SandboxState {
    /// Restricted access to files, by Landlock.
    pub files: Result<(), String>,
    /// No network, by a namespace.
    pub network: Result<(), String>,
}

/// Parts of a sandbox that this system offers. Starts a process the first time.
pub fn sandbox_state() -> &'static SandboxState {
    static STATE: OnceLock<SandboxState> = OnceLock::new();
    STATE.get_or_init(|| {
        let mut probe = Command::new("/proc/self/exe");
        probe.arg("--version").stdin(Stdio::null());
        probe.stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: the closure only makes system calls, which are allowed between fork and exec; its error ends the child
        // before exec, so no program runs.
        unsafe {
            probe.pre_exec(|| {
                leave_network()?;
                Err(io::Error::from_raw_os_error(libc::ECANCELED))
            });
        }
        let network = match threads::child(&mut probe).spawn() {
            Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => Ok(()),
            Err(error) => Err(format!("no network namespace: {error}")),
            Ok(mut child) => {
                let _ = child.wait();
                Err("no network namespace".to_owned())
            }
        };
        let state = SandboxState {
            files: landlock_version().map_err(|error| format!("no Landlock: {error}")),
            network,
        };
        for missing in [&state.files, &state.network]
            .into_iter()
            .flat_map(|part| part.as_ref().err())
        {
            tracing::warn!(
                missing,
                "builds are not confined entirely; see `tombolo doctor`"
            );
        }
        state
    })
}

/// Whether the system has Landlock.
fn landlock_version() -> io::Result<()> {
    const VERSION: c_int = 1;
    // SAFETY: with this flag the call reads nothing and returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    };
    match version {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Moves this process into an empty network namespace; an unprivileged one needs a user namespace for that.
fn leave_network() -> io::Result<()> {
    for flags in [libc::CLONE_NEWNET, libc::CLONE_NEWUSER | libc::CLONE_NEWNET] {
        // SAFETY: affects this process only.
        if unsafe { libc::unshare(flags) } == 0 {
            return Ok(());
        }
    }
    Err(io::Error::last_os_error())
}

/// Read by every tool: libraries, headers, programs.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/sbin",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/dev/urandom",
    "/sys/devices/system/cpu",
];

/// Maximum size of a design's sources in bytes: they are read to find a model in the cache, which must not take long.
const SOURCES: u64 = 256 << 20;

/// Longest output of a tool that is kept.
const OUTPUT: usize = 1 << 20;

/// Interval in which the written bytes are counted.
const COUNTS: Duration = Duration::from_millis(200);

/// How the tools of a build run.
#[derive(Clone, Debug)]
pub(crate) enum Sandbox {
    /// As any child process: the RTL is the user's own.
    None,
    /// Within limits.
    Limited(Arc<Limited>),
}

/// A build within limits.
#[derive(Debug)]
pub(crate) struct Limited {
    design: String,
    limits: Limits,
    end: Instant,
    /// The only folder that the tools write.
    folder: PathBuf,
    /// Access to files; without Landlock there is none.
    ruleset: Option<OwnedFd>,
    /// Set when no client waits for the build any more.
    abandoned: Option<Arc<AtomicBool>>,
}

impl Sandbox {
    /// For a build into `folder`. The tools may read the folders of the design, and `runtime`.
    ///
    /// # Errors
    /// [`BuildError::Io`]: the system refuses the rules.
    pub(crate) fn of(
        limits: Option<Limits>,
        abandoned: Option<Arc<AtomicBool>>,
        tools: &Toolchain,
        design: &Design,
        folder: &Path,
        runtime: Option<&Path>,
    ) -> Result<Self, BuildError> {
        let Some(limits) = limits else {
            return Ok(Self::None);
        };
        let mut readable = tools.folders();
        readable.extend(design.rtl_folders());
        readable.extend(runtime.map(Path::to_owned));
        let ruleset = match sandbox_state().files {
            Err(_) => None,
            Ok(()) => rules(
                &readable,
                tools.compiler.written().into_iter().chain([folder]),
            )
            .map_err(|error| BuildError::io(folder)(io::Error::other(error.to_string())))?
            .into(),
        };
        Ok(Self::Limited(Arc::new(Limited {
            design: design.name.clone(),
            limits,
            end: Instant::now() + limits.time,
            folder: folder.to_owned(),
            ruleset,
            abandoned,
        })))
    }

    /// Runs a tool.
    ///
    /// # Errors
    /// [`BuildError::Limit`], [`BuildError::Abandoned`], or the tool does not start.
    pub(crate) fn output(&self, command: &mut Command) -> Result<Output, BuildError> {
        match self {
            Self::None => {
                let program = PathBuf::from(command.get_program());
                threads::child(command)
                    .output()
                    .map_err(BuildError::io(program))
            }
            Self::Limited(limited) => limited.output(command),
        }
    }
}

/// Restricts this thread, and those that it starts, to reading files of the system and of these folders, as far as the
/// system has Landlock.
///
/// # Errors
/// The system refuses the rules.
pub fn restrict_files(readable: &[PathBuf]) -> io::Result<()> {
    let rules = rules(readable, std::iter::empty());
    let restricted = rules.and_then(RulesetCreated::restrict_self);
    restricted.map(|_| ()).map_err(io::Error::other)
}

/// Access to files: `readable` to read and execute, `written` to write; and no network, as far as Landlock restricts it.
fn rules<'a>(
    readable: &[PathBuf],
    written: impl Iterator<Item = &'a Path>,
) -> Result<RulesetCreated, RulesetError> {
    let abi = ABI::V6;
    let special: BitFlags<AccessFs> = AccessFs::MakeSock
        | AccessFs::MakeFifo
        | AccessFs::MakeChar
        | AccessFs::MakeBlock
        | AccessFs::IoctlDev;
    let all = AccessFs::from_all(abi);
    let readable = readable.iter().map(PathBuf::as_path);
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?
        .add_rules(path_beneath_rules(
            SYSTEM.iter().map(Path::new).chain(readable),
            AccessFs::from_read(abi),
        ))?
        .add_rules(path_beneath_rules(
            [Path::new("/dev/null")],
            AccessFs::ReadFile | AccessFs::WriteFile,
        ))?
        .add_rules(path_beneath_rules(written, all & !special))
}

impl Limited {
    fn output(&self, command: &mut Command) -> Result<Output, BuildError> {
        self.check_awaited()?;
        let program = PathBuf::from(command.get_program());
        // Temporary files, too.
        command.env("TMPDIR", &self.folder);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command.process_group(0);
        let child = threads::child(command);
        let rules = self.ruleset.as_ref().map(AsRawFd::as_raw_fd);
        let limits = self.limits;
        let network = sandbox_state().network.is_ok();
        // SAFETY: the closure only makes system calls, which are allowed between fork and exec. The descriptor is open
        // as long as `self`, and the command does not outlive it.
        unsafe {
            child.pre_exec(move || enter(limits, rules, network));
        }
        let mut child = child.spawn().map_err(BuildError::io(&program))?;
        let ended = self.attend(&mut child);
        // Whatever the tool has started, and what is left after a limit.
        // SAFETY: the group is the child's own; it has not been waited for, so its number is not used again.
        unsafe { libc::kill(-(child.id() as c_int), libc::SIGKILL) };
        let status = child.wait().map_err(BuildError::io(&program))?;
        let stderr = ended?;
        let said = String::from_utf8_lossy(&stderr);
        let is_full = status.signal() == Some(libc::SIGXFSZ) || said.contains(FILE_TOO_LARGE);
        if is_full || self.written() >= self.limits.storage {
            return Err(self.exceeds_storage());
        }
        if !status.success() && OUT_OF_MEMORY.iter().any(|words| said.contains(words)) {
            let bytes = self.limits.memory;
            return Err(self.exceeds(format!("{bytes} bytes of memory for each tool")));
        }
        Ok(Output {
            status,
            stdout: Vec::new(),
            stderr,
        })
    }

    /// Reads the output of a tool until it ends, or a limit is exceeded.
    fn attend(&self, child: &mut Child) -> Result<Vec<u8>, BuildError> {
        let mut said = Vec::new();
        let Some(mut pipe) = child.stderr.take() else {
            return Ok(said);
        };
        let mut buffer = [0; 1 << 16];
        let mut counted = Instant::now();
        loop {
            let now = Instant::now();
            self.check_time()?;
            if now - counted >= COUNTS {
                if self.written() >= self.limits.storage {
                    return Err(self.exceeds_storage());
                }
                counted = Instant::now();
            }
            if !is_readable(&pipe, COUNTS.min(self.end.saturating_duration_since(now))) {
                continue;
            }
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                // The rest is read and dropped: the first errors count.
                Ok(count) => said.extend(buffer[..count].iter().take(OUTPUT - said.len())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(BuildError::io("output of a tool")(error)),
            }
        }
        // It may close its output and go on.
        while !has_ended(child) {
            self.check_time()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(said)
    }

    fn check_time(&self) -> Result<(), BuildError> {
        self.check_awaited()?;
        if Instant::now() < self.end {
            return Ok(());
        }
        let seconds = self.limits.time.as_secs_f64();
        Err(self.exceeds(format!("{seconds} seconds")))
    }

    fn check_awaited(&self) -> Result<(), BuildError> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Acquire);
        match self.abandoned.as_deref().is_some_and(is_set) {
            true => Err(BuildError::Abandoned {
                design: self.design.clone(),
            }),
            false => Ok(()),
        }
    }

    /// Bytes in the folder of the build.
    fn written(&self) -> u64 {
        let mut bytes = 0;
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(found) if found.is_dir() => folders.push(entry.path()),
                    Ok(found) => bytes += found.len(),
                    // Removed meanwhile.
                    Err(_) => {}
                }
            }
        }
        bytes
    }

    fn exceeds_storage(&self) -> BuildError {
        let bytes = self.limits.storage;
        self.exceeds(format!("{bytes} bytes of written files"))
    }

    fn exceeds(&self, limit: String) -> BuildError {
        BuildError::Limit {
            design: self.design.clone(),
            limit,
        }
    }
}

/// Message of the compiler if a program of its own is ended by `SIGXFSZ`.
const FILE_TOO_LARGE: &str = "File size limit exceeded";

/// Messages of tools that get no memory.
const OUT_OF_MEMORY: [&str; 6] = [
    "bad_alloc",
    "out of memory",
    "Out of memory",
    "memory exhausted",
    "Cannot allocate memory",
    "not enough memory",
];

/// In a child, before exec: limits, and what it cannot reach.
fn enter(limits: Limits, rules: Option<c_int>, network: bool) -> io::Result<()> {
    let call = |result: libc::c_long| match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    if network {
        leave_network()?;
    }
    // SAFETY: calls on this process, with a descriptor that is open here.
    unsafe {
        // If the builder is killed, its tools end.
        call(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())?;
        call(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        if let Some(rules) = rules {
            call(libc::syscall(libc::SYS_landlock_restrict_self, rules, 0))?;
        }
    }
    // Processes that tools start end by this one, should nobody kill them; it counts all threads.
    let seconds = limits.time.as_secs().saturating_add(1).saturating_mul(64);
    let bounds = [
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_CPU, seconds),
        (libc::RLIMIT_FSIZE, limits.storage),
        // Last: nothing more is allocated before exec.
        (libc::RLIMIT_AS, limits.memory),
    ];
    for (kind, bound) in bounds {
        lower(kind, bound)?;
    }
    Ok(())
}

/// Lowers a limit of this process; an unprivileged one cannot raise it.
fn lower(kind: libc::__rlimit_resource_t, bound: u64) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: fills the structure in, then reads it.
    let result = unsafe {
        libc::getrlimit(kind, &mut limit);
        limit.rlim_max = limit.rlim_max.min(bound);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(kind, &limit)
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until a pipe has data or is closed.
fn is_readable(pipe: &impl AsRawFd, most: Duration) -> bool {
    let mut poll = libc::pollfd {
        fd: pipe.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let most = c_int::try_from(most.as_millis()).unwrap_or(c_int::MAX);
    // SAFETY: one structure, which is read and written.
    let found = unsafe { libc::poll(&mut poll, 1, most.max(1)) };
    found > 0
}

/// Whether a child has ended; it is not waited for, so its number stays its own.
fn has_ended(child: &Child) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: fills the structure in; zero is a valid value of all its fields.
    unsafe {
        let failed = libc::waitid(libc::P_PID, child.id(), info.as_mut_ptr(), flags) != 0;
        failed || info.assume_init().si_pid() != 0
    }
}

/// Checks that every file of a design is regular and lies in its folders, and their size: what a link leads to would be
/// read with the rights of this process.
pub(crate) fn check_sources(design: &Design, limits: Limits) -> Result<(), BuildError> {
    let refused = |path: &Path, rule| BuildError::Source {
        design: design.name.clone(),
        path: path.to_owned(),
        rule,
    };
    let real = |path: &Path| std::fs::canonicalize(path).map_err(BuildError::io(path));
    let mut bytes = 0;
    for set in &design.file_sets {
        let base = real(&set.base)?;
        let mut roots = vec![base.clone()];
        let is_there = |folder: &&PathBuf| set.base.join(folder).exists();
        for folder in set.include.iter().filter(is_there) {
            let found = real(&set.base.join(folder))?;
            // A library lies next to the kernel's folder.
            if !found.starts_with(&base) && found != without_dots(&base.join(folder)) {
                return Err(refused(
                    folder,
                    "a link to a folder elsewhere; put a copy there",
                ));
            }
            roots.push(found);
        }
        for file in set.all_files()? {
            let found = real(&set.base.join(&file))?;
            if !roots.iter().any(|root| found.starts_with(root)) {
                return Err(refused(
                    &file,
                    "a link to a file elsewhere; put a copy there",
                ));
            }
            let metadata = std::fs::metadata(&found).map_err(BuildError::io(&found))?;
            if !metadata.is_file() {
                return Err(refused(&file, "no regular file; remove it"));
            }
            bytes += metadata.len();
        }
    }
    let most = limits.storage.min(SOURCES);
    match bytes > most {
        true => Err(BuildError::Limit {
            design: design.name.clone(),
            limit: format!("{most} bytes of sources"),
        }),
        false => Ok(()),
    }
}

/// The path without `.` and `..`, which no link precedes.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use tempfile::TempDir;

    /// A build in a folder of its own, next to a file of another user.
    struct Build {
        above: TempDir,
        sandbox: Sandbox,
    }

    impl Build {
        fn new(limits: Limits) -> Self {
            let above = tempfile::tempdir().unwrap();
            let folder = above.path().join("models/build");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(above.path().join("secret"), "xyzzy").unwrap();
            let ruleset = match sandbox_state().files {
                Ok(()) => rules(&[], [folder.as_path()].into_iter()).unwrap().into(),
                Err(_) => None,
            };
            let limited = Limited {
                design: "test".to_owned(),
                limits,
                end: Instant::now() + limits.time,
                folder,
                ruleset,
                abandoned: None,
            };
            let sandbox = Sandbox::Limited(Arc::new(limited));
            Self { above, sandbox }
        }

        fn run(&self, script: &str) -> Result<Output, BuildError> {
            let mut command = Command::new("bash");
            command.args(["-c", script]);
            command.current_dir(self.above.path().join("models/build"));
            self.sandbox.output(&mut command)
        }
    }

    #[test]
    fn only_the_folder_of_the_build_is_written_and_nothing_of_others_read() {
        if sandbox_state().files.is_err() {
            return;
        }
        let build = Build::new(Limits::default());
        let works = |script| {
            let output = build.run(script).unwrap();
            (
                output.status.success(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )
        };
        assert!(works("echo x > here && cat here >&2 && mkdir f && mv here f/there").0);
        assert!(works("ls -l /usr/bin/env >&2").0);
        for script in [
            "cat ../../secret >&2",
            "cat /etc/passwd >&2",
            "ls ../..",
            "echo x > ../../left",
            "echo x >> ../../secret",
            "mv ../../secret .",
            "ln ../../secret .",
            "mkfifo here",
        ] {
            let (works, said) = works(script);
            assert!(
                !works && !said.contains("xyzzy") && !said.contains("root:"),
                "{script}: {said}"
            );
        }
        let secret = std::fs::read_to_string(build.above.path().join("secret")).unwrap();
        assert_eq!(secret, "xyzzy");
        assert!(!build.above.path().join("left").exists());
    }

    #[test]
    fn no_network_is_reached() {
        if sandbox_state().network.is_err() {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        let command = || {
            let mut command = Command::new("bash");
            command.args(["-c", &script]);
            command
        };
        assert!(Sandbox::None
            .output(&mut command())
            .unwrap()
            .status
            .success());
        let output = Build::new(Limits::default()).run(&script).unwrap();
        assert!(!output.status.success());
    }

    #[test]
    fn a_limit_ends_every_process_of_a_tool() {
        let limit = |limits: Limits, script: &str| {
            let build = Build::new(limits);
            let begin = Instant::now();
            let error = build.run(script).unwrap_err();
            assert!(matches!(error, BuildError::Limit { .. }), "{error}");
            assert!(begin.elapsed() < Duration::from_secs(30));
            (build, error.to_string())
        };
        let limits = Limits::default();
        let short = Limits {
            time: Duration::from_millis(300),
            ..limits
        };
        let (build, error) = limit(short, "sleep 1000 & echo $! > started; wait");
        assert!(error.contains("0.3 seconds"), "{error}");
        assert_ended(&build);
        // It closes its output, or fills it, and goes on.
        limit(short, "exec >&- 2>&-; sleep 1000");
        limit(short, "yes >&2");
        let small = Limits {
            storage: 100_000,
            ..limits
        };
        for script in [
            "yes > one",
            "for i in {1..100000}; do printf %4096s x > f$i; done",
            "mkdir f; for i in {1..100000}; do printf %4096s x > f/f$i; done",
        ] {
            let (_, error) = limit(small, script);
            assert!(error.contains("bytes of written files"), "{error}");
        }
        // What a tool leaves running ends with it.
        let build = Build::new(limits);
        let script = "sleep 1000 <&- >&- 2>&- & echo $! > started";
        assert!(build.run(script).unwrap().status.success());
        assert_ended(&build);
    }

    fn assert_ended(build: &Build) {
        let started = build.above.path().join("models/build/started");
        let process = std::fs::read_to_string(started).unwrap();
        let begin = Instant::now();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", process.trim()));
        // Its new parent may not have waited for it yet.
        while state().is_ok_and(|state| !state.contains(") Z ")) {
            assert!(begin.elapsed() < Duration::from_secs(10), "{process}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn the_kept_output_is_bounded() {
        let build = Build::new(Limits::default());
        let output = build.run("yes | head -c 10000000 >&2").unwrap();
        assert_eq!(output.stderr.len(), OUTPUT);
    }
}
