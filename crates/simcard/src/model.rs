//! A Verilated model, loaded. The room of the foreign-function interface.
//!
//! An [`Instance`] owns one model in C++ memory, or the ports of a model in a process of its own (`isolated`). A [`Pin`] is a typed location in that memory: one element of a port.
//! Pins are copied in and out by value and never borrowed as references, because the model writes them while it is
//! evaluated. All objects of one card are used by one thread at a time; the types alone are therefore not `Send` (see
//! `SimCard`).

use crate::isolated::{KernelHost, Remote};
use libloading::Library;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void, CString};
use std::fmt::Write as _;
use std::io::Write;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use units::Picoseconds;
use verilated::{BuildError, BuiltModel, ModelInfo, ModelPort, ABI};

/// Waveform file of one model, and the interval of virtual time that it covers.
#[derive(Clone, Debug)]
pub(crate) struct WaveFile {
    pub(crate) path: PathBuf,
    /// Start of the interval; nothing is written until it is known.
    pub(crate) from: Option<Picoseconds>,
    pub(crate) span: Picoseconds,
    pub(crate) period: Picoseconds,
    /// Set when the model changes its state in the interval.
    pub(crate) changed: Option<Arc<AtomicBool>>,
}

/// Detects a change of a model's state in an interval.
struct ChangeWatch {
    from: Option<Picoseconds>,
    span: Picoseconds,
    /// The state at the start of the interval.
    state: Option<Box<[u8]>>,
    changed: Arc<AtomicBool>,
}

/// A row on a 512-bit port, as bytes.
pub(crate) type Row = [u8; 64];

/// The failure of a model that ended itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailure {
    /// Cause, with the last output of the model.
    pub reason: String,
}

/// The C functions of `glue.cpp`. The handles are opaque.
struct Interface {
    create: unsafe extern "C" fn(*const *const c_char, u32) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    start: unsafe extern "C" fn(*mut c_void) -> c_int,
    edge: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    settle: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    text: unsafe extern "C" fn(*mut c_void, *mut u64) -> *const c_char,
    clear_text: unsafe extern "C" fn(*mut c_void),
    state: unsafe extern "C" fn(*mut c_void, *mut u64) -> *mut c_void,
    ports: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut u64, u32) -> u32,
    waves: Option<WavesInterface>,
}

/// The C functions of `waves.cpp`, in models that can write waveforms.
#[derive(Clone, Copy)]
struct WavesInterface {
    open: unsafe extern "C" fn(*mut c_void, *const c_char, u64, u64, u64) -> *mut c_void,
    edge: unsafe extern "C" fn(*mut c_void, u64),
    begin: unsafe extern "C" fn(*mut c_void, u64, u64),
    close: unsafe extern "C" fn(*mut c_void),
}

/// A loaded library with the code of a model, from which instances are created.
pub struct Model {
    info: ModelInfo,
    interface: Interface,
    folder: std::path::PathBuf,
    /// Folders whose files the RTL may read.
    rtl_folders: Vec<CString>,
    /// Unloaded last, when no instance is left.
    _library: Library,
}

