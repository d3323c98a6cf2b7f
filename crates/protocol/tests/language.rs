//! Checks that the language's errors point at the fault, and that any input is handled.

mod common;

use proptest::prelude::*;
use protocol::spec::{parse, parse_bytes};

/// The error of a protocol with one line changed, as shown to its author.
fn error(from: &str, to: &str) -> String {
    let text = common::text("mesi");
    assert!(text.contains(from), "{from}");
    parse("mesi.protocol", &text.replacen(from, to, 1))
        .unwrap_err()
        .to_string()
}

#[test]
fn an_unknown_state_is_underlined() {
    let shown = error("upgrade I -> S on load", "upgrade I -> X on load");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].ends_with("no state is called `X`"), "{shown}");
    let caret = lines[2].find('^').unwrap();
    assert_eq!(&lines[1][caret..=caret], "X", "{shown}");
    assert!(lines[3].contains("I, S, E, M"), "{shown}");
}

#[test]
fn rules_of_the_language_are_enforced() {
    for (from, to, message) in [
        ("protocol mesi\n", "", "`protocol` line is missing"),
        ("state I\n", "state I read\n", "permits nothing"),
        (
            "may stall       : ReadShared",
            ": ReadShared",
            "may not stall",
        ),
        (
            "channel 8                   :",
            "channel 8 may stall :",
            "must not stall",
        ),
        ("on load", "on tuesday", "no access is called"),
        ("S -> I : EvictShared", "I -> S : EvictShared", "not weaker"),
        ("conflict S : AckShared", "", "no rule uses `AckShared`"),
        (
            "conflict I : AckInvalid",
            "conflict I : AckClean\nconflict I : AckInvalid",
            "already",
        ),
        (
            "forward S -> I : FwdDrop     answer AckClean",
            "",
            "no rule uses `FwdDrop`",
        ),
        (
            "GrantExclusive, DataExclusive if lost",
            "GrantExclusive",
            "may take the copy",
        ),
        (
            "read             : at most S",
            "read             : at most E",
            "may write must not",
        ),
        (
            "EvictDirty, CleanDirty",
            "EvictDirty, EvictDirty",
            "is taken",
        ),
        (
            "downgrade M -> I : EvictDirty",
            "downgrade M -> I : EvictClean",
            "must carry the data",
        ),
        ("hold 0", "hold 99", "at most 4"),
        ("hold 0", "hold", "the line ends"),
        ("hold 0", "hold 0 0", "the end of the line"),
        ("hold 0", "hold %", "means nothing here"),
        ("hold 0", "holt 0", "no rule starts with"),
        ("write -> M", "write -> I", "stronger state"),
    ] {
        let shown = error(from, to);
        assert!(shown.contains(message), "wanted {message:?}, got:\n{shown}");
    }
}

#[test]
fn rules_about_owners_are_enforced() {
    for (from, to, message, help) in [
        (
            "state O  read              dirty",
            "state O  read dirty\nstate P read dirty",
            "`O` is dirty without `write` already",
            "whom to ask",
        ),
        (
            "state E  read  write -> M",
            "state E  read  write -> M\nstate F read",
            "`F` permits less than `E`",
            "weakest first",
        ),
        (
            "upgrade O -> M on store",
            "upgrade I -> O on load : ReadShared answer DataShared\nupgrade O -> M on store",
            "no answer gives `O`",
            "by a forward",
        ),
        (
            "upgrade O -> M on store",
            "upgrade O -> E on store",
            "`O` is dirty and `E` is not",
            "a dirty state",
        ),
        (
            "UpgradeOwned   answer GrantExclusive, DataExclusive if lost",
            "UpgradeOwned   answer DataExclusive",
            "memory is old while a cache has `O`",
            "without data",
        ),
        (
            "downgrade M -> S : CleanDirty",
            "downgrade M -> O : CleanDirty",
            "would keep the data",
            "brings the data home",
        ),
        (
            "downgrade E -> I : EvictClean",
            "downgrade E -> I silent",
            "wait for data of `E`",
            "neither dirty nor may write",
        ),
        (
            "downgrade E -> I : EvictClean",
            "downgrade E -> I",
            "`:` and the message, or `silent`",
            "",
        ),
        (
            "forward E -> S, O if dirty",
            "forward E -> O",
            "a clean copy in `E` would become dirty",
            "say both",
        ),
        (
            "forward E -> S, O if dirty",
            "forward E -> S, I if dirty",
            "would become `I`, which is clean",
            "both do",
        ),
        (
            "forward O -> S : FwdOwnedClean ",
            "forward O -> S, I if dirty : FwdOwnedClean ",
            "`O` is always dirty",
            "one state",
        ),
        (
            "forward O -> O             : FwdRead    answer CopyDirty\n",
            "",
            "no rule uses `FwdRead`",
            "",
        ),
        (
            "FwdShared  answer AckClean, CopyDirty if dirty",
            "FwdShared  answer AckClean, AckDirty if dirty",
            "`AckDirty` has another purpose",
            "",
        ),
        (
            "forward O -> I : FwdOwnedInvalid",
            "forward O -> I : FwdOwnedClean",
            "`FwdOwnedClean` is a forward on line",
            "name another",
        ),
        (
            "operation read             : at most S",
            "operation read             : at most O",
            "memory is old while",
            "",
        ),
        (
            "upgrade I -> E on prefetch",
            "upgrade I -> E on load : ReadShared answer DataExclusive\nupgrade I -> E on prefetch",
            "another upgrade asks with",
            "two requests",
        ),
        (
            "class copy          channel 0",
            "class copy          channel 4",
            "channel 4 is that of `response_data`",
            "another channel",
        ),
        (
            "downgrade M -> I : EvictDirty",
            "downgrade M -> I : EvictDirty\ndowngrade M -> I : CleanDirty",
            "a second rule `downgrade M -> I`",
            "keep one",
        ),
        ("data : CopyDirty", "data never : CopyDirty", "`full`", ""),
    ] {
        let text = common::changed("moesi", &[(from, to)]);
        let shown = match parse("moesi.protocol", &text) {
            Ok(_) => panic!("{to:?} is accepted"),
            Err(error) => error.to_string(),
        };
        assert!(shown.contains(message), "wanted {message:?}, got:\n{shown}");
        assert!(shown.contains(help), "wanted {help:?}, got:\n{shown}");
        assert!(shown.starts_with("moesi.protocol:"), "{shown}");
    }
}

