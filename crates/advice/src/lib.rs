//! The bottleneck of a run, its distance from the bound, and remedies.
//!
//! Pure functions over a [`Report`](tombolo::Report) and what its card recorded ([`timeline::Record`]): no I/O, no clock, no
//! platform file. [`Occupancy`] divides the time of a run among its resources, [`Bound`] estimates what the run would gain
//! if each of them were free, and names the largest. [`Roofline`] shows the rate of a run below those that its resources
//! allow. A run outside the model is [`Unmodelled`], and gets no advice.
//!
//! The estimates are compared with runs in which the resource is free: `make bench ONLY=advice`.

mod bound;
mod compare;
mod occupancy;
mod remedy;
mod resource;
mod roofline;
mod unmodelled;

pub use bound::{Bound, Estimate};
pub use compare::{Comparison, Figure, NotAReport};
pub use occupancy::{Occupancy, Use};
pub use remedy::Remedy;
pub use resource::Resource;
pub use roofline::{Roof, Roofline};
pub use unmodelled::Unmodelled;
