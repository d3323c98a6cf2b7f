//! What of a cold file is in the host's page cache by now, as far as virtual time is concerned: the operating system
//! reads files ahead that are read in order.
//!
//! As Linux does it for reads through its page cache: a read where the last one ended brings a whole window; when half
//! of it has been read, the next window is on its way. Other reads bring what they ask for.

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

/// Windows of the files that are read.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    /// Bytes of a window; 0: nothing is read ahead.
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
}

impl PageCache {
    pub(super) fn new(window: u64) -> Self {
        Self {
            window,
            files: BTreeMap::new(),
        }
    }

    /// Where bytes of a file are, whose size `size` knows.
    pub(super) fn find(
        &mut self,
        object: ObjectId,
        (offset, bytes): (u64, u64),
        size: impl FnOnce() -> u64,
    ) -> Found {
        if bytes >= self.window {
            return Found::Storage(bytes);
        }
        let reading = self.files.entry(object).or_insert_with(|| Reading {
            bytes: size(),
            ..Reading::default()
        });
        let end = offset + bytes;
        let in_order = offset == reading.next;
        reading.next = end;
        if offset >= reading.start && end <= reading.end {
            return match end <= reading.ready {
                true => Found::Cached,
                false => Found::Coming,
            };
        }
        if !in_order {
            return Found::Storage(bytes);
        }
        reading.start = offset;
        reading.end = (offset + self.window).min(reading.bytes).max(end);
        reading.ready = reading.end;
        Found::Storage(reading.end - offset)
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
    fn others_bring_what_they_ask_for() {
        let object = ObjectId(1);
        let mut cache = PageCache::new(WINDOW);
        for offset in [20 * PAGE, 7 * PAGE, 90 * PAGE] {
            let found = cache.find(object, (offset, PAGE), || 1 << 30);
            assert_eq!(found, Found::Storage(PAGE));
            assert_eq!(cache.ahead(object), None);
        }
        // As much as a window at once, too, and all where nothing is read ahead.
        assert_eq!(
            cache.find(object, (0, WINDOW), || 1 << 30),
            Found::Storage(WINDOW)
        );
        let mut none = PageCache::default();
        assert_eq!(
            none.find(object, (0, PAGE), || 1 << 30),
            Found::Storage(PAGE)
        );
    }
}
