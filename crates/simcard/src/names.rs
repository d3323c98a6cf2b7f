//! Names of a kernel in generated SystemVerilog.

/// Words that are reserved in SystemVerilog and not in Verilog-2005: legal names of a module or a port in
/// Verilog.
const RESERVED: &str = "accept_on alias always_comb always_ff always_latch assert assume before bind bins binsof bit break \
     byte chandle checker class clocking const constraint context continue cover covergroup coverpoint \
     cross dist do endchecker endclass endclocking endgroup endinterface endpackage endprogram \
     endproperty endsequence enum eventually expect export extends extern final first_match foreach \
     forkjoin global iff ignore_bins illegal_bins implements implies import inside int interconnect \
     interface intersect join_any join_none let local logic longint matches modport nettype new nexttime \
     null package packed priority program property protected pure rand randc randcase randsequence ref \
     reject_on restrict return s_always s_eventually s_nexttime s_until s_until_with sequence shortint \
     shortreal soft solve static string strong struct super sync_accept_on sync_reject_on tagged this \
     throughout timeprecision timeunit type typedef union unique unique0 until until_with untyped var \
     virtual void wait_order weak wildcard with within";

/// The name of a module or of a port, escaped if it is a keyword of SystemVerilog.
pub(crate) fn identifier(name: &str) -> String {
    match RESERVED.split_ascii_whitespace().any(|word| word == name) {
        // The space ends an escaped identifier.
        true => format!("\\{name} "),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reserved_words_are_escaped() {
        assert_eq!(identifier("solve"), "\\solve ");
        assert_eq!(identifier("within"), "\\within ");
        assert_eq!(identifier("accept_on"), "\\accept_on ");
        assert_eq!(identifier("solver"), "solver");
    }
}
