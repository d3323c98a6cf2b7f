# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""A Linux guest in QEMU with one vfio-user device: its initial file system, and a bounded run of it."""

import dataclasses
import gzip
import lzma
import os
import pathlib
import re
import signal
import stat
import subprocess
import threading
import time

from fetch import CONFIGURATION, Missing, say

# Printed around a job's output, with its exit status at the end.
BEGIN, END = "guest-begin", "guest-end"

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
echo {pages} > /proc/sys/vm/nr_hugepages
for module in {modules}; do insmod /modules/$module.ko || echo "guest: no module $module"; done
for device in /sys/bus/pci/devices/*; do
  if [ "$(cat $device/vendor)" = {vendor} ] && [ "$(cat $device/device)" = {device} ]; then ADDRESS=$(basename $device); fi
done
export ADDRESS
echo {vendor} {device} > /sys/bus/pci/drivers/vfio-pci/new_id
ulimit -l unlimited
cd /job
echo "{begin} $(uname -r)"
sh /job/run; status=$?
echo "{end} $status"
poweroff -f
"""


class Archive:
    """A file system in the format of cpio, "newc"."""

    def __init__(self):
        self.parts = []
        self.folders = set()

    def _entry(self, name, mode, content=b""):
        header = [len(self.parts) + 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        text = b"070701" + b"".join(b"%08x" % word for word in header) + name.encode() + b"\0"
        self.parts.append(text + bytes(-len(text) % 4) + content + bytes(-len(content) % 4))

    def folder(self, name):
        """A folder, and those that it is in."""
        for path in [*reversed(pathlib.PurePath(name).parents), pathlib.PurePath(name)]:
            if str(path) not in self.folders | {"."}:
                self.folders.add(str(path))
                self._entry(str(path), stat.S_IFDIR | 0o755)

    def add(self, name, content, executable=False):
        """A file."""
        self.folder(str(pathlib.PurePath(name).parent))
        self._entry(name, stat.S_IFREG | (0o755 if executable else 0o644), content)

    def tree(self, name, folder):
        """A folder of this machine."""
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                self.add(f"{name}/{path.relative_to(folder)}", path.read_bytes(), os.access(path, os.X_OK))

    def write(self, path):
        """The archive, compressed."""
        self._entry("TRAILER!!!", 0)
        path.write_bytes(gzip.compress(b"".join(self.parts), 1))


def libraries(program):
    """The shared libraries of a program of this machine, and its loader, by the names that it asks for."""
    text = subprocess.run(["ldd", str(program)], text=True, capture_output=True, check=True).stdout
    found = re.findall(r"(?:=> )?(/\S+) \(0x", text)
    if "not found" in text or not (found or "statically linked" in text):
        raise Missing(f"{program}: not every shared library is there:\n{text}")
    return found


@dataclasses.dataclass
class Job:
    """Job of a guest: a script that runs in /job, with programs and files of this machine."""

    script: str
    programs: list
    # Content by name, and folders by name.
    files: dict = dataclasses.field(default_factory=dict)
    trees: dict = dataclasses.field(default_factory=dict)
    # Modules that programs load at run time: they are part of a tree, and their libraries are copied too.
    modules: list = dataclasses.field(default_factory=list)
    huge_pages: int = 0


class Guest:
    """Common parts of all guests: packages, and the device that the guest must find."""

    def __init__(self, packages, vendor, device):
        self.packages = packages
        self.identity = {"vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}"}

    def archive(self, job):
        """The initial file system."""
        archive = Archive()
        for folder in ["proc", "sys", "dev", "tmp"]:
            archive.folder(folder)
        archive.add("bin/busybox", (self.packages / "root/usr/bin/busybox").read_bytes(), executable=True)
        for module in CONFIGURATION["modules"]:
            found = sorted((self.packages / "kernel").rglob(f"{module}.ko*"))
            if not found:
                raise Missing(f"{CONFIGURATION['kernel']} has no module {module}: see tools/guest/packages.toml")
            content = found[0].read_bytes()
            archive.add(f"modules/{module}.ko", lzma.decompress(content) if found[0].suffix == ".xz" else content)
        archive.add("init", INIT.format(begin=BEGIN, end=END, pages=job.huge_pages, **self.identity,
                                        modules=" ".join(CONFIGURATION["modules"])).encode(), executable=True)
        archive.add("job/run", job.script.encode())
        for library in sorted({library for program in [*job.programs, *job.modules]
                               for library in libraries(program)}):
            archive.add(library.lstrip("/"), pathlib.Path(library).read_bytes(), executable=True)
        for program in job.programs:
            archive.add(f"job/{program.name}", program.read_bytes(), executable=True)
        for name, content in job.files.items():
            archive.add(f"job/{name}", content)
        for name, folder in job.trees.items():
            archive.tree(f"job/{name}", folder)
        return archive

    def command(self, socket, image, job):
        """QEMU's command line. Its loader and libraries are those of its own packages."""
        root = self.packages / "root"
        libraries_of = [root / "usr/lib/x86_64-linux-gnu", root / "lib/x86_64-linux-gnu"]
        loader = root / "usr/lib64/ld-linux-x86-64.so.2"
        kernel = next((self.packages / "kernel/boot").glob("vmlinuz-*"))
        return [
            str(loader), "--library-path", ":".join(map(str, libraries_of)),
            str(root / "usr/bin/qemu-system-x86_64"),
            "-L", str(root / "usr/share/seabios"), "-L", str(root / "usr/share/qemu"),
            "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot",
            # Emulated: a machine without /dev/kvm, or one where it hangs, runs the same.
            "-M", "q35", "-accel", "tcg", "-cpu", "qemu64", "-smp", "1", "-m", "768M",
            # The device maps the guest's memory, so it is a file, sealed against shrinking.
            "-object", "memory-backend-memfd,id=memory,size=768M,share=on,seal=on", "-numa", "node,memdev=memory",
            "-device", "intel-iommu,intremap=on,caching-mode=on",
            "-device", '{"driver":"vfio-user-pci","socket":{"type":"unix","path":"%s"}}' % socket,
            "-kernel", str(kernel), "-initrd", str(image),
            # Whether the timer's interrupt comes in time is not asked at boot: on a busy host it does not.
            "-append", "console=ttyS0 intel_iommu=on iommu=nopt quiet panic=-1 no_timer_check transparent_hugepage="
            + ("always" if job.huge_pages else "never"),
        ]

    def run(self, socket, image, job, log, seconds):
        """Boots, and returns the job's output and exit status. Fails at the timeout."""
        began = time.monotonic()
        with open(log, "wb") as file:
            qemu = subprocess.Popen(["nice", "-n", "10", *self.command(socket, image, job)], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
            limit = threading.Timer(seconds, lambda: os.killpg(qemu.pid, signal.SIGKILL))
            limit.start()
            lines, inside, status = [], False, None
            for raw in qemu.stdout:
                file.write(raw)
                file.flush()
                line = raw.decode(errors="replace").rstrip()
                if line.startswith(BEGIN):
                    say(f"Linux {line.split()[1]} is up after {time.monotonic() - began:.0f} s")
                    inside = True
                elif line.startswith(END):
                    inside, status = False, int(line.split()[1])
                elif inside:
                    lines.append(line)
                    print(f"  | {line}", flush=True)
            qemu.wait()
            limit.cancel()
        if status is None:
            late = time.monotonic() - began >= seconds
            raise Missing(f"the guest did not finish{f' within {seconds} s' if late else ''}: see {log}\n"
                          + pathlib.Path(log).read_text(errors="replace")[-2000:])
        return lines, status
