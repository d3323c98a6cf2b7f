// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_home_memory: lines inside the range, at its ends and beyond it, with any strobes, over a fabric that is
// slow and fails at random; resets at any moment. Usage: bench SEED.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <set>

#include "Vmemory_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kReads = 8, kWrites = 8, kChannelBytesLog2 = 24, kOkay = 0, kError = 2;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

struct Line {
  std::uint64_t line = 0, addr = 0;
  unsigned id = 0, at = 0, tag = 0;
  bool outside = false, failed = false;
  std::uint64_t serial = 0;
  std::uint64_t row() const { return mix(2 * serial + at) | 1; }
  std::uint64_t strobe() const { return mix(2 * serial + at + (1ull << 40)); }
};

Vmemory_bench_top top;
std::mt19937_64 generator;
std::uint64_t cycle = 0;

[[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
  std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
              (unsigned long long)b);
  std::exit(1);
}
bool chance(unsigned percent) { return generator() % 100 < percent; }

struct Slice {
  unsigned s;
  unsigned stall = 0;
  bool quiet = false;
  std::uint64_t serial = 0, done = 0, outsides = 0, errors = 0;
  bool ar_offered = false, aw_offered = false, w_offered = false;
  Line ar, aw;
  std::set<unsigned> read_ids, write_ids;      // in use
  std::deque<Line> reads, fabric_reads;        // in the order of their requests: at the guard, at the fabric
  std::deque<Line> sends;                      // writes whose address is offered or taken, rows still to be sent
  std::deque<Line> collected;                  // all rows taken, request not yet seen
  std::deque<Line> fabric_data, fabric_done;   // rows still to come; to be answered
  std::deque<Line> responses;                  // to the guard, in order
  unsigned addresses = 0;                      // taken, and not all rows

  bool go() { return !chance(stall); }

  // Where a line lies: with a channel of its own, every second line, in channel 1; else every line, in channel 0.
  Line fresh(std::set<unsigned>& ids) {
    const unsigned drop = s == 0 ? 1 : 0, lines = 32u << drop;
    const std::uint64_t end = std::uint64_t(top.frames_i) * lines;
    Line line;
    line.line = chance(40) ? end - 1 - generator() % 4 : chance(30) ? end + generator() % 4
        : chance(20) ? generator() % (1ull << 33) : generator() % (end + 1);
    // The highest bits of a line count, too.
    if (chance(10)) line.line |= 1ull << (28 + generator() % 5);
    line.line &= (1ull << 33) - 1;
    line.outside = line.line >= end;
    const std::uint64_t place = line.line >> drop;
    const std::uint64_t frame = top.base_i + (line.outside ? 0 : place >> 5);
    line.addr = frame << 12 | (place & 31) << 7 | std::uint64_t(s == 0 ? 1 : 0) << kChannelBytesLog2;
    do line.id = generator() % 8;
    while (ids.count(line.id));
    ids.insert(line.id);
    line.serial = ++serial;
    outsides += line.outside;
    return line;
  }

  void drive() {
    if (!ar_offered && !quiet && read_ids.size() < kReads && go()) {
      ar = fresh(read_ids);
      ar_offered = true;
    }
    top.ar_valid_i[s] = ar_offered;
    top.ar_id_i[s] = ar.id;
    top.ar_addr_i[s] = ar.line << 7;
    top.r_ready_i[s] = !deaf && go();
    if (!aw_offered && !quiet && write_ids.size() < kWrites && go()) {
      aw = fresh(write_ids);
      aw_offered = true;
      sends.push_back(aw);
    }
    top.aw_valid_i[s] = aw_offered;
    top.aw_id_i[s] = aw.id;
    top.aw_addr_i[s] = aw.line << 7;
    w_offered = !sends.empty() && (w_offered || go());
    top.w_valid_i[s] = w_offered;
    if (w_offered) {
      const Line& line = sends.front();
      top.w_data_i[s] = line.row();
      top.w_strb_i[s] = line.strobe();
      top.w_last_i[s] = line.at == 1;
    }
    top.b_ready_i[s] = !deaf && go();

    top.read_ready_i[s] = go();
    top.row_valid_i[s] = !fabric_reads.empty() && go();
    if (top.row_valid_i[s]) {
      const Line& line = fabric_reads.front();
      top.row_tag_i[s] = line.tag;
      top.row_data_i[s] = line.row();
      top.row_last_i[s] = line.at == 1;
      top.row_error_i[s] = mix(line.serial + line.at + 5) % 8 == 0;
    }
    top.write_ready_i[s] = go();
    top.data_ready_i[s] = go() && !fabric_data.empty();
    top.done_valid_i[s] = done_offered = !fabric_done.empty() && (done_offered || go());
    if (done_offered) {
      top.done_tag_i[s] = fabric_done.front().tag;
      top.done_error_i[s] = mix(fabric_done.front().serial + 9) % 4 == 0;
    }
  }
  bool done_offered = false, deaf = false;

  void check_request(const Line& line, std::uint64_t addr, unsigned len) {
    if (len != 1) fail("rows of a line", len);
    // Nothing outside is accessed: where its request goes is inside.
    const std::uint64_t first = (std::uint64_t(top.base_i) << 12) | std::uint64_t(s == 0 ? 1 : 0) << kChannelBytesLog2;
    if (line.outside ? addr < first || addr >= first + 4096 : addr != line.addr) fail("another place", addr, line.addr);
  }

