//! Traffic for a memory model, and measurements of its behaviour.

use crate::random::Random;
use timing::dram::{Access, Controller, MemoryChannel};
use timing::platform::Memory;
use units::Picoseconds;

/// Generates addresses with known locations in the devices.
pub struct Places<'a>(pub &'a Memory);

impl Places<'_> {
    /// Byte offset of a column (in rows of 64 bytes), with the address mapping of docs/blocks/timing.md: from the
    /// lowest bit group, column, bank XOR folded DRAM row, DRAM row.
    fn encode(&self, group: u64, bank: u64, row: u64, column: u64) -> u64 {
        let map = &self.0.address;
        let (groups, banks) = (u64::from(map.bank_groups), u64::from(map.banks_per_group));
        let columns = u64::from(map.page_bytes) / 64;
        let width = banks.trailing_zeros();
        let (mut folded, mut rest) = (0, row);
        while rest != 0 && width > 0 {
            folded ^= rest & (banks - 1);
            rest >>= width;
        }
        (((row * banks + (bank ^ folded)) * columns + column) * groups + group) * 64
    }

    fn columns(&self) -> u64 {
        u64::from(self.0.address.page_bytes) / 64
    }

    pub fn sequential(&self, count: u64) -> Vec<u64> {
        (0..count).map(|index| index * 64).collect()
    }

    /// Sequential within DRAM rows, over one half of the banks. Streams over different halves never collide in a bank,
    /// however far one is ahead of the other.
    pub fn half_of_banks(&self, count: u64, half: u64) -> Vec<u64> {
        let map = &self.0.address;
        let (groups, banks) = (
            u64::from(map.bank_groups),
            u64::from(map.banks_per_group) / 2,
        );
        let columns = self.columns();
        (0..count)
            .map(|index| {
                let stripe = index / (groups * columns);
                let bank = half * banks + stripe % banks;
                self.encode(
                    index % groups,
                    bank,
                    stripe / banks,
                    index / groups % columns,
                )
            })
            .collect()
    }

    /// Consecutive DRAM rows of the same bank.
    pub fn one_bank(&self, count: u64) -> Vec<u64> {
        let column = |index| index % self.columns();
        (0..count)
            .map(|index| self.encode(0, 1, index, column(index)))
            .collect()
    }

    /// Every column of a DRAM row, then the next row of the same bank.
    pub fn one_group(&self, count: u64) -> Vec<u64> {
        let columns = self.columns();
        (0..count)
            .map(|index| self.encode(1, 2, index / columns, index % columns))
            .collect()
    }

    /// A new DRAM row each time, over all banks in turn.
    pub fn all_banks(&self, count: u64) -> Vec<u64> {
        let map = &self.0.address;
        let (groups, banks) = (u64::from(map.bank_groups), u64::from(map.banks_per_group));
        (0..count)
            .map(|i| self.encode(i % groups, i / groups % banks, i / (groups * banks), 0))
            .collect()
    }

    pub fn random(&self, count: u64, seed: u64) -> Vec<u64> {
        let mut random = Random(seed);
        let rows = self.0.channel_bytes / 64;
        (0..count).map(|_| random.next() % rows * 64).collect()
    }
}

/// Requesters of one channel. Accesses are single rows; a time step is a clock of the devices.
pub struct Traffic<'a>(pub &'a Memory);

