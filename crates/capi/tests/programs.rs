//! Do C and C++ programs compile without a warning, and get the right bytes and errors? Built as a stranger
//! builds them, from an installed library; under gcc's address and undefined-behaviour sanitizers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
const SANITIZED: [&str; 3] = [
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder into which cargo puts the library that these tests depend on.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

struct Installed {
    folder: TempDir,
}

impl Installed {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let script = here().join("../../tools/install-c");
        run(Command::new(script)
            .arg("--from")
            .arg(built())
            .arg(folder.path()));
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn kernel(&self, name: &str) -> PathBuf {
        self.path("share/tombolo/kernels").join(name)
    }

    fn compile(&self, source: &str, sanitized: bool) -> PathBuf {
        let (compiler, standard) = match source.ends_with("cpp") {
            true => ("g++", "-std=c++17"),
            false => ("gcc", "-std=c11"),
        };
        let stem = Path::new(source).file_stem().unwrap().to_str().unwrap();
        let program = self.path(stem);
        let lib = self.path("lib");
        let mut command = Command::new(compiler);
        command
            .arg(standard)
            .args(STRICT)
            .args(if sanitized { &SANITIZED[..] } else { &[] })
            .arg(here().join(source))
            .arg("-o")
            .arg(&program)
            .arg("-I")
            .arg(self.path("include"));
        match sanitized {
            true => command
                .arg("-L")
                .arg(&lib)
                .arg("-ltombolo")
                .arg(format!("-Wl,-rpath,{}", lib.display())),
            // And the static library.
            false => command
                .arg(lib.join("libtombolo.a"))
                .args(["-lpthread", "-ldl", "-lm"]),
        };
        run(&mut command);
        program
    }

    /// Runs an example on a file; what it made.
    fn example(&self, program: &Path, kernel: &str, input: &[u8]) -> Vec<u8> {
        let (from, to) = (self.path("in"), self.path("out"));
        fs::write(&from, input).unwrap();
        let _ = fs::remove_file(&to);
        run(Command::new(program)
            .arg(self.kernel(kernel))
            .arg(&from)
            .arg(&to));
        fs::read(&to).unwrap()
    }
}

fn noise(count: usize) -> Vec<u8> {
    (0..count as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8)
        .collect()
}

#[test]
fn c_and_cpp_programs_work() {
    let installed = Installed::new();
    let input = noise(3_000_001);
    for (source, sanitized) in [
        ("examples/copy.cpp", true),
        ("examples/fsrf.c", true),
        ("examples/fsrf.c", false),
    ] {
        let program = installed.compile(source, sanitized);
        let output = installed.example(&program, "copy", &input);
        assert!(output == input, "{source}");
    }
    let program = installed.compile("examples/encrypt.c", true);
    let cipher = installed.example(&program, "aes256ctr", &input);
    let key: String = (0..32).map(|byte| format!("{byte:02x}")).collect();
    let iv: String = (0xf0..=0xff).map(|byte| format!("{byte:02x}")).collect();
    let judge = run(Command::new("openssl")
        .args(["enc", "-aes-256-ctr", "-K", &key, "-iv", &iv, "-in"])
        .arg(installed.path("in")));
    assert!(cipher == judge.stdout);
}

#[test]
fn bad_input_gets_errors() {
    let installed = Installed::new();
    let program = installed.compile("tests/bad_input.c", true);
    run(Command::new(&program)
        .arg(installed.kernel("copy"))
        .arg(installed.path("file")));
}

#[test]
fn pkg_config_names_what_is_there() {
    let installed = Installed::new();
    let text = fs::read_to_string(installed.path("lib/pkgconfig/tombolo.pc")).unwrap();
    let prefix = installed.folder.path().canonicalize().unwrap();
    let first = format!("prefix={}\n", prefix.display());
    assert!(text.contains(&first), "{text}");
    for variable in ["libdir", "includedir", "kernels"] {
        let start = format!("{variable}=${{prefix}}/");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        assert!(prefix.join(line.unwrap()).is_dir(), "{variable}");
    }
    assert!(text.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"))));
}
