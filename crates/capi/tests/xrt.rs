//! Do programs written for XRT compile against our headers, and get the right bytes, states and exceptions? Built as
//! an unchanged Makefile builds them: `XILINX_XRT`, `-lxrt_coreutil -luuid`; on the simulated card, and on the functional
//! one where it has a model of the kernel.

#[path = "common/installed.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod installed;

use daemon::Daemon;
use installed::{here, run, skip, Installed, SANITIZED, STRICT};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tombolo::{Card, FunctionalCard, FunctionalConfig};
use xrt::container;
use xrt::link::{config, image_of, link};

/// The cards that programs are tried on.
const CARDS: [&str; 2] = ["functional", "f1"];

/// Links kernels by their folders.
fn linked(folders: &[PathBuf], settings: &str, into: &Path) -> PathBuf {
    let kernels = folders
        .iter()
        .map(|folder| image_of(folder, None).unwrap())
        .collect();
    let text = format!("platform=f1\n{settings}");
    let settings = config::parse(Path::new("test.cfg"), &text).unwrap();
    let design = link(kernels, &settings).unwrap().design;
    fs::write(into, container::write(&design)).unwrap();
    into.to_owned()
}

/// Compiles a program of `xrt/programs` with the flags of an example's Makefile.
fn compile(installed: &Installed, name: &str, standard: &str) -> PathBuf {
    let program = installed.path(&format!("{name}.{standard}"));
    let xrt = installed.path("xrt");
    let uuid = Path::new("/usr/include/uuid/uuid.h").exists();
    if !uuid {
        skip(
            "-luuid",
            "libuuid is not installed (apt-get install uuid-dev)",
        );
    }
    let compiler = if name.ends_with(".c") { "gcc" } else { "g++" };
    let mut command = Command::new("bash");
    command
        .args(["-c", "source \"$0\" && exec \"$@\""])
        .arg(xrt.join("setup.sh"))
        .arg(compiler)
        .arg(format!("-std={standard}"))
        .args(STRICT)
        .args(SANITIZED)
        .arg(format!("-I{}/include", xrt.display()))
        .arg(here().join("xrt/programs").join(name))
        .arg("-o")
        .arg(&program)
        .arg(format!("-L{}/lib", xrt.display()))
        // Makefiles name OpenCL's library for programs without a call of it, too.
        .args(["-lxrt_coreutil", "-pthread", "-lOpenCL", "-lrt", "-lstdc++"])
        .args(uuid.then_some("-luuid"));
    run(&mut command);
    program
}

/// Runs a program with arguments on a card.
fn on_card(installed: &Installed, program: &Path, card: &str, arguments: &[&str]) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(installed.folder.path())
        .env("LD_LIBRARY_PATH", installed.path("xrt/lib"))
        .env("XILINX_XRT", installed.path("xrt"))
        .env("XCL_EMULATION_MODE", "hw_emu")
        .env("TOMBOLO_XRT_CARD", card)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

fn passes(output: &Output) {
    let said = text(output);
    assert!(
        output.status.success() && said.contains("PASSED"),
        "{}: {said}",
        output.status
    );
    assert!(!said.contains("FAILED"), "{said}");
}

