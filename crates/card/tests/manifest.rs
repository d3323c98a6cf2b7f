//! `kernel.toml`: what is accepted, one example per rule, and no input that panics.

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tombolo_card::kernel::{
    AccessMode, ControlProtocol, KernelError, KernelPackage, Manifest, ManifestRule, Numbers,
    ResetPolarity, Sideband,
};
use tombolo_card::stream::{StreamDirection, StreamId};

const VALID: &str = r#"[kernel]
name = "scale"
description = "multiplies"
top = "scale_top"
sources = ["scale.sv", "sub/part.sv"]
control = "ap_ctrl_hs"
interrupt = true

[[port]]
name = "m_axi_in"
kind = "axi4"
data_width = 512
access = "read"

[[port]]
name = "m_axi_out"
kind = "axi4"
data_width = 64
access = "read_write"

[[argument]]
name = "source"
offset = 0x10
bytes = 8
port = "m_axi_in"
access = "read"

[[argument]]
name = "factor"
offset = 0x1c
bytes = 4
"#;

fn parse(text: &str) -> Result<Manifest, KernelError> {
    Manifest::parse(Path::new("kernel.toml"), text)
}

/// The rule, key and line that refuse `VALID` with `from` replaced by `to`.
fn refusal(from: &str, to: &str) -> (ManifestRule, &'static str, usize) {
    assert!(VALID.contains(from), "`{from}` is not in the example");
    match parse(&VALID.replacen(from, to, 1)) {
        Err(KernelError::Manifest {
            rule, key, line, ..
        }) => (rule, key, line),
        other => panic!("`{to}` gave {other:?}"),
    }
}

fn syntax_error(from: &str, to: &str) -> (usize, String) {
    assert!(VALID.contains(from), "`{from}` is not in the example");
    match parse(&VALID.replacen(from, to, 1)) {
        Err(KernelError::Syntax { line, message, .. }) => (line, message),
        other => panic!("`{to}` gave {other:?}"),
    }
}

/// A folder with the example kernel, its sources and one library.
fn kernel_folder() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("scale");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("scale.sv"), "").unwrap();
    fs::write(folder.join("sub/part.sv"), "").unwrap();
    fs::write(folder.join("kernel.toml"), VALID).unwrap();
    let library = root.path().join("parts");
    fs::create_dir(&library).unwrap();
    for name in ["b.sv", "a.sv", "z_pkg.sv", "notes.md"] {
        fs::write(library.join(name), "").unwrap();
    }
    (root, folder)
}

#[test]
fn a_good_manifest_is_read_whole() {
    let manifest = parse(VALID).unwrap();
    assert_eq!(manifest.name, "scale");
    assert_eq!(manifest.top, "scale_top");
    assert_eq!(manifest.control, ControlProtocol::ApCtrlHs);
    assert_eq!(manifest.reset, ResetPolarity::ActiveLow);
    assert_eq!(manifest.interrupt.as_deref(), Some("interrupt"));
    assert_eq!(manifest.ports[1].data_width, 64);
    assert_eq!(manifest.ports[1].access, AccessMode::ReadWrite);
    let source = manifest.argument("source").unwrap();
    assert_eq!(
        (source.offset, source.bytes, source.port),
        (0x10, 8, Some(0))
    );
    assert_eq!(manifest.argument("factor").unwrap().port, None);
    assert!(manifest.argument("nothing").is_none());
}

#[test]
fn names_are_identifiers_and_unique() {
    let bad = |name: &str| ManifestRule::Identifier(name.to_owned());
    assert_eq!(
        refusal("\"scale\"", "\"9scale\""),
        (bad("9scale"), "kernel.name", 2)
    );
    assert_eq!(refusal("\"scale\"", "\"\""), (bad(""), "kernel.name", 2));
    assert_eq!(
        refusal("\"scale_top\"", "\"a-b\""),
        (bad("a-b"), "kernel.top", 4)
    );
    assert_eq!(
        refusal("\"factor\"", "\"é\""),
        (bad("é"), "argument.name", 29)
    );
    let twice = |name: &str| ManifestRule::Duplicate(name.to_owned());
    assert_eq!(
        refusal("\"m_axi_out\"", "\"m_axi_in\""),
        (twice("m_axi_in"), "port.name", 16)
    );
    assert_eq!(
        refusal("\"factor\"", "\"source\""),
        (twice("source"), "argument.name", 29)
    );
    assert_eq!(
        refusal("sub/part.sv", "./scale.sv"),
        (twice("./scale.sv"), "kernel.sources", 5)
    );
}

