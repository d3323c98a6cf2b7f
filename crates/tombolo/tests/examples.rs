//! Do examples say what they understand, and refuse the rest?

#[path = "../examples/common/command.rs"]
mod command;

use std::ffi::OsString;
use std::process::ExitCode;

/// The code of an example that takes one word, and whether it began.
fn code_of(words: &[&str], fails: bool) -> (String, bool) {
    let mut began = false;
    let arguments = std::iter::once(&"example").chain(words).map(OsString::from);
    let code = command::command(arguments, "Usage: example [WORD]", 1, |given| {
        began = true;
        assert_eq!(given, words);
        match fails {
            true => Err("it is wrong".into()),
            false => Ok(()),
        }
    });
    (format!("{code:?}"), began)
}

fn code(number: u8) -> String {
    format!("{:?}", ExitCode::from(number))
}

#[test]
fn words_are_understood_or_refused() {
    assert_eq!(code_of(&[], false), (code(0), true));
    assert_eq!(code_of(&["picture.svg"], false), (code(0), true));
    assert_eq!(code_of(&["picture.svg"], true), (code(1), true));
    // Help is not what the example does.
    assert_eq!(code_of(&["a", "--help"], true), (code(0), false));
    assert_eq!(code_of(&["-h"], true), (code(0), false));
    for words in [&["a", "b"][..], &["--quick"], &["-x"], &["a", "--quick"]] {
        assert_eq!(code_of(words, false), (code(2), false), "{words:?}");
    }
}
