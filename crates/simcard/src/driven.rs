//! Check of a kernel's registers by simulation: its model alone, and a host that writes and reads every argument. It
//! detects errors that the RTL's text does not show: registers that do not answer, two arguments in one register, a
//! write that reaches ap_ctrl, parts of an argument that store nothing, registers that belong to no argument.
//!
//! Nothing else is connected: no other port is ever answered, and the kernel is not started.

use super::interface::KernelInterface;
use super::kernel_model::build_for_slot;
use super::model::{Instance, Model, ModelFailure, NumberPin};
use card::kernel::{ControlProtocol, KernelPackage, Manifest, SECOND_BUNDLE};
use std::fmt;
use std::path::Path;
use units::Picoseconds;
use verilated::{BuildError, Builder, ProgressSink};

/// Maximum number of shell cycles for an answer, as in a slot (`docs/blocks/guard.md`).
const TIMEOUT_CYCLES: u32 = 4096;
/// Number of cycles in reset, and after it.
const RESET_CYCLES: u32 = 16;
const PERIOD: Picoseconds = Picoseconds::from_nanos(4);
/// Size of a register, in bytes.
const WORD: u32 = 4;
/// The first permitted offset of an argument.
const FIRST: u32 = 0x10;
/// Bits of ap_ctrl that show that the kernel was started: ap_start, ap_done, ap_idle.
const STARTED: u32 = 7;
/// Test pattern and its complement: every bit is tested as 0 and as 1.
const PATTERNS: [u32; 2] = [0x5555_5555, 0xaaaa_aaaa];

/// An observation of a kernel's registers that prevents no run, and that its author may not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Reads of an argument are independent of writes.
    Unread {
        /// Name of the argument.
        argument: String,
        /// Offset of the argument, in bytes.
        offset: u32,
    },
    /// Bits of a readable argument that store nothing.
    Unused {
        /// Name of the argument.
        argument: String,
        /// Offset of the word, in bytes.
        offset: u32,
        /// Mask of the bits.
        bits: u32,
    },
    /// A register stores values and belongs to no argument.
    Undescribed {
        /// Offset of the register, in bytes.
        offset: u32,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread { argument, offset } => write!(
                f,
                "argument `{argument}` at 0x{offset:02x} cannot be read back: it is written only, or an output, or nothing \
                 is there"
            ),
            Self::Unused {
                argument,
                offset,
                bits,
            } => write!(
                f,
                "argument `{argument}`: of the word at 0x{offset:02x} the bits 0x{bits:08x} keep nothing that is written"
            ),
            Self::Undescribed { offset } => write!(
                f,
                "the register at 0x{offset:02x} keeps what is written, and no argument describes it"
            ),
        }
    }
}

/// Builds a kernel's model, or finds it in the cache, and drives its registers.
///
/// # Errors
/// RTL that does not compile; a [`BuildError::Mismatch`] that names the argument: a register that does not answer or
/// answers with an error, arguments that are one register, a write that reaches ap_ctrl.
pub fn drive_registers(
    builder: &Builder,
    kernel: &KernelPackage,
    home: &Path,
    progress: &mut ProgressSink<'_>,
) -> Result<Vec<Remark>, BuildError> {
    if kernel.manifest.registers.is_empty() {
        return Ok(Vec::new());
    }
    let (built, interface) = build_for_slot(builder, kernel, home, progress)?;
    let instance = Instance::new(&Model::load(&built)?)?;
    let mismatch = |rule| BuildError::Mismatch {
        kernel: kernel.manifest.name.clone(),
        rule,
    };
    let Some(host) = Host::new(instance, &interface) else {
        return Err(mismatch("its registers have no ports".to_owned()));
    };
    Driven {
        manifest: &kernel.manifest,
        host,
    }
    .look()
    .map_err(|fault| mismatch(fault.to_string()))
}