#[test]
fn sources_stay_in_the_folder() {
    for path in ["../other.sv", "/etc/passwd", "sub/../../x.sv", ""] {
        let expected = (
            ManifestRule::OutsideFolder(path.to_owned()),
            "kernel.sources",
            5,
        );
        assert_eq!(refusal("sub/part.sv", path), expected);
    }
    let none = refusal("[\"scale.sv\", \"sub/part.sv\"]", "[]");
    assert_eq!(none, (ManifestRule::NoSources, "kernel.sources", 5));
}

#[test]
fn ports_behind_the_directory_come_in_pairs() {
    let port = |name: &str, kind: &str| format!("[[port]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    let (home, line) = (
        port("s_home", "axi4_home"),
        port("m_line", "line_operations"),
    );
    let with = |ports: &str| VALID.replacen("[[argument]]", &format!("{ports}[[argument]]"), 1);
    let manifest = parse(&with(&format!("{home}{line}"))).expect("a pair");
    assert_eq!(
        (manifest.homes, manifest.lines),
        (vec!["s_home".to_owned()], vec!["m_line".to_owned()])
    );
    assert_eq!(manifest.ports.len(), 2, "memory ports are counted apart");
    let beside = parse(&with(&line)).expect("beside card memory");
    assert_eq!((beside.homes.len(), beside.lines.len()), (0, 1));
    let rule = |ports: &str| match parse(&with(ports)) {
        Err(KernelError::Manifest { rule, .. }) => rule,
        other => panic!("{ports} gave {other:?}"),
    };
    assert_eq!(
        rule(&home),
        ManifestRule::CoherentPairs { homes: 1, lines: 0 }
    );
    assert_eq!(
        rule(&format!("{home}data_width = 512\n{line}")),
        ManifestRule::CoherentPort
    );
    assert_eq!(rule(&port("m_axi", "axi4")), ManifestRule::NoDataWidth);
    let twice = port("s_home", "line_operations");
    assert_eq!(
        rule(&format!("{home}{twice}")),
        ManifestRule::Duplicate("s_home".to_owned())
    );
}

#[test]
fn ports_are_what_a_slot_offers() {
    for width in [0, 16, 48, 2048] {
        let expected = (ManifestRule::DataWidth(width), "port.data_width", 18);
        assert_eq!(
            refusal("data_width = 64", &format!("data_width = {width}")),
            expected
        );
    }
    let port = "[[port]]\nname = \"p#\"\nkind = \"axi4\"\ndata_width = 32\naccess = \"read\"\n";
    let many: String = (0..31).map(|i| port.replace('#', &i.to_string())).collect();
    let (rule, key, _) = refusal("[[argument]]", &format!("{many}[[argument]]"));
    assert_eq!((rule, key), (ManifestRule::TooManyPorts(33), "port"));
}

#[test]
fn streams_have_a_direction_and_a_width_in_bytes() {
    let port = |text: &str| {
        let text = format!("[[port]]\nname = \"s\"\nkind = \"axi4_stream\"\n{text}\n[[argument]]");
        refusal("[[argument]]", &text).0
    };
    for width in [0, 12, 4104] {
        let text = format!("direction = \"in\"\ndata_width = {width}");
        assert_eq!(port(&text), ManifestRule::StreamWidth(width));
    }
    assert_eq!(port("data_width = 8"), ManifestRule::StreamPortDirection);
    let both = "data_width = 8\ndirection = \"in\"\naccess = \"read\"";
    assert_eq!(port(both), ManifestRule::StreamPortDirection);
    let memory = refusal("access = \"read_write\"", "direction = \"in\"").0;
    assert_eq!(memory, ManifestRule::PortAccess);
}

