//! Calls of many lines (CCKit, section 5.7): kernel `rpc_lines` behind both slices of a directory on platform `enzian`.

use super::Failure;
use crate::row::Row;
use tombolo::{
    AddressSpace, Card, Picoseconds, RpcAnswer, RpcLines, ShellConfig, SimOptions, Slot, SlotId,
};

const BASE: u64 = 0x1000_0000;
const LINE: u64 = 128;
const SIZES: [u64; 5] = [1, 10, 100, 1000, 2000];
const CALLS: u32 = 4;
/// Bandwidth of the coherent link in bytes per second.
const LINK: f64 = 21_474_836_480.0;

/// Handlers of the kernel.
const COUNT: u64 = 0;
const CHECKSUM: u64 = 1;
const ECHO: u64 = 2;

/// A card with the kernel, and a connection to it.
struct RpcBench {
    rpc: RpcLines,
    slot: Slot,
    _space: AddressSpace,
    _card: Card,
}

fn open() -> Result<RpcBench, Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_full();
    let kernel = options.home.join("kernels/rpc_lines");
    let card = Card::simulated(options, Default::default(), |_| {})?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set("handler", COUNT)?;
    slot.start()?;
    let memory = card.coherent_memory(BASE, RpcLines::BYTES)?;
    Ok(RpcBench {
        rpc: RpcLines::connect(memory)?,
        slot,
        _space: space,
        _card: card,
    })
}

/// Payload that differs from call to call.
fn payload(lines: u64, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let words = (0..lines * 16).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.collect()
}

/// Whether an answer is the handler's expected result.
fn right(handler: u64, request: &[u8], answer: &RpcAnswer) -> bool {
    let words = request
        .chunks_exact(8)
        .map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    let sums = match handler {
        COUNT => (0, 0),
        _ => (
            words.clone().fold(0, u64::wrapping_add),
            words.fold(0, |all, word| all ^ word),
        ),
    };
    let echoed: &[u8] = if handler == ECHO { request } else { &[] };
    u64::from(answer.lines) * LINE == request.len() as u64
        && (answer.sum, answer.xor) == sums
        && answer.payload == echoed
}

impl RpcBench {
    /// Mean latency of calls whose lines the CPU holds, and the number of wrong answers.
    fn calls(&mut self, handler: u64, lines: u64) -> Result<(Picoseconds, u64), Failure> {
        // A register access: the kernel runs.
        self.slot.write_register(0x18, handler as u32)?;
        let answer_lines = if handler == ECHO { lines } else { 0 };
        let (mut time, mut wrong) = (Picoseconds::ZERO, 0);
        for call in 0..CALLS {
            let request = payload(lines, 977 * lines + u64::from(call));
            self.rpc.prepare(lines)?;
            let began = self.rpc.memory().now()?;
            let answer = self.rpc.call(&request, answer_lines)?;
            time += self.rpc.memory().now()? - began;
            wrong += u64::from(!right(handler, &request, &answer));
        }
        Ok((Picoseconds::new(time.get() / u64::from(CALLS)), wrong))
    }
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut called = open()?;
    let mut rows = Vec::new();
    let mut wrong = 0;
    for (handler, name) in [
        (COUNT, "share_of_link"),
        (CHECKSUM, "checksum_share"),
        (ECHO, "echo_share"),
    ] {
        for lines in SIZES {
            let (time, bad) = called.calls(handler, lines)?;
            wrong += bad;
            let share = (lines * LINE) as f64 / time.as_seconds() / LINK;
            let row = format!("app.rpc_lines.{name}.{lines}");
            rows.push(Row::new(&row, share, "of the link"));
        }
    }
    let row = Row::new("app.rpc_lines.wrong", wrong as f64, "calls");
    rows.push(row);
    Ok(rows)
}