/// A failure that prevents the check.
enum Fault {
    /// The register does not answer, or the model ended itself.
    Silent {
        register: String,
        write: bool,
    },
    Refused {
        register: String,
    },
    Ended(ModelFailure),
    Same {
        one: String,
        other: String,
    },
    Starts {
        register: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent { register, write } => {
                let access = if *write { "write" } else { "read" };
                write!(
                    f,
                    "{register}: a {access} is not answered in {TIMEOUT_CYCLES} cycles"
                )
            }
            Self::Refused { register } => write!(
                f,
                "{register}: a write is answered with an error (SLVERR or DECERR)"
            ),
            Self::Ended(failure) => write!(
                f,
                "its model ends when its registers are used: {}",
                failure.reason
            ),
            Self::Same { one, other } => write!(
                f,
                "{one} and {other} are one register: what is written to one is read from the other"
            ),
            Self::Starts { register } => write!(
                f,
                "{register}: a write reaches ap_ctrl, and starts the kernel"
            ),
        }
    }
}

/// Result of an access.
enum RegisterAccess {
    Okay(u32),
    Error,
    Nothing,
}

/// A host that drives a kernel's registers.
struct Host {
    instance: Instance,
    now: Picoseconds,
    clocks: Vec<NumberPin>,
    reset: Option<NumberPin>,
    pins: Vec<(&'static str, NumberPin)>,
}

impl Host {
    fn new(instance: Instance, interface: &KernelInterface) -> Option<Self> {
        let pin = |name: &str| instance.number_pin(name, 0);
        let control = interface.control.as_ref()?.iter();
        let pins = control.filter_map(|(signal, port)| Some((signal.name, port.as_ref()?)));
        let pins = pins.map(|(name, port)| Some((name, pin(&port.name)?)));
        let pins = pins.collect::<Option<_>>()?;
        let clocks = interface.clocks.iter().map(|other| pin(&other.clock.name));
        let clocks = clocks.collect::<Option<_>>()?;
        let reset = match &interface.reset {
            Some(port) => Some(pin(&port.name)?),
            None => None,
        };
        Some(Self {
            instance,
            now: Picoseconds::ZERO,
            clocks,
            reset,
            pins,
        })
    }

    fn pin(&self, name: &str) -> Option<&NumberPin> {
        let mut pins = self.pins.iter();
        pins.find_map(|(of, pin)| (*of == name).then_some(pin))
    }

    fn set(&self, name: &str, value: u64) {
        if let Some(pin) = self.pin(name) {
            pin.set(value);
        }
    }

    fn get(&self, name: &str) -> u64 {
        self.pin(name).map_or(0, NumberPin::get)
    }

    /// Evaluates one edge; returns the handshakes at it. The following inputs are settled before the next edge.
    fn cycle(&mut self) -> Result<(), ModelFailure> {
        for clock in &self.clocks {
            clock.set(1);
        }
        self.instance.edge(self.now)?;
        for clock in &self.clocks {
            clock.set(0);
        }
        self.now += PERIOD;
        Ok(())
    }

