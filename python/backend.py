"""Builds the package: lays what the simulated card needs beside the Python files, then calls maturin.

The RTL, kernels, platforms and protocols are those of the checkout around this folder, so that there is one of each.
"""

import platform
import shutil
import sys
from pathlib import Path

import maturin
from maturin import (  # noqa: F401  (hooks that a front end may call)
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

HERE = Path(__file__).resolve().parent
SHARE = HERE / "package" / "tombolo" / "share"
PARTS = ("rtl", "kernels", "platforms", "protocols")
NOT_FOR_USERS = shutil.ignore_patterns("tests", "testing", "test_*.py", "__pycache__", "sim_build", "*.rdl")


def refuse_other_platforms() -> None:
    """Says by name where the package does not work, before anything is compiled."""
    here = f"{platform.system()} on {platform.machine()}"
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise SystemExit(
            f"the Tombolo package is for Linux on x86_64, and this is {here}: shared memory and the simulated card "
            "need Linux, and only x86_64 is tested. Use a container or virtual machine of that kind"
        )


def lay_out() -> None:
    """Copies the parts into the package, anew."""
    shutil.rmtree(SHARE, ignore_errors=True)
    for part in PARTS:
        source = HERE.parent / part
        if not source.is_dir():
            raise SystemExit(
                f"the Tombolo package is built inside a checkout of Tombolo: {source} is missing"
            )
        shutil.copytree(source, SHARE / part, ignore=NOT_FOR_USERS)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    refuse_other_platforms()
    lay_out()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    refuse_other_platforms()
    lay_out()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):  # type: ignore[no-untyped-def]
    raise SystemExit("the Tombolo package has no source distribution yet: build a wheel in a checkout")