impl Model {
    /// Loads a built model. Its symbols stay local (`RTLD_LOCAL`).
    ///
    /// # Errors
    /// [`BuildError::Damaged`].
    pub fn load(built: &BuiltModel) -> Result<Rc<Self>, BuildError> {
        let damaged = |reason: String| BuildError::Damaged {
            path: built.folder.clone(),
            reason,
        };
        // SAFETY: loading runs the library's static initialisers; it is one that this program built
        // from Verilator's output, whose initialisers only fill tables of the Verilated runtime.
        let library =
            unsafe { Library::new(built.library()) }.map_err(|error| refusal(built, &error))?;
        /// Looks up a symbol as the type of its field.
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: `glue.cpp` defines the symbol with this very signature; `tmb_abi` and the
                // content hash, which covers the glue, keep the two in step. The pointer is used
                // only while `_library` lives.
                *unsafe { library.get($name) }.map_err(|error| damaged(error.to_string()))?
            };
        }
        let abi: unsafe extern "C" fn() -> u32 = symbol!(b"tmb_abi\0");
        // SAFETY: a function without arguments that returns a constant.
        let found = unsafe { abi() };
        if found != ABI {
            return Err(damaged(format!(
                "its interface is version {found}, not {ABI}"
            )));
        }
        // SAFETY: as above, with the signatures of `waves.cpp`.
        let waves = unsafe {
            match (
                library.get(b"tmb_waves_open\0"),
                library.get(b"tmb_waves_edge\0"),
                library.get(b"tmb_waves_begin\0"),
                library.get(b"tmb_waves_close\0"),
            ) {
                (Ok(open), Ok(edge), Ok(begin), Ok(close)) => Some(WavesInterface {
                    open: *open,
                    edge: *edge,
                    begin: *begin,
                    close: *close,
                }),
                _ => None,
            }
        };
        let interface = Interface {
            create: symbol!(b"tmb_create\0"),
            free: symbol!(b"tmb_free\0"),
            start: symbol!(b"tmb_start\0"),
            edge: symbol!(b"tmb_edge\0"),
            settle: symbol!(b"tmb_settle\0"),
            text: symbol!(b"tmb_text\0"),
            clear_text: symbol!(b"tmb_clear_text\0"),
            state: symbol!(b"tmb_state\0"),
            ports: symbol!(b"tmb_ports\0"),
            waves,
        };
        Ok(Rc::new(Self {
            info: built.info.clone(),
            interface,
            folder: built.folder.clone(),
            rtl_folders: built
                .rtl_folders
                .iter()
                .filter_map(|folder| CString::new(folder.as_os_str().as_encoded_bytes()).ok())
                .collect(),
            _library: library,
        }))
    }

    /// Description of the model.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }
}

/// Memory with a model's ports, freed when the last instance handle or pin is gone.
enum Memory {
    Model(Object),
    /// Ports of a model in another process.
    Ports(Ports),
}

impl Memory {
    fn info(&self) -> &ModelInfo {
        match self {
            Self::Model(object) => &object.model.info,
            Self::Ports(ports) => &ports.info,
        }
    }
}

/// Values of ports, exchanged with another process by [`Remote`].
struct Ports {
    info: ModelInfo,
    words: NonNull<[u64]>,
}

impl Drop for Ports {
    fn drop(&mut self) {
        // SAFETY: the words came from `Box::leak`, and no pin is left.
        drop(unsafe { Box::from_raw(self.words.as_ptr()) });
    }
}

/// The C++ object.
struct Object {
    handle: NonNull<c_void>,
    model: Rc<Model>,
    waves: Cell<Option<(WavesInterface, NonNull<c_void>)>>,
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Some((waves, file)) = self.waves.take() {
            // SAFETY: the file came from `open` for this instance, which is still alive.
            unsafe { (waves.close)(file.as_ptr()) };
        }
        // SAFETY: the handle came from `create` of the same library, and no pin is left.
        unsafe { (self.model.interface.free)(self.handle.as_ptr()) };
    }
}

/// An instance of a model, with its state.
pub struct Instance {
    memory: Rc<Memory>,
    evaluator: Evaluator,
    /// Address and size of each port, in the order of [`ModelInfo::ports`].
    ports: Vec<(NonNull<u8>, usize)>,
    /// The block with the ports; of a model in this process, with its state too.
    state: (NonNull<u8>, usize),
    watch: Option<ChangeWatch>,
    wave_span: Picoseconds,
    output: Output,
}

/// Destination of a model's output.
enum Output {
    Log,
    /// Standard error, for the user.
    Print,
    Keep(String),
}

/// Where a model is evaluated.
enum Evaluator {
    Here {
        handle: NonNull<c_void>,
        start: unsafe extern "C" fn(*mut c_void) -> c_int,
        edge: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
        settle: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    },
    Remote(Box<Remote>),
}