    fn begin(&mut self) -> Result<(), ModelFailure> {
        self.instance.start()?;
        for level in [0, 1] {
            if let Some(reset) = &self.reset {
                reset.set(level);
            }
            self.instance.settle(self.now)?;
            for _ in 0..RESET_CYCLES {
                self.cycle()?;
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<RegisterAccess, ModelFailure> {
        for (name, value) in [
            ("awaddr", offset.into()),
            ("wdata", value.into()),
            ("wstrb", 0xf),
            ("bready", 1),
        ] {
            self.set(name, value);
        }
        let channels = [("awvalid", "awready"), ("wvalid", "wready")];
        self.access(&channels, ("bvalid", "bready", "bresp", "bvalid"))
    }

    fn read(&mut self, offset: u32) -> Result<RegisterAccess, ModelFailure> {
        self.set("araddr", offset.into());
        self.set("rready", 1);
        self.access(
            &[("arvalid", "arready")],
            ("rvalid", "rready", "rresp", "rdata"),
        )
    }

    /// Offers a request until it is accepted, and takes the response, both as early as possible.
    fn access(
        &mut self,
        asked: &[(&'static str, &'static str)],
        (valid, ready, response, data): (&str, &str, &str, &str),
    ) -> Result<RegisterAccess, ModelFailure> {
        for (offered, _) in asked {
            self.set(offered, 1);
        }
        let mut answer = RegisterAccess::Nothing;
        for _ in 0..TIMEOUT_CYCLES {
            self.instance.settle(self.now)?;
            let taken = |&&(offered, taken): &&(&'static str, &'static str)| {
                self.get(offered) == 1 && self.get(taken) == 1
            };
            let over: Vec<_> = asked.iter().filter(taken).collect();
            if self.get(valid) == 1 {
                answer = match self.get(response) & 2 {
                    0 => RegisterAccess::Okay(self.get(data) as u32),
                    _ => RegisterAccess::Error,
                };
            }
            self.cycle()?;
            for (offered, _) in over {
                self.set(offered, 0);
            }
            if !matches!(answer, RegisterAccess::Nothing) {
                break;
            }
        }
        for (offered, _) in asked {
            self.set(offered, 0);
        }
        self.set(ready, 0);
        self.instance.settle(self.now)?;
        Ok(answer)
    }
}

/// A kernel whose registers are being tested.
struct Driven<'a> {
    manifest: &'a Manifest,
    host: Host,
}

/// A word of an argument, or one that belongs to no argument.
#[derive(Clone, Copy)]
struct Word<'a> {
    argument: Option<&'a str>,
    offset: u32,
}

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument {
            Some(name) => write!(f, "argument `{name}` at 0x{:02x}", self.offset),
            None => write!(f, "the register at 0x{:02x}", self.offset),
        }
    }
}

impl From<ModelFailure> for Fault {
    fn from(failure: ModelFailure) -> Self {
        Self::Ended(failure)
    }
}

impl<'a> Driven<'a> {
    fn look(mut self) -> Result<Vec<Remark>, Fault> {
        self.host.begin()?;
        let words = self.words();
        let starts = matches!(
            self.manifest.control,
            ControlProtocol::ApCtrlHs | ControlProtocol::ApCtrlChain
        );
        let control = Word {
            argument: None,
            offset: 0,
        };
        let state = |driven: &mut Self| {
            let found = driven.read(control)?;
            Ok::<_, Fault>(found.map(|value| value & STARTED))
        };
        let rest = if starts { state(&mut self)? } else { None };
        for word in &words {
            for value in [u32::MAX, 0] {
                self.write(*word, value)?;
                if rest.is_some() && state(&mut self)? != rest {
                    return Err(Fault::Starts {
                        register: word.to_string(),
                    });
                }
            }
        }
        let kept = words.iter().map(|word| self.kept(*word));
        let kept = kept.collect::<Result<Vec<_>, _>>()?;
        for (word, kept) in words.iter().zip(&kept) {
            self.is_of_its_own(*word, *kept, &words)?;
        }
        let mut remarks = self.unused(&words, &kept);
        remarks.extend(self.undescribed(&words, &kept)?);
        Ok(remarks)
    }

