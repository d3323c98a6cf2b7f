//! *Synthetic* graphs of FSRF's form for `kernels/triangles`: edges between random pairs, with an average degree of 20.
//! A run counts the triangles of some vertices, spread evenly over the graph, whose neighbours are distributed over all
//! of it.

use super::description::Data;
use super::workload::Seed;
use crate::random::Random;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Bytes per word, and words per vertex: a count, and ten neighbours, the average number of later neighbours of a
/// vertex.
const WORD: u64 = 4;
const VERTEX_WORDS: u64 = 11;
const DEGREE: f64 = 20.0;
/// Bytes accessed per vertex in the paper's accounting: throughput times runtime is 46.2 times the set in each cell of
/// its table 2, with 44 bytes per vertex.
const VERTEX_ACCESSED: u64 = 2033;
/// Minimum number of vertices of a graph, and of a sample.
const LEAST: u64 = 32;
/// Arrays are page-aligned, like files.
const PAGE: u64 = 4096;
const GRAPH_SEED: u64 = 1;

/// Cache of images: a cell requests the same one several times.
static MADE: LazyLock<Mutex<BTreeMap<TriangleSizes, Arc<Image>>>> = LazyLock::new(Mutex::default);

/// Numbers of vertices of a graph and of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TriangleSizes {
    vertices: u64,
    /// Vertices of the measured run, and of the run after it.
    measured: u64,
    warm_up: u64,
}

/// A graph followed by its samples, in memory layout.
#[derive(Debug, PartialEq)]
pub(super) struct Image {
    pub(super) words: Vec<u32>,
    /// Size of the graph in words.
    pub(super) graph_words: u64,
    /// First byte and number of words of each run's sample.
    samples: [(u64, u64); 3],
}

impl TriangleSizes {
    /// From a workload's data; `accessed` is the number of bytes accessed in the measured run.
    pub(super) fn of(data: &Data, accessed: u64) -> Result<Self, String> {
        let vertices = data.set_bytes / (WORD * VERTEX_WORDS);
        let of_sample = |bytes: u64| {
            match (bytes % VERTEX_ACCESSED, bytes / VERTEX_ACCESSED) {
            (0, count) if (LEAST..=vertices / 4).contains(&count) => Ok(count),
            _ => Err(format!(
                "{bytes} accessed bytes are no multiple of {VERTEX_ACCESSED}, fewer than {LEAST} vertices, or more than a quarter of {vertices}"
            )),
        }
        };
        if !(LEAST..=u64::from(u32::MAX) / VERTEX_WORDS / 2).contains(&vertices) {
            return Err(format!("{} bytes hold no such graph", data.set_bytes));
        }
        Ok(Self {
            vertices,
            measured: of_sample(accessed)?,
            warm_up: data.warm_up_bytes().map_or(Ok(0), of_sample)?,
        })
    }

    /// The graph, with the records of each run's vertices.
    pub(super) fn image(self) -> Arc<Image> {
        // Entries are complete even if a thread has panicked.
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let image = made.entry(self).or_insert_with(|| Arc::new(self.make()));
        Arc::clone(image)
    }

    fn make(self) -> Image {
        let mut random = Random(GRAPH_SEED);
        let count = self.vertices as usize;
        // Later neighbours of each vertex: the share of the total degree that the rest of the graph allows.
        let lengths: Vec<usize> = (0..count)
            .map(|vertex| {
                let behind = count - vertex - 1;
                poisson(&mut random, DEGREE * behind as f64 / count as f64).min(behind)
            })
            .collect();
        let places: Vec<usize> = lengths
            .iter()
            .scan(0, |at, length| {
                let place = *at;
                *at += 1 + length;
                Some(place)
            })
            .collect();
        let mut words = Vec::new();
        for (vertex, &length) in lengths.iter().enumerate() {
            words.push(length as u32);
            let behind = (count - vertex - 1) as u64;
            let mut neighbours: Vec<u32> = (0..length)
                .map(|_| places[vertex + 1 + random.below(behind) as usize] as u32)
                .collect();
            neighbours.sort_unstable();
            words.append(&mut neighbours);
        }
        let graph_words = words.len() as u64;
        let mut samples = [(0, 0); 3];
        // Vertices of the samples are interleaved.
        let of_runs = [(self.warm_up, 1), (self.measured, 2), (self.measured, 3)];
        for (sample, (size, quarter)) in samples.iter_mut().zip(of_runs) {
            words.resize(words.len().next_multiple_of((PAGE / WORD) as usize), 0);
            let begin = words.len();
            for number in 0..size {
                let vertex = (4 * number + quarter) * self.vertices / (4 * size);
                let (place, length) = (places[vertex as usize], lengths[vertex as usize]);
                words.extend_from_within(place..place + 1 + length);
            }
            *sample = (begin as u64 * WORD, (words.len() - begin) as u64);
        }
        words.resize(words.len().next_multiple_of((PAGE / WORD) as usize), 0);
        Image {
            words,
            graph_words,
            samples,
        }
    }
}

