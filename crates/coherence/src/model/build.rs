//! The directory's model, by size.

use std::path::PathBuf;

use verilated::BuildError;

use super::library::{Mutation, Recipe};

/// Size of a directory: the parameters of `tmb_directory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryGeometry {
    /// Link channel pairs.
    pub slices: usize,
    /// Units of a slice.
    pub units: usize,
    /// Sets of a unit.
    pub sets: usize,
    /// Ways of a set.
    pub ways: usize,
    /// Cycles that a request waits for a way before another line is recalled.
    pub patience: usize,
    /// Requests of the CPU that may be under way at once, to each slice: 32 or 64.
    pub request_ids: usize,
}

impl DirectoryGeometry {
    /// The paper's: 64 units in two slices, 16 MiB of lines.
    pub const PAPER: Self = Self {
        slices: 2,
        units: 32,
        sets: 128,
        ways: 16,
        patience: 255,
        request_ids: 32,
    };

    /// As many lines in eight units: what pipelined units make possible.
    pub const COMPACT: Self = Self {
        slices: 2,
        units: 4,
        sets: 1024,
        ways: 16,
        patience: 255,
        request_ids: 32,
    };

    /// Four units with few lines, so that conflicts are frequent.
    pub const SMALL: Self = Self {
        slices: 2,
        units: 2,
        sets: 4,
        ways: 2,
        patience: 63,
        request_ids: 32,
    };

    /// The paper's units with few lines each.
    pub const WIDE: Self = Self {
        slices: 2,
        units: 32,
        sets: 2,
        ways: 2,
        patience: 63,
        request_ids: 32,
    };

    /// The same directory with six bits for a request's number.
    #[must_use]
    pub fn with_wide_requests(self) -> Self {
        Self {
            request_ids: 64,
            ..self
        }
    }

    /// All sets: the sets of a cache of the same geometry.
    #[must_use]
    pub fn total_sets(self) -> usize {
        self.slices * self.units * self.sets
    }
}

/// Why there is no model, or no longer one.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The library is not what it should be.
    #[error("{}: {reason}; delete it and build again", path.display())]
    Load {
        /// Path of the library.
        path: PathBuf,
        /// Description of the mismatch.
        reason: String,
    },
    /// A mutation whose text the file does not have exactly once.
    #[error("mutation \"{what}\" does not fit {file}")]
    Mutation {
        /// The property that it breaks.
        what: &'static str,
        /// Source file, relative to the checkout.
        file: &'static str,
    },
    /// The model ended itself: an assertion of the RTL failed (its words are on the terminal).
    #[error("the model stopped: an assertion of the RTL failed")]
    Stopped,
}

/// Builds a model, or finds it in the cache; returns the library for [`super::DirectoryModel::load`].
///
/// # Errors
/// [`ModelError`] names the tool and what it said.
pub fn build(geometry: DirectoryGeometry) -> Result<PathBuf, ModelError> {
    build_changed(geometry, None)
}

/// The same with a change of the RTL.
///
/// # Errors
/// [`ModelError`] names the tool and what it said, or the mutation that does not fit.
pub fn build_changed(
    geometry: DirectoryGeometry,
    mutation: Option<Mutation>,
) -> Result<PathBuf, ModelError> {
    let wide = geometry.request_ids > usize::from(crate::cache::REQUESTS);
    Recipe {
        name: "directory",
        rtl: "rtl/directory/tmb_directory.f",
        top: "tmb_directory_harness",
        harness: include_str!("harness.sv"),
        glue: include_str!("glue.cpp"),
        parameters: vec![
            ("NumSlices", geometry.slices),
            ("UnitsPerSlice", geometry.units),
            ("SetsPerUnit", geometry.sets),
            ("Ways", geometry.ways),
            ("Patience", geometry.patience),
        ],
        rtl_defines: match wide {
            true => vec!["TMB_REQUEST_ID_WIDTH=6".to_owned()],
            false => Vec::new(),
        },
        defines: vec![format!("NUM_SLICES={}", geometry.slices)],
        assertions: true,
        mutation,
    }
    .build()
}
