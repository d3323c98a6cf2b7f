//! Targets and published values of figures, as data.
//!
//! `bench/claims.toml` and the section `[rows]` of the files in `experiments/` list them by the name of the figure; no
//! target and no published value of a figure is in the code.

use crate::row::Row;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Maximum relative deviation that counts as reproduced, unless a claim states another.
const WITHIN: f64 = 0.25;

/// Target of a figure, its published value, or both.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ClaimText")]
pub struct Claim {
    target: Option<Target>,
    /// The published value, in the unit of the figure.
    pub published: Option<Published>,
}

/// A claim in the format of the files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimText {
    at_least: Option<f64>,
    at_most: Option<f64>,
    equals: Option<f64>,
    paper: Option<f64>,
    source: Option<String>,
    state: Option<State>,
    why: Option<String>,
    within: Option<f64>,
}

/// Bound of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Exactly this.
    Exactly(f64),
}

/// A published value with its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The value as printed, in the unit of the figure.
    pub value: f64,
    /// Paper, and table, figure or section.
    pub source: String,
    /// How our figure may be compared with it.
    pub state: State,
    /// The constant and its cell, the paper's sentence, or the reason, as the state requires; empty for a prediction.
    pub why: String,
    /// Maximum relative deviation that counts as reproduced.
    within: f64,
}

/// How a figure may be compared with a published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing was fitted to it: met within the deviation.
    Predicted,
    /// A constant was fitted to it: not counted as reproduced.
    Calibrated,
    /// The comparison cannot fail.
    Identity,
    /// A sentence of the paper makes it incomparable.
    NotComparable,
    /// Missed, for a known reason.
    NotReproduced,
    /// Ours is another design or setup than the paper's; its own target counts.
    OtherSetup,
}

impl State {
    /// The state in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Calibrated => "calibrated",
            Self::Identity => "identity",
            Self::NotComparable => "not comparable",
            Self::NotReproduced => "not reproduced",
            Self::OtherSetup => "other setup",
        }
    }
}

impl TryFrom<ClaimText> for Claim {
    type Error = String;

    fn try_from(text: ClaimText) -> Result<Self, String> {
        let target = match (text.at_least, text.at_most, text.equals) {
            (None, None, None) => None,
            (Some(bound), None, None) => Some(Target::AtLeast(bound)),
            (None, Some(bound), None) => Some(Target::AtMost(bound)),
            (None, None, Some(value)) => Some(Target::Exactly(value)),
            _ => return Err("one of at_least, at_most, equals".to_owned()),
        };
        let published = match (text.paper, text.source, text.state) {
            (None, None, None) if text.why.is_none() && text.within.is_none() => None,
            (Some(value), Some(source), Some(state)) => {
                let needs_reason = state != State::Predicted;
                if needs_reason != text.why.is_some() {
                    return Err(format!(
                        "`why` belongs to every state but predicted, and to all of these ({})",
                        state.name()
                    ));
                }
                Some(Published {
                    value,
                    source,
                    state,
                    why: text.why.unwrap_or_default(),
                    within: text.within.unwrap_or(WITHIN),
                })
            }
            _ => return Err("paper, source and state belong together".to_owned()),
        };
        match (&target, &published) {
            (None, None) => Err("neither a target nor a published value".to_owned()),
            _ => Ok(Self { target, published }),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, "≥ {bound}"),
            Self::AtMost(bound) => write!(f, "≤ {bound}"),
            Self::Exactly(value) => write!(f, "= {value}"),
        }
    }
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
            Self::Exactly(wanted) => value == wanted,
        }
    }
}

impl Published {
    /// Whether a figure reproduces the value; `None` if it cannot be missed.
    pub(crate) fn is_met(&self, value: f64) -> Option<bool> {
        match self.state {
            State::Predicted => Some((value / self.value - 1.0).abs() <= self.within),
            State::NotReproduced => Some(false),
            _ => None,
        }
    }
}

impl Claim {
    /// The bound, if there is one.
    pub fn target(&self) -> Option<Target> {
        self.target
    }

