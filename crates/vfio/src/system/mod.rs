//! The calls of Linux's vfio: groups, containers and devices (`linux/vfio.h`). A room of `unsafe`.
//!
//! What a card can reach is held by [`Container`] until its map has ended. Linux ends all maps when device, group and
//! container are closed: in this order, the container's memory last.

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