#[test]
fn streams_are_numbered_by_direction() {
    let stream = |name: &str, direction: &str| {
        format!(
            "[[port]]\nname = \"{name}\"\nkind = \"axi4_stream\"\ndata_width = 24\n\
             direction = \"{direction}\"\n"
        )
    };
    let text = "[kernel]\nname = \"k\"\ntop = \"k\"\nsources = [\"k.sv\"]\n\
                control = \"ap_ctrl_none\"\n"
        .to_owned()
        + &stream("a", "out")
        + &stream("b", "in")
        + &stream("c", "out");
    let manifest = Manifest::parse(Path::new("kernel.toml"), &text).unwrap();
    assert_eq!((manifest.streams.len(), manifest.stream_pairs()), (3, 2));
    for (name, pair, direction) in [
        ("a", 0, StreamDirection::Out),
        ("b", 0, StreamDirection::In),
        ("c", 1, StreamDirection::Out),
    ] {
        let id = StreamId { pair, direction };
        assert_eq!(manifest.stream(name).unwrap().1, id);
        assert_eq!(manifest.stream_at(id).unwrap().name, name);
    }
    assert!(manifest.stream("d").is_none());
}

#[test]
fn what_is_dropped_leaves_the_kernel() {
    let port = |direction: &str, drops: &str| {
        let text = "\n[[port]]\nname = \"s\"\nkind = \"axi4_stream\"\ndata_width = 8\n";
        parse(&format!(
            "{VALID}{text}direction = \"{direction}\"\ndrops = {drops}\n"
        ))
    };
    let manifest = port("out", "[\"tuser\", \"tid\"]").unwrap();
    assert_eq!(
        manifest.stream("s").unwrap().0.drops,
        [Sideband::Tuser, Sideband::Tid]
    );
    let Err(KernelError::Manifest { rule, key, .. }) = port("in", "[\"tuser\"]") else {
        panic!("accepted")
    };
    assert_eq!((rule, key), (ManifestRule::Drops, "port.drops"));
    let told = port("out", "[\"tstrb\"]").unwrap_err().to_string();
    assert!(told.contains("tdest"), "{told}");
    let memory = refusal("data_width = 64", "data_width = 64\ndrops = []");
    assert_eq!(memory.0, ManifestRule::Drops);
}

#[test]
fn tid_and_tdest_have_the_widths_of_the_manifest() {
    let port = |keys: &str| {
        let text = "\n[[port]]\nname = \"s\"\nkind = \"axi4_stream\"\ndata_width = 8\n";
        parse(&format!("{VALID}{text}direction = \"in\"\n{keys}\n"))
    };
    let manifest = port("tid_width = 4\ntdest_width = 16").unwrap();
    let stream = manifest.stream("s").unwrap().0;
    let widths = Sideband::ALL.map(|signal| stream.carried_width(signal));
    assert_eq!(widths, [4, 16, 0]);
    for (keys, wrong) in [
        ("tid_width = 0", "port.tid_width"),
        ("tdest_width = 17", "port.tdest_width"),
        ("members = [\"a\", \"b\"]\ntid_width = 4", "port.tid_width"),
    ] {
        let Err(KernelError::Manifest { rule, key, .. }) = port(keys) else {
            panic!("{keys}: accepted")
        };
        assert_eq!((rule, key), (ManifestRule::StreamIds, wrong));
    }
    let memory = refusal("data_width = 64", "data_width = 64\ntid_width = 4");
    assert_eq!(memory.0, ManifestRule::StreamIds);
}

