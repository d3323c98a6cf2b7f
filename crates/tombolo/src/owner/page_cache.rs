//! What of a cold file is in the host's page cache by now, as far as virtual time is concerned: the operating system
//! reads files ahead that are read in order, and keeps what was read or written.
//!
//! As Linux does it for reads through its page cache: a read where the last one ended brings a whole window; when half
//! of it has been read, the next window is on its way. Other reads bring what they ask for. The cache is larger than
//! the files: a page that leaves the card and comes back comes from there.

use super::pump::Pending;
use pager::ObjectId;
use std::collections::BTreeMap;

/// Where the bytes of a read are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// On storage, from which so many bytes come.
    Storage(u64),
    /// In the page cache.
    Cached,
    /// On their way there.
    Coming,
}

/// What Linux keeps, and how finely.
const KEPT_PAGE: u64 = 4096;

/// Windows of the files that are read.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    /// Bytes of a window; 0: there is no page cache.
    window: u64,
    files: BTreeMap<ObjectId, Reading>,
}

/// How a file is being read.
#[derive(Debug, Default)]
struct Reading {
    /// Where it ends.
    bytes: u64,
    /// Where the last read ended.
    next: u64,
    /// In the page cache from here
    start: u64,
    /// to here,
    ready: u64,
    /// and on the way to it to here.
    end: u64,
    /// Reads of what is on its way.
    held: Vec<Pending>,
    /// Pages that have been read or written, a bit each.
    kept: Vec<u64>,
}

impl Reading {
    /// Keeps the pages in which these bytes lie; how many of them (in bytes) were not there.
    fn keep(&mut self, offset: u64, bytes: u64) -> u64 {
        let mut new = 0;
        for page in offset / KEPT_PAGE..(offset + bytes).div_ceil(KEPT_PAGE) {
            let (word, bit) = ((page / 64) as usize, 1 << (page % 64));
            if word >= self.kept.len() {
                self.kept.resize(word + 1, 0);
            }
            new += u64::from(self.kept[word] & bit == 0);
            self.kept[word] |= bit;
        }
        (new * KEPT_PAGE).min(bytes)
    }
}

impl PageCache {
    pub(super) fn new(window: u64) -> Self {
        Self {
            window,
            files: BTreeMap::new(),
        }
    }

    fn file(&mut self, object: ObjectId, size: impl FnOnce() -> u64) -> &mut Reading {
        self.files.entry(object).or_insert_with(|| Reading {
            bytes: size(),
            ..Reading::default()
        })
    }

    /// Where bytes of a file are, whose size `size` knows.
    pub(super) fn find(
        &mut self,
        object: ObjectId,
        (offset, bytes): (u64, u64),
        size: impl FnOnce() -> u64,
    ) -> Found {
        let window = self.window;
        if window == 0 {
            return Found::Storage(bytes);
        }
        let reading = self.file(object, size);
        let end = offset + bytes;
        let in_order = offset == reading.next;
        reading.next = end;
        let new = reading.keep(offset, bytes);
        if offset >= reading.start && end <= reading.end {
            return match end <= reading.ready {
                true => Found::Cached,
                false => Found::Coming,
            };
        }
        if new == 0 {
            return Found::Cached;
        }
        if !in_order || bytes >= window {
            return Found::Storage(new);
        }
        reading.start = offset;
        reading.end = (offset + window).min(reading.bytes).max(end);
        reading.ready = reading.end;
        Found::Storage(reading.end - offset)
    }

    /// Bytes of a file are written, so they are there.
    pub(super) fn written(
        &mut self,
        object: ObjectId,
        (offset, bytes): (u64, u64),
        size: impl FnOnce() -> u64,
    ) {
        if self.window > 0 {
            self.file(object, size).keep(offset, bytes);
        }
    }

    /// Bytes that are to be read ahead from now on, if it is time.
    pub(super) fn ahead(&mut self, object: ObjectId) -> Option<u64> {
        let reading = self.files.get_mut(&object)?;
        let is_far = reading.next + self.window / 2 >= reading.end;
        let bytes = self.window.min(reading.bytes.saturating_sub(reading.end));
        if !is_far || bytes == 0 || reading.ready < reading.end || reading.next > reading.end {
            return None;
        }
        reading.end += bytes;
        Some(bytes)
    }

    /// This read waits for what is on its way.
    pub(super) fn hold(&mut self, object: ObjectId, pending: Pending) {
        self.files.entry(object).or_default().held.push(pending);
    }

    /// What was read ahead is there; who waited for it.
    pub(super) fn arrived(&mut self, object: ObjectId) -> Vec<Pending> {
        let Some(reading) = self.files.get_mut(&object) else {
            return Vec::new();
        };
        reading.ready = reading.end;
        std::mem::take(&mut reading.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u64 = 1 << 17;
    const PAGE: u64 = 4096;

    #[test]
    fn a_file_that_is_read_in_order_comes_in_windows() {
        let (object, size) = (ObjectId(1), 3 * WINDOW + 2 * PAGE);
        let mut cache = PageCache::new(WINDOW);
        let (mut from_storage, mut waited) = (Vec::new(), 0);
        for offset in (0..size).step_by(PAGE as usize) {
            match cache.find(object, (offset, PAGE), || size) {
                Found::Storage(bytes) => from_storage.push(bytes),
                Found::Cached => {}
                Found::Coming => {
                    waited += 1;
                    cache.arrived(object);
                }
            }
            from_storage.extend(cache.ahead(object));
        }
        assert_eq!(from_storage, [WINDOW, WINDOW, WINDOW, 2 * PAGE]);
        // Once a window that was read ahead, at its first page.
        assert_eq!(waited, 3);
    }

    #[test]
    fn what_was_read_or_written_stays() {
        let object = ObjectId(1);
        let mut cache = PageCache::new(WINDOW);
        let mut find = |at| cache.find(object, (at, PAGE), || 1 << 30);
        assert_eq!(find(20 * PAGE), Found::Storage(PAGE));
        assert_eq!(find(20 * PAGE), Found::Cached);
        assert_eq!(find(90 * PAGE), Found::Storage(PAGE));
        assert_eq!(find(20 * PAGE), Found::Cached);
        cache.written(object, (50 * PAGE, PAGE), || 1 << 30);
        let found = cache.find(object, (50 * PAGE, PAGE), || 1 << 30);
        assert_eq!(found, Found::Cached);
        let next = cache.find(object, (51 * PAGE, PAGE), || 1 << 30);
        assert_eq!(next, Found::Storage(WINDOW), "in order");
    }

    #[test]
    fn others_bring_what_they_ask_for() {
        let object = ObjectId(1);
        let mut cache = PageCache::new(WINDOW);
        for offset in [20 * PAGE, 7 * PAGE, 90 * PAGE] {
            let found = cache.find(object, (offset, PAGE), || 1 << 30);
            assert_eq!(found, Found::Storage(PAGE));
            assert_eq!(cache.ahead(object), None);
        }
        // As much as a window at once, too: what is not there yet, two pages are. And all where nothing is kept.
        assert_eq!(
            cache.find(object, (0, WINDOW), || 1 << 30),
            Found::Storage(WINDOW - 2 * PAGE)
        );
        let mut none = PageCache::default();
        assert_eq!(
            none.find(object, (0, PAGE), || 1 << 30),
            Found::Storage(PAGE)
        );
    }
}