impl Instance {
    /// Creates an instance in a process of its own.
    ///
    /// # Errors
    /// [`BuildError::Io`], [`BuildError::Damaged`]: the process does not start, or the model is not loaded there.
    pub(crate) fn hosted(built: &BuiltModel, host: &KernelHost) -> Result<Self, BuildError> {
        let remote = Remote::start(built, host)?;
        let layout = remote.layout();
        let words = vec![0_u64; layout.words()].into_boxed_slice();
        let words = NonNull::from(Box::leak(words));
        let start = words.cast::<u8>();
        // SAFETY: the layout places every port inside the words.
        let place = |port: &crate::isolated::PortPlace| unsafe { start.add(port.offset) };
        let ports = layout.ports.iter();
        let ports = ports.map(|port| (place(port), port.bytes)).collect();
        let state = (start, words.len() * size_of::<u64>());
        let info = built.info.clone();
        Ok(Self {
            memory: Rc::new(Memory::Ports(Ports { info, words })),
            evaluator: Evaluator::Remote(Box::new(remote)),
            ports,
            state,
            watch: None,
            wave_span: Picoseconds::ZERO,
            output: Output::Log,
        })
    }

    /// Creates an instance; every input is zero and nothing has been evaluated.
    ///
    /// # Errors
    /// [`BuildError::Damaged`] if library and description disagree.
    pub fn new(model: &Rc<Model>) -> Result<Self, BuildError> {
        let damaged = |reason: &str| BuildError::Damaged {
            path: model.folder.clone(),
            reason: reason.to_owned(),
        };
        let folders: Vec<*const c_char> = model.rtl_folders.iter().map(|f| f.as_ptr()).collect();
        // SAFETY: the count is that of the strings, which `model` keeps and the callee copies; the result is checked.
        let handle = unsafe { (model.interface.create)(folders.as_ptr(), folders.len() as u32) };
        let handle = NonNull::new(handle)
            .ok_or_else(|| damaged("the model cannot be created (out of memory?)"))?;
        let memory = Rc::new(Memory::Model(Object {
            handle,
            model: model.clone(),
            waves: Cell::new(None),
        }));
        let described = &model.info.ports;
        let mut addresses = vec![std::ptr::null_mut(); described.len()];
        let mut bytes = vec![0u64; described.len()];
        // SAFETY: both arrays have `room` elements.
        let count = unsafe {
            (model.interface.ports)(
                handle.as_ptr(),
                addresses.as_mut_ptr(),
                bytes.as_mut_ptr(),
                described.len() as u32,
            )
        };
        if count as usize != described.len() {
            return Err(damaged("model.json lists other ports than model.so has"));
        }
        let mut ports = Vec::with_capacity(described.len());
        for ((port, address), bytes) in described.iter().zip(addresses).zip(bytes) {
            let expected = port.element_bytes() * port.elements as usize;
            let address = NonNull::new(address.cast());
            match address.filter(|_| bytes as usize == expected) {
                Some(address) => ports.push((address, expected)),
                None => {
                    return Err(damaged(
                        "model.json gives a port another size than model.so",
                    ))
                }
            }
        }
        let mut state_bytes = 0;
        // SAFETY: the handle is alive; the out parameter is a local.
        let state = unsafe { (model.interface.state)(handle.as_ptr(), &mut state_bytes) };
        let state = NonNull::new(state.cast()).ok_or_else(|| damaged("it has no state block"))?;
        Ok(Self {
            memory,
            evaluator: Evaluator::Here {
                handle,
                start: model.interface.start,
                edge: model.interface.edge,
                settle: model.interface.settle,
            },
            ports,
            state: (state, state_bytes as usize),
            watch: None,
            wave_span: Picoseconds::ZERO,
            output: Output::Log,
        })
    }

    /// Prints the output of the instance to standard error from now on: for kernels. The shell's output is logged.
    pub fn speak(&mut self) {
        self.output = Output::Print;
    }

    /// Keeps the output of the instance from now on, for [`take_output`](Self::take_output).
    pub(crate) fn keep_output(&mut self) {
        self.output = Output::Keep(String::new());
    }

