"""Stream ports, several slots at once, schedules, stripes and presets."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
import tombolo
from tombolo import errors


@pytest.fixture
def card() -> Iterator[tombolo.Card]:
    """A functional card with two slots, with a stream pair each."""
    with tombolo.Card.functional(slots=2, streams_per_slot=1) as opened:
        yield opened


def noise(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.random.default_rng(count).integers(0, 256, count, dtype=np.uint8)


def test_memory_goes_through_a_kernel(card: tombolo.Card, tmp_path: Path) -> None:
    source, result = noise(100_001), np.zeros(100_001, np.uint8)
    with card.create_space() as space:
        slot = card.load("loopback", space)
        given, made = space.map_array(source), space.map_array(result, "rw")
        with slot.open_stream("in") as into, slot.open_stream("out") as out:
            assert (into.port, repr(out)) == ("in", "<Stream out of <Slot 0 with kernel loopback>>")
            out.write(made)
            assert out.poll() is None
            into.read(given)
            assert out.wait() == tombolo.Moved(100_001, True)
            assert into.wait() == (100_001, True)
            made.sync()
            np.testing.assert_array_equal(result, source)
            # In parts, into a file and shared memory.
            file = space.map_file(tmp_path / "out", "rw", create=100)
            shared = space.alloc(1000)
            out.write(file, 10, 20)
            out.write(shared, 500)
            into.read(given, 50, 30)
            assert out.sync() == [(20, False), (10, True)]
            assert into.sync() == [(30, True)] and into.sync() == []
            file.unmap()
            assert (tmp_path / "out").read_bytes() == bytes(10) + source[50:70].tobytes() + bytes(70)
            assert shared.array[500:510].tobytes() == source[70:80].tobytes()
            assert not shared.array[510:].any()


def test_kernels_are_connected(card: tombolo.Card) -> None:
    source, result = noise(5000), np.zeros(5000, np.uint8)
    with card.create_space() as space:
        first, second = card.load("loopback", space), card.load("loopback", space, slot=1)
        between = card.connect(first, "out", second, "in")
        with pytest.raises(errors.StreamError, match="taken"):
            card.connect(first, "out", second, "in")
        assert between.state == tombolo.ConnectionState(False, False, False)
        into, out = first.open_stream("in"), second.open_stream("out")
        made = space.map_array(result, "rw")
        out.write(made)
        into.read(space.map_array(source))
        assert out.wait(deadline=1.0).nbytes == 5000
        made.unmap()
        np.testing.assert_array_equal(result, source)
        between.disconnect()
        with pytest.raises(errors.GoneError, match="not connected"):
            between.disconnect()


def test_wrong_streams(card: tombolo.Card) -> None:
    with card.create_space() as space, card.create_space() as other:
        slot = card.load("loopback", space)
        with pytest.raises(errors.StreamError, match="no such stream; it has `in`"):
            slot.open_stream("nothing")
        into = slot.open_stream("in")
        with pytest.raises(errors.StreamError, match="taken"):
            slot.open_stream("in")
        memory = space.alloc(100)
        with pytest.raises(errors.StreamError, match="out of the kernel|into the kernel"):
            into.write(memory)
        with pytest.raises(errors.StreamError):
            into.read(memory, 100)
        with pytest.raises(errors.StreamError):
            into.read(memory, 50, 51)
        with pytest.raises(ValueError, match="negative"):
            into.read(memory, -1)
        with pytest.raises(TypeError, match="ndarray; pass what space.map_file"):
            into.read(np.zeros(3))  # type: ignore[arg-type]
        with pytest.raises(errors.StreamError):
            into.read(other.alloc(100))
        with pytest.raises(errors.StreamError, match="no transfer was begun"):
            into.wait()
        into.read(memory)
        out = slot.open_stream("out")
        out.write(memory)
        out.wait()
        out.write(memory)
        with pytest.raises(errors.StreamError):
            out.close()
        with pytest.raises(errors.DeadlineError, match="the kernel sends nothing"):
            out.wait(deadline=1e-5)
        into.sync()
        into.close()
        into.close()
        with pytest.raises(errors.GoneError, match="stream is gone"):
            into.read(memory)


def test_a_stuck_port_is_named_and_others_go_on(card: tombolo.Card) -> None:
    source, result = noise(400_000), np.zeros(400_000, np.uint8)
    with card.create_space() as space:
        stuck, other = card.load("loopback", space), card.load("loopback", space, slot=1)
        given, made = space.map_array(source), space.map_array(result, "rw")
        into, out = stuck.open_stream("in"), stuck.open_stream("out")
        into.read(given)
        # The output is not consumed, so the input stalls.
        with pytest.raises(errors.DeadlineError, match="port in.*of 400000 bytes.*does not take"):
            into.wait(deadline=1e-3)
        assert space.flow({(other, "in"): given, (other, "out"): made}) == [("in", 400_000, 1), ("out", 400_000, 1)]
        made.sync()
        np.testing.assert_array_equal(result, source)
        result[:] = 0
        again = space.map_array(result, "rw")
        out.write(again)
        assert (out.wait(), into.wait()) == ((400_000, True), (400_000, True))
        again.unmap()
        np.testing.assert_array_equal(result, source)


def test_widths_that_cannot_be(card: tombolo.Card, tmp_path: Path) -> None:
    (tmp_path / "odd.sv").write_text("module odd; endmodule\n")
    head = (
        '[kernel]\nname = "odd"\ntop = "odd"\nsources = ["odd.sv"]\ncontrol = "ap_ctrl_none"\n'
        '[[port]]\nname = "in"\nkind = "axi4_stream"\ndirection = "in"\n'
    )
    with card.create_space() as space:
        for width, told in (("", "has `data_width`"), ("data_width = 12\n", "12 bits: a stream's data width")):
            (tmp_path / "kernel.toml").write_text(head + width)
            with pytest.raises(errors.KernelError, match=told):
                card.load(tmp_path, space)
        card.load("loopback", space)


def lying(status: int, nbytes: int) -> str:
    """A server of 100 bytes that answers its first request with this status and `nbytes` bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener, listener.accept()[0] as peer:
            peer.sendall(b"tombolo\x01" + struct.pack("<IIQQ", 2, 1, 100, 9))
            asked = peer.recv(64, socket.MSG_WAITALL)
            head = b"TMRP" + struct.pack("<I8sI", status, asked[8:16], nbytes)
            peer.sendall(head.ljust(64, b"\0") + bytes(nbytes))
            # Until it hangs up.
            with contextlib.suppress(ConnectionError):
                peer.recv(1)

    threading.Thread(target=serve, daemon=True).start()
    return f"remote:127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("status", "nbytes", "told"), [(0, 101, "a reply of 101 bytes came, not of 100"), (3, 0, "the key is of another")]
)
def test_a_peer_that_lies_is_found_out(card: tombolo.Card, status: int, nbytes: int, told: str) -> None:
    with card.create_space() as space:
        slot, made = card.load("loopback", space), space.alloc(100)
        with pytest.raises(errors.DevicePeerError, match=told):
            space.flow({(slot, "in"): lying(status, nbytes), (slot, "out"): made})
        assert not made.array.any()
        # The slot is as good as before.
        assert space.flow({(slot, "in"): space.map_array(b"abc"), (slot, "out"): made})[1].nbytes == 3