impl Image {
    /// First byte and number of words of a run's records.
    pub(super) fn sample(&self, seed: Seed) -> (u64, u64) {
        self.samples[match seed {
            Seed::WarmUp => 0,
            Seed::Measured => 1,
            Seed::After => 2,
        }]
    }

    pub(super) fn bytes(&self) -> u64 {
        self.words.len() as u64 * WORD
    }
}

/// A Poisson-distributed number of events.
fn poisson(random: &mut Random, mean: f64) -> usize {
    let (mut count, mut sum) = (0, random.exponential());
    while sum < mean {
        count += 1;
        sum += random.exponential();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(set: u64) -> Data {
        let text = format!("set_bytes = {set}\naccessed_bytes = 406600\nwarm_up_bytes = 203300");
        toml::from_str(&text).unwrap()
    }

    /// The records in `words`, as a kernel parses them.
    fn records(words: &[u32]) -> Vec<&[u32]> {
        let mut rest = words;
        let mut found = Vec::new();
        while let Some((&length, behind)) = rest.split_first() {
            let (record, next) = behind.split_at(length as usize);
            found.push(record);
            rest = next;
        }
        found
    }

    /// The published degree, size and number of triangles; every neighbour is the position of a later record.
    #[test]
    fn graphs_have_the_papers_form() {
        let image = TriangleSizes::of(&data(524_288), 406_600).unwrap().image();
        let again = TriangleSizes::of(&data(524_288), 406_600).unwrap().make();
        assert_eq!(*image, again);
        let graph = &image.words[..image.graph_words as usize];
        let of = records(graph);
        let edges: usize = of.iter().map(|record| record.len()).sum();
        assert!((2.0 * edges as f64 / of.len() as f64 - 20.0).abs() < 0.3);
        assert!((4.0 * graph.len() as f64 / 524_288.0 - 1.0).abs() < 0.01);
        let mut at = 0;
        let mut triangles = 0;
        let at_place = |place: u32| {
            let begin = place as usize + 1;
            &graph[begin..begin + graph[place as usize] as usize]
        };
        for record in &of {
            assert!(record.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(record.iter().all(|&place| place > at));
            for (number, &place) in record.iter().enumerate() {
                let theirs = at_place(place);
                let both = |one: &&u32| theirs.contains(one);
                triangles += record[number + 1..].iter().filter(both).count();
            }
            at += 1 + record.len() as u32;
        }
        assert!((1100..1600).contains(&triangles), "{triangles}");
    }

    /// Samples are records of the graph, of the requested number of vertices, with its degree.
    #[test]
    fn samples_are_of_the_whole_graph() {
        let image = TriangleSizes::of(&data(4 << 20), 406_600).unwrap().image();
        for (seed, count) in [
            (Seed::WarmUp, 100),
            (Seed::Measured, 200),
            (Seed::After, 200),
        ] {
            let (begin, words) = image.sample(seed);
            assert_eq!(begin % PAGE, 0);
            let begin = (begin / WORD) as usize;
            let of = records(&image.words[begin..begin + words as usize]);
            assert_eq!(of.len(), count, "{seed:?}");
            let edges: usize = of.iter().map(|record| record.len()).sum();
            assert!((edges as f64 / count as f64 - 10.0).abs() < 1.0, "{edges}");
            assert!(begin as u64 * WORD + words * WORD <= image.bytes());
        }
        assert_ne!(image.sample(Seed::Measured), image.sample(Seed::After));
    }

    #[test]
    fn sizes_that_no_graph_has_are_refused() {
        assert!(TriangleSizes::of(&data(524_288), 406_601).is_err());
        assert!(TriangleSizes::of(&data(524_288), 2033).is_err());
        assert!(TriangleSizes::of(&data(32_768), 406_600).is_err());
        assert!(TriangleSizes::of(&data(1 << 40), 406_600).is_err());
    }
}
