//! Advice on a kernel's use of a mapping: FSRF's four words (§4.3), and a choice of the fetch policy.
//!
//! Advice steers policies, never results: wrong advice costs time, not correctness.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Order in which a kernel accesses a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Sequential: pages are read ahead, in the largest windows, from the first access on.
    Stream,
    /// Random: no read-ahead.
    Random,
}

/// Expected reuse of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reuse {
    /// Rarely reused: its pages are evicted before all others.
    Low,
    /// Frequently reused: its pages stay while others can be evicted.
    High,
}

/// Fetch policy of a mapping, for users who choose one explicitly.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Fetch {
    /// The missing page, and its block as far as frames are free.
    OnDemand,
    /// The following pages, if accesses are sequential.
    #[default]
    ReadAhead,
    /// The whole mapping at its first access, as far as frames are free: AmorphOS's policy.
    Preload,
}

impl Fetch {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::OnDemand, Self::ReadAhead, Self::Preload];

    /// Name in options and advice.
    pub const fn word(self) -> &'static str {
        match self {
            Self::OnDemand => "ondemand",
            Self::ReadAhead => "readahead",
            Self::Preload => "preload",
        }
    }
}

/// Advice on a range of a space. A field of `None` is left to the pager, or keeps its earlier advice.
///
/// ```
/// use tombolo_units::Advice;
///
/// let advice = Advice::STREAM.and(Advice::LOW_USE).unwrap();
/// assert_eq!("stream+lowuse".parse(), Ok(advice));
/// assert!(Advice::STREAM.and(Advice::RANDOM).is_err());
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(default)]
pub struct Advice {
    /// Order of accesses.
    pub pattern: Option<Pattern>,
    /// Expected reuse.
    pub reuse: Option<Reuse>,
    /// Fetch policy for a missing page; it takes precedence over the pattern.
    pub fetch: Option<Fetch>,
}

/// An error in words of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdviceError {
    /// Two words contradict each other.
    Contradiction {
        /// First word.
        one: &'static str,
        /// Second word.
        other: &'static str,
    },
    /// The word is no advice.
    Unknown {
        /// Rejected word.
        word: String,
    },
}

impl fmt::Display for AdviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contradiction { one, other } => {
                write!(f, "the advice {one} and {other} exclude each other: say one of them")
            }
            Self::Unknown { word } => write!(
                f,
                "{word:?} is no advice: say stream or random, reuse or lowuse, and ondemand, readahead or \
                 preload, joined by +"
            ),
        }
    }
}

impl std::error::Error for AdviceError {}

impl Advice {
    /// No advice.
    pub const NONE: Self = Self {
        pattern: None,
        reuse: None,
        fetch: None,
    };
    /// Sequential accesses.
    pub const STREAM: Self = Self {
        pattern: Some(Pattern::Stream),
        ..Self::NONE
    };
    /// Random accesses.
    pub const RANDOM: Self = Self {
        pattern: Some(Pattern::Random),
        ..Self::NONE
    };
    /// Frequently reused.
    pub const REUSE: Self = Self {
        reuse: Some(Reuse::High),
        ..Self::NONE
    };
    /// Used about once.
    pub const LOW_USE: Self = Self {
        reuse: Some(Reuse::Low),
        ..Self::NONE
    };

    /// A choice of the fetch policy.
    pub const fn fetching(fetch: Fetch) -> Self {
        Self {
            fetch: Some(fetch),
            ..Self::NONE
        }
    }

    /// Combines two pieces of advice.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn and(self, other: Self) -> Result<Self, AdviceError> {
        let contradiction = |one, other| AdviceError::Contradiction { one, other };
        Ok(Self {
            pattern: either(self.pattern, other.pattern, |a, b| {
                contradiction(a.word(), b.word())
            })?,
            reuse: either(self.reuse, other.reuse, |a, b| {
                contradiction(a.word(), b.word())
            })?,
            fetch: either(self.fetch, other.fetch, |a, b| {
                contradiction(a.word(), b.word())
            })?,
        })
    }

    /// The advice in effect when `later` follows this: the later word wins, an open field keeps the earlier word, and
    /// empty advice resets all.
    pub fn then(self, later: Self) -> Self {
        if later.is_empty() {
            return later;
        }
        Self {
            pattern: later.pattern.or(self.pattern),
            reuse: later.reuse.or(self.reuse),
            fetch: later.fetch.or(self.fetch),
        }
    }

    /// Whether nothing is advised. Applied to a range, empty advice resets earlier advice.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    fn words(self) -> impl Iterator<Item = &'static str> {
        let pattern = self.pattern.map(Pattern::word);
        let reuse = self.reuse.map(Reuse::word);
        let fetch = self.fetch.map(Fetch::word);
        [pattern, reuse, fetch].into_iter().flatten()
    }
}

/// The value that is given, unless two values differ.
fn either<T: PartialEq + Copy>(
    one: Option<T>,
    other: Option<T>,
    contradiction: impl Fn(T, T) -> AdviceError,
) -> Result<Option<T>, AdviceError> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(contradiction(one, other)),
        (one, other) => Ok(one.or(other)),
    }
}

impl Pattern {
    const fn word(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Random => "random",
        }
    }
}

impl Reuse {
    const fn word(self) -> &'static str {
        match self {
            Self::Low => "lowuse",
            Self::High => "reuse",
        }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.words().collect();
        match words.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&words.join("+")),
        }
    }
}

impl FromStr for Advice {
    type Err = AdviceError;

    fn from_str(text: &str) -> Result<Self, AdviceError> {
        let unknown = |word: &str| AdviceError::Unknown {
            word: word.to_owned(),
        };
        let word = |word: &str| match word {
            "stream" => Ok(Self::STREAM),
            "random" => Ok(Self::RANDOM),
            "reuse" => Ok(Self::REUSE),
            "lowuse" => Ok(Self::LOW_USE),
            _ => match Fetch::ALL.into_iter().find(|fetch| fetch.word() == word) {
                Some(fetch) => Ok(Self::fetching(fetch)),
                None => Err(unknown(word)),
            },
        };
        if text == "none" {
            return Ok(Self::NONE);
        }
        text.split('+')
            .try_fold(Self::NONE, |all, next| all.and(word(next)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_advice_are_the_same() {
        for text in [
            "none",
            "stream",
            "random+reuse",
            "stream+lowuse+preload",
            "ondemand",
        ] {
            let advice: Advice = text.parse().unwrap();
            assert_eq!(advice.to_string(), text);
        }
        for text in ["", "fast", "stream+", "stream,reuse", "Stream"] {
            assert!(text.parse::<Advice>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn contradictions_are_named() {
        let error = "reuse+stream+lowuse".parse::<Advice>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the advice reuse and lowuse exclude each other: say one of them"
        );
        assert_eq!(Advice::STREAM.and(Advice::STREAM), Ok(Advice::STREAM));
    }

    #[test]
    fn the_later_word_counts() {
        let both = Advice::STREAM.then(Advice::REUSE);
        assert_eq!(both.to_string(), "stream+reuse");
        assert_eq!(both.then(Advice::RANDOM).to_string(), "random+reuse");
        assert_eq!(both.then(Advice::NONE), Advice::NONE);
    }
}
