// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Rows a cycle of lanes_bench_top, by direction, place and length of bursts. Usage:
//
//   bench GAP LATENCY WARM CYCLES LENGTH...
//
// GAP: 1/256 cycles of a channel between bursts of a direction; LENGTH: rows, a power of two. For each
// length a line: length, reads apart, writes apart, reads at random, writes at random, and reads and
// writes of both at once, apart. Each run ends with what is under way brought to its end; exits
// non-zero if a row was in the wrong place or something is left over. Before the runs: resets at any
// moment, with reads and writes of any length under way, and a short run behind each.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "Vlanes_bench_top.h"
#include "verilated.h"

namespace {

struct Load {
  bool reads, writes, apart;
};

struct Rows {
  double read, written;  // a cycle
};

class Bench {
 public:
  Bench(unsigned gap, unsigned latency) {
    top_.gap_i = gap;
    top_.latency_i = latency;
  }

  Rows run(const Load& load, unsigned length, int warm, int cycles, unsigned resets = 8) {
    begin(load, length, resets);
    for (int i = 0; i < warm; ++i) step();
    const uint64_t read = top_.rows_read_o, written = top_.rows_written_o;
    for (int i = 0; i < cycles; ++i) step();
    const Rows rows = {double(top_.rows_read_o - read) / cycles,
                       double(top_.rows_written_o - written) / cycles};
    top_.reads_i = 0;
    top_.writes_i = 0;
    for (int i = 0; i < 100000 && !top_.idle_o; ++i) step();
    if (!top_.idle_o) fail(length, "something is left over: deadlock");
    if (top_.wrong_o) fail(length, "a row was in the wrong place");
    return rows;
  }

  // Resets in the middle of traffic.
  void cut(unsigned count) {
    std::mt19937 random(count);
    const auto load = [&] { return Load{random() % 4 != 0, random() % 4 != 0, random() % 2 != 0}; };
    const auto length = [&] { return 1u << random() % 7; };
    for (; count; --count) {
      begin(load(), length(), 1 + random() % 3);
      for (auto cycles = random() % 300; cycles; --cycles) step();
      run(load(), length(), 0, 1 + random() % 100, 1 + random() % 3);
    }
  }

 private:
  void begin(const Load& load, unsigned length, unsigned resets) {
    top_.rst_ni = 0;
    top_.reads_i = load.reads;
    top_.writes_i = load.writes;
    top_.apart_i = load.apart;
    top_.len_i = length - 1;
    for (unsigned i = 0; i < resets; ++i) step();
    top_.rst_ni = 1;
  }

  void step() {
    top_.clk_i = 0;
    top_.eval();
    top_.clk_i = 1;
    top_.eval();
  }

  [[noreturn]] void fail(unsigned length, const char* what) {
    std::printf("bursts of %u rows: %s\n", length, what);
    std::exit(1);
  }

  Vlanes_bench_top top_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s GAP LATENCY WARM CYCLES LENGTH...\n", argv[0]);
    return 2;
  }
  const auto number = [&](int place) { return std::atoi(argv[place]); };
  const auto bench = std::make_unique<Bench>(number(1), number(2));
  bench->cut(200);
  const int warm = number(3), cycles = number(4);
  for (int place = 5; place < argc; ++place) {
    const unsigned length = number(place);
    if (length < 1 || length > 64 || (length & (length - 1)) != 0) {
      std::fprintf(stderr, "%s: bursts have 1, 2, 4, ... 64 rows\n", argv[place]);
      return 2;
    }
    const Rows reads = bench->run({true, false, true}, length, warm, cycles);
    const Rows writes = bench->run({false, true, true}, length, warm, cycles);
    const Rows random_reads = bench->run({true, false, false}, length, warm, cycles);
    const Rows random_writes = bench->run({false, true, false}, length, warm, cycles);
    const Rows both = bench->run({true, true, true}, length, warm, cycles);
    std::printf("%u %.4f %.4f %.4f %.4f %.4f %.4f\n", length, reads.read, writes.written,
                random_reads.read, random_writes.written, both.read, both.written);
    std::fflush(stdout);
  }
  return 0;
}
