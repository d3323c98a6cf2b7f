//! Trapped memory of a program whose card is a daemon's: the daemon orders, the program's process protects its pages.
//!
//! Each right that a kernel gets is taken from the program first, by an order on a socket of its own, which the program's
//! agent thread acknowledges ([`wire::order_sockets`]). A trapped access is a request ([`wire::ServeTrap`]).

mod agent;
mod orders;

pub(crate) use agent::{Agent, Requests};
pub(crate) use orders::{ClientOrders, Orders};
