// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_stream_width: random packets, beats of random size, empty ones too, through a narrow width
// and back, with random stalls. Prints the bytes a cycle of full beats without stalls. With FLUSH cycles: streams
// without end, too, whose bytes leave when their sender pauses so long, and not before. Behind it all a port without
// TKEEP gets full beats. With IDS each beat has one, which changes in mid-packet; each byte keeps it, and a beat is not
// full only where the ID changes. Resets at any moment: nothing of what was under way comes out behind them.
// Usage: bench SEED PACKETS.

#include <algorithm>
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

#ifndef IDS
#define IDS 0
#endif

constexpr unsigned kRow = 64;

// A byte with its ID in front.
using Tagged = std::uint16_t;
Tagged tagged(unsigned id, std::uint8_t byte) { return Tagged(id << 8 | byte); }

struct Beat {
  std::uint8_t data[kRow] = {};
  unsigned count = 0;
  unsigned id = 0;
  bool last = false;
};

[[noreturn]] void fail(const char* what, std::uint64_t a = 0) {
  std::printf("%s (%llu)\n", what, (unsigned long long)a);
  std::exit(1);
}

Vwidth_bench_top top;
std::mt19937_64 generator;

// What has come to the port without TKEEP, and of what was sent how much: all but the last beat of a packet is full.
struct Gathered {
  std::vector<Tagged> bytes;
  unsigned short_id = ~0u;  // of a beat that was not full
  void look() {
    if (!top.full_valid_o) return;
    const unsigned count = __builtin_popcountll(top.full_keep_o), id = top.full_id_o;
    const bool is_short = count != kRow && !top.full_last_o;
    if (id == short_id) fail("a port without TKEEP gets a beat that is not full before one of the same ID", id);
    short_id = is_short ? id : ~0u;
    if (is_short && !IDS) fail("a port without TKEEP gets a beat that is not full", count);
    const std::uint8_t* data = reinterpret_cast<const std::uint8_t*>(&top.full_data_o[0]);
    for (unsigned i = 0; i < count; ++i) bytes.push_back(tagged(id, data[i]));
  }
};

// Cycles without a beat for the converter that notices pauses, and whether a beat of it waits to be taken.
std::uint64_t idle = 0;
bool waits = false;

// A beat that is not full, and no end, leaves behind a pause.
void look_at_pause() {
  const bool is_short = top.out_valid_o && !top.out_last_o && top.out_keep_o != ~0ull;
  if (!IDS && is_short && (!FLUSH || (!waits && idle < FLUSH))) fail("a beat that is not full leaves before a pause", idle);
  waits = top.out_valid_o && !top.out_taken_o;
  idle = top.enters_o ? 0 : idle + 1;
}

void edge() {
  top.clk_i = 1;
  top.eval();
  top.clk_i = 0;
  top.eval();
}

void reset() {
  top.rst_ni = 0;
  top.in_valid_i = 0;
  edge();
  top.rst_ni = 1;
  idle = 0;
  waits = false;
}

// Anything for some cycles, and a reset in the middle of it.
void cut(unsigned stall) {
  bool offered = false;
  for (auto cycles = generator() % 40; cycles; --cycles) {
    if (!offered) {
      offered = generator() % 4 != 0;
      const unsigned count = generator() % 3 ? kRow : generator() % (kRow + 1);
      for (auto& word : top.in_data_i.m_storage) word = 0xbad0bad;
      top.in_keep_i = count == kRow ? ~0ull : (1ull << count) - 1;
      top.in_last_i = generator() % 6 == 0;
      top.in_id_i = IDS ? generator() : 0;
    }
    top.in_valid_i = offered;
    top.out_ready_i = generator() % 100 >= stall;
    top.eval();
    if (top.in_ready_o) offered = false;
    edge();
  }
  reset();
}

// Sends the beats; checks that the bytes come back in the same packets. Returns the cycles.
std::uint64_t run(const std::vector<Beat>& beats, unsigned stall) {
  std::deque<std::vector<Tagged>> wanted(1);
  for (const Beat& beat : beats) {
    for (unsigned i = 0; i < beat.count; ++i) wanted.back().push_back(tagged(beat.id, beat.data[i]));
    if (beat.last) wanted.emplace_back();
  }
  std::size_t next = 0, packet = 0, at = 0;
  bool offered = false;
  std::uint64_t cycle = 0;
  Gathered gathered;
  while (packet + 1 < wanted.size()) {
    offered = next < beats.size() && (offered || generator() % 100 >= stall);
    top.in_valid_i = offered;
    if (offered) {
      const Beat& beat = beats[next];
      std::memcpy(&top.in_data_i[0], beat.data, kRow);
      top.in_keep_i = beat.count == kRow ? ~0ull : (1ull << beat.count) - 1;
      top.in_last_i = beat.last;
      top.in_id_i = beat.id;
    }
    top.out_ready_i = generator() % 100 >= stall;
    top.eval();
    gathered.look();
    look_at_pause();
    if (top.out_taken_o) {
      const std::uint64_t keep = top.out_keep_o;
      const unsigned count = __builtin_popcountll(keep);
      if (count != kRow && keep != (1ull << count) - 1) fail("TKEEP has a hole", keep);
      const std::uint8_t* data = reinterpret_cast<const std::uint8_t*>(&top.out_data_o[0]);
      for (unsigned i = 0; i < count; ++i, ++at)
        if (at >= wanted[packet].size() || wanted[packet][at] != tagged(top.out_id_o, data[i])) fail("a byte differs", at);
      for (unsigned i = count; i < kRow; ++i)
        if (data[i]) fail("a byte beyond TKEEP is not zero", i);
      if (top.out_last_o) {
        if (at != wanted[packet].size()) fail("a packet is cut", at);
        ++packet;
        at = 0;
      } else if (IDS && !FLUSH && count != kRow && at < wanted[packet].size()
                 && wanted[packet][at] >> 8 == top.out_id_o) {
        fail("a beat is not full before one of the same ID", top.out_id_o);
      } else if (at == wanted[packet].size() && packet + 2 == wanted.size() && count == 0) {
        fail("an empty beat without an end");
      }
    }
    if (offered && top.in_ready_o) {
      ++next;
      offered = false;
    }
    edge();
    if (++cycle > 50000000) fail("nothing moves", packet);
  }
  const std::uint64_t cycles = cycle;
  // What the last beat left behind in the gatherer.
  top.in_valid_i = 0;
  for (unsigned i = 0; i < 8; ++i) {
    top.eval();
    gathered.look();
    edge();
  }
  std::vector<Tagged> all;
  for (const auto& one : wanted) all.insert(all.end(), one.begin(), one.end());
  if (gathered.bytes != all) fail("other bytes at a port without TKEEP", gathered.bytes.size());
  return cycles;
}

