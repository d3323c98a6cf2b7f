//! The PCIe link between host and card: packet overhead, credits, latency, order.

mod link;

pub use link::PcieLink;

use units::Picoseconds;

/// When something that crosses the link happens. See [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The first payload byte is at its destination.
    pub first: Picoseconds,
    /// The last one is.
    pub last: Picoseconds,
}

/// The link, seen by the card's DMA engine and by the host's register accesses.
pub trait Link {
    /// The card reads `bytes` of host memory with one AXI burst at `now`. Data arrive at the card
    /// evenly from `first` to `last`, in the order of the requests.
    fn read_host(&mut self, now: Picoseconds, bytes: u64) -> Transfer;

    /// The card writes `bytes` of host memory (posted). `first`: the card may forget it (credits);
    /// `last`: the bytes are visible to the host. Never overtakes an earlier posted write.
    fn write_host(&mut self, now: Picoseconds, bytes: u64) -> Transfer;

    /// The card interrupts the host (a posted write behind all earlier ones): when it arrives.
    fn interrupt(&mut self, now: Picoseconds) -> Picoseconds;

    /// The host writes a register (posted): when it reaches the card's BAR, in order.
    fn register_write(&mut self, now: Picoseconds) -> Picoseconds;

    /// The host reads a register: when the request reaches the BAR, behind earlier writes.
    fn register_read_request(&mut self, now: Picoseconds) -> Picoseconds;

    /// The answer to a register read leaves the card at `now`: when the host has it (behind earlier
    /// posted writes of the card).
    fn register_read_response(&mut self, now: Picoseconds) -> Picoseconds;

    /// Time with payload on the wire, (host to card, card to host).
    fn busy(&self) -> (Picoseconds, Picoseconds);
}
