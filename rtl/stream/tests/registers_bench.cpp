// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of what stands between the host and the streams: tmb_mover_registers, tmb_switch_registers and
// tmb_stream_completions, each against a model of its own, with accesses, ends of transfers and resets at any moment.
// Usage: bench SEED CYCLES.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "Vregisters_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kNum = 3;
constexpr std::uint64_t k48 = (1ull << 48) - 1;

struct Done {
  std::uint64_t bytes = 0;
  unsigned last = 0, status = 0;
  bool operator==(const Done&) const = default;
};

struct Mover {
  std::uint64_t addr = 0, bytes = 0;
  bool last = false, start = false, stop = false;
};

struct Source {
  bool from_port = false, forget = false;
  unsigned pair = 0;
};

struct Bench {
  Vregisters_bench_top top;
  std::mt19937_64 random;
  std::uint64_t cycle = 0, records = 0, together = 0;
  std::array<Mover, kNum> movers;
  std::array<Source, kNum> sources;
  std::array<Done, kNum> done;
  std::array<bool, kNum> offered{};
  std::array<unsigned, kNum> waited{};   // records of others since this one was offered
  std::array<std::deque<Done>, kNum> taken;
  // The access of the last cycle: which block, whether it wrote, what it reads.
  int block = -1;
  bool wrote = false;
  std::uint32_t wanted = 0;
  bool record_offered = false;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
                (unsigned long long)b);
    std::exit(1);
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }

  // A word of a mover, as the host reads it.
  std::uint32_t mover_word(unsigned m, unsigned offset) {
    const Mover& mover = movers[m];
    const std::uint64_t moved = top.moved_i[m];
    switch (offset) {
      case 0x00: return std::uint32_t(mover.addr);
      case 0x04: return std::uint32_t(mover.addr >> 32);
      case 0x08: return std::uint32_t(mover.bytes);
      case 0x0c: return std::uint32_t(mover.bytes >> 32);
      case 0x10: return mover.last << 1;
      case 0x14: return (top.state_i[m] >> 2 & 1) | (top.state_i[m] >> 1 & 1) << 1 | (top.state_i[m] & 1) << 2;
      case 0x18: return std::uint32_t(moved);
      case 0x1c: return std::uint32_t(moved >> 32);
    }
    return 0;
  }

  static void set_half(std::uint64_t& of, bool high, std::uint32_t word) {
    of = (high ? (of & 0xFFFFFFFFull) | std::uint64_t(word) << 32 : (of & ~0xFFFFFFFFull) | word) & k48;
  }

  std::uint32_t switch_word(unsigned p, unsigned offset) {
    if (offset == 0) return sources[p].from_port | sources[p].pair << 8;
    const unsigned state = top.switch_i[p];  // from_port 9, pair 8:4, pending 3, broken 2, valid 1, ready 0
    return (state >> 9 & 1) | (state >> 3 & 1) << 1 | (state >> 2 & 1) << 2 | (state >> 1 & 1) << 3 |
        (state & 1) << 4 | (state >> 4 & 31) << 8;
  }

  void access(unsigned which, bool write, unsigned addr, std::uint32_t data, std::uint32_t mask) {
    top.valid_i[which] = 1;
    top.write_i = write;
    top.addr_i = addr;
    top.data_i = data;
    top.mask_i = mask;
    block = int(which);
    wrote = write;
    const unsigned stride = which ? 8 : 32, element = addr / stride, offset = addr % stride;
    wanted = 0;
    if (element >= kNum) return;
    wanted = which ? switch_word(element, offset) : mover_word(element, offset);
    if (!write) return;
    const std::uint32_t word = (wanted & ~mask) | (data & mask);
    if (which) {
      if (offset) return;
      const bool exists = (word >> 8 & 0xff) < kNum;
      sources[element].from_port = (word & 1) && exists;
      sources[element].pair = sources[element].from_port ? word >> 8 & 31 : 0;
      sources[element].forget = true;
      return;
    }
    Mover& mover = movers[element];
    switch (offset) {
      case 0x00: case 0x04: set_half(mover.addr, offset == 4, word); break;
      case 0x08: case 0x0c: set_half(mover.bytes, offset == 12, word); break;
      case 0x10:
        mover.start = word & 1;
        mover.last = word >> 1 & 1;
        mover.stop = word >> 2 & 1;
        break;
    }
  }

  void drive() {
    top.valid_i[0] = top.valid_i[1] = 0;
    block = -1;
    for (auto& mover : movers) mover.start = mover.stop = false;
    for (auto& source : sources) source.forget = false;
    for (unsigned m = 0; m < kNum; ++m) {
      top.state_i[m] = random() % 8;
      top.moved_i[m] = random() & k48;
      top.switch_i[m] = random() % 1024;
      if (!offered[m] && chance(storm ? 100 : 10)) {
        done[m] = {random() & k48, unsigned(random() % 2), unsigned(random() % 4)};
        offered[m] = true;
        waited[m] = 0;
      }
      top.done_valid_i[m] = offered[m];
      top.done_bytes_i[m] = done[m].bytes;
      top.done_last_i[m] = done[m].last;
      top.done_status_i[m] = done[m].status;
    }
    top.record_ready_i = !record_stall && chance(70);
    if (chance(60)) {
      const unsigned which = random() % 2;
      // Elements that exist mostly; words of the group; whole words mostly.
      const unsigned element = chance(85) ? random() % kNum : random() % 64;
      const unsigned offset = which ? 4 * (random() % 2) : 4 * (random() % 8);
      const std::uint32_t mask = chance(60) ? ~0u : std::uint32_t(random());
      access(which, chance(60), element * (which ? 8 : 32) + offset,
             std::uint32_t(which && chance(70) ? random() % 0x500 : random()), mask);
    }
  }
  bool storm = false, record_stall = false;

  void sample() {
    unsigned offers = 0;
    for (unsigned m = 0; m < kNum; ++m) offers += offered[m];
    together += offers == kNum;
    if (record_offered && !top.record_valid_o) fail("a record is withdrawn");
    record_offered = top.record_valid_o && !top.record_ready_i;
    if (top.record_valid_o && top.record_ready_i) {
      const unsigned m = top.record_mover_o;
      if (m >= kNum || taken[m].empty()) fail("a record of no transfer", m);
      const Done got{top.record_bytes_o, top.record_last_o, top.record_status_o};
      if (!(got == taken[m].front())) fail("another record", got.bytes, taken[m].front().bytes);
      taken[m].pop_front();
      ++records;
    }
    unsigned accepted = 0;
    for (unsigned m = 0; m < kNum; ++m) {
      if (!offered[m] || !top.done_ready_o[m]) continue;
      ++accepted;
      taken[m].push_back(done[m]);
      offered[m] = false;
      for (unsigned n = 0; n < kNum; ++n)
        if (n != m && offered[n] && ++waited[n] > 2 * kNum) fail("a mover waits for too many others", n);
    }
    if (accepted > 1) fail("two ends at once", accepted);
  }

  void check_registers() {
    for (unsigned b = 0; b < 2; ++b) {
      const bool mine = int(b) == block;
      if (top.read_ack_o[b] != (mine && !wrote) || top.write_ack_o[b] != (mine && wrote)) fail("acknowledge", b);
      if (mine && !wrote && top.data_o[b] != wanted) fail("another word", top.data_o[b], wanted);
    }
    for (unsigned m = 0; m < kNum; ++m) {
      const Mover& mover = movers[m];
      if (top.start_o[m] != mover.start || top.stop_o[m] != mover.stop) fail("start or stop", m);
      if (top.addr_o[m] != mover.addr || top.bytes_o[m] != mover.bytes) fail("range", top.bytes_o[m], mover.bytes);
      if (top.last_o[m] != mover.last) fail("last", m);
      if (top.from_port_o[m] != sources[m].from_port || top.pair_o[m] != sources[m].pair) fail("source", m);
      if (top.forget_o[m] != sources[m].forget) fail("forget", m);
    }
  }

  void forget() {
    movers = {};
    sources = {};
    for (auto& queue : taken) queue.clear();
    offered = {};
    record_offered = false;
    block = -1;
  }

  void edge(bool resets) {
    top.rst_ni = !resets;
    drive();
    top.eval();
    if (!resets) sample();
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    if (resets) forget();
    check_registers();
    ++cycle;
  }

  void run(std::uint64_t cycles) {
    for (int i = 0; i < 3; ++i) edge(true);
    while (cycle < cycles) {
      if (chance(1)) storm = chance(30);
      if (chance(1)) record_stall = chance(20);
      edge(chance(1) && chance(30));
    }
    // Every end that was taken has a record.
    storm = record_stall = false;
    for (int i = 0; i < 50; ++i) {
      offered = {};
      drive();
      for (unsigned m = 0; m < kNum; ++m) top.done_valid_i[m] = offered[m] = false;
      top.record_ready_i = 1;
      top.eval();
      sample();
      top.clk_i = 1;
      top.eval();
      top.clk_i = 0;
      top.eval();
    }
    for (unsigned m = 0; m < kNum; ++m)
      if (!taken[m].empty()) fail("an end without a record", m, taken[m].size());
    if (records < cycles / 20 || together < cycles / 100) fail("too little was done", records, together);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Bench bench;
  bench.random.seed(std::strtoull(argv[1], nullptr, 0));
  bench.run(std::strtoull(argv[2], nullptr, 0));
  return 0;
}
