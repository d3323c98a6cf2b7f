//! The right to write a range of a file. No two cards have it for the same byte: pages are written back whole, so the
//! later one would undo what the earlier wrote.
//!
//! Cards of this process find each other in a table, by device and inode; processes by locks on the file. Reading is
//! free. A claim covers exactly the bytes of writable mappings, from before the first is mapped until what was written
//! is in the file.

use super::{Identity, Mapped, View};
use crate::Owner;
use file_io::lock::{NotLocked, RangeLock};
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// Bytes of a file that a card of this process may write.
struct Taken {
    holder: u64,
    identity: Identity,
    range: Range<u64>,
}

static TAKEN: Mutex<Vec<Taken>> = Mutex::new(Vec::new());

fn taken() -> MutexGuard<'static, Vec<Taken>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to write ranges of a file. Dropped, others may have it.
#[derive(Debug)]
pub(super) struct Claim {
    holder: u64,
    identity: Identity,
    /// `None`: the file system has no locks.
    lock: Option<RangeLock>,
}

impl Claim {
    /// The right to write a range; or the rule against it.
    pub(super) fn take(view: View, file: &File) -> Result<Self, String> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let lock = RangeLock::new(file);
        let lock = lock.map_err(|error| format!("opening it once more, to lock it: {error}"))?;
        let mut claim = Self {
            holder: LAST.fetch_add(1, Ordering::Relaxed),
            identity: view.identity,
            lock: Some(lock),
        };
        claim.extend(view, file)?;
        Ok(claim)
    }

    /// The right to write all of a range of which parts may have been given back. If it is refused, some of it may
    /// have been taken: [`keep`](Self::keep) gives it back.
    pub(super) fn extend(&mut self, view: View, file: &File) -> Result<(), String> {
        let range = view.offset..view.end();
        {
            let mut taken = taken();
            let clash = taken.iter().find(|other| {
                other.identity == self.identity
                    && other.holder != self.holder
                    && other.range.start < range.end
                    && range.start < other.range.end
            });
            if let Some(other) = clash {
                return Err(format!(
                    "its bytes {} are mapped for writing on another card of this process: pages are written back whole, so \
                     one card would undo what the other wrote. Unmap it there first, map ranges apart, or map it read-only",
                    words(&other.range)
                ));
            }
            taken.push(Taken {
                holder: self.holder,
                identity: self.identity,
                range: range.clone(),
            });
        }
        let Some(lock) = &mut self.lock else {
            return Ok(());
        };
        match lock.lock(range, file) {
            Ok(()) => Ok(()),
            Err(NotLocked::Held {
                start,
                bytes,
                process,
            }) => Err(format!(
                "its bytes {} are locked by {}: who maps a file for writing locks what it maps, because pages are \
                 written back whole and one would undo what the other wrote. Wait until that process ends (lslocks lists \
                 locks), map ranges apart, or map it read-only",
                match bytes {
                    0 => format!("from {start} on"),
                    bytes => words(&(start..start.saturating_add(bytes))),
                },
                match process {
                    Some(id) => format!("process {id}"),
                    None => "another process".to_owned(),
                }
            )),
            Err(NotLocked::Unsupported(error)) => {
                unsupported(error);
                self.lock = None;
                Ok(())
            }
        }
    }

    /// Gives back what is not in these ranges, which are in order and apart.
    fn keep(&mut self, kept: &[Range<u64>]) {
        // The file first: whoever finds the table free finds the file free too.
        if let Some(lock) = &mut self.lock {
            lock.keep(kept);
        }
        let mut taken = taken();
        taken.retain(|other| other.holder != self.holder);
        let (holder, identity) = (self.holder, self.identity);
        taken.extend(kept.iter().cloned().map(|range| Taken {
            holder,
            identity,
            range,
        }));
    }

    /// Whether other processes are kept out too.
    pub(super) fn is_locked(&self) -> bool {
        self.lock.is_some()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.keep(&[]);
    }
}

/// First and last byte of a range.
fn words(range: &Range<u64>) -> String {
    format!("{} to {}", range.start, range.end.saturating_sub(1))
}

fn unsupported(error: std::io::Error) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::warn!(
            %error,
            "files cannot be locked on this file system: nothing keeps another process from mapping them for writing \
             too, and one would undo what the other wrote"
        );
    });
}

impl Owner {
    /// A range is to be mapped for writing.
    pub(super) fn claim_range(&mut self, view: View, file: &File) -> Result<(), String> {
        if self.files.stand_ins.contains_key(&view.identity) {
            return Ok(());
        }
        let Some(object) = self.files.objects.get_mut(&view) else {
            return Ok(());
        };
        match &mut object.claim {
            Some(claim) => claim.extend(view, file)?,
            None => object.claim = Some(Claim::take(view, file)?),
        }
        if object
            .claim
            .as_ref()
            .is_some_and(|claim| !claim.is_locked())
        {
            self.files.unlocked.insert(object.label.clone());
        }
        Ok(())
    }

    /// A range is claimed as far as writable mappings show it.
    pub(super) fn settle_claim(&mut self, view: View) {
        let Some(object) = self.files.objects.get_mut(&view) else {
            return;
        };
        let base = view.offset / object.page_size.bytes() * object.page_size.bytes();
        let shown = |mapped: &Mapped| {
            let start = base + mapped.first;
            start.max(view.offset)..(start + mapped.bytes).min(view.end())
        };
        let writable = self.files.mappings.iter();
        let writable = writable.filter(|mapped| mapped.writable && mapped.view == view);
        let kept = joined(writable.map(shown).collect());
        match &mut object.claim {
            Some(_) if kept.is_empty() => object.claim = None,
            Some(claim) => claim.keep(&kept),
            None => {}
        }
    }
}

/// The same bytes in ranges that are in order and apart.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined() {
        assert_eq!(
            joined(vec![5..9, 0..3, 3..4, 8..8, 6..12, 20..21]),
            [0..4, 5..12, 20..21]
        );
    }

    fn view(file: &File, offset: u64, bytes: u64) -> View {
        use std::os::unix::fs::MetadataExt;
        let found = file.metadata().unwrap();
        View {
            identity: (found.dev(), found.ino()),
            offset,
            bytes,
        }
    }

    #[test]
    fn a_byte_has_one_claim_and_what_is_given_back_is_free() {
        let file = tempfile::tempfile().unwrap();
        let take = |offset, bytes| Claim::take(view(&file, offset, bytes), &file);
        let mut first = take(0, 100).unwrap();
        let told = take(99, 10).unwrap_err();
        assert!(
            told.contains("bytes 0 to 99") && told.contains("another card"),
            "{told}"
        );
        // A refused one has left nothing behind.
        drop(take(100, 10).unwrap());
        let half = 0..50;
        first.keep(&[half]);
        let second = take(50, 50).unwrap();
        let told = first.extend(view(&file, 0, 100), &file).unwrap_err();
        assert!(told.contains("bytes 50 to 99"), "{told}");
        drop(second);
        first.extend(view(&file, 0, 100), &file).unwrap();
        assert!(take(80, 1).is_err());
        drop(first);
        take(0, 1000).unwrap();
    }
}
