//! Tests of the linker: configurations and the designs that they produce.

use super::*;
use std::path::Path;

fn kernels(names: &[&str]) -> Vec<KernelImage> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    names
        .iter()
        .map(|name| image_of(&folder.join(name), None).unwrap())
        .collect()
}

fn linked(names: &[&str], text: &str) -> Result<Linked, String> {
    let settings = config::parse(Path::new("a.cfg"), text).unwrap();
    link(kernels(names), &settings).map_err(|error| error.to_string())
}

#[test]
fn without_a_configuration_there_is_one_unit_in_the_first_bank() {
    let Linked { design, notes } = linked(&["vadd"], "").unwrap();
    assert_eq!(design.unit_names(), "vadd:vadd_1");
    assert_eq!(design.memories[0].tag, "HBM[0]");
    assert_eq!(
        design.units[0].groups.values().copied().collect::<Vec<_>>(),
        [0, 0, 0]
    );
    assert!(notes.is_empty(), "{notes:?}");
    let kernel = &design.kernels[0];
    let files: Vec<&str> = kernel.files.iter().map(|file| file.name.as_str()).collect();
    assert!(files.contains(&"vadd/vadd.sv") && files.contains(&"vadd/kernel.toml"));
    assert!(
        files.iter().any(|name| name.starts_with("lib/")),
        "{files:?}"
    );
    let arguments: Vec<_> = kernel
        .arguments
        .iter()
        .map(|one| (one.index, one.name.as_str(), one.kind))
        .collect();
    let pointers = ["a", "b", "c"].map(|name| (name, ArgumentKind::Global));
    let expected: Vec<_> = (0..)
        .zip(
            pointers
                .into_iter()
                .chain([("length", ArgumentKind::Scalar)]),
        )
        .map(|(index, (name, kind))| (index, name, kind))
        .collect();
    assert_eq!(arguments, expected);
}

#[test]
fn a_u280_has_ddr_where_it_is_wanted() {
    let platform = |text: &str| linked(&["vadd"], text).map(|linked| linked.design.platform);
    let ddr = "[connectivity]\nsp=vadd_1.a:HBM[0]\nsp=vadd_1.b:DDR[1]\n";
    assert_eq!(platform(ddr).unwrap(), "u280-both");
    let vitis = "platform=xilinx_u280_gen3x16_xdma_1_202211_1\n";
    assert_eq!(platform(&format!("{vitis}{ddr}")).unwrap(), "u280-both");
    assert_eq!(
        platform(&format!("{vitis}[connectivity]\nsp=vadd_1.b:bank0\n")).unwrap(),
        "u280-both"
    );
    assert_eq!(
        platform("[connectivity]\nsp=vadd_1.a:HBM[0:3]\n").unwrap(),
        "u280"
    );
    // A platform name of Tombolo selects exactly that card.
    let refused = platform(&format!("platform=u280\n{ddr}")).unwrap_err();
    assert!(
        refused.contains("platform u280 has no such memory"),
        "{refused}"
    );
}

#[test]
fn units_and_banks_are_those_of_the_configuration() {
    let text = "platform=xilinx_u280_gen3x16_xdma_1_202211_1\n[connectivity]\nnk=vadd:2:left.right\n\
                sp=left.a:HBM[3]\nsp=left.M_AXI_GMEM1:HBM[4:7]\nsp=right.c:HBM[4:7]\nslr=left:SLR0\n[clock]\nfreqHz=200000000:left";
    let Linked { design, notes } = linked(&["vadd"], text).unwrap();
    assert_eq!(design.platform, "u280");
    assert_eq!(design.unit_names(), "vadd:left, vadd:right");
    let tag = |unit: usize, index: u32| {
        let group = design.units[unit].groups[&index];
        design.memories[group as usize].tag.as_str()
    };
    assert_eq!(
        [tag(0, 0), tag(0, 1), tag(0, 2)],
        ["HBM[3]", "HBM[0]", "HBM[4:7]"]
    );
    assert_eq!([tag(1, 0), tag(1, 2)], ["HBM[0]", "HBM[4:7]"]);
    assert_eq!(design.memories.last().unwrap().bytes, 4 * (256 << 20));
    assert_eq!(design.units_of("vadd"), [0, 1]);
    assert_eq!(design.units_of("vadd:{right}"), [1]);
    assert_eq!(design.units_of("vadd:{right, left}"), [1, 0]);
    assert_eq!(design.units_of("vadd:right"), [1]);
    assert!(design.units_of("vadd:{other}").is_empty() && design.units_of("other").is_empty());
    let notes = notes.join("\n");
    for words in [
        "simulated as u280",
        "slr: accepted",
        "200",
        "clocks: recorded",
    ] {
        assert!(notes.contains(words) || words == "200", "{words}: {notes}");
    }
}

