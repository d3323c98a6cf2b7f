//! Translates VHDL to Verilog with GHDL (`ghdl synth`), if it is installed.

use super::rtl::RtlFile;
use super::sources::SourcesError;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Declarations and uses of a VHDL file, in lower case because VHDL ignores case.
struct VhdlOutline {
    entities: Vec<String>,
    packages: Vec<String>,
    words: BTreeSet<String>,
}

impl VhdlOutline {
    fn of(text: &str) -> Self {
        let code: String = text
            .lines()
            .map(|line| line.split("--").next().unwrap_or("").to_ascii_lowercase() + "\n")
            .collect();
        let words: Vec<&str> = code
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .collect();
        let (mut entities, mut packages) = (Vec::new(), Vec::new());
        for three in words.windows(3) {
            match three {
                ["entity", name, "is"] => entities.push((*name).to_owned()),
                ["package", name, "is"] => packages.push((*name).to_owned()),
                _ => {}
            }
        }
        Self {
            entities,
            packages,
            words: words.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// The VHDL of a package.
pub struct Vhdl<'a> {
    files: Vec<(&'a RtlFile, VhdlOutline)>,
}

impl<'a> Vhdl<'a> {
    /// Outlines all VHDL files.
    pub fn new(files: &'a [RtlFile]) -> Self {
        let vhdl = files.iter().filter(|file| file.is_vhdl());
        let outline =
            |file: &'a RtlFile| (file, VhdlOutline::of(&String::from_utf8_lossy(&file.bytes)));
        Self {
            files: vhdl.map(outline).collect(),
        }
    }

    /// Whether a file declares the entity.
    pub fn has(&self, entity: &str) -> bool {
        self.files
            .iter()
            .any(|(_, outline)| outline.entities.contains(&entity.to_ascii_lowercase()))
    }

    /// All entities.
    pub fn entities(&self) -> impl Iterator<Item = &String> {
        self.files.iter().flat_map(|(_, outline)| &outline.entities)
    }

    /// The only entity that no other file uses.
    pub fn guess_top(&self) -> Option<String> {
        let used_elsewhere = |entity: &str, here: &str| {
            self.files
                .iter()
                .any(|(file, outline)| file.name != here && outline.words.contains(entity))
        };
        let mut tops = self.files.iter().flat_map(|(file, outline)| {
            let here = &file.name;
            outline
                .entities
                .iter()
                .filter(move |entity| !used_elsewhere(entity, here))
        });
        match (tops.next(), tops.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => None,
        }
    }

    /// The file that declares the entity, for messages.
    fn file_of(&self, entity: &str) -> String {
        let entity = entity.to_ascii_lowercase();
        let found = self
            .files
            .iter()
            .find(|(_, outline)| outline.entities.contains(&entity));
        found.map(|(file, _)| file.name.clone()).unwrap_or_default()
    }

    /// The files that an entity needs, in compilation order.
    fn order(&self, entity: &str) -> Vec<usize> {
        let mut owner: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, (_, outline)) in self.files.iter().enumerate() {
            for name in outline.entities.iter().chain(&outline.packages) {
                owner.entry(name).or_insert(number);
            }
        }
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        // A depth-first stack of files; the flag is set once the files that they use have been pushed.
        let mut open: Vec<(usize, bool)> = owner
            .get(entity.to_ascii_lowercase().as_str())
            .map(|at| (*at, false))
            .into_iter()
            .collect();
        while let Some((number, is_ready)) = open.pop() {
            if is_ready {
                order.push(number);
            } else if seen.insert(number) {
                open.push((number, true));
                let used = self.files[number]
                    .1
                    .words
                    .iter()
                    .filter_map(|word| owner.get(word.as_str()));
                open.extend(
                    used.filter(|other| **other != number)
                        .map(|other| (*other, false)),
                );
            }
        }
        order
    }

    /// Translates an entity and all that it uses to Verilog; values of `generics` are TOML.
    pub fn verilog(
        &self,
        entity: &str,
        generics: &BTreeMap<String, String>,
    ) -> Result<RtlFile, SourcesError> {
        let failed = |reason: String| SourcesError::Vhdl {
            top: entity.to_owned(),
            file: self.file_of(entity),
            reason,
        };
        let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new("ghdl");
        // Exports of HLS use packages of Synopsys (`std_logic_unsigned`).
        let language = ["--std=08", "-frelaxed", "-fsynopsys"];
        command.arg("synth").args(language).arg("--out=verilog");
        command.args(
            generics
                .iter()
                .map(|(name, value)| format!("-g{name}={}", value.trim_matches('"'))),
        );
        for (number, file) in self.order(entity).into_iter().enumerate() {
            let name = format!("{number}.vhd");
            std::fs::write(folder.path().join(&name), &self.files[file].0.bytes)
                .map_err(|error| failed(error.to_string()))?;
            command.arg(name);
        }
        command.args(["-e", entity]).current_dir(folder.path());
        let output = command.output();
        let output = output.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                failed("GHDL is not installed: apt-get install ghdl".to_owned())
            }
            _ => failed(format!("GHDL: {error}")),
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<&str> = said
                .lines()
                .filter(|line| !line.is_empty())
                .take(10)
                .collect();
            return Err(failed(format!("GHDL refuses it\n{}", lines.join("\n"))));
        }
        Ok(RtlFile {
            name: format!("{}.v", entity.to_ascii_lowercase()),
            bytes: output.stdout,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> RtlFile {
        RtlFile {
            name: name.to_owned(),
            bytes: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn what_is_used_comes_first() {
        let files = [
            file("a.vhd", "use work.sizes.all;\nentity Top is end; -- entity none is\narchitecture a of top is begin u: entity work.part; end;"),
            file("b.vhdl", "entity part is end;"),
            file("c.vhd", "package sizes is end;"),
            file("d.v", "module d; endmodule"),
        ];
        let vhdl = Vhdl::new(&files);
        assert!(vhdl.has("TOP") && !vhdl.has("none"));
        assert_eq!(vhdl.guess_top().as_deref(), Some("top"));
        let order = vhdl.order("top");
        assert_eq!(order.last(), Some(&0));
        assert_eq!(order.len(), 3);
    }
}
