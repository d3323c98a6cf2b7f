//! Sleeping blocks: modules of a design that are not clocked while an edge would not change their state.
//!
//! The RTL is unchanged. In a copy of a block's source its clock is replaced by a variable that only the glue writes
//! (`glue.cpp`), so that Verilator evaluates each instance of the block separately. The glue skips an instance at an
//! edge if all of it, inputs and state, equals its value before the last edge: that edge then left the state unchanged,
//! and so would the next one. It stays skipped until an input changes.
//!
//! The comparison covers the whole C++ object of the instance except memories (`MEMORIES`) that count their writes; the
//! count is compared instead. An input that Verilator did not keep in the object keeps the instance awake forever. So
//! the results are correct without any assumption about a block; only the speed depends on it.

use std::fmt::Write;

/// Variable that replaces a block's clock.
const CLOCK: &str = "tmb_awake_clk";
/// Count of writes to a memory.
const WRITES: &str = "tmb_writes";

/// A module with a memory that is too large to compare: its name, every statement that writes `mem_q`, and a condition
/// that holds whenever one of them does.
const MEMORIES: [(&str, &[&str], &str); 2] = [
    (
        "tmb_ram_1r1w",
        &[
            "if (write_enable_i && write_strobe_i[0]) mem_q[write_addr_i] <= write_data_i;",
            "mem_q[write_addr_i][i*PartWidth+:PartWidth] <= write_data_i[i*PartWidth+:PartWidth];",
        ],
        "write_enable_i",
    ),
    (
        "tmb_fifo",
        &["if (push) mem_q[write_index_q] <= in_data_i;"],
        "push",
    ),
];

/// The changed source of a module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed {
    /// Changed SystemVerilog source.
    pub(super) text: String,
    /// Its inputs except the clock, if it is a block.
    pub(super) inputs: Vec<String>,
}

/// Whether the module `name` is written so that it can sleep: in lowRISC style, with one clock `clk_i`.
pub fn can_sleep(name: &str, text: &str) -> bool {
    block(name, text).is_some()
}

/// The source of the module `name` as a block that can sleep; `None` if it does not follow the tree's coding style.
pub(super) fn block(name: &str, text: &str) -> Option<Changed> {
    let (head, body) = split(name, text)?;
    let mut inputs = Vec::new();
    for line in head.lines() {
        let line = line.split("//").next().unwrap_or("").trim();
        if !line.starts_with("input ") {
            continue;
        }
        // One port per line; an unpacked array's range follows the name.
        let mut words = line
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| word.ends_with("_i") || word.ends_with("_ni"));
        match (words.next(), words.next()) {
            (Some(input), None) => inputs.push(input.to_owned()),
            _ => return None,
        }
    }
    let clock = inputs.iter().position(|input| input == "clk_i")?;
    inputs.remove(clock);
    if head.contains("inout ") || inputs.is_empty() {
        return None;
    }
    let mut text = head.strip_suffix("\n);\n")?.to_owned();
    text += "\n);  /*verilator no_inline_module*/\n";
    let _ = writeln!(text, "  logic {CLOCK} /*verilator public_flat_rw*/;");
    let mut rest = body;
    while let Some(at) = rest.find("clk_i") {
        let (before, after) = (&rest[..at], &rest[at + "clk_i".len()..]);
        let of_name = |c: char| c.is_alphanumeric() || c == '_';
        text += before;
        rest = after;
        if before.ends_with(of_name) || after.starts_with(of_name) {
            text += "clk_i";
        } else if !before.ends_with('.') {
            text += CLOCK;
        } else if after.trim_start().starts_with('(') {
            text += "clk_i";
        } else {
            let _ = write!(text, "clk_i({CLOCK})");
        }
    }
    text += rest;
    Some(Changed { text, inputs })
}

