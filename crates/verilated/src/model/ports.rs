//! The ports of a model, parsed from the header that Verilator writes.

use serde::{Deserialize, Serialize};

/// Direction of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Into the model.
    Input,
    /// Out of the model.
    Output,
    /// An unpacked array: the header does not give the direction.
    Unknown,
}

/// One port of a model's top module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPort {
    /// Name in the RTL.
    pub name: String,
    /// Name in the C++ class (differs if the RTL's name is a keyword of C++).
    pub member: String,
    /// Direction of the port.
    pub direction: Direction,
    /// Width of one element in bits.
    pub width: u32,
    /// Number of elements of an unpacked array; 1 for a plain port.
    pub elements: u32,
    /// Whether it is an unpacked array, even of one element.
    pub array: bool,
}

impl ModelPort {
    /// Whether it is an output of the shell, by its name.
    pub fn is_output(&self) -> bool {
        match self.direction {
            Direction::Unknown => self.name.ends_with("_o") || self.name.ends_with("_no"),
            direction => direction == Direction::Output,
        }
    }

    /// Bytes in which Verilator stores one element.
    pub fn element_bytes(&self) -> usize {
        match self.width {
            0..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            33..=64 => 8,
            wide => wide.div_ceil(32) as usize * 4,
        }
    }
}

/// Parses the ports of a model class.
///
/// Plain ports are `VL_IN8(&name,msb,lsb);`, `VL_OUTW(&name,msb,lsb,words);` and the like; unpacked arrays are
/// `VlUnpacked<CData/*msb:lsb*/, elements> &name;`.
pub fn parse_header(header: &str) -> Vec<ModelPort> {
    header
        .lines()
        .map(str::trim)
        .filter_map(|line| plain(line).or_else(|| unpacked(line)))
        .collect()
}

fn plain(line: &str) -> Option<ModelPort> {
    let (direction, rest) = if let Some(rest) = line.strip_prefix("VL_IN") {
        (Direction::Input, rest)
    } else {
        (Direction::Output, line.strip_prefix("VL_OUT")?)
    };
    let (_, arguments) = rest.strip_suffix(");")?.split_once("(&")?;
    let mut fields = arguments.split(',');
    let member = fields.next()?;
    let msb: u32 = fields.next()?.parse().ok()?;
    let lsb: u32 = fields.next()?.parse().ok()?;
    Some(port(member, direction, msb.checked_sub(lsb)? + 1, None))
}

fn unpacked(line: &str) -> Option<ModelPort> {
    let (kind, member) = line
        .strip_prefix("VlUnpacked<")?
        .strip_suffix(';')?
        .rsplit_once(" &")?;
    let (msb, rest) = kind.split_once("/*")?.1.split_once(':')?;
    let (lsb, rest) = rest.split_once("*/")?;
    let elements: u32 = rest.strip_prefix(", ")?.strip_suffix('>')?.parse().ok()?;
    let width = msb.parse::<u32>().ok()?.checked_sub(lsb.parse().ok()?)? + 1;
    Some(port(member, Direction::Unknown, width, Some(elements)))
}

fn port(member: &str, direction: Direction, width: u32, elements: Option<u32>) -> ModelPort {
    ModelPort {
        name: member.strip_prefix("__SYM__").unwrap_or(member).to_owned(),
        member: member.to_owned(),
        direction,
        width,
        elements: elements.unwrap_or(1),
        array: elements.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_verilator_writes() {
        let header = "
    VL_IN8(&clk_i,0,0);
    VL_OUT8(&__SYM__interrupt,0,0);
    VL_INW(&data_i,511,0,16);
    VL_OUT64(&address_o,63,0);
    VlUnpacked<VlWide<16>/*511:0*/, 2> &rows_o;
    VlUnpacked<CData/*0:0*/, 1> &valid_i;
    Vm___024root* const rootp;
        ";
        let ports = parse_header(header);
        let seen: Vec<_> = ports
            .iter()
            .map(|p| {
                (
                    p.name.as_str(),
                    p.direction,
                    p.width,
                    p.elements,
                    p.element_bytes(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("clk_i", Direction::Input, 1, 1, 1),
                ("interrupt", Direction::Output, 1, 1, 1),
                ("data_i", Direction::Input, 512, 1, 64),
                ("address_o", Direction::Output, 64, 1, 8),
                ("rows_o", Direction::Unknown, 512, 2, 64),
                ("valid_i", Direction::Unknown, 1, 1, 1),
            ]
        );
        assert_eq!(ports[1].member, "__SYM__interrupt");
        assert!(ports[5].array && !ports[0].array);
    }
}
