//! Kernels and the data sent through each.

use super::Failure;
use crate::experiment::vfpio::{data, Application, Vfpio};
use crate::random::Random;

/// Length of the longest packet in bytes.
pub const LONGEST: u64 = 64 << 10;
/// Bytes from which packets are taken.
const SOURCE: u64 = 4096 + LONGEST;
/// Size of two matrices in bytes.
const PAIR: u64 = 32 << 10;

/// A kernel, and its packets: the same ones from each device.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Folder name in `kernels/`.
    pub kernel: String,
    /// Input port for packets; `None` if it is a source.
    pub input: Option<&'static str>,
    /// Output port.
    pub output: &'static str,
    /// An argument that takes the address of auxiliary memory.
    pub memory: Option<&'static str>,
    /// Whether it has a model for the functional card.
    pub has_model: bool,
    /// Constant arguments.
    pub arguments: Vec<(String, Vec<u8>)>,
    /// Data from which packets are taken.
    pub data: Vec<u8>,
    /// Ranges of `data` to send.
    pub packets: Vec<Packet>,
}

/// A packet: a range of the data.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Maximum length of the output in bytes.
    pub room: u64,
    /// An argument to set before the transfer.
    pub set: Option<(&'static str, u64)>,
}

impl Subject {
    fn new(one: &Application, kernel: &str, packets: usize, seed: u64) -> Result<Self, Failure> {
        let mut random = Random(seed);
        let arguments = one
            .arguments
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.bytes()?)));
        let mut data = data(SOURCE);
        if kernel == "nw" {
            // Letters of its query; otherwise no two would ever match.
            data.iter_mut()
                .for_each(|byte| *byte = b"ACGT"[usize::from(*byte >> 3 & 3)]);
        }
        // Its streams run over a memory port, which models do not support.
        let carried = kernel == "packet_sums";
        let input = if carried { "numbers" } else { "in" };
        Ok(Self {
            kernel: kernel.to_owned(),
            input: (!one.source).then_some(input),
            output: if carried { "sums" } else { "out" },
            memory: carried.then_some("counts"),
            has_model: !carried,
            arguments: arguments.collect::<Result<_, Failure>>()?,
            data,
            packets: (0..packets)
                .map(|n| packet(kernel, one.room, n, &mut random))
                .collect(),
        })
    }

    /// Contents of a packet.
    pub fn bytes(&self, packet: &Packet) -> &[u8] {
        &self.data[packet.offset as usize..][..packet.bytes as usize]
    }

    /// Room for the outputs of all packets, one byte apart.
    pub fn room(&self) -> u64 {
        self.packets.iter().map(|packet| packet.room + 1).sum()
    }
}

/// A length of 1 B to 64 KiB, log-uniform; most are odd, and both limits occur.
fn packet(kernel: &str, most: u64, n: usize, random: &mut Random) -> Packet {
    let log = random.below(16_000) as f64 / 1000.0;
    let bytes = match n {
        0 => 1,
        1 => LONGEST,
        // Less than two matrices give no product.
        _ if kernel == "matmul" && n % 8 == 0 => PAIR,
        _ => log.exp2() as u64 | u64::from(n % 4 != 0),
    };
    Packet {
        offset: random.below(SOURCE - bytes + 1),
        bytes,
        room: match kernel {
            "sha256_stream" | "md5_stream" | "sha3" => most,
            "nw" => 4 * (bytes / 64 + 1),
            "gzip" => bytes + bytes / 8 + 32,
            "matmul" => (bytes / 2).max(64),
            "packet_sums" => 8,
            _ => bytes,
        },
        set: match kernel {
            "rng_stream" => Some(("bytes", bytes)),
            // Keccak-256 and SHA3-256.
            "sha3" => Some(("mode", n as u64 % 2)),
            _ => None,
        },
    }
}

/// Every kernel with a stream port: those of the experiment, vFPIO's perf, the loopback, and the one whose streams run
/// over its memory port.
pub fn subjects(experiment: &Vfpio, packets: usize) -> Result<Vec<Subject>, Failure> {
    let plain = experiment.application("matmul").ok_or("matmul")?;
    let others = ["packet_sums", "loopback", "perf_stream"].map(|kernel| (plain, kernel));
    let all = experiment.application.iter();
    (1..)
        .zip(
            others
                .into_iter()
                .chain(all.map(|one| (one, one.kernel.as_str()))),
        )
        .map(|(seed, (one, kernel))| Subject::new(one, kernel, packets, seed))
        .collect()
}
