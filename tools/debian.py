# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""A Debian package of what `tools/release` built: the command, prebuilt models, C and C++ files, manual pages, completions,
and the daemon's units, which are installed and not started.
"""

import gzip
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

#: The command: files and models are those of the package, unless the user's variables name others.
COMMAND = """#!/bin/sh
export TOMBOLO_HOME="${TOMBOLO_HOME:-/usr/share/tombolo}"
export TOMBOLO_PREBUILT="${TOMBOLO_PREBUILT-/usr/share/tombolo/prebuilt}"
exec /usr/lib/tombolo/tombolo "$@"
"""

CONTROL = """Package: tombolo
Version: {version}
Architecture: amd64
Maintainer: The Tombolo developers
Installed-Size: {kilobytes}
Depends: libc6 (>= {glibc})
Suggests: g++, python3-venv
Section: electronics
Priority: optional
Description: one memory and one I/O layer for an FPGA card and its host
 Maps files and arrays into FPGA kernels, shares pointers with them, connects
 their stream ports to devices, and controls cache coherence between CPU and
 card: on a simulated card, without a card or a licence.
 .
 Contains the command, models of the default shell and of some kernels, and
 the files for C, C++ and programs of XRT. Other kernels and shells need
 Verilator and a C++ compiler: `tombolo doctor` lists what is missing.
"""

#: Completions by shell, and where Debian has them.
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/tombolo",
    "zsh": "usr/share/zsh/vendor-completions/_tombolo",
    "fish": "usr/share/fish/vendor_completions.d/tombolo.fish",
}


def compressed(source, target):
    """A file as gzip without time, so that equal contents are equal files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(source.read_bytes(), mtime=0))


def documents(command, tree):
    """Manual pages, completions, changelog and licence."""
    pages = tree / "usr/share/man/man1"
    pages.mkdir(parents=True)
    subprocess.run([command, "man", "--into", pages], check=True)
    for page in sorted(pages.iterdir()):
        compressed(page, page.with_name(f"{page.name}.gz"))
        page.unlink()
    for shell, place in COMPLETIONS.items():
        target = tree / place
        target.parent.mkdir(parents=True)
        target.write_bytes(subprocess.run([command, "completions", shell], check=True, capture_output=True).stdout)
    compressed(ROOT / "CHANGELOG.md", tree / "usr/share/doc/tombolo/changelog.gz")
    shutil.copy(ROOT / "LICENSE", tree / "usr/share/doc/tombolo/copyright")


def units(tree):
    """The daemon's units and quotas."""
    folder = tree / "usr/lib/systemd/system"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "packaging/tombolo.socket", folder)
    service = (ROOT / "packaging/tombolo.service").read_text()
    (folder / "tombolo.service").write_text(service.replace("/usr/local/bin/", "/usr/bin/"))
    users = tree / "usr/lib/sysusers.d/tombolo.conf"
    users.parent.mkdir(parents=True)
    users.write_text('u tombolo - "Tombolo daemon"\n')
    quotas = tree / "etc/tombolo/quotas.toml"
    quotas.parent.mkdir(parents=True)
    shutil.copy(ROOT / "packaging/quotas.toml", quotas)


def package(share, libraries, version, glibc, into):
    """Builds `into`/tombolo_VERSION_amd64.deb; returns its path.

    :param share: folder with rtl, kernels, …, prebuilt, and the compiled command as bin/tombolo.
    :param libraries: folder with libtombolo_c.so and libtombolo_c.a.
    :param version: version of the package.
    :param glibc: version of glibc that the compiled files need.
    """
    tree = into / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run([ROOT / "tools/install-c", "--from", libraries, tree / "usr"], check=True)
    files = tree / "usr/share/tombolo"
    shutil.rmtree(files)
    shutil.copytree(share, files, ignore=shutil.ignore_patterns("bin"))
    # XILINX_XRT=/usr/lib/tombolo/xrt
    xrt = tree / "usr/lib/tombolo/xrt"
    shutil.move(tree / "usr/xrt", xrt)
    library = xrt / f"lib/libtombolo.so.{version.partition('.')[0]}"
    library.unlink()
    library.symlink_to(f"../../../libtombolo.so.{version}")
    program = tree / "usr/lib/tombolo/tombolo"
    shutil.copy(share / "bin/tombolo", program)
    command = tree / "usr/bin/tombolo"
    command.parent.mkdir()
    command.write_text(COMMAND)
    for file in (program, command):
        file.chmod(0o755)
    documents(program, tree)
    units(tree)

    kilobytes = sum(file.lstat().st_size for file in tree.rglob("*")) // 1024
    control = tree / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(CONTROL.format(version=version, kilobytes=kilobytes, glibc=glibc))
    (control / "conffiles").write_text("/etc/tombolo/quotas.toml\n")
    after = control / "postinst"
    after.write_text("#!/bin/sh\nset -e\n! command -v systemd-sysusers >/dev/null || systemd-sysusers tombolo.conf\nldconfig\n")
    after.chmod(0o755)
    (control / "triggers").write_text("activate-noawait ldconfig\n")
    made = into / f"tombolo_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made
