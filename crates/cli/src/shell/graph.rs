//! A diagram of the shell: Graphviz text, after figure 3 of the FlexiMem paper.
//!
//! Left to right: ports and other requesters of memory, address lanes with their L1 TLBs, the walker, the fabric,
//! channels. Every counted element of the configuration is drawn.

use simcard::Translator;
use std::fmt::Write;
use tombolo::ShellConfig;

/// Graphviz text.
pub fn graph(shell: &ShellConfig) -> String {
    let mut text = "digraph shell {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\", \
                    fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n"
        .to_owned();
    for slot in 0..u32::from(shell.slots) {
        ports(&mut text, shell, slot);
    }
    let lanes = u32::from(shell.lanes);
    for lane in 0..lanes {
        let _ = writeln!(
            text,
            "  lane{lane} [label=\"{}\"];",
            lane_label(shell, lane)
        );
    }
    for requester in 0..2 * shell.ports() {
        let (port, kind) = (requester / 2, ["reads", "writes"][requester as usize % 2]);
        let lane = shell.lane_of(requester);
        let _ = writeln!(text, "  port{port} -> lane{lane} [label=\"{kind}\"];");
    }
    let paged = shell.translator == Translator::Paged;
    if paged && shell.max_walks > 0 {
        let walks = shell.max_walks;
        let _ = writeln!(
            text,
            "  walker [label=\"walker\\n{walks} walks in flight\"];"
        );
        for lane in 0..lanes {
            let _ = writeln!(
                text,
                "  lane{lane} -> walker [label=\"misses\", style=dashed];"
            );
        }
        text.push_str("  walker -> fabric [label=\"sets\", style=dashed];\n");
    }
    let _ = writeln!(
        text,
        "  fabric [label=\"fabric\\na row a cycle, channel and direction\", height=2];\n  dma [label=\"DMA \
         engine\\n{} command queues\"];\n  host [label=\"host memory\\nPCIe\", shape=cylinder];\n  host -> dma \
         [dir=both];\n  dma -> fabric [dir=both];",
        shell.queues
    );
    for lane in 0..lanes {
        let _ = writeln!(text, "  lane{lane} -> fabric [label=\"translated\"];");
    }
    for channel in 0..shell.channels {
        let _ = writeln!(
            text,
            "  channel{channel} [label=\"channel {channel}\", shape=cylinder];\n  fabric -> \
             channel{channel} [dir=both];"
        );
    }
    text.push_str("}\n");
    text
}

fn ports(text: &mut String, shell: &ShellConfig, slot: u32) {
    let _ = writeln!(
        text,
        "  subgraph cluster_slot{slot} {{\n    label=\"slot {slot}\"; fontname=\"sans-serif\"; fontsize=10;"
    );
    let per_slot = u32::from(shell.ports_per_slot);
    let first_pair = per_slot - u32::from(shell.streams_per_slot);
    for port in 0..per_slot {
        let number = slot * per_slot + port;
        let label = match port.checked_sub(first_pair) {
            None => format!("port {port}\\nAXI4"),
            Some(pair) => format!("port {port}\\nmovers of stream pair {pair}"),
        };
        let _ = writeln!(text, "    port{number} [label=\"{label}\"];");
    }
    text.push_str("  }\n");
}

fn lane_label(shell: &ShellConfig, lane: u32) -> String {
    let mut label = format!("address lane {lane}");
    if shell.translator == Translator::Identity {
        return label + "\\naddresses as they are";
    }
    for l1 in &shell.l1 {
        let entries = u32::from(l1.ways) << l1.sets_log2;
        let _ = match shell.translator {
            Translator::Segment => write!(label, "\\n{entries} segments"),
            _ => {
                let pages = tombolo::report::bytes(1 << l1.page_bits);
                write!(label, "\\nL1 TLB: {entries} pages of {pages}")
            }
        };
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_counted_is_drawn_and_joined() {
        let shell = ShellConfig {
            slots: 2,
            lanes: 4,
            streams_per_slot: 1,
            ..ShellConfig::default()
        };
        let text = graph(&shell);
        let count = |words: &str| text.matches(words).count();
        assert_eq!(count("[label=\"reads\"]"), 4);
        assert_eq!(count("[label=\"writes\"]"), 4);
        assert_eq!(count("address lane"), 4);
        assert_eq!(count("movers of stream pair"), 2);
        assert_eq!(count("shape=cylinder"), 3, "two channels and the host");
        assert!(text.contains("port3 -> lane3 [label=\"writes\"]"), "{text}");
        assert_eq!(count("{"), count("}"));
        // Neighbours share a lane: with two of them, each slot has its own.
        let two = graph(&ShellConfig {
            lanes: 2,
            ..shell.clone()
        });
        for (port, lane) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
            assert_eq!(
                two.matches(&format!("  port{port} -> lane{lane} ")).count(),
                2
            );
        }
        let flat = ShellConfig {
            translator: Translator::Identity,
            ..shell
        };
        assert!(!graph(&flat).contains("walker"));
    }
}
