// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_home_sweeps: a directory with lines in places, which a sweep passes one after the other, and operations
// that it grants late, so that locks appear behind a sweep; kernels that go at any moment, in the last cycle of a sweep
// too; the host that recalls lines; resets at any moment. Usage: bench SEED CYCLES.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "Vtmb_home_sweeps.h"
#include "verilated.h"

namespace {

constexpr unsigned kPlaces = 24;

Vtmb_home_sweeps top;
std::mt19937_64 generator;
std::uint64_t cycle = 0, closings = 0, second = 0, recalls = 0;

[[noreturn]] void fail(const char* what, std::uint64_t a = 0) {
  std::printf("cycle %llu: %s (%llu)\n", (unsigned long long)cycle, what, (unsigned long long)a);
  std::exit(1);
}
bool chance(unsigned percent) { return generator() % 100 < percent; }

// The kernel, and what the directory has of it.
bool there = false;
unsigned arrives = 0;         // cycles for which operations may still come from one that has gone
unsigned operations = 0;
std::multiset<unsigned> locks;  // places
// The sweep under way: its place, and whether it began behind the last kernel that went.
unsigned place = 0, sweeps = 0;
std::uint64_t went_at = 0, began_at = 0;
bool owes = false;            // a kernel has gone, and no sweep has been over since that began behind it
bool closing = false, recalled = false, calm = false;
unsigned waits = 0;

void forget() {
  went_at = began_at = 0;
  there = closing = recalled = owes = false;
  arrives = operations = place = sweeps = waits = 0;
  locks.clear();
}

void edge(bool resets) {
  top.rst_ni = !resets;
  // Whoever was there goes; nobody comes while something of the last one may be left. What is behind the directory
  // may be changed at any time, too.
  if (chance(1)) calm = chance(40);
  top.goes_i = !resets && !calm && ((there && chance(3)) || chance(1));
  if (there && operations < 4 && chance(20)) ++operations;
  if (!there && arrives && operations < 4 && chance(30)) ++operations;
  if (!recalled && chance(1)) recalled = true;
  top.recall_i = recalled;
  top.operations_left_i = operations != 0;
  // The directory takes its time, and sweeps as long as it is told to.
  top.swept_i = 0;
  top.eval();
  if (top.sweep_o && chance(70)) {
    if (top.closing_o) locks.erase(place);
    top.swept_i = ++place == kPlaces;
  }
  top.eval();
  if (top.sweep_o && !began_at) began_at = cycle;
  if (top.closing_o && !closing) ++closings;
  if (closing && !top.closing_o) {
    if (!locks.empty()) fail("a lock stays", locks.size());
    if (operations) fail("an operation of a kernel that is gone is left", operations);
    if (owes) fail("no sweep began behind the kernel that went");
    second += sweeps > 1;
    sweeps = 0;
  }
  closing = top.closing_o;
  if (closing && there) fail("a kernel is there while something of the last one may be left");
  if (went_at && went_at + 1 == cycle && !closing) fail("a kernel goes, and nothing closes behind it");
  // A demand is met in bounded time, though not while a kernel goes.
  waits = recalled && !closing ? waits + 1 : 0;
  if (waits > 200) fail("lines are not recalled");
  if (top.swept_i) {
    if (began_at > went_at) owes = false;
    sweeps += top.closing_o;
    recalls += recalled;
    recalled = false;
  }
  if (top.swept_i || !top.sweep_o) {
    place = 0;
    began_at = 0;
  }
  // An operation is over, or has a lock from now on.
  if (operations && chance(5)) {
    --operations;
    if (chance(80)) locks.insert(unsigned(generator() % kPlaces));
  }
  arrives -= arrives != 0;
  if (top.goes_i) {
    if (there) arrives = 3;
    there = false;
    owes = true;
    went_at = cycle;
  } else if (!closing && !there && !arrives && chance(10)) {
    there = true;
  }
  top.clk_i = 1;
  top.eval();
  top.clk_i = 0;
  top.eval();
  if (resets) {
    forget();
    if (top.sweep_o || top.closing_o) fail("a sweep or a closing goes on behind a reset");
  }
  ++cycle;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  generator.seed(std::strtoull(argv[1], nullptr, 0));
  const std::uint64_t cycles = std::strtoull(argv[2], nullptr, 0);
  top.eval();
  edge(true);
  while (cycle < cycles) edge(chance(1) && chance(5));
  if (closings < cycles / 1000 || second < closings / 10 || recalls < cycles / 10000)
    fail("too little was done", closings);
  return 0;
}
