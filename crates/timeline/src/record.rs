//! Summary of a timeline in bounded memory: for each track its busy times, the lengths of its slices and their
//! addresses. Its size does not grow with the run: above the limits, its resolution is reduced.

use crate::marks::Marks;
use crate::Value;
use std::collections::{BTreeMap, HashMap};
use units::Picoseconds;

/// Spans per track above which neighbours are merged.
const SPANS: usize = 1 << 14;
/// Intervals of time for counts.
const PIECES: usize = 512;
/// Address blocks per track above which pairs are merged.
const BLOCKS: usize = 1 << 16;
/// log2 of the finest block size in bytes: no burst crosses it.
const FINEST: u32 = 12;
/// Maximum slice names counted separately per track.
const KINDS: usize = 64;

/// Summary of a timeline.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Tracks, in order of creation.
    pub tracks: Vec<TrackRecord>,
}

impl Record {
    /// A track by its path: names joined with `/`, outermost first.
    pub fn track(&self, name: &str) -> Option<&TrackRecord> {
        self.tracks.iter().find(|track| track.name == name)
    }

    /// End of the last slice.
    pub fn end(&self) -> Picoseconds {
        let ends = self.tracks.iter().map(|track| track.busy.end());
        ends.max().unwrap_or_default()
    }
}

/// Summary of one track.
#[derive(Clone, Debug, Default)]
pub struct TrackRecord {
    /// Names of the track and its parents, outermost first, joined with `/`.
    pub name: String,
    /// Times with at least one open slice.
    pub busy: Busy,
    /// Slices and instants by name.
    pub kinds: Vec<Kind>,
    /// Slices by address, for those with an address.
    pub places: Places,
    /// Instants by address and time, for those with an address.
    pub marks: Marks,
}

impl TrackRecord {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    pub(crate) fn slice(
        &mut self,
        name: &str,
        from: Picoseconds,
        to: Picoseconds,
        values: &[(&str, Value)],
    ) {
        self.busy.add(from, to);
        let kind = self.kind(name);
        self.kinds[kind].add(from, to);
        let mut address = None;
        let mut bytes = 0;
        for (key, value) in values {
            match (*key, value) {
                ("address", Value::Address(found)) => address = Some(*found),
                ("bytes", Value::Number(found)) => bytes = *found,
                _ => {}
            }
        }
        if let Some(address) = address {
            self.places.add(address, bytes);
        }
    }

    pub(crate) fn instant(&mut self, name: &str, at: Picoseconds, values: &[(&str, Value)]) {
        let kind = self.kind(name);
        self.kinds[kind].add(at, at);
        self.marks.add(at, kind, values);
    }

    /// The index of a name among the kinds.
    fn kind(&mut self, name: &str) -> usize {
        let known = self.kinds.iter().position(|kind| kind.name == name);
        known.unwrap_or_else(|| {
            if self.kinds.len() <= KINDS {
                let name = match self.kinds.len() == KINDS {
                    true => "other",
                    false => name,
                };
                self.kinds.push(Kind::new(name));
            }
            self.kinds.len() - 1
        })
    }
}

/// Slices or instants of one name.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Name of the slices.
    pub name: String,
    /// Their starts over time.
    pub begins: Counts,
    /// Their lengths.
    pub lengths: Lengths,
}

impl Kind {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            begins: Counts::default(),
            lengths: Lengths::default(),
        }
    }

    fn add(&mut self, from: Picoseconds, to: Picoseconds) {
        self.begins.add(from);
        self.lengths.add(to - from);
    }
}

/// A span of time, busy throughout, or in part if neighbours were merged.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: u64,
    to: u64,
    busy: u64,
}

impl Span {
    /// Busy picoseconds between two times, assumed uniform within the span.
    fn between(&self, from: u64, to: u64) -> f64 {
        let (from, to) = (from.max(self.from), to.min(self.to));
        if from >= to {
            return 0.0;
        }
        self.busy as f64 * (to - from) as f64 / (self.to - self.from) as f64
    }
}

/// Busy times of a track.
#[derive(Clone, Debug, Default)]
pub struct Busy {
    /// Spans in order of time.
    spans: Vec<Span>,
    /// Neighbours closer than this many picoseconds may have been merged.
    grain: u64,
}