    /// The output that was kept since the last call.
    pub(crate) fn take_output(&mut self) -> String {
        match &mut self.output {
            Output::Keep(text) => std::mem::take(text),
            _ => String::new(),
        }
    }

    /// Description of the model.
    pub fn info(&self) -> &ModelInfo {
        self.memory.info()
    }

    /// The C++ object, of a model in this process.
    fn object(&self) -> Option<&Object> {
        match &*self.memory {
            Memory::Model(object) => Some(object),
            Memory::Ports(_) => None,
        }
    }

    /// Its process, of a model in another process.
    fn remote(&mut self) -> Option<(&mut Remote, &Ports)> {
        match (&mut self.evaluator, &*self.memory) {
            (Evaluator::Remote(remote), Memory::Ports(ports)) => Some((remote, ports)),
            _ => None,
        }
    }

    /// Runs an evaluation of a model in another process.
    #[cold]
    #[inline(never)]
    fn evaluate_remotely(
        &mut self,
        evaluate: impl FnOnce(&mut Remote, &mut [u64]) -> Result<(), ModelFailure>,
    ) -> Result<(), ModelFailure> {
        let Some((remote, ports)) = self.remote() else {
            return Ok(());
        };
        // SAFETY: pins are only copied in and out, by this thread, and none of them is accessed meanwhile.
        let words = unsafe { &mut *ports.words.as_ptr() };
        evaluate(remote, words)?;
        if let Some(text) = remote.take_text() {
            self.tell(&text);
        }
        Ok(())
    }

    /// Prints or logs the output of the model.
    fn tell(&mut self, text: &str) {
        let model = &self.memory.info().name;
        match &mut self.output {
            Output::Print => say(model, text),
            Output::Log => tracing::info!(target: "tombolo::model", model, "{text}"),
            Output::Keep(kept) => {
                kept.push_str(text);
                kept.push('\n');
            }
        }
    }

    /// Writes waveforms of edges inside the window from now on. Call before [`start`](Self::start).
    ///
    /// # Errors
    /// The file cannot be created, or the model was built without waveforms.
    pub(crate) fn open_waves(&mut self, waves: &WaveFile) -> Result<(), BuildError> {
        let failed = |reason: &str| BuildError::Io {
            path: waves.path.clone(),
            source: std::io::Error::other(reason),
        };
        std::fs::File::create(&waves.path).map_err(BuildError::io(&waves.path))?;
        let Some(object) = self.object() else {
            return Err(failed(
                "a model in a process of its own writes no waveforms",
            ));
        };
        let Some(interface) = object.model.interface.waves else {
            return Err(failed("the model was built without waveforms"));
        };
        let path = CString::new(waves.path.as_os_str().as_encoded_bytes())
            .map_err(|_| failed("the name has a zero byte"))?;
        let never = Picoseconds::MAX;
        let from = waves.from.unwrap_or(never);
        // SAFETY: the handle is alive; the path outlives the call.
        let file = unsafe {
            (interface.open)(
                object.handle.as_ptr(),
                path.as_ptr(),
                from.get(),
                from.saturating_add(waves.span).get(),
                waves.period.get() / 2,
            )
        };
        let file = NonNull::new(file).ok_or_else(|| failed("no waveforms can be written there"))?;
        object.waves.set(Some((interface, file)));
        self.watch = waves.changed.clone().map(|changed| ChangeWatch {
            from: waves.from,
            span: waves.span,
            state: None,
            changed,
        });
        self.wave_span = waves.span;
        Ok(())
    }

    #[inline]
    fn waves(&self) -> Option<(WavesInterface, NonNull<c_void>)> {
        match &*self.memory {
            Memory::Model(object) => object.waves.get(),
            Memory::Ports(_) => None,
        }
    }

    /// Sets the first activity: waveforms that depend on it begin a clock cycle before this time. Call before the edge
    /// of that time.
    pub(crate) fn begin_waves(&mut self, activity: Picoseconds, period: Picoseconds) {
        let from = activity - period;
        if let Some((waves, file)) = self.waves() {
            let to = from.saturating_add(self.wave_span);
            // SAFETY: the file came from `open` for this instance; it is not being evaluated now.
            unsafe { (waves.begin)(file.as_ptr(), from.get(), to.get()) };
        }
        if let Some(watch) = &mut self.watch {
            watch.from = Some(from);
        }
    }

