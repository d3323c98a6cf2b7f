//! Retention: the part of advice that sets the order of eviction.

use units::Reuse;

/// Retention class of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Keep {
    /// Evicted before all others.
    Little,
    /// Evicted in the order of the policy.
    #[default]
    Usual,
    /// Evicted only when no other page can be.
    Long,
}

impl Keep {
    pub(crate) const ALL: [Self; 3] = [Self::Little, Self::Usual, Self::Long];

    pub(crate) const fn of(reuse: Option<Reuse>) -> Self {
        match reuse {
            Some(Reuse::Low) => Self::Little,
            None => Self::Usual,
            Some(Reuse::High) => Self::Long,
        }
    }
}
