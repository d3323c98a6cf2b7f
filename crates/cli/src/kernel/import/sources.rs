//! Selects the files that a top module needs, in compilation order, and finds missing ones.

use super::redeclared::without_redeclared;
use super::rtl::RtlFile;
use std::collections::{BTreeMap, BTreeSet};

/// Declarations and uses of a Verilog file.
#[derive(Debug, Default)]
struct VerilogOutline {
    /// Modules, interfaces, primitives and programs.
    modules: Vec<String>,
    packages: Vec<String>,
    /// Modules with at least one port.
    with_ports: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Modules of possible instances, recognised by their form (`TYPE #(` or `TYPE name (`); some are statements.
    instantiated: BTreeSet<String>,
    /// Paths of included files, as the file gives them.
    includes: Vec<String>,
    is_protected: bool,
}

/// Why the files of a kernel cannot be selected.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    #[error("no file has a module `{top}`; the modules are {known}; name another with --top")]
    NoTop {
        top: String,
        /// The modules that exist.
        known: String,
    },
    /// Several modules could be the top.
    #[error("which module is the kernel? {0} are used by no other; name one with --top")]
    WhichTop(String),
    /// Every module is used by another one.
    #[error("which module is the kernel? Each is used in another file; the modules are {0}; name one with --top")]
    AllUsed(String),
    #[error("no file has a module with ports")]
    NoModule,
    /// An encrypted file.
    #[error(
        "{file}: is encrypted (`pragma protect`), and needed by `{top}`: only the vendor's tools read it; \
         export the kernel with plain RTL, or put a model of its modules in its place"
    )]
    Encrypted { file: String, top: String },
    /// Vendor modules without RTL; a message for each.
    #[error("{}", .0.join("\n"))]
    Missing(Vec<String>),
    /// VHDL that GHDL does not translate.
    #[error("`{top}` is VHDL ({file}), of which GHDL makes Verilog: {reason}")]
    Vhdl {
        top: String,
        file: String,
        reason: String,
    },
}

/// The files of a kernel.
#[derive(Debug)]
pub struct Reached {
    /// Files to compile, in this order.
    pub sources: Vec<RtlFile>,
    /// Files that sources read: included files, memory contents.
    pub beside: Vec<RtlFile>,
    /// Folders to search for included files.
    pub include: Vec<String>,
    /// Files that are left out, with the reason.
    pub left_out: Vec<String>,
    /// Regions of sources that were blanked, one file per line.
    pub blanked: Vec<String>,
}

impl VerilogOutline {
    fn of(text: &str) -> Self {
        let mut outline = Self {
            is_protected: text.contains("begin_protected"),
            ..Self::default()
        };
        let tokens = tokens(text);
        let mut before = "";
        for (at, token) in tokens.iter().enumerate() {
            let next = |step: usize| tokens.get(at + step).copied().unwrap_or("");
            match *token {
                // `extern module` and `endmodule : name` are no declarations.
                "module" | "macromodule" | "interface" | "primitive"
                    if before != "extern" && before != "virtual" =>
                {
                    let skip = usize::from(matches!(next(1), "automatic" | "static"));
                    let name = next(1 + skip).trim_start_matches('\\').to_owned();
                    // `interface class` is a class.
                    let is_class = *token == "interface" && name == "class";
                    if !is_class && (is_name(&name) || next(1 + skip).starts_with('\\')) {
                        if has_ports(&tokens[at + 2 + skip..]) {
                            outline.with_ports.insert(name.clone());
                        }
                        outline.modules.push(name);
                    }
                }
                "package" => {
                    let skip = usize::from(matches!(next(1), "automatic" | "static"));
                    outline.packages.push(next(1 + skip).to_owned());
                }
                "`include" => {
                    outline.includes.push(next(1).trim_matches('"').to_owned());
                }
                _ => {}
            }
            let word = token.trim_start_matches(['\\', '`']);
            if is_name(word) {
                outline.words.insert(word.to_owned());
                if next(1) == "#" || (is_name(next(1)) && matches!(next(2), "(" | "[")) {
                    outline.instantiated.insert(word.to_owned());
                }
            }
            before = token;
        }
        outline
    }

