//! Inputs of the workloads' kernels: arguments, and the memory that their pointers refer to.

use super::description::Data;
use super::graph::Sizes;
use super::triangles;

/// Access pattern of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Reads a stream and writes one of equal length: `aes256ctr`.
    Cipher,
    /// Reads an image and writes one of equal size: `conv`.
    Picture,
    /// Reads at random: `rng`.
    Random,
    /// Writes at random: `rng`.
    RandomWrites,
    /// Changes words at random: `gups`.
    Updates {
        /// Outstanding updates; 0: the kernel's maximum.
        under_way: u64,
    },
    /// Reads a stream, and writes digests: `md5`, `sha256`, `sha256_hls`.
    Hash,
    /// Reads a stream of frames, and writes the motions of tiles: `flow`.
    Frames,
    /// Reads a stream of numbers, and writes a sketch: `hll`.
    Sketch,
    /// Reads vertices and edges as streams and weights at random, and writes weights: `pgrnk`.
    Ranks {
        /// Idle cycles after each edge.
        pause: u64,
    },
    /// Reads some vertices as a stream and the records of their neighbours at random: `triangles`.
    Triangles {
        /// Outstanding lookups; 0: the kernel's maximum.
        under_way: u64,
        /// Idle cycles after each lookup.
        pause: u64,
    },
    /// Reads the same targets for each query, and writes a byte per pair: `nw_pairs`.
    Pairs {
        /// Idle cycles after each row of targets.
        pause: u64,
    },
    /// Reads weights once and records of images as a stream, and writes classes: `dnn`.
    Images {
        /// Idle cycles after each image.
        pause: u64,
        /// Requests images when those before are computed.
        in_turn: bool,
    },
}

/// Number of hash lanes: enough for a row per cycle.
const LANES: u64 = 72;
/// Rows of 64 pixels per image line.
const BLOCKS: u64 = 16;
/// Convolution weights: a blur, divided by 16.
const WEIGHTS: [u8; 12] = [1, 2, 1, 2, 4, 2, 1, 2, 1, 0, 0, 0];
/// Size of a sketch in bytes.
const SKETCH: u64 = 16384;
/// Seed of synthetic graphs.
const GRAPH_SEED: u64 = 1;
/// Size of a report of `pgrnk` and of `triangles` in bytes.
const REPORT: u64 = 64;
/// 0.15 of a rank over a million vertices, and 0.85, in the format of `pgrnk`; the values do not affect the time.
const BASE: u64 = (1 << 62) / 1_000_000 * 15 / 100;
const DAMPING: u32 = 3_650_722_202;
/// Bytes that an update reads and writes.
const UPDATE: u64 = 16;
/// Tiles in a line of frames, and bytes of a tile and of its motion.
const TILES_X: u64 = 64;
const TILE: u64 = 2048;
const MOTION: u64 = 4;
/// Bytes of a sequence.
const SEQUENCE: u64 = 16;
/// Sequences that each query is compared with; less than the reach of any TLB.
const TARGETS: u64 = 1024;
/// Bytes that a pair reads and writes: a target, and its score.
const PAIR: u64 = SEQUENCE + 1;
/// Images of a record, which are a row of 64 bytes each; bytes of a record, of its results, and of the weights' page.
const BATCH: u64 = 59;
const RECORD: u64 = 4096;
const CLASSES: u64 = 128;
const WEIGHTS_PAGE: u64 = 4096;
/// Bytes of a record that are read, and those of its results.
const BATCH_BYTES: u64 = 64 * BATCH + CLASSES;
/// Right shift of the first layer's sums; its value does not affect the time.
const SHIFT: u64 = 8;

/// Sizes of the memory that a kernel's pointers refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffers {
    /// Bytes of read-only input; 0 if there is none.
    pub(super) input: u64,
    /// Bytes of output.
    pub(super) output: u64,
}

/// Selects the random sequence, or the part of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seed {
    /// For the measured run.
    Measured,
    /// For the warm-up run before it.
    WarmUp,
    /// For the run after it.
    After,
}

