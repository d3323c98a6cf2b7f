//! Conversions between Python and the library: times, callbacks, bytes, and the tuples of `tombolo._values`.
//!
//! Each type names its Python type for the stubs.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{type_hint_identifier, type_hint_subscript, Borrowed};
use tombolo::Picoseconds;

/// Picoseconds of a second.
const SECOND: f64 = 1e12;

/// Seconds of virtual time, as Python has them.
pub fn seconds(time: Picoseconds) -> f64 {
    time.get() as f64 / SECOND
}

/// Name of an object's type, for messages.
pub fn kind(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// Something of a Python module of the package.
pub fn of_module<'py>(py: Python<'py>, module: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(module)?.getattr(name)
}

/// A timeout, in seconds of virtual time.
pub struct Deadline(pub Picoseconds);

impl FromPyObject<'_, '_> for Deadline {
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = type_hint_identifier!("builtins", "float");

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let given: f64 = object.extract()?;
        if given > 0.0 {
            // At most 213 days of virtual time. At least 1: zero would only poll.
            let time = (given * SECOND).min(2f64.powi(63)) as u64;
            return Ok(Self(Picoseconds::new(time.max(1))));
        }
        Err(PyValueError::new_err(format!(
            "a deadline of {} s: must be more than 0 (seconds of virtual time)",
            object.str()?
        )))
    }
}

/// The picoseconds of an optional deadline.
pub fn picoseconds(deadline: Option<Deadline>) -> Option<Picoseconds> {
    deadline.map(|deadline| deadline.0)
}

macro_rules! tuples {
    ($($(#[$meta:meta])* $name:ident($($field:ty),*);)*) => {$(
        $(#[$meta])*
        pub struct $name(pub ($($field,)*));

        impl<'py> IntoPyObject<'py> for $name {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;
            const OUTPUT_TYPE: PyStaticExpr =
                type_hint_identifier!("tombolo._values", stringify!($name));

            fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
                of_module(py, "tombolo._values", stringify!($name))?.call1(self.0)
            }
        }
    )*};
}

tuples! {
    /// Name, bytes, access, offset, description.
    Argument(String, u64, Option<&'static str>, u64, String);
    /// Pending, cut, waits for the receiver.
    ConnectionState(bool, bool, bool);
    /// Port, bytes, packets.
    Flowed(String, u64, u64);
    /// Bytes, last.
    Moved(u64, bool);
    /// Seconds, bytes in, bytes out, faults.
    Progress(f64, u64, u64, u64);
    /// Lines, calls, sum, exclusive or, cycles, payload.
    RpcAnswer(u32, u32, u64, u64, u32, Py<PyBytes>);
}

macro_rules! made_in_python {
    ($($(#[$meta:meta])* $name:ident in $module:literal;)*) => {$(
        $(#[$meta])*
        pub struct $name<'py>(Bound<'py, PyAny>);

        impl<'py> $name<'py> {
            /// Calls the class.
            pub fn new(py: Python<'py>, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyResult<Self> {
                Ok(Self(of_module(py, $module, stringify!($name))?.call1(arguments)?))
            }

            /// The instance, for a set of members.
            #[allow(dead_code)] // Not of every class.
            pub fn object(&self) -> &Bound<'py, PyAny> {
                &self.0
            }
        }

        impl<'py> IntoPyObject<'py> for $name<'py> {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;
            const OUTPUT_TYPE: PyStaticExpr = type_hint_identifier!($module, stringify!($name));

            fn into_pyobject(self, _: Python<'py>) -> PyResult<Self::Output> {
                Ok(self.0)
            }
        }
    )*};
}

made_in_python! {
    /// Coherent lines at an ordinary address: a buffer.
    CoherentMap in "tombolo._memory";
    /// A dictionary, with tables for pandas.
    Report in "tombolo._report";
    /// Memory as a numpy array.
    SharedMemory in "tombolo._memory";
}

/// A dictionary that was JSON.
pub struct Description<'py>(pub Bound<'py, PyAny>);

