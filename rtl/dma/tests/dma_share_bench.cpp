// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_dma_share: copies of four queues, all at once, before a copy unit that takes their bursts and finishes
// their rows late. Usage: bench SCENARIO SEED.
//
//   random   copies of any length, levels that change, resets at any moment: every row once, in its copy's order
//   shares   without levels each queue has its turn
//   bound    behind a higher level a lower one has LowRows outstanding; long after the higher one, all that there is

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>

#include "Vdma_share_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kQueues = 4, kRow = 64, kBlock = 4096, kMaxBursts = 64, kBurst = 64, kLowRows = 200;
// The bound stays for so many cycles behind the last request of the higher level, or twice as many.
constexpr unsigned kRecent = 1 << 14;

struct Copy {
  std::uint64_t card = 0, host = 0;
  unsigned rows = 0, note = 0, stripe = 0;
};
struct Burst {
  unsigned queue = 0, rows = 0;
};

struct Bench {
  Vdma_share_bench_top top;
  std::mt19937_64 random;
  std::uint64_t cycle = 0, bursts = 0;
  unsigned stall = 0, slow = 0;
  bool managed = false;
  std::array<unsigned, kQueues> busy{};        // percent
  std::array<bool, kQueues> offered{};
  std::array<Copy, kQueues> offer;
  std::array<std::deque<Copy>, kQueues> copies;  // taken, and not all of it in bursts
  std::array<std::uint64_t, kQueues> rows{};     // in bursts
  std::deque<Burst> under_way;                   // in the unit
  unsigned longest = 300;  // rows; one copy in fifty has more than 256 KiB
  bool aligned = false;  // full bursts only
  unsigned next_note = 0;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
                (unsigned long long)b);
    std::exit(1);
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }

  // Notes say whose copy it is.
  Copy fresh(unsigned queue) {
    Copy copy;
    copy.card = random() % (1ull << 24) * kRow;
    copy.host = aligned || chance(50) ? copy.card + (random() % 1024) * kBlock : random() % (1ull << 40) * kRow;
    copy.rows = chance(20) ? 1 : chance(2) ? 5000 + random() % 5000 : 1 + random() % longest;
    copy.note = queue | (next_note++ % 64) << 2;
    copy.stripe = random() % 256;
    return copy;
  }

  void edge() {
    top.managed_i = managed;
    for (unsigned q = 0; q < kQueues; ++q) {
      if (!offered[q] && chance(busy[q])) {
        offer[q] = fresh(q);
        offered[q] = true;
      }
      top.copy_valid_i[q] = offered[q];
      top.copy_card_i[q] = offer[q].card;
      top.copy_host_i[q] = offer[q].host;
      top.copy_rows_i[q] = offer[q].rows;
      top.copy_note_i[q] = offer[q].note;
      top.copy_stripe_i[q] = offer[q].stripe;
    }
    top.chunk_ready_i = under_way.size() < kMaxBursts && !chance(stall);
    top.row_done_i = top.burst_done_i = 0;
    if (!under_way.empty() && !chance(slow)) {
      top.row_done_i = 1;
      top.burst_done_i = under_way.front().rows == 1;
    }
    top.eval();

    bool waits = top.chunk_valid_o;
    for (unsigned q = 0; q < kQueues; ++q) waits |= !copies[q].empty();
    if (waits && !top.busy_o) fail("not busy, with copies here");
    if (!waits && top.busy_o && idle_for > 4) fail("busy without a copy");
    idle_for = waits ? 0 : idle_for + 1;
    if (top.row_done_i && --under_way.front().rows == 0) under_way.pop_front();
    if (top.chunk_valid_o && top.chunk_ready_i) take();
    for (unsigned q = 0; q < kQueues; ++q) {
      if (!offered[q] || !top.copy_ready_o[q]) continue;
      offered[q] = false;
      copies[q].push_back(offer[q]);
    }
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    ++cycle;
  }
  unsigned idle_for = 0;

  void take() {
    const unsigned q = top.chunk_note_o & 3;
    if (q >= kQueues || copies[q].empty()) fail("a burst of no copy", top.chunk_note_o);
    Copy& copy = copies[q].front();
    const unsigned count = top.chunk_len_o + 1;
    if (top.chunk_note_o != copy.note) fail("a burst of another copy", top.chunk_note_o, copy.note);
    if (top.chunk_card_o != copy.card || top.chunk_host_o != copy.host) fail("another place", top.chunk_card_o, copy.card);
    if (top.chunk_stripe_o != copy.stripe) fail("another stripe", top.chunk_stripe_o, copy.stripe);
    if (count > copy.rows) fail("more rows than the copy has", count, copy.rows);
    if (copy.card % kBlock + count * kRow > kBlock || copy.host % kBlock + count * kRow > kBlock) fail("a burst crosses 4 KiB");
    if (top.chunk_last_o != (count == copy.rows)) fail("last burst of a copy", q);
    copy.card += count * kRow;
    copy.host += count * kRow;
    copy.rows -= count;
    rows[q] += count;
    if (!copy.rows) copies[q].pop_front();
    under_way.push_back({q, count});
    ++bursts;
  }

  // Of the queues 2 and 3.
  unsigned outstanding() {
    unsigned sum = 0;
    for (const Burst& burst : under_way) sum += burst.queue >= 2 ? burst.rows : 0;
    return sum;
  }
  bool offer_left() const { return std::count(offered.begin(), offered.end(), true); }

  void steps(unsigned n) {
    while (n--) edge();
  }

  void reset() {
    top.rst_ni = 0;
    for (unsigned q = 0; q < kQueues; ++q) top.copy_valid_i[q] = 0;
    top.row_done_i = 0;
    for (int i = 0; i < 4; ++i) {
      top.clk_i = i & 1;
      top.eval();
    }
    top.clk_i = 0;
    top.rst_ni = 1;
    offered = {};
    for (auto& queue : copies) queue.clear();
    under_way.clear();
    idle_for = 0;
  }

  void drain() {
    busy = {};
    stall = slow = 0;
    for (unsigned left = 100000; !under_way.empty() || top.busy_o || offer_left(); --left) {
      if (!left) fail("a copy does not end");
      edge();
    }
    for (unsigned q = 0; q < kQueues; ++q)
      if (!copies[q].empty()) fail("idle, with a copy left", q);
  }

  void traffic() {
    reset();
    for (unsigned round = 0; round < 300; ++round) {
      for (auto& percent : busy) percent = chance(20) ? 100 : random() % 20;
      stall = chance(50) ? 0 : random() % 80;
      slow = chance(50) ? 0 : random() % 80;
      // The host changes levels whenever it likes.
      if (chance(50)) managed = chance(70);
      if (chance(50))
        for (unsigned q = 0; q < kQueues - 1; ++q) top.level_i[q] = random() % 4;
      steps(random() % 600);
      if (chance(20)) reset();
      else if (chance(20)) drain();
    }
    drain();
    if (bursts < 5000) fail("too little was done", bursts);
    std::printf("ok\n");
  }

  void shares() {
    reset();
    longest = 100000;
    aligned = true;
    busy.fill(100);
    top.level_i[0] = 3;
    top.level_i[1] = top.level_i[2] = 0;
    steps(20000);
    const auto [least, most] = std::minmax({rows[0], rows[1], rows[2], rows[3]});
    std::printf("%llu %llu\n", (unsigned long long)least, (unsigned long long)most);
  }

  // Queue 1 is of the highest level, 2 and 3 of the lowest: with two of them, a burst leaves each cycle.
  void bound() {
    managed = true;
    longest = 100000;
    top.level_i[0] = 3;
    top.level_i[1] = top.level_i[2] = 0;
    aligned = true;
    reset();
    slow = 100;
    // The higher level asks once.
    offer[1] = {kBlock, kBlock, 3, 1, 0};
    offered[1] = true;
    while (offered[1] || !copies[1].empty()) edge();
    busy = {0, 0, 100, 100};
    steps(2000);
    const unsigned held = outstanding();
    // It asks again, and goes first; so does the shell's own queue, whatever the bound.
    for (const unsigned q : {1u, 0u}) {
      const std::uint64_t before = rows[q];
      offer[q] = {kBlock, kBlock, 64, q, 0};
      offered[q] = true;
      for (unsigned limit = 200; rows[q] == before; --limit) {
        if (!limit) fail("a queue above the bound waits for it", q);
        edge();
      }
    }
    // Rows return one by one: the bound stays full.
    unsigned least = ~0u, most = 0;
    for (unsigned i = 0; i < 2000; ++i) {
      slow = i % 2 ? 100 : 0;
      edge();
      if (i < 600) continue;
      least = std::min(least, outstanding());
      most = std::max(most, outstanding());
    }
    slow = 100;
    // Long after, nobody is held.
    steps(2 * kRecent + 2000);
    std::printf("%u %u %u %u %u %u\n", held, least, most, outstanding(), unsigned(rows[2]), unsigned(rows[3]));
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string scenario = argv[1];
  Bench bench;
  bench.random.seed(std::strtoull(argv[2], nullptr, 0));
  if (scenario == "random") bench.traffic();
  else if (scenario == "shares") bench.shares();
  else if (scenario == "bound") bench.bound();
  else return 2;
  return 0;
}
