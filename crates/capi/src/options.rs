//! Extensible structures: the first field holds the caller's size; zero means the default.

use crate::status::Failure;
use std::ffi::{c_char, c_int, c_void};
use tombolo::{
    FileState, MemoryKind, OwnerOptions, PageSize, Priority, SlotSchedule, SpacePlacement, Stripe,
    TranslationMode,
};

/// A structure of options.
///
/// # Safety
/// `repr(C)`, the first field is the size as `usize`, and all zeroes is a value of it.
pub unsafe trait Options {
    /// Its name in C.
    const NAME: &'static str;
}

/// Reads the caller's options; null means all defaults. Fields that an older program does not know are
/// zero; fields of a newer one that this library does not know must be.
pub unsafe fn read<T: Options + Copy>(pointer: *const T) -> Result<T, Failure> {
    // SAFETY: zeroes are a value of every such structure.
    let mut options: T = unsafe { std::mem::zeroed() };
    if pointer.is_null() {
        return Ok(options);
    }
    let known = size_of::<T>();
    // SAFETY: not null, and the first field of each such structure is its size.
    let given = unsafe { pointer.cast::<usize>().read_unaligned() };
    if !(size_of::<usize>()..=1 << 16).contains(&given) {
        return Err(Failure::argument(format!(
            "{name}: size is {given}; begin with the initializer of tombolo.h, which sets it",
            name = T::NAME
        )));
    }
    let bytes = pointer.cast::<u8>();
    for at in known..given {
        // SAFETY: the caller states that the structure has `given` bytes.
        if unsafe { bytes.add(at).read() } != 0 {
            return Err(Failure::argument(format!(
                "{}: this version of the library knows {known} bytes of it, and the program sets more; \
                 install the library that the program was compiled for",
                T::NAME
            )));
        }
    }
    let target = (&raw mut options).cast::<u8>();
    // SAFETY: both have at least this many bytes, and they do not overlap: the target is a local variable.
    unsafe { std::ptr::copy_nonoverlapping(bytes, target, given.min(known)) };
    Ok(options)
}

/// `tmb_card_options`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CardOptions {
    pub size: usize,
    pub slots: u32,
    pub cold: u32,
    pub channel_bytes: u64,
    pub page_size: u64,
    pub platform: *const c_char,
    pub home: *const c_char,
    pub shell_json: *const c_char,
    pub progress: Option<extern "C" fn(*const c_char, *mut c_void)>,
    pub context: *mut c_void,
    pub preset: *const c_char,
    pub home_bytes: u64,
    pub coherent: u32,
    pub host_channel: u32,
}

// SAFETY: as the trait asks.
unsafe impl Options for CardOptions {
    const NAME: &'static str = "tmb_card_options";
}

impl CardOptions {
    /// Whether pages may stay in host memory.
    pub fn host_channel(&self) -> Result<bool, Failure> {
        match self.host_channel {
            0 => Ok(false),
            1 => Ok(true),
            other => {
                let rule = format!("host_channel is {other}: it is 0 or 1");
                Err(Failure::argument(rule))
            }
        }
    }

    /// The owner options that follow from it.
    pub fn owner(&self, mut options: OwnerOptions) -> Result<OwnerOptions, Failure> {
        if self.page_size != 0 {
            options.page_size = Some(page_size(self.page_size)?);
        }
        if self.cold != 0 {
            options.file_state = FileState::Cold;
        }
        if self.home_bytes != 0 {
            options.home_bytes = self.home_bytes;
        }
        Ok(options)
    }
}

/// A page size.
pub fn page_size(bytes: u64) -> Result<PageSize, Failure> {
    PageSize::from_bytes(bytes).ok_or_else(|| {
        Failure::argument(format!(
            "{bytes} is no page size: use a power of two from 4096 to {}",
            1u64 << 30
        ))
    })
}

/// `tmb_space_options`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SpaceOptions {
    pub size: usize,
    pub limit: u64,
    pub on_channel: u32,
    pub channel: u32,
    pub stripe_channels: u32,
    pub stripe_first: u32,
    pub stripe_granule: u64,
    pub translation: u32,
    pub reserved: u32,
}

// SAFETY: as the trait asks.
unsafe impl Options for SpaceOptions {
    const NAME: &'static str = "tmb_space_options";
}

impl SpaceOptions {
    /// The translation mode.
    pub fn translation(&self) -> Result<TranslationMode, Failure> {
        if self.reserved != 0 {
            let rule = "reserved is not 0: begin with TMB_SPACE_OPTIONS";
            return Err(Failure::argument(rule.to_owned()));
        }
        match self.translation {
            0 => Ok(TranslationMode::Both),
            1 => Ok(TranslationMode::Table),
            2 => Ok(TranslationMode::Tlb),
            other => {
                let rule = format!("translation is {other}: use TMB_TRANSLATE_BOTH and its like");
                Err(Failure::argument(rule))
            }
        }
    }

