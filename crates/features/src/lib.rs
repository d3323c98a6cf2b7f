//! Nothing. What all crates depend on, so that those of others are compiled with the same features whatever part of
//! the workspace is built: tests, the Python package, the C library. Else each of these would compile nearly
//! everything once more.
