//! A table that a core and kernel `shared_table` both change, and how fast the core is. The bar
//! `app.shared_table` measures with it, too.

use tombolo::{
    AddressSpace, Card, CoherentMemory, Continue, Error, Picoseconds, RunState, ShellConfig,
    SimOptions, Slot, SlotId,
};

const BASE: u64 = 0x1000_0000;
/// Rows of the table, a line each.
pub const ROWS: u64 = 512;
const LINE: u64 = 128;
/// Cycles in which the kernel goes once through its rows, if it can: less than a pass of the core takes when
/// nothing is contended. (It needs seven for each.)
const ROUND: u64 = 3000;
/// Locks that the kernel has under way.
const INFLIGHT: u64 = 16;
/// Passes of the core that are measured together.
const PASSES: u64 = 4;

/// The table, on a card of its own.
pub struct Table {
    _card: Card,
    _space: AddressSpace,
    slot: Slot,
    memory: CoherentMemory,
    /// Passes of the core so far: what each row's first word is.
    pub passes: u64,
    /// Updates of the kernel so far, of each row: what its second word is.
    pub updates: Vec<u64>,
}

fn word(line: &[u8], place: usize) -> u64 {
    let bytes = line[8 * place..8 * place + 8].try_into();
    bytes.map_or(0, u64::from_le_bytes)
}

impl Table {
    /// A table of zeroes; the CPU has no row.
    pub fn new() -> Result<Self, Error> {
        let mut options = SimOptions::named("enzian")?;
        options.shell = ShellConfig::coherent();
        let kernel = options.home.join("kernels/shared_table");
        let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
        let space = card.create_space()?;
        let slot = card.load(SlotId(0), &kernel, &space)?;
        slot.set("base", BASE)?;
        slot.set("inflight", INFLIGHT)?;
        let memory = card.coherent_memory(BASE, ROWS * LINE)?;
        let mut table = Self {
            _card: card,
            _space: space,
            slot,
            memory,
            passes: 0,
            updates: vec![0; ROWS as usize],
        };
        // A run without updates: the kernel serves lines from now on.
        table.start(ROWS, 0)?;
        table.join()?;
        Ok(table)
    }

    /// The kernel counts in the first `rows` rows, so often in each.
    fn start(&mut self, rows: u64, each: u64) -> Result<(), Error> {
        self.slot.set("rows", rows)?;
        self.slot.set("pause", (ROUND / rows).saturating_sub(1))?;
        self.slot.set("updates", each * rows)?;
        for count in &mut self.updates[..rows as usize] {
            *count += each;
        }
        self.slot.start()
    }

    fn join(&self) -> Result<(), Error> {
        self.slot.wait(None, |_| Continue::Yes).map(drop)
    }

    /// One pass: each row is loaded, and the core's count in it stored as one more; nanoseconds a row.
    pub fn scan(&mut self) -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
        let began = self.memory.now()?;
        for row in 0..ROWS {
            let count = word(&self.memory.load_exclusive(row * LINE)?, 0);
            if count != self.passes {
                let passes = self.passes;
                return Err(
                    format!("row {row}: the core has counted to {passes}, not {count}").into(),
                );
            }
            self.memory.store(row * LINE, &(count + 1).to_le_bytes())?;
        }
        self.passes += 1;
        Ok((self.memory.now()? - began).get() as f64 / 1000.0 / ROWS as f64)
    }

    /// Nanoseconds a row while the kernel takes the first `rows` all the time.
    pub fn contend(&mut self, rows: u64) -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
        // A pass of the core takes this many rounds at most; one more pass, and the time in which the kernel
        // begins and ends, are not measured.
        let rounds_of_pass = 2 + 18 * rows / ROWS;
        self.start(rows, (PASSES + 3) * rounds_of_pass + 10)?;
        self.scan()?;
        let mut cost = 0.0;
        for _ in 0..PASSES {
            cost += self.scan()?;
        }
        // Else the core was alone at the end.
        if !matches!(self.slot.poll(Picoseconds::ZERO)?, RunState::Running(_)) {
            return Err("the kernel ended before the core".into());
        }
        self.join()?;
        // All rows are the CPU's again.
        self.scan()?;
        Ok(cost / PASSES as f64)
    }

    /// Rows that are not what was counted.
    pub fn wrong(&self) -> Result<u64, Error> {
        let mut wrong = 0;
        for row in 0..ROWS {
            let line = self.memory.load(row * LINE)?;
            let counted = self.updates[row as usize];
            wrong += u64::from(word(&line, 0) != self.passes || word(&line, 1) != counted);
        }
        Ok(wrong)
    }
}
