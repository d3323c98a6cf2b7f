//! Runs one case in a folder, and finds the first difference.

use super::{Case, CaseOutcome, Content, Line};
use crate::random::Random;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Timeout after which a command counts as hung: building a model takes minutes on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(900);
/// Text that no command may print, whatever its case expects.
const NEVER: [&str; 2] = ["panicked at", "internal error"];

struct CaseRunner<'a> {
    tombolo: &'a Path,
    cases: &'a Path,
    folder: PathBuf,
}

/// Runs one case; see [`super::run`].
pub fn run(tombolo: &Path, cases: &Path, case: &Case) -> CaseOutcome {
    if let Some(missing) = case.needs.iter().find(|program| !is_installed(program)) {
        return CaseOutcome::Skipped(missing.clone());
    }
    let temporary = match tempfile::tempdir() {
        Ok(temporary) => temporary,
        Err(error) => return CaseOutcome::Failed(format!("a temporary folder: {error}")),
    };
    let place = CaseRunner {
        tombolo,
        cases,
        folder: temporary.path().to_owned(),
    };
    match place.judge(case) {
        Ok(()) => CaseOutcome::Held,
        Err(what) => CaseOutcome::Failed(what),
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl CaseRunner<'_> {
    fn judge(&self, case: &Case) -> Result<(), String> {
        let told = |name: &str, error: io::Error| format!("{name}: {error}");
        for (name, content) in &case.files {
            let path = self.folder.join(name);
            let bytes = self.bytes(content).map_err(|error| told(name, error))?;
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| fs::write(&path, bytes))
                .map_err(|error| told(name, error))?;
        }
        for line in &case.command {
            self.follow(line)?;
        }
        for (name, content) in &case.equal {
            let wanted = self.bytes(content).map_err(|error| told(name, error))?;
            let found = fs::read(self.folder.join(name)).map_err(|error| told(name, error))?;
            compare(&found, &wanted).map_err(|what| format!("{name}: {what}"))?;
        }
        match case
            .absent
            .iter()
            .find(|name| self.folder.join(name).exists())
        {
            Some(name) => Err(format!("{name} exists")),
            None => Ok(()),
        }
    }

    fn bytes(&self, content: &Content) -> io::Result<Vec<u8>> {
        Ok(match content {
            Content::Random { bytes, seed } => {
                let mut random = Random(*seed);
                let words = bytes.div_ceil(8);
                let all = (0..words).flat_map(|_| random.next().to_le_bytes());
                all.take(*bytes).collect()
            }
            Content::Words(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            Content::Text(text) => text.clone().into_bytes(),
            Content::Zero(bytes) => vec![0; *bytes],
            Content::Same {
                file,
                offset,
                bytes,
            } => {
                let all = fs::read(self.folder.join(self.filled(file)))?;
                let end = bytes.map_or(all.len(), |bytes| offset + bytes);
                all.get(*offset..end)
                    .ok_or_else(|| io::Error::new(ErrorKind::UnexpectedEof, file.clone()))?
                    .to_vec()
            }
            Content::Parts(parts) => {
                let parts: io::Result<Vec<_>> = parts.iter().map(|part| self.bytes(part)).collect();
                parts?.concat()
            }
        })
    }

    /// The text with its placeholders replaced.
    fn filled(&self, text: &str) -> String {
        let home = simcard::home();
        text.replace("{cases}", &self.cases.display().to_string())
            .replace("{home}", &home.display().to_string())
    }

    fn command(&self, line: &Line) -> Result<Command, String> {
        let mut command = match (&line.run, &line.sh) {
            (Some(run), None) => {
                let mut command = Command::new(self.tombolo);
                command.args(words(&self.filled(run)));
                command
            }
            (None, Some(script)) => {
                let mut command = Command::new("sh");
                command.args(["-eu", "-c", &self.filled(script)]);
                let path = std::env::var_os("PATH").unwrap_or_default();
                let ours = self.tombolo.parent().map(Path::to_owned);
                let all = ours.into_iter().chain(std::env::split_paths(&path));
                let all = std::env::join_paths(all).map_err(|error| error.to_string())?;
                command.env("PATH", all);
                command
            }
            _ => return Err("a command has either `run` or `sh`".to_owned()),
        };
        // A developer's log setting would change the output.
        command.env_remove("TOMBOLO_LOG").current_dir(&self.folder);
        for (name, value) in &line.environment {
            command.env(name, self.filled(value));
        }
        Ok(command)
    }

    fn follow(&self, line: &Line) -> Result<(), String> {
        let name = line.run.as_ref().or(line.sh.as_ref());
        let name = name.map(String::as_str).unwrap_or_default();
        // Next to the folder's files, under names that no case uses.
        let (out, err) = (self.folder.join(".stdout"), self.folder.join(".stderr"));
        let mut command = self.command(line)?;
        let begun = (|| {
            let input = match &line.input {
                Some(input) => Stdio::from(File::open(self.folder.join(input))?),
                None => Stdio::null(),
            };
            command
                .stdin(input)
                .stdout(File::create(&out)?)
                .stderr(File::create(&err)?)
                .process_group(0);
            wait(&mut command)
        })();
        let status = begun.map_err(|error| format!("`{name}`: {error}"))?;
        let text = |path| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (out, err) = (text(&out), text(&err));
        difference(line, status, &out, &err).map_or(Ok(()), |what| {
            Err(format!(
                "`{name}`: {what}\n--- standard output\n{out}--- standard error\n{err}---"
            ))
        })
    }
}

/// Waits for the command; `None` if it had to be killed.
fn wait(command: &mut Command) -> io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > HANGS_AFTER {
            // Kills the whole process group, including children of a script.
            let group = format!("-{}", child.id());
            Command::new("kill")
                .args(["-KILL", "--", &group])
                .status()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The first difference between actual and expected outcome.
fn difference(line: &Line, status: Option<ExitStatus>, out: &str, err: &str) -> Option<String> {
    let Some(status) = status else {
        return Some(format!("not over after {} s", HANGS_AFTER.as_secs()));
    };
    if let Some(signal) = status.signal() {
        return Some(format!("ended by signal {signal}"));
    }
    if status.code() != Some(line.status) {
        let status = status.code().unwrap_or(-1);
        return Some(format!("exit status {status}, not {}", line.status));
    }
    let never = NEVER.map(str::to_owned);
    for (stream, text, wanted, lacks) in [
        ("output", out, &line.stdout, &line.stdout_lacks),
        ("error", err, &line.stderr, &line.stderr_lacks),
    ] {
        if let Some(missing) = wanted.iter().find(|part| !text.contains(*part)) {
            return Some(format!("standard {stream} lacks `{missing}`"));
        }
        if let Some(there) = lacks.iter().chain(&never).find(|part| text.contains(*part)) {
            return Some(format!("standard {stream} has `{there}`"));
        }
    }
    // Progress of a model build is printed every ten seconds on a machine without a cached model.
    let is_progress = |line: &&str| line.starts_with("tombolo: ") && line.ends_with(" s)");
    let lines = err.lines().filter(|line| !is_progress(line)).count();
    let wanted = line.stderr_lines.unwrap_or(lines);
    (lines != wanted).then(|| format!("standard error has {lines} lines, not {wanted}"))
}

fn compare(found: &[u8], wanted: &[u8]) -> Result<(), String> {
    if let Some(at) = found.iter().zip(wanted).position(|(a, b)| a != b) {
        let (found, wanted) = (found[at], wanted[at]);
        return Err(format!("byte {at} is {found}, not {wanted}"));
    }
    match found.len() == wanted.len() {
        true => Ok(()),
        false => Err(format!("{} bytes, not {}", found.len(), wanted.len())),
    }
}

/// Splits at spaces; text between two `'` belongs to one word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            _ if letter.is_whitespace() && !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    #[test]
    fn quotes_keep_spaces_and_empty_words() {
        let found = super::words(" run  'a b'=c '' x\n d");
        assert_eq!(found, ["run", "a b=c", "", "x", "d"]);
    }
}
