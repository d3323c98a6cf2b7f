//! Error codes, for programs in any language. A published code keeps its number and its name;
//! `tests/library/error_codes.rs` holds the list.

macro_rules! codes {
    ($($(#[doc = $text:literal])* $code:ident = $number:literal, $name:literal;)*) => {
        /// Kind of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum ErrorCode {
            $($(#[doc = $text])* $code = $number,)*
        }

        impl ErrorCode {
            /// Every error code.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// Name of the code, for example `no-free-space`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }

            /// Meaning of the code, one sentence.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$code => concat!($($text),*).trim_start(),)*
                }
            }

            /// Code with this number; `None` if it is unknown.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$code),)*
                    _ => None,
                }
            }

            /// Number of the code; it never changes.
            pub const fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

codes! {
    /// The card refused a request; no more specific code applies.
    Card = 1, "card";
    /// The card has failed and cannot be used any more.
    CardBroken = 2, "card-broken";
    /// The card has no such slot.
    NoSuchSlot = 3, "no-such-slot";
    /// A model could not be built: no Verilator, no compiler, or RTL that does not compile.
    Build = 4, "build";
    /// The wait cannot end: nothing is under way.
    NothingToWaitFor = 5, "nothing-to-wait-for";
    /// The configuration, platform file or page size is not possible.
    Configuration = 6, "configuration";
    /// The kernel's folder or RTL was rejected.
    Kernel = 10, "kernel";
    /// A file could not be opened, measured, extended or stored.
    File = 20, "file";
    /// The file cannot be mapped with these options: it is empty or not a regular file, or the range is outside of it or
    /// over another.
    Unmappable = 21, "unmappable";
    /// A transfer between a file and the card failed.
    Transfer = 22, "transfer";
    /// The pager refused: overlap, bad range, out of card memory, or a write-back that failed.
    Pager = 23, "pager";
    /// A kernel wrote outside a mapping, on its first or last page; those bytes are not in the file.
    Outside = 24, "outside";
    /// The range or offset lies outside coherent memory.
    CoherentRange = 25, "coherent-range";
    /// The kernel has no such argument; the message lists those it has.
    NoSuchArgument = 30, "no-such-argument";
    /// The value's size does not fit the argument.
    ArgumentSize = 31, "argument-size";
    /// The call needs a running slot and it is not, or the reverse.
    SlotState = 32, "slot-state";
    /// The address breaks the alignment of the kernel's pointers.
    MisalignedPointer = 33, "misaligned-pointer";
    /// A parameter of a slot's schedule is out of range.
    Schedule = 34, "schedule";
    /// The kernel's argument does not accept this number.
    ArgumentValue = 35, "argument-value";
    /// A kernel access failed; its results are invalid.
    Access = 40, "access";
    /// The kernel broke a rule of AXI or of the slot boundary; its slot was closed.
    Violation = 41, "violation";
    /// The kernel does not respond on its control interface.
    Unanswered = 42, "unanswered";
    /// The kernel raises interrupts without being done.
    InterruptStorm = 43, "interrupt-storm";
    /// The kernel terminated itself or broke a protocol.
    KernelFailed = 44, "kernel-failed";
    /// The kernel was not done at the deadline (virtual time).
    Deadline = 45, "deadline";
    /// The kernel behind the directory broke a rule, or cannot be used there.
    Home = 46, "home";
    /// An access of a core received no response in time.
    LineLate = 47, "line-late";
    /// No kernel is loaded behind the directory.
    NoHome = 48, "no-home";
    /// All address spaces of the shell are in use; close one first.
    NoFreeSpace = 50, "no-free-space";
    /// Memory cannot be shared: there is none, or it would have too many pages.
    Unshareable = 51, "unshareable";
    /// The address lies outside shared memory.
    NotShared = 52, "not-shared";
    /// The shared memory cannot be freed: a kernel may be using it.
    MemoryInUse = 53, "memory-in-use";
    /// Memory of the program cannot be shared in place; the message names the rule.
    Unregistrable = 54, "unregistrable";
    /// Every slot of the card holds a kernel; close one first.
    NoFreeSlot = 55, "no-free-slot";
    /// The quota of a daemon's tenant is exhausted; the message names it, and its figure.
    Quota = 56, "quota";
    /// The object has ended: it or its owner was closed, or another kernel was loaded into its slot.
    Gone = 60, "gone";
    /// The object belongs to another card.
    OtherCard = 61, "other-card";
    /// The mapping and the kernel belong to different address spaces.
    OtherSpace = 62, "other-space";
    /// The card's daemon cannot be reached, refused the request, or has ended.
    Daemon = 63, "daemon";
    /// The daemon's protocol does not carry this call; the message names the subject.
    NotCarried = 64, "not-carried";
    /// The run was stopped by the user or by another caller.
    Interrupted = 70, "interrupted";
    /// A registered thread sleeps outside the library, which stalls virtual time.
    Stalled = 71, "stalled";
    /// A stream was misused: no such port, in use, wrong direction, beyond its memory.
    Stream = 80, "stream";
    /// A slot was reset during a transfer of its streams.
    StreamReset = 81, "stream-reset";
    /// A device for a port cannot be opened, or not with these options.
    Device = 82, "device";
    /// The other end of a device failed, disconnected or timed out.
    DevicePeer = 83, "device-peer";
    /// An internal invariant failed. Please report it.
    Internal = 90, "internal";
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