def test_memory_that_a_card_does_not_have(card: tombolo.Card, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100))
    with card.create_space() as space:
        with pytest.raises(ValueError, match="say ddr or hbm"):
            space.map_file(tmp_path / "file", memory="sram")
        with pytest.raises(errors.UnmappableError, match="hbm"):
            space.map_file(tmp_path / "file", memory="hbm")
        with pytest.raises(errors.UnmappableError, match="serves stream ports"):
            space.map_file("net:127.0.0.1:7")


def test_several_are_waited_for(card: tombolo.Card) -> None:
    with card.create_space() as space:
        memory = space.alloc(1 << 24)
        slots = [card.load("copy", space, slot=number) for number in range(2)]
        for slot, count in zip(slots, (1 << 24, 64)):
            slot.set("input", memory)
            slot.set("output", memory)
            slot.set("bytes", count)
            slot.start()
        assert card.wait_any(slots) is slots[1]
        slots[1].wait()
        assert card.wait_any(slots[:1]) is slots[0]
        slots[0].wait()
        with pytest.raises(errors.SlotStateError):
            card.wait_any(slots)
        with pytest.raises(errors.DeadlineError):
            card.wait_any([])


def test_schedules(card: tombolo.Card) -> None:
    with card.create_space() as space:
        slot = card.load("copy", space)
        slot.set_schedule(priority="high", weight=3, floor=10, limit=1_000_000_000)
        slot.run(input=b"abc", output=bytearray(3), bytes=3)
        [share] = [share for share in card.report()["shares"] if share["slot"] == 0]
        assert share["schedule"] == {"priority": "high", "weight": 3, "floor": 10, "limit": 1_000_000_000}
        with pytest.raises(ValueError, match="use one of low, normal, high, urgent"):
            slot.set_schedule(priority="highest")
        for wrong in ({"weight": 16}, {"weight": 0}, {"floor": 91}):
            with pytest.raises(errors.ScheduleError):
                slot.set_schedule(**wrong)  # type: ignore[arg-type]
        with pytest.raises(OverflowError):
            slot.set_schedule(weight=-1)