/// Turns instances of the module `inner` in a container into blocks, by a copy of it under its own name: a module that
/// is used everywhere, in blocks too, cannot be one itself. Returns the container's source followed by the copy, the
/// block's name and its inputs; `None` if nothing there can sleep.
pub(super) fn within(
    (container, text): (&str, &str),
    (inner, inner_text): (&str, &str),
) -> Option<(String, String, Vec<String>)> {
    let name = format!("{inner}_in_{container}");
    let counted = memory(inner, inner_text).map(|changed| changed.text);
    let inner_text = counted.as_deref().unwrap_or(inner_text);
    let (head, new) = (format!("module {inner} "), format!("module {name} "));
    let changed = block(&name, &inner_text.replacen(&head, &new, 1))?;
    let mut found = false;
    let mut lines = String::new();
    for line in text.lines() {
        let rest = line.trim_start();
        let instance = rest
            .strip_prefix(inner)
            .filter(|rest| rest.starts_with(' '));
        if let Some(instance) = instance {
            found = true;
            lines += &format!("{name}{instance}\n");
        } else {
            lines += line;
            lines += "\n";
        }
    }
    found.then(|| (lines + &changed.text, name, changed.inputs))
}

/// The source of a module whose memory counts its writes; `None` if it is another module, or its text does not match
/// [`MEMORIES`].
pub(super) fn memory(name: &str, text: &str) -> Option<Changed> {
    let (_, writes, when) = MEMORIES.iter().find(|(module, ..)| *module == name)?;
    split(name, text)?;
    let known = writes.iter().all(|write| text.matches(write).count() == 1);
    let all = text
        .match_indices("mem_q[")
        .filter(|(at, _)| text[*at..].split(';').next().unwrap_or("").contains("<="))
        .count();
    let end = text.rfind("endmodule")?;
    (known && all == writes.len()).then(|| Changed {
        text: format!(
            "{}  int unsigned {WRITES} /*verilator public_flat_rd*/;\n  \
             always_ff @(posedge clk_i) if ({when}) {WRITES} <= {WRITES} + 1;\n\n{}",
            &text[..end],
            &text[end..]
        ),
        inputs: Vec::new(),
    })
}

/// The header of the only module of a text, and the rest.
fn split<'a>(name: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let mut modules = text.lines().filter_map(|line| line.strip_prefix("module "));
    let module = modules
        .next()?
        .split(|c: char| c.is_whitespace() || c == '(');
    if module.into_iter().next() != Some(name) || modules.next().is_some() {
        return None;
    }
    let end = text.find("\n);\n")? + "\n);\n".len();
    Some(text.split_at(end))
}

/// Verilator's configuration file: inputs of blocks stay in their objects.
pub(super) fn configuration(blocks: &[(String, Vec<String>)]) -> String {
    let mut text = String::from("`verilator_config\n");
    for (module, inputs) in blocks {
        for input in inputs {
            let _ = writeln!(text, "public_flat_rd -module \"{module}\" -var \"{input}\"");
        }
    }
    text
}

/// An instance of a block in the generated C++.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Instance {
    class: String,
    /// Name of the object in `Vmodel__Syms`.
    object: String,
}

impl Instance {
    /// The expression for its clock in generated code.
    pub(super) fn clock(&self) -> String {
        format!("vlSymsp->{}.{CLOCK}", self.object)
    }

    /// The variable that stores its previous clock.
    pub(super) fn history(&self) -> String {
        format!("__Vtrigprevexpr___{}__{CLOCK}__0", self.object)
    }
}

/// Whether no block contains another: nested blocks would need the inner one's outputs among the outer one's inputs.
pub(super) fn are_apart(instances: &[Instance]) -> bool {
    instances.iter().all(|outer| {
        // Behind a module that is a separate object, Verilator joins names without DOT.
        let inside = format!("{}__", outer.object);
        !instances.iter().any(|one| one.object.starts_with(&inside))
    })
}

/// Instances of blocks, from `Vmodel__Syms.h` and the headers of all classes.
pub(super) fn instances(symbols: &str, classes: &[Class]) -> Vec<Instance> {
    symbols
        .lines()
        .filter_map(|line| {
            let (class, object) = line.trim().strip_suffix(';')?.split_once(' ')?;
            let is_block = classes.iter().any(|known| known.name == class);
            is_block.then(|| Instance {
                class: class.to_owned(),
                object: object.trim().to_owned(),
            })
        })
        .collect()
}

/// The C++ class of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Class {
    name: String,
    /// Inputs; `None`: it never sleeps.
    inputs: Vec<String>,
    memories: Vec<String>,
}

