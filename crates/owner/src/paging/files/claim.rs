//! The right to write a range of a file. No two cards hold it for the same byte: pages are written back whole, so the
//! later write-back would undo the earlier one.
//!
//! Cards of one process find each other in a table, by device and inode; processes use locks on the file. Reading is
//! free. A claim covers exactly the bytes of writable mappings, from before the first is mapped until the written bytes
//! are in the file.

use super::View;
use crate::lane::Lane;
use file_io::lock::{NotLocked, RangeLock};
use file_io::Identity;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

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

/// Locks of a claim on its file. Used only by the lane of the file's mount: each call may block on it.
enum Locks {
    /// None so far.
    None,
    Held(RangeLock),
    /// The file system does not support locks.
    Unsupported,
}

type SharedLocks = Arc<Mutex<Locks>>;

fn locked(locks: &SharedLocks) -> MutexGuard<'_, Locks> {
    locks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to write ranges of a file.
struct RangeClaim {
    holder: u64,
    identity: Identity,
    locks: SharedLocks,
    /// Number of mappings that are claiming all of the range at present.
    begun: u32,
    lane: Lane,
}

impl Drop for RangeClaim {
    fn drop(&mut self) {
        let (locks, holder) = (self.locks.clone(), self.holder);
        self.lane.go_and_do(move || {
            // The file first: once the table is free, the file is free too.
            *locked(&locks) = Locks::None;
            taken().retain(|other| other.holder != holder);
        });
    }
}

/// The claims of a card, by the ranges that writable mappings show.
#[derive(Default)]
pub(super) struct Claims(BTreeMap<View, RangeClaim>);

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A range that is claimed within this process, and has to be locked.
pub(crate) struct Locking {
    locks: SharedLocks,
    range: Range<u64>,
}

/// Ranges that stay locked.
pub(crate) struct Keeping {
    locks: SharedLocks,
    kept: Vec<Range<u64>>,
}

impl Claims {
    /// Claims a whole range, parts of which may have been released, against other cards of this process; or returns the
    /// violated rule. [`ended`](Self::ended) follows.
    pub(super) fn begin(&mut self, view: View, lane: &Lane) -> Result<Locking, String> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let range = view.offset..view.end();
        let own = self.0.get(&view).map(|claim| claim.holder);
        let mut taken = taken();
        let clash = taken.iter().find(|other| {
            other.identity == view.identity
                && Some(other.holder) != own
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
        let claim = self.0.entry(view).or_insert_with(|| RangeClaim {
            holder: LAST.fetch_add(1, Ordering::Relaxed),
            identity: view.identity,
            locks: Arc::new(Mutex::new(Locks::None)),
            begun: 0,
            lane: lane.clone(),
        });
        claim.begun += 1;
        taken.push(Taken {
            holder: claim.holder,
            identity: view.identity,
            range: range.clone(),
        });
        let locks = claim.locks.clone();
        Ok(Locking { locks, range })
    }

    /// Records that a mapping has its claim, or was refused.
    pub(super) fn ended(&mut self, view: View) {
        if let Some(claim) = self.0.get_mut(&view) {
            claim.begun -= 1;
        }
    }

    /// The parts of a range that stay locked if these parts are shown; they are in order and disjoint.
    pub(super) fn keeping(&self, view: View, shown: Vec<Range<u64>>) -> Option<Keeping> {
        let claim = self.0.get(&view)?;
        Some(Keeping {
            locks: claim.locks.clone(),
            kept: claim.kept(view, shown),
        })
    }

    /// Records that the parts not shown have been unlocked: they are free for other cards too.
    pub(super) fn settle(&mut self, view: View, shown: Vec<Range<u64>>) {
        let Some(claim) = self.0.get(&view) else {
            return;
        };
        let kept = claim.kept(view, shown);
        let mut taken = taken();
        taken.retain(|other| other.holder != claim.holder);
        if kept.is_empty() {
            drop(taken);
            self.0.remove(&view);
            return;
        }
        taken.extend(kept.into_iter().map(|range| Taken {
            holder: claim.holder,
            identity: claim.identity,
            range,
        }));
    }
}

impl RangeClaim {
    fn kept(&self, view: View, shown: Vec<Range<u64>>) -> Vec<Range<u64>> {
        match self.begun {
            0 => shown,
            _ => std::iter::once(view.offset..view.end()).collect(),
        }
    }
}

impl Locking {
    /// Locks the range in its file. Returns false if the file system has no locks; or the violated rule. If it is
    /// refused, a part of it may have been locked.
    pub(crate) fn lock(self, file: &File) -> Result<bool, String> {
        let mut locks = locked(&self.locks);
        if let Locks::None = *locks {
            let lock = RangeLock::new(file);
            let lock =
                lock.map_err(|error| format!("opening it once more, to lock it: {error}"))?;
            *locks = Locks::Held(lock);
        }
        let Locks::Held(lock) = &mut *locks else {
            return Ok(false);
        };
        match lock.lock(self.range, file) {
            Ok(()) => Ok(true),
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
                *locks = Locks::Unsupported;
                Ok(false)
            }
        }
    }
}

