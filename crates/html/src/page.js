// What is under the pointer. The page is whole without it.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const time = (ps) => {
    const units = [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3]];
    const [unit, scale] = units.find(([, scale]) => ps >= scale) || ["ps", 1];
    return `${Number((ps / scale).toPrecision(4))} ${unit}`;
  };
  const bytes = (n) => {
    let unit = "B";
    for (const next of ["KiB", "MiB", "GiB"]) {
      if (n < 1024) break;
      n /= 1024;
      unit = next;
    }
    return `${unit === "B" ? n : n.toFixed(1)} ${unit}`;
  };
  const show = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 12, innerWidth - width - 4);
    const above = event.clientY - height - 10;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${above < 4 ? event.clientY + 16 : above}px`;
  };
  const watch = (element, words) => {
    element.addEventListener("pointermove", (event) => {
      const box = element.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width;
      const y = (event.clientY - box.top) / box.height;
      const text = x >= 0 && x < 1 && y >= 0 && y < 1 ? words(x, y) : "";
      if (text) show(event, text);
      else tip.hidden = true;
    });
    element.addEventListener("pointerleave", () => { tip.hidden = true; });
  };
  for (const strip of document.querySelectorAll(".strip")) {
    const shares = strip.dataset.shares;
    const parts = shares.length / 2;
    const end = Number(strip.closest("[data-end]").dataset.end);
    watch(strip, (x) => {
      const part = Math.floor(x * parts);
      const share = parseInt(shares.substr(2 * part, 2), 36) / 10;
      return `${time((end * part) / parts)} to ${time((end * (part + 1)) / parts)}: ${share} %`;
    });
  }
  for (const map of document.querySelectorAll(".cells")) {
    const cells = map.dataset.cells.split(" ");
    const { width, height } = map.viewBox.baseVal;
    const size = Number(map.dataset.cell);
    const start = BigInt(map.dataset.address);
    watch(map, (x, y) => {
      const place = Math.floor(y * height) * width + Math.floor(x * width);
      if (place >= cells.length) return "";
      const address = (start + BigInt(place) * BigInt(size)).toString(16);
      if (!cells[place]) return `0x${address}: untouched`;
      const [read, written, faults] = cells[place].split(",").map(Number);
      const faulted = faults === 1 ? "1 fault" : `${faults} faults`;
      return `0x${address}: read ${bytes(read)}, written ${bytes(written)}, ${faulted}`;
    });
  }
  const whose = {
    p: "the program's", s: "both read it", c: "the card's", t: "changed hands several times",
  };
  for (const block of document.querySelectorAll(".owners")) {
    const { width, height } = block.viewBox.baseVal;
    const { address, row, end, cells } = block.dataset;
    watch(block, (x, y) => {
      const [column, line] = [Math.floor(x * width), Math.floor(y * height)];
      const first = (BigInt(address) + BigInt(line) * BigInt(row)).toString(16);
      const from = (Number(end) * column) / width;
      const to = (Number(end) * (column + 1)) / width;
      return `0x${first}, ${time(from)} to ${time(to)}: ${whose[cells[line * width + column]]}`;
    });
  }
})();
