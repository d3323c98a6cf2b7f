// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_translate_segment against a list of pages: pages of every size in several spaces, filled, filled again
// with other rights, killed one by one or in ranges, and forgotten by a reset at any moment. Usage: bench SEED CYCLES.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

#include "Vsegment_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kSegments = 3;
constexpr std::uint64_t kBlocks = (1ull << 36) - 1, kFrames = (1ull << 25) - 1;

struct Page {
  unsigned asid = 0;
  std::uint64_t block = 0, inside = 0, frame = 0;  // ones: inside the page
  bool read = false, write = false, dirty = false;
  bool has(unsigned of, std::uint64_t at) const { return asid == of && ((block ^ at) & ~inside) == 0; }
};

Vsegment_bench_top top;
std::mt19937_64 generator;
std::uint64_t cycle = 0;
std::array<std::optional<Page>, kSegments> pages;
unsigned turn = 0;

[[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
  std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
              (unsigned long long)b);
  std::exit(1);
}
bool chance(unsigned percent) { return generator() % 100 < percent; }

// Pages that never overlap within a space: number n begins at n x 2^20 blocks and has its own size class, in space
// n / 8, the highest bit of the address too.
constexpr unsigned kPages = 24;
unsigned class_of(unsigned n) { return n * 7 % 19; }
std::uint64_t base_of(unsigned n) { return std::uint64_t(n % 8) << 20 | std::uint64_t(n % 3 == 0) << 35; }
// Spaces that differ in one bit.
unsigned asid_of(unsigned n) { return 1u << n / 8; }
std::uint64_t within(unsigned n) { return base_of(n) | (generator() & ((1ull << class_of(n)) - 1)); }

void step() {
  top.rst_ni = 1;
  top.fill_i = top.kill_i = 0;
  // A lookup: in a page mostly, or just beside one.
  const unsigned n = generator() % kPages;
  top.look_asid_i = chance(90) ? asid_of(n) : generator() % 16;
  top.look_block_i = chance(85) ? within(n) : chance(50) ? (base_of(n) + (1ull << class_of(n))) & kBlocks : generator() & kBlocks;
  top.look_write_i = chance(50);
  // An update: of a page, at any of its blocks.
  const unsigned u = generator() % kPages;
  top.update_asid_i = asid_of(u);
  top.update_block_i = within(u);
  top.fill_frame_i = generator() & kFrames;
  top.fill_class_i = class_of(u);
  top.fill_rights_i = generator() % 8;
  top.kill_mask_i = chance(70) ? (1ull << class_of(u)) - 1 : (1ull << (generator() % 24)) - 1;
  if (chance(30)) top.fill_i = 1;
  else if (chance(20)) top.kill_i = 1;
  top.eval();

  const Page* hit = nullptr;
  for (const auto& page : pages)
    if (page && page->has(top.look_asid_i, top.look_block_i)) hit = &*page;
  const bool granted = hit && (top.look_write_i ? hit->write : hit->read);
  const bool allowed = granted && (!top.look_write_i || hit->dirty);
  const std::uint64_t frame = hit ? ((hit->frame & ~hit->inside) | (top.look_block_i & hit->inside)) & kFrames : 0;
  if (top.hit_o != (hit != nullptr)) fail("hit", top.hit_o, top.look_block_i);
  if (top.granted_o != granted) fail("granted", top.granted_o, granted);
  if (top.allowed_o != allowed) fail("allowed", top.allowed_o, allowed);
  if (top.frame_o != frame) fail("frame", top.frame_o, frame);

  if (top.fill_i) {
    const std::uint64_t inside = (1ull << class_of(u)) - 1;
    unsigned to = kSegments;
    for (unsigned s = 0; s < kSegments; ++s)
      if (pages[s] && pages[s]->has(top.update_asid_i, top.update_block_i)) to = s;
    for (unsigned s = 0; s < kSegments && to == kSegments; ++s)
      if (!pages[s]) to = s;
    if (to == kSegments) {
      to = turn;
      turn = (turn + 1) % kSegments;
    }
    pages[to] = Page{top.update_asid_i, top.update_block_i, inside, top.fill_frame_i, bool(top.fill_rights_i & 1),
                     bool(top.fill_rights_i & 2), bool(top.fill_rights_i & 4)};
  }
  if (top.kill_i) {
    for (auto& page : pages) {
      if (page && page->asid == top.update_asid_i &&
          ((page->block ^ top.update_block_i) & ~page->inside & ~top.kill_mask_i) == 0)
        page.reset();
    }
  }
}

void tick() {
  top.clk_i = 1;
  top.eval();
  top.clk_i = 0;
  top.eval();
  ++cycle;
}

void reset() {
  top.rst_ni = 0;
  top.fill_i = chance(50);
  top.kill_i = 0;
  top.eval();
  tick();
  pages = {};
  turn = 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  generator.seed(std::strtoull(argv[1], nullptr, 0));
  const std::uint64_t cycles = std::strtoull(argv[2], nullptr, 0);
  reset();
  while (cycle < cycles) {
    step();
    tick();
    if (chance(1) && chance(20)) reset();
  }
  return 0;
}
