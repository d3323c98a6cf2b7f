//! Status codes, and the last error of a thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::LazyLock;
use tombolo::{Error, ErrorCode};

/// What only this interface says; everything else has the number of its code in the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A null pointer, or a value that makes no sense.
    Argument = 100,
    /// No handle, or one of another kind.
    Handle = 101,
    /// Calls in the wrong order.
    Order = 102,
    /// Makes sense, but is not offered.
    Unsupported = 103,
}

/// `TMB_OK`
const OK: c_int = 0;

/// Names of all statuses, as in the header.
static NAMES: LazyLock<BTreeMap<c_int, CString>> = LazyLock::new(|| {
    let own = [
        (OK, "TMB_OK"),
        (Status::Argument as c_int, "TMB_ERROR_ARGUMENT"),
        (Status::Handle as c_int, "TMB_ERROR_HANDLE"),
        (Status::Order as c_int, "TMB_ERROR_ORDER"),
        (Status::Unsupported as c_int, "TMB_ERROR_UNSUPPORTED"),
    ];
    let library = ErrorCode::ALL.iter().map(|code| {
        let name = code.name().to_uppercase().replace('-', "_");
        (code.number() as c_int, format!("TMB_ERROR_{name}"))
    });
    own.into_iter()
        .map(|(number, name)| (number, name.to_owned()))
        .chain(library)
        .filter_map(|(number, name)| Some((number, CString::new(name).ok()?)))
        .collect()
});

/// What a call answers when it fails.
#[derive(Debug)]
pub struct Failure {
    status: c_int,
    message: String,
    errno: c_int,
}

impl Failure {
    /// A failure of this interface itself.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status: status as c_int,
            message: message.into(),
            errno: 0,
        }
    }

    /// A value that makes no sense.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(Status::Argument, message)
    }

    /// A file that the system refused.
    pub fn file(path: &str, what: &str, source: &std::io::Error) -> Self {
        Self {
            status: ErrorCode::File.number() as c_int,
            message: format!("{path}: {what}: {source}"),
            errno: source.raw_os_error().unwrap_or(0),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let errno = match &error {
            Error::File { source, .. } | Error::Transfer { source, .. } => source.raw_os_error(),
            _ => None,
        };
        Self {
            status: error.code().number() as c_int,
            message: error.to_string(),
            errno: errno.unwrap_or(0),
        }
    }
}

thread_local! {
    static LAST: RefCell<(CString, c_int)> = RefCell::default();
}

/// Runs a call: its failure becomes the thread's last error, its panic a failure.
pub fn entry(call: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let answer = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let text = text.unwrap_or_else(|| "a panic without a text".to_owned());
        Err(Error::Internal(text).into())
    });
    match answer {
        Ok(()) => OK,
        Err(failure) => {
            let text: Vec<u8> = failure.message.bytes().filter(|byte| *byte != 0).collect();
            // A thread that ends has no place for it any more.
            let _ = LAST.try_with(|last| {
                *last.borrow_mut() = (CString::new(text).unwrap_or_default(), failure.errno);
            });
            failure.status
        }
    }
}

/// What errno says after a call that ended with a status, for interfaces that answer with it.
pub fn set_errno(status: c_int) {
    let busy = [ErrorCode::Stream, ErrorCode::MemoryInUse].map(|code| code.number() as c_int);
    let gone = ErrorCode::Gone.number() as c_int;
    let errno = match status {
        OK => return,
        _ if tmb_last_errno() != 0 => tmb_last_errno(),
        _ if status == Status::Argument as c_int => libc::EINVAL,
        _ if status == Status::Handle as c_int || status == gone => libc::EBADF,
        _ if status == Status::Order as c_int || busy.contains(&status) => libc::EBUSY,
        _ if status == Status::Unsupported as c_int => libc::ENODEV,
        _ => libc::EIO,
    };
    // SAFETY: the place for errno of this thread.
    unsafe { *libc::__errno_location() = errno };
}

#[no_mangle]
pub extern "C" fn tmb_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().0.as_ptr())
        .unwrap_or(c"".as_ptr())
}

#[no_mangle]
pub extern "C" fn tmb_last_errno() -> c_int {
    LAST.try_with(|last| last.borrow().1).unwrap_or(0)
}

#[no_mangle]
pub extern "C" fn tmb_status_name(status: c_int) -> *const c_char {
    let name = NAMES.get(&status).map(CString::as_c_str);
    name.unwrap_or(c"unknown status").as_ptr()
}

#[no_mangle]
pub extern "C" fn tmb_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
