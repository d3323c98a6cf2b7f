//! Examples as commands: `--help`, refusal of unknown words, and errors as sentences.

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

/// Why an example fails.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Calls `run` with at most `most` arguments of the program. `--help` prints `usage` instead; further arguments and
/// unknown options are refused with it.
pub fn command(
    arguments: impl Iterator<Item = OsString>,
    usage: &str,
    most: usize,
    run: impl FnOnce(&[OsString]) -> Result<(), Failure>,
) -> ExitCode {
    let words: Vec<OsString> = arguments.skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{usage}");
        return ExitCode::SUCCESS;
    }
    let option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    if let Some(word) = words.iter().find(option).or(words.get(most)) {
        let word = word.to_string_lossy();
        eprintln!("error: `{word}` is not understood\n\n{usage}");
        return ExitCode::from(2);
    }
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
