//! Rights and limits of a process with a kernel's model.

use super::KernelHost;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Prepares a command: the process ends with the thread that starts it, gets no new privileges, and has limits.
pub(super) fn limit<'a>(command: &'a mut Command, host: &KernelHost) -> &'a mut Command {
    let memory = host.memory;
    let enter = move || {
        // SAFETY: affects this process only.
        unsafe {
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        }
        for (kind, bound) in [
            (libc::RLIMIT_CORE, 0),
            (libc::RLIMIT_FSIZE, 0),
            (libc::RLIMIT_NOFILE, 64),
            (libc::RLIMIT_AS, memory),
        ] {
            let limit = libc::rlimit {
                rlim_cur: bound,
                rlim_max: bound,
            };
            // SAFETY: reads the structure.
            check(unsafe { libc::setrlimit(kind, &limit) })?;
        }
        Ok(())
    };
    // A signal of the terminal is the program's: it stops its kernels in order.
    command.process_group(0);
    // SAFETY: the closure only makes system calls, which are allowed between fork and exec.
    unsafe { command.pre_exec(enter) }
}

/// Closes all descriptors but the first three, which the parent has chosen.
pub(super) fn close_descriptors() {
    // SAFETY: called first thing in a process that owns no descriptor beyond the standard ones.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
}

/// System calls of a model: memory, the end, and reading files (`$readmemh`), which Landlock restricts.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_futex,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_lseek,
    libc::SYS_readlinkat,
    libc::SYS_fcntl,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    // The start of a thread that was made while the model was loaded.
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
];

/// The audit number of the architecture (`linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(not(target_arch = "x86_64"))]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// From here on, numbers are those of another interface (x32).
const OTHER_NUMBERS: u32 = 0x4000_0000;
/// Instructions (`linux/bpf_common.h`).
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
/// Results (`linux/seccomp.h`); the second with EPERM.
const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000 | libc::EPERM as u32;
const KILL: u32 = 0x8000_0000;

/// Refuses this process every system call that a model does not make; a thread of the model exists already.
pub(super) fn restrict_calls() -> io::Result<()> {
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = vec![
        step(LOAD, 0, 0, ARCHITECTURE_AT),
        step(EQUAL, 1, 0, ARCHITECTURE),
        step(RETURN, 0, 0, KILL),
        step(LOAD, 0, 0, NUMBER),
        step(AT_LEAST, 0, 1, OTHER_NUMBERS),
        step(RETURN, 0, 0, KILL),
    ];
    for call in ALLOWED {
        filter.push(step(EQUAL, 0, 1, *call as u32));
        filter.push(step(RETURN, 0, 0, ALLOW));
    }
    filter.push(step(RETURN, 0, 0, REFUSE));
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    let (set, all_threads) = (
        libc::SECCOMP_SET_MODE_FILTER,
        libc::SECCOMP_FILTER_FLAG_TSYNC,
    );
    // SAFETY: the program is whole and read during the call.
    check(unsafe { libc::syscall(libc::SYS_seccomp, set, all_threads, &program) as libc::c_int })
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
