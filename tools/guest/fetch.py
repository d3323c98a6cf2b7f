# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Fetches QEMU and a kernel as Debian packages and unpacks them into a folder of their own.

apt runs with a separate configuration, lists and an empty package database, so the host's packages are neither read nor
changed, and root is not needed.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
CONFIGURATION = tomllib.loads((HERE / "packages.toml").read_text())
KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class Missing(Exception):
    """A requirement of the guest that this machine or mirror lacks, with the remedy."""


def cache():
    """Where packages and guests are kept."""
    home = os.environ.get("TOMBOLO_CACHE") or pathlib.Path.home() / ".cache/tombolo"
    return pathlib.Path(home) / "guest"


def say(text):
    """A line of progress, now."""
    print(f"guest: {text}", flush=True)


def mirror():
    """The Debian mirror: that of the environment, or the first that this machine's apt uses."""
    if given := os.environ.get("TOMBOLO_DEBIAN_MIRROR"):
        return given
    apt = pathlib.Path("/etc/apt")
    for file in [*sorted(apt.glob("sources.list.d/*.sources")), apt / "sources.list",
                 *sorted(apt.glob("sources.list.d/*.list"))]:
        for line in file.read_text().splitlines() if file.exists() else []:
            for word in line.split() if not line.lstrip().startswith("#") else []:
                if word.startswith("http") and word.rstrip("/").endswith("/debian"):
                    return word
    raise Missing("no Debian mirror: this machine's apt names none; set TOMBOLO_DEBIAN_MIRROR to one")


class Apt:
    """apt with a separate configuration and database, in one folder."""

    def __init__(self, folder):
        self.folder = folder
        for part in ["lists/partial", "archives/partial", "conf.d", "preferences.d", "trusted.d", "sources.d"]:
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text("".join(
            f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n" for suite in CONFIGURATION["suites"]))
        settings = {
            "Dir::State": folder, "Dir::State::lists": folder / "lists", "Dir::State::status": folder / "status",
            "Dir::Cache": folder, "Dir::Cache::archives": folder / "archives",
            "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": folder / "sources.d",
            "Dir::Etc::parts": folder / "conf.d", "Dir::Etc::main": "/dev/null",
            "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": folder / "preferences.d",
            "Dir::Etc::trusted": "/dev/null", "Dir::Etc::trustedparts": folder / "trusted.d",
            "APT::Architecture": "amd64", "APT::Architectures": "amd64",
            "APT::Install-Recommends": "false", "APT::Default-Release": CONFIGURATION["suites"][0],
            "APT::Sandbox::User": "", "Acquire::Languages": "none", "Acquire::Retries": "3",
            "Debug::NoLocking": "true", "APT::Update::Error-Mode": "any",
        }
        self.configuration = folder / "apt.conf"
        self.configuration.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))

    def run(self, program, *arguments):
        """Runs a program; returns its output, and raises a failure with it."""
        done = subprocess.run([program, *arguments], cwd=self.folder / "archives", text=True, capture_output=True,
                              env={**os.environ, "APT_CONFIG": str(self.configuration), "LC_ALL": "C"})
        if done.returncode:
            raise Missing(f"{program} {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def archives(self):
        """The fetched packages."""
        return sorted((self.folder / "archives").glob("*.deb"))


def unpack(packages, folder):
    """Their files, below a folder."""
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)


def fetch():
    """The folder with the unpacked packages; fetches them if it is not there, or is of another list."""
    cache().mkdir(parents=True, exist_ok=True)
    # Another run waits until they are there.
    with open(cache() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return fetch_alone()


def fetch_alone():
    """Fetches the packages; the caller holds the lock."""
    named = hashlib.sha256((HERE / "packages.toml").read_bytes()).hexdigest()[:16]
    folder = cache() / f"packages-{named}"
    if (folder / "complete").exists():
        return folder
    for program in ["apt-get", "dpkg-deb"]:
        if not shutil.which(program):
            raise Missing(f"`{program}` is missing: the guest is made of Debian packages, on Debian or Ubuntu")
    if not KEYRING.exists():
        raise Missing(f"{KEYRING} is missing: install the package debian-archive-keyring")
    if os.uname().machine != "x86_64":
        raise Missing(f"the guest's programs are this machine's own, and it is {os.uname().machine}: x86_64 is needed")
    shutil.rmtree(folder, ignore_errors=True)
    apt = Apt(folder / "apt")
    say("reads the lists of packages")
    apt.run("apt-get", "-q", "update")
    kernel = CONFIGURATION["kernel"]
    say(f"fetches {kernel}")
    try:
        apt.run("apt-get", "-q", "download", kernel)
    except Missing as missing:
        there = apt.run("apt-cache", "search", "--names-only", r"^linux-image-[0-9].*[0-9]-amd64$")
        raise Missing(f"{missing}\nkernels that there are (name one in {HERE / 'packages.toml'}):\n{there}") from None
    unpack(apt.archives(), folder / "kernel")
    for package in apt.archives():
        package.unlink()
    wanted = CONFIGURATION["emulator"] + CONFIGURATION["tools"]
    say(f"fetches {', '.join(wanted)}, and what they need")
    apt.run("apt-get", "-q", "-y", "--download-only", "install", *wanted)
    say(f"unpacks {len(apt.archives())} packages")
    unpack(apt.archives(), folder / "root")
    shutil.rmtree(folder / "apt")
    (folder / "complete").touch()
    return folder


if __name__ == "__main__":
    try:
        print(fetch())
    except Missing as missing:
        sys.exit(f"guest: {missing}")
