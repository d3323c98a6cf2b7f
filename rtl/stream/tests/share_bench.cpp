// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_stream_divider and tmb_stream_combiner: random packets, empty beats too, through the divider, a queue a
// port, and the combiner, with random stalls of every side. Fails if a packet is mixed, cut, reordered within its
// port, or (in turn) goes elsewhere than it should. Resets at any moment: behind them both are as after power-on.
// Prints packets lost, then beats a cycle without stalls.
// Usage: bench SEED PACKETS. NumPorts and IN_TURN are macros.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "Vshare_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kPorts = NUM_PORTS;
constexpr unsigned kNone = kPorts;
constexpr std::uint64_t kForever = ~0ull;

struct Beat {
  std::uint32_t packet = 0;
  std::uint32_t number = 0;
  unsigned keep = 0xff;
  bool last = false;
  std::uint64_t data() const { return std::uint64_t(packet) << 32 | number; }
};

[[noreturn]] void fail(const char* what, std::uint64_t a = 0) {
  std::printf("%s (%llu)\n", what, (unsigned long long)a);
  std::exit(1);
}

Vshare_bench_top top;
std::mt19937_64 generator;

// Packed arrays of 64-bit elements are words of 32 bits, from two ports on.
void put(unsigned port, std::uint64_t data) {
  top.part_data_i[2 * port] = std::uint32_t(data);
  top.part_data_i[2 * port + 1] = std::uint32_t(data >> 32);
}
std::uint64_t get(unsigned port) {
  return top.part_data_o[2 * port] | std::uint64_t(top.part_data_o[2 * port + 1]) << 32;
}
template <typename T>
void set_bits(T& of, unsigned at, unsigned width, std::uint64_t value) {
  const std::uint64_t mask = ((1ull << width) - 1) << at;
  of = T((std::uint64_t(of) & ~mask) | (value << at & mask));
}

// Checks that beats are those of one packet after the other, each whole.
struct Checker {
  std::int64_t packet = -1;
  std::uint32_t next = 0;
  // The packet that this beat belongs to, if it is its first.
  std::int64_t take(const Beat& beat, const std::vector<std::vector<Beat>>& packets) {
    std::int64_t begun = -1;
    if (packet < 0) {
      packet = begun = beat.packet;
      next = 0;
    }
    if (beat.packet != packet) fail("packets are mixed", beat.packet);
    if (beat.number != next) fail("a beat is lost or doubled", beat.number);
    const Beat& wanted = packets[beat.packet][next++];
    if (beat.keep != wanted.keep || beat.last != wanted.last) fail("TKEEP or TLAST differs", beat.packet);
    if (beat.last) packet = -1;
    return begun;
  }
};

