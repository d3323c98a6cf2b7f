//! What clients ask of the pager.

mod answer;
mod mapping;
mod object;
mod space;
mod sync;
