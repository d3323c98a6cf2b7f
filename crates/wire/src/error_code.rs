//! Codes of errors, for programs in any language. A code that was given once keeps its number and its
//! name; `tests/library/error_codes.rs` holds the list.

macro_rules! codes {
    ($($(#[$meta:meta])* $code:ident = $number:literal, $name:literal;)*) => {
        /// What kind of failure an error is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum ErrorCode {
            $($(#[$meta])* $code = $number,)*
        }

        impl ErrorCode {
            /// Every code there is.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The name, for example `no-free-space`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }

            /// The code of a number.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$code),)*
                    _ => None,
                }
            }

            /// The number.
            pub const fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

codes! {
    /// The card refused, without a code of its own.
    Card = 1, "card";
    /// The card is broken; nothing more can be done with it.
    CardBroken = 2, "card-broken";
    /// The card has no such slot.
    NoSuchSlot = 3, "no-such-slot";
    /// A model could not be built: a tool is missing, or the RTL does not compile.
    Build = 4, "build";
    /// Nothing is under way that could end the wait.
    NothingToWaitFor = 5, "nothing-to-wait-for";
    /// A configuration, a platform file or a size of pages that is not possible.
    Configuration = 6, "configuration";
    /// The kernel's folder or RTL is refused.
    Kernel = 10, "kernel";
    /// A file could not be opened, measured, grown or stored.
    File = 20, "file";
    /// The file cannot be mapped as asked.
    Unmappable = 21, "unmappable";
    /// Bytes could not be moved between a file and the card.
    Transfer = 22, "transfer";
    /// The pager refused: overlap, bad range, no room.
    Pager = 23, "pager";
    /// A kernel wrote around a mapping, on its first or last page.
    Outside = 24, "outside";
    /// A range or an offset that coherent memory does not have.
    CoherentRange = 25, "coherent-range";
    /// The kernel has no such argument.
    NoSuchArgument = 30, "no-such-argument";
    /// The value does not fit the argument.
    ArgumentSize = 31, "argument-size";
    /// The slot is running, or not, against what the call needs.
    SlotState = 32, "slot-state";
    /// The address is no multiple of what the kernel's pointers are aligned to.
    MisalignedPointer = 33, "misaligned-pointer";
    /// A number of a slot's schedule is out of range.
    Schedule = 34, "schedule";
    /// A number that the kernel's argument does not take.
    ArgumentValue = 35, "argument-value";
    /// An access of the kernel failed.
    Access = 40, "access";
    /// The kernel broke a rule of the slot boundary.
    Violation = 41, "violation";
    /// The kernel does not answer its control interface.
    Unanswered = 42, "unanswered";
    /// The kernel raises interrupts without being done.
    InterruptStorm = 43, "interrupt-storm";
    /// The kernel ended itself or broke a protocol.
    KernelFailed = 44, "kernel-failed";
    /// The kernel was not done at the deadline.
    Deadline = 45, "deadline";
    /// The kernel behind the directory broke a rule, or cannot be put there.
    Home = 46, "home";
    /// An access of a core was not answered in time.
    LineLate = 47, "line-late";
    /// No kernel stands behind the directory.
    NoHome = 48, "no-home";
    /// All address spaces are in use.
    NoFreeSpace = 50, "no-free-space";
    /// Shared memory cannot be had.
    Unshareable = 51, "unshareable";
    /// The address is not in shared memory.
    NotShared = 52, "not-shared";
    /// A kernel may be using the shared memory.
    MemoryInUse = 53, "memory-in-use";
    /// Memory that the program has cannot be shared in place.
    Unregistrable = 54, "unregistrable";
    /// Every slot has a kernel.
    NoFreeSlot = 55, "no-free-slot";
    /// The quota of a tenant of a daemon is used up.
    Quota = 56, "quota";
    /// The object behind the handle has ended.
    Gone = 60, "gone";
    /// The object belongs to another card.
    OtherCard = 61, "other-card";
    /// The mapping is of another address space than the kernel.
    OtherSpace = 62, "other-space";
    /// The daemon that has the card cannot be reached, refuses, or has ended.
    Daemon = 63, "daemon";
    /// A call that the socket of a daemon does not carry.
    NotCarried = 64, "not-carried";
    /// Somebody asked to stop.
    Interrupted = 70, "interrupted";
    /// A registered thread sleeps outside of the library, and virtual time waits for it.
    Stalled = 71, "stalled";
    /// A stream was used against its rules.
    Stream = 80, "stream";
    /// A slot was reset before a transfer of its streams was over.
    StreamReset = 81, "stream-reset";
    /// A device that a port is to be plugged into cannot be opened, or not as asked.
    Device = 82, "device";
    /// The other end of a device failed, went away, or did nothing in time.
    DevicePeer = 83, "device-peer";
    /// Must not happen.
    Internal = 90, "internal";
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
