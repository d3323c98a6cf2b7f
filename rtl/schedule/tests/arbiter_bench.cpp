// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_arbiter: random requests that stay up until they are granted, three policies. Checks
// every choice and the longest wait; prints, policy by policy, each requester's share of the grants
// while all of them ask. Usage: bench SEED.

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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::mt19937 random(std::strtoul(argv[1], nullptr, 0));
  // Requests differ by policy as grants do, so each policy has a model of its own.
  for (int policy = 0; policy < kPolicies; ++policy) {
    Varbiter_bench_top top;
    const auto edge = [&] {
      top.clk_i = 1;
      top.eval();
      top.clk_i = 0;
      top.eval();
    };
    top.rst_ni = 0;
    for (int i = 0; i < 3; ++i) edge();
    top.rst_ni = 1;
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
      edge();
    }
    for (int r = 0; r < kRequests; ++r) std::printf("%.4f ", grants[r] / 20000.0);
  }
  std::printf("\n");
  return 0;
}
