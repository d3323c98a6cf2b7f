//! Compares the options of a mapping in each language with the table of fields.

use std::collections::BTreeSet;
use std::path::Path;
use tombolo_wire::{encode, MapField, MapOptions, MAP_FIELDS};

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

fn said(of: impl Fn(&MapField) -> Option<&'static str>) -> BTreeSet<String> {
    let all = MAP_FIELDS.iter().filter_map(of);
    all.map(str::to_owned).collect()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap();
    rest.split_once(end).unwrap().0
}

#[test]
fn the_table_has_the_fields_of_the_structure() {
    let bytes = encode(&MapOptions::read_only()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let fields = json.as_object().unwrap().keys().cloned().collect();
    assert_eq!(said(|field| Some(field.name)), fields);
}

#[test]
fn c_has_those_that_the_table_says() {
    let header = read("crates/capi/include/tombolo.h");
    let body = between(&header, "typedef struct tmb_map_options {", "}");
    let lines = body.lines().filter_map(|line| line.split_once(';'));
    let fields = lines.map(|(declared, _)| declared.trim().rsplit(' ').next().unwrap());
    // `create` is a flag that enables `create_bytes`.
    let own = ["size", "create", "reserved"];
    let fields = fields.filter(|field| !own.contains(field));
    assert_eq!(said(|field| field.c), fields.map(str::to_owned).collect());
}

#[test]
fn python_has_those_that_the_table_says() {
    let module = read("python/package/tombolo/_native.pyi");
    let body = between(&module, "    def map_file(self, /, ", ") -> Mapping:");
    let parameters = body.split(", ").filter_map(|one| one.split_once(':'));
    let parameters = parameters.map(|(name, _)| name.to_owned());
    let parameters = parameters.filter(|name| name != "path");
    assert_eq!(said(|field| field.python), parameters.collect());
}