impl Traffic<'_> {
    fn clock(&self) -> Picoseconds {
        self.0.timing.clock_ps
    }

    fn clocks(&self, time: Picoseconds) -> f64 {
        time.get() as f64 / self.clock().get() as f64
    }

    fn access(&self, token: usize, offset: u64, write: bool) -> Access {
        Access {
            token: token as u32,
            offset,
            rows: 1,
            write,
        }
    }

    /// Rows per clock if reads and writes are issued as early as they are accepted.
    fn saturate(&self, reads: &[u64], writes: &[u64]) -> f64 {
        let mut channel = Controller::new(self.0);
        let (mut read, mut write, mut left) = (0, 0, reads.len() + writes.len());
        let total = left as f64;
        let mut now = Picoseconds::ZERO;
        let mut finished = now;
        while left > 0 {
            while channel.pop_read(now).is_some() || channel.pop_write(now).is_some() {
                left -= 1;
                finished = now;
            }
            if read < reads.len() && channel.can_accept(false) {
                channel.push(now, self.access(read, reads[read], false));
                read += 1;
            }
            if write < writes.len() && channel.can_accept(true) {
                channel.push(now, self.access(write, writes[write], true));
                write += 1;
            }
            now += self.clock();
        }
        total / self.clocks(finished)
    }

    pub fn rate(&self, offsets: &[u64], write: bool) -> f64 {
        match write {
            false => self.saturate(offsets, &[]),
            true => self.saturate(&[], offsets),
        }
    }

    pub fn mixed_rate(&self, reads: &[u64], writes: &[u64]) -> f64 {
        self.saturate(reads, writes)
    }

    /// Seconds for accesses (offset, and whether it is a write) issued in order, with at most `outstanding`
    /// outstanding.
    pub fn windowed(&self, accesses: &[(u64, bool)], outstanding: usize) -> f64 {
        let mut channel = Controller::new(self.0);
        let (mut next, mut done) = (0, 0);
        let mut now = Picoseconds::ZERO;
        let mut finished = now;
        while done < accesses.len() {
            while channel.pop_read(now).is_some() || channel.pop_write(now).is_some() {
                done += 1;
                finished = now;
            }
            while let Some(&(offset, write)) = accesses.get(next) {
                if next - done == outstanding || !channel.can_accept(write) {
                    break;
                }
                channel.push(now, self.access(next, offset, write));
                next += 1;
            }
            now += self.clock();
        }
        finished.as_seconds()
    }

    /// Mean clocks from issue to data with the maximum number of outstanding reads.
    pub fn saturated_latency(&self, offsets: &[u64]) -> f64 {
        let mut channel = Controller::new(self.0);
        let mut pushed = vec![Picoseconds::ZERO; offsets.len()];
        let (mut next, mut done) = (0, 0);
        let mut sum = 0.0;
        let mut now = Picoseconds::ZERO;
        while done < offsets.len() {
            while let Some(row) = channel.pop_read(now) {
                sum += self.clocks(now - pushed[row.token as usize]);
                done += 1;
            }
            while next < offsets.len() && channel.can_accept(false) {
                channel.push(now, self.access(next, offsets[next], false));
                pushed[next] = now;
                next += 1;
            }
            now += self.clock();
        }
        sum / offsets.len() as f64
    }

    /// Mean clocks from arrival to data if reads arrive every `interval` clocks, or at random times with that mean.
    pub fn open_latency(&self, offsets: &[u64], interval: f64, seed: Option<u64>) -> f64 {
        let mut random = seed.map(Random);
        let mut at = 0.0;
        let arrivals: Vec<Picoseconds> = offsets
            .iter()
            .map(|_| {
                at += interval * random.as_mut().map_or(1.0, Random::exponential);
                Picoseconds::new((at * self.clock().get() as f64) as u64)
            })
            .collect();
        let mut channel = Controller::new(self.0);
        let (mut next, mut done) = (0, 0);
        let mut sum = 0.0;
        let mut now = Picoseconds::ZERO;
        while done < offsets.len() {
            while let Some(row) = channel.pop_read(now) {
                sum += self.clocks(row.at - arrivals[row.token as usize]);
                done += 1;
            }
            // Issued at its own time, which is between this step and the previous one.
            while next < offsets.len() && arrivals[next] <= now && channel.can_accept(false) {
                channel.push(now, self.access(next, offsets[next], false));
                next += 1;
            }
            now += self.clock();
        }
        sum / offsets.len() as f64
    }
}

/// Random single reads that a channel serves per clock of its devices.
pub(crate) fn random_reads(memory: &Memory) -> f64 {
    Traffic(memory).rate(&Places(memory).random(40_000, 1), false)
}
