# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Pages of recorded results have every value, and no text of a cell breaks its table."""

import json
import pathlib
import subprocess

import results_pages

PUBLISHED = """paper,figure,value,ours,published,ratio,state,reproduced,why
fsrf,claims,"rng read on fsrf, cold small",1556.6,1400,1.1119,predicted,yes,
fsrf,claims,"rng read on fsrf, hot small",21105.1,9800,2.1536,predicted,no,"a | b, `c` and <d>"
fsrf,figure6,fairness of all,0.9,1.1,0.8182,calibrated,,a constant
cckit,table 1,nanoseconds,101.25,100,1.0125,predicted,yes,
"""
BENCH = [
    {"name": "a.b", "value": 0.66666, "unit": "", "target": "≥ 0.5", "met": True, "date": "2026-11-28", "commit": "0123456789abcdef"},
    {"name": "c", "value": 12345.6, "unit": "min", "target": "≤ 9", "met": False, "date": "2026-11-27", "commit": "0123"},
    {"name": "c.d", "value": 1.0, "unit": "x"},
]


def checkout(folder, **files):
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "bench").mkdir()
    for name, text in files.items():
        (folder / "bench" / name.replace("_", ".")).write_text(text)
    return folder


def rows(text):
    """Cells of a page's table rows, without heads."""
    return [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]


def test_every_value_is_on_the_page_of_its_paper(tmp_path: pathlib.Path) -> None:
    pages = results_pages.pages(checkout(tmp_path, published_csv=PUBLISHED))
    assert sorted(pages) == ["reference/results-cckit.md", "reference/results-fsrf.md", "reference/results.md"]
    fsrf = pages["reference/results-fsrf.md"]
    assert "1 of the 2 values that count" in fsrf and "## Figure 6" in fsrf and "## Table 2" in fsrf
    assert ["rng read on fsrf, cold small", "1557", "1400", "1.112", "predicted", "yes", ""] in rows(fsrf)
    assert ["rng read on fsrf, hot small", "21105", "9800", "2.154", "predicted", "no", "1"] in rows(fsrf)
    assert "\n1. a \\| b, \\`c\\` and \\<d\\>\n" in fsrf and "\n1. a constant\n" in fsrf
    assert all(len(row) == 7 for row in rows(fsrf))
    assert "| [FSRF](results-fsrf.md) | 1 of 2 | 1 calibrated |" in pages["reference/results.md"]


def test_figures_have_target_day_and_commit(tmp_path: pathlib.Path) -> None:
    page = results_pages.pages(checkout(tmp_path, results_json=json.dumps(BENCH)))["reference/results-bench.md"]
    assert ["a.b", "0.6667", "≥ 0.5", "yes", "2026-11-28", "0123456789ab"] in rows(page)
    assert ["c", "12346 min", "≤ 9", "no", "2026-11-27", "0123"] in rows(page)
    assert "1 of 3 miss theirs" in page and page.count("\n## ") == 2


def test_nothing_recorded_makes_no_page(tmp_path: pathlib.Path) -> None:
    assert results_pages.pages(checkout(tmp_path)) == {}
