//! Examples as commands: `--help`, words that nobody understands, and errors as sentences.

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

/// Why an example fails.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Does what an example does with the program's arguments, of which at most so many may stand behind its name. `--help`
/// prints `usage` instead, and words that are too many or look like an option are refused with it.
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
