//! An installed library, as a stranger has it, and compilers for programs that use it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
pub const SANITIZED: [&str; 3] = [
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder into which cargo puts the library that these tests depend on.
pub fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

/// Says that a test judges nothing here. Not by `eprintln!`: of tests that pass, that is not shown.
pub fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// A C compiler and the C++ compiler of the same suite.
#[derive(Clone, Copy)]
pub struct Compilers {
    pub c: &'static str,
    pub cpp: &'static str,
}

pub const GCC: Compilers = Compilers {
    c: "gcc",
    cpp: "g++",
};
pub const CLANG: Compilers = Compilers {
    c: "clang",
    cpp: "clang++",
};

/// Those that are here with their sanitizers; gcc always is.
pub fn compilers(test: &str) -> Vec<Compilers> {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("empty.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let made = Command::new(CLANG.c)
        .args(SANITIZED)
        .arg(&source)
        .arg("-o")
        .arg(folder.path().join("empty"))
        .output();
    match made {
        Ok(made) if made.status.success() => vec![GCC, CLANG],
        Ok(_) => {
            let reason = "clang has no sanitizers (apt-get install libclang-rt-14-dev, or that of its version)";
            skip(test, reason);
            vec![GCC]
        }
        Err(_) => {
            skip(test, "clang is not installed (apt-get install clang)");
            vec![GCC]
        }
    }
}

pub fn run(command: &mut Command) -> Output {
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

pub struct Installed {
    pub folder: TempDir,
}

impl Installed {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let script = here().join("../../tools/install-c");
        run(Command::new(script)
            .arg("--from")
            .arg(built())
            .arg(folder.path()));
        Self { folder }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn kernel(&self, name: &str) -> PathBuf {
        self.path("share/tombolo/kernels").join(name)
    }

    pub fn compile(&self, compilers: Compilers, source: &str, sanitized: bool) -> PathBuf {
        let (compiler, standard) = match source.ends_with("cpp") {
            true => (compilers.cpp, "-std=c++17"),
            false => (compilers.c, "-std=c11"),
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
}
