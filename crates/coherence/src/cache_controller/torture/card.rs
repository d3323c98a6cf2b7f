//! The card's side: loads, stores, evictions, and what is done under holds.

use super::ControllerTorture;
use crate::cache_controller::controller::{Access, AccessKind, Answer, RowData, Status, ROW_WORDS};
use crate::judge::PART_WORDS;
use crate::line::PlainLine;

/// Tags of the controller's accesses.
pub(super) const TAGS: usize = 32;

/// Work of a tag of the card.
#[derive(Clone, Debug)]
pub(super) enum Task {
    Load {
        start: u64,
    },
    Store {
        start: u64,
        parts: u8,
        stamp: u64,
    },
    Evict,
    /// A hold, first on its way.
    Acquire {
        start: u64,
    },
    /// A hold that stands, as far as is known: what the row held, rounds to go.
    Held {
        hold: u8,
        row: RowData,
        rounds: u64,
        rest: u64,
    },
    /// A load, or a store if there is a stamp, under the hold.
    Access {
        hold: u8,
        row: RowData,
        rounds: u64,
        start: u64,
        stamp: Option<u64>,
    },
    Release,
}

/// A tag at work.
#[derive(Clone, Debug)]
pub(super) struct Job {
    line: PlainLine,
    second: bool,
    task: Task,
}

const NOTHING: (RowData, u64) = ([0; ROW_WORDS], 0);

/// The bytes of parts of a row.
fn strobe_of(parts: u8) -> u64 {
    let part = |bit: u8| {
        if parts >> bit & 1 == 1 {
            0xffff_ffff << (32 * bit)
        } else {
            0
        }
    };
    part(0) | part(1)
}

impl ControllerTorture {
    pub(super) fn free_tag(&self) -> Option<usize> {
        self.jobs.iter().position(Option::is_none)
    }

    fn issue(&mut self, tag: usize, kind: AccessKind, hold: Option<u8>, data: (RowData, u64)) {
        let Some(job) = &self.jobs[tag] else { return };
        let access = Access {
            kind,
            hold,
            tag: tag as u8,
            line: job.line,
            second: job.second,
            row: data.0,
            strobe: data.1,
        };
        self.system.card.accesses.push_back(access);
    }

    fn set(&mut self, tag: usize, task: Task) {
        if let Some(job) = &mut self.jobs[tag] {
            job.task = task;
        }
    }

    pub(super) fn start_evict(&mut self, line: PlainLine) {
        if let Some(tag) = self.free_tag() {
            self.jobs[tag] = Some(Job {
                line,
                second: false,
                task: Task::Evict,
            });
            self.issue(tag, AccessKind::Evict, None, NOTHING);
        }
    }

    /// Starts an access on a free tag, and lets one holder go on.
    pub(super) fn card_work(&mut self, start: bool) {
        for tag in 0..TAGS {
            let Some(Job {
                task:
                    Task::Held {
                        hold,
                        row,
                        rounds,
                        rest,
                    },
                ..
            }) = self.jobs[tag].clone()
            else {
                continue;
            };
            if rest > 0 {
                let rest = rest - 1;
                self.set(
                    tag,
                    Task::Held {
                        hold,
                        row,
                        rounds,
                        rest,
                    },
                );
            } else {
                self.use_hold(tag, hold, row, rounds);
            }
        }
        if !start || self.system.card.accesses.len() > 2 {
            return;
        }
        let Some(tag) = self.free_tag() else { return };
        // Often right behind another access to the line, so that they meet in the pipeline.
        let again = self.random.chance(1, 3);
        let (line, counter) = match self.last {
            Some(last) if again => last,
            _ => self.any_line(),
        };
        self.last = Some((line, counter));
        let second = !counter && self.random.chance(1, 2);
        let choice = self.random.below(16);
        if choice == 0 {
            return self.start_evict(line);
        }
        let oracle_start = self.judge.begin();
        let (task, kind, data) = match (counter, choice) {
            (true, 1..=11) | (false, 1..=2) => (
                Task::Acquire {
                    start: oracle_start,
                },
                AccessKind::Acquire,
                NOTHING,
            ),
            (true, _) | (false, 3..=8) => (
                Task::Load {
                    start: oracle_start,
                },
                AccessKind::Load,
                NOTHING,
            ),
            (false, _) => {
                let half = 2 * u8::from(second);
                let parts = (1 + self.random.below(3) as u8) << half;
                let stamp = self.stamp();
                self.judge.write_begins(line, parts, stamp, oracle_start);
                let strobe = strobe_of(parts >> half);
                let task = Task::Store {
                    start: oracle_start,
                    parts,
                    stamp,
                };
                (task, AccessKind::Store, ([stamp; ROW_WORDS], strobe))
            }
        };
        self.jobs[tag] = Some(Job { line, second, task });
        self.issue(tag, kind, None, data);
    }

