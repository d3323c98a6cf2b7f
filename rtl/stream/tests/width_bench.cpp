// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_stream_width: random packets, beats of random size, empty ones too, through a narrow width
// and back, with random stalls. Prints the bytes a cycle of full beats without stalls.
// Usage: bench SEED PACKETS.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "Vwidth_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kRow = 64;

struct Beat {
  std::uint8_t data[kRow] = {};
  unsigned count = 0;
  bool last = false;
};

[[noreturn]] void fail(const char* what, std::uint64_t a = 0) {
  std::printf("%s (%llu)\n", what, (unsigned long long)a);
  std::exit(1);
}

Vwidth_bench_top top;
std::mt19937_64 generator;

// Sends the beats; checks that the bytes come back in the same packets. Returns the cycles.
std::uint64_t run(const std::vector<Beat>& beats, unsigned stall) {
  std::deque<std::vector<std::uint8_t>> wanted(1);
  for (const Beat& beat : beats) {
    wanted.back().insert(wanted.back().end(), beat.data, beat.data + beat.count);
    if (beat.last) wanted.emplace_back();
  }
  std::size_t next = 0, packet = 0, at = 0;
  bool offered = false;
  std::uint64_t cycle = 0;
  while (packet + 1 < wanted.size()) {
    offered = next < beats.size() && (offered || generator() % 100 >= stall);
    top.in_valid_i = offered;
    if (offered) {
      const Beat& beat = beats[next];
      std::memcpy(&top.in_data_i[0], beat.data, kRow);
      top.in_keep_i = beat.count == kRow ? ~0ull : (1ull << beat.count) - 1;
      top.in_last_i = beat.last;
    }
    top.out_ready_i = generator() % 100 >= stall;
    top.eval();
    if (top.out_valid_o && top.out_ready_i) {
      const std::uint64_t keep = top.out_keep_o;
      const unsigned count = __builtin_popcountll(keep);
      if (count != kRow && keep != (1ull << count) - 1) fail("TKEEP has a hole", keep);
      if (count != kRow && !top.out_last_o) fail("a beat that is not full", count);
      const std::uint8_t* data = reinterpret_cast<const std::uint8_t*>(&top.out_data_o[0]);
      for (unsigned i = 0; i < count; ++i, ++at)
        if (at >= wanted[packet].size() || wanted[packet][at] != data[i]) fail("a byte differs", at);
      for (unsigned i = count; i < kRow; ++i)
        if (data[i]) fail("a byte beyond TKEEP is not zero", i);
      if (top.out_last_o) {
        if (at != wanted[packet].size()) fail("a packet is cut", at);
        ++packet;
        at = 0;
      } else if (at == wanted[packet].size() && packet + 2 == wanted.size() && count == 0) {
        fail("an empty beat without an end");
      }
    }
    if (offered && top.in_ready_o) {
      ++next;
      offered = false;
    }
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    if (++cycle > 50000000) fail("nothing moves", packet);
  }
  return cycle;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  generator.seed(std::strtoull(argv[1], nullptr, 0));
  const unsigned packets = std::strtoul(argv[2], nullptr, 0);
  top.rst_ni = 0;
  for (int i = 0; i < 6; ++i) {
    top.clk_i = i & 1;
    top.eval();
  }
  top.clk_i = 0;
  top.rst_ni = 1;
  const auto fill = [](Beat& beat, unsigned count) {
    beat.count = count;
    for (unsigned i = 0; i < count; ++i) beat.data[i] = std::uint8_t(generator() | 1);
  };
  for (const unsigned stall : {0u, 30u, 70u}) {
    std::vector<Beat> beats;
    for (unsigned p = 0; p < packets; ++p) {
      const unsigned length = 1 + generator() % 12;
      for (unsigned b = 0; b < length; ++b) {
        Beat beat;
        beat.last = b + 1 == length;
        if (beat.last && generator() % 4 == 0) fill(beat, 0);
        else fill(beat, generator() % 3 ? kRow : generator() % (kRow + 1));
        beats.push_back(beat);
      }
    }
    run(beats, stall);
  }
  std::vector<Beat> full(1000);
  for (Beat& beat : full) fill(beat, kRow);
  full.back().last = true;
  std::printf("%.4f\n", 1000.0 * kRow / double(run(full, 0)));
  return 0;
}