impl Keeping {
    /// Unlocks the rest.
    pub(crate) fn keep(self) {
        let mut locks = locked(&self.locks);
        match &mut *locks {
            Locks::Held(_) if self.kept.is_empty() => *locks = Locks::None,
            Locks::Held(lock) => lock.keep(&self.kept),
            Locks::None | Locks::Unsupported => {}
        }
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

/// Merges ranges into ones that are in order and disjoint.
pub(super) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
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
    use crate::lane::Post;
    use std::sync::mpsc::channel;

    #[test]
    fn ranges_are_joined() {
        assert_eq!(
            joined(vec![5..9, 0..3, 3..4, 8..8, 6..12, 20..21]),
            [0..4, 5..12, 20..21]
        );
    }

    /// A card of a test: its lane executes jobs at once.
    struct Card(Claims, Lane);

    impl Card {
        fn new() -> Self {
            let post = Post {
                sender: channel().0,
                bell: None,
            };
            let (lane, _) = Lane::start(file_io::best(), post).unwrap();
            Self(Claims::default(), lane)
        }

        fn take(&mut self, view: View, file: &File) -> Result<(), String> {
            let locking = self.0.begin(view, &self.1)?;
            let locked = locking.lock(file);
            self.0.ended(view);
            let shown = locked.as_ref().map_or(0, |_| view.bytes);
            self.show(view, view.offset..view.offset + shown);
            locked.map(drop)
        }

        fn show(&mut self, view: View, shown: Range<u64>) {
            let shown = joined(std::iter::once(shown).collect());
            if let Some(keeping) = self.0.keeping(view, shown.clone()) {
                keeping.keep();
                self.0.settle(view, shown);
            }
        }
    }

    fn view(file: &File, offset: u64, bytes: u64) -> View {
        View {
            identity: file_io::identity(file).unwrap(),
            offset,
            bytes,
        }
    }

    #[test]
    fn a_byte_has_one_claim_and_what_is_given_back_is_free() {
        let file = tempfile::tempfile().unwrap();
        let view = |offset, bytes| view(&file, offset, bytes);
        let (mut first, mut second) = (Card::new(), Card::new());
        first.take(view(0, 100), &file).unwrap();
        let rule = second.take(view(99, 10), &file).unwrap_err();
        assert!(
            rule.contains("bytes 0 to 99") && rule.contains("another card"),
            "{rule}"
        );
        // A refused claim leaves no trace.
        second.take(view(100, 10), &file).unwrap();
        second.show(view(100, 10), 100..100);
        first.show(view(0, 100), 0..50);
        second.take(view(50, 50), &file).unwrap();
        let rule = first.take(view(0, 100), &file).unwrap_err();
        assert!(rule.contains("bytes 50 to 99"), "{rule}");
        second.show(view(50, 50), 50..50);
        first.take(view(0, 100), &file).unwrap();
        assert!(second.take(view(80, 1), &file).is_err());
        // When it is dropped, it releases everything as soon as its lane executes the job.
        let Card(claims, lane) = first;
        drop(claims);
        let (done, finished) = channel();
        lane.go_and_do(move || done.send(()).unwrap());
        finished.recv().unwrap();
        second.take(view(0, 1000), &file).unwrap();
    }

    #[test]
    fn a_right_that_is_being_taken_is_kept() {
        let file = tempfile::tempfile().unwrap();
        let (mut first, mut second) = (Card::new(), Card::new());
        let all = view(&file, 0, 100);
        let locking = first.0.begin(all, &first.1).unwrap();
        locking.lock(&file).unwrap();
        // Another mapping of the range ends meanwhile.
        first.show(all, 0..0);
        assert!(second.take(view(&file, 50, 1), &file).is_err());
        first.0.ended(all);
        first.show(all, 0..0);
        second.take(view(&file, 50, 1), &file).unwrap();
    }
}
