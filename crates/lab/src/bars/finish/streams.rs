//! Random runs with a stream as output: `hasty_stream` (`crates/tombolo/tests/kernels`), with and without TLAST, with
//! row-wide and word-wide ports, on a connection with various packet rules.

use super::{content, DoneSignal, Failure, FinishCase, Random, LONG};
use funcard::{Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};
use simcard::home;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use tombolo::{AddressSpace, Card, Continue, Flow, MapOptions, Packets, SlotId};

const PACKETS: u64 = 2;
const TRICKLES: u64 = 4;
/// Mode bits for the functional model only, which the kernel's description does not contain: the port has no TLAST, and
/// log2 of the bytes of a beat.
const ENDLESS: u64 = 1 << 16;
const BEAT_AT: u32 = 20;

/// Properties of the stream port.
#[derive(Clone, Copy, Debug)]
struct PortForm {
    beat: u64,
    ends: bool,
}

/// Destination of the kernel's stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sink {
    form: PortForm,
    wanted: Packets,
    room: u64,
}

/// Expected result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// This many bytes, and no error.
    Taken(u64),
    /// The run fails.
    Refused,
    /// This many bytes, or an error.
    Either(u64),
}

impl PortForm {
    fn choose(random: &mut Random) -> Self {
        Self {
            beat: random.of(&[64, 4]),
            ends: random.below(2) == 0,
        }
    }
}

impl Sink {
    pub(super) fn choose(random: &mut Random, bytes: u64) -> Self {
        let form = PortForm::choose(random);
        let count = NonZeroU64::MIN.saturating_add(random.below(4));
        let wanted = match form.ends {
            true => random.of(&[
                Packets::One,
                Packets::All,
                Packets::Count(count),
                Packets::Any,
            ]),
            false => random.of(&[Packets::One, Packets::All]),
        };
        let room = match random.below(4) {
            0 => bytes,
            1 => 1 + random.below(bytes),
            _ => bytes + random.below(5000),
        };
        Self { form, wanted, room }
    }

    /// Random mode bits that are consistent with the port.
    pub(super) fn mode(self, random: &mut Random, bytes: u64) -> u64 {
        let beat = u64::from(self.form.beat.ilog2());
        let mut mode = random.below(8) | random.below(5) << 8 | beat << BEAT_AT;
        if bytes > 4096 {
            mode &= !TRICKLES;
        }
        if !self.form.ends {
            mode = (mode | ENDLESS) & !PACKETS;
        }
        mode
    }

    fn outcome(self, case: &FinishCase) -> Expected {
        // The functional card does not know that a port has no TLAST: it waits for one, and reports an error.
        if !case.simulated && !self.form.ends && case.bytes < self.room {
            return Expected::Either(case.bytes);
        }
        let packet = packet(case.mode, case.bytes);
        let packets = case.bytes.div_ceil(packet);
        let fits = |bytes: u64| match bytes <= self.room {
            true => Expected::Taken(bytes),
            false => Expected::Refused,
        };
        match self.wanted {
            Packets::One if packets > 1 => Expected::Refused,
            Packets::One | Packets::All => fits(case.bytes),
            Packets::Count(count) if count.get() > packets => Expected::Refused,
            Packets::Count(count) if count.get() == packets => fits(case.bytes),
            // A kernel that waits until the rest is consumed is never done.
            Packets::Count(count) => match fits(count.get() * packet) {
                Expected::Taken(bytes) => Expected::Either(bytes),
                other => other,
            },
            Packets::Any => Expected::Either(packet.min(case.bytes).min(self.room)),
        }
    }

    /// Size of the file in bytes.
    pub(super) fn room(self) -> u64 {
        self.room
    }

    /// Whether nothing was lost: the reported result matches the contents.
    pub(super) fn is_right(
        self,
        case: &FinishCase,
        result: &Result<u64, tombolo::Error>,
        found: &[u8],
    ) -> bool {
        match (result, self.outcome(case)) {
            (Ok(bytes), Expected::Taken(wanted) | Expected::Either(wanted)) => {
                let (taken, rest) = found.split_at(wanted as usize);
                *bytes == wanted
                    && taken == &content(case.seed, case.bytes)[..wanted as usize]
                    && super::is_untouched(rest)
            }
            (Err(_), Expected::Refused | Expected::Either(_)) => true,
            _ => false,
        }
    }
}

