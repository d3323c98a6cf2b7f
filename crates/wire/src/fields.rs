//! The options of a mapping, with their names in every language. An option that one language is missing is a decision
//! recorded in this table; tests compare it with the structure, `tombolo.h`, the Python package and the command.

/// An option of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapField {
    /// Its field of [`MapOptions`](crate::MapOptions).
    pub name: &'static str,
    /// Its field of `tmb_map_options`.
    pub c: Option<&'static str>,
    /// Its parameter of Python's `AddressSpace.map_file`.
    pub python: Option<&'static str>,
    /// Its spelling after the file of `--map`, with a value that the command accepts.
    pub command: Option<&'static str>,
}

const fn field(
    name: &'static str,
    c: Option<&'static str>,
    python: Option<&'static str>,
    command: Option<&'static str>,
) -> MapField {
    MapField {
        name,
        c,
        python,
        command,
    }
}

/// All options. C and Python set advice and hot pages by separate calls after mapping.
pub const MAP_FIELDS: &[MapField] = &[
    field("read", Some("access"), Some("mode"), Some(":ro")),
    field("write", Some("access"), Some("mode"), Some(":rw")),
    field(
        "create",
        Some("create_bytes"),
        Some("create"),
        Some(":new=4096"),
    ),
    field("offset", Some("offset"), Some("offset"), Some("@4096")),
    field("bytes", Some("bytes"), Some("nbytes"), Some("@0+4096")),
    field("address", Some("address"), Some("address"), None),
    field(
        "page_size",
        Some("page_size"),
        Some("page_size"),
        Some(":page=64KiB"),
    ),
    field("auto_pages", None, None, Some(":page=auto")),
    field("direct", Some("direct"), Some("direct"), Some(":direct")),
    field(
        "memory",
        Some("memory"),
        Some("memory"),
        Some(":memory=hbm"),
    ),
    field("advice", None, None, Some(":advice=stream")),
    field("hot", None, None, Some(":hot")),
    field(
        "file_state",
        Some("file_state"),
        Some("file_state"),
        Some(":cold"),
    ),
    field("holes", Some("holes"), Some("holes"), Some(":holes")),
];