#[test]
fn clocks_of_a_kernel_have_the_ratio_of_the_frequencies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bring/kernels/slow_clock");
    let ratio = |text: &str| {
        let settings = config::parse(Path::new("a.cfg"), text).unwrap();
        let kernel = image_of(&folder, None).unwrap();
        let linked = link(vec![kernel], &settings).map_err(|error| error.to_string())?;
        let manifest = "slow_clock/kernel.toml";
        let mut files = linked.design.kernels[0].files.iter();
        let file = files.find(|file| file.name == manifest).unwrap();
        let text = String::from_utf8(file.bytes.clone()).unwrap();
        let manifest = card::kernel::Manifest::parse(Path::new(manifest), &text).unwrap();
        Ok::<_, String>(manifest.clocks[0].ratio.to_string())
    };
    let clock = |text: &str| ratio(&format!("[clock]\n{text}"));
    // The ratio of the manifest applies if no setting selects one of the clocks.
    assert_eq!(ratio("").unwrap(), "1/2");
    assert_eq!(clock("defaultFreqHz=200000000").unwrap(), "1/2");
    assert_eq!(
        clock("freqHz=100000000:slow_clock_1.ap_clk_2").unwrap(),
        "1/3"
    );
    let both = "freqHz=200000000:slow_clock_1.ap_clk\nfreqHz=300000000:slow_clock_1.ap_clk_2";
    assert_eq!(clock(both).unwrap(), "3/2");
    assert_eq!(ratio("kernel_frequency=0:300|1:75").unwrap(), "1/4");
    assert_eq!(clock("freqHz=250000000:slow_clock_1").unwrap(), "1/1");
    let refused = clock("freqHz=299999999:slow_clock_1.ap_clk_2").unwrap_err();
    assert!(
        refused.contains("clock ap_clk_2: 299999999 Hz over 300000000 Hz of ap_clk"),
        "{refused}"
    );
    let two = "[connectivity]\nnk=slow_clock:2:a.b\n[clock]\nfreqHz=100000000:a.ap_clk_2\nfreqHz=150000000:b.ap_clk_2";
    let refused = ratio(two).unwrap_err();
    assert!(
        refused.contains("the units of a kernel have the same ratio"),
        "{refused}"
    );
}

#[test]
fn streams_join_compute_units() {
    let text = "[connectivity]\nsc=sha256_stream_1.digest:md5_stream_1.data:64";
    let names = ["sha256_stream", "md5_stream"];
    let streams: Vec<String> = kernels(&names)
        .iter()
        .flat_map(|kernel| &kernel.arguments)
        .filter(|one| one.kind == ArgumentKind::Stream)
        .map(|one| one.port.clone())
        .collect();
    // Use the ports' actual names.
    let text = text
        .replace("digest", &streams[1])
        .replace("data", &streams[2]);
    let design = linked(&names, &text).unwrap().design;
    assert_eq!((design.streams[0].from, design.streams[0].to), (0, 1));
}