impl<'py> IntoPyObject<'py> for Description<'py> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    const OUTPUT_TYPE: PyStaticExpr = type_hint_subscript!(
        type_hint_identifier!("builtins", "dict"),
        type_hint_identifier!("builtins", "str"),
        type_hint_identifier!("typing", "Any")
    );

    fn into_pyobject(self, _: Python<'py>) -> PyResult<Self::Output> {
        Ok(self.0)
    }
}

macro_rules! callbacks {
    ($($(#[$meta:meta])* $name:ident as $argument:literal;)*) => {$(
        $(#[$meta])*
        pub struct $name(pub Py<PyAny>);

        impl FromPyObject<'_, '_> for $name {
            type Error = PyErr;
            const INPUT_TYPE: PyStaticExpr =
                type_hint_identifier!("tombolo._values", stringify!($name));

            /// Refuses what cannot be called, before anything has begun.
            fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
                if object.is_callable() {
                    return Ok(Self(object.to_owned().unbind()));
                }
                Err(PyTypeError::new_err(format!(
                    "{} is {}, which cannot be called; pass a function",
                    $argument,
                    kind(&object)
                )))
            }
        }
    )*};
}

callbacks! {
    /// Called with a line of text for each step of a build.
    OnBuild as "progress";
    /// Called with port, host and number where something listens for TCP.
    OnListening as "listening";
    /// Called with a `Progress` during a wait.
    OnProgress as "progress";
}

macro_rules! hinted {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        pub struct $name<'py>(pub Bound<'py, PyAny>);

        impl<'py> FromPyObject<'_, 'py> for $name<'py> {
            type Error = PyErr;
            const INPUT_TYPE: PyStaticExpr =
                type_hint_identifier!("tombolo._values", stringify!($name));

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                Ok(Self(object.to_owned()))
            }
        }
    )*};
}

hinted! {
    /// Memory channels: their number, or their numbers.
    Channels;
    /// A dictionary by name.
    Dictionary;
    /// Names of lines, by offset.
    LineNames;
    /// Number of packets, by slot and port.
    PacketCounts;
    /// Device or memory, by slot and port.
    Plugs;
    /// Bytes, or sizes of an array.
    Shape;
    /// Several slots.
    Slots;
}

macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident: $type:ty, $rule:expr;)*) => {$(
        $(#[$meta])*
        pub struct $name(pub $type);

        impl FromPyObject<'_, '_> for $name {
            type Error = PyErr;
            const INPUT_TYPE: PyStaticExpr = type_hint_identifier!("builtins", "int");

            fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
                object.extract().map(Self).map_err(|error: PyErr| {
                    match error.is_instance_of::<PyOverflowError>(object.py()) {
                        true => PyValueError::new_err(format!($rule, object.to_string())),
                        false => error,
                    }
                })
            }
        }
    )*};
}

numbers! {
    /// An address on the coherent link, or a size.
    Address: u64, "{}: neither base nor size is negative, and addresses have 40 bits";
    /// A core's number.
    Core: u8, "core {}: cores are numbered from 0 to 255";
    /// A number of lines or contexts.
    Count: u32, "{} is no number of lines or contexts";
    /// A number of cycles.
    CycleCount: u32, "{} cycles: 0 to 2**32 - 1 are possible";
    /// A place in memory.
    Offset: u64, "offset {}: it counts from the first byte of the memory";
    /// A slot's number.
    SlotNumber: u8, "slot {}: slots are numbered from 0";
}

/// Bytes of anything with a contiguous buffer.
#[derive(Default)]
pub struct Bytes(pub Vec<u8>);

impl FromPyObject<'_, '_> for Bytes {
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = type_hint_identifier!("typing", "Any");

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self(bytes.as_bytes().to_vec()));
        }
        let plain = of_module(object.py(), "tombolo._arrays", "plain_bytes")?.call1((object,))?;
        Ok(Self(plain.cast::<PyBytes>()?.as_bytes().to_vec()))
    }
}