impl Busy {
    /// Adds a span. Cheapest if spans are added in the order of their ends.
    fn add(&mut self, from: Picoseconds, to: Picoseconds) {
        let mut new = Span {
            from: from.get(),
            to: to.get().max(from.get()),
            busy: 0,
        };
        new.busy = new.to - new.from;
        if new.busy == 0 {
            return;
        }
        let first = self.spans.partition_point(|span| span.to <= new.from);
        let met = self.spans[first..].partition_point(|span| span.from < new.to);
        let met = first..first + met;
        for span in &self.spans[met.clone()] {
            // The whole new span, and the parts of the old ones before and after it.
            let outside = span.between(0, new.from) + span.between(new.to, u64::MAX);
            new.busy += outside.round() as u64;
        }
        if let (Some(one), Some(other)) = (
            self.spans[met.clone()].first(),
            self.spans[met.clone()].last(),
        ) {
            (new.from, new.to) = (new.from.min(one.from), new.to.max(other.to));
        }
        self.spans.splice(met, [new]);
        while self.spans.len() > SPANS {
            self.grain = (self.grain * 2).max(1000);
            self.join();
        }
    }

    /// Merges neighbours within a grain.
    fn join(&mut self) {
        let mut joined: Vec<Span> = Vec::with_capacity(SPANS);
        for span in self.spans.drain(..) {
            match joined.last_mut() {
                Some(last) if span.to - last.from <= self.grain => {
                    last.to = span.to;
                    last.busy += span.busy;
                }
                _ => joined.push(span),
            }
        }
        self.spans = joined;
    }

    /// Total busy time.
    pub fn total(&self) -> Picoseconds {
        Picoseconds::new(self.spans.iter().map(|span| span.busy).sum())
    }

    /// End of the last span.
    pub fn end(&self) -> Picoseconds {
        Picoseconds::new(self.spans.last().map_or(0, |span| span.to))
    }

    /// For each of `parts` equal parts of the time up to `end`, the share that was busy, 0 to 1.
    pub fn shares(&self, end: Picoseconds, parts: usize) -> Vec<f64> {
        let end = end.get().max(1);
        let edge = |part: usize| (u128::from(end) * part as u128 / parts.max(1) as u128) as u64;
        let mut shares = vec![0.0; parts];
        let mut first = 0;
        for span in &self.spans {
            while first < parts && edge(first + 1) <= span.from {
                first += 1;
            }
            for (part, share) in shares.iter_mut().enumerate().skip(first) {
                let (from, to) = (edge(part), edge(part + 1));
                if from >= span.to {
                    break;
                }
                *share += span.between(from, to) / (to - from).max(1) as f64;
            }
        }
        shares.iter().map(|share| share.clamp(0.0, 1.0)).collect()
    }

    /// Time in which both were busy, and the union.
    fn with(&self, other: &Self) -> (f64, Self) {
        let mut both = 0.0;
        let mut place = 0;
        for span in &self.spans {
            while other.spans.get(place).is_some_and(|o| o.to <= span.from) {
                place += 1;
            }
            for met in other.spans[place..].iter().take_while(|o| o.from < span.to) {
                let (from, to) = (span.from.max(met.from), span.to.min(met.to));
                let length = (to - from).max(1) as f64;
                both += span.between(from, to) * met.between(from, to) / length;
            }
        }
        let mut all: Vec<Span> = self.spans.iter().chain(&other.spans).copied().collect();
        all.sort_by_key(|span| span.to);
        let mut either = Self::default();
        for span in all {
            // Treated as busy throughout: exact until spans are merged.
            either.add(Picoseconds::new(span.from), Picoseconds::new(span.to));
        }
        (both, either)
    }

    /// Time in which both were busy.
    pub fn overlap(&self, other: &Self) -> Picoseconds {
        Picoseconds::new(self.with(other).0.round() as u64)
    }

    /// Times in which both were busy.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut both = Self::default();
        let mut place = 0;
        for span in &self.spans {
            while other.spans.get(place).is_some_and(|o| o.to <= span.from) {
                place += 1;
            }
            for met in other.spans[place..].iter().take_while(|o| o.from < span.to) {
                let (from, to) = (span.from.max(met.from), span.to.min(met.to));
                let length = (to - from).max(1) as f64;
                let busy = span.between(from, to) * met.between(from, to) / length;
                let busy = busy.round() as u64;
                both.spans.push(Span { from, to, busy });
            }
        }
        both
    }

    /// Times in which at least one was busy.
    pub fn or(&self, other: &Self) -> Self {
        self.with(other).1
    }
}

/// Number of events over time.
#[derive(Clone, Debug)]
pub struct Counts {
    width: u64,
    counts: Vec<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            width: 1000,
            counts: vec![0; PIECES],
        }
    }
}

