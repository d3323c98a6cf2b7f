//! Table ORDERS behind the directory, with its view: the program's side of `kernels/view`, and the rule by which
//! orders are made. The bar `app.view` uses them, too.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use tombolo::{
    AddressSpace, Card, CoherentMemory, Error, MapOptions, Mapping, PendingLine, Picoseconds,
    ShellConfig, SimOptions, Slot, SlotId, SpacePlacement, Stripe,
};

/// A tuple has a line.
pub const LINE: u64 = 128;
/// Where the table and the view are on the coherent link.
const TABLE: u64 = 0x1000_0000;
const VIEW: u64 = 0x2000_0000;
/// Lines of the view, of eight customers each; behind them are the two synchronisation lines.
const VIEW_LINES: u64 = 2048;
/// Lines that the program asks for ahead.
const WINDOW: usize = 64;

/// The attributes that the query uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// O_CUSTKEY, from 1 and never a multiple of three.
    pub customer: u64,
    /// O_TOTALPRICE, in cents.
    pub price: u64,
}

/// Orders as TPC-H (4.2.3) has them for `customers` customers: the customer is one of those, evenly, but none whose
/// number is a multiple of three. The price, there a sum over line items, is spread evenly over 850 to
/// 555,000 dollars.
pub fn orders(customers: u64, seed: u64) -> impl FnMut() -> Order {
    let mut state = seed | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) % below
    };
    move || loop {
        let customer = 1 + random(customers);
        if customer % 3 != 0 {
            let price = 85_000 + random(55_500_000 - 85_000);
            return Order { customer, price };
        }
    }
}

/// Answer to a commit.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    /// Tuples that are in the table.
    pub tuples: u64,
    /// Those among them of customers that the view has no room for.
    pub refused: u64,
    /// Cycles of the card from the kernel's sight of the commit to its answer.
    pub cycles: u64,
    /// Time from the program's load to its end.
    pub took: Picoseconds,
}

/// The table and its view, on a card of their own.
pub struct Orders {
    _card: Card,
    _space: AddressSpace,
    _mapping: Mapping,
    slot: Slot,
    table: CoherentMemory,
    view: CoherentMemory,
    customers: u64,
    next: u64,
    commits: u64,
}

fn word(line: &[u8], place: usize) -> u64 {
    let bytes = line[8 * place..8 * place + 8].try_into();
    bytes.map_or(0, u64::from_le_bytes)
}

impl Orders {
    /// An empty table with room for `rows` tuples, in a private mapping.
    pub fn new(
        rows: u64,
        customers: u64,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        // The kernel reads whole pages of both channels.
        let rows = rows.next_multiple_of(64);
        // Without a name, so that nothing is left of it whatever ends the program.
        let mut file = tempfile::tempfile()?;
        file.write_all(&vec![0; (rows * LINE) as usize])?;
        let mut options = SimOptions::named("enzian")?;
        options.shell = ShellConfig::coherent_full();
        let kernel = options.home.join("kernels/view");
        let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
        let stripe = Stripe::new(4096, 2).ok_or("no such stripe")?;
        let space = card.create_space_on(SpacePlacement::Interleaved { first: 0, stripe })?;
        let mapping = space.map_open_file(file, "the table".as_ref(), MapOptions::read_write())?;
        mapping.prefetch()?;
        let slot = card.load(SlotId(0), &kernel, &space)?;
        slot.set("base", TABLE)?;
        slot.set_pointer("data", mapping.address())?;
        slot.set("rows", rows)?;
        slot.set("tuples", 0)?;
        slot.set("view", VIEW)?;
        slot.set("customers", customers)?;
        slot.set("recompute", 0)?;
        slot.start()?;
        let mut orders = Self {
            table: card.coherent_memory(TABLE, rows * LINE)?,
            view: card.coherent_memory(VIEW, (VIEW_LINES + 2) * LINE)?,
            slot,
            customers,
            next: 0,
            commits: 0,
            _card: card,
            _space: space,
            _mapping: mapping,
        };
        // Pages that are asked for ahead come while the program goes on, and would take memory's time from
        // commits: wait for the last.
        orders.table.load((rows - 1) * LINE)?;
        // An empty commit, which finds nothing up to there: the view is there, and the kernel serves it.
        orders.commit()?;
        Ok(orders)
    }

    /// Whether commits make the view anew from the whole table, as in the paper, or add what is new.
    pub fn recompute(&self, all: bool) -> Result<(), Error> {
        self.slot.set("recompute", u64::from(all))
    }

    /// Appends tuples: each is a line that is loaded exclusively and written.
    pub fn append(&mut self, tuples: &[Order]) -> Result<(), Error> {
        let mut under_way: VecDeque<(u64, PendingLine, Order)> = VecDeque::with_capacity(WINDOW);
        for tuple in tuples {
            if under_way.len() == WINDOW {
                self.write(under_way.pop_front())?;
            }
            let at = self.next * LINE;
            under_way.push_back((at, self.table.begin_load_exclusive(at)?, *tuple));
            self.next += 1;
        }
        while !under_way.is_empty() {
            self.write(under_way.pop_front())?;
        }
        Ok(())
    }

    fn write(&self, place: Option<(u64, PendingLine, Order)>) -> Result<(), Error> {
        let Some((at, line, tuple)) = place else {
            return Ok(());
        };
        line.wait()?;
        let bytes = [tuple.customer.to_le_bytes(), tuple.price.to_le_bytes()].concat();
        self.table.store(at, &bytes)
    }

    /// Ends a transaction: when it returns, the view has every tuple that was appended.
    pub fn commit(&mut self) -> Result<Commit, Box<dyn std::error::Error + Send + Sync>> {
        // The CPU still has the line of the commit before.
        let line = VIEW_LINES + self.commits % 2;
        let began = self.view.now()?;
        let answer = self.view.load(line * LINE)?;
        let took = self.view.now()? - began;
        if word(&answer, 0) != self.commits {
            return Err(format!("answer {} to commit {}", word(&answer, 0), self.commits).into());
        }
        self.commits += 1;
        Ok(Commit {
            tuples: word(&answer, 1),
            refused: word(&answer, 2),
            cycles: word(&answer, 3),
            took,
        })
    }

    /// The view: of each customer that has orders, how many, and the sum of their prices; by customer.
    pub fn view(&self) -> Result<BTreeMap<u64, (u64, u64)>, Error> {
        let mut rows = BTreeMap::new();
        let mut under_way: VecDeque<(u64, PendingLine)> = VecDeque::with_capacity(WINDOW);
        let mut take = |place: Option<(u64, PendingLine)>| -> Result<(), Error> {
            let Some((line, load)) = place else {
                return Ok(());
            };
            let bytes = load.wait()?;
            for entry in 0..8 {
                let (orders, sum) = (word(&bytes, 2 * entry), word(&bytes, 2 * entry + 1));
                if orders != 0 {
                    rows.insert(8 * line + entry as u64, (orders, sum));
                }
            }
            Ok(())
        };
        for line in 0..=self.customers / 8 {
            if under_way.len() == WINDOW {
                take(under_way.pop_front())?;
            }
            under_way.push_back((line, self.view.begin_load(line * LINE)?));
        }
        while !under_way.is_empty() {
            take(under_way.pop_front())?;
        }
        Ok(rows)
    }
}