    /// Checks, before an edge, for a change since the interval of the waveforms began.
    #[cold]
    fn watch_for_change(&mut self, now: Picoseconds) {
        let Some(mut watch) = self.watch.take() else {
            return;
        };
        let Some(from) = watch.from.filter(|from| now >= *from) else {
            self.watch = Some(watch);
            return;
        };
        match &watch.state {
            Some(state) if !self.state_equals(state) => {
                watch.changed.store(true, Ordering::Relaxed);
                return;
            }
            Some(_) => {}
            None => {
                let mut state = vec![0; self.state_bytes()];
                self.save_state(&mut state);
                watch.state = Some(state.into());
            }
        }
        if now < from.saturating_add(watch.span) {
            self.watch = Some(watch);
        }
    }

    /// Evaluates for the first time: initial values, and outputs that depend on the inputs. Call before any other
    /// evaluation.
    ///
    /// # Errors
    /// [`ModelFailure`] if the model ended itself; it must not be evaluated again.
    pub fn start(&mut self) -> Result<(), ModelFailure> {
        let Evaluator::Here { handle, start, .. } = self.evaluator else {
            return self.evaluate_remotely(|remote, words| remote.start_model(words));
        };
        // SAFETY: as in `edge`.
        let code = unsafe { start(handle.as_ptr()) };
        self.outcome(code)
    }

