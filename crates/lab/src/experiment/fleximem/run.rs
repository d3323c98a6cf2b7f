//! Runs the kernel with its data in program memory or already on the card.

use super::super::Failure;
use super::{AcceleratorSystem, FlexiMem, Page};
use crate::driver::{Driver, START};
use card::kernel::KernelPackage;
use card::{Card as _, Loader as _};
use serde::{Deserialize, Serialize};
use simcard::{SimCard, SimOptions, Translator};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tombolo::{Card, Continue, HostFile, OwnerOptions, SlotId};
use units::{Asid, Picoseconds};

/// Constant added to every word.
const ADDEND: u32 = 0x1234_5678;

/// Times for one page size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageTimes {
    /// Time with traps.
    pub trapped: Picoseconds,
    /// Time without traps: the basic client.
    pub basic: Picoseconds,
}

impl PageTimes {
    /// Figure 7: time with traps relative to the time with resident data.
    pub fn over_ready(&self, ready: Picoseconds) -> f64 {
        self.trapped.as_seconds() / ready.as_seconds()
    }

    /// Figure 8: relative overhead of traps.
    pub fn traps(&self) -> f64 {
        self.trapped.as_seconds() / self.basic.as_seconds() - 1.0
    }
}

/// Times for one size of the array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfSize {
    /// Size of the array in bytes.
    pub bytes: u64,
    /// Time with resident data.
    pub ready: Picoseconds,
    /// One entry per page size.
    pub pages: Vec<PageTimes>,
}

/// Figures 7 and 8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pages {
    /// The paper's system, by size of the array.
    pub reproduced: Vec<OfSize>,
    /// Our system, at the size that the ratios refer to.
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

    /// Time of the kernel with resident data and without translation.
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

    /// Time of the kernel with its data in program memory.
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

    /// Times with and without traps on a system.
    pub fn run(&self, system: &AcceleratorSystem, page: &Page) -> Result<PageTimes, Failure> {
        let host = self.host(system)?;
        let time = |trapped| self.shared(system, page, system.pace, trapped, Some(host.clone()));
        Ok(PageTimes {
            trapped: time(true)?,
            basic: time(false)?,
        })
    }

    /// Runs all page sizes on a system; `tell` is called for each run.
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

    /// Number of progress calls of [`FlexiMem::pages`].
    pub fn steps(&self) -> usize {
        (self.sizes.len() + 1) * (self.page.len() + 1)
    }

    /// Measures figures 7 and 8; `tell` is called for each run.
    ///
    /// # Errors
    /// The card fails, or a result is wrong.
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
    /// The paper's system at the size that its ratios are compared with.
    ///
    /// # Panics
    /// If no size equals that of `ours`; [`FlexiMem::read`] ensures that one does.
    pub fn compared(&self) -> &OfSize {
        let mut sizes = self.reproduced.iter();
        let found = sizes.find(|of_size| of_size.bytes == self.ours.bytes);
        found.expect("`bytes` is one of `sizes`")
    }
}
