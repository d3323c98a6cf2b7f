//! Do the programs of `docs/coming-from-*.md` compile and run, as printed? On the functional card, where a page does not say
//! which.

#[path = "common/installed.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod installed;

use installed::{built, here, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Those that the test of the Python package runs.
const IN_PYTHON: [&str; 1] = ["coming-from-pynq.md"];

/// The blocks of a page that are marked as `sh`, one after another.
fn commands(text: &str) -> String {
    let blocks = text.split("\n```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("\n```").unwrap().0);
    blocks.collect::<Vec<_>>().join("\n")
}

fn pages() -> Vec<PathBuf> {
    let folder = here().join("../../docs");
    let pages = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("coming-from-") && !IN_PYTHON.contains(&name)
    };
    let mut pages: Vec<PathBuf> = pages.filter(is_ours).collect();
    pages.sort();
    pages
}

/// Runs a page's commands in a new folder.
fn follow(page: &Path, tombolo: &Path) {
    let script = commands(&std::fs::read_to_string(page).unwrap());
    assert!(!script.is_empty(), "{}: no commands", page.display());
    // Installs the library that cargo has built for this test.
    let script = script.replace("tools/install-c ", "tools/install-c --from \"$BUILT\" ");
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    // Background processes of a page end with its commands.
    let script = format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    let output = Command::new("bash")
        .args(["-eu", "-o", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .env(
            "PATH",
            format!("{}:{path}", tombolo.parent().unwrap().display()),
        )
        .env("TOMBOLO_HOME", here().join("../..").canonicalize().unwrap())
        .env("BUILT", built())
        .env("TOMBOLO_XRT_CARD", "functional")
        .env("TOMBOLO_VFPIO_CARD", "functional")
        .env_remove("TOMBOLO_CARD")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {said}\n{wrong}",
        page.display()
    );
}

#[test]
fn what_pages_for_those_who_come_from_elsewhere_show_works() {
    let tombolo = built().join("../tombolo").canonicalize();
    let Ok(tombolo) = tombolo else {
        let reason = "the command is not built (cargo build --release -p tombolo-cli)";
        return skip(
            "what_pages_for_those_who_come_from_elsewhere_show_works",
            reason,
        );
    };
    let pages = pages();
    assert!(pages.len() >= 2, "{pages:?}");
    std::thread::scope(|scope| {
        for page in &pages {
            scope.spawn(|| follow(page, &tombolo));
        }
    });
}