    /// Evaluates one rising clock edge. Changed inputs must have been settled.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn edge(&mut self, now: Picoseconds) -> Result<(), ModelFailure> {
        let Evaluator::Here { handle, edge, .. } = self.evaluator else {
            return self.evaluate_remotely(|remote, words| remote.edge(words, now));
        };
        if let Some((waves, file)) = self.waves() {
            // SAFETY: the file came from `open` for this instance; it is not being evaluated now.
            unsafe { (waves.edge)(file.as_ptr(), now.get()) };
            if self.watch.is_some() {
                self.watch_for_change(now);
            }
        }
        // SAFETY: the handle is alive, `&mut self` and the types being neither Send nor Sync mean
        // that no other code evaluates it or accesses its pins now.
        let code = unsafe { edge(handle.as_ptr(), now.get()) };
        self.outcome(code)
    }

    /// Evaluates one rising clock edge; returns whether it left the state as it was. `snapshot` is kept for the next
    /// comparison.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn edge_compared(
        &mut self,
        now: Picoseconds,
        snapshot: &mut Vec<u8>,
    ) -> Result<bool, ModelFailure> {
        if let Evaluator::Remote(_) = self.evaluator {
            let mut equal = false;
            self.evaluate_remotely(|remote, words| {
                equal = remote.edge_compared(words, now)?;
                Ok(())
            })?;
            return Ok(equal);
        }
        snapshot.resize(self.state.1, 0);
        self.save_state(snapshot);
        self.edge(now)?;
        Ok(self.state_equals(snapshot))
    }

    /// Makes the outputs those after the last edge. An edge in another process may be deferred until then, or until the
    /// inputs are settled, so that both take one message.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    #[inline]
    pub(crate) fn complete(&mut self) -> Result<(), ModelFailure> {
        match self.evaluator {
            Evaluator::Here { .. } => Ok(()),
            Evaluator::Remote(_) => self.evaluate_remotely(|remote, words| remote.complete(words)),
        }
    }

    /// Propagates changed inputs to outputs.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn settle(&mut self, now: Picoseconds) -> Result<(), ModelFailure> {
        let Evaluator::Here { handle, settle, .. } = self.evaluator else {
            return self.evaluate_remotely(|remote, words| remote.settle(words, now));
        };
        // SAFETY: as in `edge`.
        let code = unsafe { settle(handle.as_ptr(), now.get()) };
        self.outcome(code)
    }

    #[inline]
    fn outcome(&mut self, code: c_int) -> Result<(), ModelFailure> {
        if code == 0 {
            return Ok(());
        }
        self.unusual_outcome(code)
    }

    #[cold]
    fn unusual_outcome(&mut self, code: c_int) -> Result<(), ModelFailure> {
        let Some(object) = self.object() else {
            return Ok(());
        };
        let interface = &object.model.interface;
        let handle = object.handle.as_ptr();
        let mut length = 0;
        // SAFETY: the handle is alive; the text is copied before anything can change it.
        let text = unsafe {
            let start = (interface.text)(handle, &mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length as usize)
        };
        let text = String::from_utf8_lossy(text).trim().to_owned();
        // SAFETY: the handle is alive, and the slice is gone.
        unsafe { (interface.clear_text)(handle) };
        if code == 1 {
            self.tell(&text);
            return Ok(());
        }
        Err(ModelFailure { reason: text })
    }

    /// The description of a port.
    pub fn port(&self, name: &str) -> Option<&ModelPort> {
        self.info().port(name)
    }

    /// Address and description of an element of a port.
    fn place(&self, name: &str, element: u32) -> Option<(NonNull<u8>, &ModelPort)> {
        let index = self
            .info()
            .ports
            .iter()
            .position(|port| port.name == name)?;
        let port = &self.info().ports[index];
        if element >= port.elements {
            return None;
        }
        let (start, bytes) = self.ports[index];
        let offset = element as usize * port.element_bytes();
        debug_assert!(offset + port.element_bytes() <= bytes);
        // SAFETY: the offset stays inside the port, whose size was checked by `new`.
        Some((unsafe { start.add(offset) }, port))
    }

    /// A typed pin; `None` if there is no such port or element, or its storage is not a `T`.
    pub(crate) fn pin<T: PinValue>(&self, name: &str, element: u32) -> Option<Pin<T>> {
        let (at, port) = self.place(name, element)?;
        (port.element_bytes() == size_of::<T>()).then(|| Pin {
            at: at.cast(),
            _alive: self.memory.clone(),
            _kind: PhantomData,
        })
    }

    /// A pin of at most 64 bits, whatever its storage.
    pub(crate) fn number_pin(&self, name: &str, element: u32) -> Option<NumberPin> {
        let (at, port) = self.place(name, element)?;
        let bytes = port.element_bytes();
        (bytes <= 8).then(|| NumberPin {
            at,
            bytes: bytes as u8,
            mask: u64::MAX >> (64 - port.width.clamp(1, 64)),
            _alive: self.memory.clone(),
        })
    }

    /// The aligned piece of the model's memory that contains a pin of `size` bytes; `None` if no whole piece contains
    /// it.
    pub(crate) fn stretch(&self, address: usize, size: usize) -> Option<Stretch> {
        let (start, bytes) = self.state;
        let from = address.checked_sub(start.as_ptr() as usize)?;
        let stretch = from / size_of::<StretchBytes>() * size_of::<StretchBytes>();
        let end = stretch + size_of::<StretchBytes>();
        (from + size <= end && end <= bytes).then(|| Stretch {
            // SAFETY: the stretch ends inside the state block.
            at: unsafe { start.add(stretch) }.cast(),
            _alive: self.memory.clone(),
        })
    }

    /// The bytes of a port.
    pub(crate) fn bytes_of(&self, index: usize) -> &[u8] {
        let (start, bytes) = self.ports[index];
        // SAFETY: the port has `bytes` bytes, which live as long as the instance; the model writes them only
        // when it is evaluated, which takes `&mut self`, and pins are set by the same thread.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) }
    }

    /// Sets the inputs to those of another model with the same ports.
    pub(crate) fn copy_inputs(&mut self, from: &Self) {
        let shared = self.ports.len().min(from.ports.len());
        for index in 0..shared {
            if !self.info().ports[index].is_output() {
                let (to, bytes) = self.ports[index];
                let from = from.bytes_of(index);
                debug_assert_eq!(bytes, from.len());
                // SAFETY: both ports have `bytes` bytes, and are in different models.
                unsafe { to.as_ptr().copy_from_nonoverlapping(from.as_ptr(), bytes) };
            }
        }
    }

    /// The first output that differs from that of another model with the same ports.
    pub(crate) fn different_output(&self, other: &Self) -> Option<&str> {
        let ports = self.info().ports.iter().enumerate();
        let mut outputs = ports.filter(|(_, port)| port.is_output());
        let different = outputs.find(|(index, _)| self.bytes_of(*index) != other.bytes_of(*index));
        different.map(|(_, port)| port.name.as_str())
    }

    /// Copies the values of an input port into the model.
    pub(crate) fn set_bytes(&mut self, index: usize, bytes: &[u8]) {
        let (to, size) = self.ports[index];
        assert_eq!(bytes.len(), size);
        // SAFETY: the port has `size` bytes; any bytes are numbers; the model is not being evaluated.
        unsafe { to.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), size) };
    }

    /// Size of the model's state, in bytes.
    pub(crate) fn state_bytes(&self) -> usize {
        match &self.evaluator {
            Evaluator::Here { .. } => self.state.1,
            Evaluator::Remote(remote) => remote.state_bytes(),
        }
    }

    /// Copies the state, as raw bytes, for comparison only.
    pub(crate) fn save_state(&self, copy: &mut [u8]) {
        assert_eq!(copy.len(), self.state.1);
        // SAFETY: the block is alive and has this size; the model is not being evaluated. Its
        // padding is initialised too, as far as it matters: bytes are copied, never interpreted.
        unsafe {
            std::ptr::copy_nonoverlapping(self.state.0.as_ptr(), copy.as_mut_ptr(), copy.len());
        }
    }

    /// Whether the state equals these bytes.
    pub(crate) fn state_equals(&self, copy: &[u8]) -> bool {
        assert_eq!(copy.len(), self.state.1);
        // SAFETY: both blocks have `copy.len()` bytes, and nothing writes them meanwhile.
        let difference = unsafe {
            libc::memcmp(
                self.state.0.as_ptr().cast(),
                copy.as_ptr().cast(),
                copy.len(),
            )
        };
        difference == 0
    }
}

