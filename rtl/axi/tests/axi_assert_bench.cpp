// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Plays a script of signals against the assertion modules: a line a cycle, `name=value` words;
// what is not named is 0.

#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "Vaxi_assert_bench_top.h"
#include "verilated.h"

int main() {
  VerilatedContext context;
  Vaxi_assert_bench_top top{&context};
  std::map<std::string, std::function<void(std::uint64_t)>> set;
#define SIGNAL(name) set[#name] = [&](std::uint64_t value) { top.name##_i = value; };
#define ROW(name) set[#name] = [&](std::uint64_t value) { top.name##_i[0] = value; };
  SIGNAL(awid)
  SIGNAL(awaddr)
  SIGNAL(awlen)
  SIGNAL(awsize)
  SIGNAL(awburst)
  SIGNAL(awvalid)
  SIGNAL(awready)
  ROW(wdata)
  SIGNAL(wstrb)
  SIGNAL(wlast)
  SIGNAL(wvalid)
  SIGNAL(wready)
  SIGNAL(bid)
  SIGNAL(bresp)
  SIGNAL(bvalid)
  SIGNAL(bready)
  SIGNAL(arid)
  SIGNAL(araddr)
  SIGNAL(arlen)
  SIGNAL(arsize)
  SIGNAL(arburst)
  SIGNAL(arvalid)
  SIGNAL(arready)
  SIGNAL(rid)
  ROW(rdata)
  SIGNAL(rresp)
  SIGNAL(rlast)
  SIGNAL(rvalid)
  SIGNAL(rready)
  SIGNAL(role)
  SIGNAL(suspended)
  set["rst_n"] = [&](std::uint64_t value) { top.rst_ni = value; };
  for (std::string line; std::getline(std::cin, line);) {
    for (auto& [name, setter] : set) setter(0);
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const auto at = word.find('=');
      set.at(word.substr(0, at))(std::stoull(word.substr(at + 1), nullptr, 0));
    }
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
    context.timeInc(1);
  }
  std::cout << "end" << std::endl;
}
