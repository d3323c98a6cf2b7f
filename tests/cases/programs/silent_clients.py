#!/usr/bin/env python3
# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Runs a command while all 64 connections of a server are in use.

    silent_clients.py [--half] FILE COMMAND ...

Serves FILE, connects 64 clients that read the greeting and are silent (with --half, that send the first byte of a
request and no more), and runs COMMAND, in which SERVER is the address. Ends with its status.
"""

import socket
import subprocess
import sys

half = sys.argv[1] == "--half"
exported, *command = sys.argv[2 if half else 1:]
server = subprocess.Popen(["tombolo", "serve", exported, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE)
try:
    port = int(server.stdout.readline().decode().rsplit(":", 1)[1])
    clients = []
    for _ in range(64):
        client = socket.create_connection(("127.0.0.1", port))
        assert len(client.recv(32)) == 32
        if half:
            client.sendall(b"T")
        clients.append(client)
    status = subprocess.call([word.replace("SERVER", f"127.0.0.1:{port}") for word in command])
finally:
    server.kill()
    server.wait()
sys.exit(status)
