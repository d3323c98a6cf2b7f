//! A model of the host's page cache for cold files, in virtual time: the operating system reads ahead in files that are
//! read in order, and keeps what was read or written.
//!
//! It follows Linux's buffered reads: a read that continues the last one brings a whole window; when half of the window
//! has been read, the next one is started. Other reads bring only the requested pages, with a read-around if the owner
//! requests one ([`Around`]). The cache is larger than the files: a page that is evicted from the card is re-read from
//! the cache.

use super::transfers::Pending;
use pager::ObjectId;
use std::collections::BTreeMap;
use std::ops::Range;

/// Location of the bytes of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// On storage, which delivers this many bytes.
    Storage(u64),
    /// On storage, which delivers this many bytes, and this range of the file with them.
    Around(u64, Range<u64>),
    /// In the page cache.
    Cached,
    /// On their way to the page cache.
    Coming,
}

/// Page size of Linux's page cache, in bytes.
const KEPT_PAGE: u64 = 4096;

/// Words of a piece of a set: 128 MiB of a file.
const WORDS: u64 = 512;

/// A set of pages of a file, one bit each, in sparse pieces: a file may have any size, so memory is allocated only
/// where pages are set.
#[derive(Debug, Default)]
struct Pages(BTreeMap<u64, Box<[u64; WORDS as usize]>>);

impl Pages {
    /// Inserts or removes a page. Returns whether that changed the set.
    fn put(&mut self, page: u64, inside: bool) -> bool {
        let (word, bit) = (page / 64, 1 << (page % 64));
        let piece = self.0.entry(word / WORDS);
        let piece = piece.or_insert_with(|| Box::new([0; WORDS as usize]));
        let word = &mut piece[(word % WORDS) as usize];
        let changed = (*word & bit != 0) != inside;
        *word ^= if changed { bit } else { 0 };
        changed
    }
}

fn pages_of(range: &Range<u64>) -> Range<u64> {
    range.start / KEPT_PAGE..range.end.div_ceil(KEPT_PAGE)
}

/// Initial read-around window, in bytes: it takes a tenth longer than a page alone.
const AROUND: u64 = 16 << 10;
/// Number of reads after which the window may double.
const READS: u32 = 32;
/// Minimum hits in the read-around among these reads for the window to double.
const WORTH: u32 = READS / 8;
/// Number of reads without a hit after which the window is halved: in a file of 16 MiB, this many windows are a
/// quarter.
const USELESS: u32 = 256;

/// Adaptive read-around of random reads: the window doubles while its pages are used, and is halved while none is, down
/// to zero. So a file that is read all over at random is read in few large reads, and a file of which only a small part
/// is read costs little additional I/O.
#[derive(Debug)]
struct Around {
    bytes: u64,
    /// Reads since the window was last decided, and how many of them hit the read-around.
    reads: u32,
    used: u32,
    /// Reads since the last hit.
    useless: u32,
    /// Pages that were read around and have not been requested.
    unasked: Pages,
}

impl Default for Around {
    fn default() -> Self {
        Self {
            bytes: AROUND,
            reads: 0,
            used: 0,
            useless: 0,
            unasked: Pages::default(),
        }
    }
}

impl Around {
    /// Records a random read: some of it may have been read around earlier.
    fn read(&mut self, range: &Range<u64>, most: u64) {
        let came = pages_of(range).filter(|&page| self.unasked.put(page, false));
        let is_used = came.count() > 0;
        self.reads += 1;
        self.used += u32::from(is_used);
        self.useless = if is_used { 0 } else { self.useless + 1 };
        if self.reads == READS {
            if self.used >= WORTH {
                self.bytes = (self.bytes * 2).min(most);
            }
            (self.reads, self.used) = (0, 0);
        }
        if self.useless == USELESS {
            self.bytes = if self.bytes > 2 * KEPT_PAGE {
                self.bytes / 2
            } else {
                0
            };
            self.useless = 0;
        }
    }

    /// The window of a read, if it is larger than the request.
    fn window(&self, read: &Range<u64>, most: u64, end: u64) -> Option<Range<u64>> {
        let bytes = self.bytes.min(most);
        if bytes <= read.end - read.start {
            return None;
        }
        let start = read.start / bytes * bytes;
        let window = start..(start + bytes).min(end).max(read.end);
        (window != *read).then_some(window)
    }
}

/// Windows of the files that are read.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    /// Read-ahead window, in bytes; 0: there is no page cache.
    window: u64,
    /// Maximum read-around of a random read, in bytes.
    around: u64,
    files: BTreeMap<ObjectId, Reading>,
}

/// A read in flight that brings more than requested.
#[derive(Debug)]
struct Coming {
    /// Offset of the first requested byte.
    asked: u64,
    window: Range<u64>,
    /// Reads that wait for it.
    held: Vec<Pending>,
}

