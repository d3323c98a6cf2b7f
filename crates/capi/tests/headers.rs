//! Do the headers say what the library has? Every declaration against its function, every number against
//! its code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![here().join(folder)];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let (inner, found): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(found);
    }
    files.sort();
    files
}

/// The C form of a Rust type, without `const`. All handles are alike here.
fn c_type(rust: &str) -> String {
    let mut stars = String::new();
    let mut base = rust.trim();
    while let Some(inner) = base
        .strip_prefix("*mut ")
        .or_else(|| base.strip_prefix("*const "))
    {
        stars.push('*');
        base = inner;
    }
    let base = match base {
        "c_char" => "char",
        "c_int" => "int",
        "c_void" => "void",
        "c_uchar" => "unsignedchar",
        "usize" => "size_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "Handle" => "handle*",
        "CardOptions" => "tmb_card_options",
        "SpaceOptions" => "tmb_space_options",
        "MapOptions" => "tmb_map_options",
        "WaitOptions" => "tmb_wait_options",
        "ScheduleOptions" => "tmb_schedule_options",
        "LinesAnswer" => "tmb_lines_answer",
        "ArgumentInfo" => "tmb_xrt_argument",
        other => panic!("no C type is known for {other}"),
    };
    format!("{base}{stars}")
}

/// Types of arguments and result of every exported function, by name.
fn of_rust() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for file in files("src") {
        let text = fs::read_to_string(file).unwrap();
        for part in text.split("#[no_mangle]").skip(1) {
            let head = part.split('{').next().unwrap();
            let (name, rest) = head.split_once("fn ").unwrap().1.split_once('(').unwrap();
            let (arguments, result) = rest.rsplit_once(')').unwrap();
            let mut types: Vec<String> = arguments
                .split(',')
                .filter(|argument| !argument.trim().is_empty())
                .map(|argument| c_type(argument.split_once(':').unwrap().1))
                .collect();
            types.push(match result.trim().strip_prefix("->") {
                Some(result) => c_type(result),
                None => "void".to_owned(),
            });
            found.insert(name.trim().to_owned(), types);
        }
    }
    found
}

/// Without comments and preprocessor lines.
fn declarations(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let lines = out.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join(" ")
}

/// A C type without `const`, and without the name behind it if it has one.
fn plain(declaration: &str, named: bool) -> String {
    let mut text = declaration.replace("const ", "").trim().to_owned();
    if named {
        let end = text.rfind(|c: char| !c.is_alphanumeric() && c != '_');
        text.truncate(end.unwrap() + 1);
    }
    for status in ["tmb_status", "fsrf_rc", "IODev"] {
        text = text.replace(status, "int");
    }
    if !text.contains("_options") {
        for handle in [
            "tmb_card",
            "tmb_space",
            "tmb_mapping",
            "tmb_memory",
            "tmb_slot",
            // Before what it begins with.
            "tmb_coherent_map",
            "tmb_coherent",
            "tmb_access",
            "tmb_write_buffer",
            // Before what it begins with.
            "tmb_rpc_lines",
            "tmb_rpc",
            "tmb_xrt_object",
        ] {
            text = text.replace(handle, "handle");
        }
    }
    text.replace(' ', "")
}

/// The same of every header.
fn of_headers() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for file in files("include") {
        if file.extension().is_some_and(|extension| extension == "hpp") {
            continue;
        }
        let text = declarations(&fs::read_to_string(file).unwrap());
        for statement in text.split([';', '{', '}']) {
            let Some((head, arguments)) = statement.trim().split_once('(') else {
                continue;
            };
            let name = head.rsplit([' ', '*']).next().unwrap().to_owned();
            let prefixes = ["tmb_", "fsrf_", "vfpio_"];
            if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            let result = head.strip_suffix(&name).unwrap();
            let arguments = arguments.strip_suffix(')').unwrap();
            let mut types: Vec<String> = arguments
                .split(',')
                .filter(|argument| argument.trim() != "void")
                .map(|argument| plain(argument, true))
                .collect();
            types.push(plain(result, false));
            found.insert(name, types);
        }
    }
    found
}

#[test]
fn every_declaration_is_the_function() {
    let (rust, headers) = (of_rust(), of_headers());
    assert!(rust.len() > 35, "{}", rust.len());
    for (name, types) in &rust {
        // For a test of layouts only.
        if name != "tmb_layout" {
            assert_eq!(headers.get(name), Some(types), "{name} in the headers");
        }
    }
    for name in headers.keys() {
        assert!(rust.contains_key(name), "{name} is declared, and missing");
    }
}

#[test]
fn every_code_has_its_number() {
    let text = fs::read_to_string(here().join("include/tombolo.h")).unwrap();
    for code in tombolo::ErrorCode::ALL {
        let name = code.name().to_uppercase().replace('-', "_");
        let line = format!("TMB_ERROR_{name} = {},", code.number());
        assert!(text.contains(&line), "tombolo.h lacks {line}");
    }
}

/// Table 1 of vFPIO's paper, with the types that it leaves open.
#[test]
fn table_1_is_printed_literally() {
    let read = |name: &str| fs::read_to_string(here().join("include").join(name)).unwrap();
    let (c, cpp) = (read("vfpio.h"), read("vfpio.hpp"));
    for line in [
        "int vfpio_init(const void *bitstream);",
        "int vfpio_release(int slot_id);",
        "uint64_t *vfpio_huge_alloc(size_t data_size);",
        "int vfpio_open(IODev device_type, int rw_flag, int slot_id, int port_id);",
        "int vfpio_close(int dev_fd);",
        "size_t vfpio_read(int dev_fd, const void *address, size_t size);",
        "size_t vfpio_write(int dev_fd, void *address, size_t size);",
        "int vfpio_sync(const int *dev_fds);",
    ] {
        assert!(c.contains(line), "{line}");
    }
    for line in [
        "int vfpio_open(IODev device_type, int rw_flag, int slot_id)",
        "int vfpio_sync(int dev_fd)",
    ] {
        assert!(cpp.contains(line), "{line}");
    }
}

#[test]
fn figure_3_is_printed_literally() {
    let text = fs::read_to_string(here().join("include/fsrf.h")).unwrap();
    for line in [
        "#define FSRF_ADV_STREAM 1",
        "#define FSRF_ADV_RANDOM 2",
        "#define FSRF_ADV_REUSE 4",
        "#define FSRF_ADV_LOWUSE 8",
        "fsrf_rc fsrf_open(int *fd, char *path, int prot, int mode);",
        "fsrf_rc fsrf_close(int fd);",
        "fsrf_rc fsrf_mmap(void **addr, size_t len, int prot, int flags, int fd, size_t offset);",
        "fsrf_rc fsrf_munmap(void *addr, size_t len);",
        "fsrf_rc fsrf_msync(void *addr, size_t len, int flags);",
        "fsrf_rc fsrf_madvise(void *addr, size_t len, int advice);",
    ] {
        assert!(text.contains(line), "{line}");
    }
}
