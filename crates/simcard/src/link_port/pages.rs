//! Pages of programs that show lines of the CPU.
//!
//! While a page is shown, the cache has all its lines, and a program accesses their bytes in its page. Before a
//! line changes or leaves, its page is hidden, and its bytes return to the cache: before a message of the card
//! arrives, before one leaves, and before an access of a core that the page's state does not permit.

use super::{broken, to_bytes, LinkPort};
use card::coherent::{LinePages, PageBytes, LINE_BYTES, PAGE_BYTES};
use card::CardError;
use cpu::cache::{Access, Outcome};
use std::sync::Arc;
use units::line::{Data, PlainLine, BYTES, WORDS};

const LINES: u64 = PAGE_BYTES as u64 / BYTES;

/// Acquires a line exclusively, and marks it dirty, without a change.
pub(super) const CLAIM: Access = Access::StoreBytes {
    mask: 0,
    data: [0; WORDS],
};

/// A page that is shown to a program.
pub(super) struct Shown {
    pages: Arc<dyn LinePages>,
    write: bool,
}

fn lines(page: u64) -> impl Iterator<Item = PlainLine> {
    (page * LINES..(page + 1) * LINES).map(PlainLine)
}

fn to_words(bytes: &[u8]) -> Data {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    std::array::from_fn(|word| {
        u64::from_le_bytes(std::array::from_fn(|place| byte(8 * word + place)))
    })
}

impl LinkPort {
    /// See [`Card::show_page`](card::Card::show_page).
    pub(crate) fn show_page(
        &mut self,
        address: u64,
        write: bool,
        pages: Arc<dyn LinePages>,
    ) -> Result<bool, CardError> {
        let page = address / PAGE_BYTES as u64;
        if let Some(shown) = self.shown.get(&page) {
            if Arc::ptr_eq(&shown.pages, &pages) && shown.write >= write {
                return Ok(true);
            }
        }
        self.hide_page(page)?;
        if !lines(page).all(|line| self.cache.may(line.fold(), write)) {
            return Ok(false);
        }
        let mut bytes: Box<PageBytes> = Box::new([0; PAGE_BYTES]);
        for (place, line) in bytes.chunks_exact_mut(LINE_BYTES).zip(lines(page)) {
            if write && !matches!(self.cache.access(line.fold(), CLAIM, 0), Outcome::Hit(_)) {
                return Err(broken("a line that may be written is not written"));
            }
            let data = self.cache.copy(line.fold());
            let data = data.ok_or_else(|| broken("a line that may be read is not there"))?;
            place.copy_from_slice(&*to_bytes(data));
        }
        let first = page * PAGE_BYTES as u64;
        pages.show(first, &bytes, write).map_err(broken)?;
        self.shown.insert(page, Shown { pages, write });
        Ok(true)
    }

    /// See [`Card::hide_pages`](card::Card::hide_pages).
    pub(crate) fn hide_pages(&mut self, base: u64, bytes: u64) -> Result<(), CardError> {
        let page = PAGE_BYTES as u64;
        let range = base / page..base.saturating_add(bytes).div_ceil(page);
        let found: Vec<u64> = self.shown.range(range).map(|(page, _)| *page).collect();
        found.into_iter().try_for_each(|page| self.hide_page(page))
    }

    /// Handles an arriving or leaving message about a line.
    pub(super) fn line_goes(&mut self, line: PlainLine) -> Result<(), CardError> {
        match self.shown.is_empty() {
            true => Ok(()),
            false => self.hide_page(line.0 / LINES),
        }
    }

    /// Handles a core's direct use of a line: hides its page, unless the page is read only and the core only reads.
    pub(super) fn core_comes(&mut self, line: PlainLine, access: Access) -> Result<(), CardError> {
        let reads = matches!(access, Access::Load | Access::PrefetchShared);
        match self.shown.get(&(line.0 / LINES)) {
            Some(shown) if shown.write || !reads => self.hide_page(line.0 / LINES),
            _ => Ok(()),
        }
    }

    fn hide_page(&mut self, page: u64) -> Result<(), CardError> {
        let Some(shown) = self.shown.remove(&page) else {
            return Ok(());
        };
        let bytes = shown.pages.hide(page * PAGE_BYTES as u64).map_err(broken)?;
        if shown.write {
            for (place, line) in bytes.chunks_exact(LINE_BYTES).zip(lines(page)) {
                self.cache.put(line.fold(), &to_words(place));
            }
        }
        Ok(())
    }
}
