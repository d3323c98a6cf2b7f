//! The user's configuration file: defaults for options of each command.
//!
//! ```toml
//! [run]
//! platform = "u55c"
//! [lab.fsrf]
//! jobs = 1
//! ```
//!
//! An option of the command line replaces the file's, and a default that conflicts with one is left out.

use crate::suggest::did_you_mean;
use clap::{Arg, ArgAction, Command};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Why the configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is missing or unreadable.
    #[error("{}: {source}", .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{}: {message}", .path.display())]
    Toml {
        /// Path of the file.
        path: PathBuf,
        /// Position and error.
        message: String,
    },
    /// A table or key of the file names nothing.
    #[error("{}: there is no {what} `{name}`{hint}", .path.display())]
    Unknown {
        /// Path of the file.
        path: PathBuf,
        /// `command`, or `option of COMMAND`.
        what: String,
        /// The name in the file.
        name: String,
        /// The nearest known name.
        hint: String,
    },
    /// A value has a type that the option does not take.
    #[error("{}: `{option}` of `{command}`: {rule}", .path.display())]
    Value {
        /// Path of the file.
        path: PathBuf,
        /// Name of the command.
        command: String,
        /// Long name of the option.
        option: String,
        /// The expected value.
        rule: &'static str,
    },
}

/// Path of the configuration file: `TOMBOLO_CONFIG`, or `tombolo/config.toml` in the user's configuration folder if it
/// exists. An empty variable selects none.
pub fn path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("TOMBOLO_CONFIG") {
        return (!path.is_empty()).then(|| path.into());
    }
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".config"));
    let folder = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_absolute()).or_else(home)?;
    Some(folder.join("tombolo/config.toml")).filter(|path| path.exists())
}

/// A command line with the defaults of the configuration file, and the options that were added.
#[derive(Debug)]
pub struct Completed {
    /// The whole command line.
    pub arguments: Vec<OsString>,
    /// Options from the file, as `--name`.
    pub added: Vec<String>,
}

/// Adds the defaults of a configuration file to a command line.
///
/// # Errors
/// [`ConfigError`]
pub fn complete(
    path: Option<&Path>,
    command: &mut Command,
    arguments: Vec<OsString>,
) -> Result<Completed, ConfigError> {
    let Some(path) = path else {
        return Ok(Completed {
            arguments,
            added: Vec::new(),
        });
    };
    command.build();
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::File {
        path: path.to_owned(),
        source,
    })?;
    let file: Table = toml::from_str(&text).map_err(|error| ConfigError::Toml {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    check(path, &file, command, "")?;
    // The words that name the command, below which the file's table lies.
    let (mut command, mut table) = (&*command, &file);
    let mut words = 1;
    while let Some(word) = arguments.get(words).and_then(|word| word.to_str()) {
        let Some(below) = command.find_subcommand(word) else {
            break;
        };
        words += 1;
        command = below;
        match table.get(below.get_name()).and_then(Value::as_table) {
            Some(found) => table = found,
            None => {
                return Ok(Completed {
                    arguments,
                    added: Vec::new(),
                })
            }
        }
    }
    let rest = arguments[words..].iter().map(|word| word.to_string_lossy());
    let rest: Vec<_> = rest.take_while(|word| word != "--").collect();
    let is_given = |option: &Arg| {
        let long = option.get_long().map(|long| format!("--{long}"));
        let short = option.get_short().map(|short| format!("-{short}"));
        rest.iter().any(|word| {
            let is_long = long.as_ref().is_some_and(|long| {
                word.strip_prefix(long.as_str())
                    .is_some_and(|end| end.is_empty() || end.starts_with('='))
            });
            let is_short = short
                .as_ref()
                .is_some_and(|short| word.starts_with(short.as_str()));
            is_long || (is_short && !word.starts_with("--"))
        })
    };
    let conflicts = |option: &Arg, other: &Arg| {
        let with = command.get_arg_conflicts_with(option);
        with.iter().any(|one| one.get_id() == other.get_id())
    };
    let mut made = arguments[..words].to_vec();
    let mut added = Vec::new();
    for (name, value) in table {
        let Some(option) = option_named(command, name) else {
            continue;
        };
        let given = command.get_arguments().filter(|other| is_given(other));
        let mut given = given.filter(|other| other.get_id() != option.get_id());
        let is_refused = given.any(|other| conflicts(option, other) || conflicts(other, option));
        if is_given(option) || is_refused {
            continue;
        }
        let values = values(option, value).map_err(|rule| ConfigError::Value {
            path: path.to_owned(),
            command: command.get_name().to_owned(),
            option: name.clone(),
            rule,
        })?;
        if !values.is_empty() {
            added.push(format!("--{name}"));
        }
        made.extend(values.into_iter().map(|value| match value {
            Some(value) => format!("--{name}={value}").into(),
            None => format!("--{name}").into(),
        }));
    }
    made.extend_from_slice(&arguments[words..]);
    Ok(Completed {
        arguments: made,
        added,
    })
}

fn option_named<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let mut options = command.get_arguments();
    options.find(|option| option.get_long() == Some(name) && !is_help(option))
}

fn is_help(option: &Arg) -> bool {
    use ArgAction::{Help, HelpLong, HelpShort, Version};
    matches!(option.get_action(), Help | HelpLong | HelpShort | Version)
}

