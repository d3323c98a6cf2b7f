"""Report of the time spent: numbers, tables, pictures."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Dict, List, Tuple, Union

from ._native import NativeReport
from ._values import PS

#: Tables of :meth:`Report.frame`.
TABLES = ("runs", "paging", "channels", "ports", "link", "slots", "busy", "bandwidth")
#: Bytes of a row of card memory.
_ROW = 64
#: Tracks whose bytes are counted, by the report's name of the direction.
_LINK = {
    "PCIe to the card": ("commands/DMA to the card", "bytes_to_card"),
    "PCIe to the host": ("commands/DMA to the host", "bytes_to_host"),
}


def _optional(module: str, what: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"{what} needs {package}: pip install {package}") from None


class Report(Dict[str, Any]):
    """Report of the time spent: a dictionary, and with ``str`` a readable text.

    Times are integers in picoseconds of virtual time; on a functional card, which has none, they and ``cycles`` are
    left out. Some keys: ``time``; ``runs`` (a list of ``kernel``,
    ``slot``, ``time``, ``cycles``); ``paging`` (``faults``, ``pages_read``, ``bytes_read``, ``bytes_written``,
    ``evictions``, ...); ``card`` (its components); ``statistics`` (the card's counters).

    :meth:`html` makes a page with pictures, which a notebook shows automatically; :meth:`frame` gives tables for
    pandas, :meth:`plot` a picture for matplotlib.
    """

    def __init__(self, native: NativeReport) -> None:
        super().__init__(json.loads(native.json()))
        self._native = native

    def __str__(self) -> str:
        return self._native.text()

    @property
    def bound(self) -> str:
        """The bottleneck of the run in a sentence, and remedies, one per line. ``report["bound"]`` has the same for
        programs: ``by``, ``share``, ``gain``, ``bytes_per_second``, ``advice``, ``resources``; or ``unmodelled``, the
        reason why there is no model of the run."""
        return self._native.bound()

    def html(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes an HTML page of the time spent: a timeline, waits by cause, faults, a map of the pages of each
        mapping. It is one file, which any browser shows without network.

        :param path: the file; an existing one is replaced.
        :raises OSError: it cannot be written.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._native.html())

    def busy(self, parts: int = 200) -> Tuple[List[float], Dict[str, List[float]]]:
        """Utilisation over time, on a simulated card.

        :param parts: number of equal parts that the time is divided into, 1 to 1,000,000.
        :returns: the seconds of virtual time at which each part begins; and by track (``"slot 0/runs"``,
            ``"slot 0/faults"``, ``"host/storage"``, ``"commands/DMA to the card"``, ...) the share of each part in
            which it was busy, 0 to 1. Both are empty on a functional card, which has no time.
        :raises ValueError: no such number of parts.
        """
        if not 1 <= parts <= 1_000_000:
            raise ValueError(f"{parts} parts: from 1 to 1,000,000 are possible")
        end, tracks = self._native.busy(parts)
        if not tracks:
            return [], {}
        return [end * part / parts for part in range(parts)], dict(tracks)

    def bandwidth(self, parts: int = 200) -> Tuple[List[float], Dict[str, List[float]]]:
        """PCIe throughput in bytes per second over time, on a simulated card. All bytes of a direction (the report's
        ``statistics["link"]``) are spread over the time in which its DMA was busy.

        :param parts: as for :meth:`busy`.
        :returns: as :meth:`busy`, with bytes per second by direction: ``"PCIe to the card"``, ``"PCIe to the host"``.
        :raises ValueError: no such number of parts.
        """
        times, tracks = self.busy(parts)
        if not times:
            return [], {}
        length = self._native.busy(1)[0] / parts
        rates: Dict[str, List[float]] = {}
        for way, (track, count) in _LINK.items():
            shares = tracks.get(track, [0.0] * parts)
            total = sum(shares) * length
            moved = self["statistics"]["link"][count]
            rates[way] = [share * moved / total if total else 0.0 for share in shares]
        return times, rates

    def _rows(self, table: str) -> List[Dict[str, Any]]:
        statistics = self["statistics"]
        if table == "runs":
            return [{**run, "seconds": run["time"] / PS} if "time" in run else run for run in self["runs"]]
        if table == "paging":
            return [{"what": what, "value": value} for what, value in self["paging"].items()
                    if not isinstance(value, dict)]
        if table == "channels":
            cycles = statistics["cycles"]
            return [
                {
                    "channel": number,
                    "bytes_read": channel["rows_read"] * _ROW,
                    "bytes_written": channel["rows_written"] * _ROW,
                    "busy": channel["busy_cycles"] / cycles if cycles else 0.0,
                    **channel,
                }
                for number, channel in enumerate(statistics["channels"])
            ]
        if table == "ports":
            names = self["ports"]
            # Two entries per port: reads, then writes.
            return [
                {
                    "port": names[number // 2] if number // 2 < len(names) else "",
                    "way": "writes" if number % 2 else "reads",
                    **requester,
                }
                for number, requester in enumerate(statistics["requesters"])
            ]
        if table == "link":
            return [
                {
                    "way": way,
                    "bytes": statistics["link"][count],
                    "seconds": statistics["link"][count.replace("bytes", "busy")] / PS,
                }
                for way, (_, count) in _LINK.items()
            ]
        return [{**share, **share["schedule"]} for share in self.get("shares", [])]

    def frame(self, table: str = "runs", parts: int = 200) -> Any:
        """A table of the report as a ``pandas.DataFrame``.

        :param table: ``"runs"``: a row for each run of a kernel. ``"paging"``: a row for each count.
            ``"channels"``: a row for each memory channel, with bytes, and the share of cycles in which it was
            busy. ``"ports"``: a row for each direction of each port. ``"link"``: a row for each direction of PCIe.
            ``"slots"``: a row for each slot, if one was given a schedule. ``"busy"`` and ``"bandwidth"``: by
            seconds of virtual time, the results of :meth:`busy` and :meth:`bandwidth`.
        :param parts: rows of ``"busy"`` and ``"bandwidth"``.
        :raises ImportError: pandas is not installed.
        :raises ValueError: no such table.
        """
        if table not in TABLES:
            raise ValueError(f"no table {table!r}; there are {', '.join(TABLES)}")
        pandas = _optional("pandas", "Report.frame")
        if table in ("busy", "bandwidth"):
            times, columns = self.busy(parts) if table == "busy" else self.bandwidth(parts)
            return pandas.DataFrame(columns, index=pandas.Index(times, name="seconds", dtype=float))
        return pandas.DataFrame(self._rows(table))

    def plot(self, parts: int = 200) -> Any:
        """A ``matplotlib`` figure of the run: utilisation over time, row by row, and below it PCIe throughput. For
        a functional card, which has no time: bytes by memory channel.

        :param parts: steps of time.
        :raises ImportError: matplotlib is not installed.
        """
        figures = _optional("matplotlib.figure", "Report.plot")
        times, tracks = self.busy(parts)
        if not times:
            figure = figures.Figure(figsize=(8, 3), layout="constrained")
            axes = figure.add_subplot()
            channels = self._rows("channels")
            for way in ("bytes_read", "bytes_written"):
                left = [0] * len(channels) if way == "bytes_read" else [row["bytes_read"] for row in channels]
                names = [f"channel {row['channel']}" for row in channels]
                axes.barh(names, [row[way] for row in channels], left=left, label=way.replace("_", " "))
            axes.set_xlabel("bytes (a functional card has no time)")
            axes.legend()
            return figure
        rows = [(name, shares) for name, shares in tracks.items() if any(shares)]
        figure = figures.Figure(figsize=(10, 2.5 + 0.25 * len(rows)), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[max(len(rows), 4) * 0.25, 2])
        unit, name = next((size, name) for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
                          if times[-1] >= size or name == "µs")
        edge = self._native.busy(1)[0] / unit
        above.imshow(
            [shares for _, shares in rows], aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest",
            extent=(0, edge, len(rows) - 0.5, -0.5),
        )
        above.set_yticks(range(len(rows)), [name for name, _ in rows])
        above.set_title("busy")
        for way, rates in self.bandwidth(parts)[1].items():
            below.step([time / unit for time in times], [rate / 1e9 for rate in rates], where="post", label=way)
        below.set_ylabel("GB/s")
        below.set_xlabel(f"virtual time ({name})")
        below.legend()
        return figure

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame, so that its style stays its own."""
        page = html.escape(self._native.html())
        style = "width: 100%; height: 45rem; border: 0"
        return f'<iframe title="Tombolo report" style="{style}" srcdoc="{page}"></iframe>'
