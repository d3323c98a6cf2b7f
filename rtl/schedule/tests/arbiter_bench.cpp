// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_arbiter: random requests that stay up until they are granted, three policies. Checks
// every choice and the longest wait; prints, policy by policy, each requester's share of the grants
// while all of them ask. Resets at any moment: every choice behind them is that of a new arbiter.
// Usage: bench SEED.

#include <cstdio>
#include <cstdlib>
#include <random>

#include "Varbiter_bench_top.h"
#include "verilated.h"

namespace {

constexpr int kRequests = 5;
constexpr int kPolicies = 3;
constexpr int kShare = 4;
// Most grants of others that a request may wait for, by policy.
constexpr int kBound[kPolicies] = {(kShare + 1) * (kRequests - 1), 2 * (kRequests - 2 + kShare),
                                   kRequests - 1};

[[noreturn]] void fail(int cycle, int policy, const char* what) {
  std::printf("cycle %d, policy %d: %s\n", cycle, policy, what);
  std::exit(1);
}

void edge(Varbiter_bench_top& top) {
  top.clk_i = 1;
  top.eval();
  top.clk_i = 0;
  top.eval();
}

void reset(Varbiter_bench_top& top) {
  top.rst_ni = 0;
  edge(top);
  top.rst_ni = 1;
}

// Resets the arbiter while requests wait, and holds each of its choices against those of a new one.
void resets(Varbiter_bench_top& top, std::mt19937& random, int policy) {
  int cycle = 0;
  for (int count = 0; count < 300; ++count) {
    top.request_i = random() % (1u << kRequests);
    top.accept_i = random() % 2;
    reset(top);
    Varbiter_bench_top fresh;
    reset(fresh);
    unsigned request = 0;
    const unsigned load = 10 + random() % 90;
    for (unsigned left = 1 + random() % 40; left; --left, ++cycle) {
      for (int r = 0; r < kRequests; ++r)
        if (random() % 100 < load) request |= 1u << r;
      const bool accept = random() % 4 != 0;
      for (Varbiter_bench_top* arbiter : {&top, &fresh}) {
        arbiter->request_i = request;
        arbiter->accept_i = accept;
        arbiter->eval();
      }
      if (top.valid_o[policy] != fresh.valid_o[policy] ||
          top.grant_o[policy] != fresh.grant_o[policy] ||
          top.index_o[policy] != fresh.index_o[policy])
        fail(cycle, policy, "a choice behind a reset is not that of a new arbiter");
      if (accept) request &= ~top.grant_o[policy];
      edge(top);
      edge(fresh);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::mt19937 random(std::strtoul(argv[1], nullptr, 0));
  // Requests differ by policy as grants do, so each policy has a model of its own.
  for (int policy = 0; policy < kPolicies; ++policy) {
    Varbiter_bench_top top;
    reset(top);
    int waited[kRequests] = {};
    int grants[kRequests] = {};
    unsigned request = 0;
    for (int cycle = 0; cycle < 40000; ++cycle) {
      const bool saturated = cycle >= 20000;
      for (int r = 0; r < kRequests; ++r)
        if (saturated || random() % 100 < 30) request |= 1u << r;
      const bool accept = saturated || random() % 2;
      top.request_i = request;
      top.accept_i = accept;
      top.eval();
      const unsigned grant = top.grant_o[policy];
      if (top.valid_o[policy] != (request != 0)) fail(cycle, policy, "valid");
      if ((grant & ~request) != 0 || (grant & (grant - 1)) != 0) fail(cycle, policy, "grant");
      if ((grant != 0) != (request != 0)) fail(cycle, policy, "nobody is granted");
      if (grant != 0 && grant != 1u << top.index_o[policy]) fail(cycle, policy, "index");
      if (accept) {
        for (int r = 0; r < kRequests; ++r) {
          if (grant >> r & 1) {
            if (saturated) ++grants[r];
            waited[r] = 0;
          } else if (request >> r & 1) {
            if (++waited[r] > kBound[policy]) fail(cycle, policy, "waits for too long");
          }
        }
        request &= ~grant;
      }
      edge(top);
    }
    resets(top, random, policy);
    for (int r = 0; r < kRequests; ++r) std::printf("%.4f ", grants[r] / 20000.0);
  }
  std::printf("\n");
  return 0;
}
