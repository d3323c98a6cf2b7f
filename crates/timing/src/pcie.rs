//! The PCIe link between host and card: packet overhead, credits, latency, ordering.

mod link;

pub use link::PcieLink;

use units::Picoseconds;

/// Times of a transfer over the link. See [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Arrival of the first payload byte at its destination.
    pub first: Picoseconds,
    /// Arrival of the last one.
    pub last: Picoseconds,
}

/// The link, as seen by the card's DMA engine and by the host's register accesses.
pub trait Link {
    /// The card reads `bytes` of host memory with one AXI burst at `now`. Data arrives at the card evenly from `first`
    /// to `last`, in the order of the requests.
    fn read_host(&mut self, now: Picoseconds, bytes: u64) -> Transfer;

    /// The card writes `bytes` of host memory (posted). `first`: the card may release it (credits); `last`: the bytes
    /// are visible to the host. Never overtakes an earlier posted write.
    fn write_host(&mut self, now: Picoseconds, bytes: u64) -> Transfer;

    /// The card interrupts the host (a posted write behind all earlier ones); returns the arrival time.
    fn interrupt(&mut self, now: Picoseconds) -> Picoseconds;

    /// The host writes a register (posted); returns the arrival at the card's BAR, in order.
    fn register_write(&mut self, now: Picoseconds) -> Picoseconds;

    /// The host reads a register; returns the arrival of the request at the BAR, behind earlier writes.
    fn register_read_request(&mut self, now: Picoseconds) -> Picoseconds;

    /// The response to a register read leaves the card at `now`; returns its arrival at the host (behind earlier posted
    /// writes of the card).
    fn register_read_response(&mut self, now: Picoseconds) -> Picoseconds;

    /// Time with payload on the wire, (host to card, card to host).
    fn busy(&self) -> (Picoseconds, Picoseconds);
}