    fn declares(&self) -> impl Iterator<Item = &String> {
        self.modules.iter().chain(&self.packages)
    }
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether a module's header, which begins after its name, lists a port. Directions in the body are no proof: they may
/// belong to a task.
fn has_ports(tokens: &[&str]) -> bool {
    let mut rest = tokens;
    while rest.first() == Some(&"import") {
        let end = rest.iter().position(|token| *token == ";");
        rest = end.map_or(&[], |end| &rest[end + 1..]);
    }
    if rest.first() == Some(&"#") {
        rest = behind_brackets(&rest[1..]);
    }
    rest.first() == Some(&"(") && rest.get(1).is_some_and(|token| *token != ")")
}

/// The tokens after the closing parenthesis that matches the first token.
fn behind_brackets<'a, 'b>(tokens: &'b [&'a str]) -> &'b [&'a str] {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return &tokens[at + 1..];
        }
    }
    &[]
}

/// Number of times that a file names a module, apart from the label of its end (`endmodule : name`).
fn uses_within(file: &RtlFile, module: &str) -> usize {
    let text = String::from_utf8_lossy(&file.bytes);
    let tokens = tokens(&text);
    let is_label = |at: usize| at >= 2 && tokens[at - 2..at] == ["endmodule", ":"];
    let named = (0..tokens.len()).filter(|at| tokens[*at] == module && !is_label(*at));
    named.count()
}

/// Blanks regions between `translate_off` and `translate_on`, which synthesis ignores. Returns the text and the line
/// range of each region.
fn without_untranslated(text: &str) -> (String, Vec<(usize, usize)>) {
    fn switch(line: &str) -> Option<&str> {
        let comment = line.trim().strip_prefix("//").or_else(|| {
            let inner = line.trim().strip_prefix("/*")?;
            inner.strip_suffix("*/")
        })?;
        let words: Vec<&str> = comment.split_whitespace().collect();
        match words.as_slice() {
            ["synthesis" | "synopsys" | "pragma" | "xilinx" | "vivado", word] => Some(*word),
            _ => None,
        }
    }
    let mut blanked = String::with_capacity(text.len());
    let mut ranges = Vec::new();
    let mut open = None;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        match (switch(line), open) {
            (Some("translate_off"), None) => open = Some(at + 1),
            (Some("translate_on"), Some(from)) => {
                ranges.push((from, at + 1));
                open = None;
            }
            _ => {}
        }
        match open.is_some_and(|from| from <= at) {
            true => blanked.push('\n'),
            false => blanked.push_str(line),
        }
    }
    // A region without an end is kept: its extent is unknown.
    match open {
        None => (blanked, ranges),
        Some(_) => (text.to_owned(), Vec::new()),
    }
}

/// Words, strings and single characters, without comments and attributes.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = if rest.starts_with(b"//") {
            let length = rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
            at += length;
            continue;
        } else if rest.starts_with(b"/*") {
            let end = rest.windows(2).skip(2).position(|two| two == b"*/");
            at += end.map_or(rest.len(), |end| end + 4);
            continue;
        } else if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        } else if byte == b'"' {
            let mut length = 1;
            while length < rest.len() && rest[length] != b'"' && rest[length] != b'\n' {
                length += 1 + usize::from(rest[length] == b'\\');
            }
            (length + 1).min(rest.len())
        } else if byte == b'\\' {
            rest.iter()
                .position(u8::is_ascii_whitespace)
                .unwrap_or(rest.len())
        } else if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'`') {
            let word = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$');
            1 + rest[1..]
                .iter()
                .position(|c| !word(c))
                .unwrap_or(rest.len() - 1)
        } else {
            1
        };
        // Non-ASCII bytes occur in comments only; elsewhere they end the file.
        match text.get(at..at + length) {
            Some(token) => tokens.push(token),
            None if byte >= 0x80 => {}
            None => break,
        }
        at += length.max(1);
    }
    tokens
}

/// Primitives of AMD's libraries that kernels use.
const UNISIM: [&str; 18] = [
    "BUFG",
    "BUFGCE",
    "BUFGCE_DIV",
    "BUFR",
    "DSP48E1",
    "DSP48E2",
    "DSP58",
    "FDCE",
    "FDPE",
    "FDRE",
    "FDSE",
    "HARD_SYNC",
    "LUT6_2",
    "MMCME2_ADV",
    "OBUFDS",
    "RAMB36E2",
    "SRLC32E",
    "URAM288",
];