    /// Frame placement; `None`: that of the card's preset.
    pub fn placement(&self) -> Result<Option<SpacePlacement>, Failure> {
        match (self.on_channel, self.stripe_channels) {
            (0, 0) => Ok(None),
            (0, channels) => {
                let granule = match self.stripe_granule {
                    0 => 4096,
                    granule => granule,
                };
                let stripe = Stripe::new(granule, channels.into()).ok_or_else(|| {
                    Failure::argument(format!(
                        "{granule} bytes on each of {channels} channels: use powers of two, 64 to 2^30 bytes and \
                         1 to 32 channels"
                    ))
                })?;
                let first = self.stripe_first as usize;
                Ok(Some(SpacePlacement::Interleaved { first, stripe }))
            }
            (_, 0) => Ok(Some(SpacePlacement::Channel(self.channel as usize))),
            (_, _) => Err(Failure::argument(
                "on_channel and stripe_channels are set: a space lies on one channel, or on several".to_owned(),
            )),
        }
    }
}

/// `tmb_schedule_options`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ScheduleOptions {
    pub size: usize,
    pub priority: u32,
    pub weight: u32,
    pub floor: u32,
    pub reserved: u32,
    pub limit: u64,
}

// SAFETY: as the trait asks.
unsafe impl Options for ScheduleOptions {
    const NAME: &'static str = "tmb_schedule_options";
}

impl ScheduleOptions {
    /// As the library's type.
    pub fn schedule(&self) -> Result<SlotSchedule, Failure> {
        let priority = match self.priority {
            0 => Priority::Normal,
            1 => Priority::Low,
            2 => Priority::High,
            3 => Priority::Urgent,
            other => {
                let rule = format!("priority is {other}: use TMB_PRIORITY_LOW and its like");
                return Err(Failure::argument(rule));
            }
        };
        if self.reserved != 0 {
            let rule = "reserved is not 0: begin with TMB_SCHEDULE_OPTIONS";
            return Err(Failure::argument(rule.to_owned()));
        }
        // A value that does not fit is out of range, too; the library names the field.
        let small = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
        Ok(SlotSchedule {
            priority,
            weight: if self.weight == 0 {
                1
            } else {
                small(self.weight)
            },
            floor: small(self.floor),
            limit: (self.limit != 0).then_some(self.limit),
        })
    }
}

/// `tmb_map_options`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MapOptions {
    pub size: usize,
    pub access: u32,
    pub create: u32,
    pub create_bytes: u64,
    pub offset: u64,
    pub bytes: u64,
    pub page_size: u64,
    pub address: u64,
    pub direct: u32,
    pub memory: u32,
    pub file_state: u32,
    pub holes: u32,
}

// SAFETY: as the trait asks.
unsafe impl Options for MapOptions {
    const NAME: &'static str = "tmb_map_options";
}

impl MapOptions {
    /// Location of the file, for its read cost; `None`: as in the card's options.
    pub fn file_state(&self) -> Result<Option<FileState>, Failure> {
        match self.file_state {
            0 => Ok(None),
            1 => Ok(Some(FileState::Warm)),
            2 => Ok(Some(FileState::Cold)),
            other => Err(Failure::argument(format!(
                "file_state is {other}: use TMB_FILE_DEFAULT, TMB_FILE_WARM or TMB_FILE_COLD"
            ))),
        }
    }

    /// Kind of memory for its pages; `None`: any.
    pub fn memory(&self) -> Result<Option<MemoryKind>, Failure> {
        match self.memory {
            0 => Ok(None),
            1 => Ok(Some(MemoryKind::Ddr)),
            2 => Ok(Some(MemoryKind::Hbm)),
            other => Err(Failure::argument(format!(
                "memory is {other}: use TMB_MEMORY_ANY, TMB_MEMORY_DDR or TMB_MEMORY_HBM"
            ))),
        }
    }
}

/// `tmb_progress`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Progress {
    pub time_ps: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub faults: u64,
}

/// `tmb_wait_options`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct WaitOptions {
    pub size: usize,
    pub deadline_ps: u64,
    pub progress: Option<extern "C" fn(*const Progress, *mut c_void) -> c_int>,
    pub context: *mut c_void,
}

// SAFETY: as the trait asks.
unsafe impl Options for WaitOptions {
    const NAME: &'static str = "tmb_wait_options";
}

#[no_mangle]
pub extern "C" fn tmb_layout(what: c_int) -> usize {
    match what {
        0 => size_of::<CardOptions>(),
        1 => size_of::<SpaceOptions>(),
        2 => size_of::<MapOptions>(),
        3 => size_of::<WaitOptions>(),
        4 => size_of::<Progress>(),
        5 => size_of::<ScheduleOptions>(),
        6 => size_of::<crate::calls::LinesAnswer>(),
        _ => 0,
    }
}