/// How a file is being read.
#[derive(Debug, Default)]
struct Reading {
    /// Size of the file, in bytes.
    bytes: u64,
    /// End offset of the last read.
    next: u64,
    /// Start of the range that is in the page cache.
    start: u64,
    /// End of the range that is in the page cache.
    ready: u64,
    /// End of the range that is being read ahead.
    end: u64,
    /// Reads that wait for the read-ahead.
    held: Vec<Pending>,
    /// Pages that have been read or written.
    kept: Pages,
    around: Around,
    coming: Vec<Coming>,
}

impl Reading {
    /// Keeps the pages that contain these bytes; returns the size of those that were missing, in bytes.
    fn keep(&mut self, range: &Range<u64>) -> u64 {
        let new = pages_of(range).filter(|&page| self.kept.put(page, true));
        (new.count() as u64 * KEPT_PAGE).min(range.end - range.start)
    }

    /// The read in flight that brings some of these bytes.
    fn coming(&mut self, place: &Range<u64>) -> Option<&mut Coming> {
        let mut all = self.coming.iter_mut();
        all.find(|coming| coming.window.start < place.end && place.start < coming.window.end)
    }
}

impl PageCache {
    pub(super) fn new(window: u64, around: u64) -> Self {
        Self {
            window,
            around,
            files: BTreeMap::new(),
        }
    }

    fn file(&mut self, object: ObjectId, size: u64) -> &mut Reading {
        self.files.entry(object).or_insert_with(|| Reading {
            bytes: size,
            ..Reading::default()
        })
    }

    /// Finds the location of bytes of a file of this size.
    pub(super) fn find(&mut self, object: ObjectId, place: Range<u64>, size: u64) -> Location {
        let (offset, bytes) = (place.start, place.end - place.start);
        let (window, around) = (self.window, self.around);
        if window == 0 {
            return Location::Storage(bytes);
        }
        let reading = self.file(object, size);
        let end = offset + bytes;
        let in_order = offset == reading.next;
        reading.next = end;
        let new = reading.keep(&(offset..end));
        if !in_order && around > 0 {
            reading.around.read(&(offset..end), around);
        }
        if reading.coming(&place).is_some() {
            return Location::Coming;
        }
        if offset >= reading.start && end <= reading.end {
            return match end <= reading.ready {
                true => Location::Cached,
                false => Location::Coming,
            };
        }
        if new == 0 {
            return Location::Cached;
        }
        if !in_order {
            let window = reading.around.window(&(offset..end), around, reading.bytes);
            let Some(window) = window else {
                return Location::Storage(new);
            };
            let mut along = 0;
            for page in pages_of(&window) {
                if reading.kept.put(page, true) {
                    reading.around.unasked.put(page, true);
                    along += KEPT_PAGE;
                }
            }
            reading.coming.push(Coming {
                asked: offset,
                window: window.clone(),
                held: Vec::new(),
            });
            return Location::Around(new + along, window);
        }
        if bytes >= window {
            return Location::Storage(new);
        }
        reading.start = offset;
        reading.end = (offset + window).min(reading.bytes).max(end);
        reading.ready = reading.end;
        Location::Storage(reading.end - offset)
    }

    /// Records a write to a file: the bytes are in the cache.
    pub(super) fn written(&mut self, object: ObjectId, place: &Range<u64>, size: u64) {
        if self.window > 0 {
            self.file(object, size).keep(place);
        }
    }

    /// The number of bytes to read ahead now, if a read-ahead is due. The caller begins it: reads of these bytes wait
    /// until it is reported as [arrived](Self::arrived).
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

    /// Holds a read until the data in flight has arrived.
    pub(super) fn hold(&mut self, object: ObjectId, place: &Range<u64>, pending: Pending) {
        let reading = self.files.entry(object).or_default();
        match reading.coming(place) {
            Some(coming) => coming.held.push(pending),
            None => reading.held.push(pending),
        }
    }

    /// Records the arrival of a read that began at this place, with its read-around; returns the reads that waited for
    /// it.
    pub(super) fn came(&mut self, object: ObjectId, asked: u64) -> Vec<Pending> {
        let Some(reading) = self.files.get_mut(&object) else {
            return Vec::new();
        };
        let place = reading.coming.iter().position(|one| one.asked == asked);
        place.map_or_else(Vec::new, |place| reading.coming.swap_remove(place).held)
    }