impl Load {
    /// Access pattern of a kernel in `kernels/`.
    pub(crate) fn of(kernel: &str) -> Option<Self> {
        Some(match kernel {
            "aes256ctr" => Self::Cipher,
            "conv" => Self::Picture,
            "rng" => Self::Random,
            "gups" => Self::Updates { under_way: 0 },
            "md5" | "sha256" | "sha256_hls" => Self::Hash,
            "flow" => Self::Frames,
            "hll" => Self::Sketch,
            "pgrnk" => Self::Ranks { pause: 0 },
            "triangles" => Self::Triangles {
                under_way: 0,
                pause: 0,
            },
            "nw_pairs" => Self::Pairs { pause: 0 },
            "dnn" => Self::Images {
                pause: 0,
                in_turn: false,
            },
            _ => return None,
        })
    }

    /// Whether it accesses its data at random.
    pub(crate) fn is_random(self) -> bool {
        matches!(
            self,
            Self::Random
                | Self::RandomWrites
                | Self::Updates { .. }
                | Self::Ranks { .. }
                | Self::Triangles { .. }
        )
    }

    /// The rule that this data or sample size violates for the kernel, if any.
    pub(super) fn broken_rule(self, data: &Data, accessed: u64) -> Option<String> {
        if matches!(self, Self::Ranks { .. }) {
            return Sizes::of(data, accessed).err();
        }
        if data.graph.is_some() || data.degree.is_some() {
            return Some("`graph` and `degree` are for graphs only".to_owned());
        }
        if let Self::Triangles { .. } = self {
            return triangles::TriangleSizes::of(data, accessed).err();
        }
        let unit = match (self, data.access_bytes) {
            (Self::Random | Self::RandomWrites, None) => {
                return Some("`access_bytes` is missing".to_owned())
            }
            (Self::Random | Self::RandomWrites, Some(access)) => access,
            (_, Some(_)) => return Some("`access_bytes` is for random reads only".to_owned()),
            (Self::Picture, None) => 2 * 64 * BLOCKS,
            (Self::Cipher, None) => 2 * 64,
            (Self::Frames, None) => TILE * TILES_X,
            (Self::Updates { .. }, None) => UPDATE,
            (Self::Pairs { .. }, None) => PAIR * TARGETS,
            (Self::Images { .. }, None) => BATCH_BYTES,
            (Self::Hash | Self::Sketch | Self::Ranks { .. } | Self::Triangles { .. }, None) => 64,
        };
        if unit == 0 || accessed == 0 || accessed % unit != 0 {
            return Some(format!(
                "{accessed} accessed bytes are no multiple of {unit}"
            ));
        }
        if self.is_random() && !(unit.is_power_of_two() && data.set_bytes.is_power_of_two()) {
            return Some("random places need powers of two".to_owned());
        }
        None
    }

    /// Sizes of the memory that it needs.
    pub(super) fn buffers(self, data: &Data, accessed: u64) -> Buffers {
        let (input, output) = match self {
            Self::Cipher | Self::Picture => (accessed / 2, accessed / 2),
            Self::Random => (data.set_bytes, 64),
            Self::Updates { .. } | Self::RandomWrites => (0, data.set_bytes),
            Self::Hash => (accessed, 32 * LANES),
            Self::Frames => (accessed, accessed / TILE * MOTION),
            Self::Pairs { .. } => {
                let pairs = accessed / PAIR;
                (SEQUENCE * (TARGETS + pairs / TARGETS), pairs)
            }
            Self::Images { .. } => {
                let records = accessed / BATCH_BYTES;
                (WEIGHTS_PAGE + RECORD * records, CLASSES * records)
            }
            Self::Sketch => (accessed, SKETCH),
            Self::Ranks { .. } => match Sizes::of(data, accessed) {
                Ok(sizes) => (sizes.places().2, sizes.written() + REPORT),
                Err(_) => (0, 0),
            },
            Self::Triangles { .. } => match triangles::TriangleSizes::of(data, accessed) {
                Ok(sizes) => (sizes.image().bytes(), REPORT),
                Err(_) => (0, 0),
            },
        };
        Buffers { input, output }
    }

