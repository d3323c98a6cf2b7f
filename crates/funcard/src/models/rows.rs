//! Arrays that kernels read row by row.

use crate::kernel::{Access, VirtualMemory};

/// Bytes of a row.
pub(super) const ROW: u64 = 64;

/// An array, and its last row read.
#[derive(Debug)]
pub(super) struct Rows {
    port: usize,
    base: u64,
    /// The row held, by number.
    row: Option<(u64, [u8; ROW as usize])>,
}

impl Rows {
    pub(super) fn new(port: usize, base: u64) -> Self {
        Self {
            port,
            base: base & !(ROW - 1),
            row: None,
        }
    }

    pub(super) fn address(&self, number: u64) -> u64 {
        self.base.wrapping_add(number.wrapping_mul(ROW))
    }

    /// The row of this number; `None`: it waits.
    pub(super) fn get(
        &mut self,
        number: u64,
        memory: &mut dyn VirtualMemory,
    ) -> Option<[u8; ROW as usize]> {
        match self.row {
            Some((there, row)) if there == number => Some(row),
            _ => {
                let mut row = [0; ROW as usize];
                if memory.read(self.port, self.address(number), &mut row) == Access::Blocked {
                    return None;
                }
                self.row = Some((number, row));
                Some(row)
            }
        }
    }
}