    /// The next step under a hold.
    fn use_hold(&mut self, tag: usize, hold: u8, row: RowData, rounds: u64) {
        let Some(Job { line, second, .. }) = self.jobs[tag].clone() else {
            return;
        };
        if rounds == 0 {
            self.set(tag, Task::Release);
            return self.issue(tag, AccessKind::Release, Some(hold), NOTHING);
        }
        let start = self.judge.begin();
        let counter = self.counters.contains(&line);
        let access = |torture: &mut Self, stamp, kind, data| {
            torture.set(
                tag,
                Task::Access {
                    hold,
                    row,
                    rounds: rounds - 1,
                    start,
                    stamp,
                },
            );
            torture.issue(tag, kind, Some(hold), data);
        };
        if !self.random.chance(2, 3) {
            return access(self, None, AccessKind::Load, NOTHING);
        }
        let stamp = self.stamp();
        let mut data = [stamp; ROW_WORDS];
        let parts = if counter {
            data[0] = row[0] + 1;
            self.value_of_stamp.insert(stamp, data[0]);
            1
        } else {
            3 << (2 * u8::from(second))
        };
        self.judge.write_begins(line, parts, stamp, start);
        let strobe = if counter { strobe_of(1) } else { u64::MAX };
        access(self, Some(stamp), AccessKind::Store, (data, strobe));
    }

    fn sees_row(&mut self, job: &Job, row: &RowData, start: u64) {
        if self.counters.contains(&job.line) {
            self.reads_counter(job.line, row, start);
        } else {
            self.reads_row(job.line, job.second, row, start);
        }
    }

    pub(super) fn answered(&mut self, answer: &Answer) {
        let tag = usize::from(answer.tag);
        let Some(job) = self.jobs[tag].take() else {
            return self
                .judge
                .complain(format!("an answer that nobody waits for: tag {tag}"));
        };
        self.report.card += 1;
        match (job.task.clone(), answer.status) {
            (Task::Load { start }, Status::Ok) => {
                self.sees_row(&job, &answer.row, start);
                self.judge.end(start);
            }
            (
                Task::Store {
                    start,
                    parts,
                    stamp,
                },
                Status::Ok,
            ) => {
                self.judge.write_ends(job.line, parts, stamp);
                self.judge.end(start);
            }
            (Task::Evict, Status::Ok) => {}
            (Task::Acquire { start }, Status::Ok) => {
                self.sees_row(&job, &answer.row, start);
                self.judge.end(start);
                self.jobs[tag] = Some(job);
                let rounds = self.random.below(4);
                self.hold_on(tag, answer.hold, answer.row, rounds);
            }
            (Task::Acquire { start }, Status::Refused) => {
                self.report.refused += 1;
                self.judge.end(start);
            }
            (
                Task::Access {
                    hold,
                    row,
                    rounds,
                    start,
                    stamp,
                },
                status,
            ) => {
                let mut now = row;
                match (stamp, status) {
                    (Some(stamp), Status::Ok) => now = self.held_store_done(&job, &row, stamp),
                    (Some(stamp), Status::Lost) => self.withdraw(&job, stamp),
                    (None, Status::Ok) => {
                        self.sees_row(&job, &answer.row, start);
                        if answer.row != row {
                            let (line, seen) = (job.line.0, answer.row);
                            self.judge.complain(format!(
                                "line {line:#x} changed under a hold: {row:x?}, then {seen:x?}"
                            ));
                        }
                    }
                    _ => {}
                }
                self.judge.end(start);
                self.jobs[tag] = Some(job);
                if status == Status::Ok {
                    self.hold_on(tag, hold, now, rounds);
                } else {
                    self.report.lost += 1;
                    self.use_hold(tag, hold, now, 0);
                }
            }
            (Task::Release, Status::Ok | Status::Lost) => {}
            (task, status) => self
                .judge
                .complain(format!("{task:?} was answered {status:?}")),
        }
    }

    fn hold_on(&mut self, tag: usize, hold: u8, row: RowData, rounds: u64) {
        // Some owners rest for too long.
        let rest = match self.random.below(64) {
            0 => self.random.below(3 * self.hold_limit),
            1..=8 => self.random.below(50),
            _ => 0,
        };
        self.set(
            tag,
            Task::Held {
                hold,
                row,
                rounds,
                rest,
            },
        );
    }

    fn held_store_done(&mut self, job: &Job, row: &RowData, stamp: u64) -> RowData {
        if self.counters.contains(&job.line) {
            let mut now = *row;
            now[0] += 1;
            now[1..PART_WORDS].fill(stamp);
            self.report.card_increments += 1;
            self.incremented(job.line, now[0], stamp);
            return now;
        }
        self.judge
            .write_ends(job.line, 3 << (2 * u8::from(job.second)), stamp);
        [stamp; ROW_WORDS]
    }

    /// A store that was answered `Lost` did not take place.
    fn withdraw(&mut self, job: &Job, stamp: u64) {
        let parts = if self.counters.contains(&job.line) {
            self.value_of_stamp.remove(&stamp);
            1
        } else {
            3 << (2 * u8::from(job.second))
        };
        self.judge.write_withdrawn(job.line, parts, stamp);
    }
}