#[test]
fn arguments_fit_the_register_map() {
    let offset = |value: &str| refusal("offset = 0x1c", &format!("offset = {value}"));
    assert_eq!(
        offset("0x0c"),
        (ManifestRule::OffsetReserved(0x0c), "argument.offset", 30)
    );
    assert_eq!(
        offset("0x1e"),
        (ManifestRule::OffsetMisaligned(0x1e), "argument.offset", 30)
    );
    let beyond = |offset, bytes| ManifestRule::OffsetBeyondWindow { offset, bytes };
    assert_eq!(offset("0x10000").0, beyond(0x1_0000, 4));
    assert_eq!(offset("0xfffffffc").0, beyond(0xffff_fffc, 4));
    let overlap = ManifestRule::Overlap {
        offset: 0x14,
        other: "source".to_owned(),
        start: 0x10,
        end: 0x17,
    };
    assert_eq!(offset("0x14"), (overlap, "argument.offset", 30));
    for bytes in [0, 3, 6] {
        let expected = (ManifestRule::ArgumentBytes(bytes), "argument.bytes", 31);
        assert_eq!(refusal("bytes = 4", &format!("bytes = {bytes}")), expected);
    }
}

#[test]
fn pointers_name_a_port_that_can() {
    assert_eq!(
        refusal("bytes = 8", "bytes = 4"),
        (ManifestRule::PointerBytes(4), "argument.bytes", 24)
    );
    assert_eq!(
        refusal("port = \"m_axi_in\"", "port = \"gmem\""),
        (
            ManifestRule::NoSuchPort("gmem".to_owned()),
            "argument.port",
            25
        )
    );
    let beyond = ManifestRule::AccessBeyondPort {
        access: "write",
        port: "m_axi_in".to_owned(),
        port_access: "read",
    };
    let written = VALID.replace(
        "port = \"m_axi_in\"\naccess = \"read\"",
        "port = \"m_axi_in\"\naccess = \"write\"",
    );
    let Err(KernelError::Manifest { rule, line: 26, .. }) = parse(&written) else {
        panic!("accepted")
    };
    assert_eq!(rule, beyond);
    let lonely = (ManifestRule::AccessWithoutPort, "argument.access", 32);
    assert_eq!(refusal("bytes = 4", "bytes = 4\naccess = \"read\""), lonely);
    let lonely = (ManifestRule::AccessWithoutPort, "argument.port", 32);
    assert_eq!(
        refusal("bytes = 4", "bytes = 4\nport = \"m_axi_in\""),
        lonely
    );
}

#[test]
fn a_number_is_one_that_the_kernel_takes() {
    let with = |keys: &str| {
        VALID.replacen(
            "offset = 0x1c\nbytes = 4",
            &format!("offset = 0x1c\nbytes = 4\n{keys}"),
            1,
        )
    };
    let numbers = |keys: &str| {
        let manifest = parse(&with(keys)).expect("a manifest");
        manifest.argument("factor").unwrap().numbers
    };
    assert_eq!(numbers(""), Numbers::ALL);
    let few = numbers("least = 64\nmost = 200\nmultiple_of = 64");
    let had: Vec<u64> = (0..300).filter(|number| few.have(*number)).collect();
    assert_eq!(had, [64, 128, 192]);
    for (keys, words) in [
        ("", "any number"),
        ("most = 3", "0 to 3"),
        ("least = 1", "numbers from 1 on"),
        ("multiple_of = 8192", "multiples of 8192"),
        (
            "least = 64\nmost = 200\nmultiple_of = 64",
            "64 to 200, multiples of 64",
        ),
    ] {
        assert_eq!(numbers(keys).to_string(), words);
    }
    // An empty set, and values that are no numbers.
    for keys in [
        "least = 2\nmost = 1",
        "multiple_of = 0",
        "least = 65\nmost = 127\nmultiple_of = 64",
    ] {
        let Err(KernelError::Manifest {
            rule: ManifestRule::Numbers(_),
            line: 32,
            ..
        }) = parse(&with(keys))
        else {
            panic!("{keys}: accepted")
        };
    }
    let long = refusal("bytes = 4", "bytes = 12\nmost = 3");
    assert!(
        matches!(long, (ManifestRule::Numbers(_), "argument", 32)),
        "{long:?}"
    );
    let pointer = refusal(
        "access = \"read\"\n\n[[argument]]",
        "access = \"read\"\nmost = 3\n\n[[argument]]",
    );
    assert!(
        matches!(pointer, (ManifestRule::Numbers(_), "argument", 27)),
        "{pointer:?}"
    );
}

