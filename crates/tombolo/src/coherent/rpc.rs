//! Calls to a kernel through two coherent lines (CCKit, section 5.7), the program's side of `kernels/rpc`.

use super::{CoherentMemory, PendingLine};
use error::Error;
use units::access::LINE_BYTES;

/// The two lines of a call context, and which of them takes the next arguments.
///
/// The CPU holds the request line exclusively. A call writes the arguments into it, which needs no message, and loads
/// the other line exclusively. The kernel answers that load when it has the result; then the lines have swapped roles.
#[derive(Debug)]
pub struct Rpc {
    memory: CoherentMemory,
    request: u64,
    answer: u64,
    pushes: bool,
}

impl Rpc {
    /// Connects to the first two lines of the memory, whose kernel must be waiting for its first call there since its
    /// reset. The lines of context *n* are a [`part`](CoherentMemory::part) of the memory: the two from line 2 *n* on.
    ///
    /// # Errors
    /// As [`CoherentMemory::load`].
    pub fn connect(memory: CoherentMemory) -> Result<Self, Error> {
        let (request, answer) = (0, LINE_BYTES as u64);
        memory.load_exclusive(request)?;
        // Another core may hold a copy of it.
        memory.flush(answer)?;
        Ok(Self {
            memory,
            request,
            answer,
            pushes: false,
        })
    }

    /// Pushes the arguments home (a flush) before asking for the answer, in all further calls, instead of having the
    /// kernel recall them. This saves one round trip of the link, since they arrive with the call. The paper's protocol
    /// (CCKit, section 5.7) does not push.
    #[must_use]
    pub fn pushing(self) -> Self {
        Self {
            pushes: true,
            ..self
        }
    }

    /// Calls the kernel with up to 128 bytes of arguments (the rest of the line keeps its contents). Returns one line
    /// of result.
    ///
    /// # Errors
    /// As [`CoherentMemory::load`]; [`Error::CoherentOffset`] for too many arguments.
    pub fn call(&mut self, arguments: &[u8]) -> Result<[u8; LINE_BYTES], Error> {
        self.begin_call(arguments)?.wait()
    }

    /// Begins to [`call`](Self::call); the line returned later is the result. A core with several contexts may have one
    /// call outstanding in each. Within a context, the next call waits for the previous one.
    ///
    /// # Errors
    /// As for a call, without the kernel's.
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

    /// The memory of the two lines.
    #[must_use]
    pub fn memory(&self) -> &CoherentMemory {
        &self.memory
    }
}
