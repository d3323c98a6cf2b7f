//! One-sided reads and writes through libfabric, which is loaded on first use: a machine without it lacks only this
//! feature. An [`Endpoint`] belongs to one provider; networks differ only by the provider's name.

mod client;
mod server;
mod sys;
#[cfg(test)]
mod tests;

pub(super) use client::{FabricClient, TransferBuffer};
pub(super) use server::Served;

use libloading::Library;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::net::IpAddr;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// Cause of a failure of libfabric.
#[derive(Debug, thiserror::Error)]
pub enum FabricError {
    /// It is not installed.
    #[error(
        "libfabric is not on this machine ({why}): install it (Debian: libfabric1), or leave `fabric+…://` away, \
         which is plain TCP"
    )]
    Missing {
        /// Message of the loader.
        why: String,
    },
    /// The provider does not exist, or does not support the address.
    #[error("libfabric's provider `{provider}` has no endpoint for one-sided access here: {why}; `fi_info -l` lists providers")]
    Provider {
        /// Requested provider.
        provider: String,
        /// Message of the library.
        why: String,
    },
    /// A call failed.
    #[error("libfabric, {call}: {why}")]
    Call {
        /// Name of the function.
        call: &'static str,
        /// Message of the library.
        why: String,
    },
}

/// The functions of the library that are used.
struct Functions {
    getinfo: sys::GetInfo,
    freeinfo: sys::FreeInfo,
    dupinfo: sys::DupInfo,
    fabric: sys::OpenFabric,
    strerror: sys::StrError,
}

/// Loads the library once; it is never unloaded, because it has its own threads and handlers.
fn functions() -> Result<&'static Functions, FabricError> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| threads::as_guest(load).map_err(|error| error.to_string()));
    loaded
        .as_ref()
        .map_err(|why| FabricError::Missing { why: why.clone() })
}

fn load() -> Result<Functions, libloading::Error> {
    // SAFETY: the system's library of this name; its initializers are run once. The types are those of its headers.
    unsafe {
        let _handlers = Handlers::keep();
        let library = Box::leak(Box::new(Library::new("libfabric.so.1")?));
        let functions = Functions {
            getinfo: *library.get(b"fi_getinfo\0")?,
            freeinfo: *library.get(b"fi_freeinfo\0")?,
            dupinfo: *library.get(b"fi_dupinfo\0")?,
            fabric: *library.get(b"fi_fabric\0")?,
            strerror: *library.get(b"fi_strerror\0")?,
        };
        // The first query starts all providers.
        let mut found = null_mut();
        let code = (functions.getinfo)(sys::VERSION, null(), null(), 0, null(), &mut found);
        if code == 0 {
            (functions.freeinfo)(found);
        }
        Ok(functions)
    }
}

/// The process's signal actions. Some providers (psm, psm2) install handlers when they are loaded; shared memory needs
/// those of Tombolo, and Ctrl-C that of the program.
struct Handlers(Vec<(c_int, libc::sigaction)>);

impl Handlers {
    fn keep() -> Self {
        let signals = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGABRT,
            libc::SIGINT,
            libc::SIGTERM,
        ];
        let kept = signals.into_iter().filter_map(|signal| {
            // SAFETY: it only asks, and zeroes are a value of the structure.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let asked = libc::sigaction(signal, null(), &mut action);
                (asked == 0).then_some((signal, action))
            }
        });
        Self(kept.collect())
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        for (signal, action) in &self.0 {
            // SAFETY: it is what the system said a moment ago.
            unsafe { libc::sigaction(*signal, action, null_mut()) };
        }
    }
}

impl Functions {
    fn word(&self, code: isize) -> String {
        let code = c_int::try_from(code.unsigned_abs()).unwrap_or(c_int::MAX);
        // SAFETY: it answers any number with a string that stays.
        let text = unsafe { CStr::from_ptr((self.strerror)(code)) };
        text.to_string_lossy().into_owned()
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), FabricError> {
        match code {
            0 => Ok(()),
            _ => Err(FabricError::Call {
                call,
                why: self.word(code as isize),
            }),
        }
    }
}

/// The error of a function that a provider does not implement.
fn lacks(call: &'static str) -> FabricError {
    let why = "the provider does not have it".to_owned();
    FabricError::Call { call, why }
}

/// An object of the library, closed on drop.
struct Object<T>(*mut T);

impl<T> Object<T> {
    fn fid(&self) -> *mut sys::Fid {
        self.0.cast()
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        // SAFETY: it is open, and all objects begin with their `Fid`.
        unsafe {
            let fid = self.fid();
            if let Some(close) = (*(*fid).ops).close {
                let code = close(fid);
                if code != 0 {
                    tracing::debug!(code, "closing an object of libfabric");
                }
            }
        }
    }
}

