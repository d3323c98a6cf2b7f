//! From rules of interaction to state machines with every in-between state.
//!
//! Three steps, one module each:
//!
//! 1. [`cache`]: the remote agent. A rule with an answer becomes a waiting state; a forward that
//!    meets a waiting state is answered at once, and remembered where the home may have granted
//!    before it asked.
//! 2. [`track`]: what the home can know about one cache. A track is the *set* of everything that
//!    may be the case (state of the cache, messages in flight) after what the home has sent and
//!    received; sets are closed under whatever the cache and the unordered network may do next,
//!    so every conflict of latency and reordering is in there. Histories that lead to the same
//!    set are one state.
//! 3. [`directory`]: tracks of all caches, the transaction under way and the memory access under
//!    way, explored from the initial state.
//!
//! Then [`minimise`] merges states that no sequence of events tells apart.

mod cache;
mod directory;
mod minimise;
mod track;
mod unite;

pub use minimise::{directory_classes, merge_bisimilar};

use crate::machine::{CacheMachine, Directory};
use crate::spec::Spec;

/// Both machines of a protocol.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// Specification of the protocol.
    pub spec: Spec,
    /// The remote agent.
    pub cache: CacheMachine,
    /// The home agent, for the requested number of caches.
    pub directory: Directory,
    /// Sizes of the intermediate results.
    pub effort: Effort,
}

/// Sizes of the intermediate results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// States of the cache before merging.
    pub cache_states_raw: usize,
    /// Distinct beliefs of the home about one cache.
    pub beliefs: usize,
    /// Beliefs after compatible ones were united.
    pub tracks: usize,
    /// States of the directory before merging.
    pub directory_states_raw: usize,
}

/// Reason why no machine can be generated from a well-formed specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// A forward overtook a grant; the cache must give the copy up after using it, but no rule allows it.
    #[error(
        "a cache that is granted {from} after a forward to {to} overtook the grant must give the \
         copy up, but no `downgrade {from} -> ...` rule reaches {to} or less"
    )]
    NoWayBack {
        /// The granted state.
        from: String,
        /// State that the forward asked for.
        to: String,
    },
    /// A message can reach a cache in a state for which no rule defines it.
    #[error("a cache in state {state} can receive {message}, which no rule covers")]
    CacheCannotReceive {
        /// State of the cache.
        state: String,
        /// Name of the message.
        message: String,
    },
    /// The same message can be in flight twice, so the home could not count what is outstanding.
    #[error("{message} can be in flight twice between the home and one cache")]
    TwiceInFlight {
        /// Name of the message.
        message: String,
    },
    /// Data can arrive while memory is busy with the line: a response would have to stall.
    #[error("in state {state} {message} brings data while a memory access is under way")]
    DataWhileBusy {
        /// State of the directory.
        state: String,
        /// Name of the message.
        message: String,
    },
    /// The answer of a downgrade would collide with another message of the same step.
    #[error("in state {state} the home would have to send two messages at once")]
    TwoSends {
        /// State of the directory.
        state: String,
    },
    /// The machine exceeds the size limit.
    #[error("more than {limit} {what}; lower `hold` or the number of caches")]
    TooLarge {
        /// Item that is too numerous.
        what: &'static str,
        /// Upper limit.
        limit: usize,
    },
}

/// Generates the machines for a number of caches (1 to 3).
///
/// # Errors
///
/// [`GenerateError`] names the case that the rules leave open.
pub fn generate(spec: &Spec, caches: usize) -> Result<Protocol, GenerateError> {
    let raw_cache = cache::build(spec)?;
    let cache = merge_bisimilar(&raw_cache);
    let (raw_directory, beliefs, tracks) = directory::build(spec, &cache, caches.clamp(1, 3))?;
    let directory = minimise::merge_directory(&raw_directory);
    let effort = Effort {
        cache_states_raw: raw_cache.states.len(),
        beliefs,
        tracks,
        directory_states_raw: raw_directory.states.len(),
    };
    Ok(Protocol {
        spec: spec.clone(),
        cache,
        directory,
        effort,
    })
}
