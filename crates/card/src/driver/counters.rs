//! Counters of the shell.

use super::{Driver, Transport};
use crate::registers as reg;
use crate::{CardError, RequesterStatistics};
use std::collections::BTreeMap;

/// Running sums of the shell's requester counters, which have 32 bits and wrap.
#[derive(Default)]
pub(super) struct Counters {
    last: BTreeMap<u32, u32>,
    sums: BTreeMap<u32, u64>,
}

impl Counters {
    fn update(&mut self, address: u32, value: u32) -> u64 {
        let last = self.last.insert(address, value).unwrap_or(0);
        let sum = self.sums.entry(address).or_insert(0);
        *sum += u64::from(value.wrapping_sub(last));
        *sum
    }
}

impl<T: Transport> Driver<T> {
    /// Adds the translator's counts for each requester.
    ///
    /// # Errors
    /// [`CardError::Bus`], [`CardError::Broken`].
    pub fn count_requesters(
        &mut self,
        requesters: &mut [RequesterStatistics],
    ) -> Result<(), CardError> {
        for (index, requester) in requesters.iter_mut().enumerate() {
            let base = reg::REQUESTER.at(index as u32);
            for (place, count) in requester.in_registers().into_iter().enumerate() {
                *count = self.counter(base + 4 * place as u32)?;
            }
        }
        Ok(())
    }

    /// Rows that commands have zeroed.
    ///
    /// # Errors
    /// [`CardError::Bus`], [`CardError::Broken`].
    pub fn rows_zeroed(&mut self) -> Result<u64, CardError> {
        self.pair(reg::ROWS_ZEROED_LO)
    }

    /// Rows that commands have copied into card memory.
    ///
    /// # Errors
    /// [`CardError::Bus`], [`CardError::Broken`].
    pub fn rows_in(&mut self) -> Result<u64, CardError> {
        self.pair(reg::ROWS_IN_LO)
    }

    /// Rows that commands have copied out of card memory.
    ///
    /// # Errors
    /// [`CardError::Bus`], [`CardError::Broken`].
    pub fn rows_out(&mut self) -> Result<u64, CardError> {
        self.pair(reg::ROWS_OUT_LO)
    }

    /// A 64-bit value in two adjacent registers.
    fn pair(&mut self, low: u32) -> Result<u64, CardError> {
        let half = u64::from(self.read_register(low)?);
        Ok(u64::from(self.read_register(low + 4)?) << 32 | half)
    }

    fn counter(&mut self, address: u32) -> Result<u64, CardError> {
        let value = self.read_register(address)?;
        Ok(self.counters.update(address, value))
    }
}
