//! The reference models against oracles of their own, paged in on demand, in many orders.

use crate::bench::{config, entry, frame_at, Bench, FIRST_FRAME};
use proptest::prelude::*;
use std::collections::HashMap;
use units::Fault;
use units::{Operation, PageEntry, PageSize, Stripe};

const SIZE: PageSize = PageSize::KIB_4;
const BASE: u64 = 0x7_0000_0000;

/// A host that pages a buffer of bytes in on demand, a frame a page.
struct DemandPager {
    frames: HashMap<u64, u32>,
    contents: Vec<u8>,
}

impl DemandPager {
    fn new(mut contents: Vec<u8>) -> Self {
        contents.resize(contents.len().next_multiple_of(4096), 0);
        Self {
            frames: HashMap::new(),
            contents,
        }
    }

    fn serve(&mut self, bench: &mut Bench, fault: Fault) {
        let page = fault.address.page_base(SIZE);
        let index = ((page.get() - BASE) / 4096) as usize;
        let next = FIRST_FRAME + self.frames.len() as u32;
        let frame = *self.frames.entry(page.get()).or_insert(next);
        // A page that was read comes again for writing: it has its data already.
        let entry = PageEntry {
            dirty: fault.write,
            accessed: true,
            ..entry(frame, SIZE)
        };
        if frame == next {
            let at = 4096 * index;
            bench.host.write(at, &self.contents[at..at + 4096]).unwrap();
            let operation = Operation::CopyIn {
                from: bench.host_at.offset(at as u64),
                to: frame_at(frame),
                bytes: 4096,
                stripe: Stripe::NONE,
            };
            bench.submit(operation, false, false);
        }
        let install = Operation::Install {
            asid: fault.asid,
            address: page,
            entry,
        };
        bench.submit(install, true, false);
        bench.reply(fault.token, Some(entry));
    }

    /// Current contents of the pages.
    fn collect(&mut self, bench: &mut Bench) -> Vec<u8> {
        for (&page, &frame) in &self.frames {
            let at = (page - BASE) as usize;
            self.contents[at..at + 4096].copy_from_slice(&bench.get(frame_at(frame), 4096));
        }
        std::mem::take(&mut self.contents)
    }
}

