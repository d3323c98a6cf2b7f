//! Requests of clients to the pager.

mod advise;
mod answer;
mod mapping;
mod object;
mod space;
mod sync;
