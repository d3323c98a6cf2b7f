//! `pyxrt`: devices, buffers, kernels and runs as in XRT's Python module. The public interface is `package/pyxrt`.

use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use xrt::container::{self, Container};
use xrt::{
    Buffer, BufferFlags, Class, Device, Direction, Information, Ip, Kernel, Run, UnitAccess, Uuid,
    XrtError,
};

fn raise(error: &XrtError) -> PyErr {
    match error.class() {
        Class::OutOfRange => PyIndexError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Calls without the interpreter's lock.
fn call<R: Send>(py: Python<'_>, call: impl Send + FnOnce() -> Result<R, XrtError>) -> PyResult<R> {
    py.detach(call).map_err(|error| raise(&error))
}

fn uuid_of(text: &str) -> PyResult<Uuid> {
    text.parse()
        .map_err(|error: xrt::UuidError| PyRuntimeError::new_err(error.to_string()))
}

/// Folder of the shell's RTL, unless `TOMBOLO_HOME` is set.
#[pyfunction]
pub fn xrt_set_home(home: PathBuf) {
    xrt::set_home(home);
}

/// How many devices there are.
#[pyfunction]
pub fn xrt_device_count() -> u32 {
    xrt::device_count()
}

/// An `.xclbin`.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeXclbin(Arc<Container>);

#[pymethods]
impl NativeXclbin {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let read = container::read(&path).map_err(|error| raise(&error))?;
        Ok(Self(Arc::new(read)))
    }

    #[getter]
    fn uuid(&self) -> String {
        self.0.uuid.to_string()
    }

    #[getter]
    fn platform(&self) -> &str {
        &self.0.design.platform
    }

    /// The file in the format of `tombolo link`.
    fn contents(&self) -> Vec<u8> {
        container::write(&self.0.design)
    }

    /// Name and count of arguments of each kernel.
    fn kernels(&self) -> Vec<(String, usize)> {
        let kernels = self.0.design.kernels.iter();
        kernels
            .map(|kernel| (kernel.name.clone(), kernel.arguments.len()))
            .collect()
    }

    /// Full names of the compute units.
    fn units(&self) -> Vec<String> {
        let design = &self.0.design;
        design
            .units
            .iter()
            .map(|unit| design.full_name(unit))
            .collect()
    }

    /// Tag, address, KiB and use of each memory.
    fn memories(&self) -> Vec<(String, u64, u64, bool)> {
        let design = &self.0.design;
        let memories = design.memories.iter().enumerate();
        memories
            .map(|(index, one)| {
                let base = design.base_of(index).unwrap_or_default();
                (one.tag.clone(), base, one.bytes / 1024, one.used)
            })
            .collect()
    }
}

/// An open device.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeXrtDevice(Device);

#[pymethods]
impl NativeXrtDevice {
    #[staticmethod]
    fn open(number: u32) -> PyResult<Self> {
        Device::open(number)
            .map(Self)
            .map_err(|error| raise(&error))
    }

    #[staticmethod]
    fn open_named(name: &str) -> PyResult<Self> {
        let opened = Device::open_named(name);
        opened.map(Self).map_err(|error| raise(&error))
    }

    fn load_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<String> {
        let loaded = call(py, || self.0.load_file(&path))?;
        Ok(loaded.to_string())
    }

    fn load(&self, py: Python<'_>, xclbin: &NativeXclbin) -> PyResult<String> {
        let container = Container::clone(&xclbin.0);
        let loaded = call(py, || self.0.load("the xclbin given".to_owned(), container))?;
        Ok(loaded.to_string())
    }

    #[getter]
    fn uuid(&self) -> String {
        self.0.uuid().to_string()
    }

    /// Virtual time of its card, in picoseconds.
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        call(py, || self.0.now())
    }

    fn information(&self, py: Python<'_>, what: u32) -> PyResult<String> {
        let what = Information::from_number(what).ok_or_else(|| {
            PyRuntimeError::new_err(format!("get_info: {what} is no information"))
        })?;
        call(py, || self.0.information(what))
    }
}

/// A buffer on a device.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeXrtBo(Buffer);

#[pymethods]
impl NativeXrtBo {
    #[new]
    fn new(
        py: Python<'_>,
        device: &NativeXrtDevice,
        bytes: usize,
        flags: u32,
        group: u32,
    ) -> PyResult<Self> {
        let flags = BufferFlags(flags);
        call(py, || Buffer::new(&device.0, bytes, flags, group)).map(Self)
    }

    fn part(&self, bytes: usize, offset: usize) -> PyResult<Self> {
        let part = self.0.part(bytes, offset);
        part.map(Self).map_err(|error| raise(&error))
    }

