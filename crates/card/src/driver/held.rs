//! The sticky error register: error responses of memories to the shell, and of registers to the host.

use crate::registers as reg;
use std::fmt;

/// The master whose access was answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Master {
    /// The shell read host memory.
    HostRead,
    /// The shell wrote host memory.
    HostWrite,
    /// The shell read card memory.
    MemoryRead,
    /// The shell wrote card memory.
    MemoryWrite,
    /// A master that this driver does not know.
    Unknown(u32),
}

/// Contents of a card's error registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldErrors {
    /// Register `ERROR`.
    pub(super) bits: u32,
    /// Register `ERROR_MASTER`.
    pub(super) master: u32,
    /// Registers `ERROR_READ` and `ERROR_WRITE`.
    pub(super) accesses: [u32; 2],
}

impl HeldErrors {
    /// The first master whose access was answered with an error, its port (host memory: AXI ID; card memory:
    /// channel), and whether the response was DECERR.
    pub fn first(&self) -> Option<(Master, u32, bool)> {
        use reg::error_master as m;
        let master = match m::MASTER.get(self.master) {
            0 => return None,
            1 => Master::HostRead,
            2 => Master::HostWrite,
            3 => Master::MemoryRead,
            4 => Master::MemoryWrite,
            other => Master::Unknown(other),
        };
        let decode = m::RESPONSE.get(self.master) == 3;
        Some((master, m::PORT.get(self.master), decode))
    }

    fn holds(&self, field: reg::Field) -> bool {
        field.get(self.bits) == 1
    }
}

fn response(register: u32) -> &'static str {
    match reg::error_read::RESPONSE.get(register) {
        3 => "DECERR",
        _ => "SLVERR",
    }
}

impl fmt::Display for HeldErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "register ERROR reads 0x{:02x}", self.bits)?;
        let memory = [
            reg::error::HOST_READ,
            reg::error::HOST_WRITE,
            reg::error::MEMORY_READ,
            reg::error::MEMORY_WRITE,
        ];
        if let (true, Some((master, port, decode))) =
            (memory.iter().any(|bit| self.holds(*bit)), self.first())
        {
            let users = [
                "command fetch",
                "CopyIn",
                "CopyOut",
                "event ring",
                "pages in host memory",
            ];
            let user = users.get(port as usize).copied().unwrap_or("unknown user");
            let response = if decode { "DECERR" } else { "SLVERR" };
            match master {
                Master::HostRead => write!(formatter, "; read of host memory, {user}"),
                Master::HostWrite => write!(formatter, "; write of host memory, {user}"),
                Master::MemoryRead => write!(formatter, "; read of card memory, channel {port}"),
                Master::MemoryWrite => write!(formatter, "; write of card memory, channel {port}"),
                Master::Unknown(master) => write!(formatter, "; master {master}, port {port}"),
            }?;
            write!(formatter, ": {response}")?;
        }
        let kinds = [
            (reg::error::BAR_READ, "read"),
            (reg::error::BAR_WRITE, "write"),
        ];
        for ((bit, kind), access) in kinds.into_iter().zip(self.accesses) {
            if self.holds(bit) {
                let address = reg::error_read::ADDRESS.get(access);
                let response = response(access);
                write!(
                    formatter,
                    "; {kind} of register 0x{address:06x}: {response}"
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_said_with_master_port_and_response() {
        let held = HeldErrors {
            bits: 0b10_1010,
            master: 2 | 3 << 4 | 3 << 8,
            accesses: [0, 0x10_0018 | 2 << 28],
        };
        assert_eq!(
            held.to_string(),
            "register ERROR reads 0x2a; write of host memory, event ring: DECERR; write of register 0x100018: SLVERR"
        );
        assert_eq!(held.first(), Some((Master::HostWrite, 3, true)));
        let channel = HeldErrors {
            bits: 1 << 4,
            master: 3 | 2 << 4 | 7 << 8,
            accesses: [0; 2],
        };
        let said = channel.to_string();
        assert!(
            said.ends_with("read of card memory, channel 7: SLVERR"),
            "{said}"
        );
    }
}