/// The library's description of an endpoint.
struct Info(&'static Functions, *mut sys::Info);

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: it was allocated by the library, and has no other owner.
        unsafe { (self.0.freeinfo)(self.1) }
    }
}

/// An open endpoint of a provider. Fields are closed from the first to the last.
struct Endpoint {
    ep: Object<sys::Ep>,
    av: Object<sys::Av>,
    cq: Object<sys::Cq>,
    domain: Object<sys::Domain>,
    _fabric: Object<sys::Fabric>,
    info: Info,
}

// SAFETY: the library was asked for objects that any thread may use (FI_THREAD_SAFE is what it gives if nothing
// else is asked for).
unsafe impl Send for Endpoint {}
// SAFETY: as above.
unsafe impl Sync for Endpoint {}

/// Registered memory.
struct Region(Object<sys::Mr>);

// SAFETY: as above.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    fn key(&self) -> u64 {
        // SAFETY: it is open.
        unsafe { (*self.0 .0).key }
    }

    fn descriptor(&self) -> *mut c_void {
        // SAFETY: it is open.
        unsafe { (*self.0 .0).mem_desc }
    }
}

/// Whether a name is a valid provider name.
pub fn is_provider(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_;-".contains(&byte);
    (1..=32).contains(&name.len()) && name.bytes().all(fits)
}

impl Endpoint {
    /// Opens an endpoint at an address of this machine.
    fn open(provider: &str, local: IpAddr) -> Result<Self, FabricError> {
        // Providers have their own threads, and signals belong to the program.
        threads::as_guest(|| Self::open_here(provider, local))
    }

    fn open_here(provider: &str, local: IpAddr) -> Result<Self, FabricError> {
        let functions = functions()?;
        let no_provider = |why: String| FabricError::Provider {
            provider: provider.to_owned(),
            why,
        };
        let name = CString::new(provider).map_err(|error| no_provider(error.to_string()))?;
        let info = describe(functions, &name, local).map_err(no_provider)?;
        let at = info.1;
        // SAFETY: `at` is the library's description, whole; each object is used while those that it is made of are
        // open, which the order of the fields keeps; attributes are those of the header.
        unsafe {
            let mut fabric = null_mut();
            let code = (functions.fabric)((*at).fabric_attr, &mut fabric, null_mut());
            functions.check("fi_fabric", code)?;
            let fabric = Object(fabric);
            let mut domain = null_mut();
            let open = (*(*fabric.0).ops).domain;
            let open = open.ok_or_else(|| lacks("fi_domain"))?;
            functions.check("fi_domain", open(fabric.0, at, &mut domain, null_mut()))?;
            let domain = Object(domain);
            let calls = &*(*domain.0).ops;
            let mut attributes = sys::CqAttr {
                size: 256,
                flags: 0,
                format: sys::CQ_FORMAT_CONTEXT,
                wait_obj: sys::WAIT_NONE,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: null_mut(),
            };
            let mut cq = null_mut();
            let open = calls.cq_open.ok_or_else(|| lacks("fi_cq_open"))?;
            let code = open(domain.0, &mut attributes, &mut cq, null_mut());
            functions.check("fi_cq_open", code)?;
            let cq = Object(cq);
            let mut attributes = sys::AvAttr {
                kind: sys::AV_MAP,
                rx_ctx_bits: 0,
                count: 1,
                ep_per_node: 0,
                name: null(),
                map_addr: null_mut(),
                flags: 0,
            };
            let mut av = null_mut();
            let open = calls.av_open.ok_or_else(|| lacks("fi_av_open"))?;
            let code = open(domain.0, &mut attributes, &mut av, null_mut());
            functions.check("fi_av_open", code)?;
            let av = Object(av);
            let mut ep = null_mut();
            let open = calls.endpoint.ok_or_else(|| lacks("fi_endpoint"))?;
            let code = open(domain.0, at, &mut ep, null_mut());
            functions.check("fi_endpoint", code)?;
            let ep: Object<sys::Ep> = Object(ep);
            let calls = &*(*ep.fid()).ops;
            let bind = calls.bind.ok_or_else(|| lacks("fi_ep_bind"))?;
            functions.check("fi_ep_bind", bind(ep.fid(), av.fid(), 0))?;
            let code = bind(ep.fid(), cq.fid(), sys::TRANSMIT | sys::RECV);
            functions.check("fi_ep_bind", code)?;
            let control = calls.control.ok_or_else(|| lacks("fi_enable"))?;
            functions.check("fi_enable", control(ep.fid(), sys::ENABLE, null_mut()))?;
            Ok(Self {
                ep,
                av,
                cq,
                domain,
                _fabric: fabric,
                info,
            })
        }
    }