/// Blanks second declarations of ports, with a human-readable note on them.
fn declared_once(file: RtlFile) -> (RtlFile, Option<String>) {
    if !matches!(file.kind(), "v" | "sv") {
        return (file, None);
    }
    let (text, names) = match std::str::from_utf8(&file.bytes) {
        Ok(text) => without_redeclared(text),
        Err(_) => return (file, None),
    };
    if names.is_empty() {
        return (file, None);
    }
    let note = format!(
        "{}: second declarations of ports ({}) are blank: IEEE 1800 forbids them after a header with directions",
        file.name,
        names.join(", ")
    );
    let bytes = text.into_bytes();
    (RtlFile { bytes, ..file }, Some(note))
}

/// Blanks regions for simulation only, with a human-readable note on them.
fn translated(file: RtlFile) -> (RtlFile, Option<String>) {
    let is_code = matches!(file.kind(), "v" | "sv" | "vh" | "svh");
    let mentions = |bytes: &[u8]| bytes.windows(13).any(|some| some == b"translate_off");
    if !is_code || !mentions(&file.bytes) {
        return (file, None);
    }
    let (text, ranges) = match std::str::from_utf8(&file.bytes) {
        Ok(text) => without_untranslated(text),
        Err(_) => return (file, None),
    };
    if ranges.is_empty() {
        return (file, None);
    }
    let lines: Vec<String> = ranges
        .iter()
        .take(5)
        .map(|(from, to)| format!("{from} to {to}"))
        .collect();
    let more = if ranges.len() > lines.len() {
        " …"
    } else {
        ""
    };
    let note = format!(
        "{}: lines {}{more} are for simulations of its author (translate_off) and left blank",
        file.name,
        lines.join(", ")
    );
    let bytes = text.into_bytes();
    (RtlFile { bytes, ..file }, Some(note))
}

/// Names of the modules that a script creates with `create_ip -name ila`.
fn analysers(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let named = joined.lines().filter_map(|line| {
        let plain = line.replace(['{', '}', '"', '[', ']'], " ");
        let words: Vec<&str> = plain.split_whitespace().collect();
        let after = |option: &str| {
            let at = words.iter().position(|word| *word == option)?;
            words.get(at + 1).copied()
        };
        let is_one = words.contains(&"create_ip") && after("-name") == Some("ila");
        after("-module_name").filter(|_| is_one).map(str::to_owned)
    });
    named.collect()
}

fn with_outline(file: RtlFile) -> (RtlFile, VerilogOutline) {
    let is_code = matches!(file.kind(), "v" | "sv" | "vh" | "svh");
    let outline = match is_code {
        true => VerilogOutline::of(&String::from_utf8_lossy(&file.bytes)),
        false => VerilogOutline::default(),
    };
    (file, outline)
}

/// The files of a package with their outlines.
pub struct Tree {
    files: Vec<(RtlFile, VerilogOutline)>,
    /// Names of instances of vendor IP that come without RTL.
    instances: Vec<String>,
    /// Names of modules that a script would create with `create_ip`.
    scripted: Vec<String>,
    /// Names of block designs (.bd).
    designs: Vec<String>,
    /// Names of modules that only observe signals: integrated logic analysers (ILA).
    analysers: Vec<String>,
    /// Notes on blanked regions, by file name.
    blanked: BTreeMap<String, String>,
}

