//! Reports of a slot's guard: the rule that a kernel broke, and the waits of its ports.
//!
//! The guard closes a slot ([`Event::SlotClosed`](crate::event::Event::SlotClosed)) and records the reason;
//! [`crate::Card::slot_status`] reads it. Texts here have no subject, so that a caller can prefix the names of kernel
//! and port.

use crate::registers::{self as reg, port};
use crate::{Card, CardError, SlotId};
use std::fmt;

/// An AXI4 channel that the kernel drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Read addresses.
    Ar,
    /// Write addresses.
    Aw,
    /// Write data.
    W,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ar => "AR",
            Self::Aw => "AW",
            Self::W => "W",
        })
    }
}

/// A rule of the slot boundary for kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Bursts are of type INCR.
    BurstType,
    /// A beat is at most as wide as the port.
    BeatSize,
    /// A burst stays within a 4 KiB block.
    Block,
    /// Addresses have 48 bits.
    Address,
    /// WLAST comes with the last beat, not before.
    LastEarly,
    /// WLAST comes with the last beat.
    LastMissing,
    /// VALID stays high until READY.
    Withdrawn,
    /// The payload is stable while VALID waits for READY.
    Changed,
}

/// The first rule that a kernel broke at a port since its reset, and the burst that broke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Violated rule.
    pub rule: Rule,
    /// Channel on which it was violated.
    pub channel: Channel,
    /// Address of the burst; meaningless if write data came without one.
    pub address: u64,
    /// Number of beats of the burst.
    pub beats: u32,
    /// Bytes per beat, from `AxSIZE`.
    pub beat_bytes: u32,
    /// Burst type, from `AxBURST`.
    pub burst: u8,
    /// Number of the beat, from 1 ([`Rule::LastEarly`], [`Rule::LastMissing`]).
    pub beat: u32,
}

impl Violation {
    /// Decodes the registers of a port.
    pub fn decode(word: u32, address: u64) -> Option<Self> {
        let rule = match port::violation::RULE.get(word) {
            1 => Rule::BurstType,
            2 => Rule::BeatSize,
            3 => Rule::Block,
            4 => Rule::Address,
            5 => Rule::LastEarly,
            6 => Rule::LastMissing,
            7 => Rule::Withdrawn,
            8 => Rule::Changed,
            _ => return None,
        };
        Some(Self {
            rule,
            channel: match port::violation::CHANNEL.get(word) {
                0 => Channel::Ar,
                1 => Channel::Aw,
                _ => Channel::W,
            },
            address,
            beats: port::violation::LEN.get(word) + 1,
            beat_bytes: 1 << port::violation::SIZE.get(word),
            burst: port::violation::BURST.get(word) as u8,
            beat: port::violation::BEAT.get(word) + 1,
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            channel,
            address,
            beats,
            beat_bytes,
            beat,
            ..
        } = *self;
        let verb = match channel {
            Channel::Ar => "read",
            Channel::Aw | Channel::W => "write",
        };
        match self.rule {
            Rule::BurstType => {
                let kind = match self.burst {
                    0 => "FIXED",
                    2 => "WRAP",
                    _ => "reserved",
                };
                write!(
                    f,
                    "asked for a {verb} burst of type {kind} with {beats} beats at 0x{address:x}; \
                     only INCR is served"
                )
            }
            Rule::BeatSize => write!(
                f,
                "asked for a {verb} burst with beats of {beat_bytes} bytes at 0x{address:x}; a port \
                 has 64"
            ),
            Rule::Block => write!(
                f,
                "asked for a {verb} burst of {beats} beats of {beat_bytes} bytes at 0x{address:x}, \
                 which crosses a 4 KiB boundary"
            ),
            Rule::Address => write!(
                f,
                "asked for a {verb} at 0x{address:x}; addresses have 48 bits"
            ),
            Rule::LastEarly => write!(
                f,
                "sent WLAST at beat {beat} of a burst of {beats} at 0x{address:x}"
            ),
            Rule::LastMissing => write!(
                f,
                "sent beat {beat} of a burst of {beats} at 0x{address:x} without WLAST"
            ),
            Rule::Withdrawn => write!(
                f,
                "withdrew {channel}VALID before {channel}READY came ({verb} burst at 0x{address:x})"
            ),
            Rule::Changed => write!(
                f,
                "changed {channel} while {channel}READY was awaited ({verb} burst at 0x{address:x})"
            ),
        }
    }
}

/// A write burst with missing beats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Address of the burst.
    pub address: u64,
    /// Number of beats received.
    pub taken: u32,
    /// Number of beats of the burst.
    pub beats: u32,
}

