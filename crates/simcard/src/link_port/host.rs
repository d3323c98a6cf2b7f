//! The CPU as home of its own lines, which its cores use and the card caches.

use super::pins::SlicePins;
use super::{broken, placed};
use crate::config::ShellConfig;
use crate::error::not_built;
use crate::model::Instance;
use card::coherent::AccessKind;
use card::CardError;
use cpu::core::Core;
use cpu::home::{Home, HomeAccess, HomeFigures};
use cpu::message::Message;
use protocol::spec::Spec;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use units::line::{Data, FoldedLine, PlainLine, BYTES, WORDS};
use units::Picoseconds;
use verilated::BuildError;

/// Seed of the memory latency: nothing of it is random here.
const SEED: u64 = 0;
/// Offset that separates lines of the CPU's own memory from the card's in the first-level caches.
const OWN: u64 = 1 << 40;

/// See the module.
pub(super) struct HostLines {
    home: Home,
    pub(super) slices: Vec<SlicePins>,
    /// Accesses of cores under way, each with its core.
    accesses: BTreeMap<u64, (u8, PlainLine)>,
}

fn in_cache(line: PlainLine) -> FoldedLine {
    FoldedLine(line.fold().0 | OWN)
}

impl HostLines {
    pub(super) fn new(
        shell: &Instance,
        config: &ShellConfig,
        memory: Picoseconds,
        spec: &Spec,
    ) -> Result<Option<Self>, CardError> {
        let slices = u32::from(config.caches());
        if slices == 0 {
            return Ok(None);
        }
        let figures = HomeFigures {
            memory_ps: memory.get(),
            jitter_ps: 0,
        };
        let pins = (0..slices)
            .map(|slice| SlicePins::of_cache(shell, slice, slices, spec))
            .collect::<Result<_, BuildError>>()
            .map_err(not_built)?;
        Ok(Some(Self {
            home: Home::new(spec, figures, slices as usize, SEED),
            slices: pins,
            accesses: BTreeMap::new(),
        }))
    }

    /// Starts an access of a core; it may end at once.
    pub(super) fn access(
        &mut self,
        now: Picoseconds,
        core: u8,
        address: u64,
        kind: &AccessKind,
        token: u64,
    ) {
        let word = (address % BYTES / 8) as usize;
        let nothing = || HomeAccess::Store {
            mask: 0,
            data: [0; WORDS],
        };
        let access = match kind {
            AccessKind::Load | AccessKind::Prefetch => HomeAccess::Load,
            AccessKind::LoadExclusive | AccessKind::Claim => nothing(),
            AccessKind::Store(bytes) => {
                let (mask, data) = placed(address, bytes);
                HomeAccess::Store { mask, data }
            }
            AccessKind::Add(value) => HomeAccess::Add {
                word,
                value: *value,
                mask: 0,
                data: [0; WORDS],
            },
            AccessKind::CompareExchange { expected, new } => HomeAccess::CompareExchange {
                word,
                expected: *expected,
                new: *new,
            },
            // For its own memory the CPU can only recall the line from the card.
            AccessKind::Clean => HomeAccess::Clean,
            AccessKind::Flush => HomeAccess::CleanInvalidate,
        };
        let line = PlainLine(address / BYTES);
        self.accesses.insert(token, (core, line));
        self.home.set_time(now.get());
        self.home.access(line, access, token);
    }

    /// Takes completed accesses and the contents of their lines; to be called directly after a start, for accesses
    /// that hit.
    pub(super) fn take_done(&mut self) -> Vec<(u64, u8, PlainLine, Box<Data>)> {
        let done = std::mem::take(&mut self.home.done).into_iter();
        done.filter_map(|done| {
            let (core, line) = self.accesses.remove(&done.token)?;
            Some((done.token, core, line, done.data))
        })
        .collect()
    }

    pub(super) fn has_copy(&self, line: PlainLine) -> bool {
        self.home.has_copy(line)
    }

    /// Latency of a core's access to a line of which the CPU has a copy.
    pub(super) fn hit(cores: &mut [Core], core: u8, line: PlainLine) -> Picoseconds {
        cores[usize::from(core)].hit(in_cache(line))
    }

    /// Records a core's use of a line that was fetched.
    pub(super) fn touch(cores: &mut [Core], core: u8, line: PlainLine) {
        cores[usize::from(core)].touch(in_cache(line));
    }

    /// Handles the arrival of a message of the card.
    pub(super) fn receive(&mut self, now: Picoseconds, message: Message, cores: &mut [Core]) {
        let line = message.line.unfold();
        self.home.set_time(now.get());
        self.home.receive(message);
        if !self.home.has_copy(line) {
            lose(cores, line);
        }
    }

    /// Completes memory accesses, and gives up lines that the card has requested.
    pub(super) fn advance(
        &mut self,
        now: Picoseconds,
        cores: &mut [Core],
    ) -> Result<(), CardError> {
        self.home.set_time(now.get());
        self.home.advance().map_err(broken)?;
        for line in self.home.wanted() {
            self.home.give_up(line);
            lose(cores, line);
        }
        Ok(())
    }

    /// Messages to the card, by lane.
    pub(super) fn out(&mut self) -> &mut [VecDeque<Message>] {
        &mut self.home.out
    }

    /// Handles a reset of the card. Returns the failed accesses.
    pub(super) fn forget(&mut self) -> Vec<u64> {
        let failed = self.home.forget_card();
        for token in &failed {
            self.accesses.remove(token);
        }
        failed
    }

    /// Whether nothing can occur before a message of the card arrives.
    pub(super) fn is_idle(&self) -> bool {
        self.home.is_idle() && self.slices.iter().all(SlicePins::is_quiet)
    }
}

fn lose(cores: &mut [Core], line: PlainLine) {
    for core in cores {
        core.lose(in_cache(line));
    }
}