#[test]
fn forwards_that_owners_need_are_named() {
    let missing = |changes: &[(&str, &str)], wanted: &str| {
        let text = common::changed("moesi", changes);
        let shown = parse("moesi", &text).unwrap_err().to_string();
        assert!(shown.contains(wanted), "wanted {wanted:?}, got:\n{shown}");
    };
    let fetch = "forward O -> O             : FwdRead    answer CopyDirty\n";
    missing(
        &[(fetch, ""), ("FwdInvalid, FwdRead,", "FwdInvalid,")],
        "add a rule `forward O -> O",
    );
    let share = "forward E -> S, O if dirty : FwdShared  answer AckClean, CopyDirty if dirty\n";
    missing(
        &[(share, ""), ("FwdShared, FwdClean", "FwdClean")],
        "add a rule `forward E -> S, O if dirty",
    );
}

#[test]
fn a_missing_forward_is_named() {
    let text = common::text("esi")
        .replace("forward E -> S : Share       answer Flushed\n", "")
        .replace("Share, Flush", "Flush");
    let shown = parse("esi", &text).unwrap_err().to_string();
    assert!(
        shown.contains("nothing takes a cache from E to S"),
        "{shown}"
    );
}

#[test]
fn bytes_that_are_no_text_are_located() {
    let error = parse_bytes("x", b"protocol a\nhome \xff\n").unwrap_err();
    assert_eq!((error.fault.span.line, error.fault.span.column), (2, 6));
}

#[test]
fn pages_are_as_long_as_promised() {
    assert!(common::text("mesi").lines().count() <= 66, "one page");
    assert!(common::text("esi").lines().count() <= 33, "half a page");
}

/// Explores some thousand states; the verdict does not matter here, and the trace must be printable.
fn explore(protocol: &protocol::generate::Protocol) {
    use protocol::check::{buffers, check, Setting};
    let setting = Setting {
        max_states: 3_000,
        threads: 1,
        ..Setting::roomy()
    };
    if let Ok(verdict) = check(protocol, &setting, &mut |_| {}) {
        let _ = buffers(protocol, &verdict).to_string();
        let _ = verdict
            .failure
            .map(|trace| (trace.to_string(), trace.svg()));
    }
    assert!(!protocol::export::all(protocol).is_empty());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(error) = parse_bytes("fuzz", &bytes) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn mutated_specifications_never_panic(
        name in 0usize..common::ALL.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..24, ".{0,8}"), 1..4),
    ) {
        let mut text: Vec<char> = common::text(common::ALL[name]).chars().collect();
        for (place, length, insert) in cuts {
            let start = place.index(text.len().max(1)).min(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        match parse("fuzz", &text) {
            Err(error) => prop_assert!(error.to_string().contains('^')),
            // The generator must handle every accepted specification, too.
            Ok(spec) => { let _ = protocol::generate::generate(&spec, 1); }
        }
    }

    /// Words of the file in each other's places: most are wrong for the language, some are legal
    /// and mean something else. Whatever is accepted is generated and explored for a while.
    #[test]
    fn words_in_the_wrong_place_never_panic(
        name in 0usize..common::ALL.len(),
        swaps in proptest::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 1..4),
    ) {
        let text = common::text(common::ALL[name]);
        let mut words: Vec<&str> = text.split_inclusive([' ', ',', '\n']).collect();
        for (to, from) in swaps {
            let (to, from) = (to.index(words.len()), from.index(words.len()));
            words[to] = words[from];
        }
        match parse("fuzz", &words.concat()) {
            Err(error) => prop_assert!(error.to_string().contains('^')),
            Ok(spec) => {
                if let Ok(protocol) = protocol::generate::generate(&spec, 2) {
                    explore(&protocol);
                }
            }
        }
    }

    #[test]
    fn shuffled_lines_never_panic(name in 0usize..common::ALL.len(), seed in any::<u64>()) {
        let text = common::text(common::ALL[name]);
        let mut lines: Vec<&str> = text.lines().collect();
        let mut state = seed | 1;
        for i in (1..lines.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            lines.swap(i, (state >> 33) as usize % (i + 1));
        }
        lines.truncate(lines.len() - (seed % 7) as usize);
        if let Ok(spec) = parse("fuzz", &lines.join("\n")) {
            let _ = protocol::generate::generate(&spec, 1);
        }
    }
}
