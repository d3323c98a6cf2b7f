//! System calls of Linux's vfio: groups, containers and devices (`linux/vfio.h`). A room of `unsafe`.
//!
//! [`Container`] owns the memory that a card can access until its map is removed. Linux removes all maps when device,
//! group and container are closed: in this order, and before the container's memory is freed.

mod bar;
mod call;
mod container;
mod event;
mod function;
mod group;

pub(crate) use bar::Bar;
pub(crate) use container::Container;
pub(crate) use event::Event;
pub(crate) use function::{Function, RegionInfo};
pub(crate) use group::Group;