/// Waits of one direction of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Number of bursts without their (last) response.
    pub outstanding: u32,
    /// The kernel offers an address that the shell does not accept.
    pub address_offered: bool,
    /// The shell offers a response that the kernel does not accept.
    pub response_offered: bool,
    /// Cycles that the shell has waited for the kernel, saturating.
    pub kernel_wait: u32,
}

/// Maximum value of [`Waiting::kernel_wait`].
pub const LONGEST_KERNEL_WAIT: u32 =
    port::reads::KERNEL_WAIT.mask() >> port::reads::KERNEL_WAIT.lsb;

/// Status of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStatus {
    /// The first rule violation.
    pub violation: Option<Violation>,
    /// Waits of reads.
    pub reads: Waiting,
    /// Waits of writes.
    pub writes: Waiting,
    /// The write burst that lacks a beat of the kernel.
    pub starved: Option<Collection>,
    /// The kernel offers data that the shell does not accept.
    pub data_offered: bool,
    /// The shell does not accept the data because it has no address for them.
    pub address_missing: bool,
    /// The kernel has requested exclusive access (AxLOCK), which the slot boundary does not carry; reported by
    /// simulated cards only.
    pub exclusive: bool,
}

impl PortStatus {
    /// Reads the registers of a port; `read` takes offsets within the port's registers.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(mut read: impl FnMut(u32) -> Result<u32, E>) -> Result<Self, E> {
        let word = read(port::VIOLATION)?;
        let mut address = 0;
        if port::violation::RULE.get(word) != 0 {
            let low = u64::from(read(port::ADDRESS_LO)?);
            address = u64::from(read(port::ADDRESS_HI)?) << 32 | low;
        }
        let violation = Violation::decode(word, address);
        let reads = read(port::READS)?;
        let writes = read(port::WRITES)?;
        let mut starved = None;
        let data_offered = port::writes::DATA_OFFERED.get(writes) == 1;
        let address_missing =
            data_offered && port::write_beat::VALID.get(read(port::WRITE_BEAT)?) == 0;
        if port::writes::DATA_AWAITED.get(writes) == 1 {
            let word = read(port::WRITE_BEAT)?;
            let low = u64::from(read(port::WRITE_ADDRESS_LO)?);
            starved = Some(Collection {
                address: u64::from(read(port::WRITE_ADDRESS_HI)?) << 32 | low,
                taken: port::write_beat::BEATS.get(word),
                beats: port::write_beat::LEN.get(word) + 1,
            });
        }
        let waiting = |word| Waiting {
            outstanding: port::reads::OUTSTANDING.get(word),
            address_offered: port::reads::ADDRESS_OFFERED.get(word) == 1,
            response_offered: port::reads::RESPONSE_OFFERED.get(word) == 1,
            kernel_wait: port::reads::KERNEL_WAIT.get(word),
        };
        Ok(Self {
            violation,
            reads: waiting(reads),
            writes: waiting(writes),
            starved,
            data_offered,
            address_missing,
            exclusive: false,
        })
    }

    /// The waits of the port, each as a part of a sentence; empty if nothing is under way.
    pub fn waits(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for (name, response, direction) in
            [("reads", "R", &self.reads), ("writes", "B", &self.writes)]
        {
            let mut part = match direction.outstanding {
                0 => String::new(),
                1 => format!("{name}: 1 burst outstanding"),
                count => format!("{name}: {count} bursts outstanding"),
            };
            let mut add = |text: String| {
                part += if part.is_empty() { name } else { "" };
                part += if part.ends_with(name) { ": " } else { ", " };
                part += &text;
            };
            let cycles = Cycles(direction.kernel_wait);
            if direction.response_offered {
                add(format!("{response} not taken for {cycles}"));
            }
            if let (Some(burst), "writes") = (self.starved, name) {
                add(format!(
                    "beat {} of {} of the burst at 0x{:x} not sent for {cycles}",
                    burst.taken + 1,
                    burst.beats,
                    burst.address
                ));
            } else if self.address_missing && !direction.address_offered && name == "writes" {
                add("W offered without an address: no AW was sent for it".to_owned());
            } else if self.data_offered && name == "writes" {
                add("W offered and not taken by the shell".to_owned());
            }
            if direction.address_offered {
                add("an address offered and not taken by the shell".to_owned());
            }
            if !part.is_empty() {
                parts.push(part);
            }
        }
        parts
    }
}