    fn sync(&self, py: Python<'_>, from_device: bool, bytes: usize, offset: usize) -> PyResult<()> {
        let direction = match from_device {
            true => Direction::FromDevice,
            false => Direction::ToDevice,
        };
        call(py, || self.0.sync(direction, bytes, offset))
    }

    /// Address of the host's copy in the program, which stays as long as this.
    fn map(&self) -> PyResult<usize> {
        let start = self.0.map().map_err(|error| raise(&error))?;
        Ok(start as usize)
    }

    /// `address` has `bytes` bytes, outside of this buffer: the caller holds what they are of.
    fn write(&self, address: usize, bytes: usize, seek: usize) -> PyResult<()> {
        // SAFETY: `package/pyxrt` gives the bytes of a buffer that it holds.
        let written = unsafe { self.0.write(address as *const u8, bytes, seek) };
        written.map_err(|error| raise(&error))
    }

    /// As `write`, the other way.
    fn read(&self, address: usize, bytes: usize, skip: usize) -> PyResult<()> {
        // SAFETY: as above.
        let read = unsafe { self.0.read(address as *mut u8, bytes, skip) };
        read.map_err(|error| raise(&error))
    }

    fn copy(
        &self,
        py: Python<'_>,
        source: &Self,
        bytes: usize,
        source_offset: usize,
        offset: usize,
    ) -> PyResult<()> {
        call(py, || self.0.copy(&source.0, bytes, source_offset, offset))
    }

    #[getter]
    fn bytes(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn address(&self) -> u64 {
        self.0.address()
    }
}

/// A kernel of a loaded .xclbin.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeXrtKernel(Kernel);

#[pymethods]
impl NativeXrtKernel {
    #[new]
    fn new(device: &NativeXrtDevice, uuid: &str, name: &str, access: u32) -> PyResult<Self> {
        let access = match access {
            0 => UnitAccess::Exclusive,
            1 => UnitAccess::Shared,
            _ => UnitAccess::None,
        };
        let opened = Kernel::open(&device.0, uuid_of(uuid)?, name, access);
        opened.map(Self).map_err(|error| raise(&error))
    }

    fn group_id(&self, index: u32) -> PyResult<i32> {
        self.0.group_id(index).map_err(|error| raise(&error))
    }

    fn read_register(&self, py: Python<'_>, offset: u32) -> PyResult<u32> {
        call(py, || self.0.read_register(offset))
    }

    fn write_register(&self, py: Python<'_>, offset: u32, value: u32) -> PyResult<()> {
        call(py, || self.0.write_register(offset, value))
    }
}

/// A run of a kernel.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeXrtRun(Run);

#[pymethods]
impl NativeXrtRun {
    #[new]
    fn new(kernel: &NativeXrtKernel) -> Self {
        Self(Run::new(&kernel.0))
    }

    fn set_value(&self, index: u32, value: &[u8]) -> PyResult<()> {
        self.0
            .set_bytes(index, value)
            .map_err(|error| raise(&error))
    }

    fn set_bo(&self, index: u32, bo: &NativeXrtBo) -> PyResult<()> {
        self.0
            .set_buffer(index, &bo.0)
            .map_err(|error| raise(&error))
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        call(py, || self.0.start())
    }

    /// Waits for at most `milliseconds` of virtual time (0: for ever), and checks for Python's signals meanwhile.
    fn wait(&self, py: Python<'_>, milliseconds: u64) -> PyResult<u32> {
        let interval = std::time::Duration::from_millis(40);
        let mut left = milliseconds;
        loop {
            let run = &self.0;
            let (state, rest) = call(py, move || run.wait_for(left, interval))?;
            if let Some(state) = state {
                return Ok(state as u32);
            }
            left = rest;
            py.check_signals()?;
        }
    }

    fn state(&self, py: Python<'_>) -> u32 {
        py.detach(|| self.0.state()) as u32
    }

    fn abort(&self, py: Python<'_>) -> u32 {
        py.detach(|| self.0.abort()) as u32
    }
}

/// Registers of a compute unit.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeXrtIp(Ip);

#[pymethods]
impl NativeXrtIp {
    #[new]
    fn new(device: &NativeXrtDevice, uuid: &str, name: &str) -> PyResult<Self> {
        let opened = Ip::open(&device.0, uuid_of(uuid)?, name);
        opened.map(Self).map_err(|error| raise(&error))
    }

    fn read_register(&self, py: Python<'_>, offset: u32) -> PyResult<u32> {
        call(py, || self.0.read_register(offset))
    }

    fn write_register(&self, py: Python<'_>, offset: u32, value: u32) -> PyResult<()> {
        call(py, || self.0.write_register(offset, value))
    }
}