/// A type in which Verilator stores a port element.
///
/// # Safety
/// Any bit pattern must be a value of the type, and the type must have no padding.
pub(crate) unsafe trait PinValue: Copy + PartialEq {}

// SAFETY: an integer.
unsafe impl PinValue for u8 {}
// SAFETY: an integer.
unsafe impl PinValue for u16 {}
// SAFETY: an integer.
unsafe impl PinValue for u32 {}
// SAFETY: an integer.
unsafe impl PinValue for u64 {}
// SAFETY: an array of integers. `VlWide<16>` is sixteen little-endian words, least significant
// first: on a little-endian machine, the row's bytes in order.
unsafe impl PinValue for Row {}

/// A location in a model's memory, of exactly this size.
#[derive(Clone)]
pub(crate) struct Pin<T> {
    at: NonNull<T>,
    _alive: Rc<Memory>,
    _kind: PhantomData<T>,
}

impl<T: PinValue> Pin<T> {
    /// Reads the pin.
    #[inline]
    pub(crate) fn get(&self) -> T {
        // SAFETY: the place lies inside a port of a live model (`_alive`), has the size of T, and is
        // not being written: evaluation is a call on the same thread. Wide ports are only 4-byte
        // aligned, hence unaligned.
        unsafe { self.at.as_ptr().read_unaligned() }
    }

    /// Sets the pin; returns whether that changed it.
    #[inline]
    pub(crate) fn set(&self, value: T) -> bool {
        let changed = self.get() != value;
        // SAFETY: as in `get`; the model reads the place only when it is evaluated.
        unsafe { self.at.as_ptr().write_unaligned(value) };
        changed
    }
}

impl<T> Pin<T> {
    /// Address of the pin, as a number.
    pub(crate) fn address(&self) -> usize {
        self.at.as_ptr() as usize
    }
}

