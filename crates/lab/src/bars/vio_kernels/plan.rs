//! What is sent through which kernel.

use super::Failure;
use crate::experiment::vfpio::{data, Application, Vfpio};
use crate::random::Random;

/// The longest packet.
pub const LONGEST: u64 = 64 << 10;
/// Bytes that packets are cut from.
const SOURCE: u64 = 4096 + LONGEST;
/// What two matrices have.
const PAIR: u64 = 32 << 10;

/// A kernel, and the packets that it gets: the same ones from each device.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its folder in `kernels/`.
    pub kernel: String,
    /// Its port for packets; none: it sends of itself.
    pub input: Option<&'static str>,
    /// Its port for what comes of them.
    pub output: &'static str,
    /// An argument that is the address of memory for it.
    pub memory: Option<&'static str>,
    /// There is a model of it, for the functional card.
    pub has_model: bool,
    /// Arguments that stay.
    pub arguments: Vec<(String, Vec<u8>)>,
    /// What packets are cut from.
    pub data: Vec<u8>,
    /// The packets.
    pub packets: Vec<Packet>,
}

/// A packet: where it is in the data, and how long.
#[derive(Clone, Debug)]
pub struct Packet {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes that may come out.
    pub room: u64,
    /// An argument that is set before.
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
            // Letters of its query, or no two would ever be alike.
            data.iter_mut()
                .for_each(|byte| *byte = b"ACGT"[usize::from(*byte >> 3 & 3)]);
        }
        // Its streams come and go on a memory port, where models have none.
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

    /// The bytes of a packet.
    pub fn bytes(&self, packet: &Packet) -> &[u8] {
        &self.data[packet.offset as usize..][..packet.bytes as usize]
    }

    /// Room for what comes of all packets, a byte apart.
    pub fn room(&self) -> u64 {
        self.packets.iter().map(|packet| packet.room + 1).sum()
    }
}

/// 1 B to 64 KiB, log-uniform; most of them odd, and both ends among them.
fn packet(kernel: &str, most: u64, n: usize, random: &mut Random) -> Packet {
    let log = random.below(16_000) as f64 / 1000.0;
    let bytes = match n {
        0 => 1,
        1 => LONGEST,
        // With less than two matrices there is no product.
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

/// Every kernel that has a stream port: those of the experiment, vFPIO's perf, the loopback, and the one whose streams go
/// through its memory port.
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