def test_devices_at_ports(card: tombolo.Card, tmp_path: Path) -> None:
    source = noise(300_000)

    def serve(port: str, host: str, number: int) -> None:
        def client() -> None:
            with socket.create_connection((host, number)) as peer:
                peer.sendall(source.tobytes())

        assert port == "in"
        thread.append(threading.Thread(target=client))
        thread[0].start()

    thread: list[threading.Thread] = []
    os.mkfifo(tmp_path / "fifo")
    with card.create_space() as space:
        slot = card.load("loopback", space)
        made = space.alloc(400_000)
        plugs: dict[tuple[tombolo.Slot, str], Any] = {
            (slot, "in"): "tcp-listen:127.0.0.1:0",
            (slot, "out"): made,
        }
        assert space.flow(plugs, listening=serve) == [("in", 300_000, 1), ("out", 300_000, 1)]
        thread[0].join()
        assert bytes(made.buffer[:300_000]) == source.tobytes()

        heard: list[bytes] = []
        reader = threading.Thread(target=lambda: heard.append((tmp_path / "fifo").read_bytes()))
        reader.start()
        flowed = space.flow({(slot, "in"): space.map_array(b"hello"), (slot, "out"): f"pipe:{tmp_path}/fifo"})
        reader.join()
        assert heard == [b"hello"] and flowed[1] == tombolo.Flowed("out", 5, 1)

        for wrong in ("nonsense", "tcp:nowhere", f"pipe:{tmp_path}/none"):
            with pytest.raises(errors.Error):
                space.flow({(slot, "in"): wrong, (slot, "out"): made})
        with pytest.raises(TypeError, match="port in is plugged into int"):
            space.flow({(slot, "in"): 3})  # type: ignore[dict-item]
        with pytest.raises(errors.Error, match="200ms"):
            space.flow({(slot, "in"): f"unix-listen:{tmp_path}/socket:timeout=200ms", (slot, "out"): made})

        def fail(*_: object) -> None:
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            space.flow(plugs, listening=fail)
        with pytest.raises(RuntimeError, match="enough"):
            space.flow(plugs, progress=fail)
        # The ports are free again.
        slot.open_stream("in").close()


def test_advice(card: tombolo.Card) -> None:
    with card.create_space() as space:
        mapping = space.map_array(noise(1 << 16), page_size=4096)
        mapping.advise("stream+lowuse")
        mapping.advise("random", 4096, 100)
        mapping.advise("")
        for wrong in ("nonsense", "stream+random"):
            with pytest.raises(ValueError, match=wrong.partition("+")[0]):
                mapping.advise(wrong)
        with pytest.raises(errors.Error):
            mapping.advise("stream", 1 << 16, 1)
        mapping.unmap()
        with pytest.raises(errors.GoneError):
            mapping.advise("stream")


def test_stripes() -> None:
    with tombolo.Card.functional(channels=4) as card:
        source, result = noise(1 << 20), np.zeros(1 << 20, np.uint8)
        with card.create_space(channels=range(2, 4), granule=64) as space:
            card.load("copy", space).run(input=source, output=result, bytes=source.nbytes)
        np.testing.assert_array_equal(result, source)
        rows = [channel["rows_read"] for channel in card.report()["statistics"]["channels"]]
        assert rows[2] > 1000 < rows[3] and abs(rows[2] - rows[3]) < 100
        card.create_space(channels=4).close()
        refused: list[dict[str, Any]] = [
            {"channels": 3},
            {"channels": [0, 2]},
            {"channels": []},
            {"channels": 2, "granule": 100},
            {"channels": 2, "channel": 1},
        ]
        for wrong in refused:
            with pytest.raises(ValueError):
                card.create_space(**wrong)
        impossible: list[dict[str, Any]] = [{"channels": 8}, {"channels": range(1, 3)}, {"channel": 4}]
        for wrong in impossible:
            with pytest.raises(errors.PagerError):
                card.create_space(**wrong)


