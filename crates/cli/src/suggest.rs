//! "Did you mean": the known word that is nearest to an unknown one.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::ffi::OsString;

/// Maximum edit distance of a misspelling.
const LETTERS: usize = 3;

/// Edit distance: letters changed, added or removed; a swap of neighbours counts as one.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, of_other) in other.iter().enumerate() {
            let change = last[column] + usize::from(letter != of_other);
            let mut best = change.min(last[column + 1] + 1).min(now[column] + 1);
            let swapped =
                row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *of_other;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            now.push(best);
        }
        before = std::mem::replace(&mut last, now);
    }
    last[other.len()]
}

/// The known word that is near, if any.
fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known
        .into_iter()
        .map(|word| (distance(unknown, word), word))
        // A short word has too few letters for that distance to mean a likeness.
        .filter(|(far, word)| *far <= LETTERS && 2 * far <= word.chars().count().max(2))
        .min();
    near.map(|(_, word)| word)
}

/// `; did you mean …?`, or nothing if no known word is near.
pub fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(unknown, known).map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

/// Adds the nearest command or option to an error of the command line that has no such tip: clap compares words by the
/// places of equal letters, and finds nothing near `rnu` or `--mpa`.
pub fn add_tip(error: &mut clap::Error, command: &Command, words: &[OsString]) {
    let (unknown, suggested) = match error.kind() {
        ErrorKind::InvalidSubcommand => (
            ContextKind::InvalidSubcommand,
            ContextKind::SuggestedSubcommand,
        ),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        _ => return,
    };
    let (Some(ContextValue::String(unknown)), None) = (error.get(unknown), error.get(suggested))
    else {
        return;
    };
    let meant = words.iter().skip(1).fold(command, |command, word| {
        command.find_subcommand(word).unwrap_or(command)
    });
    let near = match unknown.strip_prefix("--") {
        Some(unknown) => nearest(unknown, meant.get_arguments().filter_map(Arg::get_long))
            .map(|option| format!("--{option}")),
        None => nearest(unknown, meant.get_subcommands().map(Command::get_name)).map(str::to_owned),
    };
    let Some(near) = near else {
        return;
    };
    // That the word could be passed as a value is no help then.
    error.remove(ContextKind::Suggested);
    let near = match suggested {
        ContextKind::SuggestedSubcommand => ContextValue::Strings(vec![near]),
        _ => ContextValue::String(near),
    };
    error.insert(suggested, near);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_have_distances() {
        for (one, other, far) in [
            ("input", "input", 0),
            ("inptu", "input", 1),
            ("aes255ctr", "aes256ctr", 1),
            ("sha265", "sha256", 1),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("bytes", "length", 6),
        ] {
            assert_eq!(distance(one, other), far, "{one} {other}");
            assert_eq!(distance(other, one), far, "{other} {one}");
        }
    }

    #[test]
    fn the_nearest_word_is_meant_and_far_ones_are_not() {
        let kernels = ["aes256ctr", "copy", "sha256", "sha3", "sum"];
        let meant = |word| did_you_mean(word, kernels);
        assert_eq!(meant("aes265crt"), "; did you mean `aes256ctr`?");
        assert_eq!(meant("sah256"), "; did you mean `sha256`?");
        assert_eq!(meant("cpoy"), "; did you mean `copy`?");
        assert_eq!(meant("multiply"), "");
        assert_eq!(meant("xy"), "");
        assert_eq!(did_you_mean("copy", []), "");
    }

    #[test]
    fn misspelled_commands_and_options_are_named() {
        let run = Command::new("run").arg(Arg::new("map").long("map"));
        let command = Command::new("tombolo").subcommand(run);
        for (words, tip) in [
            (["tombolo", "rnu"].as_slice(), "'run'"),
            (&["tombolo", "run", "--mpa"], "'--map'"),
            (&["tombolo", "run", "--maps"], "'--map'"),
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let mut error = command.clone().try_get_matches_from(&words).unwrap_err();
            add_tip(&mut error, &command, &words);
            let text = error.to_string();
            assert!(text.contains(&format!("exists: {tip}")), "{text}");
            assert!(!text.contains("as a value"), "{text}");
        }
        let words = ["tombolo", "quite-another"].map(OsString::from);
        let mut error = command.clone().try_get_matches_from(&words).unwrap_err();
        add_tip(&mut error, &command, &words);
        assert!(!error.to_string().contains("tip"));
    }
}