impl Tree {
    /// Outlines the RTL; `others` are files other than RTL, of which scripts and IP instances are searched.
    pub fn new(files: Vec<RtlFile>, others: &[RtlFile]) -> Self {
        let stem = |name: &str| {
            name.rsplit('/')
                .next()
                .and_then(|name| name.split('.').next())
                .unwrap_or("")
                .to_owned()
        };
        let of_kind = |kind: &'static str| others.iter().filter(move |file| file.kind() == kind);
        let made = of_kind("tcl").flat_map(|file| {
            let text = String::from_utf8_lossy(&file.bytes).into_owned();
            let found = text.match_indices("-module_name").filter_map(|(at, mark)| {
                let name = text[at + mark.len()..].split_whitespace().next()?;
                Some(name.trim_matches(['{', '}', '"', ']']).to_owned())
            });
            // HLS names the script like the module that it creates.
            let own = text.contains("create_ip").then(|| stem(&file.name));
            found.chain(own).collect::<Vec<_>>()
        });
        let by_script =
            of_kind("tcl").flat_map(|file| analysers(&String::from_utf8_lossy(&file.bytes)));
        let is_analyser =
            |file: &&RtlFile| String::from_utf8_lossy(&file.bytes).contains("xilinx.com:ip:ila:");
        let by_instance = of_kind("xci").filter(is_analyser);
        let analysers: Vec<String> = by_instance
            .map(|file| stem(&file.name))
            .chain(by_script)
            .collect();
        let mut blanked = BTreeMap::new();
        let files = files.into_iter().map(|file| {
            let (file, untranslated) = translated(file);
            let (file, redeclared) = declared_once(file);
            let notes: Vec<String> = untranslated.into_iter().chain(redeclared).collect();
            if !notes.is_empty() {
                blanked.insert(file.name.clone(), notes.join("; "));
            }
            with_outline(file)
        });
        let files = files.collect();
        Self {
            scripted: made.collect(),
            instances: of_kind("xci").map(|file| stem(&file.name)).collect(),
            designs: of_kind("bd").map(|file| stem(&file.name)).collect(),
            files,
            analysers,
            blanked,
        }
    }

    /// A module of this name, in the case of its declaration; the comparison ignores case.
    pub fn module_like(&self, name: &str) -> Option<String> {
        let mut modules = self.files.iter().flat_map(|(_, outline)| &outline.modules);
        modules
            .find(|module| module.eq_ignore_ascii_case(name))
            .cloned()
    }

    /// Adds a file.
    pub fn add(&mut self, file: RtlFile) {
        self.files.push(with_outline(file));
    }

    /// Whether a Verilog file uses the name, in any case.
    pub fn uses(&self, name: &str) -> bool {
        let is_it = |word: &String| word.eq_ignore_ascii_case(name);
        self.files
            .iter()
            .any(|(_, outline)| outline.words.iter().any(is_it))
    }

