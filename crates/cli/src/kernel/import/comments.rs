//! Reads the register map that HLS and the RTL kernel wizard write as a comment into the register module.

use super::component::Register;

/// Registers of such a comment, by offset; empty if the text has none.
pub fn registers(text: &str) -> Vec<Register> {
    let mut registers: Vec<Register> = Vec::new();
    for line in text.lines() {
        let Some(line) = line.trim().strip_prefix("//") else {
            continue;
        };
        let Some((offset, what)) = line.split_once(':') else {
            continue;
        };
        let offset = offset
            .trim()
            .strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let (Some(offset), Some(name)) = (offset, what.trim().strip_prefix("Data signal of "))
        else {
            continue;
        };
        let name = name.split_whitespace().next().unwrap_or("").to_owned();
        if registers.len() >= 256 {
            break;
        }
        match registers.last_mut() {
            Some(last) if last.name == name && last.offset + last.bytes == offset => {
                last.bytes += 4
            }
            _ => registers.push(Register {
                name,
                bus: String::new(),
                offset,
                bytes: 4,
                port: None,
            }),
        }
    }
    registers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_name_are_one_register() {
        let text = "
//------------------------Address Info-------------------
// 0x00 : Control signals
//        bit 0  - ap_start (Read/Write/COH)
// 0x10 : Data signal of in1
//        bit 31~0 - in1[31:0] (Read/Write)
// 0x14 : Data signal of in1
// 0x18 : reserved
// 0x1c : Data signal of size
module k_control_s_axi";
        let seen: Vec<_> = registers(text)
            .into_iter()
            .map(|one| (one.name, one.offset, one.bytes))
            .collect();
        assert_eq!(
            seen,
            [("in1".to_owned(), 0x10, 8), ("size".to_owned(), 0x1c, 4)]
        );
    }
}