#[test]
fn programs_share_the_card_of_a_daemon() {
    let installed = Installed::new();
    let kernels = [installed.kernel("vadd")];
    let vadd = linked(
        &kernels,
        "[connectivity]\nnk=vadd:2",
        &installed.path("two.xclbin"),
    );
    let vadd = vadd.to_str().unwrap();
    let program = compile(&installed, "vadd.cpp", "c++17");
    let config = FunctionalConfig {
        slots: 6,
        spaces: 4,
        ..FunctionalConfig::default()
    };
    let card = Card::functional(FunctionalCard::new(config)).unwrap();
    let socket = installed.path("card");
    let daemon = Daemon::listen(card, &socket).unwrap();
    let name = format!("unix:{}", socket.display());
    // Two units each, in whatever slots are empty; at the same time, and more of them than there are slots one after the other.
    let runs: Vec<_> = ["1000", "70001", "1"]
        .map(|count| {
            let (installed, program, name) = (&installed, &program, &name);
            move || passes(&on_card(installed, program, name, &[vadd, count]))
        })
        .into_iter()
        .collect();
    std::thread::scope(|scope| {
        for run in &runs {
            scope.spawn(run);
        }
    });
    runs.iter().for_each(|run| run());
    // More kernels than the card holds: an exception names the one that does not fit.
    let kernels = [installed.kernel("vadd")];
    let many = linked(
        &kernels,
        "[connectivity]\nnk=vadd:7",
        &installed.path("many.xclbin"),
    );
    let refused = on_card(&installed, &program, &name, &[many.to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(text(&refused).contains("all 6 slots"), "{}", text(&refused));
    daemon.stop();
}

#[test]
fn vadd_passes_and_an_inverted_bit_fails() {
    let installed = Installed::new();
    let vadd = linked(
        &[installed.kernel("vadd")],
        "",
        &installed.path("vadd.xclbin"),
    );
    let vadd = vadd.to_str().unwrap();
    let program = compile(&installed, "vadd.cpp", "c++17");
    for card in CARDS {
        passes(&on_card(&installed, &program, card, &[vadd]));
    }
    // Counts that fill no row, no page, and more than one page.
    for count in ["1", "1000", "70001"] {
        passes(&on_card(&installed, &program, "functional", &[vadd, count]));
    }
    let source = installed.path("share/tombolo/kernels/vadd/vadd.sv");
    let right = fs::read_to_string(&source).unwrap();
    let (sum, wrong) = (
        "a_row[32*i+:32] + row",
        "32'h8000_0000 ^ a_row[32*i+:32] + row",
    );
    assert!(right.contains(sum));
    fs::write(&source, right.replace(sum, wrong)).unwrap();
    let bad = linked(
        &[installed.kernel("vadd")],
        "",
        &installed.path("bad.xclbin"),
    );
    let output = on_card(&installed, &program, "f1", &[bad.to_str().unwrap()]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("TEST FAILED") && said.contains("at 0: "),
        "{said}"
    );
}

/// Two vadd, whose sums are in a bank of their own.
const TWO: &str = "[connectivity]\nnk=vadd:2:left.right\nsp=left.c:DDR[1]\nsp=right.c:DDR[1]\n";

/// Programs with the .xclbin that they want.
#[test]
fn programs_of_every_part_of_the_interface_pass() {
    let installed = Installed::new();
    let kernel = |name: &str| installed.kernel(name);
    let one = linked(&[kernel("vadd")], "", &installed.path("one.xclbin"));
    let two = linked(&[kernel("vadd")], TWO, &installed.path("two.xclbin"));
    let free = linked(&[kernel("loopback")], "", &installed.path("free.xclbin"));
    let ports = "sp=vadd_1.m_axi_gmem0:HOST[0]\nsp=vadd_1.m_axi_gmem1:HOST[0]\n";
    let host = format!("[connectivity]\n{ports}");
    let host = linked(&[kernel("vadd")], &host, &installed.path("host.xclbin"));
    let [one, two, free, host] = [&one, &two, &free, &host].map(|path| path.to_str().unwrap());
    let folder = installed.folder.path().to_str().unwrap();
    let programs: [(&str, &[&str]); 14] = [
        ("run_object.cpp", &[one]),
        ("handles.cpp", &[one]),
        ("buffers.cpp", &[one]),
        ("device_info.cpp", &[one]),
        ("metadata.cpp", &[two]),
        ("registers.cpp", &[two]),
        ("repeated.cpp", &[two]),
        ("interrupts.cpp", &[two]),
        ("in_c.c", &[one]),
        ("units.cpp", &[two]),
        ("units.cpp", &[two, "vadd:{right}"]),
        ("banks.cpp", &[two]),
        ("host_memory.cpp", &[host]),
        ("refused.cpp", &[one, two, free, folder]),
    ];
    for (name, arguments) in programs {
        let standard = if name.ends_with(".c") { "c11" } else { "c++17" };
        let program = compile(&installed, name, standard);
        for card in CARDS {
            // Shells of their own, which take minutes to build: for test-deep, or no matter of the card.
            let own_shell = ["refused.cpp", "host_memory.cpp"].contains(&name);
            if card == "functional" || !own_shell {
                passes(&on_card(&installed, &program, card, arguments));
            }
        }
    }
}

#[test]
fn headers_are_found_by_every_path() {
    let installed = Installed::new();
    let root = installed.path("xrt/include");
    let mut names: Vec<String> = Vec::new();
    for folder in [
        "",
        "xrt",
        "experimental",
        "xrt/experimental",
        "xrt/deprecated",
    ] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                let name = entry.file_name().into_string().unwrap();
                names.push(Path::new(folder).join(name).display().to_string());
            }
        }
    }
    for name in [
        "xclbin.h",
        "version.h",
        "xrt/detail/xclbin.h",
        "xrt/deprecated/xrt.h",
    ] {
        assert!(root.join(name).exists(), "{name}");
    }
    for header in ["kernel", "bo", "device", "uuid", "ip", "xclbin", "queue"] {
        for folder in ["xrt", "experimental", "xrt/experimental"] {
            let name = format!("{folder}/xrt_{header}.h");
            assert!(names.contains(&name), "{name}");
        }
    }
    // Each alone, and all together.
    let mut programs: Vec<String> = names
        .iter()
        .map(|name| format!("#include <{name}>\n"))
        .collect();
    programs.push(programs.concat());
    for standard in ["c++14", "c++17"] {
        for program in &programs {
            let source = installed.path("header.cpp");
            fs::write(&source, format!("{program}int main() {{ return 0; }}\n")).unwrap();
            let mut command = Command::new("g++");
            command
                .arg(format!("-std={standard}"))
                .args(STRICT)
                .arg("-fsyntax-only")
                .arg(format!("-I{}", root.display()))
                .arg(&source);
            run(&mut command);
        }
    }
}
