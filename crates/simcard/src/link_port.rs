//! The coherent link at the shell, and the CPU at its other end: a part of the shell's surroundings, like memory and
//! host.
//!
//! At an edge, [`LinkPort::sample`] delivers arrived messages to the CPU, sends the CPU's messages, and samples the
//! pins; [`LinkPort::drive`] sets the pins for the next edge. While a message is on the link, no edge is skipped; an
//! access that waits for the card alone costs nothing.
//!
//! When the host resets the shell, the link is reset, too: messages on it are lost, the CPU has no line of the card any
//! more and takes its own lines back with its memory's content, and accesses under way end with an error.

mod home_port_monitor;
mod host;
mod pages;
mod pins;

use super::config::ShellConfig;
use super::model::{Instance, Pin};
use super::surrounding::{peripheral_reset, HostPath, Surrounding};
use crate::error::not_built;
use card::coherent::{
    AccessEnd, AccessId, AccessKind, LineAccess, LineBytes, LineHome, CORES, LINE_BYTES,
};
use card::history::{History, Party, Step};
use card::CardError;
use cpu::cache::{Access, Cache, Outcome};
use cpu::core::Core;
use cpu::link::Link;
use cpu::message::Message;
use home_port_monitor::HomePortMonitor;
use host::HostLines;
use pins::SlicePins;
use std::collections::{BTreeMap, VecDeque};
use timing::platform::Coherent;
use units::line::{Data, FoldedLine, PlainLine, BYTES, WORDS};
use units::Picoseconds;
use verilated::BuildError;

/// Seed of the link's jitter: equal in every run.
const SEED: u64 = 0x636f_6865_7265;

/// An access that is queued or under way.
struct Pending {
    core: u8,
    line: PlainLine,
    access: Access,
    what: &'static str,
}

/// See the module.
pub(crate) struct LinkPort {
    cache: Cache,
    cores: Vec<Core>,
    up: Link,
    down: Link,
    slices: Vec<SlicePins>,
    /// The CPU's own lines, if the shell caches them.
    host: Option<HostLines>,
    period: Picoseconds,
    /// Lane of the CPU with the next turn to send.
    turn: usize,
    accesses: BTreeMap<u64, Pending>,
    /// Accesses that the cache does not accept yet, in order.
    waiting: VecDeque<u64>,
    next: u64,
    /// Completed accesses, with the time at which the core continues.
    done: Vec<(AccessId, Picoseconds, AccessEnd)>,
    /// Shown pages of programs, by page number.
    shown: BTreeMap<u64, pages::Shown>,
    history: History,
    monitors: Vec<HomePortMonitor>,
    /// Active low: the host resets the shell.
    reset: Pin<u8>,
    in_reset: bool,
}

/// The error for a violation at the link or in the CPU.
pub(crate) fn broken(error: impl std::fmt::Display) -> CardError {
    CardError::Broken(format!("coherence: {error}"))
}

