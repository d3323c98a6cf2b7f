//! Objects that belong to another one, which ends them when it is closed.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3::PyTypeCheck;

/// A set that does not keep its members alive.
pub struct Members(Py<PyAny>);

impl Members {
    /// An empty set.
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let set = py.import("weakref")?.getattr("WeakSet")?.call0()?;
        Ok(Self(set.unbind()))
    }

    /// Adds an object.
    pub fn add<T: PyTypeCheck>(&self, object: &Bound<'_, T>) -> PyResult<()> {
        self.0.call_method1(object.py(), "add", (object,)).map(drop)
    }

    /// Removes an object, if it is there.
    pub fn discard<T: PyTypeCheck>(&self, object: &Bound<'_, T>) -> PyResult<()> {
        let py = object.py();
        self.0.call_method1(py, "discard", (object,)).map(drop)
    }

    /// Calls a method of every member; continues after an error, and keeps the first one.
    pub fn end(&self, py: Python<'_>, method: &str, first: &mut PyResult<()>) -> PyResult<()> {
        for member in py.get_type::<PyList>().call1((&self.0,))?.try_iter()? {
            match member?.call_method0(method) {
                Ok(_) => {}
                Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
                Err(error) if first.is_ok() => *first = Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }
}