#[test]
fn a_kernel_that_nothing_starts_may_have_registers_and_has_no_interrupt() {
    let expected = (ManifestRule::NoInterrupt, "kernel.control", 6);
    assert_eq!(refusal("ap_ctrl_hs", "ap_ctrl_none"), expected);
    let quiet = VALID.replace("interrupt = true\n", "");
    let manifest = parse(&quiet.replace("ap_ctrl_hs", "ap_ctrl_none")).unwrap();
    assert_eq!(manifest.registers.len(), 1);
    let head = quiet.split("[[argument]]").next().unwrap();
    let manifest = parse(&head.replace("ap_ctrl_hs", "ap_ctrl_none")).unwrap();
    assert!(manifest.registers.is_empty());
}

#[test]
fn inputs_hold_values_and_an_interrupt_has_a_name() {
    let named = VALID.replace("interrupt = true", "interrupt = \"o_irq\"");
    let text =
        named.clone() + "[constants]\nmode = 5\nquiet = true\nlast = 0x7fff_ffff_ffff_ffff\n";
    let manifest = parse(&text).unwrap();
    assert_eq!(manifest.interrupt.as_deref(), Some("o_irq"));
    let held: Vec<_> = (manifest.constants.iter())
        .map(|one| (&*one.name, one.value))
        .collect();
    assert_eq!(held, [("last", i64::MAX as u64), ("mode", 5), ("quiet", 1)]);
    let none = VALID.replace("interrupt = true", "interrupt = false");
    assert!(!parse(&none).unwrap().has_interrupt());
    for wrong in ["mode = -1", "mode = \"5\"", "mode = 1.5"] {
        let error = parse(&format!("{named}[constants]\n{wrong}\n")).unwrap_err();
        assert!(error.to_string().contains("a number from 0 on"), "{error}");
    }
    let error = parse(&named.replace("\"o_irq\"", "\"o irq\"")).unwrap_err();
    assert!(error.to_string().contains("o irq"), "{error}");
}

#[test]
fn names_and_widths_of_others_are_taken() {
    let text = VALID
        .replace(
            "interrupt = true",
            "interrupt = true\nclock = \"clk\"\nreset = \"active_high\"\nreset_name = \"rst\"",
        )
        .replace("data_width = 64", "data_width = 1024\nprefix = \"M00_AXI_\"\naddress_width = 40")
        + "\n[[clock]]\nname = \"ap_clk_2\"\nratio = \"6/4\"\n\
           [parameters]\nWIDTH = 8\nHUGE = 0x1_0000_0000\nON = true\nNAME = \"fast\"\nMASK = \"8'hff\"\n\
           [defines]\nSIM = true\nOFF = false\nDEPTH = \"(1 << 4)\"\n";
    let manifest = parse(&text).unwrap();
    assert_eq!((&*manifest.clock, &*manifest.reset_name), ("clk", "rst"));
    assert_eq!(manifest.reset, ResetPolarity::ActiveHigh);
    let port = &manifest.ports[1];
    assert_eq!(
        (port.data_width, port.last_address()),
        (1024, (1 << 40) - 1)
    );
    assert_eq!(port.signal_prefix(), "M00_AXI_");
    assert_eq!(manifest.ports[0].signal_prefix(), "m_axi_in_");
    let clock = &manifest.clocks[0];
    assert_eq!(
        (&*clock.reset_name, clock.ratio.to_string()),
        ("ap_rst_n_2", "3/2".to_owned())
    );
    let values: Vec<_> = (manifest.parameters.iter())
        .map(|one| format!("{}={}", one.name, one.value))
        .collect();
    let expected = [
        "HUGE=64'sh100000000",
        "MASK=8'hff",
        "NAME=\"fast\"",
        "ON=1'b1",
        "WIDTH=8",
    ];
    assert_eq!(values, expected);
    assert_eq!(manifest.defines, ["DEPTH=(1 << 4)", "SIM"]);
}