def test_what_translates_a_space_is_chosen() -> None:
    with tombolo.Card.functional(page_size=4096) as card:
        source, faults = noise(1 << 18), {}
        for translation in ("both", "table", "tlb"):
            result = np.zeros(1 << 18, np.uint8)
            with card.create_space(translation=translation) as space:
                slot = card.load("copy", space)
                with space.map_array(source) as given, space.map_array(result, "rw") as taken:
                    for _ in range(2):
                        slot.run(input=given, output=taken, bytes=source.nbytes)
                    reports = card.report()["spaces"]
                    faults[translation] = next(one for one in reports if one["asid"] == space.asid)["faults"]
            np.testing.assert_array_equal(result, source)
        assert faults["both"] == faults["table"] < faults["tlb"]
        with pytest.raises(ValueError, match="both"):
            card.create_space(translation="l1")


def test_presets_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    assert {"tombolo", "fsrf", "coyote-2m"} <= set(tombolo.presets()) and "physical" not in tombolo.presets()
    with pytest.raises(ValueError, match="no preset `coyote`; there are .*coyote-2m"):
        tombolo.Card.simulated(preset="coyote")
    with pytest.raises(ValueError, match="not both"):
        tombolo.Card.simulated(preset="coyote-2m", shell={"slots": 2})
    with pytest.raises(FileNotFoundError):
        tombolo.Card.simulated(preset=tmp_path / "none.toml")
    with pytest.raises(errors.ConfigurationError, match="no virtual memory"):
        tombolo.Card.simulated(preset="physical")
    with pytest.raises(errors.ConfigurationError, match="4 memory channels, the platform has"):
        tombolo.Card.simulated("enzian", preset="coyote-2m")
    (tmp_path / "own.toml").write_text("page_bytes = 5")
    with pytest.raises(errors.ConfigurationError):
        tombolo.Card.simulated(preset=tmp_path / "own.toml")


def test_the_report_is_json(card: tombolo.Card) -> None:
    assert json.loads(json.dumps(card.report()))["card"]["slots"] == 2


def test_what_listening_raises_ends_a_flow() -> None:
    def fail(port: str, host: str, number: int) -> None:
        raise RuntimeError(f"{port} at {host}")

    with tombolo.Card.functional(streams_per_slot=1) as card, card.create_space() as space:
        slot, memory = card.load("loopback", space), space.alloc(100)
        with pytest.raises(RuntimeError, match="in at 127.0.0.1"):
            space.flow({(slot, "in"): "tcp-listen:127.0.0.1:0", (slot, "out"): memory}, listening=fail)
        # Both ports are free again.
        slot.open_stream("in").close()


def test_a_connection_says_how_many_packets_it_takes(card: tombolo.Card) -> None:
    """Data that the connection does not take are an error with the port's name, not lost."""
    source, result = noise(171), np.zeros(4096, np.uint8)
    with card.create_space() as space:
        slot = card.load("loopback", space)
        given, made = space.map_array(source), space.map_array(result, "rw")
        plugs: dict[tuple[tombolo.Slot, str], Any] = {(slot, "out"): made}

        into = slot.open_stream("in")

        def flow(packets: Any) -> list[tombolo.Flowed]:
            for start, count in ((0, 100), (100, 64), (164, 7)):
                into.read(given, start, count)
            return space.flow(plugs, packets=None if packets is None else {(slot, "out"): packets})

        assert flow("all") == [("out", 171, 3)]
        assert flow(3) == [("out", 171, 3)]
        made.sync()
        assert np.array_equal(result[:171], source)
        with pytest.raises(ValueError, match="no number of packets"):
            space.flow(plugs, packets={(slot, "out"): "some"})
        with pytest.raises(ValueError, match="nothing is plugged in"):
            space.flow({}, packets={(slot, "out"): 1})
        with pytest.raises(errors.StreamError, match="port out.*packets=all"):
            flow(None)