    /// Whether a value meets all that it is held against; `None` if nothing can be missed.
    pub fn is_met(&self, value: f64) -> Option<bool> {
        if !value.is_finite() {
            return Some(false);
        }
        let published = self.published.as_ref().and_then(|one| one.is_met(value));
        let target = self.target.map(|target| target.is_met(value));
        match (target, published) {
            (None, None) => None,
            (target, published) => Some(target.unwrap_or(true) && published.unwrap_or(true)),
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(target) = self.target {
            write!(f, "{target}")?;
        }
        if let Some(published) = &self.published {
            let separator = if self.target.is_some() { "; " } else { "" };
            let (value, state) = (published.value, published.state.name());
            write!(f, "{separator}paper {value}, {state}")?;
        }
        Ok(())
    }
}

/// Published values that are no single figure of the bench: a table's, or those of a sentence.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement<T> {
    /// Paper, and table, figure or section.
    pub source: String,
    /// How ours may be compared with them.
    pub state: State,
    /// Reason for any state but predicted.
    #[serde(default)]
    pub why: String,
    /// The values as printed.
    pub paper: T,
}

/// Why the claims cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClaimsError {
    /// A file cannot be read, or is malformed.
    #[error("{}: {told}", .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Message of the parser or the system.
        told: String,
    },
    /// Two files claim the same figure.
    #[error("{}: `{name}` is claimed in another file too: a value counts once", .path.display())]
    Twice {
        /// The second file.
        path: PathBuf,
        /// Name of the figure.
        name: String,
    },
}

/// Files with claims: `bench/claims.toml` and `experiments/*.toml` of a checkout.
///
/// # Errors
/// [`ClaimsError::File`]: the folder of experiments cannot be read.
pub fn files(home: &Path) -> Result<Vec<PathBuf>, ClaimsError> {
    let folder = home.join("experiments");
    let entries = std::fs::read_dir(&folder).map_err(|error| ClaimsError::File {
        path: folder,
        told: error.to_string(),
    })?;
    let experiments = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let experiments = experiments.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    Ok([home.join("bench/claims.toml")]
        .into_iter()
        .chain(experiments)
        .collect())
}

/// Claims by the name of the figure.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Claims(BTreeMap<String, Claim>);

impl Claims {
    /// The claims of this checkout.
    ///
    /// # Errors
    /// [`ClaimsError`]
    pub fn of_checkout() -> Result<&'static Self, ClaimsError> {
        static READ: OnceLock<Result<Claims, ClaimsError>> = OnceLock::new();
        let read = READ.get_or_init(|| Self::read(&simcard::home()));
        read.as_ref().map_err(Clone::clone)
    }

    /// Reads `bench/claims.toml`, and the sections `[rows]` of `experiments/*.toml`.
    ///
    /// # Errors
    /// [`ClaimsError`]
    pub fn read(home: &Path) -> Result<Self, ClaimsError> {
        #[derive(Deserialize)]
        struct Sections {
            #[serde(default)]
            rows: Claims,
        }
        let mut all = BTreeMap::new();
        let failed = |path: &Path, told: String| ClaimsError::File {
            path: path.to_owned(),
            told,
        };
        for path in files(home)? {
            let text =
                std::fs::read_to_string(&path).map_err(|error| failed(&path, error.to_string()))?;
            let sections: Sections =
                toml::from_str(&text).map_err(|error| failed(&path, error.to_string()))?;
            for (name, claim) in sections.rows.0 {
                if all.contains_key(&name) {
                    return Err(ClaimsError::Twice { path, name });
                }
                all.insert(name, claim);
            }
        }
        Ok(Self(all))
    }

    /// Claim of a figure; `None` for one that is only printed.
    pub fn of(&self, name: &str) -> Option<&Claim> {
        self.0.get(name)
    }

    /// The published value of a figure.
    pub fn published(&self, name: &str) -> Option<f64> {
        Some(self.of(name)?.published.as_ref()?.value)
    }

    /// All figures with their claims.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Claim)> {
        self.0.iter().map(|(name, claim)| (name.as_str(), claim))
    }

    /// A measured figure with what it is held against.
    pub fn judge(&self, row: Row) -> Judged {
        let claim = self.of(&row.name).cloned();
        let met = match &claim {
            Some(claim) => claim.is_met(row.value),
            None => (!row.value.is_finite()).then_some(false),
        };
        Judged { row, claim, met }
    }
}

/// A measured figure with what it is held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Name, value and unit.
    pub row: Row,
    /// Its claim; `None` for a figure that is only printed.
    pub claim: Option<Claim>,
    /// Whether the claim is met; `None` if it cannot be missed.
    pub met: Option<bool>,
}

