//! Do the commands of the tutorials work, as printed?

use std::path::{Path, PathBuf};
use std::process::Command;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a page that are marked as `sh`, one after another.
fn commands(page: &str) -> String {
    let text = std::fs::read_to_string(home().join("docs/tutorials").join(page)).unwrap();
    let mut script = String::new();
    for block in text.split("\n```sh\n").skip(1) {
        let (commands, _) = block.split_once("\n```").unwrap();
        script.push_str(commands);
        script.push('\n');
    }
    script
}

/// Runs a page's commands in a new folder; what they said.
fn follow(page: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let tombolo = Path::new(env!("CARGO_BIN_EXE_tombolo"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", tombolo.parent().unwrap().display());
    let output = Command::new("bash")
        .args(["-eu", "-o", "pipefail", "-c", &commands(page)])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("TOMBOLO_HOME", home().canonicalize().unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{page}: {said}\n{wrong}");
    (folder, said)
}

/// The page shows the command's output; `...` leaves lines out.
fn says_what_it_shows(page: &str, said: &str) {
    let page = std::fs::read_to_string(home().join("docs/tutorials").join(page)).unwrap();
    let mut fence = None;
    for line in page.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(kind)) => fence = Some(kind),
            (Some(_), Some(_)) => fence = None,
            (Some(""), None) if line.trim() != "..." => {
                assert!(said.contains(line.trim_end()), "not said: {line}\n{said}");
            }
            _ => {}
        }
    }
}

#[test]
fn the_first_kernel() {
    let (folder, said) = follow("first-kernel.md");
    assert!(said.contains("manifest and RTL agree"), "{said}");
    assert_eq!(said.matches("maximum: all right").count(), 2, "{said}");
    let read = |name: &str| std::fs::read(folder.path().join("maximum").join(name)).unwrap();
    let words = |bytes: Vec<u8>| -> Vec<u32> {
        let word = |part: &[u8]| u32::from_le_bytes(part.try_into().unwrap());
        bytes.chunks(4).map(word).collect()
    };
    let (a, b, c) = (
        words(read("a.bin")),
        words(read("b.bin")),
        words(read("c.bin")),
    );
    let larger: Vec<u32> = a.iter().zip(&b).map(|(a, b)| *a.max(b)).collect();
    assert!(c == larger);
    let report: serde_json::Value = serde_json::from_slice(&read("report.json")).unwrap();
    assert_eq!(report["runs"][0]["kernel"], "maximum");
}

#[test]
fn a_kernel_from_an_hls_tool() {
    let (folder, said) = follow("hls-kernel.md");
    assert!(said.contains("control ap_ctrl_chain, interrupt"), "{said}");
    assert!(said.contains("port 1 m_axi_gmem1: 128 bits"), "{said}");
    assert!(said.contains("10001 running sums are right"), "{said}");
    let manifest = folder.path().join("prefix_sum/kernel.toml");
    assert!(std::fs::read_to_string(manifest)
        .unwrap()
        .contains("access = \"read\""));
}

#[test]
fn streams() {
    let (folder, _) = follow("streams.md");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("a.bin") == read("b.bin"));
}

#[test]
fn a_protocol_of_your_own() {
    let (folder, said) = follow("own-protocol.md");
    says_what_it_shows("own-protocol.md", &said);
    assert!(
        said.ends_with("to reader 0: Some(Fetch), memory: None\n"),
        "{said}"
    );
    assert!(folder.path().join("traces/trace.svg").exists());
    assert!(folder.path().join("made/tmb_shelf_home_rom.sv").exists());
}

#[test]
fn a_kernel_behind_the_cpus_caches() {
    let (_, said) = follow("coherent-kernel.md");
    says_what_it_shows("coherent-kernel.md", &said);
    assert_eq!(said.matches("mailbox: all right").count(), 2, "{said}");
}

#[test]
fn cache_lines_and_a_kernel() {
    let (_, said) = follow("coherent-lines.md");
    says_what_it_shows("coherent-lines.md", &said);
    // The second call's arguments are not called home: they were sent.
    assert_eq!(said.matches("EvictDirty").count(), 1, "{said}");
    assert_eq!(said.matches("FwdInvalid").count(), 1, "{said}");
}