#[test]
fn settings_that_fit_nothing_are_named_with_their_line() {
    for (text, words) in [
        (
            "nk=vsub:1",
            "a.cfg:2: connectivity.nk = vsub:1: there is no kernel `vsub`; there is vadd",
        ),
        ("nk=vadd:two", "count is a number"),
        ("nk=vadd:2:one", "2 compute units, but 1 names"),
        ("nk=vadd:2:a.a", "`a` is there already"),
        ("nk=vadd:1\nnk=vadd:1", "a.cfg:3"),
        ("nk=vadd:17", "17 compute units"),
        (
            "sp=vadd_2.a:HBM[0]",
            "no compute unit `vadd_2`; there is vadd_1",
        ),
        (
            "sp=vadd_1.z:HBM[0]",
            "no memory argument or port `z`; it has a (m_axi_gmem0)",
        ),
        (
            "sp=vadd_1.length:HBM[0]",
            "no memory argument or port `length`",
        ),
        (
            "sp=vadd_1.a:HBM[32]",
            "platform u280 has no such memory; it has HBM[0:31], PLRAM[0:5], HOST[0]",
        ),
        (
            "sp=vadd_1.a:DDR[2]",
            "platform u280-both has no such memory; it has HBM[0:31], DDR[0:1]",
        ),
        (
            "sp=vadd_1.a:HBM[3:1]",
            "the first bank comes before the last",
        ),
        ("sp=vadd_1.a:URAM[0]", "memory `URAM[0]`: names are"),
        ("sp=vadd_1.a", "write unit.argument:memory"),
        ("sc=vadd_1.x:vadd_1.y", "has no stream `x`; it has none"),
        ("sc=vadd_1", "write unit.output:unit.input"),
        (
            "slr=vadd_1:SLR0\n[clock]\nfreqHz=fast",
            "a.cfg:4: clock.freqHz = fast: the frequency is a number",
        ),
    ] {
        let error = linked(&["vadd"], &format!("[connectivity]\n{text}")).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
    assert!(linked(&["vadd"], "target=sw_emu")
        .unwrap_err()
        .contains("C models"));
    assert!(linked(&["vadd", "vadd"], "").unwrap_err().contains("twice"));
    assert!(linked(&["vadd"], "platform=nowhere")
        .unwrap_err()
        .contains("nowhere"));
    assert!(linked(&[], "").unwrap_err().contains("nothing to link"));
}

#[test]
fn a_sideband_that_is_not_carried_between_kernels_is_reported() {
    let settings = "[connectivity]\nnk=loopback:2\nsc=loopback_1.out:loopback_2.in\n";
    let settings = config::parse(Path::new("a.cfg"), settings).unwrap();
    let linked = |drops: &str, taken: &str| {
        let mut kernels = kernels(&["loopback"]);
        let mut files = kernels[0].files.iter_mut();
        let file = files
            .find(|file| file.name == "loopback/kernel.toml")
            .unwrap();
        let text = String::from_utf8(file.bytes.clone()).unwrap();
        let out = "direction = \"out\"";
        assert!(text.contains(out));
        let text = text.replace(out, &format!("{out}\n{drops}"));
        let into = "direction = \"in\"";
        assert!(text.contains(into));
        file.bytes = text.replace(into, &format!("{into}\n{taken}")).into_bytes();
        link(kernels, &settings)
    };
    let notes = |drops: &str| linked(drops, "").unwrap().notes;
    assert!(notes("").is_empty());
    assert_eq!(
        notes("drops = [\"tid\", \"tdest\"]"),
        ["a.cfg:3: out: not carried from kernel to kernel: TID, TDEST; in gets 0"]
    );
    // Signals of both ends are carried; a receiver with fewer bits is refused.
    let both = "drops = [\"tid\", \"tdest\"]\ntid_width = 4";
    assert_eq!(
        linked(both, "tid_width = 5").unwrap().notes,
        ["a.cfg:3: out: not carried from kernel to kernel: TDEST; in gets 0"]
    );
    let told = linked(both, "tid_width = 3").unwrap_err().to_string();
    for words in ["4 bits of TID", "in takes 3", "tid_width"] {
        assert!(told.contains(words), "{told}");
    }
}
