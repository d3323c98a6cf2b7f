//! *Synthetic* graphs of published sizes for `kernels/pgrnk`, as `kernels/pgrnk/graph.py` makes them, or the part of one
//! that a sample needs.

use super::description::Data;
use crate::random::Random;
use serde::Deserialize;

/// Bytes of a vertex: a record, a weight and its new one; of an edge; and what a vertex and an edge access.
const VERTEX: u64 = 32;
const EDGE: u64 = 8;
const VERTEX_ACCESSED: u64 = 24;
const EDGE_ACCESSED: u64 = 16;
/// The arrays begin on pages, as files do.
const PAGE: u64 = 4096;

/// How edges are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// In- and out-degrees by power laws of exponents 2.1 and 2.72 (Broder et al., Graph structure in the Web, 2000).
    Web,
    /// A star, symmetric; edges beyond those of a tree join random pairs.
    Star,
}

/// Exponents of the power laws of in- and out-degrees.
const IN_EXPONENT: f64 = 2.1;
const OUT_EXPONENT: f64 = 2.72;

/// What a run does of which graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    form: Form,
    /// Vertices and edges of the whole graph.
    pub(super) sources: u64,
    /// Of those that a run looks at.
    pub(super) vertices: u64,
    pub(super) edges: u64,
}

impl Sizes {
    /// Of a workload's data; the vertices and edges that a run looks at have the degree of the whole.
    pub(super) fn of(data: &Data, accessed: u64) -> Result<Self, String> {
        let (Some(form), Some(degree)) = (data.graph, data.degree) else {
            return Err("`graph` or `degree` is missing".to_owned());
        };
        if !(1.0..1e6).contains(&degree) {
            return Err(format!("degree {degree}: 1 to a million"));
        }
        let sources = (data.set_bytes as f64 / (VERTEX as f64 + EDGE as f64 * degree)) as u64;
        let of_vertex = VERTEX_ACCESSED as f64 + EDGE_ACCESSED as f64 * degree;
        // Even, so that what is left is whole edges.
        let vertices = ((accessed as f64 / of_vertex) as u64 & !1).min(sources & !1);
        let edges = (accessed - VERTEX_ACCESSED * vertices) / EDGE_ACCESSED;
        if accessed % EDGE_ACCESSED != 0 || vertices < 16 {
            return Err(format!("{accessed} accessed bytes are no multiple of {EDGE_ACCESSED}, or fewer than 16 vertices"));
        }
        if edges as f64 > degree * vertices as f64 + 16.0 {
            return Err(format!(
                "{accessed} accessed bytes are more than the set has"
            ));
        }
        Ok(Self {
            form,
            sources,
            vertices,
            edges,
        })
    }

    /// Where records and edges lie behind the weights, and how long all is.
    pub(super) fn places(self) -> (u64, u64, u64) {
        let pages = |bytes: u64| bytes.next_multiple_of(PAGE);
        let records = pages(8 * self.sources);
        let edges = records + pages(16 * self.sources);
        (records, edges, edges + pages((EDGE * self.edges).max(EDGE)))
    }

    /// Bytes of the new weights, behind which lies the report.
    pub(super) fn written(self) -> u64 {
        (8 * self.sources).next_multiple_of(PAGE)
    }

    /// Records and edges of the vertices that a run looks at.
    pub(super) fn contents(self, seed: u64) -> (Vec<u8>, Vec<u8>) {
        let mut random = Random(seed);
        let ends = match self.form {
            Form::Star => self.star(&mut random),
            Form::Web => self.web(&mut random),
        };
        let mut incoming: Vec<Vec<u64>> = vec![Vec::new(); self.vertices as usize];
        for (source, target) in ends {
            incoming[target as usize].push(source);
        }
        let (mut records, mut edges) = (Vec::new(), Vec::new());
        for sources in &incoming {
            // What goes out matters to the quotient, and not to the time.
            for word in [sources.len() as u64, (sources.len() as u64).max(1)] {
                records.extend(word.to_le_bytes());
            }
            edges.extend(sources.iter().flat_map(|source| source.to_le_bytes()));
        }
        (records, edges)
    }

