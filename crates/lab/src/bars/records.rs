//! Figures about the figures: whether each published value has a state, and how old and how binding the records are.

use super::Failure;
use crate::row::Row;
use crate::stale::Sources;
use crate::{claim, results};
use std::path::Path;

pub const NAMES: &[&str] = &[
    "lab.claims_without_state",
    "lab.published_values_in_rust",
    "bench.stale_rows",
    "bench.rows_without_target",
    "bench.listed_without_row",
];

/// Crates that compare figures with published ones.
const COMPARING: [&str; 3] = ["crates/lab", "crates/protocol", "crates/coherence"];

/// Counts in the claims, the experiments, the sources and the results.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let mut without_state = 0;
    for path in claim::files(&home)? {
        let text = std::fs::read_to_string(&path)?;
        let found = stateless(&toml::from_str(&text)?, "");
        found
            .iter()
            .for_each(|place| eprintln!("{}: {place}: no state", path.display()));
        without_state += found.len();
    }
    let mut in_rust = 0;
    for folder in COMPARING {
        for path in sources(&home.join(folder).join("src"))? {
            let text = std::fs::read_to_string(&path)?;
            let found = published_constants(&text);
            found
                .iter()
                .for_each(|line| eprintln!("{}:{line}: a published value", path.display()));
            in_rust += found.len();
        }
    }
    let rows = results::all()?;
    let unbound = rows.iter().filter(|row| row.met.is_none()).count();
    let stale = Sources::load()?.stale(&rows)?.len();
    let claims = claim::Claims::of_checkout()?;
    let absent: Vec<&str> = claims
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !rows.iter().any(|row| row.name == *name))
        .collect();
    eprintln!("claimed, and in no results: {}", absent.join(", "));
    let counts = [without_state, in_rust, stale, unbound, absent.len()];
    let rows = NAMES.iter().zip(counts);
    Ok(rows
        .map(|(name, count)| Row::new(name, count as f64, ""))
        .collect())
}

/// Places in a file with published values (`paper`, `published`) but without a state, in their table or for their
/// columns.
fn stateless(file: &toml::Table, place: &str) -> Vec<String> {
    let of_columns = |value: &toml::Value, columns: Option<&toml::Value>| {
        let (Some(values), Some(columns)) = (value.as_table(), columns) else {
            return false;
        };
        let state = |column: &String| Some(columns.get(column)?.get("state")?.as_str());
        values.keys().all(|column| state(column).is_some())
    };
    walk(file, place, &|table, key| {
        let value = &table[key];
        let is_published = match key {
            "published" => true,
            "paper" => !value.is_str() && value.get("pace").is_none(),
            _ => false,
        };
        is_published && !table.contains_key("state") && !of_columns(value, file.get("columns"))
    })
}

/// Keys for which `is_wrong` holds, in this table and in all below it.
fn walk(
    table: &toml::Table,
    place: &str,
    is_wrong: &dyn Fn(&toml::Table, &str) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in table {
        let place = format!("{place}.{key}");
        if is_wrong(table, key) {
            found.push(place.clone());
        }
        let below = match value {
            toml::Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for one in below.iter().filter_map(toml::Value::as_table) {
            found.extend(walk(one, &place, is_wrong));
        }
    }
    found
}

/// Lines of constants with numbers that are published, by their comment or name. Parameters of a set-up ("as in
/// the paper") are none, and tests are not counted: they compare with values that they make up.
fn published_constants(text: &str) -> Vec<usize> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().collect();
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        if !(line.starts_with("const ") || line.starts_with("pub const ")) {
            continue;
        }
        let comment = lines[..at].iter().rev();
        let comment = comment.take_while(|line| line.trim_start().starts_with("//"));
        let said: String = comment.copied().chain([line]).collect();
        let said = said.to_lowercase();
        let is_papers = ["published", "printed", "paper's value"]
            .iter()
            .any(|word| said.contains(word));
        let value = lines[at..].iter().take_while(|line| !line.ends_with(';'));
        let value: String = value
            .chain(lines[at..].iter().find(|l| l.ends_with(';')))
            .copied()
            .collect();
        let value = value.split_once('=').map_or("", |(_, value)| value);
        let mut words = value.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'));
        if is_papers && words.any(is_number) {
            found.push(at + 1);
        }
    }
    found
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> std::io::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<String> {
        stateless(&toml::from_str(text).unwrap(), "")
    }

    #[test]
    fn a_published_value_without_a_state_is_found() {
        let rows = "[rows]\na = { paper = 1, state = \"predicted\" }\nb = { paper = 2 }\nc = { at_least = 1 }\n";
        assert_eq!(places(rows), [".rows.b.paper"]);
        let table = "[[row]]\nname = \"a\"\npublished = { x = 1 }\n";
        assert_eq!(places(table), [".row.published"]);
        let columns =
            "[columns]\ncard = { state = \"predicted\" }\n[[application]]\npaper = { card = 1 }\n";
        assert!(places(columns).is_empty());
        assert_eq!(
            places(&columns.replace("card = 1", "card = 1, host = 2")),
            [".application.paper"]
        );
        // The name of a paper's row, and settings of a paper's system, are no values.
        assert!(places("[[w]]\npaper = \"figure 8\"\n[paper]\npace = 16\n").is_empty());
    }

    #[test]
    fn a_published_constant_is_found() {
        let found = published_constants(
            "/// As published, in per cent.\nconst FAIR: f64 = 1.1;\n/// Bytes.\nconst BYTES: u64 = 4;\n\
             /// Printed in the table.\npub const NAMES: [&str; 2] = [\"a\", \"b\"];\n\
             #[cfg(test)]\nmod tests {\n    /// The published one.\n    const X: f64 = 1.0;\n}\n",
        );
        assert_eq!(found, [2]);
    }

    /// No published value is in the code, and each in the files has a state.
    #[test]
    fn the_tree_has_states_and_no_published_constants() {
        let rows = measure();
        // Without a history, as in an unpacked archive, ages cannot be counted.
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        assert_eq!((rows[0].value, rows[1].value), (0.0, 0.0), "{rows:?}");
    }
}