    /// Records the arrival of a read-ahead; returns the reads that waited for it.
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
        let mut cache = PageCache::new(WINDOW, 0);
        let (mut from_storage, mut waited) = (Vec::new(), 0);
        for offset in (0..size).step_by(PAGE as usize) {
            match cache.find(object, offset..offset + PAGE, size) {
                Location::Storage(bytes) => from_storage.push(bytes),
                Location::Around(..) => panic!("it is read in order"),
                Location::Cached => {}
                Location::Coming => {
                    waited += 1;
                    cache.arrived(object);
                }
            }
            from_storage.extend(cache.ahead(object));
        }
        assert_eq!(from_storage, [WINDOW, WINDOW, WINDOW, 2 * PAGE]);
        // Once for a window that was read ahead, at its first page.
        assert_eq!(waited, 3);
    }

    #[test]
    fn what_was_read_or_written_stays() {
        let object = ObjectId(1);
        let mut cache = PageCache::new(WINDOW, 0);
        let mut find = |at| cache.find(object, at..at + PAGE, 1 << 30);
        assert_eq!(find(20 * PAGE), Location::Storage(PAGE));
        assert_eq!(find(20 * PAGE), Location::Cached);
        assert_eq!(find(90 * PAGE), Location::Storage(PAGE));
        assert_eq!(find(20 * PAGE), Location::Cached);
        cache.written(object, &(50 * PAGE..51 * PAGE), 1 << 30);
        let found = cache.find(object, 50 * PAGE..51 * PAGE, 1 << 30);
        assert_eq!(found, Location::Cached);
        let next = cache.find(object, 51 * PAGE..52 * PAGE, 1 << 30);
        assert_eq!(next, Location::Storage(WINDOW), "in order");
    }

    #[test]
    fn others_bring_what_they_ask_for() {
        let object = ObjectId(1);
        let mut cache = PageCache::new(WINDOW, 0);
        for offset in [20 * PAGE, 7 * PAGE, 90 * PAGE] {
            let found = cache.find(object, offset..offset + PAGE, 1 << 30);
            assert_eq!(found, Location::Storage(PAGE));
            assert_eq!(cache.ahead(object), None);
        }
        // A read as large as a window, too: of its pages, two are missing. All are, if nothing is kept.
        assert_eq!(
            cache.find(object, 0..WINDOW, 1 << 30),
            Location::Storage(WINDOW - 2 * PAGE)
        );
        let mut none = PageCache::default();
        assert_eq!(none.find(object, 0..PAGE, 1 << 30), Location::Storage(PAGE));
    }

    /// Reads pages of a file at random places; returns the number of storage reads, and the bytes they brought.
    fn read_at_random(cache: &mut PageCache, pages: u64, reads: u64) -> (u64, u64) {
        let (object, size) = (ObjectId(1), pages * PAGE);
        let (mut state, mut count, mut came) = (1u64, 0, 0);
        for _ in 0..reads {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 33) % pages * PAGE;
            match cache.find(object, at..at + PAGE, size) {
                Location::Storage(bytes) => (count, came) = (count + 1, came + bytes),
                Location::Around(bytes, window) => {
                    assert!(
                        window.contains(&at) && window.end <= size,
                        "{at}: {window:?}"
                    );
                    (count, came) = (count + 1, came + bytes);
                    assert!(cache.came(object, at).is_empty());
                }
                Location::Cached => {}
                Location::Coming => panic!("everything has come"),
            }
        }
        (count, came)
    }

    #[test]
    fn what_lies_around_comes_along_while_it_is_used() {
        // Read all over: in few reads, and each page once.
        let mut cache = PageCache::new(WINDOW, 2 << 20);
        let (reads, bytes) = read_at_random(&mut cache, 1024, 6000);
        assert!(reads < 200 && bytes == 1024 * PAGE, "{reads} {bytes}");
        // A part of a large file: the read-around was not used, and soon stops.
        let mut cache = PageCache::new(WINDOW, 2 << 20);
        let (reads, bytes) = read_at_random(&mut cache, 1 << 24, 5000);
        assert!(bytes < reads * PAGE * 5 / 4, "{reads} {bytes}");
        // Without the option there is no read-around.
        let mut cache = PageCache::new(WINDOW, 0);
        let (reads, bytes) = read_at_random(&mut cache, 1024, 6000);
        assert!(reads > 1000 && bytes == reads * PAGE, "{reads} {bytes}");
    }

    #[test]
    fn a_read_of_what_comes_along_waits_for_it() {
        let object = ObjectId(1);
        let mut cache = PageCache::new(WINDOW, 2 << 20);
        let find = |cache: &mut PageCache, page| {
            cache.find(object, page * PAGE..(page + 1) * PAGE, 1 << 30)
        };
        let window = 20 * PAGE..24 * PAGE;
        assert_eq!(find(&mut cache, 22), Location::Around(4 * PAGE, window));
        assert_eq!(find(&mut cache, 20), Location::Coming);
        assert_eq!(find(&mut cache, 22), Location::Coming);
        let elsewhere = 40 * PAGE..44 * PAGE;
        assert_eq!(find(&mut cache, 40), Location::Around(4 * PAGE, elsewhere));
        cache.came(object, 22 * PAGE);
        assert_eq!(find(&mut cache, 20), Location::Cached);
        assert_eq!(find(&mut cache, 43), Location::Coming);
    }
}