    /// Address of the endpoint, for a peer.
    fn name(&self) -> Result<Vec<u8>, FabricError> {
        let mut name = vec![0; LONGEST_NAME];
        let mut bytes = name.len();
        // SAFETY: the endpoint is open, and the library writes no more than the given size.
        let code = unsafe {
            let get = (*(*self.ep.0).cm).getname;
            let get = get.ok_or_else(|| lacks("fi_getname"))?;
            get(self.ep.fid(), name.as_mut_ptr().cast(), &mut bytes)
        };
        self.info.0.check("fi_getname", code)?;
        name.truncate(bytes);
        Ok(name)
    }

    /// Registers memory for the endpoint, or its peers.
    ///
    /// # Safety
    /// The memory stays valid until the region is dropped.
    unsafe fn register(
        &self,
        start: *mut c_void,
        bytes: usize,
        access: u64,
        key: u64,
    ) -> Result<Region, FabricError> {
        let mut region = null_mut();
        // SAFETY: the domain is open; the caller guarantees the memory.
        let code = unsafe {
            let register = (*(*self.domain.0).mr).reg;
            let register = register.ok_or_else(|| lacks("fi_mr_reg"))?;
            register(
                self.domain.fid(),
                start,
                bytes,
                access,
                0,
                key,
                0,
                &mut region,
                null_mut(),
            )
        };
        self.info.0.check("fi_mr_reg", code)?;
        Ok(Region(Object(region)))
    }

    fn mr_mode(&self) -> c_int {
        // SAFETY: the description is whole.
        unsafe { (*(*self.info.1).domain_attr).mr_mode }
    }

    /// The context of a completed operation; `None` if there is none. Also lets the library make progress.
    fn poll(&self) -> Result<Option<*mut c_void>, FabricError> {
        let mut context: *mut c_void = null_mut();
        // SAFETY: the queue is open, and its format is one pointer an entry.
        unsafe {
            let calls = &*(*self.cq.0).ops;
            let read = calls.read.ok_or_else(|| lacks("fi_cq_read"))?;
            match read(self.cq.0, (&raw mut context).cast(), 1) {
                1 => Ok(Some(context)),
                code if code == 0 || code == -sys::EAGAIN => Ok(None),
                code if code == -sys::EAVAIL => {
                    let mut error: sys::CqError = std::mem::zeroed();
                    let read = calls.readerr.ok_or_else(|| lacks("fi_cq_readerr"))?;
                    let why = match read(self.cq.0, &mut error, 0) {
                        1 => self.info.0.word(error.err as isize),
                        code => self.info.0.word(code),
                    };
                    let call = "an access";
                    Err(FabricError::Call { call, why })
                }
                code => {
                    let why = self.info.0.word(code);
                    let call = "fi_cq_read";
                    Err(FabricError::Call { call, why })
                }
            }
        }
    }
}

/// Maximum size of an endpoint's address in bytes.
pub(super) const LONGEST_NAME: usize = 512;

/// The provider's description of an endpoint at an address of this machine, or the reason why there is none.
fn describe(functions: &'static Functions, provider: &CStr, local: IpAddr) -> Result<Info, String> {
    // SAFETY: the library allocates complete hints when it is given none; it frees strings in them, so that it gets one
    // of the C library's. Its result is its own description.
    unsafe {
        let hints = (functions.dupinfo)(null());
        if hints.is_null() {
            return Err("out of memory".to_owned());
        }
        let hints = Info(functions, hints);
        let wanted = &mut *hints.1;
        wanted.caps = sys::RMA | sys::READ | sys::WRITE | sys::REMOTE_READ | sys::REMOTE_WRITE;
        wanted.mode = sys::CONTEXT | sys::CONTEXT2;
        (*wanted.ep_attr).kind = sys::EP_RDM;
        (*wanted.tx_attr).op_flags = sys::DELIVERY_COMPLETE;
        (*wanted.domain_attr).mr_mode =
            sys::MR_LOCAL | sys::MR_VIRT_ADDR | sys::MR_ALLOCATED | sys::MR_PROV_KEY;
        (*wanted.fabric_attr).prov_name = libc::strdup(provider.as_ptr());
        let node = CString::new(local.to_string()).map_err(|error| error.to_string())?;
        let mut found = null_mut();
        // Providers of a machine's own memory know no addresses of networks.
        let of_network = !provider.to_bytes().starts_with(b"shm");
        let (node, flags): (*const c_char, u64) = match of_network {
            true => (node.as_ptr(), sys::SOURCE | sys::NUMERICHOST),
            false => (null(), 0),
        };
        let code = (functions.getinfo)(sys::VERSION, node, null(), flags, hints.1, &mut found);
        match code {
            0 if !found.is_null() => Ok(Info(functions, found)),
            code => Err(functions.word(code as isize)),
        }
    }
}