impl Judged {
    /// The verdict in a word; empty if nothing can be missed.
    pub fn verdict(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        }
    }

    /// The published value that it is compared with.
    pub fn published(&self) -> Option<&Published> {
        self.claim.as_ref()?.published.as_ref()
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { name, value, unit } = &self.row;
        let value = match value.fract() == 0.0 {
            true => format!("{value:.0}"),
            false => format!("{value:.4}"),
        };
        let against = self
            .claim
            .as_ref()
            .map_or_else(String::new, Claim::to_string);
        let line = format!(
            "{name:<36}{value:>14} {unit:<10} {against:<12} {}",
            self.verdict()
        );
        f.write_str(line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bars, results};
    use std::collections::BTreeSet;

    fn claim(text: &str) -> Result<Claim, String> {
        let claims: Result<Claims, _> = toml::from_str(&format!("a = {{ {text} }}"));
        let claims = claims.map_err(|error| error.to_string())?;
        Ok(claims.of("a").unwrap().clone())
    }

    fn met(text: &str, value: f64) -> Option<bool> {
        claim(text).unwrap().is_met(value)
    }

    #[test]
    fn targets_decide() {
        assert_eq!(met("at_least = 0.97", 0.97), Some(true));
        assert_eq!(met("at_least = 0.97", 0.96), Some(false));
        assert_eq!(met("at_most = 1", 1.5), Some(false));
        assert_eq!(met("equals = 0", 0.0), Some(true));
        assert_eq!(met("at_most = 1", f64::NAN), Some(false));
    }

    #[test]
    fn a_published_value_decides_where_it_is_predicted() {
        let paper =
            |state: &str| format!("paper = 100, source = \"FSRF, table 3\", state = \"{state}\"");
        assert_eq!(met(&paper("predicted"), 124.0), Some(true));
        assert_eq!(met(&paper("predicted"), 126.0), Some(false));
        let narrow = paper("predicted") + ", within = 0.1";
        assert_eq!(met(&narrow, 111.0), Some(false));
        let reason = ", why = \"because\"";
        assert_eq!(met(&(paper("calibrated") + reason), 300.0), None);
        assert_eq!(met(&(paper("not_reproduced") + reason), 100.0), Some(false));
        let both = paper("other_setup") + reason + ", at_most = 90";
        assert_eq!(met(&both, 100.0), Some(false));
        assert_eq!(
            claim(&both).unwrap().to_string(),
            "≤ 90; paper 100, other setup"
        );
    }

    #[test]
    fn a_claim_without_state_or_reason_is_refused() {
        for (text, told) in [
            ("paper = 1, source = \"x\"", "belong together"),
            (
                "paper = 1, source = \"x\", state = \"identity\"",
                "`why` belongs",
            ),
            (
                "paper = 1, source = \"x\", state = \"predicted\", why = \"no\"",
                "`why` belongs",
            ),
            ("at_least = 1, at_most = 2", "one of"),
            ("", "neither"),
        ] {
            let error = claim(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_figure_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("bench/claims.toml", "[rows]\n\"a.b\" = { at_least = 1 }\n"),
            (
                "experiments/x.toml",
                "title = \"\"\n[rows]\n\"a.b\" = { at_most = 1 }\n",
            ),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let error = Claims::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("counts once"), "{error}");
    }

    /// Every claim is about a figure that a bar measures.
    #[test]
    fn every_claim_is_of_a_bar() {
        let names: BTreeSet<&str> = bars::ALL
            .iter()
            .flat_map(|bar| bar.names)
            .copied()
            .collect();
        for (name, _) in Claims::of_checkout().unwrap().iter() {
            assert!(names.contains(name), "{name}: no bar measures it");
        }
    }

    /// The file of results holds exactly what is claimed, judged by the present claims.
    #[test]
    fn results_are_judged_by_the_present_claims() {
        let claims = Claims::of_checkout().unwrap();
        for stored in results::all().unwrap() {
            let judged = claims.judge(stored.row());
            let claim = judged.claim.as_ref();
            let claim = claim.unwrap_or_else(|| panic!("{}: nothing is claimed", stored.name));
            let is = (claim.to_string(), judged.met);
            assert_eq!(is, (stored.target, stored.met), "{}", stored.name);
        }
    }
}
