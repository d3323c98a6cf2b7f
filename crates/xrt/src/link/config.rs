//! The linker's configuration, in the format of `v++ --config`.
//!
//! `key=value` below `[section]`; `#` and `;` begin comments; keys may repeat. Every known key is used, accepted
//! without effect, or refused with a reason. An unknown key is refused with its line.

use super::LinkError;
use std::path::{Path, PathBuf};

/// Source location of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Path of the file; empty for the command line.
    pub path: PathBuf,
    /// Line number, from 1.
    pub line: usize,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str("command line"),
            line => write!(f, "{}:{line}", self.path.display()),
        }
    }
}

/// `key=value` in a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Section name; empty before the first section.
    pub section: String,
    /// Key without its section.
    pub key: String,
    /// Value, trimmed.
    pub value: String,
    /// Source location.
    pub origin: Origin,
}

impl Setting {
    /// `section.key`, or the key alone outside a section.
    pub fn name(&self) -> String {
        match self.section.is_empty() {
            true => self.key.clone(),
            false => format!("{}.{}", self.section, self.key),
        }
    }

    /// An error about this setting.
    pub(super) fn broken(&self, rule: impl Into<String>) -> LinkError {
        LinkError::Setting {
            origin: self.origin.clone(),
            name: self.name(),
            value: self.value.chars().take(120).collect(),
            rule: rule.into(),
        }
    }
}

/// How the linker treats a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Used for linking.
    Followed,
    /// Accepted without effect, with the reason.
    Accepted(&'static str),
    /// Refused, with the reason.
    Refused(&'static str),
    /// Not a key of the linker.
    Unknown,
}

const IMPLEMENTATION: &str = "there is no implementation to tune";
const OTHER_STEP: &str = "of another step of the flow";
const OBSERVED: &str = "the report and the timeline of the card show it without";
const PLACEMENT: &str = "nothing is placed in a simulation";
const OUTPUTS: &str = "no intermediate files are kept";

/// Keys outside any section; in these, `-` and `_` are equivalent.
const TOP: [(&str, Use); 24] = [
    ("platform", Use::Followed),
    ("kernel_frequency", Use::Followed),
    ("target", Use::Followed),
    ("link", Use::Followed),
    ("output", Use::Accepted("the command line names the output")),
    ("kernel", Use::Accepted(OTHER_STEP)),
    ("compile", Use::Accepted(OTHER_STEP)),
    ("include", Use::Accepted(OTHER_STEP)),
    ("define", Use::Accepted(OTHER_STEP)),
    ("temp_dir", Use::Accepted(OUTPUTS)),
    ("report_dir", Use::Accepted(OUTPUTS)),
    ("log_dir", Use::Accepted(OUTPUTS)),
    ("report_level", Use::Accepted(OUTPUTS)),
    ("save_temps", Use::Accepted(OUTPUTS)),
    ("remote_ip_cache", Use::Accepted(OUTPUTS)),
    ("no_ip_cache", Use::Accepted(OUTPUTS)),
    (
        "user_ip_repo_paths",
        Use::Accepted("sources are in the .xo files"),
    ),
    ("debug", Use::Accepted(OBSERVED)),
    ("messagedb", Use::Accepted(OUTPUTS)),
    ("message_rules", Use::Accepted(OUTPUTS)),
    ("optimize", Use::Accepted(IMPLEMENTATION)),
    ("jobs", Use::Accepted(IMPLEMENTATION)),
    ("advanced", Use::Accepted(IMPLEMENTATION)),
    ("profile", Use::Accepted(OBSERVED)),
];

/// How the linker treats a key of a section.
pub fn use_of(section: &str, key: &str) -> Use {
    let key = key.to_ascii_lowercase();
    match section.to_ascii_lowercase().as_str() {
        "" => {
            let key = key.replace('-', "_");
            let found = TOP.iter().find(|(name, _)| *name == key);
            found.map_or(Use::Unknown, |(_, what)| *what)
        }
        "connectivity" => match key.as_str() {
            "nk" | "sp" | "sc" | "stream_connect" => Use::Followed,
            "slr" => Use::Accepted(PLACEMENT),
            "connect" => Use::Refused(
                "it connects nets of the platform (transceivers, reference clocks), which a simulated card has not",
            ),
            _ => Use::Unknown,
        },
        "clock" => match key.as_str() {
            "freqhz" | "defaultfreqhz" => Use::Followed,
            "id" | "defaultid" => Use::Accepted("clocks are named by their frequency: use freqHz"),
            "tolerance" | "defaulttolerance" => Use::Accepted(IMPLEMENTATION),
            _ => Use::Unknown,
        },
        "profile" => match key.as_str() {
            "data" | "stall" | "exec" | "memory" | "trace_memory" | "aie" => Use::Accepted(OBSERVED),
            _ => Use::Unknown,
        },
        "debug" => match key.as_str() {
            "chipscope" | "protocol" | "aie" | "list_ports" => {
                Use::Accepted("waves of the card show signals: tombolo run --waves")
            }
            _ => Use::Unknown,
        },
        "vivado" => Use::Accepted(IMPLEMENTATION),
        "advanced" => match key.as_str() {
            "param" | "misc" | "prop" | "jobs" | "strategies" => Use::Accepted(IMPLEMENTATION),
            _ => Use::Unknown,
        },
        "linkhook" => match key.as_str() {
            "custom" | "do_first" | "do_last" | "list_steps" => Use::Refused(
                "a Tcl script of Vivado would change the design, and there is no Vivado; leave it out",
            ),
            _ => Use::Unknown,
        },
        "hls" | "package" => Use::Accepted(OTHER_STEP),
        "aie" => Use::Refused("the card has no AI engines"),
        _ => Use::Unknown,
    }
}

/// Parses a configuration; `path` names it in errors.
///
/// # Errors
/// A line that is neither a section, a setting, nor a comment; a key that is unknown or refused.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Setting>, LinkError> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let origin = Origin {
            path: path.to_owned(),
            line: number + 1,
        };
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name.0.trim().to_owned();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(LinkError::Line {
                origin,
                text: line.chars().take(80).collect(),
            });
        };
        let setting = Setting {
            section: section.clone(),
            key: key.trim().to_owned(),
            value: without_comment(value).trim().to_owned(),
            origin,
        };
        check(&setting)?;
        settings.push(setting);
    }
    Ok(settings)
}