    /// Logic analysers that a file uses and none declares.
    pub fn lacking_analysers(&self) -> Vec<String> {
        let names = self.analysers.iter().filter(|name| self.lacks(name));
        names
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Names with this prefix that a file uses and none declares.
    pub fn lacking(&self, prefix: &str) -> Vec<String> {
        let words = self.files.iter().flat_map(|(_, outline)| &outline.words);
        let wanted = words.filter(|word| word.starts_with(prefix) && !self.has(word));
        wanted
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Whether a file uses the module and none declares it.
    pub fn lacks(&self, module: &str) -> bool {
        let uses = |(_, outline): &(RtlFile, VerilogOutline)| outline.words.contains(module);
        !self.has(module) && self.files.iter().any(uses)
    }

    /// Whether a file declares the module.
    pub fn has(&self, module: &str) -> bool {
        self.files
            .iter()
            .any(|(_, outline)| outline.modules.iter().any(|name| name == module))
    }

    fn modules(&self) -> String {
        let mut names: Vec<&str> = self
            .files
            .iter()
            .flat_map(|(_, outline)| &outline.modules)
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(20);
        names.join(", ")
    }

    /// The only module with ports that no other one uses, among those of the file `among`, if given.
    pub fn guess_top(&self, among: Option<&str>) -> Result<String, SourcesError> {
        // Uses in a test bench do not count: it is a file whose modules have no ports.
        let benches = |outline: &VerilogOutline| {
            outline
                .modules
                .iter()
                .all(|name| !outline.with_ports.contains(name))
        };
        let designs: Vec<&(RtlFile, VerilogOutline)> = self
            .files
            .iter()
            .filter(|(file, outline)| {
                file.is_source() && !outline.modules.is_empty() && !benches(outline)
            })
            .collect();
        let mut tops = Vec::new();
        for (file, outline) in &designs {
            if among.is_some_and(|among| among != file.name) {
                continue;
            }
            for module in outline
                .modules
                .iter()
                .filter(|name| outline.with_ports.contains(*name))
            {
                let elsewhere = designs.iter().any(|(other, outline)| {
                    other.name != file.name && outline.words.contains(module)
                });
                if (among.is_some() || !elsewhere) && uses_within(file, module) < 2 {
                    tops.push(module.clone());
                }
            }
        }
        match tops.as_slice() {
            [] if designs.is_empty() => Err(SourcesError::NoModule),
            [] => Err(SourcesError::AllUsed(self.modules())),
            [only] => Ok(only.clone()),
            // A Vitis kernel has a clock of this name; parts of a block design do not.
            several => match self.with_word("ap_clk", several).as_slice() {
                [only] => Ok(only.clone()),
                _ => Err(SourcesError::WhichTop(tops.join(", "))),
            },
        }
    }

    /// The modules whose files contain the word.
    fn with_word(&self, word: &str, modules: &[String]) -> Vec<String> {
        let has = |module: &&String| {
            self.files.iter().any(|(_, outline)| {
                outline.modules.contains(module) && outline.words.contains(word)
            })
        };
        modules.iter().filter(has).cloned().collect()
    }

    /// Selects the files that the top module needs.
    pub fn reach(self, top: &str, preferred: &[String]) -> Result<Reached, SourcesError> {
        let mut owner: BTreeMap<&str, usize> = BTreeMap::new();
        let mut left_out = Vec::new();
        let mut twice = BTreeSet::new();
        let order = self.by_preference(preferred);
        for &number in &order {
            let (file, outline) = &self.files[number];
            if !file.is_source() {
                continue;
            }
            let taken = outline.declares().find_map(|name| owner.get(name.as_str()));
            if let (Some(&first), false) = (taken, outline.modules.len() > 1) {
                let same = self.files[first].0.bytes == file.bytes;
                let how = if same {
                    "is a copy of"
                } else {
                    "has a module that is in"
                };
                left_out.push(format!("{}: {how} {}", file.name, self.files[first].0.name));
                twice.insert(number);
                continue;
            }
            for name in outline.declares() {
                owner.entry(name).or_insert(number);
            }
        }
        let Some(&first) = owner.get(top) else {
            return Err(SourcesError::NoTop {
                top: top.to_owned(),
                known: self.modules(),
            });
        };
        let included = |outline: &VerilogOutline| -> Vec<(usize, String)> {
            outline
                .includes
                .iter()
                .filter_map(|name| self.included(name))
                .collect()
        };
        let mut include = BTreeSet::new();
        let (mut reached, mut read) = (BTreeSet::new(), BTreeSet::new());
        let mut open = vec![first];
        let mut wanted: BTreeSet<&str> = BTreeSet::new();
        while let Some(number) = open.pop() {
            let (file, outline) = &self.files[number];
            if outline.is_protected {
                return Err(SourcesError::Encrypted {
                    file: file.name.clone(),
                    top: top.to_owned(),
                });
            }
            if !outline.includes.is_empty() {
                include.insert(folder_of(&file.name).to_owned());
            }
            for (header, folder) in included(outline) {
                include.insert(folder);
                if read.insert(header) {
                    open.push(header);
                }
            }
            if file.is_source() && !read.contains(&number) {
                reached.insert(number);
            }
            wanted.extend(outline.instantiated.iter().map(String::as_str));
            for word in &outline.words {
                if let Some(&other) = owner.get(word.as_str()) {
                    if !reached.contains(&other) && !open.contains(&other) {
                        open.push(other);
                    }
                }
            }
        }
        let reached: BTreeSet<usize> = reached.difference(&read).copied().collect();
        self.refuse_missing(&wanted, &owner)?;
        let sources = self.in_order(&reached, &owner);
        for &number in &order {
            let (file, _) = &self.files[number];
            if file.is_source()
                && !reached.contains(&number)
                && !read.contains(&number)
                && !twice.contains(&number)
            {
                left_out.push(format!("{}: {top} does not use it", file.name));
            }
        }
        let is_taken = |name: &String| sources.iter().any(|at| self.files[*at].0.name == *name);
        let blanked = self.blanked.iter().filter(|(name, _)| is_taken(name));
        let blanked = blanked.map(|(_, note)| note.clone()).collect();
        let mut files: Vec<Option<RtlFile>> =
            self.files.into_iter().map(|(file, _)| Some(file)).collect();
        let mut take = |number: usize| files[number].take();
        let sources: Vec<RtlFile> = sources.into_iter().filter_map(&mut take).collect();
        let beside = (0..files.len()).filter_map(|number| {
            files[number]
                .take()
                .filter(|file| !file.is_source() || read.contains(&number))
        });
        Ok(Reached {
            sources,
            beside: beside.collect(),
            include: include.into_iter().collect(),
            left_out,
            blanked,
        })
    }

    /// An included file, and the folder to search for it.
    fn included(&self, name: &str) -> Option<(usize, String)> {
        let name = name.trim_start_matches("../").trim_start_matches("./");
        let tail = format!("/{name}");
        let whole =
            |(file, _): &(RtlFile, VerilogOutline)| file.name == name || file.name.ends_with(&tail);
        if let Some(number) = self.files.iter().position(whole) {
            let found = &self.files[number].0.name;
            let folder = found[..found.len() - name.len()].trim_end_matches('/');
            return Some((number, folder.to_owned()));
        }
        let base = |name: &str| name.rsplit('/').next().map(str::to_owned);
        let number = self
            .files
            .iter()
            .position(|(file, _)| base(&file.name) == base(name))?;
        Some((number, folder_of(&self.files[number].0.name).to_owned()))
    }

    /// Whether a file of the top module names the parameter without already giving it this value.
    pub fn takes(&self, top: &str, parameter: &str, value: u64) -> bool {
        let files = self
            .files
            .iter()
            .filter(|(_, outline)| outline.modules.iter().any(|name| name == top));
        let mut texts = files.map(|(file, _)| String::from_utf8_lossy(&file.bytes).into_owned());
        texts.any(|text| {
            let tokens = tokens(&text);
            let mut places = (0..tokens.len()).filter(|at| tokens[*at] == parameter);
            let default = places.next().filter(|at| tokens.get(at + 1) == Some(&"="));
            let default = default.and_then(|at| tokens.get(at + 2)?.parse().ok());
            tokens.contains(&parameter) && default != Some(value)
        })
    }

    /// Files in the order of a description, then the others.
    fn by_preference(&self, preferred: &[String]) -> Vec<usize> {
        let rank = |name: &str| {
            let ends = |wanted: &String| name == wanted || name.ends_with(&format!("/{wanted}"));
            let at = preferred.iter().position(ends).unwrap_or(preferred.len());
            // The file itself before one of the same name in a folder below.
            (at, preferred.get(at).is_some_and(|wanted| name != wanted))
        };
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by_key(|&number| (rank(&self.files[number].0.name), number));
        order
    }

    /// Packages before their users, otherwise by name.
    fn in_order(&self, reached: &BTreeSet<usize>, owner: &BTreeMap<&str, usize>) -> Vec<usize> {
        let needs = |number: usize| -> Vec<usize> {
            let outline = &self.files[number].1;
            let of_package = |word: &&String| {
                owner
                    .get(word.as_str())
                    .is_some_and(|other| self.files[*other].1.packages.contains(word))
            };
            let used = outline
                .words
                .iter()
                .filter(of_package)
                .filter_map(|word| owner.get(word.as_str()));
            used.copied().filter(|other| *other != number).collect()
        };
        let mut done = Vec::new();
        let mut seen = BTreeSet::new();
        fn visit(
            number: usize,
            needs: &dyn Fn(usize) -> Vec<usize>,
            seen: &mut BTreeSet<usize>,
            done: &mut Vec<usize>,
        ) {
            if !seen.insert(number) {
                return;
            }
            for other in needs(number) {
                visit(other, needs, seen, done);
            }
            done.push(number);
        }
        for &number in reached {
            visit(number, &needs, &mut seen, &mut done);
        }
        done
    }

    /// Fails if vendor modules are used that no file declares.
    fn refuse_missing(
        &self,
        wanted: &BTreeSet<&str>,
        owner: &BTreeMap<&str, usize>,
    ) -> Result<(), SourcesError> {
        const REMEDY: &str =
            "put a model of it beside the RTL (a module of this name and these ports)";
        let missing = wanted.iter().filter(|word| !owner.contains_key(**word));
        let named = missing.filter_map(|word| {
            let is = |list: &[String]| list.iter().any(|name| name == word);
            if word.starts_with("xpm_") && !word.starts_with("xpm_version") {
                Some(format!("`{word}` is a macro of AMD's (XPM), whose RTL comes with Vivado: {REMEDY}"))
            } else if UNISIM.contains(word) {
                Some(format!("`{word}` is a cell of AMD's FPGAs (UNISIM): {REMEDY}"))
            } else if is(&self.scripted) {
                Some(format!("`{word}` is IP that a script makes in Vivado (create_ip), without RTL here: {REMEDY}"))
            } else if is(&self.instances) {
                Some(format!("`{word}` is an instance of vendor IP (.xci), without RTL here: {REMEDY}"))
            } else if is(&self.designs) {
                Some(format!(
                    "`{word}` is a block design of Vivado's (.bd), a drawing without RTL: write its Verilog with \
                     generate_target synthesis in Vivado and import the folder with its `synth` and `ipshared`, or {REMEDY}"
                ))
            } else {
                None
            }
        });
        let named: Vec<String> = named.collect();
        match named.is_empty() {
            true => Ok(()),
            false => Err(SourcesError::Missing(named)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> RtlFile {
        RtlFile {
            name: name.to_owned(),
            bytes: text.as_bytes().to_vec(),
        }
    }

    fn names(files: &[RtlFile]) -> Vec<&str> {
        files.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn only_what_the_top_uses_is_reached() {
        let files = vec![
            file(
                "a.sv",
                "module a import z_types::*; (input c); part u(); // bench\n endmodule",
            ),
            file("bench.sv", "module bench; import vip::*; a u(); endmodule"),
            file(
                "part.v",
                "`include \"inc/d.vh\"\nmodule part; /* other */ endmodule",
            ),
            file("h/inc/d.vh", "`define D"),
            file("other.v", "module other(input c); endmodule"),
            file("z.sv", "package z_types; endpackage"),
        ];
        let tree = Tree::new(files, &[]);
        let reached = tree.reach("a", &[]).unwrap();
        assert_eq!(names(&reached.sources), ["z.sv", "a.sv", "part.v"]);
        assert_eq!(names(&reached.beside), ["h/inc/d.vh"]);
        assert_eq!(reached.include, ["", "h"]);
        assert_eq!(
            reached.left_out,
            ["bench.sv: a does not use it", "other.v: a does not use it"]
        );
    }

    #[test]
    fn a_top_is_what_no_other_uses() {
        let two = || {
            vec![
                file("k.v", "module k(input c); part u(); endmodule"),
                file("part.v", "module part(input c); endmodule"),
                file("tb.v", "module tb; k u(); endmodule"),
            ]
        };
        assert_eq!(Tree::new(two(), &[]).guess_top(None).unwrap(), "k");
        let mut three = two();
        three.push(file("l.v", "module l(input c); endmodule"));
        let error = Tree::new(three, &[])
            .guess_top(None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("k, l"), "{error}");
        assert!(Tree::new(vec![file("p.sv", "package p; endpackage")], &[])
            .guess_top(None)
            .is_err());
    }

    #[test]
    fn tasks_and_labels_make_no_difference_to_a_top() {
        let bench = "module tb; task t; input x; endtask k u(); endmodule : tb";
        let files = vec![
            file(
                "k.v",
                "module k #(parameter A = (1)) (input c); endmodule : k",
            ),
            file("tb.sv", bench),
            file("wrap.v", "module wrap(input clk); endmodule"),
        ];
        let two = Tree::new(files, &[]).guess_top(None).unwrap_err();
        assert!(two.to_string().contains("k, wrap"), "{two}");
        let files = vec![
            file("k.v", "module k(ap_clk); input ap_clk; endmodule"),
            file("wrap.v", "module wrap(input clk); endmodule"),
        ];
        assert_eq!(Tree::new(files, &[]).guess_top(None).unwrap(), "k");
        let circle = vec![
            file("a.v", "module a(input c); b u(); endmodule"),
            file("b.v", "module b(input c); // a\n a u(); endmodule"),
        ];
        let none = Tree::new(circle, &[]).guess_top(None).unwrap_err();
        assert!(none.to_string().contains("the modules are a, b"), "{none}");
    }

    #[test]
    fn lines_for_simulations_are_blank() {
        let text = "a\n// synthesis translate_off\nb\n/* synopsys translate_on */\nc\n// pragma translate_off\nd\n";
        let (blank, ranges) = without_untranslated(&text[..text.find("// pragma").unwrap()]);
        assert_eq!(
            blank,
            "a\n// synthesis translate_off\n\n/* synopsys translate_on */\nc\n"
        );
        assert_eq!(ranges, [(2, 4)]);
        // The end of the second region is missing.
        assert_eq!(without_untranslated(text).0, text);
    }

    #[test]
    fn copies_are_left_out_and_the_described_one_is_taken() {
        let files = || {
            vec![
                file("a/k.v", "module k(input c); endmodule"),
                file("b/k.v", "module k(input d); endmodule"),
            ]
        };
        let reached = Tree::new(files(), &[])
            .reach("k", &["b/k.v".to_owned()])
            .unwrap();
        assert_eq!(names(&reached.sources), ["b/k.v"]);
        assert_eq!(reached.left_out, ["a/k.v: has a module that is in b/k.v"]);
        let and_below = files()
            .into_iter()
            .chain([file("k.v", "module k(input e); endmodule")]);
        let reached = Tree::new(and_below.collect(), &[])
            .reach("k", &["k.v".to_owned()])
            .unwrap();
        assert_eq!(names(&reached.sources), ["k.v"]);
    }

    #[test]
    fn what_is_a_vendors_is_named_as_what_it_is() {
        let missing = |text: &str, others: &[RtlFile]| {
            let files = vec![file("k.v", &format!("module k(input c); {text} endmodule"))];
            Tree::new(files, others)
                .reach("k", &[])
                .unwrap_err()
                .to_string()
        };
        assert!(missing("xpm_fifo_sync u();", &[]).contains("XPM"));
        // The name of an instance is none of a macro, though Vivado's templates make it of one.
        let templates = "xpm_memory_sdpram #(.A(1)) xpm_memory_sdpram_inst (.a(b)); xpm_cdc_gray xpm_cdc_gray_addr[1:0] (.a(b));";
        let named = missing(templates, &[]);
        assert_eq!(named.matches("macro").count(), 2, "{named}");
        assert!(
            !named.contains("_inst`") && !named.contains("_addr`"),
            "{named}"
        );
        assert!(missing("BUFG u();", &[]).contains("UNISIM"));
        assert!(missing("fifo_0 u();", &[file("ip/fifo_0.xci", "")]).contains(".xci"));
        let script = file(
            "f.tcl",
            "create_ip -name floating_point -module_name fadd_ip\n",
        );
        assert!(missing("fadd_ip u();", &[script]).contains("create_ip"));
        let script = file("a/fadd_ip.tcl", "create_ip -name floating_point\n");
        assert!(missing("fadd_ip u();", &[script]).contains("create_ip"));
        assert!(missing("design_1 u();", &[file("bd/design_1.bd", "{}")]).contains("block design"));
        assert!(missing("`pragma protect begin_protected\n", &[]).contains("encrypted"));
        let error = Tree::new(vec![file("k.v", "module k; endmodule")], &[])
            .reach("top", &[])
            .unwrap_err();
        assert!(error.to_string().contains("the modules are k"), "{error}");
    }

    #[test]
    fn analysers_are_known_by_their_scripts_and_instances() {
        let script = "create_ip -name fifo -module_name f\ncreate_ip -name ila \\\n -version 6.2 -module_name {ila_0}\n";
        assert_eq!(analysers(script), ["ila_0"]);
        let top = file("k.v", "module k(input c); look u(); other v(); endmodule");
        let others = [
            file("look.xci", "<vlnv>xilinx.com:ip:ila:6.2</vlnv>"),
            file("other.xci", "<vlnv>xilinx.com:ip:vio:3.0</vlnv>"),
        ];
        assert_eq!(Tree::new(vec![top], &others).lacking_analysers(), ["look"]);
    }

    #[test]
    fn texts_and_comments_are_no_words() {
        let outline = VerilogOutline::of("module a(); initial $display(\"module b \\\" c\"); // module d\n/* module e */ endmodule");
        assert_eq!(outline.modules, ["a"]);
        assert!(!outline.words.contains("c"));
        let _ = VerilogOutline::of("module \\class (input c); endmodule \"open");
        let _ = VerilogOutline::of("/* open é");
    }
}
