//! The part of advice that says which pages leave first.

use units::Reuse;

/// Whose turn it is to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Keep {
    /// Before all others.
    Little,
    /// In the order of the policy.
    #[default]
    Usual,
    /// When nothing else can.
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