/// Strips a trailing comment, which must be preceded by a blank.
fn without_comment(value: &str) -> &str {
    let mut before = ' ';
    for (at, c) in value.char_indices() {
        if matches!(c, '#' | ';') && before.is_whitespace() {
            return &value[..at];
        }
        before = c;
    }
    value
}

/// Parses a setting of the command line, such as `connectivity.nk` and its value.
///
/// # Errors
/// As [`parse`].
pub fn option(name: &str, value: &str) -> Result<Setting, LinkError> {
    let (section, key) = name.split_once('.').unwrap_or(("", name));
    let setting = Setting {
        section: section.to_owned(),
        key: key.to_owned(),
        value: value.trim().to_owned(),
        origin: Origin {
            path: PathBuf::new(),
            line: 0,
        },
    };
    check(&setting)?;
    Ok(setting)
}

fn check(setting: &Setting) -> Result<(), LinkError> {
    match use_of(&setting.section, &setting.key) {
        Use::Followed | Use::Accepted(_) => Ok(()),
        Use::Refused(why) => Err(setting.broken(why)),
        Use::Unknown => Err(setting.broken(
            "no such key is known; known sections are connectivity, clock, profile, debug, vivado, advanced, hls and \
             package",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Setting>, String> {
        parse(Path::new("a.cfg"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_read_with_comments_blanks_and_carriage_returns() {
        let text = "\u{feff}platform = u280\r\n# a comment\r\n[connectivity]\r\n nk=vadd:1 ; one\r\n\r\nsp = a#b.c:HBM[0]\r\n";
        let read: Vec<(String, String, usize)> = parsed(text)
            .unwrap()
            .into_iter()
            .map(|one| (one.name(), one.value, one.origin.line))
            .collect();
        let expected = [
            ("platform", "u280", 1),
            ("connectivity.nk", "vadd:1", 4),
            ("connectivity.sp", "a#b.c:HBM[0]", 6),
        ];
        let expected: Vec<_> = expected
            .map(|(name, value, line)| (name.to_owned(), value.to_owned(), line))
            .into();
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_accepted_without_effect_is_no_error() {
        let text = "debug=1\nsave-temps=1\n[vivado]\nprop=run.impl_1.strategy=Fast\n[advanced]\nparam=compiler.x=y\n\
                    [profile]\ndata=all:all:all\n[connectivity]\nslr=k_1:SLR0\n[package]\nanything=1\n[hls]\npre_tcl=x";
        assert_eq!(parsed(text).unwrap().len(), 8);
    }

    #[test]
    fn keys_that_are_unknown_or_refused_are_named_with_their_line() {
        for (text, words) in [
            (
                "[connectivity]\nnkk=a:1",
                "a.cfg:2: connectivity.nkk = a:1: no such key",
            ),
            ("frequency=100", "a.cfg:1: frequency = 100: no such key"),
            ("[conectivity]\nnk=a:1", "a.cfg:2: conectivity.nk"),
            ("[connectivity]\nconnect=a:b", "transceivers"),
            (
                "\n\n[aie]\nx=1",
                "a.cfg:4: aie.x = 1: the card has no AI engines",
            ),
            ("[linkhook]\ncustom=a", "Tcl"),
            ("just words", "a.cfg:1: `just words` is no setting"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let error = option("connectivity.bad", "1").unwrap_err().to_string();
        assert!(error.contains("command line: connectivity.bad"), "{error}");
    }
}
