//! Calls to a kernel through two coherent lines (CCKit, section 5.7), the program's side of `kernels/rpc`.

use super::{CoherentMemory, PendingLine};
use error::Error;
use units::access::LINE_BYTES;

/// Both lines, and which of them takes the next arguments.
///
/// The CPU has the request line for itself. A call writes the arguments into it, which needs no message,
/// and loads the other line exclusively. The kernel answers that load when it has the result; then the
/// lines have changed roles.
#[derive(Debug)]
pub struct Rpc {
    memory: CoherentMemory,
    request: u64,
    answer: u64,
    pushes: bool,
}

impl Rpc {
    /// Takes the first two lines of the memory, whose kernel waits for its first call in them since its reset. The lines
    /// of context *n* are a [`part`](CoherentMemory::part) of the memory, the two from line 2 *n* on.
    ///
    /// # Errors
    /// As [`CoherentMemory::load`].
    pub fn connect(memory: CoherentMemory) -> Result<Self, Error> {
        let (request, answer) = (0, LINE_BYTES as u64);
        memory.load_exclusive(request)?;
        // Another core may have looked at it.
        memory.flush(answer)?;
        Ok(Self {
            memory,
            request,
            answer,
            pushes: false,
        })
    }

    /// From now on the arguments are sent home (a flush) before the answer is asked for, instead of being called
    /// home by the kernel. That takes one round trip of the link less: they arrive with the call. The paper's
    /// protocol (CCKit, section 5.7) does without.
    #[must_use]
    pub fn pushing(self) -> Self {
        Self {
            pushes: true,
            ..self
        }
    }

    /// Calls the kernel: up to 128 bytes of arguments (the rest of the line keeps what it has), a line of
    /// result.
    ///
    /// # Errors
    /// As [`CoherentMemory::load`]; [`Error::CoherentOffset`] for too many arguments.
    pub fn call(&mut self, arguments: &[u8]) -> Result<[u8; LINE_BYTES], Error> {
        self.begin_call(arguments)?.wait()
    }

    /// Begins to [`call`](Self::call); the line that comes is the result. A core that has several contexts may have a
    /// call under way in each. In one context the next call waits for the one before.
    ///
    /// # Errors
    /// As for a call, but for the kernel's.
    pub fn begin_call(&mut self, arguments: &[u8]) -> Result<PendingLine, Error> {
        if !arguments.is_empty() {
            self.memory.store(self.request, arguments)?;
        }
        if self.pushes {
            self.memory.flush(self.request)?;
        }
        let result = self.memory.begin_load_exclusive(self.answer)?;
        std::mem::swap(&mut self.request, &mut self.answer);
        Ok(result)
    }

    /// The memory.
    #[must_use]
    pub fn memory(&self) -> &CoherentMemory {
        &self.memory
    }
}
