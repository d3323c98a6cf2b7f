# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Pages of the site with recorded results: published values next to ours, and the bench's figures next to their targets."""

import collections
import csv
import json
import re
import subprocess

MET = {True: "yes", False: "no", None: ""}
PAPERS = {"fsrf": "FSRF", "fleximem": "FlexiMem", "vfpio": "vFPIO", "cckit": "CCKit"}

#: Written by `tombolo lab all --csv`.
PUBLISHED = "bench/published.csv"
BENCH = "bench/results.json"


def cell(text):
    """A text in a cell of a table."""
    return re.sub(r"([|\\<>*_`$\[\]])", r"\\\1", str(text)).replace("\n", " ")


def table(head, rows):
    """Lines of a table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows]


def number(text):
    """At most four significant digits."""
    value = float(text)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def recorded(root, path):
    """When a file was last recorded, in words."""
    shown = subprocess.run(["git", "log", "-1", "--format=%cs, commit %h", "--", path], cwd=root, text=True,
                           capture_output=True).stdout.strip()
    return f"Recorded {shown}" if shown else "Recorded, but not committed"


def counts(rows):
    """Values that count and are reproduced, those that count, and the others by state."""
    counted = [row for row in rows if row["reproduced"]]
    states = collections.Counter(row["state"] for row in rows if not row["reproduced"])
    reproduced = sum(row["reproduced"] == "yes" for row in counted)
    return reproduced, len(counted), ", ".join(f"{count} {state}" for state, count in sorted(states.items()))


def grouped(rows, key):
    """Rows by key, both in the order of the rows."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def heading(figure):
    """Title of a figure's section: the file has the names of the lab's."""
    return "Table 2" if figure == "claims" else re.sub(r"([a-z])(\d)", r"\1 \2", figure).capitalize()


def figure_section(figure, rows):
    """Values of a figure; a reason that several of them share stands once, below the table."""
    reasons = list(dict.fromkeys(row["why"] for row in rows if row["why"]))
    shown = [[row["value"], number(row["ours"]), number(row["published"]), number(row["ratio"]), row["state"], row["reproduced"] or "–",
              reasons.index(row["why"]) + 1 if row["why"] else ""] for row in rows]
    lines = [f"## {heading(figure)}", "", *table(["value", "ours", "published", "ratio", "state", "reproduced", "reason"], shown), ""]
    return lines + [f"{count}. {cell(reason)}" for count, reason in enumerate(reasons, 1)] + [""]


def published_pages(root):
    """A page for each paper, and one that leads to them."""
    with open(root / PUBLISHED, newline="") as file:
        by_paper = grouped(csv.DictReader(file), lambda row: row["paper"])
    when = recorded(root, PUBLISHED)
    summary, pages = [], {}
    for paper, title in PAPERS.items():
        own = by_paper.get(paper)
        if not own:
            continue
        reproduced, counted, others = counts(own)
        summary.append(f"| [{title}](results-{paper}.md) | {reproduced} of {counted} | {others} |")
        text = [f"# {title}: published values and ours", "", f"{when}. {reproduced} of the {counted} values that count are reproduced. "
                "The [states](../docs/lab.md) say which count.", ""]
        for figure, shown in grouped(own, lambda row: row["figure"]).items():
            text += figure_section(figure, shown)
        pages[f"reference/results-{paper}.md"] = "\n".join(text)
    text = ["# Results: the four papers", "", f"{when}, by `tombolo lab all --csv {PUBLISHED}`. A value counts unless a constant was "
            "fitted to it or it cannot be compared; it is reproduced within a quarter, or within what its claim states.", "",
            *table(["paper", "reproduced", "not counted"], []), *summary, ""]
    pages["reference/results.md"] = "\n".join(text)
    return pages


def bench_page(root):
    """The bench's figures, by the first word of their names."""
    rows = json.loads((root / BENCH).read_text())
    text = ["# Results: the bench", "", f"`make bench` measures these figures and compares them with their targets; a row has the day and "
            f"the commit of its measurement. {sum(row.get('met') is False for row in rows)} of {len(rows)} miss theirs.", ""]
    for group, own in grouped(rows, lambda row: row["name"].split(".")[0]).items():
        shown = [[row["name"], f"{number(row['value'])} {row.get('unit') or ''}".strip(), row.get("target") or "", MET[row.get("met")],
                  row.get("date", ""), (row.get("commit") or "")[:12]] for row in own]
        text += [f"## {group}", "", *table(["figure", "value", "target", "met", "day", "commit"], shown), ""]
    return {"reference/results-bench.md": "\n".join(text)}


def pages(root):
    """All pages, by name; what was not recorded has none."""
    made = bench_page(root) if (root / BENCH).exists() else {}
    return made | (published_pages(root) if (root / PUBLISHED).exists() else {})
