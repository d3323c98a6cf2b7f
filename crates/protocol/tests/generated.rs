//! Are the generated files that are kept in the repository up to date?
//!
//! If not: `tombolo protocol generate protocols/NAME.protocol --out FOLDER`, and copy.

mod common;

use protocol::export;

#[rustfmt::skip]
#[allow(dead_code)]
#[path = "../../../protocols/generated/esi.rs"]
mod esi;

#[test]
fn kept_files_are_up_to_date() {
    let root = common::root();
    for name in ["mesi", "esi"] {
        for output in export::all(&common::protocol(name, 1)) {
            let path = match output.name.rsplit_once('.') {
                Some((_, "sv" | "md")) => root.join("protocols/generated").join(&output.name),
                Some(("mesi", "rs")) => root.join("crates/protocol/src/tables/mesi.rs"),
                Some((_, "rs")) => root.join("protocols/generated").join(&output.name),
                _ => continue,
            };
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(kept == output.text, "{} is out of date", path.display());
        }
    }
}

#[test]
fn the_runtime_tables_say_what_the_protocol_says() {
    use esi::{home_step, HomeEvent, HomeOutcome, HomeState, Memory};
    let HomeOutcome::Go(step) = home_step(HomeState::I, HomeEvent::Get) else {
        panic!("a card may get a page");
    };
    assert_eq!(
        (step.memory, step.done, step.send),
        (Memory::Read, false, None)
    );
    assert_eq!(
        home_step(HomeState::I, HomeEvent::Flushed),
        HomeOutcome::Unexpected
    );
}