fn to_bytes(data: &Data) -> Box<LineBytes> {
    let mut bytes = Box::new([0; LINE_BYTES]);
    for (place, word) in bytes.chunks_exact_mut(8).zip(data) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Bytes of a store at their positions in the line, with their mask.
fn placed(address: u64, bytes: &[u8]) -> (u128, Data) {
    let start = (address % BYTES) as usize;
    let mut line = [0; LINE_BYTES];
    line[start..start + bytes.len()].copy_from_slice(bytes);
    let ones = u128::MAX >> (LINE_BYTES - bytes.len());
    let word = |place: usize| std::array::from_fn(|byte| line[8 * place + byte]);
    let data: Data = std::array::from_fn(|place| u64::from_le_bytes(word(place)));
    debug_assert_eq!(data.len(), WORDS);
    (ones << start, data)
}

impl LinkPort {
    pub(crate) fn new(
        shell: &Instance,
        config: &ShellConfig,
        platform: Coherent<'_>,
        period: Picoseconds,
    ) -> Result<Self, CardError> {
        let protocol = cpu::mesi().map_err(broken)?;
        let slices = usize::from(config.slices());
        let classes = &protocol.spec.classes;
        // Lanes of the directory's slices, followed by those of the caches'.
        let data: Vec<bool> = (0..slices + usize::from(config.caches()))
            .flat_map(|_| classes.iter().map(|class| class.data))
            .collect();
        let figures = platform.cpu;
        let sets = (figures.cache_bytes / BYTES) as usize / figures.cache_ways;
        let link = |seed| Link::new(platform.link, &data, period.get(), seed);
        let (up, down) = (link(SEED), link(!SEED));
        let pins = (0..slices as u32)
            .map(|slice| SlicePins::of_directory(shell, slice, &protocol.spec))
            .collect::<Result<_, BuildError>>()
            .map_err(not_built)?;
        let host = HostLines::new(shell, config, figures.home_ps, &protocol.spec)?;
        let mut cache = Cache::new(protocol, sets, figures.cache_ways, slices)
            .with_requests(figures.request_ids);
        cache.evict_ahead = figures.evict_ahead;
        let homes = u32::from(config.slots) * slices as u32;
        Ok(Self {
            cache,
            cores: (0..CORES).map(|_| Core::new(figures)).collect(),
            up,
            down,
            slices: pins,
            host,
            period,
            turn: 0,
            accesses: BTreeMap::new(),
            waiting: VecDeque::new(),
            next: 0,
            done: Vec::new(),
            shown: BTreeMap::new(),
            history: History::default(),
            monitors: (0..homes)
                .map(|home| HomePortMonitor::new(shell, home))
                .collect::<Result<_, BuildError>>()
                .map_err(not_built)?,
            reset: peripheral_reset(shell).map_err(not_built)?,
            in_reset: false,
        })
    }

    /// Handles a reset of the shell by the host: both ends of the link lose their state.
    fn forget(&mut self, at: Picoseconds) -> Result<(), CardError> {
        self.hide_pages(0, u64::MAX)?;
        self.cache.forget();
        self.up.reset();
        self.down.reset();
        self.cores.iter_mut().for_each(Core::forget);
        self.waiting.clear();
        let accesses = std::mem::take(&mut self.accesses);
        let mut ended: Vec<u64> = accesses.into_keys().collect();
        if let Some(host) = &mut self.host {
            ended.extend(host.forget());
        }
        let caches = self.host.iter_mut().flat_map(|host| &mut host.slices);
        self.slices
            .iter_mut()
            .chain(caches)
            .for_each(SlicePins::forget);
        let ended = ended.into_iter();
        self.done
            .extend(ended.map(|token| (AccessId(token), at, None)));
        Ok(())
    }

    /// Starts an access of a core.
    pub(crate) fn access(
        &mut self,
        now: Picoseconds,
        access: &LineAccess,
    ) -> Result<AccessId, CardError> {
        if access.home == LineHome::Cpu {
            return self.host_access(now, access);
        }
        let line = PlainLine(access.address / BYTES);
        let (kind, what) = match &access.kind {
            AccessKind::Load => (Access::Load, "load"),
            AccessKind::LoadExclusive => (Access::PrefetchExclusive, "load exclusive"),
            AccessKind::Claim => (pages::CLAIM, "claim"),
            AccessKind::Prefetch => (Access::PrefetchShared, "prefetch"),
            AccessKind::Flush => (Access::Flush, "flush"),
            AccessKind::Clean => (Access::Clean, "clean"),
            AccessKind::Store(bytes) => {
                let (mask, data) = placed(access.address, bytes);
                (Access::StoreBytes { mask, data }, "store")
            }
            AccessKind::Add(_) | AccessKind::CompareExchange { .. } => {
                return Err(broken("an addition to a line of the card"));
            }
        };
        let token = self.next;
        self.next += 1;
        let pending = Pending {
            core: access.core,
            line,
            access: kind,
            what,
        };
        self.step(now, now, Party::Program, Party::Cache, what, line, false);
        self.accesses.insert(token, pending);
        self.waiting.push_back(token);
        self.try_waiting(now)?;
        Ok(AccessId(token))
    }

    /// Starts an access of a core to a line of the CPU's own memory.
    fn host_access(
        &mut self,
        now: Picoseconds,
        access: &LineAccess,
    ) -> Result<AccessId, CardError> {
        let Some(host) = &mut self.host else {
            return Err(CardError::Access {
                core: access.core,
                address: access.address,
                rule: "this shell has no cache of the CPU's lines: open the card with a shell with [cache]",
            });
        };
        let token = self.next;
        self.next += 1;
        host.access(now, access.core, access.address, &access.kind, token);
        for (token, core, line, data) in host.take_done() {
            let takes = HostLines::hit(&mut self.cores, core, line);
            let end = Some(to_bytes(&data));
            self.done.push((AccessId(token), now + takes, end));
        }
        Ok(AccessId(token))
    }

    /// Processes the CPU's own lines: completed memory accesses, and completed accesses of cores.
    fn host_work(&mut self, now: Picoseconds) -> Result<(), CardError> {
        let Some(host) = &mut self.host else {
            return Ok(());
        };
        // Giving up a line may complete an access to it, which may be requested again.
        host.advance(now, &mut self.cores)?;
        for (token, core, line, data) in host.take_done() {
            if host.has_copy(line) {
                HostLines::touch(&mut self.cores, core, line);
            }
            self.done
                .push((AccessId(token), now, Some(to_bytes(&data))));
        }
        Ok(())
    }

    /// Passes waiting accesses to the cache as far as it accepts them. Accesses to one line stay in order.
    fn try_waiting(&mut self, now: Picoseconds) -> Result<(), CardError> {
        let mut held: Vec<PlainLine> = Vec::new();
        let mut index = 0;
        while let Some(&token) = self.waiting.get(index) {
            let Some(pending) = self.accesses.get(&token) else {
                self.waiting.remove(index);
                continue;
            };
            let (line, access) = (pending.line, pending.access);
            let folded = line.fold();
            let core = pending.core;
            self.core_comes(line, access)?;
            let outcome = match held.contains(&line) {
                true => Outcome::Busy,
                false => self.cache.access(folded, access, token),
            };
            match outcome {
                Outcome::Busy => {
                    held.push(line);
                    index += 1;
                }
                Outcome::Started => {
                    self.waiting.remove(index);
                }
                Outcome::Hit(data) => {
                    let takes = self.cores[usize::from(core)].hit(folded);
                    self.waiting.remove(index);
                    self.finish(token, now + takes, &data, false);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, token: u64, at: Picoseconds, data: &Data, poisoned: bool) {
        let Some(pending) = self.accesses.remove(&token) else {
            return;
        };
        let Pending {
            core,
            line,
            what,
            access,
        } = pending;
        if access == Access::Flush {
            self.lose(line.fold());
        } else if access != Access::Clean && !poisoned {
            self.cores[usize::from(core)].touch(line.fold());
        }
        self.step(at, at, Party::Cache, Party::Program, what, line, true);
        let end = (!poisoned).then(|| to_bytes(data));
        self.done.push((AccessId(token), at, end));
    }

    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        sent: Picoseconds,
        arrived: Picoseconds,
        from: Party,
        to: Party,
        what: &str,
        line: PlainLine,
        data: bool,
    ) {
        if self.history.records(line) {
            self.history.add(Step {
                sent,
                arrived,
                from,
                to,
                what: what.to_owned(),
                line,
                data,
            });
        }
    }

    /// Takes completed accesses, with the times at which their cores continue.
    pub(crate) fn take_done(&mut self) -> Vec<(AccessId, Picoseconds, AccessEnd)> {
        std::mem::take(&mut self.done)
    }

    pub(crate) fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    pub(crate) fn record(&mut self, history: History) {
        self.history = history;
    }

    pub(crate) fn history(&self) -> History {
        self.history.clone()
    }

    fn name(&self, message: &Message) -> String {
        self.cache.protocol().spec.message(message.id).name.clone()
    }

    fn lose(&mut self, line: FoldedLine) {
        for core in &mut self.cores {
            core.lose(line);
        }
    }

    /// Sends the CPU's messages: lanes take turns, one message each.
    fn send_up(&mut self, at: Picoseconds) -> Result<(), CardError> {
        let now = at.get();
        let first = self.cache.out.len();
        let lanes = first + self.host.as_mut().map_or(0, |host| host.out().len());
        let mut refused = 0;
        while refused < lanes {
            let lane = self.turn;
            self.turn = (self.turn + 1) % lanes;
            refused += 1;
            if !self.up.can_send(lane, now) {
                continue;
            }
            if let (Some(own), Some(host)) = (lane.checked_sub(first), &mut self.host) {
                if let Some(message) = host.out()[own].pop_front() {
                    self.up.send(lane, now, message);
                    refused = 0;
                }
                continue;
            }
            if let Some(message) = self.cache.out[lane].front() {
                self.line_goes(message.line.unfold())?;
            }
            if let Some(message) = self.cache.out[lane].pop_front() {
                let (what, data) = (self.name(&message), message.data.is_some());
                let line = message.line.unfold();
                let arrives = Picoseconds::new(self.up.send(lane, now, message));
                self.step(
                    at,
                    arrives,
                    Party::Cache,
                    Party::Directory,
                    &what,
                    line,
                    data,
                );
                refused = 0;
            }
        }
        Ok(())
    }
}

impl Surrounding for LinkPort {
    fn sample(&mut self, at: Picoseconds, _: &mut HostPath<'_>) -> Result<bool, CardError> {
        let now = at.get();
        if !self.reset.high() {
            if !std::mem::replace(&mut self.in_reset, true) {
                self.forget(at)?;
            }
            return Ok(false);
        }
        self.in_reset = false;
        let directory = self.cache.out.len();
        for lane in 0..self.down.lanes() {
            while let Some(message) = self.down.take(lane, now) {
                let line = message.line;
                if let (true, Some(host)) = (lane >= directory, &mut self.host) {
                    host.receive(at, message, &mut self.cores);
                    continue;
                }
                self.cache.receive(message).map_err(broken)?;
                if !self.cache.has_copy(line) {
                    self.lose(line);
                }
            }
        }
        for completion in std::mem::take(&mut self.cache.completed) {
            self.finish(completion.token, at, &completion.data, completion.poisoned);
        }
        if !self.waiting.is_empty() {
            self.try_waiting(at)?;
        }
        self.host_work(at)?;
        self.send_up(at)?;
        let mut active = false;
        for index in 0..self.slices.len() {
            let slice = &mut self.slices[index];
            active |= slice.is_active();
            slice.sample_up(&mut self.up, now);
            let spec = &self.cache.protocol().spec;
            for (lane, message) in slice.sample_down(spec).map_err(broken)? {
                let (what, data) = (self.name(&message), message.data.is_some());
                let line = message.line.unfold();
                let arrives = Picoseconds::new(self.down.send(lane, now, message));
                self.step(
                    at,
                    arrives,
                    Party::Directory,
                    Party::Cache,
                    &what,
                    line,
                    data,
                );
            }
        }
        for slice in self.host.iter_mut().flat_map(|host| &mut host.slices) {
            active |= slice.is_active();
            slice.sample_up(&mut self.up, now);
            let spec = &self.cache.protocol().spec;
            for (lane, message) in slice.sample_down(spec).map_err(broken)? {
                self.down.send(lane, now, message);
            }
        }
        if !self.history.lines().is_empty() {
            for monitor in &mut self.monitors {
                monitor.sample(at, self.period, &mut self.history);
            }
        }
        Ok(active)
    }

    fn drive(&mut self, at: Picoseconds) -> bool {
        let next = (at + self.period).get();
        let mut changed = false;
        let caches = self.host.iter().flat_map(|host| &host.slices);
        for slice in self.slices.iter().chain(caches) {
            changed |= slice.drive(&self.up, &self.down, next);
        }
        changed
    }

    fn next_event(&self, now: Picoseconds) -> Option<Picoseconds> {
        let quiet = self.waiting.is_empty()
            && self.done.is_empty()
            && self.cache.out.iter().all(VecDeque::is_empty)
            && self.up.is_settled(now.get())
            && self.down.is_settled(now.get())
            && self.slices.iter().all(SlicePins::is_quiet)
            && self.host.as_ref().is_none_or(HostLines::is_idle);
        (!quiet).then_some(Picoseconds::ZERO)
    }
}