/// Checks the names of the whole file, so that a misspelling is found by whatever command comes first.
fn check(path: &Path, table: &Table, command: &Command, name: &str) -> Result<(), ConfigError> {
    let unknown = |what: String, word: &str, known: Vec<&str>| ConfigError::Unknown {
        path: path.to_owned(),
        what,
        name: word.to_owned(),
        hint: did_you_mean(word, known),
    };
    for (word, value) in table {
        if let Value::Table(below) = value {
            let known = command.get_subcommands();
            let found = command.get_subcommands().find(|one| one.get_name() == word);
            let found = found.ok_or_else(|| {
                unknown(
                    "command".into(),
                    word,
                    known.map(Command::get_name).collect(),
                )
            })?;
            check(path, below, found, &format!("{name} {word}"))?;
        } else if option_named(command, word).is_none() {
            let known = command.get_arguments().filter(|option| !is_help(option));
            let what = match name.is_empty() {
                true => "option outside of a command's table,".to_owned(),
                false => format!("option of `tombolo{name}`,"),
            };
            return Err(unknown(
                what,
                word,
                known.filter_map(Arg::get_long).collect(),
            ));
        }
    }
    Ok(())
}

/// Values of an option, each for one occurrence; `None` for a switch.
fn values(option: &Arg, value: &Value) -> Result<Vec<Option<String>>, &'static str> {
    if !option.get_action().takes_values() {
        return match value {
            Value::Boolean(is_set) => Ok(is_set.then_some(None).into_iter().collect()),
            _ => Err("a switch: true or false"),
        };
    }
    let one = |value: &Value| match value {
        Value::String(text) => Ok(Some(text.clone())),
        Value::Integer(number) => Ok(Some(number.to_string())),
        Value::Float(number) => Ok(Some(number.to_string())),
        Value::Boolean(flag) => Ok(Some(flag.to_string())),
        _ => Err("a text, a number, or a list of these"),
    };
    match (value, option.get_action()) {
        (Value::Array(values), ArgAction::Append) => values.iter().map(one).collect(),
        (Value::Array(_), _) => Err("a single value"),
        (value, _) => Ok(vec![one(value)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, CommandFactory, Parser};

    #[derive(Parser)]
    #[command(name = "tombolo")]
    struct Line {
        #[command(subcommand)]
        _command: Words,
    }

    #[derive(clap::Subcommand)]
    enum Words {
        Run(RunWords),
        #[command(subcommand)]
        Lab(LabWords),
    }

    #[derive(clap::Subcommand)]
    enum LabWords {
        Fsrf(RunWords),
    }

    #[derive(Args)]
    struct RunWords {
        _kernel: Option<String>,
        #[arg(long)]
        platform: Option<String>,
        #[arg(long, conflicts_with = "platform")]
        functional: bool,
        #[arg(long, short)]
        quiet: bool,
        #[arg(long)]
        map: Vec<String>,
    }

    fn completed(file: &str, line: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, file).unwrap();
        let arguments = line.split(' ').map(OsString::from).collect();
        let completed = complete(Some(&path), &mut Line::command(), arguments);
        let completed = completed.map_err(|error| error.to_string())?;
        let words = completed
            .arguments
            .iter()
            .map(|word| word.to_string_lossy());
        Ok(words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn defaults_are_added_behind_the_command() {
        let file = "[run]\nplatform = \"u55c\"\nquiet = true\nmap = [\"a=b\", \"c=d\"]\n[lab.fsrf]\nquiet = true\n";
        let line = completed(file, "tombolo run copy").unwrap();
        assert_eq!(
            line,
            "tombolo run --map=a=b --map=c=d --platform=u55c --quiet copy"
        );
        let line = completed(file, "tombolo lab fsrf copy").unwrap();
        assert_eq!(line, "tombolo lab fsrf --quiet copy");
        assert_eq!(completed(file, "tombolo --help").unwrap(), "tombolo --help");
        assert_eq!(
            completed("[run]\nquiet = false\n", "tombolo run x").unwrap(),
            "tombolo run x"
        );
    }

    #[test]
    fn the_command_line_wins() {
        let file = "[run]\nplatform = \"u55c\"\nquiet = true\n";
        for line in [
            "tombolo run copy --platform f1 -q",
            "tombolo run copy --platform=f1 --quiet",
            // The default conflicts with it.
            "tombolo run copy --functional -q",
        ] {
            assert_eq!(completed(file, line).unwrap(), line);
        }
        // Behind `--` there are no options.
        let line = completed(file, "tombolo run -q -- --platform").unwrap();
        assert_eq!(line, "tombolo run --platform=u55c -q -- --platform");
    }

    #[test]
    fn wrong_files_are_refused_by_name() {
        for (file, told) in [
            (
                "[rnu]\nquiet = true\n",
                "no command `rnu`; did you mean `run`?",
            ),
            (
                "[run]\nplatfrom = \"f1\"\n",
                "no option of `tombolo run`, `platfrom`; did you mean `platform`?",
            ),
            ("quiet = true\n", "outside of a command's table"),
            ("[run]\nquiet = 1\n", "a switch: true or false"),
            ("[run]\nplatform = [\"f1\"]\n", "a single value"),
            ("[run]\nhelp = true\n", "no option of `tombolo run`, `help`"),
            ("[run\n", "config.toml:"),
        ] {
            let error = completed(file, "tombolo run copy").unwrap_err();
            assert!(error.contains(told), "{file}: {error}");
        }
        let missing = complete(
            Some(Path::new("/no/such/config.toml")),
            &mut Line::command(),
            Vec::new(),
        );
        assert!(missing.unwrap_err().to_string().contains("/no/such"));
    }
}
