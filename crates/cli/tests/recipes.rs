//! Do the recipes of `docs/bring-a-kernel.md` work, as printed?

use std::path::Path;
use std::process::{Command, Output};

/// The blocks of the page that are marked as `sh`.
fn blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("\n```sh\n").skip(1);
    blocks
        .map(|block| block.split_once("\n```").unwrap().0)
        .collect()
}

fn follow(script: &str, folder: &Path) -> Output {
    let tombolo = Path::new(env!("CARGO_BIN_EXE_tombolo"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", tombolo.parent().unwrap().display());
    let mut command = Command::new("bash");
    command.args(["-eu", "-o", "pipefail", "-c", script]);
    command
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap()
}

#[test]
#[ignore = "installs packages and builds models"]
fn recipes_work_as_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bring-a-kernel.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = blocks(&page);
    let is_install = |block: &&str| block.contains("pip install");
    let (installs, recipes): (Vec<&str>, Vec<&str>) = blocks.into_iter().partition(is_install);
    assert_eq!((installs.len(), recipes.len()), (2, 3));
    let folder = tempfile::tempdir().unwrap();
    let installed = follow(&installs.join("\n"), folder.path());
    if !installed.status.success() {
        println!("skipped: recipes_work_as_printed: no package (amaranth, litex, from PyPI)");
        return;
    }
    let output = follow(&recipes.join("\n"), folder.path());
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{wrong}");
}