  void sample() {
    if (ar_offered && top.ar_ready_o[s]) {
      ar_offered = false;
      reads.push_back(ar);
      requested.push_back(ar);
    }
    if (top.read_valid_o[s] && top.read_ready_i[s]) {
      if (requested.empty()) fail("a read that nobody asked for");
      Line line = requested.front();
      requested.pop_front();
      check_request(line, top.read_addr_o[s], top.read_len_o[s]);
      line.tag = top.read_tag_o[s];
      fabric_reads.push_back(line);
    }
    if (top.r_valid_o[s] && top.r_ready_i[s]) {
      Line& line = reads.front();
      const bool error = mix(line.serial + line.at + 5) % 8 == 0;
      if (top.r_id_o[s] != line.id) fail("a row of another read", top.r_id_o[s], line.id);
      if (top.r_data_o[s] != (line.outside ? 0 : line.row())) fail("another row", top.r_data_o[s], line.row());
      if (top.r_resp_o[s] != (line.outside || error ? kError : kOkay)) fail("response of a row", top.r_resp_o[s], line.line);
      if (top.r_last_o[s] != (line.at == 1)) fail("RLAST");
      errors += error && !line.outside;
      if (line.at++ == 1) {
        read_ids.erase(line.id);
        reads.pop_front();
        ++done;
      }
    }
    if (top.row_valid_i[s]) {
      if (!top.row_ready_o[s]) fail("no room for a row");
      if (fabric_reads.front().at++ == 1) fabric_reads.pop_front();
    }
    if (w_offered && top.w_ready_o[s]) {
      if (!addresses) fail("a row before its address");
      w_offered = false;
      if (sends.front().at++ == 1) {
        sends.front().at = 0;
        collected.push_back(sends.front());
        sends.pop_front();
        --addresses;
      }
    }
    if (aw_offered && top.aw_ready_o[s]) {
      aw_offered = false;
      ++addresses;
    }
    // A row may leave before its request; a request leaves when its rows have come.
    if (top.data_valid_o[s] && top.data_ready_i[s]) {
      Line& line = fabric_data.front();
      if (top.data_row_o[s] != line.row()) fail("another row is written", top.data_row_o[s], line.row());
      if (top.data_strobe_o[s] != (line.outside ? 0 : line.strobe())) fail("strobes", top.data_strobe_o[s], line.line);
      if (top.data_last_o[s] != (line.at == 1)) fail("last row of a write");
      if (line.at++ == 1) {
        fabric_done.push_back(line);
        fabric_data.pop_front();
      }
    }
    if (top.write_valid_o[s] && top.write_ready_i[s]) {
      if (collected.empty()) fail("a write whose rows have not come");
      Line line = collected.front();
      collected.pop_front();
      check_request(line, top.write_addr_o[s], top.write_len_o[s]);
      line.tag = top.write_tag_o[s];
      fabric_data.push_back(line);
    }
    if (top.b_valid_o[s] && top.b_ready_i[s]) {
      if (!done_offered) fail("a response to no write");
      const Line& line = fabric_done.front();
      const bool error = mix(line.serial + 9) % 4 == 0;
      if (top.b_id_o[s] != line.id) fail("a response to another write", top.b_id_o[s], line.id);
      if (top.b_resp_o[s] != (line.outside || error ? kError : kOkay)) fail("response of a write", top.b_resp_o[s], line.line);
      errors += error && !line.outside;
      write_ids.erase(line.id);
      ++done;
    }
    if (done_offered && top.done_ready_o[s]) {
      if (!top.b_valid_o[s]) fail("a response is dropped");
      done_offered = false;
      fabric_done.pop_front();
    }
  }
  std::deque<Line> requested;

  bool empty() const {
    return reads.empty() && !ar_offered && !aw_offered && write_ids.empty();
  }
  void forget() {
    const Slice old = *this;
    *this = Slice{s};
    serial = old.serial;
    done = old.done;
    outsides = old.outsides;
    errors = old.errors;
  }
};

Slice slices[2] = {{0}, {1}};

void tick() {
  top.clk_i = 1;
  top.eval();
  top.clk_i = 0;
  top.eval();
  ++cycle;
}

void edge() {
  for (Slice& slice : slices) slice.drive();
  top.eval();
  for (Slice& slice : slices) slice.sample();
  tick();
}

void reset() {
  top.rst_ni = 0;
  for (Slice& slice : slices) {
    slice.forget();
    slice.quiet = true;
    slice.drive();
    slice.quiet = false;
  }
  for (int i = 0; i < 2; ++i) tick();
  top.rst_ni = 1;
}

void drain() {
  for (Slice& slice : slices) {
    slice.quiet = true;
    slice.deaf = false;
    slice.stall = 20;
  }
  for (unsigned left = 5000; !slices[0].empty() || !slices[1].empty(); --left) {
    if (!left) fail("something is never answered");
    edge();
  }
  for (Slice& slice : slices) slice.quiet = false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  generator.seed(std::strtoull(argv[1], nullptr, 0));
  reset();
  for (unsigned round = 0; round < 200; ++round) {
    if (round % 8 == 0) {
      // The range changes while nothing is under way. A channel has 4096 frames.
      drain();
      top.base_i = generator() % 2048;
      top.frames_i = chance(20) ? 1 : 1 + generator() % 2048;
    }
    for (Slice& slice : slices) {
      slice.stall = chance(40) ? 0 : generator() % 80;
      slice.deaf = chance(10);
    }
    for (unsigned n = generator() % 300; n; --n) edge();
    if (chance(15)) reset();
  }
  drain();
  for (const Slice& slice : slices)
    if (slice.done < 2000 || slice.outsides < 200 || slice.errors < 200) fail("too little was done", slice.done, slice.errors);
  return 0;
}