/// Creates the folder of a kernel with such a port.
pub(super) fn kernel(folder: &Path, sink: Sink, tells: DoneSignal) -> Result<PathBuf, Failure> {
    let form = sink.form;
    let place = folder.join(format!("stream {form:?} {tells:?}"));
    if place.exists() {
        return Ok(place);
    }
    let original = home().join("crates/tombolo/tests/kernels/hasty_stream");
    let mut text = fs::read_to_string(original.join("kernel.toml"))?;
    let (beat, bits) = (
        format!("HASTY_BYTES = {}", form.beat),
        format!("data_width = {}", 8 * form.beat),
    );
    let mut changes = vec![
        ("HASTY_BYTES = 64", beat.as_str()),
        ("data_width = 512", &bits),
    ];
    if !form.ends {
        changes.push(("HASTY_TLAST = true\n", ""));
    }
    if tells == DoneSignal::Polled {
        changes.push(("interrupt = true", "interrupt = false"));
    }
    super::change(&mut text, &changes)?;
    fs::create_dir_all(&place)?;
    fs::write(place.join("kernel.toml"), text)?;
    fs::copy(
        original.join("hasty_stream.sv"),
        place.join("hasty_stream.sv"),
    )?;
    super::copy_library(
        &place,
        &[
            "kernel_control_registers.sv",
            "kernel_fifo.sv",
            "tmb_ports.svh",
        ],
    )?;
    Ok(place)
}

/// Executes a run; returns the reported number of bytes, or an error.
pub(super) fn run(
    card: &Card,
    space: &AddressSpace,
    kernel: &Path,
    to: &Path,
    (case, sink): (&FinishCase, Sink),
) -> Result<u64, tombolo::Error> {
    let output = space.map_file(to, MapOptions::read_write().page_size(case.page))?;
    let slot = card.load(SlotId(0), kernel, space)?;
    slot.set("bytes", case.bytes)?;
    slot.set("seed", case.seed.into())?;
    slot.set("mode", case.mode)?;
    let mut flow = Flow::new(space);
    flow.plug_packets(&slot, "out", output.all(), sink.wanted)?;
    slot.start()?;
    let flowed = flow.run(LONG, |_| Continue::Yes)?;
    slot.join(LONG)?;
    if !matches!(sink.wanted, Packets::Count(_) | Packets::Any) {
        slot.check_taken()?;
    }
    super::end(case.ending, &slot, output, space)?;
    Ok(flowed.iter().map(|port| port.bytes).sum())
}

/// Functional model of the kernel.
pub(super) const MODEL: KernelModel = KernelModel {
    name: "hasty_stream",
    arguments: &[("bytes", 8), ("seed", 4), ("mode", 4)],
    ports: 0,
    create: || Box::new(HastyStream::default()),
};

/// Maximum number of bytes sent at a time.
const PIECE: usize = 1024;

/// The functional model has no queue: it is done when everything has been sent.
#[derive(Default)]
struct HastyStream {
    run: Option<StreamRun>,
}

struct StreamRun {
    content: Vec<u8>,
    sent: usize,
    packet: usize,
    ends: bool,
}

impl FunctionalKernel for HastyStream {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        let (bytes, mode) = (arguments.number("bytes"), arguments.number("mode"));
        let run = self.run.get_or_insert_with(|| StreamRun {
            content: content(arguments.number("seed") as u32, bytes),
            sent: 0,
            packet: packet(mode, bytes) as usize,
            ends: mode & ENDLESS == 0,
        });
        let to_end = run.packet - run.sent % run.packet;
        let piece = PIECE.min(to_end).min(run.content.len() - run.sent);
        let end = run.sent + piece;
        let last = run.ends && (end == run.content.len() || piece == to_end);
        if !memory.send(0, &run.content[run.sent..end], last) {
            return Step::Blocked;
        }
        run.sent = end;
        if end < run.content.len() {
            return Step::Working;
        }
        self.run = None;
        Step::Done
    }
}

/// Size of each packet in bytes.
fn packet(mode: u64, bytes: u64) -> u64 {
    match mode & PACKETS {
        0 => bytes,
        _ => 1 << ((mode >> 8 & 7) + (mode >> BEAT_AT & 7)),
    }
}
