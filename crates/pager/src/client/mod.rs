//! What clients ask of the pager.

mod advise;
mod answer;
mod mapping;
mod object;
mod space;
mod sync;