impl Pin<Row> {
    /// Copies the value of another pin; returns whether that changed this one.
    #[inline]
    pub(crate) fn copy(&self, from: &Self) -> bool {
        let (from, to) = (from.at.as_ptr(), self.at.as_ptr());
        // SAFETY: as in `get` and `set`; eight words are as large as a row.
        unsafe {
            let value = from.cast::<[u64; 8]>().read_unaligned();
            let old = to.cast::<[u64; 8]>().read_unaligned();
            let differences = (value.iter().zip(&old)).fold(0, |all, (a, b)| all | (a ^ b));
            if differences != 0 {
                to.cast::<[u64; 8]>().write_unaligned(value);
            }
            differences != 0
        }
    }
}

impl Pin<u8> {
    /// Whether a one-bit pin is high.
    #[inline]
    pub(crate) fn high(&self) -> bool {
        self.get() != 0
    }
}

/// A pin of up to 64 bits, in whatever type Verilator chose.
#[derive(Clone)]
pub(crate) struct NumberPin {
    at: NonNull<u8>,
    bytes: u8,
    mask: u64,
    _alive: Rc<Memory>,
}

impl NumberPin {
    /// Address of the pin, as a number.
    pub(crate) fn address(&self) -> usize {
        self.at.as_ptr() as usize
    }

    /// Size of its storage, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.into()
    }

    /// Reads the pin.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        let at = self.at.as_ptr();
        // SAFETY: the place has `bytes` bytes, is aligned for such an integer (Verilator stores it
        // as one), belongs to a live model, and is not being written.
        unsafe {
            match self.bytes {
                1 => u64::from(*at),
                2 => u64::from(*at.cast::<u16>()),
                4 => u64::from(*at.cast::<u32>()),
                _ => *at.cast::<u64>(),
            }
        }
    }

    /// Sets the pin, truncated to the port's width; returns whether that changed it.
    #[inline]
    pub(crate) fn set(&self, value: u64) -> bool {
        let value = value & self.mask;
        let changed = self.get() != value;
        let at = self.at.as_ptr();
        // SAFETY: as in `get`; the model reads the place only when it is evaluated.
        unsafe {
            match self.bytes {
                1 => *at = value as u8,
                2 => *at.cast::<u16>() = value as u16,
                4 => *at.cast::<u32>() = value as u32,
                _ => *at.cast::<u64>() = value,
            }
        }
        changed
    }
}

/// Unit of comparison.
pub(crate) type StretchBytes = [u64; 4];

/// A piece of a model's memory with pins in it, which can be compared with an earlier copy.
pub(crate) struct Stretch {
    at: NonNull<StretchBytes>,
    _alive: Rc<Memory>,
}

impl Stretch {
    /// The bytes, for comparison only.
    #[inline]
    pub(crate) fn get(&self) -> StretchBytes {
        // SAFETY: the piece lies inside the state block of a live model (`_alive`) and is not being
        // written: evaluation is a call on the same thread. Any bytes are numbers.
        unsafe { self.at.as_ptr().read_unaligned() }
    }
}

impl PartialEq for Stretch {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}
/// The error for a library of the cache that cannot be loaded.
fn refusal(built: &BuiltModel, error: &libloading::Error) -> BuildError {
    // The text of dlopen is the only indication of a file system without `exec`: the error of mmap.
    let mut reason = error.to_string();
    let source = std::error::Error::source(error);
    source.into_iter().for_each(|source| {
        let _ = write!(reason, ": {source}");
    });
    let path = built.folder.clone();
    match reason.contains("failed to map segment") {
        true => BuildError::NotExecutable { path },
        false => BuildError::Damaged { path, reason },
    }
}

/// Prints output of a model (`$display`, `$write`, warnings of assertions) to standard error, each line prefixed by the
/// model's name. A closed standard error is ignored.
fn say(model: &str, text: &str) {
    let prefixed: String = text
        .lines()
        .map(|line| format!("{model}: {line}\n"))
        .collect();
    let _ = std::io::stderr().lock().write_all(prefixed.as_bytes());
}
