//! The tables in `rtl/directory/protocol` are those that the generator makes of
//! `protocols/mesi.protocol` today.

use protocol::export::{systemverilog_package, systemverilog_rom, Agent};

fn same(name: &str, generated: &str) {
    let path = card::sim::home().join("rtl/directory/protocol").join(name);
    let checked_in = std::fs::read_to_string(&path).expect("checked-in table");
    assert!(
        checked_in == generated,
        "{name} is out of date: cargo run --bin tombolo -- protocol generate \
         protocols/mesi.protocol, and copy it to rtl/directory/protocol"
    );
}

#[test]
fn tables_are_up_to_date() {
    let protocol = coherence::system::mesi().expect("protocol");
    same(
        "tmb_mesi_protocol_pkg.sv",
        &systemverilog_package(&protocol),
    );
    same(
        "tmb_mesi_home_rom.sv",
        &systemverilog_rom(&protocol, Agent::Home),
    );
}
