//! Identifiers in the style of the target languages.

use std::collections::HashSet;

use crate::machine::capital;

/// `I_op_read_reading` as `IOpReadReading`.
#[must_use]
pub fn camel(name: &str) -> String {
    name.split('_').map(capital).collect()
}

/// `camel` names for a list; duplicates get a number.
pub(super) fn distinct_camel<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut list = Vec::new();
    for name in names {
        let base = camel(name);
        let mut candidate = base.clone();
        let mut number = 2;
        while !taken.insert(candidate.clone()) {
            candidate = format!("{base}V{number}");
            number += 1;
        }
        list.push(candidate);
    }
    list
}

/// Number of bits that can number `count` things, at least one.
pub(super) fn bits(count: usize) -> usize {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1) as usize
}