    /// The words of all arguments.
    fn words(&self) -> Vec<Word<'a>> {
        let arguments = self.manifest.arguments.iter();
        let words = arguments.flat_map(|one| {
            let offsets = (one.offset..one.offset + one.bytes).step_by(WORD as usize);
            offsets.map(|offset| Word {
                argument: Some(one.name.as_str()),
                offset,
            })
        });
        words.collect()
    }

    fn write(&mut self, word: Word<'_>, value: u32) -> Result<(), Fault> {
        let register = word.to_string();
        match self.host.write(word.offset, value)? {
            RegisterAccess::Okay(_) => Ok(()),
            RegisterAccess::Error => Err(Fault::Refused { register }),
            RegisterAccess::Nothing => Err(Fault::Silent {
                register,
                write: true,
            }),
        }
    }

    /// Reads a register; `None` if the kernel reports that it is not readable.
    fn read(&mut self, word: Word<'_>) -> Result<Option<u32>, Fault> {
        match self.host.read(word.offset)? {
            RegisterAccess::Okay(value) => Ok(Some(value)),
            RegisterAccess::Error => Ok(None),
            RegisterAccess::Nothing => Err(Fault::Silent {
                register: word.to_string(),
                write: false,
            }),
        }
    }

    /// The bits of a word that store written values.
    fn kept(&mut self, word: Word<'_>) -> Result<u32, Fault> {
        let mut kept = u32::MAX;
        for pattern in PATTERNS {
            self.write(word, pattern)?;
            kept &= match self.read(word)? {
                Some(found) => !(found ^ pattern),
                None => 0,
            };
        }
        Ok(kept)
    }

    /// Whether a readable word keeps its value while all others are written.
    fn is_of_its_own(&mut self, word: Word<'_>, kept: u32, all: &[Word<'_>]) -> Result<(), Fault> {
        if kept == 0 {
            return Ok(());
        }
        let [own, foreign] = PATTERNS;
        let others = || all.iter().filter(|other| other.offset != word.offset);
        self.write(word, own)?;
        for other in others() {
            self.write(*other, foreign)?;
        }
        if self.differs(word, kept, own)? {
            for other in others() {
                if self.follows(word, kept, *other)? {
                    return Err(Fault::Same {
                        one: word.to_string(),
                        other: other.to_string(),
                    });
                }
            }
        }
        Ok(())
    }

    fn differs(&mut self, word: Word<'_>, kept: u32, value: u32) -> Result<bool, Fault> {
        Ok(self.read(word)?.map(|found| found & kept) != Some(value & kept))
    }

    /// Whether a word reads as the value written to another one, for both patterns.
    fn follows(&mut self, word: Word<'_>, kept: u32, other: Word<'_>) -> Result<bool, Fault> {
        for [own, foreign] in [PATTERNS, [PATTERNS[1], PATTERNS[0]]] {
            self.write(word, own)?;
            self.write(other, foreign)?;
            if self.differs(word, kept, foreign)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Arguments, and parts of them, that store nothing.
    fn unused(&self, words: &[Word<'_>], kept: &[u32]) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for argument in &self.manifest.arguments {
            let own = words.iter().zip(kept);
            let own = own.filter(|(word, _)| word.argument == Some(argument.name.as_str()));
            let own: Vec<_> = own.collect();
            if own.iter().all(|(_, kept)| **kept == 0) {
                remarks.push(Remark::Unread {
                    argument: argument.name.clone(),
                    offset: argument.offset,
                });
                continue;
            }
            let parts = own.iter().filter(|(_, kept)| **kept != u32::MAX);
            remarks.extend(parts.map(|(word, kept)| Remark::Unused {
                argument: argument.name.clone(),
                offset: word.offset,
                bits: !**kept,
            }));
        }
        remarks
    }

    /// Registers between the arguments, and up to the next power of two behind them, that store values and are no alias
    /// of an argument.
    fn undescribed(&mut self, words: &[Word<'_>], kept: &[u32]) -> Result<Vec<Remark>, Fault> {
        let mut remarks = Vec::new();
        let end = words.iter().map(|word| word.offset + WORD).max();
        let end = end.unwrap_or(0).next_power_of_two();
        // The space between bundles belongs to no bundle.
        if end >= SECOND_BUNDLE {
            return Ok(remarks);
        }
        for offset in (FIRST..end).step_by(WORD as usize) {
            if words.iter().any(|word| word.offset == offset) {
                continue;
            }
            let word = Word {
                argument: None,
                offset,
            };
            let of_it = match self.kept(word) {
                Ok(kept) => kept,
                Err(Fault::Refused { .. }) => continue,
                // A run does not access it.
                Err(Fault::Silent { .. }) => break,
                Err(fault) => return Err(fault),
            };
            let mut again = false;
            for (other, kept) in words.iter().zip(kept) {
                again = again || (*kept != 0 && self.follows(*other, *kept, word)?);
            }
            if of_it != 0 && !again {
                remarks.push(Remark::Undescribed { offset });
            }
        }
        Ok(remarks)
    }
}
