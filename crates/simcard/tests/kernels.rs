//! Kernels that misbehave, or that do not fit.

mod sim;

use card::event::Event;
use card::kernel::KernelPackage;
use card::registers::SLOT_CONTROL;
use card::{Card, CardError, Loader, Simulation, SlotId};
use sim::{open, options, rtl, Driver, SLOT, SPACE};
use units::{CommandStatus, Operation, Picoseconds};
use verilated::BuildError;

fn failing() -> KernelPackage {
    KernelPackage::open(&rtl("failing")).unwrap()
}

/// Runs the kernel `failing` with an argument; returns the reason that the card
/// reports.
fn reason(how: u32) -> String {
    let mut driver = Driver::new(open(options()));
    driver.card.load(SLOT, &failing()).unwrap();
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    let register = SLOT_CONTROL.at(0) + 0x10;
    driver.card.write_register(register, 0).unwrap();
    assert_eq!(driver.card.read_register(register).unwrap(), 0);
    driver.card.write_register(register, how).unwrap();
    let events = driver.card.wait(None).unwrap();
    let [Event::KernelFailed { slot, reason }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(*slot, SLOT);
    // The shell continues: commands are served, and the slot can be used again.
    assert_eq!(driver.command(Operation::Nop), CommandStatus::Ok);
    driver.card.control_slot(SLOT, SPACE, false).unwrap();
    driver.card.load(SLOT, &failing()).unwrap();
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    driver.card.write_register(register, 77).unwrap();
    assert_eq!(driver.card.read_register(register).unwrap(), 77);
    reason.clone()
}

#[test]
fn a_kernel_that_ends_itself_is_an_event() {
    assert!(reason(1).contains("failing.sv") && reason(1).contains("$finish"));
    assert!(reason(2).contains("the argument is two"), "{}", reason(2));
    assert!(reason(3).contains("the argument is three"), "{}", reason(3));
    assert!(reason(4).contains("did not converge"), "{}", reason(4));
}

#[test]
fn a_kernel_that_never_rests_keeps_the_card_busy() {
    let mut card = open(options());
    card.load(SLOT, &KernelPackage::open(&rtl("spinning")).unwrap())
        .unwrap();
    card.control_slot(SLOT, SPACE, true).unwrap();
    let before = card.statistics().unwrap();
    let deadline = card.now() + Picoseconds::from_micros(200);
    assert!(card.wait(Some(deadline)).unwrap().is_empty());
    assert!(!card.is_quiescent());
    // The shell is idle meanwhile: it is skipped while the kernel is not.
    let after = card.statistics().unwrap();
    let cycles = after.cycles - before.cycles;
    let evaluated = after.evaluated_cycles - before.evaluated_cycles;
    assert!(
        cycles > 40_000 && evaluated < cycles / 4,
        "{evaluated} of {cycles}"
    );
}

#[test]
fn a_running_slot_is_not_reloaded() {
    let mut card = open(options());
    card.load(SLOT, &failing()).unwrap();
    card.control_slot(SLOT, SPACE, true).unwrap();
    assert!(matches!(
        card.load(SLOT, &failing()),
        Err(CardError::SlotBusy { .. })
    ));
    assert!(matches!(
        card.load(SlotId(1), &failing()),
        Err(CardError::NoSuchSlot { last: 0, .. })
    ));
}

/// The rule that a modified manifest or RTL of `failing` breaks.
fn refusal(change: impl FnOnce(&mut String, &mut String)) -> BuildError {
    let mut manifest = std::fs::read_to_string(rtl("failing").join("kernel.toml")).unwrap();
    let mut source = std::fs::read_to_string(rtl("failing").join("failing.sv")).unwrap();
    change(&mut manifest, &mut source);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernel.toml"), manifest).unwrap();
    std::fs::write(folder.path().join("failing.sv"), source).unwrap();
    let package = KernelPackage::open(folder.path()).unwrap();
    match open(options()).load(SLOT, &package) {
        Err(CardError::Build(error)) => *error.downcast().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn replace(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "{from}");
    *text = text.replace(from, to);
}

#[test]
fn a_manifest_that_does_not_match_names_signal_and_rule() {
    let port = "\n[[port]]\nname = \"m_axi_gmem\"\nkind = \"axi4\"\ndata_width = 512\n\
                access = \"read\"\n";
    for (change, words) in [
        (("", port), vec!["m_axi_gmem_araddr", "reads"]),
        (
            ("failing\"\nsources", "failed\"\nsources"),
            vec!["failed", "not found"],
        ),
    ] {
        let error = refusal(|manifest, _| match change {
            ("", more) => manifest.push_str(more),
            (from, to) => replace(manifest, from, to),
        });
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    for (from, to, words) in [
        (
            "S_AXI_CONTROL_RDATA\n",
            "read_data\n",
            ["s_axi_control_rdata", "needs it"],
        ),
        (
            "[31:0] S_AXI_CONTROL_WDATA",
            "[15:0] S_AXI_CONTROL_WDATA",
            ["WDATA", "16 bits, not 32"],
        ),
        (
            "ap_rst_n,",
            "ap_rst_n, input logic ap_clk_2,",
            ["ap_clk_2", "nothing that the manifest"],
        ),
        (
            "ap_rst_n,",
            "ap_rst_n, output logic m_axi_extra_arvalid,",
            ["m_axi_extra_arvalid", "does not list"],
        ),
        ("ap_rst_n", "reset_n", ["ap_rst_n", "has this reset"]),
        (
            "input  logic        S_AXI_CONTROL_BREADY",
            "output logic S_AXI_CONTROL_BREADY",
            ["BREADY", "must be an input"],
        ),
    ] {
        let text = refusal(|_, source| replace(source, from, to)).to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

#[test]
fn rtl_that_does_not_compile_shows_the_line() {
    let error = refusal(|_, source| replace(source, "respond_q <= 1'b1", "responded <= 1'b1"));
    let text = error.to_string();
    assert!(matches!(error, BuildError::Rtl { .. }), "{text}");
    let source = std::fs::read_to_string(rtl("failing").join("failing.sv")).unwrap();
    let line = source
        .lines()
        .position(|line| line.contains("respond_q <= 1'b1"))
        .unwrap()
        + 1;
    let place = format!("failing.sv:{line}:");
    assert!(
        text.contains(&place) && text.contains("responded"),
        "{text}"
    );
}

#[test]
fn a_kernel_cannot_reach_the_machine() {
    for (code, words) in [
        ("$system(\"true\")", "$system"),
        ("$c(\"exit(1)\")", "inline C++"),
        ("poke()", "DPI"),
    ] {
        let error = refusal(|_, source| {
            replace(source, "$finish;", &format!("{code};"));
            if code == "poke()" {
                let import = "import \"DPI-C\" function void poke();\n  logic [31:0] how_q;";
                replace(source, "logic [31:0] how_q;", import);
            }
        });
        let text = error.to_string();
        assert!(matches!(error, BuildError::Refused { .. }), "{text}");
        assert!(
            text.contains(words) && text.contains("failing.sv:"),
            "{text}"
        );
    }
}
