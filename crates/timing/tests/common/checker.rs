//! A checker of command traces that shares no code with the model: it has the minimum distance of each pair of
//! commands, and compares every command with all recent ones.

use std::collections::BTreeMap;
use tombolo_timing::dram::{Command, CommandKind};
use tombolo_timing::platform::Memory;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Act,
    Pre,
    PreAll,
    Rd,
    Wr,
    Ref,
}

fn kind(command: &Command) -> Kind {
    match command.kind {
        CommandKind::Activate { .. } => Kind::Act,
        CommandKind::Precharge => Kind::Pre,
        CommandKind::PrechargeAll => Kind::PreAll,
        CommandKind::Read { .. } => Kind::Rd,
        CommandKind::Write { .. } => Kind::Wr,
        CommandKind::Refresh => Kind::Ref,
    }
}

/// Bank group, bank and DRAM row of a row address, as docs/blocks/timing.md defines them.
pub fn decode(memory: &Memory, address: u32) -> (u8, u8, u32) {
    let map = memory.address;
    let column_rows = map.page_bytes / 64;
    let group = address % map.bank_groups;
    let above = address / map.bank_groups / column_rows;
    let row = above / map.banks_per_group;
    let mut bank = above % map.banks_per_group;
    let mut rest = row;
    while rest > 0 && map.banks_per_group > 1 {
        bank ^= rest % map.banks_per_group;
        rest /= map.banks_per_group;
    }
    (group as u8, bank as u8, row)
}

/// The inverse of [`decode`]: the byte offset of a column (in rows of 64 bytes) of a DRAM row.
pub fn encode(memory: &Memory, group: u32, bank: u32, row: u32, column: u32) -> u64 {
    let map = memory.address;
    let column_rows = map.page_bytes / 64;
    let guess = (row * map.banks_per_group + bank) * column_rows * map.bank_groups;
    let (_, hashed, _) = decode(memory, guess);
    let bank = bank ^ (u32::from(hashed) ^ bank);
    let above = row * map.banks_per_group + bank;
    u64::from((above * column_rows + column) * map.bank_groups + group) * 64
}

/// Minimum clocks from `a` to `b`; `None` if the pair is unconstrained.
fn distance(memory: &Memory, a: &Command, b: &Command) -> Option<u64> {
    let t = &memory.timing;
    let same_group = a.bank_group == b.bank_group;
    let same_bank = same_group && a.bank == b.bank;
    let all = kind(b) == Kind::PreAll;
    match (kind(a), kind(b)) {
        (Kind::Act, Kind::Act) if same_bank => Some(t.ras + t.rp),
        (Kind::Act, Kind::Act) if same_group => Some(t.rrd_l),
        (Kind::Act, Kind::Act) => Some(t.rrd_s),
        (Kind::Act, Kind::Rd | Kind::Wr) if same_bank => Some(t.rcd),
        (Kind::Act, Kind::Pre | Kind::PreAll) if same_bank || all => Some(t.ras),
        (Kind::Act, Kind::Ref) => Some(t.ras + t.rp),
        (Kind::Pre, Kind::Act) if same_bank => Some(t.rp),
        (Kind::PreAll, Kind::Act) | (Kind::Pre | Kind::PreAll, Kind::Ref) => Some(t.rp),
        (Kind::Rd, Kind::Rd) | (Kind::Wr, Kind::Wr) => {
            Some(if same_group { t.ccd_l } else { t.ccd_s })
        }
        (Kind::Rd, Kind::Wr) => Some(t.cl + t.burst + t.rtw_gap - t.cwl),
        (Kind::Wr, Kind::Rd) => Some(t.cwl + t.burst + if same_group { t.wtr_l } else { t.wtr_s }),
        (Kind::Rd, Kind::Pre | Kind::PreAll) if same_bank || all => Some(t.rtp),
        (Kind::Wr, Kind::Pre | Kind::PreAll) if same_bank || all => Some(t.cwl + t.burst + t.wr),
        (Kind::Ref, Kind::Act | Kind::Ref) => Some(t.rfc),
        _ => None,
    }
}

/// Checks a whole trace from time zero.
pub fn check(memory: &Memory, trace: &[Command]) -> Result<(), String> {
    let t = &memory.timing;
    let longest = t
        .rfc
        .max(t.ras + t.rp)
        .max(t.cwl + t.burst + t.wr.max(t.wtr_l))
        .max(t.faw);
    let mut open: BTreeMap<(u8, u8), u32> = BTreeMap::new();
    let mut activations: Vec<u64> = Vec::new();
    let mut refreshes = 0;
    let mut bus_free = (0, Kind::Ref);
    for (index, command) in trace.iter().enumerate() {
        let bank = (command.bank_group, command.bank);
        for earlier in trace[..index].iter().rev() {
            if earlier.clock + longest < command.clock {
                break;
            }
            if earlier.clock >= command.clock {
                return Err(format!("command bus: {earlier:?} then {command:?}"));
            }
            if let Some(least) = distance(memory, earlier, command) {
                if command.clock < earlier.clock + least {
                    return Err(format!(
                        "{earlier:?} then {command:?}: {least} clocks at least"
                    ));
                }
            }
        }
        match command.kind {
            CommandKind::Activate { row } => {
                if open.insert(bank, row).is_some() {
                    return Err(format!("{command:?}: the bank is open"));
                }
                if activations.len() >= 4
                    && command.clock < activations[activations.len() - 4] + t.faw
                {
                    return Err(format!("{command:?}: fifth ACT within tFAW"));
                }
                activations.push(command.clock);
            }
            CommandKind::Precharge => {
                if open.remove(&bank).is_none() {
                    return Err(format!("{command:?}: the bank is closed"));
                }
            }
            CommandKind::PrechargeAll => open.clear(),
            CommandKind::Read { address } | CommandKind::Write { address } => {
                let (group, of_group, row) = decode(memory, address);
                if (group, of_group) != bank || open.get(&bank) != Some(&row) {
                    return Err(format!("{command:?}: row {row} of the bank is not open"));
                }
                let this = kind(command);
                let latency = if this == Kind::Rd { t.cl } else { t.cwl };
                let start = command.clock + latency;
                let gap = if (bus_free.1, this) == (Kind::Rd, Kind::Wr) {
                    t.rtw_gap
                } else {
                    0
                };
                if start < bus_free.0 + gap {
                    return Err(format!("{command:?}: data overlap on the bus"));
                }
                bus_free = (start + t.burst, this);
            }
            CommandKind::Refresh => {
                refreshes += 1;
                let due = refreshes * t.refi;
                // Everything under way when it is due may end: a write, its recovery, a precharge.
                let latest = due + t.ras + t.cwl + t.burst + t.wr + 2 * t.rp;
                if !open.is_empty() {
                    return Err(format!("{command:?}: {open:?} open"));
                }
                if !(due..=latest).contains(&command.clock) {
                    return Err(format!("{command:?}: due from {due} to {latest}"));
                }
            }
        }
        if command.clock > (refreshes + 1) * t.refi
            && matches!(kind(command), Kind::Act | Kind::Rd | Kind::Wr)
        {
            return Err(format!("{command:?}: refresh {} is overdue", refreshes + 1));
        }
    }
    Ok(())
}