// Sends the packets, for a number of cycles at most; port `stuck` takes nothing. Returns the cycles.
std::uint64_t run(const std::vector<std::vector<Beat>>& packets, unsigned stall, unsigned stuck, unsigned& lost,
                  std::uint64_t cycles = kForever) {
  std::deque<Beat> in, parts[kPorts];
  std::deque<std::uint32_t> order[kPorts];  // packets of a port, as the divider gave them
  for (const auto& packet : packets) in.insert(in.end(), packet.begin(), packet.end());
  Checker part_checks[kPorts], out_check;
  std::vector<bool> seen(packets.size());
  std::uint64_t cycle = 0, idle = 0, divided = 0, arrived = 0;
  bool offered = false, part_offered[kPorts] = {};
  const auto waits = [&] { return generator() % 100 < stall; };
  while (arrived < packets.size() && cycle < cycles) {
    offered = !in.empty() && (offered || !waits());
    top.in_valid_i = offered;
    if (offered) {
      top.in_data_i = in.front().data();
      top.in_keep_i = in.front().keep;
      top.in_last_i = in.front().last;
    }
    for (unsigned p = 0; p < kPorts; ++p) {
      set_bits(top.part_ready_i, p, 1, parts[p].size() < 64 && !waits() && p != stuck);
      part_offered[p] = !parts[p].empty() && (part_offered[p] || !waits());
      set_bits(top.part_valid_i, p, 1, part_offered[p]);
      if (part_offered[p]) {
        put(p, parts[p].front().data());
        set_bits(top.part_keep_i, 8 * p, 8, parts[p].front().keep);
        set_bits(top.part_last_i, p, 1, parts[p].front().last);
      }
    }
    top.out_ready_i = !waits();
    top.eval();
    bool moved = false;
    if (offered && top.in_ready_o) {
      in.pop_front();
      offered = false;
      moved = true;
    }
    for (unsigned p = 0; p < kPorts; ++p) {
      if ((top.part_ready_o >> p & 1) && part_offered[p]) {
        parts[p].pop_front();
        part_offered[p] = false;
        moved = true;
      }
    }
    for (unsigned p = 0; p < kPorts; ++p) {
      if (!(top.part_valid_o >> p & 1) || !(top.part_ready_i >> p & 1)) continue;
      Beat beat;
      const std::uint64_t data = get(p);
      beat.packet = data >> 32;
      beat.number = std::uint32_t(data);
      beat.keep = top.part_keep_o >> 8 * p & 0xff;
      beat.last = top.part_last_o >> p & 1;
      if (beat.packet >= packets.size()) fail("no such packet", beat.packet);
      if (part_checks[p].take(beat, packets) >= 0) {
        order[p].push_back(beat.packet);
        ++divided;
        if (IN_TURN && beat.packet % kPorts != p) fail("out of turn", beat.packet);
      }
      parts[p].push_back(beat);
      moved = true;
    }
    if (top.out_valid_o && top.out_ready_i) {
      Beat beat;
      beat.packet = top.out_data_o >> 32;
      beat.number = std::uint32_t(top.out_data_o);
      beat.keep = top.out_keep_o;
      beat.last = top.out_last_o;
      if (beat.packet >= packets.size()) fail("no such packet behind the combiner", beat.packet);
      if (out_check.take(beat, packets) >= 0) {
        if (seen[beat.packet]) fail("a packet is doubled", beat.packet);
        seen[beat.packet] = true;
        if (IN_TURN && beat.packet != arrived) fail("not in the order of the packets", beat.packet);
        bool first = false;
        for (auto& queue : order) {
          if (!queue.empty() && queue.front() == beat.packet) {
            queue.pop_front();
            first = true;
          }
        }
        if (!first) fail("not in the order of its port", beat.packet);
      }
      if (beat.last) ++arrived;
      moved = true;
    }
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    ++cycle;
    idle = moved ? 0 : idle + 1;
    // A port that takes nothing keeps at most the packets whose beats it has room for.
    if (stuck != kNone && idle > 100) break;
    if (idle > 10000) fail("nothing moves", arrived);
  }
  lost += packets.size() - arrived;
  return cycle;
}

void reset() {
  top.rst_ni = 0;
  for (int i = 0; i < 6; ++i) {
    top.clk_i = i & 1;
    top.eval();
  }
  top.clk_i = 0;
  top.rst_ni = 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  generator.seed(std::strtoull(argv[1], nullptr, 0));
  const unsigned count = std::strtoul(argv[2], nullptr, 0);
  const auto make = [&](unsigned packets, bool short_ones, bool full) {
    std::vector<std::vector<Beat>> made(packets);
    for (unsigned p = 0; p < packets; ++p) {
      const unsigned length = short_ones ? 1 : 1 + generator() % 20;
      for (unsigned b = 0; b < length; ++b) {
        Beat beat;
        beat.packet = p;
        beat.number = b;
        beat.last = b + 1 == length;
        beat.keep = full || generator() % 4 ? 0xff : (1u << generator() % 8) - 1;
        made[p].push_back(beat);
      }
    }
    return made;
  };
  unsigned lost = 0;
  for (const unsigned stall : {0u, 30u, 70u}) {
    reset();
    run(make(count, false, false), stall, kNone, lost);
    for (unsigned resets = 0; resets < 100; ++resets) {
      reset();
      unsigned cut = 0;
      run(make(50, false, false), stall, kNone, cut, 1 + generator() % 100);
      reset();
      run(make(1 + generator() % 20, false, false), stall, kNone, lost);
      if (IN_TURN) continue;
      // Not in turn, no port is waited for, the first one neither.
      reset();
      run(make(50, false, false), stall, kNone, cut, 1 + generator() % 100);
      reset();
      unsigned waiting = 0;
      run(make(20, true, true), 0, generator() % kPorts, waiting);
      if (waiting > 3) fail("a port that takes nothing holds up the others", waiting);
    }
  }
  reset();
  const auto packets = make(300, false, true);
  std::uint64_t beats = 0;
  for (const auto& packet : packets) beats += packet.size();
  const double rate = beats / double(run(packets, 0, kNone, lost));
  reset();
  // Packets of one beat; port 1 takes nothing. Not in turn, all others still go through.
  unsigned held = 0;
  run(make(1000, true, true), 0, 1, held);
  std::printf("%u %.4f %u\n", lost, rate, held);
  return 0;
}