impl Counts {
    fn add(&mut self, at: Picoseconds) {
        while at.get() / self.width >= PIECES as u64 {
            for place in 0..PIECES {
                let pair = |at: usize| self.counts.get(at).copied().unwrap_or(0);
                self.counts[place] = pair(2 * place) + pair(2 * place + 1);
            }
            self.width = self.width.saturating_mul(2);
        }
        self.counts[(at.get() / self.width) as usize] += 1;
    }

    /// Total number.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// For each of `parts` equal parts of the time up to `end`, the number of events; later ones count in the last
    /// part.
    pub fn parts(&self, end: Picoseconds, parts: usize) -> Vec<u64> {
        let mut found = vec![0; parts];
        let Some(last) = parts.checked_sub(1) else {
            return found;
        };
        for (place, count) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let middle = u128::from(self.width) * (2 * place as u128 + 1) / 2;
            let part = middle * parts as u128 / u128::from(end.get().max(1));
            found[(part as usize).min(last)] += count;
        }
        found
    }
}

/// Distribution of durations, within 12.5 %.
#[derive(Clone, Debug, Default)]
pub struct Lengths {
    buckets: BTreeMap<u32, u64>,
    count: u64,
    longest: u64,
}

impl Lengths {
    fn add(&mut self, length: Picoseconds) {
        let length = length.get();
        // The octave, and the next three bits.
        let octave = 64 - length.leading_zeros();
        let bucket = match octave {
            0..=3 => length as u32,
            _ => octave * 8 + ((length >> (octave - 4)) & 7) as u32,
        };
        *self.buckets.entry(bucket).or_default() += 1;
        self.count += 1;
        self.longest = self.longest.max(length);
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest duration.
    pub fn longest(&self) -> Picoseconds {
        Picoseconds::new(self.longest)
    }

    /// The duration that this share of them, 0 to 1, does not exceed.
    pub fn quantile(&self, share: f64) -> Picoseconds {
        let wanted = (share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                let most = match bucket / 8 {
                    0..=3 => u64::from(*bucket),
                    octave => (((8 + u64::from(bucket % 8)) + 1) << (octave - 4)) - 1,
                };
                return Picoseconds::new(most.min(self.longest));
            }
        }
        self.longest()
    }
}

/// Accesses to a range of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Number of slices.
    pub slices: u64,
    /// Bytes of those slices.
    pub bytes: u64,
}

/// Slices by address.
#[derive(Clone, Debug)]
pub struct Places {
    /// log2 of the block size in bytes.
    shift: u32,
    blocks: HashMap<u64, Touched>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            shift: FINEST,
            blocks: HashMap::new(),
        }
    }
}

impl Places {
    fn add(&mut self, address: u64, bytes: u64) {
        let touched = self.blocks.entry(address >> self.shift).or_default();
        touched.slices += 1;
        touched.bytes += bytes;
        while self.blocks.len() > BLOCKS {
            self.shift += 1;
            for (block, touched) in std::mem::take(&mut self.blocks) {
                let wider = self.blocks.entry(block >> 1).or_default();
                wider.slices += touched.slices;
                wider.bytes += touched.bytes;
            }
        }
    }

    /// Address resolution in bytes: 4096, and more after very many.
    pub fn grain(&self) -> u64 {
        1 << self.shift
    }

