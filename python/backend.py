"""Builds the package: copies the files of the simulated card next to the Python files, then calls maturin.

The RTL, kernels, platforms and protocols are those of the checkout around this folder, so that there is one of each.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Optional

import maturin
from maturin import (  # noqa: F401  (hooks that a front end may call)
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

HERE = Path(__file__).resolve().parent
SHARE = HERE / "package" / "tombolo" / "share"
PARTS = ("rtl", "kernels", "platforms", "protocols", "hosts", "experiments", "presets")
#: Of Linux, whatever glibc 2.34 or newer runs on: Debian 12, Ubuntu 22.04, RHEL 9 and later.
PORTABLE = "manylinux_2_34"
NOT_FOR_USERS = shutil.ignore_patterns("tests", "testing", "test_*.py", "__pycache__", "sim_build", "*.rdl")


def refuse_other_platforms() -> None:
    """Refuses unsupported platforms by name, before anything is compiled."""
    here = f"{platform.system()} on {platform.machine()}"
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise SystemExit(
            f"the Tombolo package is for Linux on x86_64, and this is {here}: shared memory and the simulated card "
            "need Linux, and only x86_64 is tested. Use a container or virtual machine of that kind"
        )


def lay_out(command: Optional[Path] = None) -> Path:
    """Copies the parts into the package afresh, and returns their folder.

    :param command: the compiled `tombolo`, compiled here if not given.
    """
    shutil.rmtree(SHARE, ignore_errors=True)
    for part in PARTS:
        source = HERE.parent / part
        if not source.is_dir():
            raise SystemExit(
                f"the Tombolo package is built inside a checkout of Tombolo: {source} is missing"
            )
        shutil.copytree(source, SHARE / part, ignore=NOT_FOR_USERS)
    command = command or compiled_command()
    if command is not None:
        lay_out_command(command)
    return SHARE


def compiled_command() -> Optional[Path]:
    """Compiles the `tombolo` command; None without cargo: maturin then uses a Rust of its own, and the package lacks the
    command."""
    if not shutil.which("cargo"):
        return None
    build = ["cargo", "build", "--release", "--locked", "--bin", "tombolo"]
    build += ["--manifest-path", str(HERE.parent / "Cargo.toml")]
    subprocess.run(build, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR") or HERE.parent / "target") / "release" / "tombolo"


def lay_out_command(made: Path) -> None:
    """Copies the compiled command into the package."""
    command = SHARE / "bin" / "tombolo"
    command.parent.mkdir()
    shutil.copy(made, command)
    # Removes debug information. Without `strip` the file is larger.
    if shutil.which("strip"):
        subprocess.run(["strip", str(command)], check=True)


def settings(given, *more: str):  # type: ignore[no-untyped-def]
    """The caller's settings, or more options of maturin. An extension in a wheel has no symbols: only `tools/python-stubs`
    needs them."""
    if given or os.environ.get("MATURIN_PEP517_ARGS"):
        return given
    return {"build-args": " ".join(["--strip", *more])}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    refuse_other_platforms()
    lay_out()
    try:
        return maturin.build_wheel(wheel_directory, settings(config_settings, f"--compatibility {PORTABLE}"), metadata_directory)
    except SystemExit:
        # A system whose own libraries are newer than the tag allows: a wheel for this machine.
        return maturin.build_wheel(wheel_directory, settings(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    refuse_other_platforms()
    lay_out()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):  # type: ignore[no-untyped-def]
    raise SystemExit("the Tombolo package has no source distribution yet: build a wheel in a checkout")
