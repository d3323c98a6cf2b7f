//! Calls of many lines to a kernel (CCKit, section 5.7), the program's side of `kernels/rpc_lines`.

use super::under_way::UnderWay;
use super::CoherentMemory;
use error::Error;
use units::access::LINE_BYTES;

const LINE: u64 = LINE_BYTES as u64;
/// Maximum outstanding loads, fewer than the link has request numbers.
const LOADS: usize = 49;

/// Result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RpcAnswer {
    /// Lines of the request, as counted by the kernel.
    pub lines: u32,
    /// Number of calls before this one.
    pub calls: u32,
    /// Sum of the request's 64-bit words, if the handler computes it.
    pub sum: u64,
    /// Exclusive or of the request's 64-bit words.
    pub xor: u64,
    /// Card cycles from call to answer.
    pub cycles: u32,
    /// Payload lines of the answer.
    pub payload: Vec<u8>,
}

/// Two windows of payload lines and two control lines, and which of them take the next request.
///
/// The CPU holds the request's lines. It writes their number into the control line, loads the other control line, then
/// writes the payload and flushes it; the kernel gathers the lines as they arrive. The lines of an answer are those of
/// the next request.
#[derive(Debug)]
pub struct RpcLines {
    memory: CoherentMemory,
    /// Window of the next request: 0 or 1.
    request: u64,
    /// For each window, the number of lines from the first on that the CPU may hold.
    held: [u64; 2],
}

impl RpcLines {
    /// Maximum payload lines of a request or an answer.
    pub const MOST: u64 = 2048;
    /// Size of the coherent memory in bytes: two windows and two control lines.
    pub const BYTES: u64 = (2 * Self::MOST + 2) * LINE;

    /// Connects to the memory, whose kernel must be waiting for its first call since its reset.
    ///
    /// # Errors
    /// As [`CoherentMemory::load`]; [`Error::CoherentOffset`]: it is too small.
    pub fn connect(memory: CoherentMemory) -> Result<Self, Error> {
        let memory = memory.part(0, Self::BYTES)?;
        let (request, held) = (0, [0; 2]);
        let connected = Self {
            memory,
            request,
            held,
        };
        connected.memory.flush(connected.control(1))?;
        connected.memory.load_exclusive(connected.control(0))?;
        Ok(connected)
    }

    fn control(&self, window: u64) -> u64 {
        (2 * Self::MOST + window) * LINE
    }

    fn payload(window: u64, line: u64) -> u64 {
        (window * Self::MOST + line) * LINE
    }

    fn check(&self, lines: u64) -> Result<(), Error> {
        match lines <= Self::MOST {
            true => Ok(()),
            false => Err(Error::CoherentOffset {
                offset: Self::payload(self.request, 0),
                bytes: lines.saturating_mul(LINE),
                range: Self::MOST * LINE,
            }),
        }
    }

    /// Fetches the first lines of the next request exclusively, so that its stores hit. An answer of as many lines has
    /// the same effect.
    ///
    /// # Errors
    /// As [`CoherentMemory::load`]; [`Error::CoherentOffset`] for too many lines.
    pub fn prepare(&mut self, lines: u64) -> Result<(), Error> {
        self.check(lines)?;
        let window = self.request;
        let held = self.held[window as usize];
        self.held[window as usize] = held.max(lines);
        let mut loads = UnderWay::new(LOADS);
        for line in held..lines {
            let at = Self::payload(window, line);
            loads.make_room()?;
            loads.push(at, self.memory.begin_load_exclusive(at)?);
        }
        loads.wait()
    }

    /// Calls the kernel with these bytes, padded with zeroes to a full line, and takes `answer_lines` lines of its
    /// answer.
    ///
    /// # Errors
    /// As [`CoherentMemory::load`]; [`Error::CoherentOffset`] for too many lines. After a kernel error, connect again.
    pub fn call(&mut self, payload: &[u8], answer_lines: u64) -> Result<RpcAnswer, Error> {
        let lines = payload.len().div_ceil(LINE_BYTES) as u64;
        self.check(lines)?;
        self.check(answer_lines)?;
        self.prepare(lines)?;
        let (request, answer) = (self.request, 1 - self.request);
        let held = std::mem::take(&mut self.held[request as usize]);
        // The kernel waits for every line that the CPU holds; so the call goes first, followed by the lines.
        let control = self.control(request);
        self.memory.store(control, &lines.to_le_bytes())?;
        self.memory.flush(control)?;
        let called = self.memory.begin_load_exclusive(self.control(answer))?;
        let mut stores = self.memory.write_buffer();
        for (line, bytes) in (0..).zip(payload.chunks(LINE_BYTES)) {
            let mut whole = [0; LINE_BYTES];
            whole[..bytes.len()].copy_from_slice(bytes);
            let at = Self::payload(request, line);
            stores.store(at, &whole)?;
            stores.flush(at)?;
        }
        // The kernel may answer in these lines, two calls from now.
        for line in lines..held {
            let at = Self::payload(request, line);
            stores.flush(at)?;
        }
        stores.fence()?;

        self.held[answer as usize] = answer_lines;
        let mut bytes = Vec::with_capacity(answer_lines as usize * LINE_BYTES);
        let mut loads = UnderWay::new(LOADS);
        for line in 0..answer_lines {
            let at = Self::payload(answer, line);
            bytes.extend(loads.make_room()?.into_iter().flatten());
            loads.push(at, self.memory.begin_load_exclusive(at)?);
        }
        let row = called.wait()?;
        self.request = answer;
        while let Some(line) = loads.next()? {
            bytes.extend(line);
        }
        let word = |at: usize| {
            row[at..at + 8]
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        Ok(RpcAnswer {
            lines: word(0) as u32,
            calls: (word(0) >> 32) as u32,
            sum: word(8),
            xor: word(16),
            cycles: word(24) as u32,
            payload: bytes,
        })
    }

    /// The memory of windows and control lines.
    #[must_use]
    pub fn memory(&self) -> &CoherentMemory {
        &self.memory
    }
}