#[test]
fn an_address_of_a_pointer_fits_its_port_and_its_registers() {
    let narrow = VALID.replace("data_width = 512", "data_width = 512\naddress_width = 32");
    let most = |text: &str| parse(text).unwrap().arguments[0].numbers.most;
    assert_eq!(most(VALID), u64::MAX);
    assert_eq!(most(&narrow), u64::from(u32::MAX));
    assert_eq!(
        most(&narrow.replacen("bytes = 8", "bytes = 4", 1)),
        u64::from(u32::MAX)
    );
    let wide = narrow.replace("address_width = 32", "address_width = 33");
    let short = wide.replacen("bytes = 8", "bytes = 4", 1);
    let Err(KernelError::Manifest { rule, .. }) = parse(&short) else {
        panic!("4 bytes are no address of 33 bits");
    };
    assert_eq!(rule, ManifestRule::PointerBytes(4));
}

#[test]
fn two_bundles_share_the_window() {
    let two = "[[port]]\nname = \"control\"\nkind = \"axi4_lite\"\n\
               [[port]]\nname = \"control_r\"\nkind = \"axi4_lite\"\ndata_width = 64\n";
    let text = VALID.replace(
        "name = \"factor\"\noffset = 0x1c",
        "name = \"factor\"\nbundle = \"control_r\"\noffset = 0x10",
    );
    let manifest = parse(&(text.clone() + two)).unwrap();
    assert_eq!(manifest.arguments[1].offset, 0x8010);
    assert_eq!(manifest.registers[1].data_width, 64);
    let rule = |text: String| match parse(&text) {
        Err(KernelError::Manifest { rule, .. }) => rule,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        rule(text.clone()),
        ManifestRule::NoSuchBundle("control_r".to_owned())
    );
    let beyond = text.replace("offset = 0x10\nbytes = 4", "offset = 0x8000\nbytes = 4") + two;
    assert_eq!(rule(beyond), ManifestRule::OffsetBeyondBundle(0x8000));
    let third = two.to_owned() + "[[port]]\nname = \"third\"\nkind = \"axi4_lite\"\n";
    assert_eq!(rule(text.clone() + &third), ManifestRule::TooManyBundles);
    let width = two.replace("data_width = 64", "data_width = 128");
    assert_eq!(rule(text + &width), ManifestRule::RegisterWidth(128));
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let rule = |text: &str| match parse(&(VALID.to_owned() + text)) {
        Err(KernelError::Manifest { rule, key, .. }) => (rule, key),
        other => panic!("{other:?}"),
    };
    let clock = |ratio: &str| format!("\n[[clock]]\nname = \"c\"\nratio = \"{ratio}\"\n");
    assert_eq!(
        rule(&clock("0")),
        (ManifestRule::Ratio("0".to_owned()), "clock.ratio")
    );
    assert_eq!(
        rule(&clock("65/1")),
        (ManifestRule::Ratio("65/1".to_owned()), "clock.ratio")
    );
    assert_eq!(rule(&clock("2").repeat(2)).1, "clock.name");
    let text = rule("\n[parameters]\nNAME = \"a\\\"b\"\n");
    assert_eq!(text, (ManifestRule::Text("a\"b".to_owned()), "parameters"));
    assert_eq!(rule("\n[parameters]\n\"a b\" = 1\n").1, "parameters");
    assert_eq!(rule("\n[defines]\n\"-x\" = 1\n").1, "defines");
    let vhdl = refusal("sub/part.sv", "sub/part.vhd");
    assert_eq!(vhdl.0, ManifestRule::Vhdl("sub/part.vhd".to_owned()));
    let width = refusal("data_width = 64", "data_width = 64\naddress_width = 31");
    assert_eq!(width.0, ManifestRule::AddressWidth(31));
    let include = refusal("control = ", "include = [\"../up\"]\ncontrol = ");
    assert_eq!(
        (include.0, include.1),
        (
            ManifestRule::OutsideFolder("../up".to_owned()),
            "kernel.include"
        )
    );
}

