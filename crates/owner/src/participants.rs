//! Participants: host threads that virtual time waits for; their states, and whether they stop the clock.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// A participant that makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    /// Number of the participant.
    pub participant: u64,
    /// Sequence number of the call.
    pub sequence: u64,
}

/// A participant whose access to shared memory was trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) participant: u64,
    /// Thread identifier in the operating system.
    pub(crate) thread: u64,
}

/// A change of a participant.
#[derive(Debug)]
pub enum Change {
    /// A participant was added.
    Joined(u64),
    /// A participant runs on this thread, given by its identifier in the operating system.
    Entered(u64, u64),
    /// A participant has left.
    Left(u64),
    /// A participant is busy elsewhere, and the clock need not wait for it.
    Outside(u64),
    /// A participant is back.
    Inside(u64),
}

impl Change {
    /// Number of the participant that changed.
    pub(crate) fn participant(&self) -> u64 {
        match self {
            Self::Joined(number)
            | Self::Entered(number, _)
            | Self::Left(number)
            | Self::Outside(number)
            | Self::Inside(number) => *number,
        }
    }
}

/// Activity of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Computing,
    Waiting,
    Outside,
}

#[derive(Debug)]
struct Record {
    state: State,
    thread: Option<u64>,
}

/// Interval between two checks of the participants that are waited for.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time that they may sleep.
const SLEEP_TIMEOUT: Duration = Duration::from_secs(1);

/// Time since which the awaited participants have not been seen awake.
#[derive(Debug, Default)]
pub(crate) struct Asleep(Option<Instant>);

impl Asleep {
    /// Records a check; returns true if they have slept for too long.
    pub(crate) fn too_long(&mut self, asleep: bool) -> bool {
        if !asleep {
            self.0 = None;
            return false;
        }
        let late = self.0.get_or_insert_with(Instant::now).elapsed() >= SLEEP_TIMEOUT;
        if late {
            self.0 = None;
        }
        late
    }
}

/// The owner's records of participants, and of those that stop the clock.
#[derive(Debug, Default)]
pub(crate) struct Participants {
    all: BTreeMap<u64, Record>,
    /// Sleep of the participants that compute.
    asleep: Asleep,
}

/// A participant sleeps, and virtual time waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sleeper {
    pub(crate) thread: String,
    pub(crate) call: String,
}

impl Participants {
    pub(crate) fn change(&mut self, change: Change) {
        self.asleep = Asleep::default();
        match change {
            Change::Joined(number) => {
                let (state, thread) = (State::Computing, None);
                self.all.insert(number, Record { state, thread });
            }
            Change::Entered(number, thread) => {
                if let Some(record) = self.all.get_mut(&number) {
                    record.thread = Some(thread);
                }
            }
            Change::Left(number) => {
                self.all.remove(&number);
            }
            Change::Outside(number) => self.set(number, State::Outside),
            Change::Inside(number) => self.set(number, State::Computing),
        }
    }

    fn set(&mut self, number: u64, state: State) {
        self.asleep = Asleep::default();
        if let Some(record) = self.all.get_mut(&number) {
            record.state = state;
        }
    }

    /// Records that a participant waits; false if it is not registered any more.
    pub(crate) fn waits(&mut self, participant: u64) -> bool {
        self.set(participant, State::Waiting);
        self.all.contains_key(&participant)
    }

    /// Records that a participant's wait is over: it computes again.
    pub(crate) fn computes(&mut self, participant: u64) {
        self.set(participant, State::Computing);
    }

    /// The participant that runs on a thread.
    pub(crate) fn of_thread(&self, thread: u64) -> Option<u64> {
        let mut all = self.all.iter();
        let found = all.find(|(_, record)| record.thread == Some(thread));
        found.map(|(number, _)| *number)
    }

    /// Whether there is no participant.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether no participant computes.
    pub(crate) fn all_wait(&self) -> bool {
        let mut all = self.all.values();
        all.all(|record| record.state != State::Computing)
    }

    /// Checks the participants that compute: returns the first, if all of them have been asleep in the system for
    /// too long.
    pub(crate) fn sleeper(&mut self) -> Option<Sleeper> {
        let computing = self.all.iter().filter(|(_, r)| r.state == State::Computing);
        let looks: Vec<_> = computing
            .map(|(number, record)| look(*number, record.thread))
            .collect();
        let first = looks.first()?.clone();
        let asleep = looks.iter().all(Option::is_some);
        match self.asleep.too_long(asleep) {
            true => first,
            false => None,
        }
    }
}

/// Whether a participant's thread sleeps in the system, or has ended.
pub(crate) fn is_asleep(guest: Guest) -> bool {
    look(guest.participant, Some(guest.thread)).is_some()
}

/// The call in which a thread sleeps; `None` if it is awake.
fn look(number: u64, thread: Option<u64>) -> Option<Sleeper> {
    let Some(thread) = thread else {
        return Some(Sleeper {
            thread: format!("participant {number}, which no thread has entered,"),
            call: "is not there yet".to_owned(),
        });
    };
    let task = format!("/proc/self/task/{thread}");
    let Ok(stat) = fs::read_to_string(format!("{task}/stat")) else {
        return Some(Sleeper {
            thread: format!("thread {thread} (participant {number})"),
            call: "has ended without leaving".to_owned(),
        });
    };
    // PID (NAME) STATE …; the name may contain any character.
    let (name, rest) = stat.rsplit_once(')')?;
    if !rest.trim_start().starts_with('S') {
        return None;
    }
    let name = name.split_once('(').map_or("", |(_, name)| name);
    let call = fs::read_to_string(format!("{task}/syscall")).unwrap_or_default();
    let call = call.split_whitespace().next().unwrap_or("unknown");
    Some(Sleeper {
        thread: format!("thread {thread} `{name}` (participant {number})"),
        call: format!("sleeps in system call {call}{}", call_name(call)),
    })
}

/// Names of the calls in which threads wait for each other (x86-64).
fn call_name(number: &str) -> &'static str {
    if !cfg!(target_arch = "x86_64") {
        return "";
    }
    match number {
        "0" => " (read)",
        "1" => " (write)",
        "7" => " (poll)",
        "23" => " (select)",
        "35" => " (nanosleep)",
        "43" | "288" => " (accept)",
        "45" => " (recvfrom)",
        "61" => " (wait4)",
        "202" => " (futex: a lock, a channel or a join)",
        "230" => " (clock_nanosleep)",
        "232" | "281" => " (epoll_wait)",
        _ => "",
    }
}