    /// Required contents of the input, with their offsets; most access patterns work with any bytes. Equal for all
    /// applications.
    pub(super) fn contents(self, data: &Data, accessed: u64) -> Vec<(u64, Vec<u8>)> {
        if let Self::Triangles { .. } = self {
            let Ok(sizes) = triangles::TriangleSizes::of(data, accessed) else {
                return Vec::new();
            };
            let bytes = sizes
                .image()
                .words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            return vec![(0, bytes)];
        }
        match Sizes::of(data, accessed) {
            Ok(sizes) if matches!(self, Self::Ranks { .. }) => {
                let (records, edges, _) = sizes.places();
                let contents = sizes.contents(GRAPH_SEED);
                vec![(records, contents.0), (edges, contents.1)]
            }
            _ => Vec::new(),
        }
    }

    /// Names and values of its arguments, for memory at these addresses.
    pub(super) fn arguments(
        self,
        data: &Data,
        accessed: u64,
        input: u64,
        output: u64,
        seed: Seed,
    ) -> Vec<(&'static str, Vec<u8>)> {
        let number = |value: u64| value.to_le_bytes().to_vec();
        let log2 = |value: u64| number(value.checked_ilog2().unwrap_or(0).into());
        let streams = [("input", number(input)), ("output", number(output))];
        let rest = match self {
            Self::Cipher => vec![
                ("bytes", number(accessed / 2)),
                ("key", vec![7; 32]),
                ("iv", vec![9; 16]),
            ],
            Self::Picture => vec![
                ("blocks", number(BLOCKS)),
                ("lines", number(accessed / 2 / (64 * BLOCKS))),
                ("weights", WEIGHTS.to_vec()),
                ("shift", 4u32.to_le_bytes().to_vec()),
            ],
            Self::Random | Self::RandomWrites => {
                let access = data.access_bytes.unwrap_or(64).max(1);
                vec![
                    ("accesses", number(accessed / access)),
                    ("access_log2", log2(access)),
                    ("period_log2", log2(data.set_bytes / access)),
                    (
                        "seed",
                        number(match seed {
                            Seed::Measured => 1,
                            Seed::WarmUp => 0x2545_f491,
                            Seed::After => 0x6c07_8965,
                        }),
                    ),
                    ("write", number(u64::from(self == Self::RandomWrites))),
                ]
            }
            Self::Updates { under_way } => {
                return vec![
                    ("table", number(output)),
                    ("words_log2", log2(data.set_bytes / 8)),
                    ("updates", number(accessed / UPDATE)),
                    // From 1 the sequence would begin with many updates of one word.
                    (
                        "seed",
                        number(match seed {
                            Seed::Measured => 0x9e37_79b9_7f4a_7c15,
                            Seed::WarmUp => 0xbf58_476d_1ce4_e5b9,
                            Seed::After => 0x94d0_49bb_1331_11eb,
                        }),
                    ),
                    ("under_way", number(under_way)),
                ];
            }
            Self::Triangles { under_way, pause } => {
                let Ok(sizes) = triangles::TriangleSizes::of(data, accessed) else {
                    return Vec::new();
                };
                let image = sizes.image();
                let (records, words) = image.sample(seed);
                return vec![
                    ("records", number(input + records)),
                    ("graph", number(input)),
                    ("output", number(output)),
                    ("record_words", number(words)),
                    ("graph_words", number(image.graph_words)),
                    ("under_way", number(under_way)),
                    ("pause", number(pause)),
                ];
            }
            Self::Pairs { pause } => {
                return vec![
                    ("targets", number(input)),
                    ("queries", number(input + SEQUENCE * TARGETS)),
                    ("output", number(output)),
                    ("query_count", number(accessed / PAIR / TARGETS)),
                    ("target_count", number(TARGETS)),
                    ("held_log2", number(0)),
                    ("pause", number(pause)),
                ];
            }
            Self::Images { pause, in_turn } => {
                return vec![
                    ("weights", number(input)),
                    ("images", number(input + WEIGHTS_PAGE)),
                    ("output", number(output)),
                    ("records", number(accessed / BATCH_BYTES)),
                    ("batch", number(BATCH)),
                    ("shift", number(SHIFT)),
                    ("pause", number(pause)),
                    ("in_turn", number(u64::from(in_turn))),
                ];
            }
            Self::Hash => vec![("bytes", number(accessed)), ("lanes", number(LANES))],
            Self::Frames => vec![
                ("tiles_x", number(TILES_X)),
                ("tiles_y", number(accessed / TILE / TILES_X)),
                ("images", number(1)),
            ],
            Self::Sketch => vec![("length", number(accessed / 8))],
            Self::Ranks { pause } => {
                let Ok(sizes) = Sizes::of(data, accessed) else {
                    return Vec::new();
                };
                let (records, edges, _) = sizes.places();
                return vec![
                    ("records", number(input + records)),
                    ("edge_sources", number(input + edges)),
                    ("weights", number(input)),
                    ("next", number(output)),
                    ("output", number(output + sizes.written())),
                    ("vertices", number(sizes.vertices)),
                    ("edges", number(sizes.edges)),
                    ("sources", number(sizes.sources)),
                    ("base", number(BASE)),
                    ("damping", DAMPING.to_le_bytes().to_vec()),
                    ("ranks", 0u32.to_le_bytes().to_vec()),
                    ("pause", number(pause)),
                ];
            }
        };
        streams.into_iter().chain(rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use card::kernel::KernelPackage;

    /// Every argument of the manifests is set, with its correct size.
    #[test]
    fn kernels_get_what_their_manifests_say() {
        for kernel in [
            "aes256ctr",
            "conv",
            "rng",
            "gups",
            "md5",
            "sha256",
            "sha256_hls",
            "flow",
            "hll",
            "pgrnk",
            "triangles",
            "nw_pairs",
            "dnn",
        ] {
            let load = Load::of(kernel).unwrap();
            let access = (load == Load::Random).then_some(64);
            // For triangles, the bytes that vertices access; for pairs, those of four queries; for images, of records.
            let accessed = match load {
                Load::Triangles { .. } => 100 * 2033,
                Load::Pairs { .. } => 17 * 4096,
                Load::Images { .. } => 3904 * 64,
                _ => 262_144,
            };
            let data: Data = toml::from_str(&format!(
                "set_bytes = 524288\naccessed_bytes = {accessed}\n{}",
                match load {
                    Load::Ranks { .. } => "graph = \"web\"\ndegree = 3.0".to_owned(),
                    _ => access.map_or(String::new(), |bytes| format!("access_bytes = {bytes}")),
                }
            ))
            .unwrap();
            assert_eq!(load.broken_rule(&data, accessed), None);
            let folder = simcard::home().join("kernels").join(kernel);
            let manifest = KernelPackage::open(&folder).unwrap().manifest;
            let mut wanted: Vec<_> = manifest
                .arguments
                .iter()
                .map(|argument| (argument.name.as_str(), argument.bytes as usize))
                .collect();
            let given = load.arguments(&data, accessed, 0, 4096, Seed::Measured);
            let mut given: Vec<_> = given.iter().map(|(name, v)| (*name, v.len())).collect();
            wanted.sort_unstable();
            given.sort_unstable();
            assert_eq!(given, wanted, "{kernel}");
        }
        assert_eq!(Load::of("vadd"), None);
    }

    #[test]
    fn data_that_a_kernel_cannot_access_is_refused() {
        let data: Data = toml::from_str("set_bytes = 1000\naccessed_bytes = 1000").unwrap();
        for load in [Load::Cipher, Load::Picture, Load::Random, Load::Hash] {
            assert!(load.broken_rule(&data, 1000).is_some(), "{load:?}");
        }
        assert!(Load::Updates { under_way: 0 }
            .broken_rule(&data, 16)
            .is_some());
        assert!(Load::Hash.broken_rule(&data, 0).is_some());
    }
}
