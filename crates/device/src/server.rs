//! The vfio-user socket; it serves one host at a time.

use crate::function::{Function, Hardware, Region, VECTORS};
use crate::maps::{MapError, Range};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use vfio_bindings::bindings::vfio::{
    vfio_region_info, VFIO_IRQ_INFO_EVENTFD, VFIO_IRQ_INFO_MASKABLE, VFIO_IRQ_SET_ACTION_MASK,
    VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_ACTION_UNMASK, VFIO_IRQ_SET_DATA_EVENTFD,
    VFIO_IRQ_SET_DATA_NONE, VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_BAR2_REGION_INDEX,
    VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_NUM_IRQS, VFIO_PCI_NUM_REGIONS,
    VFIO_REGION_INFO_FLAG_READ, VFIO_REGION_INFO_FLAG_WRITE,
};
use vfio_user::{DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion};

/// Why serving a socket failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process serves at this path, or the file is not a socket.
    #[error("{0}: is there already, and no socket that nobody serves; name another")]
    Taken(std::path::PathBuf),
    /// The socket cannot be created.
    #[error("{path}: {error}")]
    Socket {
        /// Path of the socket.
        path: std::path::PathBuf,
        /// Error of the vfio-user library.
        error: vfio_user::Error,
    },
}

/// How a connection ended.
#[derive(Debug)]
pub enum Connection {
    /// The host closed it.
    Closed,
    /// The host violated the protocol, or the socket failed; holds the error text.
    Failed(String),
}

/// Serves a device at a socket, one host after another. `ended` receives how each connection ended, and returns false
/// to stop.
///
/// # Errors
/// [`ServeError`]. A misbehaving host is no error: its connection ends, and `ended` receives the reason.
pub fn serve<H: Hardware>(
    socket: &Path,
    mut function: Function<H>,
    mut ended: impl FnMut(Connection) -> bool,
) -> Result<(), ServeError> {
    remove_what_nobody_serves(socket);
    if socket.exists() {
        return Err(ServeError::Taken(socket.to_owned()));
    }
    let server = Server::new(socket, true, interrupts(), regions(&function)).map_err(|error| {
        ServeError::Socket {
            path: socket.to_owned(),
            error,
        }
    })?;
    loop {
        // The library panics on some malformed messages. No operation of this crate is in progress then, and
        // `disconnect` below restores the function's state.
        let mut backend = Backend(&mut function);
        let end = match catch_unwind(AssertUnwindSafe(|| server.run(&mut backend))) {
            Ok(Ok(())) => Connection::Closed,
            Ok(Err(error)) => Connection::Failed(error.to_string()),
            Err(_) => Connection::Failed("a malformed message".into()),
        };
        function.disconnect();
        if !ended(end) {
            return Ok(());
        }
    }
}

/// Removes the leftover socket of a server that has ended.
fn remove_what_nobody_serves(socket: &Path) {
    let is_socket = std::fs::metadata(socket).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket && UnixStream::connect(socket).is_err_and(refused) {
        // If this fails, creating the new socket reports the reason.
        let _ = std::fs::remove_file(socket);
    }
}

fn regions<H: Hardware>(function: &Function<H>) -> Vec<ServerRegion> {
    let region = |index| {
        let size = region_of(index).map_or(0, |region| function.bytes_of(region));
        let access = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
        ServerRegion {
            region_info: vfio_region_info {
                argsz: size_of::<vfio_region_info>() as u32,
                flags: if size > 0 { access } else { 0 },
                index,
                size,
                ..Default::default()
            },
            sparse_areas: Vec::new(),
            mmap_fd: None,
        }
    };
    (0..VFIO_PCI_NUM_REGIONS).map(region).collect()
}

fn interrupts() -> Vec<IrqInfo> {
    let interrupt = |index| match index {
        VFIO_PCI_MSIX_IRQ_INDEX => IrqInfo {
            index,
            flags: VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE,
            count: VECTORS.into(),
        },
        _ => IrqInfo {
            index,
            flags: 0,
            count: 0,
        },
    };
    (0..VFIO_PCI_NUM_IRQS).map(interrupt).collect()
}

