//! Status codes, and the last error of a thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void, CString};
use std::mem::ManuallyDrop;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{LazyLock, OnceLock};
use tombolo::{Error, ErrorCode, StreamErrorKind};

/// Status codes of this interface only; all others are the library's error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A null pointer, or an invalid value.
    Argument = 100,
    /// Not a handle, or one of another kind.
    Handle = 101,
    /// Calls in the wrong order.
    Order = 102,
    /// A valid request that is not supported.
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

/// A failed call: status, text and errno.
#[derive(Debug)]
pub struct Failure {
    status: c_int,
    message: String,
    /// The system's errno; 0 if the system was not the cause.
    errno: c_int,
    /// The errno for callers of an interface that returns errors in errno.
    posix: c_int,
}

impl Failure {
    /// A failure of this interface itself.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status: status as c_int,
            message: message.into(),
            errno: 0,
            posix: match status {
                Status::Argument => libc::EINVAL,
                Status::Handle => libc::EBADF,
                Status::Order => libc::EBUSY,
                Status::Unsupported => libc::ENODEV,
            },
        }
    }

    /// An invalid value.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(Status::Argument, message)
    }

    /// A failure whose number is the class of an exception (`tombolo_xrt.h`).
    pub fn of_class(class: c_int, message: String) -> Self {
        Self {
            status: ErrorCode::Card.number() as c_int,
            message,
            errno: class.max(0),
            posix: class,
        }
    }

    /// A file that the system refused.
    pub fn file(path: &str, what: &str, source: &std::io::Error) -> Self {
        let errno = source.raw_os_error();
        Self {
            status: ErrorCode::File.number() as c_int,
            message: format!("{path}: {what}: {source}"),
            errno: errno.unwrap_or(0),
            posix: errno.unwrap_or(libc::EIO),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let errno = error.errno();
        Self {
            status: error.code().number() as c_int,
            message: error.to_string(),
            errno: errno.unwrap_or(0),
            posix: errno.unwrap_or_else(|| posix_of(&error)),
        }
    }
}

/// The errno that fits an error of the library best.
fn posix_of(error: &Error) -> c_int {
    match error {
        // A file that cannot be read, or a manifest that breaks a rule.
        Error::Kernel(error) => return of_system(error).unwrap_or(libc::EINVAL),
        Error::Device(error) => {
            if let Some(errno) = of_system(error) {
                return errno;
            }
        }
        _ => {}
    }
    match error.stream_kind() {
        Some(StreamErrorKind::Argument) => return libc::EINVAL,
        Some(StreamErrorKind::NoInterface) => return libc::ENODEV,
        _ => {}
    }
    match error.code() {
        ErrorCode::NoSuchSlot
        | ErrorCode::NoSuchArgument
        | ErrorCode::ArgumentSize
        | ErrorCode::ArgumentValue
        | ErrorCode::MisalignedPointer
        | ErrorCode::Schedule
        | ErrorCode::Unmappable
        | ErrorCode::Configuration
        | ErrorCode::Device => libc::EINVAL,
        ErrorCode::Gone => libc::EBADF,
        ErrorCode::Stream
        | ErrorCode::MemoryInUse
        | ErrorCode::NoFreeSlot
        | ErrorCode::SlotState => libc::EBUSY,
        ErrorCode::Deadline => libc::ETIMEDOUT,
        ErrorCode::Unshareable => libc::ENOMEM,
        _ => libc::EIO,
    }
}

/// The system's errno, if it is the source of an error.
fn of_system(error: &(dyn std::error::Error + 'static)) -> Option<c_int> {
    let mut next = Some(error);
    while let Some(error) = next {
        let system = error.downcast_ref::<std::io::Error>();
        if let Some(errno) = system.and_then(std::io::Error::raw_os_error) {
            return Some(errno);
        }
        next = error.source();
    }
    None
}

/// The last failure of a thread.
struct LastFailure {
    message: Option<CString>,
    errno: c_int,
}

/// Thread-local without a destructor: calls are also made after destructors of thread-locals have run, from atexit
/// handlers, destructors of static objects and of other thread-locals.
type UndroppedCell<T> = ManuallyDrop<RefCell<T>>;

thread_local! {
    static LAST: UndroppedCell<LastFailure> = const {
        ManuallyDrop::new(RefCell::new(LastFailure { message: None, errno: 0 }))
    };
}

/// Frees the thread's text at its end, after all its destructors. That of the first thread is kept until the process
/// ends, since its last handlers may ask for it.
fn sweep_later() {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    extern "C" fn sweep(_: *mut c_void) {
        LAST.with(|last| last.borrow_mut().message = None);
    }
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for a key, and a function that lives as long as the process.
        let made = unsafe { libc::pthread_key_create(&mut key, Some(sweep)) } == 0;
        made.then_some(key)
    });
    if let Some(key) = key {
        // SAFETY: a key that was made; its value is only looked at for being none.
        unsafe { libc::pthread_setspecific(*key, std::ptr::without_provenance(1)) };
    }
}

/// Runs a call: a failure becomes the thread's last error, a panic becomes a failure.
pub fn entry(call: impl FnOnce() -> Result<(), Failure>) -> c_int {
    run(call).map_or_else(|failure| failure.status, |()| OK)
}

/// The same for an interface whose calls return the class of an exception.
pub fn entry_with_class(call: impl FnOnce() -> Result<(), Failure>) -> c_int {
    run(call).map_or_else(|failure| failure.posix, |()| OK)
}

/// The same for an interface whose calls return a value, or `failed` and errno.
pub fn with_errno<T>(failed: T, call: impl FnOnce() -> Result<T, Failure>) -> T {
    let mut answer = failed;
    let result = run(|| {
        answer = call()?;
        Ok(())
    });
    if let Err(failure) = result {
        // SAFETY: the place for errno of this thread.
        unsafe { *libc::__errno_location() = failure.posix };
    }
    answer
}

/// Runs a call and stores its failure. Preserves the caller's errno: the call waits, and interrupted system calls
/// inside it would change it.
fn run(call: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    // SAFETY: the place for errno of this thread.
    let errno = unsafe { *libc::__errno_location() };
    let answer = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let text = text.unwrap_or_else(|| "a panic without a text".to_owned());
        Err(Error::Internal(text).into())
    });
    if let Err(failure) = &answer {
        let text: Vec<u8> = failure.message.bytes().filter(|byte| *byte != 0).collect();
        LAST.with(|last| {
            *last.borrow_mut() = LastFailure {
                message: CString::new(text).ok(),
                errno: failure.errno,
            };
        });
        sweep_later();
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    answer
}

#[no_mangle]
pub extern "C" fn tmb_last_error() -> *const c_char {
    LAST.with(|last| {
        let told = last.borrow();
        told.message
            .as_ref()
            .map_or(c"".as_ptr(), |text| text.as_ptr())
    })
}

#[no_mangle]
pub extern "C" fn tmb_last_errno() -> c_int {
    LAST.with(|last| last.borrow().errno)
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