    /// Accesses to each of `cells` cells of `cell` bytes from `from` on, in order. A block larger than a cell counts in
    /// the cell of its start.
    pub fn cells(&self, from: u64, cell: u64, cells: usize) -> Vec<Touched> {
        let mut found = vec![Touched::default(); cells];
        for (block, touched) in &self.blocks {
            let address = block << self.shift;
            if address | (self.grain() - 1) < from {
                continue;
            }
            // The first block may begin before the range.
            let place = usize::try_from(address.saturating_sub(from) / cell.max(1));
            if let Some(entry) = place.ok().and_then(|place| found.get_mut(place)) {
                entry.slices += touched.slices;
                entry.bytes += touched.bytes;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ps(picoseconds: u64) -> Picoseconds {
        Picoseconds::new(picoseconds)
    }

    /// Deterministic pseudo-random numbers.
    fn noise(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        }
    }

    #[test]
    fn busy_is_what_a_list_of_all_picoseconds_says() {
        for seed in 0..200 {
            let mut random = noise(seed);
            let mut slices: Vec<(u64, u64)> = (0..20)
                .map(|_| {
                    let from = random(200);
                    (from, from + random(30))
                })
                .collect();
            // In the order of their ends, as a card reports them, and in any order.
            if seed % 2 == 0 {
                slices.sort_by_key(|slice| slice.1);
            }
            let (half, rest) = slices.split_at(10);
            let of = |slices: &[(u64, u64)]| {
                let mut busy = Busy::default();
                slices.iter().for_each(|s| busy.add(ps(s.0), ps(s.1)));
                busy
            };
            let at = |slices: &[(u64, u64)], now: u64| {
                slices.iter().any(|(from, to)| (*from..*to).contains(&now))
            };
            let count = |test: &dyn Fn(u64) -> bool| (0..240).filter(|now| test(*now)).count();
            let all = of(&slices);
            assert_eq!(all.total().get() as usize, count(&|now| at(&slices, now)));
            let (one, two) = (of(half), of(rest));
            let both = count(&|now| at(half, now) && at(rest, now));
            assert_eq!(one.overlap(&two).get() as usize, both);
            assert_eq!(one.and(&two).total().get() as usize, both);
            let within = one.and(&two).or(&one);
            assert_eq!(within.total(), one.total());
            assert_eq!(one.or(&two).total(), all.total());
            let shares = all.shares(ps(240), 24);
            for (part, share) in shares.iter().enumerate() {
                let from = 10 * part as u64;
                let busy = (from..from + 10).filter(|now| at(&slices, *now)).count();
                assert!((share * 10.0 - busy as f64).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn busy_stays_small_and_keeps_its_sum() {
        let mut busy = Busy::default();
        for number in 0..1_000_000 {
            busy.add(ps(number * 1000), ps(number * 1000 + 250));
        }
        assert!(busy.spans.len() <= SPANS);
        assert_eq!(busy.total().get(), 250_000_000);
        let shares = busy.shares(ps(1_000_000_000), 100);
        assert!(shares.iter().all(|share| (share - 0.25).abs() < 0.01));
        // A span of the whole time covers the earlier ones.
        busy.add(ps(500_000_000), ps(1_000_000_000));
        let total = busy.total().get() as i64;
        assert!((total - 625_000_000).abs() < 1_000_000, "{total}");
    }

    #[test]
    fn counts_keep_their_sum_over_any_time() {
        let mut counts = Counts::default();
        for number in 0..10_000 {
            counts.add(ps(number * 1_000_000));
        }
        assert_eq!(counts.total(), 10_000);
        let parts = counts.parts(ps(10_000_000_000), 10);
        assert_eq!(parts.iter().sum::<u64>(), 10_000);
        assert!(
            parts.iter().all(|part| part.abs_diff(1000) < 40),
            "{parts:?}"
        );
        counts.add(Picoseconds::MAX);
        assert_eq!(counts.total(), 10_001);
        assert_eq!(counts.parts(ps(0), 0), []);
    }

    #[test]
    fn quantiles_are_within_an_eighth() {
        let mut lengths = Lengths::default();
        for number in 1..=100_000 {
            lengths.add(ps(number * 10));
        }
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0), (0.001, 1_000.0)] {
            let found = lengths.quantile(share).get() as f64;
            assert!(found >= exact && found < exact * 1.13, "{share}: {found}");
        }
        assert_eq!(lengths.quantile(1.0), lengths.longest());
        assert_eq!(Lengths::default().quantile(0.5).get(), 0);
        for small in [0, 1, 7, 8, 9, 15, 16] {
            let mut one = Lengths::default();
            one.add(ps(small));
            assert_eq!(one.quantile(0.5).get(), small);
        }
    }

    #[test]
    fn places_get_coarser_and_lose_nothing() {
        let mut places = Places::default();
        let base = 0x1_0000_0000;
        for block in 0..200_000u64 {
            places.add(base + block * 4096 + 64, 64);
        }
        assert_eq!(places.grain(), 16384);
        let cells = places.cells(base, 200_000 * 4096 / 10, 10);
        assert_eq!(cells.iter().map(|cell| cell.slices).sum::<u64>(), 200_000);
        assert!(cells.iter().all(|cell| cell.slices.abs_diff(20_000) < 8));
        assert_eq!(cells[0].bytes, cells[0].slices * 64);
        let elsewhere = places.cells(base - (1 << 30), 4096, 1000);
        assert!(elsewhere.iter().all(|cell| cell.slices == 0));
    }

    #[test]
    fn many_names_are_counted_together() {
        let mut track = TrackRecord::new("t".to_owned());
        for number in 0..1000 {
            track.instant(&format!("name {number}"), ps(number), &[]);
        }
        assert_eq!(track.kinds.len(), KINDS + 1);
        assert_eq!(track.kinds[KINDS].name, "other");
        let all: u64 = track.kinds.iter().map(|kind| kind.begins.total()).sum();
        assert_eq!(all, 1000);
    }
}