impl Class {
    /// Parses a header, if the class belongs to a block.
    pub(super) fn read(header: &str, blocks: &[(String, Vec<String>)]) -> Option<Self> {
        let (_, declaration) = header.split_once("\nclass alignas(VL_CACHE_LINE_BYTES) ")?;
        let (name, body) = declaration.split_once(" final ")?;
        let members: Vec<&str> = body
            .lines()
            .filter_map(|line| line.trim().strip_suffix(';')?.rsplit(' ').next())
            .collect();
        if !members.contains(&CLOCK) {
            return None;
        }
        // Parameters are part of the class's name.
        let module = name.split_once('_')?.1.split("__").next()?;
        let inputs = blocks.iter().find(|(block, _)| block == module);
        let mut inputs = inputs.map_or_else(Vec::new, |(_, inputs)| inputs.clone());
        if let Some(lost) = (inputs.iter()).find(|input| !members.contains(&input.as_str())) {
            tracing::warn!("{name} has no {lost}: the block does not sleep");
            inputs.clear();
        }
        let counted = |member: &str| {
            let place = member.strip_suffix("mem_q")?;
            let place = place.strip_prefix("__PVT__").unwrap_or(place);
            members
                .contains(&format!("{place}{WRITES}").as_str())
                .then(|| member.to_owned())
        };
        Some(Self {
            name: name.to_owned(),
            inputs,
            memories: members
                .iter()
                .filter_map(|member| counted(member))
                .collect(),
        })
    }
}