fn region_of(index: u32) -> Option<Region> {
    match index {
        VFIO_PCI_CONFIG_REGION_INDEX => Some(Region::Configuration),
        VFIO_PCI_BAR0_REGION_INDEX => Some(Region::Hardware),
        VFIO_PCI_BAR2_REGION_INDEX => Some(Region::Msix),
        _ => None,
    }
}

/// Adapts the function to the vfio-user library.
struct Backend<'a, H>(&'a mut Function<H>);

/// Maximum size of an access in bytes; hosts use 1 to 8.
const MOST_ACCESS: usize = 4096;

fn check_length(data: &[u8]) -> io::Result<()> {
    match data.len() {
        0..=MOST_ACCESS => Ok(()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn refused(error: &MapError) -> io::Error {
    tracing::warn!("memory of the host: {error}");
    io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
}

impl<H: Hardware> ServerBackend for Backend<'_, H> {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        check_length(data)?;
        match region_of(region) {
            Some(region) => self.0.read(region, offset, data),
            None => data.fill(0xff),
        }
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        check_length(data)?;
        if let Some(region) = region_of(region) {
            self.0.write(region, offset, data);
        }
        Ok(())
    }

    fn dma_map(
        &mut self,
        flags: DmaMapFlags,
        offset: u64,
        address: u64,
        size: u64,
        fd: Option<File>,
    ) -> io::Result<()> {
        let range = Range {
            start: address,
            bytes: size,
        };
        tracing::debug!(
            "map 0x{address:x}+0x{size:x} {flags:?}, file {}",
            fd.is_some()
        );
        // Memory without a file is accessible only by messages, which this server does not implement.
        let Some(file) = fd else {
            return Ok(());
        };
        self.0
            .map(range, &file, offset)
            .map_err(|error| refused(&error))
    }

    fn dma_unmap(&mut self, flags: DmaUnmapFlags, address: u64, size: u64) -> io::Result<()> {
        tracing::debug!("unmap 0x{address:x}+0x{size:x} {flags:?}");
        if flags.contains(DmaUnmapFlags::UNMAP_ALL) {
            self.0.unmap_all();
            return Ok(());
        }
        let range = Range {
            start: address,
            bytes: size,
        };
        self.0.unmap(range).map_err(|error| refused(&error))
    }

    fn reset(&mut self) -> io::Result<()> {
        tracing::debug!("reset");
        self.0.reset();
        Ok(())
    }

    fn set_irqs(
        &mut self,
        index: u32,
        flags: u32,
        start: u32,
        count: u32,
        fds: Vec<File>,
    ) -> io::Result<()> {
        tracing::debug!(
            "interrupts: index {index}, flags {flags:x}, {start}+{count}, files {}",
            fds.len()
        );
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let end = start
            .checked_add(count)
            .filter(|&end| end <= VECTORS.into());
        let (VFIO_PCI_MSIX_IRQ_INDEX, Some(end)) = (index, end) else {
            // Other kinds of interrupt do not exist; disabling all of them is allowed.
            return if count == 0 { Ok(()) } else { Err(invalid()) };
        };
        let data = flags & (VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_DATA_EVENTFD);
        let vectors = start as usize..end as usize;
        match flags & !data {
            VFIO_IRQ_SET_ACTION_MASK | VFIO_IRQ_SET_ACTION_UNMASK => {
                let held = flags & VFIO_IRQ_SET_ACTION_MASK != 0;
                vectors.for_each(|vector| _ = self.0.hold(vector, held));
            }
            VFIO_IRQ_SET_ACTION_TRIGGER if data == VFIO_IRQ_SET_DATA_EVENTFD => {
                let mut fds = fds.into_iter();
                vectors.for_each(|vector| _ = self.0.listen(vector, fds.next()));
            }
            VFIO_IRQ_SET_ACTION_TRIGGER if data == VFIO_IRQ_SET_DATA_NONE && count == 0 => {
                (0..VECTORS.into()).for_each(|vector| _ = self.0.listen(vector, None));
            }
            _ => return Err(invalid()),
        }
        Ok(())
    }
}