#if FLUSH
// A stream without end: words of the narrow width, pauses of any length. What was sent before a pause has left when it
// is long enough; the bytes are the same, however they are cut.
void endless(unsigned words, unsigned stall) {
  std::deque<std::uint8_t> under_way;
  std::vector<Tagged> all;
  Gathered gathered;
  unsigned short_beats = 0;
  const auto step = [&](const std::vector<std::uint8_t>* beat) {
    top.in_valid_i = beat != nullptr;
    if (beat) {
      std::uint8_t data[kRow] = {};
      std::memcpy(data, beat->data(), beat->size());
      std::memcpy(&top.in_data_i[0], data, kRow);
      top.in_keep_i = beat->size() == kRow ? ~0ull : (1ull << beat->size()) - 1;
      top.in_last_i = 0;
      top.in_id_i = 0;
    }
    top.out_ready_i = generator() % 100 >= stall;
    top.eval();
    gathered.look();
    look_at_pause();
    if (top.out_taken_o) {
      const std::uint64_t keep = top.out_keep_o;
      const unsigned count = __builtin_popcountll(keep);
      if (!count || top.out_last_o) fail("an end that nobody sent", count);
      if (count != kRow && keep != (1ull << count) - 1) fail("TKEEP has a hole", keep);
      short_beats += count != kRow;
      const std::uint8_t* data = reinterpret_cast<const std::uint8_t*>(&top.out_data_o[0]);
      for (unsigned i = 0; i < count; ++i) {
        if (under_way.empty() || under_way.front() != data[i]) fail("a byte of a stream without end differs", i);
        under_way.pop_front();
      }
    }
    const bool accepted = beat && top.in_ready_o;
    if (accepted) {
      under_way.insert(under_way.end(), beat->begin(), beat->end());
      all.insert(all.end(), beat->begin(), beat->end());
    }
    edge();
    return accepted;
  };
  // So many words at once that they are whole bytes of beats, then a pause.
  for (unsigned sent = 0; sent < words;) {
    unsigned left = NARROW * (1 + generator() % 9);
    sent += left / NARROW;
    while (left) {
      std::vector<std::uint8_t> beat(std::min<unsigned>(left, 1 + generator() % kRow));
      for (auto& byte : beat) byte = std::uint8_t(generator());
      while (!step(&beat)) {}
      left -= beat.size();
      for (unsigned pause = generator() % 3; pause; --pause) step(nullptr);
    }
    const bool long_pause = generator() % 2;
    for (unsigned pause = long_pause ? 0 : generator() % (2 * FLUSH); pause; --pause) step(nullptr);
    if (!long_pause) continue;
    // The narrow side takes a cycle a word, and each stalled cycle is one more.
    for (unsigned limit = 200 + 100 * stall; limit && !(under_way.empty() && !top.held_o); --limit) step(nullptr);
    if (!under_way.empty()) fail("bytes stay behind a pause", under_way.size());
  }
  for (unsigned pause = 0; pause < 2000 + 100 * stall; ++pause) step(nullptr);
  if (!under_way.empty() || top.held_o) fail("bytes stay for ever", under_way.size());
  if (!short_beats && NARROW % kRow) fail("no pause brought anything out");
  all.resize(all.size() / kRow * kRow);
  if (gathered.bytes != all) fail("other bytes at a port without TKEEP", gathered.bytes.size());
}
#endif

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
  unsigned id = 0;
  const auto fill = [&id](Beat& beat, unsigned count) {
    beat.count = count;
    if (IDS && generator() % 3 == 0) id = generator() % 4 * 77;
    beat.id = id & 0xff;
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
    for (unsigned resets = 0; resets < 100; ++resets) {
      cut(stall);
      std::vector<Beat> few(1 + generator() % 4);
      for (Beat& beat : few) fill(beat, kRow);
      fill(few.back(), 1 + generator() % kRow);
      few.back().last = true;
      run(few, stall);
    }
  }
#if FLUSH
  for (const unsigned stall : {0u, 30u, 70u}) {
    cut(stall);
    endless(packets, stall);
  }
#endif
  reset();
  std::vector<Beat> full(1000);
  for (Beat& beat : full) fill(beat, kRow);
  full.back().last = true;
  std::printf("%.4f\n", 1000.0 * kRow / double(run(full, 0)));
  return 0;
}
