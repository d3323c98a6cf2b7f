//! Fields of a shell and a platform by name: `shell.l1.0.ways`, `platform.memory.0.timing.cl`.

use super::{Setup, SweepError, SweepPoint};
use simcard::ShellConfig;
use std::path::{Path, PathBuf};
use timing::platform::Platform;
use toml::Value;

/// The values of a point that a sweep does not set.
pub(super) struct Base {
    path: PathBuf,
    shell: Value,
    platform: Value,
    platform_path: PathBuf,
}

/// Names of a table's entries, or numbers of a list's.
fn known(value: &Value) -> Vec<String> {
    match value {
        Value::Table(table) => table.keys().cloned().collect(),
        Value::Array(list) => (0..list.len()).map(|number| number.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// The entry of a table or list.
fn entry<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    match value {
        Value::Table(table) => table.get_mut(name),
        Value::Array(list) => list.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    }
}

/// A value in a name: short, without quotes.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string().split_whitespace().collect(),
    }
}

/// A TOML deserializer's error in one line, without the quoted source.
fn one_line(error: &toml::de::Error) -> String {
    error
        .message()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

impl Base {
    pub(super) fn new(path: &Path, shell: ShellConfig, platform: &str) -> Result<Self, SweepError> {
        let rule = |what: String| SweepError::Rule {
            path: path.to_owned(),
            what,
        };
        let directories = simcard::platform_directories(&simcard::home());
        let platform = Platform::named(platform, &directories)
            .map_err(|error| rule(format!("platform: {error}")))?;
        let text = std::fs::read_to_string(platform.path())
            .map_err(|error| rule(format!("{}: {error}", platform.path().display())))?;
        let figures = toml::from_str(&text)
            .map_err(|error| rule(format!("{}: {error}", platform.path().display())))?;
        let shell = Value::try_from(shell).map_err(|error| rule(format!("shell: {error}")))?;
        Ok(Self {
            path: path.to_owned(),
            shell,
            platform: figures,
            platform_path: platform.path().to_owned(),
        })
    }

    /// Sets a field of `shell` or `platform`.
    fn set(
        &self,
        (shell, platform): (&mut Value, &mut Value),
        field: &str,
        value: &Value,
    ) -> Result<(), SweepError> {
        let unknown = |part: &str, known: Vec<String>| SweepError::UnknownField {
            path: self.path.clone(),
            field: field.to_owned(),
            unknown: part.to_owned(),
            known,
        };
        let mut parts = field.split('.');
        let of = parts.next().unwrap_or_default();
        let mut at = match of {
            "shell" => shell,
            "platform" => platform,
            other => {
                let both = ["shell", "platform"].map(str::to_owned);
                return Err(unknown(other, both.to_vec()));
            }
        };
        let parts: Vec<&str> = parts.collect();
        let Some((last, before)) = parts.split_last() else {
            return Err(unknown("", known(at)));
        };
        for part in before {
            let names = known(at);
            at = entry(at, part).ok_or_else(|| unknown(part, names))?;
        }
        let names = known(at);
        match (entry(at, last), of) {
            (Some(found), _) => *found = value.clone(),
            // An optional part of the shell is absent in the base; the shell itself knows whether there is one.
            (None, "shell") if before.is_empty() => {
                let mut probe = toml::Table::new();
                probe.insert((*last).to_owned(), value.clone());
                let error = Value::Table(probe).try_into::<ShellConfig>().err();
                if error.is_some_and(|error| error.message().starts_with("unknown field")) {
                    return Err(unknown(last, names));
                }
                if let Value::Table(table) = at {
                    table.insert((*last).to_owned(), value.clone());
                }
            }
            (None, _) => return Err(unknown(last, names)),
        }
        Ok(())
    }

    /// The point with this number: the last field varies fastest.
    pub(super) fn point(
        &self,
        fields: &[(String, Vec<Value>)],
        number: usize,
    ) -> Result<SweepPoint, SweepError> {
        let (mut shell, mut platform) = (self.shell.clone(), self.platform.clone());
        let (mut values, mut rest) = (Vec::new(), number);
        for (field, list) in fields.iter().rev() {
            let value = &list[rest % list.len()];
            rest /= list.len();
            self.set((&mut shell, &mut platform), field, value)?;
            values.push(shown(value));
        }
        values.reverse();
        let names = fields.iter().zip(&values);
        let name: Vec<String> = names
            .filter(|((_, list), _)| list.len() > 1 || fields.len() == 1)
            .map(|((field, _), value)| format!("{field}={value}"))
            .collect();
        let name = match name.is_empty() {
            true => "base".to_owned(),
            false => name.join(" "),
        };
        Ok(SweepPoint {
            values,
            name,
            setup: self.setup(shell, &platform),
        })
    }

    fn setup(&self, shell: Value, platform: &Value) -> Result<Setup, String> {
        let shell: ShellConfig = shell
            .try_into()
            .map_err(|error| format!("shell: {}", one_line(&error)))?;
        let text = toml::to_string(platform).map_err(|error| format!("platform: {error}"))?;
        let platform = match platform == &self.platform {
            // The hash of an unchanged platform is that of its file.
            true => Platform::load(&self.platform_path),
            false => Platform::from_bytes(text.as_bytes(), &self.platform_path),
        };
        let platform = platform.map_err(|error| {
            let error = error.to_string();
            error.split_whitespace().collect::<Vec<_>>().join(" ")
        })?;
        let setup = Setup { shell, platform };
        match setup.broken_rule() {
            None => Ok(setup),
            Some(rule) => Err(rule),
        }
    }
}
