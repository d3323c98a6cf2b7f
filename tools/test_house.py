# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""tools/house: are its counts right?"""

import importlib.machinery
import importlib.util
import pathlib

PATH = pathlib.Path(__file__).resolve().parent / "house"
LOADER = importlib.machinery.SourceFileLoader("house", str(PATH))
house = importlib.util.module_from_spec(importlib.util.spec_from_loader("house", LOADER))
LOADER.exec_module(house)


def test_rooms_in_a_circle_are_those_from_which_a_way_leads_back():
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d"}}
    assert house.circle(arrows) == ["b", "c", "d"]


def test_fields_are_those_of_the_struct_alone():
    text = """
pub struct Outer<T> {
    first: u32,
    pub(super) second: Vec<T>,
}
struct Unit;
struct Tuple(u32, u32);
struct Next {
    only: Option<u8>,
}
"""
    assert dict(house.structs(text)) == {"Outer": ["first", "second"], "Next": ["only"]}


def test_comments_and_tests_do_not_count(tmp_path):
    file = tmp_path / "file.rs"
    file.write_text("fn a() {} // fn b() {}\n#[cfg(test)]\nmod tests { fn c() {} }\n")
    assert "fn a" in house.code_of(file)
    assert "fn b" not in house.code_of(file) and "fn c" not in house.code_of(file)


def test_rooms_are_counted_where_they_are_lent():
    assert house.owner_rooms("struct Owner {\n    a: Room<A>,\n    post: Post,\n    b: Room<B>,\n}") == ["a", "b"]
    text = """fn one(&self) {
    self.a.lend(|a| {
        self.paging
            .lend_with(&self.kernels, |paging, kernels| "a brace }".len());
        a.go(|x| x)
    });
    kernels.lend(|kernels| kernels.now())
}"""
    rooms = ["a", "paging", "kernels"]
    assert list(house.lent_rooms(text, rooms)) == [
        (2, [], ["a"]), (3, ["a"], ["paging", "kernels"]), (7, [], ["kernels"])]


def test_nothing_borrows_the_whole_owner():
    assert house.owner_borrows() == ([], 0)


def test_a_card_is_what_any_pcie_card_offers():
    _, methods = house.card_methods()
    assert methods <= 20


def test_a_counter_is_named_in_six_files_at_most():
    files, count = house.counter_files()
    assert "rtl/shell/registers/tmb_shell.rdl" in files and "crates/owner/src/report.rs" in files
    assert count <= 6, files


def test_comments_and_blanks_are_no_lines_of_code():
    assert house.code_of_lines("// a\n\n/* b\n c */\nd; // e\n  #f\n", "//") == 2
    assert house.code_of_lines("# a\n\nb = 1  # c\n/* d */\n", "#") == 2