/// A number of cycles from a saturating counter.
struct Cycles(u32);

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            LONGEST_KERNEL_WAIT => write!(f, "at least {LONGEST_KERNEL_WAIT} cycles"),
            count => write!(f, "{count} cycles"),
        }
    }
}

/// A control access that the kernel has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Offset in the control window, in bytes.
    pub offset: u32,
    /// True for a write, false for a read.
    pub write: bool,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.write { "write" } else { "read" };
        write!(
            f,
            "left a {verb} of its control register 0x{:x} unanswered",
            self.offset
        )
    }
}

/// The shell's state of a slot at the moment in which a register of its kernel answers a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotNotes {
    /// Reads that its memory ports had accepted are unanswered.
    pub reads_owed: bool,
    /// Writes that its memory ports had accepted are unanswered.
    pub writes_owed: bool,
    /// The guard has closed the slot.
    pub closed: bool,
}

impl SlotNotes {
    /// Whether all accepted accesses are answered, and no error occurred.
    pub fn is_settled(self) -> bool {
        self == Self::default()
    }

    /// Decodes the user bits of the BAR's R channel.
    pub fn from_user_bits(bits: u8) -> Self {
        Self {
            reads_owed: bits & 1 != 0,
            writes_owed: bits & 2 != 0,
            closed: bits & 4 != 0,
        }
    }

    /// The accesses that were accepted at the last [`read_kernel`](Card::read_kernel) and are still unanswered: one
    /// register read.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`].
    pub fn read(card: &mut dyn Card, slot: SlotId) -> Result<Self, CardError> {
        card.read_register(Self::register(slot))
            .map(Self::from_status)
    }

    /// Address of the register that holds them: `SLOT.STATUS`.
    pub(crate) fn register(slot: SlotId) -> u32 {
        reg::SLOT.at(slot.0.into()) + reg::slot::STATUS
    }

    /// Encodes them as in `SLOT.STATUS`.
    pub fn status(self) -> u32 {
        reg::slot::status::READS_OWED.put(self.reads_owed.into())
            | reg::slot::status::WRITES_OWED.put(self.writes_owed.into())
            | reg::slot::status::CLOSED.put(self.closed.into())
    }

    /// Decodes them from `SLOT.STATUS`.
    pub fn from_status(word: u32) -> Self {
        Self {
            reads_owed: reg::slot::status::READS_OWED.get(word) == 1,
            writes_owed: reg::slot::status::WRITES_OWED.get(word) == 1,
            closed: reg::slot::status::CLOSED.get(word) == 1,
        }
    }
}

/// The value of a kernel's register, with the shell's state of its slot at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelWord {
    /// Value that the kernel returned.
    pub value: u32,
    /// State of the slot, which the kernel cannot know.
    pub notes: SlotNotes,
}

