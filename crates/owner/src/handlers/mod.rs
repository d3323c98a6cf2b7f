//! Handlers of requests that wait: tasks. Each handler has the rooms that it may borrow, and no others.

pub(crate) mod claims;
pub(crate) mod files;
pub(crate) mod lines;
pub(crate) mod memory;
pub(crate) mod pager_calls;
pub(crate) mod preloading;
pub(crate) mod saving;
pub(crate) mod slots;
pub(crate) mod spaces;
pub(crate) mod storage;
pub(crate) mod streams;
