//! An empty crate that every other crate depends on, so that third-party crates are compiled with the same features
//! whichever part of the workspace is built: tests, the Python package or the C library. Otherwise each of these would
//! recompile almost all dependencies.