/// Status of a slot, from its guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotStatus {
    /// The guard has closed the slot.
    pub closed: bool,
    /// The control access that the kernel does not answer, if any.
    pub unanswered: Option<Unanswered>,
    /// Status of its ports, in the kernel's order.
    pub ports: Vec<PortStatus>,
}

impl SlotStatus {
    /// Reads the status of a slot from its registers.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(
        slot: u32,
        ports_per_slot: u32,
        mut read: impl FnMut(u32) -> Result<u32, E>,
    ) -> Result<Self, E> {
        let base = reg::SLOT.at(slot);
        let status = read(base + reg::slot::STATUS)?;
        let mut unanswered = None;
        if reg::slot::status::HUNG.get(status) == 1 {
            let word = read(base + reg::slot::UNANSWERED)?;
            unanswered = Some(Unanswered {
                offset: reg::slot::unanswered::OFFSET.get(word),
                write: reg::slot::unanswered::WRITE.get(word) == 1,
            });
        }
        let ports = (0..ports_per_slot)
            .map(|port| {
                let base = reg::PORT.at(slot * ports_per_slot + port);
                PortStatus::read(|offset| read(base + offset))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            closed: reg::slot::status::CLOSED.get(status) == 1,
            unanswered,
            ports,
        })
    }

    /// The first violation, with the number of its port.
    pub fn violation(&self) -> Option<(usize, Violation)> {
        let mut ports = self.ports.iter().enumerate();
        ports.find_map(|(number, port)| Some((number, port.violation?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(words: &[(u32, u32)]) -> PortStatus {
        let read = |offset| {
            let found = words.iter().find(|(at, _)| *at == offset);
            Ok::<_, ()>(found.map_or(0, |(_, word)| *word))
        };
        PortStatus::read(read).unwrap()
    }

    #[test]
    fn a_violation_names_beat_and_burst() {
        let word = 5 | 2 << 4 | 2 << 16 | 15 << 24;
        let words = [
            (port::VIOLATION, word),
            (port::ADDRESS_LO, 0x1000),
            (port::ADDRESS_HI, 7),
        ];
        let violation = status(&words).violation.unwrap();
        assert_eq!(
            violation.to_string(),
            "sent WLAST at beat 3 of a burst of 16 at 0x700001000"
        );
    }

    #[test]
    fn a_port_says_what_it_waits_for() {
        let words = [
            (port::READS, 3 | 1 << 13 | 1023 << 22),
            (port::WRITES, 1 | 1 << 14 | 40 << 22),
            (port::WRITE_BEAT, 4 | 15 << 8 | 1 << 16),
            (port::WRITE_ADDRESS_LO, 0x40),
        ];
        assert_eq!(
            status(&words).waits(),
            [
                "reads: 3 bursts outstanding, R not taken for at least 1023 cycles",
                "writes: 1 burst outstanding, beat 5 of 16 of the burst at 0x40 not sent for 40 \
                 cycles"
            ]
        );
        let offered = status(&[(port::READS, 1 << 12)]).waits();
        assert_eq!(
            offered,
            ["reads: an address offered and not taken by the shell"]
        );
        // Write data with an address wait for the shell; without one they wait for the kernel.
        let data = (port::WRITES, 1 << 15);
        let of_a_burst = (port::WRITE_BEAT, 15 << 8 | 1 << 16);
        let waits = |words: &[(u32, u32)]| status(words).waits();
        assert_eq!(
            waits(&[data]),
            ["writes: W offered without an address: no AW was sent for it"]
        );
        let taken_by_nobody = "writes: W offered and not taken by the shell";
        assert_eq!(waits(&[data, of_a_burst]), [taken_by_nobody]);
        let with_address = (port::WRITES, 1 << 15 | 1 << 12);
        assert_eq!(
            waits(&[with_address]),
            [format!(
                "{taken_by_nobody}, an address offered and not taken by the shell"
            )]
        );
        assert!(status(&[]).waits().is_empty());
    }
}
