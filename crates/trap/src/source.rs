//! Where in the program an access is: the address of its instruction, and the line of source that it is from.
//!
//! The address is taken while the thread waits: a handler has it in its context; of a thread that waits in the kernel the
//! system says it (`/proc/self/task/N/syscall`). What it means is looked up when a report is made, in the files that
//! the program is made of.

use addr2line::Loader;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The instruction that was interrupted; 0 if it is not known.
#[cfg(target_arch = "x86_64")]
pub(super) fn of_context(context: *mut libc::c_void) -> usize {
    // SAFETY: the third argument of a SA_SIGINFO handler is a ucontext_t.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
}

/// The instruction that was interrupted; 0 if it is not known.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn of_context(_context: *mut libc::c_void) -> usize {
    0
}

/// The instruction at which a thread waits in the kernel.
pub(super) fn of_thread(thread: u64) -> Option<usize> {
    let said = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    program_counter(&said)
}

/// The last number, if the thread waits: `NUMBER [ARGUMENTS] STACK INSTRUCTION`, or `running`.
fn program_counter(said: &str) -> Option<usize> {
    let last = said.split_whitespace().last()?.strip_prefix("0x")?;
    usize::from_str_radix(last, 16).ok()
}

/// A file that the program is made of, where an instruction in it is by the file's own count.
#[derive(Debug, PartialEq, Eq)]
struct InFile {
    path: PathBuf,
    address: u64,
}

/// A search for the file of an instruction.
struct Search {
    code: usize,
    found: Option<InFile>,
}

unsafe extern "C" fn look(
    file: *mut libc::dl_phdr_info,
    _bytes: libc::size_t,
    search: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader's description of a file, whose program headers stay while it is looked at; the search of
    // `file_of`, which waits.
    let (file, search) = unsafe { (&*file, &mut *search.cast::<Search>()) };
    for n in 0..usize::from(file.dlpi_phnum) {
        // SAFETY: one of the headers that the loader counts.
        let part = unsafe { &*file.dlpi_phdr.add(n) };
        let start = (file.dlpi_addr as usize).wrapping_add(part.p_vaddr as usize);
        let inside = search.code.wrapping_sub(start) < part.p_memsz as usize;
        if part.p_type != libc::PT_LOAD || !inside {
            continue;
        }
        let name = if file.dlpi_name.is_null() {
            c""
        } else {
            // SAFETY: a string of the loader.
            unsafe { CStr::from_ptr(file.dlpi_name) }
        };
        let path = match name.to_bytes() {
            // The program itself.
            [] => Path::new("/proc/self/exe"),
            name => Path::new(OsStr::from_bytes(name)),
        };
        search.found = Some(InFile {
            path: path.to_owned(),
            address: (search.code as u64).wrapping_sub(file.dlpi_addr),
        });
        return 1;
    }
    0
}

fn file_of(code: usize) -> Option<InFile> {
    let mut search = Search { code, found: None };
    // SAFETY: `look` gets what it expects, and `search` lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// What looks instructions up: each file is opened once.
#[derive(Default)]
pub struct Sources {
    /// Of each file what is known of its lines, if it can be read.
    files: BTreeMap<PathBuf, Option<Loader>>,
}

/// Whether a line is of a standard library: an access there is its caller's.
fn is_library(file: &str) -> bool {
    ["/rustc/", "/usr/include/", "/usr/lib/"]
        .iter()
        .any(|folder| file.starts_with(folder))
}

/// `FILE:LINE` of an instruction. Where calls were inlined: the innermost that is not of a standard library.
fn line(loader: &Loader, address: u64) -> Option<String> {
    let mut frames = loader.find_frames(address).ok()?;
    let mut innermost = None;
    while let Ok(Some(frame)) = frames.next() {
        let Some((file, line)) = frame
            .location
            .and_then(|location| location.file.zip(location.line))
        else {
            continue;
        };
        let text = format!("{file}:{line}");
        if !is_library(file) {
            return Some(text);
        }
        innermost.get_or_insert(text);
    }
    innermost
}

impl Sources {
    /// `FILE:LINE` of an instruction; without lines in its file the function, and without functions the address in
    /// the file. Always says something.
    pub fn name(&mut self, code: usize) -> String {
        let Some(InFile { path, address }) = file_of(code) else {
            // Code that the program made itself, or of a library that is closed.
            return format!("0x{code:x}");
        };
        let open = |path: &PathBuf| {
            let opened = Loader::new(path);
            if let Err(error) = &opened {
                tracing::debug!(path = %path.display(), %error, "no lines of source");
            }
            opened.ok()
        };
        let loader = match self.files.get(&path) {
            Some(loader) => loader,
            None => self.files.entry(path.clone()).or_insert_with_key(open),
        };
        if let Some(line) = loader.as_ref().and_then(|loader| line(loader, address)) {
            return line;
        }
        let file = match path.to_str() {
            Some("/proc/self/exe") => std::env::current_exe().unwrap_or(path),
            _ => path,
        };
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        match loader.as_ref().and_then(|it| it.find_symbol(address)) {
            Some(symbol) => format!(
                "{} in {file}",
                addr2line::demangle_auto(symbol.into(), None)
            ),
            None => format!("{file}+0x{address:x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_where_a_thread_waits() {
        // Not in a system call, in one, and not at all.
        let said = "-1 0x7ffd0000 0x55d0c0de\n";
        assert_eq!(program_counter(said), Some(0x55d0_c0de));
        let said = "0 0x3 0x7f00 0x40 0x0 0x0 0x0 0x7ffd0000 0x7fc0de\n";
        assert_eq!(program_counter(said), Some(0x7f_c0de));
        assert_eq!(program_counter("running\n"), None);
        assert_eq!(program_counter(""), None);
    }

    #[test]
    fn an_address_in_no_file_is_its_name() {
        assert_eq!(Sources::default().name(0x10), "0x10");
    }

    #[test]
    fn lines_of_standard_libraries_are_their_callers() {
        assert!(is_library("/rustc/0123/library/core/src/sync/atomic.rs"));
        assert!(is_library("/usr/include/c++/14/bits/stl_tree.h"));
        assert!(!is_library("/home/somebody/usr/include/mine.h"));
    }
}