    /// The hub is vertex 0: its edges come from the vertices behind it, in order, and theirs from it.
    fn star(self, random: &mut Random) -> Vec<(u64, u64)> {
        let leaves = 1..self.vertices;
        let tree = leaves
            .clone()
            .map(|leaf| (leaf, 0))
            .chain(leaves.map(|leaf| (0, leaf)));
        let mut ends: Vec<(u64, u64)> = tree.take(self.edges as usize).collect();
        while (ends.len() as u64) < self.edges {
            ends.push((random.below(self.sources), random.below(self.vertices)));
        }
        ends
    }

    fn web(self, random: &mut Random) -> Vec<(u64, u64)> {
        let sources = PowerLaw::new(random, self.sources, OUT_EXPONENT);
        let targets = PowerLaw::new(random, self.vertices, IN_EXPONENT);
        (0..self.edges)
            .map(|_| (sources.draw(random), targets.draw(random)))
            .collect()
    }
}

/// Vertices whose degrees follow a power law: that of rank r has a share of r^(-1/(exponent - 1)).
struct PowerLaw {
    up_to: Vec<f64>,
    places: Vec<u64>,
}

impl PowerLaw {
    fn new(random: &mut Random, vertices: u64, exponent: f64) -> Self {
        let mut sum = 0.0;
        let shares = (1..=vertices).map(|rank| {
            sum += (rank as f64).powf(-1.0 / (exponent - 1.0));
            sum
        });
        let up_to = shares.collect();
        let mut places: Vec<u64> = (0..vertices).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, random.below(last as u64 + 1) as usize);
        }
        Self { up_to, places }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let all = self.up_to.last().copied().unwrap_or(1.0);
        let at = (random.next() >> 11) as f64 / (1u64 << 53) as f64 * all;
        let rank = self.up_to.partition_point(|&sum| sum <= at);
        self.places[rank.min(self.places.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(graph: &str, set: u64, degree: f64) -> Data {
        toml::from_str(&format!(
            "set_bytes = {set}\naccessed_bytes = 65536\ngraph = \"{graph}\"\ndegree = {degree}"
        ))
        .unwrap()
    }

    fn word(bytes: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap())
    }

    /// Records and edges belong together, no edge comes from nowhere, and the same seed gives the same.
    #[test]
    fn graphs_are_whole() {
        for (form, degree) in [("web", 3.1), ("star", 2.08)] {
            let sizes = Sizes::of(&data(form, 1 << 20, degree), 65536).unwrap();
            assert_eq!(24 * sizes.vertices + 16 * sizes.edges, 65536);
            let (records, edges) = sizes.contents(1);
            assert_eq!(records.len() as u64, 16 * sizes.vertices);
            assert_eq!(edges.len() as u64, 8 * sizes.edges);
            let asked: u64 = (0..sizes.vertices as usize)
                .map(|v| word(&records, 2 * v))
                .sum();
            assert_eq!(asked, sizes.edges);
            assert!((0..sizes.edges as usize).all(|e| word(&edges, e) < sizes.sources));
            let hub = (0..sizes.vertices as usize)
                .map(|v| word(&records, 2 * v))
                .max();
            assert!(hub.unwrap() > 20 * sizes.edges / sizes.vertices, "no hub");
            assert_eq!(sizes.contents(1), (records, edges));
            let (first, second, end) = sizes.places();
            assert!(8 * sizes.sources <= first && first + 16 * sizes.sources <= second);
            assert!(second + 8 * sizes.edges <= end);
        }
    }

    #[test]
    fn sizes_that_no_graph_has_are_refused() {
        assert!(Sizes::of(&data("web", 1 << 20, 3.1), 65528).is_err());
        assert!(Sizes::of(&data("web", 1 << 20, 0.5), 65536).is_err());
        assert!(Sizes::of(&data("web", 1 << 16, 3.1), 1 << 20).is_err());
        assert!(Sizes::of(&data("web", 1 << 20, 3.1), 160).is_err());
        let plain = toml::from_str("set_bytes = 1048576\naccessed_bytes = 65536").unwrap();
        assert!(Sizes::of(&plain, 65536).is_err());
    }
}