#[test]
fn unknown_keys_and_wrong_types_name_the_line() {
    let (line, message) = syntax_error("interrupt = true", "interupt = true");
    assert_eq!(line, 7);
    assert!(message.contains("interupt"), "{message}");
    let (line, message) = syntax_error("ap_ctrl_hs", "ap_ctrl_maybe");
    assert_eq!(line, 6);
    assert!(message.contains("ap_ctrl_chain"), "{message}");
    assert_eq!(syntax_error("offset = 0x1c", "offset = -4").0, 30);
    assert_eq!(syntax_error("data_width = 64", "data_width = \"64\"").0, 18);
    assert_eq!(syntax_error("bytes = 4", "bytes =").0, 31);
    let (_, message) = syntax_error("top = \"scale_top\"\n", "");
    assert!(message.contains("top"), "{message}");
}

#[test]
fn an_error_reads_as_a_sentence() {
    let error = parse(&VALID.replace("data_width = 64", "data_width = 48")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel.toml:18: port.data_width: 48 bits: a port's data width is a power of two from 32 \
         to 1024"
    );
}

#[test]
fn a_package_finds_its_files_and_libraries() {
    let (_root, folder) = kernel_folder();
    let with_library = VALID.replace("control", "libraries = [\"parts\"]\ncontrol");
    fs::write(folder.join("kernel.toml"), with_library).unwrap();
    let package = KernelPackage::open(&folder).unwrap();
    let names: Vec<_> = package
        .sources()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["z_pkg.sv", "a.sv", "b.sv", "scale.sv", "part.sv"]);
    assert!(package.sources().all(|path| path.is_file()));
    assert!(package.include_directories().all(|path| path.is_dir()));
}

#[test]
fn missing_files_are_named() {
    let open = |folder: &Path| KernelPackage::open(folder).unwrap_err();
    let (root, folder) = kernel_folder();
    assert!(matches!(open(root.path()), KernelError::Io { .. }));

    fs::remove_file(folder.join("sub/part.sv")).unwrap();
    let KernelError::Manifest { rule, line: 5, .. } = open(&folder) else {
        panic!("accepted")
    };
    assert_eq!(rule, ManifestRule::NoSuchFile("sub/part.sv".to_owned()));

    let no_library = VALID.replace("control", "libraries = [\"absent\"]\ncontrol");
    fs::write(folder.join("sub/part.sv"), "").unwrap();
    fs::write(folder.join("kernel.toml"), no_library).unwrap();
    let KernelError::Manifest { rule, line: 6, .. } = open(&folder) else {
        panic!("accepted")
    };
    assert_eq!(rule, ManifestRule::NoSuchLibrary("absent".to_owned()));
}

#[test]
fn a_link_out_of_the_folder_is_refused() {
    let (root, folder) = kernel_folder();
    fs::write(root.path().join("secret.sv"), "").unwrap();
    fs::remove_file(folder.join("sub/part.sv")).unwrap();
    std::os::unix::fs::symlink("../../secret.sv", folder.join("sub/part.sv")).unwrap();
    let Err(KernelError::Manifest { rule, .. }) = KernelPackage::open(&folder) else {
        panic!("accepted")
    };
    assert_eq!(rule, ManifestRule::OutsideFolder("sub/part.sv".to_owned()));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let (_root, folder) = kernel_folder();
    fs::write(folder.join("kernel.toml"), [0xff, 0xfe, 0x00]).unwrap();
    assert!(matches!(
        KernelPackage::open(&folder),
        Err(KernelError::Io { .. })
    ));
}