/// C++ behind the glue, which describes every block to it.
pub(super) fn description(classes: &[Class], instances: &[Instance]) -> String {
    let mut text = String::from(
        "\nnamespace {\nvoid add_blocks(Instance& instance) {\n  \
         Vmodel__Syms& symbols = *instance.model.rootp->vlSymsp;\n",
    );
    for class in classes {
        let name = &class.name;
        let places = |members: &[String]| {
            let place = |member: &String| {
                format!("\n        Place{{offsetof({name}, {member}), sizeof({name}::{member})}}")
            };
            members.iter().map(place).collect::<Vec<_>>().join(",")
        };
        let inputs = match class.inputs.is_empty() {
            true => "never_rest".to_owned(),
            false => {
                let _ = writeln!(
                    text,
                    "  struct {name}_inputs {{\n    static constexpr auto chunks() {{\n      \
                     return Chunks<sizeof({name}), {}>{{std::array<Place, {0}>{{{}}}}};\n    }}\n  }};",
                    class.inputs.len(),
                    places(&class.inputs),
                );
                format!("inputs_rest<{name}_inputs>")
            }
        };
        let _ = writeln!(
            text,
            "  const auto add_{name} = [&]({name}& block, CData& history) {{\n    \
             instance.blocks.push_back(Block{{&block, sizeof block, block.{CLOCK}, history, {inputs}, \
             {{{}}}}});\n  }};",
            places(&class.memories),
        );
    }
    for instance in instances {
        let _ = writeln!(
            text,
            "  add_{}(symbols.{}, symbols.TOP.{});",
            instance.class,
            instance.object,
            instance.history()
        );
    }
    text += "}\n}  // namespace\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARK: &str = "// A clk_i.\nmodule park import pkg::*; #(\n  parameter int N = 2\n) (\n  \
        input  logic clk_i,\n  input  logic rst_ni,\n  // Not an input_i.\n  \
        input  word_t words_i [N],\n  output logic ready_o\n);\n\n  \
        always_ff @(posedge clk_i) a <= b;\n  fifo i_a (\n    .clk_i      (clk_i),\n    .x\n  );\n  \
        fifo i_b (\n    .clk_i,\n    .x\n  );\n\nendmodule\n";

    #[test]
    fn a_block_runs_on_a_clock_of_its_own() {
        let changed = block("park", PARK).unwrap();
        assert_eq!(changed.inputs, ["rst_ni", "words_i"]);
        let text = changed.text;
        assert!(text.contains("@(posedge tmb_awake_clk)"), "{text}");
        assert!(text.contains(".clk_i      (tmb_awake_clk),"), "{text}");
        assert!(text.contains(".clk_i(tmb_awake_clk),"), "{text}");
        assert_eq!(text.matches("input  logic clk_i").count(), 1);
    }

    #[test]
    fn an_instance_in_a_container_is_a_copy_with_a_name_of_its_own() {
        let outer = "module port (\n);\n  park #(\n  ) i_park (\n    .clk_i\n  );\n  parker i_b ();\nendmodule\n";
        let (text, name, inputs) = within(("port", outer), ("park", PARK)).unwrap();
        assert_eq!((name.as_str(), inputs.len()), ("park_in_port", 2));
        assert!(text.contains("\npark_in_port #(\n"), "{text}");
        assert!(text.contains("\n  parker i_b ();\n"), "{text}");
        assert!(text.contains("\nmodule park_in_port import"), "{text}");
        assert_eq!(
            within(("port", "module port ();\nendmodule\n"), ("park", PARK)),
            None
        );
    }

    #[test]
    fn what_is_written_otherwise_stays_awake() {
        assert_eq!(block("other", PARK), None);
        let two = PARK.replace("logic rst_ni", "logic rst_ni, input logic more_i");
        assert_eq!(block("park", &two), None);
        assert_eq!(block("park", &PARK.replace("clk_i", "clock")), None);
    }

    #[test]
    fn a_memory_counts_only_if_every_write_is_known() {
        let text = "// .\nmodule tmb_fifo (\n  input logic clk_i\n);\n  \
            if (push) mem_q[write_index_q] <= in_data_i;\n  out_q <= mem_q[read_index_q];\nendmodule\n";
        let changed = memory("tmb_fifo", text).unwrap().text;
        assert!(changed.contains("if (push) tmb_writes <= tmb_writes + 1;"));
        let more = text.replace("out_q <=", "mem_q[0] <= 1; out_q <=");
        assert_eq!(memory("tmb_fifo", &more), None);
        assert_eq!(memory("tmb_fifo", &text.replace("if (push) ", "")), None);
    }

    #[test]
    fn the_shells_memories_are_written_so_that_their_writes_count() {
        let rtl = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl");
        let list = std::fs::read_to_string(rtl.join("shell/tmb_shell.f")).unwrap();
        let text = |module: &str| {
            let file = list
                .lines()
                .find(|line| line.ends_with(&format!("/{module}.sv")));
            let file = file.unwrap_or_else(|| panic!("{module} is not in the list"));
            std::fs::read_to_string(rtl.join("..").join(file)).unwrap()
        };
        for (module, ..) in MEMORIES {
            assert!(memory(module, &text(module)).is_some(), "{module}");
        }
    }

    #[test]
    fn a_class_without_one_of_the_inputs_never_sleeps() {
        let header = "\nclass alignas(VL_CACHE_LINE_BYTES) Vmodel_park__pi3 final {\n  public:\n    \
            struct {\n        CData/*0:0*/ tmb_awake_clk;\n        CData/*0:0*/ rst_ni;\n        \
            VlUnpacked<CData/*0:0*/, 2> words_i;\n        IData/*31:0*/ i_a__DOT__tmb_writes;\n        \
            VlUnpacked<QData/*35:0*/, 64> __PVT__i_a__DOT__mem_q;\n        \
            VlUnpacked<QData/*35:0*/, 64> __PVT__i_b__DOT__mem_q;\n    };\n";
        let blocks = |inputs: &[&str]| {
            let inputs = inputs.iter().map(|name| (*name).to_owned()).collect();
            vec![("park".to_owned(), inputs)]
        };
        let class = Class::read(header, &blocks(&["rst_ni", "words_i"])).unwrap();
        assert_eq!(class.memories, ["__PVT__i_a__DOT__mem_q"]);
        let lost = Class::read(header, &blocks(&["rst_ni", "other_i"])).unwrap();
        assert!(lost.inputs.is_empty());
        let symbols = "    Vmodel_park__pi3   TOP__a__DOT__b;\n    Vmodel_pkg  TOP__p;\n";
        let classes = [class];
        let found = instances(symbols, &classes);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].clock(), "vlSymsp->TOP__a__DOT__b.tmb_awake_clk");
        assert!(are_apart(&found));
        let nested = format!("{symbols}    Vmodel_park__pi3   TOP__a__DOT__b__c;\n");
        assert!(!are_apart(&instances(&nested, &classes)));
    }
}
