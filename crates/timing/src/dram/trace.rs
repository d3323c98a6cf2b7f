//! Traces of a controller's commands to its devices, for checkers and viewers.

/// A command on the bus of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Time, in clocks of the devices.
    pub clock: u64,
    /// Kind of the command.
    pub kind: CommandKind,
    /// Bank group (0 for commands to all banks).
    pub bank_group: u8,
    /// Bank within its group (0 for commands to all banks).
    pub bank: u8,
}

/// Kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Opens a DRAM row (ACT).
    Activate {
        /// Number of the DRAM row.
        row: u32,
    },
    /// Closes the bank's row (PRE).
    Precharge,
    /// Closes every bank's row (PREA).
    PrechargeAll,
    /// Reads one burst of the open row (RD).
    Read {
        /// Row of 64 bytes within the channel, as the user counts.
        address: u32,
    },
    /// Writes one burst of the open row (WR).
    Write {
        /// Row of 64 bytes within the channel, as the user counts.
        address: u32,
    },
    /// Refreshes (REF).
    Refresh,
}