/// Values at the edges of the rules.
fn awkward_value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0xffffffff".to_owned()),
        Just("4294967296".to_owned()),
        Just("0xfffc".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("nan".to_owned()),
        Just("\"read\"".to_owned()),
        Just("\"..\"".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "[ -~]{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn mutated_manifests_never_panic(
        line in 0..VALID.lines().count(),
        value in awkward_value(),
        cut in 0..VALID.len(),
        byte in any::<u8>(),
    ) {
        let replaced: Vec<String> = VALID
            .lines()
            .enumerate()
            .map(|(i, text)| match text.split_once('=') {
                Some((key, _)) if i == line => format!("{key}= {value}"),
                _ => text.to_owned(),
            })
            .collect();
        let _ = parse(&replaced.join("\n"));
        let mut bytes = VALID.as_bytes().to_vec();
        bytes[cut] = byte;
        let _ = parse(&String::from_utf8_lossy(&bytes));
        let _ = parse(&VALID[..cut]);
    }

    #[test]
    fn accepted_arguments_never_overlap(
        places in proptest::collection::vec((0u32..40, 0u32..5), 0..6),
    ) {
        let mut text = VALID[..VALID.find("[[argument]]").unwrap()].to_owned();
        for (i, (offset, words)) in places.iter().enumerate() {
            text += &format!(
                "[[argument]]\nname = \"a{i}\"\noffset = {}\nbytes = {}\n",
                offset * 4,
                words * 4
            );
        }
        let overlap = places.iter().enumerate().any(|(i, a)| {
            places[..i].iter().any(|b| a.0 < b.0 + b.1 && b.0 < a.0 + a.1)
        });
        let refused = places.iter().any(|&(offset, words)| offset < 4 || words == 0);
        prop_assert_eq!(parse(&text).is_ok(), !overlap && !refused);
    }
}

/// Ports that a memory port carries, appended to the example.
fn carried(more: &str) -> Result<Manifest, String> {
    let text = format!("{VALID}\n{more}");
    parse(&text).map_err(|error| error.to_string())
}

#[test]
fn memory_ports_carry_streams() {
    let one = |name: &str, rest: &str| {
        format!("[[port]]\nname = \"{name}\"\nkind = \"axi4_stream\"\n{rest}\n")
    };
    let into = "direction = \"in\"\nthrough = \"m_axi_in\"";
    let manifest = carried(&one("words", into)).unwrap();
    let (port, stream) = manifest.stream("words").unwrap();
    assert_eq!(stream.direction, StreamDirection::In);
    assert_eq!((port.through, port.data_width), (Some(0), 512));
    assert_eq!(port.register_bit(), Some(1));

    for (rest, rule) in [
        ("direction = \"in\"\nthrough = \"none\"", "no port `none`"),
        (
            "direction = \"in\"\nthrough = \"m_axi_out\"",
            "has 512 bits",
        ),
        (
            "direction = \"out\"\nthrough = \"m_axi_in\"",
            "write channels",
        ),
        (
            "through = \"m_axi_in\"",
            "and a `direction`, and nothing else",
        ),
        (&format!("{into}\ndata_width = 32"), "nothing else"),
        (&format!("{into}\nmembers = [\"a\", \"b\"]"), "nothing else"),
    ] {
        let error = carried(&one("words", rest)).unwrap_err();
        assert!(error.contains(rule), "{rest}: {error}");
    }
    let twice = one("words", into) + &one("more", into);
    let error = carried(&twice).unwrap_err();
    assert!(error.contains("one of a direction"), "{error}");
    let far = one("words", into) + "[[argument]]\nname = \"far\"\noffset = 0xff00\nbytes = 4\n";
    let error = carried(&far).unwrap_err();
    assert!(error.contains("0xff00"), "{error}");
    let none = VALID
        .replace("ap_ctrl_hs", "ap_ctrl_none")
        .replace("interrupt = true", "");
    let head = &none[..none.find("[[argument]]").unwrap()];
    let error = parse(&format!("{head}{}", one("words", into))).unwrap_err();
    assert!(error.to_string().contains("ap_ctrl_none"), "{error}");
}
