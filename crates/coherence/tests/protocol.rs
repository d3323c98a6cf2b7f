//! The tables in `rtl/*/protocol` are those that the generator makes of `protocols/mesi.protocol`
//! today.

use protocol::export::{systemverilog_package, systemverilog_rom, Agent};

fn same(block: &str, name: &str, generated: &str) {
    let path = format!("rtl/{block}/protocol/{name}");
    let checked_in =
        std::fs::read_to_string(card::sim::home().join(&path)).expect("checked-in table");
    assert!(
        checked_in == generated,
        "{path} is out of date: cargo run --bin tombolo -- protocol generate \
         protocols/mesi.protocol, and copy it there"
    );
}

#[test]
fn tables_are_up_to_date() {
    let protocol = coherence::system::mesi().expect("protocol");
    same(
        "directory",
        "tmb_mesi_protocol_pkg.sv",
        &systemverilog_package(&protocol),
    );
    same(
        "directory",
        "tmb_mesi_home_rom.sv",
        &systemverilog_rom(&protocol, Agent::Home),
    );
    same(
        "cache_controller",
        "tmb_mesi_cache_rom.sv",
        &systemverilog_rom(&protocol, Agent::Cache),
    );
}
