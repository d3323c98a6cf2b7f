//! Removes second declarations of ports: `module k(output q); wire q;`.
//!
//! IEEE 1800 (23.2.2.2) forbids them after an ANSI header, and Verilator refuses them; Vivado accepts them.

use super::sources::tokens;

/// A port of an ANSI header.
struct Port<'a> {
    name: &'a str,
    /// Range, without spaces.
    range: String,
    /// Byte after the direction, if the port has its own and no type.
    untyped: Option<usize>,
}

/// Blanks second declarations of ports, of the same range. A port that is declared as `reg` becomes one in the header.
/// Returns the text and the names of these ports.
pub(super) fn without_redeclared(text: &str) -> (String, Vec<String>) {
    let tokens = tokens(text);
    let offset = |token: &str| token.as_ptr() as usize - text.as_ptr() as usize;
    let (mut blanks, mut insertions, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        at += 1;
        if !matches!(tokens[at - 1], "module" | "macromodule") {
            continue;
        }
        let Some((header, end)) = header(&tokens, at) else {
            continue;
        };
        let ports = ports(&tokens[header..end], offset);
        // Depth of blocks with names of their own.
        let mut depth = 0_usize;
        at = end;
        while at < tokens.len() && tokens[at] != "endmodule" {
            match tokens[at] {
                "begin" | "function" | "task" | "fork" => depth += 1,
                "end" | "endfunction" | "endtask" | "join" => depth = depth.saturating_sub(1),
                "wire" | "reg" if depth == 0 && tokens[at - 1] == ";" => {
                    if let Some((length, declared)) = declaration(&tokens[at..], &ports) {
                        let is_reg = tokens[at] == "reg";
                        if !is_reg || declared.iter().all(|port| port.untyped.is_some()) {
                            let from = offset(tokens[at]);
                            blanks.push((from, offset(tokens[at + length - 1])));
                            let untyped = declared.iter().filter_map(|port| port.untyped);
                            insertions.extend(untyped.filter(|_| is_reg));
                            names.extend(declared.iter().map(|port| port.name.to_owned()));
                            // The semicolon remains.
                            at += length - 2;
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
    let mut changed = text.to_owned();
    for &(from, to) in blanks.iter().rev() {
        let blank: String = text[from..to].chars().filter(|c| *c == '\n').collect();
        changed.replace_range(from..to, &blank);
    }
    // Headers precede bodies, but a later header follows an earlier body.
    insertions.sort_unstable();
    let removed_before = |place: usize| -> usize {
        let earlier = blanks.iter().filter(|(_, to)| *to <= place);
        earlier
            .map(|(from, to)| to - from - text[*from..*to].matches('\n').count())
            .sum()
    };
    for &place in insertions.iter().rev() {
        changed.insert_str(place - removed_before(place), " reg");
    }
    (changed, names)
}

/// Token range of the ports of a module, whose keyword is before `at`.
fn header(tokens: &[&str], at: usize) -> Option<(usize, usize)> {
    let close = |open: usize| {
        let mut depth = 0_usize;
        (open..tokens.len()).find(|at| {
            match tokens[*at] {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })
    };
    let mut open = (at..tokens.len()).find(|at| matches!(tokens[*at], "(" | ";"))?;
    if tokens[open - 1] == "#" {
        open = close(open)? + 1;
    }
    if tokens.get(open) != Some(&"(") {
        return None;
    }
    Some((open + 1, close(open)?))
}

/// The ports of an ANSI header; none of another header.
fn ports<'a>(header: &[&'a str], offset: impl Fn(&str) -> usize) -> Vec<Port<'a>> {
    let mut ports = Vec::new();
    let (mut range, mut is_ansi) = (String::new(), false);
    let mut depth = 0_usize;
    for entry in header.split(|token| {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        *token == "," && depth == 0
    }) {
        let direction = entry
            .iter()
            .position(|token| matches!(*token, "input" | "output" | "inout"));
        let Some((name, before)) = entry.split_last() else {
            continue;
        };
        let mut untyped = None;
        if let Some(direction) = direction {
            is_ansi = true;
            let types = before[direction + 1..].iter();
            let types = types.filter(|token| **token != "signed");
            range = types.copied().collect();
            if range.is_empty() || range.starts_with('[') {
                untyped = Some(offset(entry[direction]) + entry[direction].len());
            }
            range = range.trim_start_matches("wire").to_owned();
        }
        if is_ansi {
            ports.push(Port {
                name,
                range: range.clone(),
                untyped,
            });
        }
    }
    ports
}

/// Tokens of a declaration without values, and the ports that it declares; `None` if it declares other names.
fn declaration<'p, 'a>(
    tokens: &[&str],
    ports: &'p [Port<'a>],
) -> Option<(usize, Vec<&'p Port<'a>>)> {
    let end = tokens.iter().position(|token| *token == ";")?;
    let mut rest = &tokens[1..end];
    if rest.first() == Some(&"signed") {
        rest = &rest[1..];
    }
    let first = match rest.first() {
        Some(&"[") => rest.iter().position(|token| *token == "]")? + 1,
        _ => 0,
    };
    let range: String = rest[..first].concat();
    let names = rest[first..].split(|token| *token == ",");
    let declared = names.map(|name| match name {
        [name] => ports
            .iter()
            .find(|port| port.name == *name && port.range == range),
        _ => None,
    });
    Some((end + 1, declared.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_declarations_of_ports_are_blank() {
        let text = "module k #(parameter W = 2)(input c, output [W-1:0] q, output r, output s);\n  wire [W-1:0] q;\n  \
            reg r;\n  reg local;\n  function f; input c; reg s; f = c; endfunction\nendmodule\n\
            module l(output r);\n  reg r; wire c;\nendmodule\n";
        let (changed, names) = without_redeclared(text);
        assert_eq!(names, ["q", "r", "r"]);
        assert_eq!(
            changed,
            "module k #(parameter W = 2)(input c, output [W-1:0] q, output reg r, output s);\n  ;\n  \
            ;\n  reg local;\n  function f; input c; reg s; f = c; endfunction\nendmodule\n\
            module l(output reg r);\n  ; wire c;\nendmodule\n"
        );
    }

    #[test]
    fn other_declarations_stay() {
        for text in [
            // Not ANSI: the standard allows it.
            "module k(q); output q; reg q; endmodule",
            // Another range, a value, several names of which one is no port, a port that inherits its direction.
            "module k(output q); wire [1:0] q; endmodule",
            "module k(output q); wire q = 1; endmodule",
            "module k(output q); wire q, r; endmodule",
            "module k(output p, q); reg q; endmodule",
            "module k(output q); initial begin : b reg q; end endmodule",
            "module k;",
            "module k(output q",
        ] {
            assert_eq!(without_redeclared(text), (text.to_owned(), vec![]));
        }
    }
}
