//! One run of the kernel, with its data in the program's memory or on the card already.

use super::super::Failure;
use super::{AcceleratorSystem, FlexiMem, Page};
use crate::driver::{Driver, START};
use card::kernel::KernelPackage;
use card::{Card as _, Loader as _};
use simcard::{SimCard, SimOptions, Translator};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tombolo::{Card, Continue, HostFile, OwnerOptions, SlotId};
use units::{Asid, Picoseconds};

/// Added to every word.
const ADDEND: u32 = 0x1234_5678;

/// The times of one page size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageTimes {
    /// With traps.
    pub trapped: Picoseconds,
    /// Without: the basic client.
    pub basic: Picoseconds,
}

impl PageTimes {
    /// Figure 7: over the time with the data there.
    pub fn over_ready(&self, ready: Picoseconds) -> f64 {
        self.trapped.as_seconds() / ready.as_seconds()
    }

    /// Figure 8: what traps add.
    pub fn traps(&self) -> f64 {
        self.trapped.as_seconds() / self.basic.as_seconds() - 1.0
    }
}

/// The times of one size of the array.
#[derive(Clone, Debug, PartialEq)]
pub struct OfSize {
    /// Of the array.
    pub bytes: u64,
    /// With the data there.
    pub ready: Picoseconds,
    /// By page size.
    pub pages: Vec<PageTimes>,
}

/// Figures 7 and 8.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// The paper's system, by size of the array.
    pub reproduced: Vec<OfSize>,
    /// Ours, of the size that ratios are of.
    pub ours: OfSize,
}

fn kernel() -> PathBuf {
    simcard::home().join("kernels/transform")
}

impl FlexiMem {
    fn options(&self, system: &AcceleratorSystem) -> Result<SimOptions, Failure> {
        let mut options = SimOptions::named(&self.platform)?;
        options.shell = system.shell.clone();
        options.channel_bytes = Some(64 << 20);
        Ok(options)
    }

    /// The kernel's time with the data on the card, and no translation.
    pub fn ready(&self, system: &AcceleratorSystem, pace: u32) -> Result<Picoseconds, Failure> {
        let mut options = self.options(system)?;
        options.shell.translator = Translator::Identity;
        let package = KernelPackage::open(&kernel())?;
        let mut driver = Driver::new(SimCard::open(options, |_| {})?);
        let slot = SlotId(0);
        driver.card.load(slot, &package)?;
        let space = Asid::new(0).ok_or("space")?;
        driver.card.control_slot(slot, space, true)?;
        driver.set(slot, &package, "data", &0u64.to_le_bytes())?;
        driver.set(slot, &package, "bytes", &self.bytes.to_le_bytes())?;
        driver.set(slot, &package, "addend", &ADDEND.to_le_bytes())?;
        driver.set(slot, &package, "pace", &pace.to_le_bytes())?;
        driver.enable_interrupt(slot)?;
        let start = driver.card.now();
        driver.write(slot, START, 1)?;
        driver.interrupts(std::iter::once(slot))?;
        Ok(driver.card.now() - start)
    }

    /// The kernel's time with the data in the program's memory.
    pub(super) fn shared(
        &self,
        system: &AcceleratorSystem,
        page: &Page,
        pace: u32,
        trapped: bool,
        host: Option<HostFile>,
    ) -> Result<Picoseconds, Failure> {
        let size = page.size()?;
        let options = OwnerOptions {
            page_size: Some(size),
            read_ahead_bytes: system.read_ahead_bytes,
            clean_ahead_bytes: 0,
            host,
            ..OwnerOptions::default()
        };
        let card = Card::simulated(self.options(system)?, options, |_| {})?;
        let space = card.create_space()?;
        let bytes = self.bytes as usize;
        let memory = match trapped {
            true => space.alloc_with_pages(bytes, size)?,
            false => space.alloc_untrapped(bytes, size)?,
        };
        let words = memory.slice::<AtomicU32>();
        for (n, word) in words.iter().enumerate() {
            word.store(n as u32, Relaxed);
        }
        let slot = card.load(SlotId(0), kernel(), &space)?;
        slot.set_pointer("data", memory.address())?;
        slot.set("bytes", self.bytes)?;
        slot.set("addend", ADDEND.into())?;
        slot.set("pace", pace.into())?;
        slot.start()?;
        slot.wait(None, |_| Continue::Yes)?;
        let report = card.report()?;
        memory.take(0, self.bytes, false)?;
        let right = |(n, word): (usize, &AtomicU32)| {
            word.load(Relaxed) == (n as u32).wrapping_add(ADDEND).rotate_left(7)
        };
        if !words.iter().enumerate().all(right) {
            return Err(format!("pages of {size}: words are wrong").into());
        }
        let run = report.runs.last().ok_or("no run was reported")?;
        Ok(run.time)
    }

    /// With traps and without, on a system.
    pub fn run(&self, system: &AcceleratorSystem, page: &Page) -> Result<PageTimes, Failure> {
        let host = self.host(system)?;
        let time = |trapped| self.shared(system, page, system.pace, trapped, Some(host.clone()));
        Ok(PageTimes {
            trapped: time(true)?,
            basic: time(false)?,
        })
    }

    /// All page sizes of a system; `tell` hears of each run.
    fn of_size(
        &self,
        system: &AcceleratorSystem,
        tell: &mut dyn FnMut(&str),
    ) -> Result<OfSize, Failure> {
        let what = format!("host `{}`, {} KiB", system.host, self.bytes >> 10);
        tell(&format!("{what}, data there"));
        let ready = self.ready(system, system.pace)?;
        let mut pages = Vec::new();
        for page in &self.page {
            tell(&format!("{what}, pages of {}", page.name));
            pages.push(self.run(system, page)?);
        }
        Ok(OfSize {
            bytes: self.bytes,
            ready,
            pages,
        })
    }

    /// How often [`FlexiMem::pages`] tells where it is.
    pub fn steps(&self) -> usize {
        (self.sizes.len() + 1) * (self.page.len() + 1)
    }

    /// Figures 7 and 8; `tell` hears of each run.
    ///
    /// # Errors
    /// The card, or words that are wrong.
    pub fn pages(&self, tell: &mut dyn FnMut(&str)) -> Result<Pages, Failure> {
        let mut reproduced = Vec::new();
        for &bytes in &self.sizes {
            let sized = Self {
                bytes,
                ..self.clone()
            };
            reproduced.push(sized.of_size(&self.paper, tell)?);
        }
        Ok(Pages {
            reproduced,
            ours: self.of_size(&self.ours, tell)?,
        })
    }
}

impl Pages {
    /// Those of the paper's system that its ratios are compared with.
    ///
    /// # Panics
    /// If no size is that of `ours`, which [`FlexiMem::read`] sees to.
    pub fn compared(&self) -> &OfSize {
        let mut sizes = self.reproduced.iter();
        let found = sizes.find(|of_size| of_size.bytes == self.ours.bytes);
        found.expect("`bytes` is one of `sizes`")
    }
}