fn pattern(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes)
        .map(|i| ((i + salt).wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

/// Runs a kernel over `memory` (at `BASE`) and gives back what it left there. The seed also picks how
/// the space is striped.
fn run(kernel: &str, seed: Option<u64>, memory: Vec<u8>, arguments: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bench = Bench::with_kernel(config(seed), kernel);
    let granules = [64, 1 << 10, 4 << 10, 64 << 10, 4 << 20];
    if let Some(granule) = seed.and_then(|seed| granules.get(seed as usize % 6)) {
        bench.set_stripe(Stripe::new(*granule, 2).unwrap());
    }
    let length = memory.len();
    let mut pager = DemandPager::new(memory);
    for (name, value) in arguments {
        bench.set(name, value);
    }
    bench.start();
    bench.finish(|bench, fault| pager.serve(bench, fault));
    let mut memory = pager.collect(&mut bench);
    memory.truncate(length);
    memory
}

fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn address(offset: usize) -> Vec<u8> {
    number(BASE + offset as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn copy_copies(
        seed in any::<Option<u64>>(),
        bytes in prop_oneof![0usize..200, 4000usize..4200, 0usize..100_000],
        from in 0usize..64,
        to in 0usize..64,
    ) {
        let (from, to) = (64 * from, 64 * to + 112 * 1024);
        let memory = pattern(224 * 1024, bytes);
        let mut expected = memory.clone();
        expected.copy_within(from..from + bytes, to);
        let arguments = [
            ("input", address(from)),
            ("output", address(to)),
            ("bytes", number(bytes as u64)),
        ];
        prop_assert!(run("copy", seed, memory, &arguments) == expected);
    }

    #[test]
    fn vadd_adds(
        seed in any::<Option<u64>>(),
        length in prop_oneof![0usize..40, 1000usize..1050, 0usize..15_000],
        offsets in [0usize..64, 0usize..64, 0usize..64],
    ) {
        let [a, b, c] = [0, 1, 2].map(|i| 64 * offsets[i] + i * 65 * 1024);
        let memory = pattern(200 * 1024, length);
        let mut expected = memory.clone();
        for i in (0..length).map(|i| 4 * i) {
            let word = |at: usize| i32::from_le_bytes(memory[at..at + 4].try_into().unwrap());
            let sum = word(a + i).wrapping_add(word(b + i));
            expected[c + i..c + i + 4].copy_from_slice(&sum.to_le_bytes());
        }
        let arguments = [
            ("a", address(a)),
            ("b", address(b)),
            ("c", address(c)),
            ("length", number(length as u64)),
        ];
        prop_assert!(run("vadd", seed, memory, &arguments) == expected);
    }

    /// Encrypting twice restores the plain text, and neighbouring bytes are unchanged.
    #[test]
    fn aes_undoes_itself(seed in any::<Option<u64>>(), bytes in 0usize..20_000, salt in 0usize..9) {
        let memory = pattern(64 * 1024, salt);
        let to = 32 * 1024;
        let once = [
            ("input", address(0)),
            ("output", address(to)),
            ("bytes", number(bytes as u64)),
            ("key", pattern(32, salt)),
            ("iv", vec![0xff; 16]),
        ];
        let mut twice = once.clone();
        twice[0].1 = address(to);
        let first = run("aes256ctr", seed, memory.clone(), &once);
        let second = run("aes256ctr", seed, first.clone(), &twice);
        prop_assert!(first[..to] == memory[..to]);
        prop_assert!(bytes < 16 || first[to..to + bytes] != memory[..bytes]);
        prop_assert!(second[to..to + bytes] == memory[..bytes]);
        prop_assert!(second[to + bytes..] == memory[to + bytes..]);
    }
}

/// The table that HPCC's RandomAccess leaves, from its definition.
fn random_access(table: &mut [u64], seed: u64, updates: u64) {
    let mut x = seed as i64;
    for _ in 0..updates {
        x = x.wrapping_mul(2) ^ if x < 0 { 7 } else { 0 };
        let word = x as u64 as usize % table.len();
        table[word] ^= x as u64;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn gups_updates_as_defined(
        order in any::<Option<u64>>(),
        words_log2 in 0u32..13,
        updates in 0u64..400,
        seed in any::<u64>(),
        at in 0usize..64,
    ) {
        let (at, bytes) = (64 * at, 8usize << words_log2);
        let memory = pattern(64 * 1024, words_log2 as usize);
        let mut expected = memory.clone();
        let words = expected[at..at + bytes].chunks(8);
        let mut table: Vec<u64> = words.map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
        random_access(&mut table, seed, updates);
        for (to, word) in expected[at..at + bytes].chunks_mut(8).zip(table) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let arguments = [
            ("table", address(at)),
            ("words_log2", number(words_log2.into())),
            ("updates", number(updates)),
            ("seed", number(seed)),
        ];
        prop_assert!(run("gups", order, memory, &arguments) == expected);
    }
}

/// Contents of `next` and `output` after an iteration of PageRank, from its definition.
fn page_rank(records: &[[u64; 2]], edges: &[u64], weights: &[u64], given: &[u64; 3]) -> Vec<u64> {
    let [base, damping, ranks] = *given;
    let mut rest = edges.iter();
    let mut next = Vec::new();
    let mut report = [0u64, 0, edges.len() as u64, 0, 0, 0, 0, 0];
    for &[incoming, outgoing] in records {
        let mine = rest.by_ref().take(incoming.min(1 << 20) as usize);
        let found = mine.map(|&source| weights.get(source as usize).copied().unwrap_or(0));
        let sum = found.fold(0, u64::wrapping_add);
        let share = (u128::from(sum) * u128::from(damping)) / (1 << 32);
        let rank = base.wrapping_add(share as u64);
        report[1] = report[1].wrapping_add(rank);
        report[3] = report[3].wrapping_add(incoming);
        if outgoing == 0 {
            report[0] = report[0].wrapping_add(rank);
        }
        next.push(if ranks == 1 || outgoing == 0 {
            rank
        } else {
            rank / outgoing
        });
    }
    report[4] = edges
        .iter()
        .filter(|&&source| source >= weights.len() as u64)
        .count() as u64;
    next.extend(report);
    next
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Numbers of a graph, and numbers that are none's: counts that ask for too much, sources that are not there.
    #[test]
    fn pgrnk_ranks_as_defined(
        order in any::<Option<u64>>(),
        records in prop::collection::vec(
            prop_oneof![
                9 => [0u64..5, 0u64..4],
                1 => [any::<u64>(), any::<u64>()],
            ],
            0..40,
        ),
        edges in prop::collection::vec(prop_oneof![9 => 0u64..30, 1 => any::<u64>()], 0..90),
        weights in prop::collection::vec(any::<u64>(), 1..40),
        given in (any::<u64>(), any::<u32>(), 0u64..2),
    ) {
        let given = [given.0, given.1.into(), given.2];
        let memory = pattern(32 * 1024, edges.len());
        let bytes = |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
        let mut before = memory.clone();
        let (at, flat) = ([64, 4096 - 64, 8192 + 128, 12288, 20480], records.concat());
        for (at, words) in at.iter().zip([&flat, &edges, &weights]) {
            before[*at..at + 8 * words.len()].copy_from_slice(&bytes(words));
        }
        let mut expected = before.clone();
        let left = page_rank(&records, &edges, &weights, &given);
        let (next, report) = left.split_at(records.len());
        expected[at[3]..at[3] + 8 * next.len()].copy_from_slice(&bytes(next));
        expected[at[4]..at[4] + 64].copy_from_slice(&bytes(report));
        let arguments = [
            ("records", address(at[0])),
            ("edge_sources", address(at[1])),
            ("weights", address(at[2])),
            ("next", address(at[3])),
            ("output", address(at[4])),
            ("vertices", number(records.len() as u64)),
            ("edges", number(edges.len() as u64)),
            ("sources", number(weights.len() as u64)),
            ("base", number(given[0])),
            ("damping", (given[1] as u32).to_le_bytes().to_vec()),
            ("ranks", (given[2] as u32).to_le_bytes().to_vec()),
            ("pause", number(0)),
        ];
        prop_assert!(run("pgrnk", order, before, &arguments) == expected);
    }
}

/// Result of a run of `triangles`, from its definition.
fn triangles(records: &[u32], graph: &[u32]) -> [u64; 8] {
    let mut report = [0; 8];
    let mut rest = records;
    while let Some((&wanted, behind)) = rest.split_first() {
        let (list, next) = behind.split_at(behind.len().min(wanted as usize));
        rest = next;
        report[1] += 1;
        report[2] += list.len() as u64;
        report[4] += u64::from(wanted) - list.len() as u64;
        let record = |place: u32| {
            let (&count, behind) = graph.get(place as usize..)?.split_first()?;
            Some(&behind[..behind.len().min(count as usize)])
        };
        report[3] += list
            .iter()
            .filter(|&&place| record(place).is_none())
            .count() as u64;
        for (number, &place) in list.iter().enumerate() {
            let Some(theirs) = record(place) else {
                continue;
            };
            let (mut mine, mut theirs) = (&list[number + 1..], theirs);
            while let ([a, ..], [b, ..]) = (mine, theirs) {
                report[0] += u64::from(a == b);
                (mine, theirs) = (&mine[usize::from(a <= b)..], &theirs[usize::from(b <= a)..]);
            }
        }
    }
    report
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Lists in order and in none, counts that ask for too much, places that are not there.
    #[test]
    fn triangles_are_counted_as_defined(
        order in any::<Option<u64>>(),
        records in prop::collection::vec(
            prop_oneof![30 => 0u32..60, 1 => any::<u32>(), 1 => Just(u32::MAX)], 0..300,
        ),
        graph in prop::collection::vec(
            prop_oneof![30 => 0u32..60, 1 => any::<u32>(), 1 => Just(u32::MAX)], 0..900,
        ),
        sorted in any::<bool>(),
        under_way in 0u64..17,
    ) {
        let mut records = records;
        if sorted {
            records.chunks_mut(20).for_each(|list| {
                list.sort_unstable();
                list[0] = list.len() as u32 - 1;
            });
        }
        let mut before = pattern(32 * 1024, graph.len());
        let at = [64, 4096 - 64, 8192 + 128];
        for (at, words) in at.iter().zip([&records, &graph]) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            before[*at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let mut expected = before.clone();
        let report = triangles(&records, &graph);
        for (to, word) in expected[at[2]..].chunks_exact_mut(8).zip(report) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let arguments = [
            ("records", address(at[0])),
            ("graph", address(at[1])),
            ("output", address(at[2])),
            ("record_words", number(records.len() as u64)),
            ("graph_words", number(graph.len() as u64)),
            ("under_way", number(under_way)),
            ("pause", number(0)),
        ];
        prop_assert!(run("triangles", order, before, &arguments) == expected);
    }
}

/// Score of the global alignment of two sequences of 64 letters of 2 bits, from the whole matrix.
fn alignment_score(query: &[u8], target: &[u8]) -> i8 {
    let letter = |bytes: &[u8], k: usize| bytes[k / 4] >> (k % 4 * 2) & 3;
    let mut matrix = [[0i32; 65]; 65];
    for i in 0..65 {
        for j in 0..65 {
            let gap = -((i + j) as i32);
            matrix[i][j] = if i == 0 || j == 0 {
                gap
            } else {
                let equal = letter(query, i - 1) == letter(target, j - 1);
                let aligned = matrix[i - 1][j - 1] + if equal { 1 } else { -1 };
                aligned.max(matrix[i - 1][j] - 1).max(matrix[i][j - 1] - 1)
            };
        }
    }
    matrix[64][64] as i8
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Sequences at random, and bytes that make them alike; groups and rows that are not whole.
    #[test]
    fn nw_pairs_scores_as_defined(
        order in any::<Option<u64>>(),
        queries in prop::collection::vec(prop_oneof![any::<[u8; 16]>(), any::<u8>().prop_map(|b| [b; 16])], 0..7),
        targets in prop::collection::vec(prop_oneof![any::<[u8; 16]>(), any::<u8>().prop_map(|b| [b; 16])], 0..20),
        held_log2 in 0u64..4,
        pause in 0u64..16,
    ) {
        let mut before = pattern(16 * 1024, targets.len());
        let at = [64, 4096 - 64, 8192 + 128];
        for (at, sequences) in at.iter().zip([&queries, &targets]) {
            let bytes = sequences.concat();
            before[*at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let mut expected = before.clone();
        let mut scores = Vec::new();
        for group in queries.chunks(1 << held_log2.min(2)) {
            for target in &targets {
                scores.extend(group.iter().map(|query| alignment_score(query, target) as u8));
            }
        }
        expected[at[2]..at[2] + scores.len()].copy_from_slice(&scores);
        let arguments = [
            ("queries", address(at[0])),
            ("targets", address(at[1])),
            ("output", address(at[2])),
            ("query_count", number(queries.len() as u64)),
            ("target_count", number(targets.len() as u64)),
            ("held_log2", number(held_log2)),
            ("pause", number(pause)),
        ];
        prop_assert!(run("nw_pairs", order, before, &arguments) == expected);
    }
}

/// Motions of an image's tiles, from the definition: least squares over the gradients of each tile, in integers.
fn motions(width: usize, pixels: &[u8]) -> Vec<u8> {
    let height = pixels.len() / 8 / width;
    let grey = |y: usize, x: usize, frame: usize| i128::from(pixels[8 * (y * width + x) + frame]);
    let mut sums = vec![[0i128; 5]; width / 16 * (height / 16)];
    for (y, x) in (2..height - 2).flat_map(|y| (2..width - 2).map(move |x| (y, x))) {
        let gx =
            grey(y, x - 2, 2) - 8 * grey(y, x - 1, 2) + 8 * grey(y, x + 1, 2) - grey(y, x + 2, 2);
        let gy =
            grey(y - 2, x, 2) - 8 * grey(y - 1, x, 2) + 8 * grey(y + 1, x, 2) - grey(y + 2, x, 2);
        let gt = grey(y, x, 0) - 8 * grey(y, x, 1) + 8 * grey(y, x, 3) - grey(y, x, 4);
        let tile = &mut sums[y / 16 * (width / 16) + x / 16];
        for (sum, term) in tile
            .iter_mut()
            .zip([gx * gx, gx * gy, gy * gy, gx * gt, gy * gt])
        {
            *sum += term;
        }
    }
    let motion = |[xx, xy, yy, xt, yt]: [i128; 5]| {
        let determinant = xx * yy - xy * xy;
        [xy * yt - yy * xt, xy * xt - xx * yt].map(|numerator| match determinant {
            0 => i16::MIN,
            // Division of integers rounds towards zero.
            _ => (256 * numerator / determinant).clamp(-32767, 32767) as i16,
        })
    };
    let motions = sums.into_iter().flat_map(motion);
    motions.flat_map(i16::to_le_bytes).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Noise of few and of many greys; images without a tile.
    #[test]
    fn flow_moves_as_defined(
        order in any::<Option<u64>>(),
        tiles in (0u64..4, 0u64..3, 0u64..3),
        salt in any::<u64>(),
        mask in prop_oneof![Just(0xffu8), Just(0x80), Just(0x01), Just(0)],
    ) {
        let (tiles_x, tiles_y, images) = tiles;
        let size = (2048 * tiles_x * tiles_y) as usize;
        let (from, to) = (4096 - 64, 60 * 1024 + 128);
        let mut before = pattern(64 * 1024, 7);
        let mut random = numbers(salt);
        for byte in &mut before[from..from + size * images as usize] {
            *byte = random() as u8 & mask;
        }
        let mut expected = before.clone();
        let mut at = to;
        for image in before[from..from + size * images as usize].chunks(size.max(1)) {
            let found = motions(16 * tiles_x as usize, image);
            expected[at..at + found.len()].copy_from_slice(&found);
            at += found.len();
        }
        let arguments = [
            ("input", address(from)),
            ("output", address(to)),
            ("tiles_x", number(tiles_x)),
            ("tiles_y", number(tiles_y)),
            ("images", number(images)),
        ];
        prop_assert!(run("flow", order, before, &arguments) == expected);
    }
}

/// Class and margin of an image, from the definition: each layer whole, one after the other.
fn inferred(weights: &[u8], image: &[u8], shift: u64) -> [u8; 2] {
    let signed = |at: usize| i64::from(weights[at] as i8);
    let bias = |at: usize| i64::from(i32::from_le_bytes(weights[at..at + 4].try_into().unwrap()));
    let sum = |channel: usize, y: usize, x: usize| {
        let taps = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
        let taps = taps
            .map(|(i, j)| i64::from(image[8 * (y + i) + x + j]) * signed(16 * channel + 3 * i + j));
        bias(16 * channel + 12) + taps.sum::<i64>()
    };
    let mut scores: Vec<i64> = (0..10).map(|class| bias(128 + 4 * class)).collect();
    for (channel, y, x) in
        (0..8).flat_map(|c| (0..3).flat_map(move |y| (0..3).map(move |x| (c, y, x))))
    {
        let four = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let most = four.map(|(i, j)| sum(channel, 2 * y + i, 2 * x + j));
        let most = most.into_iter().max().unwrap().max(0);
        let activation = (most >> shift).min(255);
        for (class, score) in scores.iter_mut().enumerate() {
            *score += activation * signed(192 + 128 * (3 * y + x) + 8 * class + channel);
        }
    }
    let best = scores.iter().max().unwrap();
    let class = scores.iter().position(|score| score == best).unwrap();
    let others = scores.iter().enumerate().filter(|(k, _)| *k != class);
    let margin = best - others.map(|(_, score)| score).max().unwrap();
    [class as u8, (margin >> 6).min(255) as u8]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Any weights, biases within their limits; records with one image to more than their rows; none.
    #[test]
    fn dnn_infers_as_defined(
        order in any::<Option<u64>>(),
        records in 0u64..3,
        batch in prop_oneof![0u64..4, 30u64..35, 62u64..67],
        shift in 0u64..32,
        salt in any::<u64>(),
        bias_bits in 0u32..23,
    ) {
        let (weights, images, to) = (4096 - 128, 12 * 1024 + 64, 48 * 1024 - 64);
        let mut before = pattern(64 * 1024, 7);
        let mut random = numbers(salt);
        for byte in &mut before[..to] {
            *byte = random() as u8;
        }
        let biases = (0..8).map(|channel| 16 * channel + 12).chain((0..10).map(|class| 128 + 4 * class));
        for at in biases.map(|at| weights + at) {
            let bias = i32::from_le_bytes(before[at..at + 4].try_into().unwrap()) >> (31 - bias_bits);
            before[at..at + 4].copy_from_slice(&bias.to_le_bytes());
        }
        let mut expected = before.clone();
        let results = inferred_records(&before[images..], (records, batch), |image| {
            inferred(&before[weights..], image, shift).to_vec()
        });
        expected[to..to + results.len()].copy_from_slice(&results);
        let arguments = [
            ("weights", address(weights)),
            ("images", address(images)),
            ("output", address(to)),
            ("records", number(records)),
            ("batch", number(batch)),
            ("shift", number(shift)),
            ("pause", number(0)),
            ("in_turn", number(0)),
        ];
        prop_assert!(run("dnn", order, before, &arguments) == expected);
    }
}

/// Results of records of images, those of a record from a new row on: at most 64 images of a record are inferred.
fn inferred_records(
    images: &[u8],
    (records, batch): (u64, u64),
    infer: impl Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let mut results = Vec::new();
    for record in 0..records as usize {
        let rows = images[4096 * record..].chunks(64);
        results.extend(rows.take(batch.min(64) as usize).flat_map(&infer));
        results.resize(results.len().next_multiple_of(64), 0);
    }
    results
}

/// A subnormal number as 0 with its sign.
fn flushed(value: f32) -> f32 {
    if value != 0.0 && value.abs() < f32::MIN_POSITIVE {
        0.0_f32.copysign(value)
    } else {
        value
    }
}

/// Scores of an image in float32, from the definition: each layer whole, one after the other.
fn float_scores(weights: &[u8], image: &[u8]) -> Vec<f32> {
    let at = |row: usize, place: usize| {
        let at = 64 * row + 4 * place;
        flushed(f32::from_le_bytes(weights[at..at + 4].try_into().unwrap()))
    };
    let term = |sum: f32, a: f32, b: f32| flushed(sum + flushed(a * b));
    let square = |side: usize| (0..side).flat_map(move |y| (0..side).map(move |x| (y, x)));
    let sum = |channel: usize, y: usize, x: usize| {
        square(3)
            .enumerate()
            .fold(at(9, channel), |sum, (tap, (i, j))| {
                term(sum, f32::from(image[8 * (y + i) + x + j]), at(tap, channel))
            })
    };
    let sums: Vec<Vec<f32>> = (0..8)
        .map(|channel| square(6).map(|(y, x)| sum(channel, y, x)).collect())
        .collect();
    let mut scores: Vec<f32> = (0..10).map(|class| at(10, class)).collect();
    for (place, (y, x)) in square(3).enumerate() {
        for (channel, sums) in sums.iter().enumerate() {
            let most = square(2).map(|(i, j)| sums[6 * (2 * y + i) + 2 * x + j]);
            let most = most.fold(0.0, f32::max);
            for (class, score) in scores.iter_mut().enumerate() {
                *score = term(*score, most, at(11 + 8 * place + channel, class));
            }
        }
    }
    scores
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Any weights within 2^38 in magnitude, the smallest subnormal; records with one image to more than their rows; none.
    #[test]
    fn dnn_float_infers_as_defined(
        order in any::<Option<u64>>(),
        records in 0u64..3,
        batch in prop_oneof![0u64..4, 30u64..35, 62u64..67],
        scores in 0u64..2,
        salt in any::<u64>(),
        exponents in prop_oneof![Just((0u32, 166u32)), Just((100, 166)), Just((120, 130)), Just((0, 60))],
    ) {
        let (weights, images, to) = (4096 - 128, 12 * 1024 + 64, 48 * 1024 - 64);
        let mut before = pattern(64 * 1024, 7);
        let mut random = numbers(salt);
        for byte in &mut before[..to] {
            *byte = random() as u8;
        }
        for at in (weights..weights + 83 * 64).step_by(4) {
            let exponent = exponents.0 + random() % (exponents.1 - exponents.0);
            let number = random() & 0x807f_ffff | exponent << 23;
            before[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        let mut expected = before.clone();
        let results = inferred_records(&before[images..], (records, batch), |image| {
            let found = float_scores(&before[weights..], image);
            let best = found.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let class = found.iter().position(|score| *score == best).unwrap();
            if scores == 0 {
                let word = found[class].to_bits() >> 20 << 4 | class as u32;
                return word.to_le_bytes()[..2].to_vec();
            }
            let mut row: Vec<u8> = found.iter().flat_map(|score| score.to_le_bytes()).collect();
            row.extend((class as u32).to_le_bytes());
            row.resize(64, 0);
            row
        });
        expected[to..to + results.len()].copy_from_slice(&results);
        let arguments = [
            ("weights", address(weights)),
            ("images", address(images)),
            ("output", address(to)),
            ("records", number(records)),
            ("batch", number(batch)),
            ("scores", number(scores)),
        ];
        prop_assert!(run("dnn_float", order, before, &arguments) == expected);
    }
}

/// Random numbers of 32 bits, by Marsaglia's xorshift.
fn numbers(salt: u64) -> impl FnMut() -> u32 {
    let mut x = salt | 1;
    move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 24) as u32
    }
}

/// First bytes of a traffic kernel's bursts in a buffer of 128 rows: random ones by Marsaglia's xorshift.
fn burst_places(seed: u64, random: bool, bursts: usize, length: usize) -> Vec<usize> {
    let mut x = seed;
    let mut row = |n: usize| {
        for shift in [13, -7, 17] {
            x ^= if shift > 0 { x << shift } else { x >> -shift };
        }
        let row = if random {
            (x >> 16) as usize
        } else {
            n * length
        };
        row % 128 / length * length * 64
    };
    (0..bursts).map(&mut row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn traffic_goes_from_place_to_place(
        order in any::<Option<u64>>(),
        length_log2 in 0u32..7,
        bursts in 0usize..200,
        seed in 1u64..,
        random in 0u64..4,
    ) {
        let (length, size) = (1 << length_log2, 64usize << length_log2);
        let memory = pattern(64 * 1024, bursts);
        let (from, to) = (4096, 24 * 1024 + 8192);
        let mut expected = memory.clone();
        let reads = burst_places(seed, random & 1 == 1, bursts, length);
        let writes = burst_places(seed.rotate_left(32), random & 2 == 2, bursts, length);
        for (read, write) in reads.into_iter().zip(writes) {
            expected.copy_within(from + read..from + read + size, to + write);
        }
        let arguments = [
            ("input", address(from)),
            ("output", address(to)),
            ("bursts", number(bursts as u64)),
            ("length_log2", number(length_log2.into())),
            ("rows_log2", number(7)),
            ("seed", number(seed)),
            ("random", number(random)),
        ];
        prop_assert!(run("traffic", order, memory, &arguments) == expected);
    }
}

/// Result of a coreutils command for a message.
fn command_says(command: &str, message: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("message");
    std::fs::write(&path, message).unwrap();
    let output = std::process::Command::new(command).arg(&path).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let digits = text.split_whitespace().next().unwrap();
    let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Every lane's digest equals that of coreutils for its rows.
fn lanes_are_messages(kernel: &str, command: &str) {
    for (order, bytes, lanes) in [(None, 0, 1), (Some(1), 1000, 1), (Some(2), 9000, 3)] {
        let (at, to) = (4096, 32 * 1024);
        let memory = pattern(64 * 1024, bytes);
        let rows: Vec<&[u8]> = memory[at..at + bytes].chunks(64).collect();
        let messages = (0..lanes).map(|lane| rows.iter().skip(lane).step_by(lanes));
        let wanted: Vec<u8> = messages
            .flat_map(|rows| {
                command_says(
                    command,
                    &rows.copied().flatten().copied().collect::<Vec<_>>(),
                )
            })
            .collect();
        let mut expected = memory.clone();
        expected[to..to + wanted.len()].copy_from_slice(&wanted);
        let arguments = [
            ("input", address(at)),
            ("output", address(to)),
            ("bytes", number(bytes as u64)),
            ("lanes", number(lanes as u64)),
        ];
        assert!(
            run(kernel, order, memory, &arguments) == expected,
            "{bytes} bytes"
        );
    }
}

#[test]
fn md5_is_that_of_md5sum() {
    lanes_are_messages("md5", "md5sum");
}

#[test]
fn sha256_is_that_of_sha256sum() {
    lanes_are_messages("sha256", "sha256sum");
}

#[test]
fn sha256_hls_is_that_of_sha256sum() {
    lanes_are_messages("sha256_hls", "sha256sum");
}

/// The sketch of 5,000 numbers, each several times, estimates their count; the order of the numbers does not change a
/// sketch.
#[test]
fn hll_estimates_how_many_numbers_there_are() {
    let to = 160 * 1024;
    let sketch = |numbers: Vec<u64>| {
        let mut memory: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        memory.resize(to + 16384, 0);
        let arguments = [
            ("input", address(0)),
            ("output", address(to)),
            ("length", number(numbers.len() as u64)),
        ];
        run("hll", Some(3), memory, &arguments)[to..].to_vec()
    };
    let numbers = || (0..20_000u64).map(|n| (n % 5000).wrapping_mul(0x1234_5678_9abc_def1));
    let found = sketch(numbers().collect());
    let empty = found.iter().filter(|&&rank| rank == 0).count() as f64;
    let estimate = 16384.0 * (16384.0 / empty).ln();
    assert!((estimate - 5000.0).abs() < 150.0, "{estimate}");
    assert!(sketch(numbers().rev().collect()) == found);
    assert!(sketch(Vec::new()).iter().all(|&rank| rank == 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each pixel by the definition.
    #[test]
    fn conv_convolves(
        order in any::<Option<u64>>(),
        blocks in 1usize..4,
        lines in 0usize..70,
        weights in any::<[i8; 9]>(),
        shift in 0u32..12,
    ) {
        let (to, width) = (32 * 1024, 64 * blocks);
        let memory = pattern(64 * 1024, lines);
        let pixel = |y: usize, x: usize| match (1..=lines).contains(&y) && (1..=width).contains(&x) {
            true => i32::from(memory[(y - 1) * width + x - 1]),
            false => 0,
        };
        let mut expected = memory.clone();
        for (y, x) in (0..lines).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let products = (0..9).map(|n| i32::from(weights[n]) * pixel(y + n / 3, x + n % 3));
            expected[to + y * width + x] = (products.sum::<i32>() >> shift).clamp(0, 255) as u8;
        }
        let mut bytes = weights.map(|weight| weight as u8).to_vec();
        bytes.resize(12, 0xff);
        let arguments = [
            ("input", address(0)),
            ("output", address(to)),
            ("blocks", number(blocks as u64)),
            ("lines", number(lines as u64)),
            ("weights", bytes),
            ("shift", shift.to_le_bytes().to_vec()),
        ];
        prop_assert!(run("conv", order, memory, &arguments) == expected);
    }
}

/// NIST SP 800-38A, F.5.5: CTR-AES256.Encrypt.
#[test]
fn aes_gives_the_published_blocks() {
    let hex = |text: &str| -> Vec<u8> {
        let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect()
    };
    let plain = hex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
         30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    );
    let cipher = hex(
        "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
         2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
    );
    let arguments = [
        ("input", address(0)),
        ("output", address(4096)),
        ("bytes", number(64)),
        (
            "key",
            hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
        ),
        ("iv", hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")),
    ];
    let mut memory = vec![0; 8192];
    memory[..64].copy_from_slice(&plain);
    let after = run("aes256ctr", None, memory, &arguments);
    assert_eq!(after[4096..4160], cipher);
    assert!(after[4160..].iter().all(|&byte| byte == 0));
}
