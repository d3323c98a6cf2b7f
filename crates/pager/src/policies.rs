//! The replaceable policies.

use crate::eviction::{EvictionPolicy, Fifo};
use crate::fetch::{FetchPolicy, OnDemand};
use crate::placement::{Placement, RoundRobin};
use crate::size::{Doubling, PageSizePolicy};

/// The replaceable policies.
#[derive(Debug)]
pub struct Policies {
    /// Chooses the channel of a page.
    pub placement: Box<dyn Placement>,
    /// Chooses the page to evict when frames run out.
    pub eviction: Box<dyn EvictionPolicy>,
    /// Chooses the pages fetched in addition to a missing page.
    pub fetch: Box<dyn FetchPolicy>,
    /// Chooses page sizes, for objects with several.
    pub size: Box<dyn PageSizePolicy>,
}

impl Default for Policies {
    /// Round robin over the channels; first in, first out; no read-ahead.
    fn default() -> Self {
        Self {
            placement: Box::<RoundRobin>::default(),
            eviction: Box::<Fifo>::default(),
            fetch: Box::<OnDemand>::default(),
            size: Box::<Doubling>::default(),
        }
    }
}
