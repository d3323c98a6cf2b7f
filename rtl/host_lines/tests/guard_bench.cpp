// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_host_lines_guard: a kernel that loads, stores, holds and releases lines, and a cache controller that takes
// its time and answers in any order. Usage: bench SCENARIO SEED.
//
//   random   a kernel that obeys
//   closes   the same; the way is closed and opened at random moments
//   resets   the same; guard, kernel and controller are reset at random moments, while the way closes, too
//   rate     no stalls; prints accesses and answers a cycle
//   access, tag, range, slice, hold   a kernel that breaks a rule

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "Vguard_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kTags = 32, kHolds = 8, kSets = 16, kFrames = 512;
enum Kind : unsigned { kLoad, kStore, kAcquire, kRelease, kEvict, kSweep };
enum Status : unsigned { kOk, kLost, kRefused };
enum Rule : unsigned { kRuleAccess = 1, kRuleTag, kRuleRange, kRuleSlice, kRuleHold };

struct Access {
  unsigned kind = 0, held = 0, hold = 0, tag = 0, second = 0;
  std::uint64_t line = 0, data = 0;
  bool operator==(const Access&) const = default;
};
struct Answer {
  unsigned tag = 0, status = 0, hold = 0;
  std::uint64_t data = 0;
  bool operator==(const Answer&) const = default;
};

struct Bench {
  Vguard_bench_top top;
  std::mt19937_64 random;
  std::uint64_t cycle = 0;
  unsigned stall = 30, late = 10;  // percent; of the controller's answers in a cycle
  bool asks = true, open = true, answers = true;

  // Kernel.
  bool offered = false;
  Access offer;
  std::map<unsigned, Access> mine;  // by tag, until answered
  std::map<unsigned, bool> holds;   // that the kernel has; true: a release is under way
  // Between.
  std::deque<Access> passed;
  std::deque<Answer> answered;
  // Controller.
  std::map<unsigned, Access> works;
  std::map<unsigned, bool> held;    // true: broken
  bool answer_offered = false;
  Answer answer;
  unsigned swept = 0;               // steps of a closing: releases, then sets
  bool closing = false;
  std::uint64_t taken = 0, given = 0, violations = 0, closings = 0, at = 0;
  unsigned rule = 0;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
                (unsigned long long)b);
    std::exit(1);
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }
  bool go() { return !chance(stall); }

  static bool own(std::uint64_t line) { return ((line ^ line >> 5 ^ line >> 13) & 1) == 1; }
  std::uint64_t fresh_line() {
    for (;;) {
      const std::uint64_t line = random() % (kFrames * 32);
      if (own(line)) return line;
    }
  }

  Access fresh() {
    Access access{unsigned(random() % 5), unsigned(random() % 2), unsigned(random() % kHolds), 0,
                  unsigned(random() % 2), fresh_line(), random()};
    do access.tag = random() % kTags;
    while (mine.count(access.tag));
    if (access.kind == kRelease && holds.count(access.hold)) holds[access.hold] = true;
    return access;
  }

  void drive() {
    if (!offered && asks && mine.size() < kTags && go()) {
      offer = fresh();
      offered = true;
    }
    top.open_i = open;
    top.k_req_valid_i = offered;
    top.k_req_access_i = offer.kind;
    top.k_req_held_i = offer.held;
    top.k_req_hold_i = offer.hold;
    top.k_req_tag_i = offer.tag;
    top.k_req_line_i = offer.line;
    top.k_req_second_i = offer.second;
    top.k_req_data_i = offer.data;
    top.k_rsp_ready_i = go();
    top.c_req_ready_i = go();
    if (!answer_offered && answers && !works.empty() && (late >= 100 || chance(late))) {
      auto which = works.begin();
      std::advance(which, random() % works.size());
      const Access& access = which->second;
      answer = {access.tag, kOk, unsigned(random() % kHolds), random()};
      if (access.kind == kAcquire) {
        unsigned hold = 0;
        while (hold < kHolds && held.count(hold)) hold++;
        answer.status = hold == kHolds ? kRefused : kOk;
        answer.hold = hold % kHolds;
        if (hold < kHolds) held[hold] = false;
      }
      if (access.kind == kRelease) {
        const auto found = held.find(access.hold);
        answer.status = found == held.end() ? kRefused : found->second ? kLost : kOk;
        held.erase(access.hold);
      }
      answer_offered = true;
    }
    top.c_rsp_valid_i = answer_offered;
    top.c_rsp_tag_i = answer.tag;
    top.c_rsp_status_i = answer.status;
    top.c_rsp_hold_i = answer.hold;
    top.c_rsp_data_i = answer.data;
  }

  void sample() {
    if (top.violation_o) {
      violations++;
      rule = top.rule_o;
      at = top.at_o;
    }
    if (top.c_req_valid_o && top.c_req_ready_i) {
      const Access access{top.c_req_access_o, top.c_req_held_o, top.c_req_hold_o, top.c_req_tag_o,
                          top.c_req_second_o, top.c_req_line_o, top.c_req_data_o};
      if (works.count(access.tag)) fail("a tag that the controller has", access.tag);
      if (closing) {
        if (!works.empty()) fail("the shell does not wait for what is under way", works.size());
        const bool releases = swept < kHolds;
        if (access.kind != (releases ? kRelease : kSweep)) fail("not a step of closing", access.kind, swept);
        if ((releases ? access.hold : access.line) != (releases ? swept : swept - kHolds)) {
          fail("another step of closing", access.line, swept);
        }
        swept++;
      } else {
        if (passed.empty()) fail("an access that nobody sent", access.line);
        if (!(access == passed.front())) fail("another access", access.line, passed.front().line);
        passed.pop_front();
        taken++;
      }
      works[access.tag] = access;
    }
    if (top.c_rsp_valid_i && top.c_rsp_ready_o) {
      answer_offered = false;
      works.erase(answer.tag);
      if (!closing) answered.push_back(answer);
    }
    if (top.k_req_valid_i && top.k_req_ready_o) {
      if (!open) fail("an access is taken though the way is closed");
      mine[offer.tag] = offer;
      passed.push_back(offer);
      offered = false;
    }
    if (top.k_rsp_valid_o && !open) fail("an answer though the way is closed");
    if (top.k_rsp_valid_o && top.k_rsp_ready_i) {
      const Answer got{top.k_rsp_tag_o, top.k_rsp_status_o, top.k_rsp_hold_o, top.k_rsp_data_o};
      if (answered.empty() || !(got == answered.front())) fail("an answer that nobody gave", got.tag);
      answered.pop_front();
      if (!mine.count(got.tag)) fail("an answer to nothing", got.tag);
      mine.erase(got.tag);
      given++;
    }
    if (closing && !top.closing_o) {
      if (swept != kHolds + kSets) fail("the way is closed too early", swept);
      if (!held.empty()) fail("a line is still held", held.begin()->first);
      closing = false;
      closings++;
    }
  }

  void edge() {
    drive();
    top.clk_i = 0;
    top.eval();
    sample();
    top.clk_i = 1;
    top.eval();
    cycle++;
  }
  void steps(unsigned count) { while (count--) edge(); }
  template <typename F> void until(const char* what, F over) {
    for (unsigned n = 0; !over(); n++) {
      if (n == 20000) fail(what);
      edge();
    }
  }

  // The kernel is gone, and with it what it had under way.
  void close() {
    open = false;
    closing = true;
    swept = 0;
    offered = false;
    passed.clear();
    answered.clear();
    mine.clear();
  }

  void reset() {
    top.rst_ni = 0;
    top.patience_i = 0;
    top.frames_i = kFrames;
    asks = false;
    answers = false;
    steps(4);
    top.rst_ni = 1;
    asks = true;
    answers = true;
    open = true;
    until("the way does not open", [&] { return top.open_o; });
  }

  // Guard, kernel and controller at any moment. Nothing of before comes out behind it.
  void restart() {
    top.rst_ni = 0;
    for (unsigned n = 1 + random() % 3; n; n--) {
      top.clk_i = 0;
      top.eval();
      top.clk_i = 1;
      top.eval();
      cycle++;
    }
    top.rst_ni = 1;
    offered = answer_offered = closing = false;
    swept = 0;
    mine.clear();
    holds.clear();
    passed.clear();
    answered.clear();
    works.clear();
    held.clear();
    const bool idles = chance(30);
    asks = !idles;
    open = false;
    for (unsigned n = random() % 30; n; n--) {
      edge();
      if (top.closing_o || top.open_o) fail("the way is not closed behind a reset");
    }
    open = true;
    until("the way does not open", [&] { return top.open_o; });
    if (idles) {
      // No hold is left that could be too old.
      top.patience_i = 20;
      steps(100);
      top.patience_i = 0;
      asks = true;
    }
  }

  void resets() {
    for (unsigned round = 0; round < 200; round++) {
      stall = random() % 3 * 40;
      late = 5 + random() % 60;
      steps(random() % 250);
      if (held.size() && chance(50)) held.begin()->second = true;
      if (chance(20)) drain();
      if (chance(40)) {
        close();
        for (unsigned n = random() % 400; n && closing; n--) edge();
      }
      restart();
      if (violations) fail("a violation of a kernel that obeys", rule, at);
    }
    stall = 0;
    drain();
    if (violations) fail("a violation of a kernel that obeys", rule, at);
    if (taken < 1500 || given < 500) fail("too little was done", taken, given);
    std::printf("ok\n");
  }

  void drain() {
    asks = false;
    until("an access does not end", [&] { return !offered && passed.empty() && mine.empty() && answered.empty(); });
    asks = true;
  }

  void traffic(bool closes) {
    for (unsigned round = 0; round < 40; round++) {
      stall = random() % 3 * 40;
      late = 5 + random() % 60;
      steps(300);
      if (held.size() && chance(50)) held.begin()->second = true;
      if (closes) {
        close();
        // It may be opened again before all is home; then nothing is taken before.
        const bool early = chance(50);
        if (early) {
          edge();
          open = true;
        }
        until("the way does not close", [&] { return !closing; });
        open = true;
        until("the way does not open", [&] { return top.open_o; });
      }
      if (violations) fail("a violation of a kernel that obeys", rule, at);
    }
    drain();
    if (taken < 1500 || given == 0 || (closes && closings != 40)) fail("too little was done", taken, closings);
    std::printf("ok\n");
  }

  void rate() {
    stall = 0;
    late = 100;
    steps(100);
    const std::uint64_t start = cycle, before = taken, answers_before = given;
    steps(2000);
    const double cycles = double(cycle - start);
    std::printf("%f %f\n", double(taken - before) / cycles, double(given - answers_before) / cycles);
  }

  void quiet() {
    drain();
    asks = false;
    stall = 0;
    violations = 0;
  }
  void send(const Access& access) {
    offer = access;
    offered = true;
    until("it is not taken", [&] { return !offered; });
  }
  // What was sent breaks a rule: it is said once, and the access goes no further.
  void expect(unsigned which, std::uint64_t line) {
    if (!passed.empty() && passed.back().line == line) passed.pop_back();
    mine.clear();
    steps(10);
    if (violations != 1 || rule != which || at != line << 7) fail("not the rule", rule, at);
    violations = 0;
  }

  void bad(unsigned which) {
    steps(500);
    quiet();
    Access access{kLoad, 0, 0, 3, 0, fresh_line(), 1};
    if (which == kRuleAccess) {
      for (const unsigned kind : {5u, 6u, 7u}) {
        access.kind = kind;
        send(access);
        expect(which, access.line);
      }
    } else if (which == kRuleTag) {
      answers = false;
      send(access);
      steps(5);
      Access second = access;
      second.line = fresh_line();
      send(second);
      if (!passed.empty()) passed.pop_back();
      steps(5);
      if (violations != 1 || rule != which || at != second.line << 7) fail("not the rule", rule, at);
      violations = 0;
      answers = true;
      until("it is not answered", [&] { return mine.empty(); });
      // The tag has come back.
      send(access);
      until("it is not answered", [&] { return mine.empty(); });
      steps(5);
      if (violations) fail("a tag that has come back", rule);
    } else if (which == kRuleRange) {
      // The last line of the range, and the first one beyond it, of this slice.
      std::uint64_t last = kFrames * 32 - 1, beyond = kFrames * 32;
      while (!own(last)) last--;
      while (!own(beyond)) beyond++;
      access.line = last;
      send(access);
      until("it is not answered", [&] { return mine.empty(); });
      if (violations) fail("a line of the range", rule);
      for (const std::uint64_t line : {beyond, beyond | std::uint64_t(1) << 32}) {
        if (!own(line)) continue;
        access.line = line;
        send(access);
        expect(which, line);
      }
    } else if (which == kRuleSlice) {
      access.line ^= 1;
      send(access);
      expect(which, access.line);
    } else {
      hold();
    }
    std::printf("ok\n");
  }

  void hold() {
    constexpr unsigned kPatience = 200;
    // Nobody has a hold.
    for (unsigned hold = 0; hold < kHolds; hold++) {
      send({kRelease, 0, hold, 1, 0, fresh_line(), 0});
      until("it is not answered", [&] { return mine.empty(); });
    }
    late = 100;
    top.patience_i = kPatience;
    const Access acquire{kAcquire, 0, 0, 4, 0, fresh_line(), 0};
    send(acquire);
    until("it is not answered", [&] { return mine.empty(); });
    steps(kPatience - 10);
    if (violations) fail("too early", rule);
    send({kRelease, 0, 0, 4, 0, acquire.line, 0});
    steps(4 * kPatience);
    if (violations) fail("a hold that was released", rule);
    // One that is as old as it may be, and the next one of its number.
    send(acquire);
    until("it is not answered", [&] { return mine.empty(); });
    steps(kPatience + 20);
    send({kRelease, 0, 0, 4, 0, acquire.line, 0});
    until("it is not answered", [&] { return mine.empty(); });
    send(acquire);
    until("it is not answered", [&] { return mine.empty(); });
    steps(kPatience + 20);
    if (violations) fail("a hold that is not old", rule);
    send({kRelease, 0, 0, 4, 0, acquire.line, 0});
    steps(4 * kPatience);
    // One that is released in time does not make another old.
    send(acquire);
    until("it is not answered", [&] { return mine.empty(); });
    steps(kPatience / 2);
    Access second = acquire;
    second.line = fresh_line();
    send(second);
    until("it is not answered", [&] { return mine.empty(); });
    send({kRelease, 0, 0, 4, 0, acquire.line, 0});
    steps(kPatience / 2 + 20);
    if (violations) fail("too early", rule);
    steps(2 * kPatience);
    if (violations == 0 || rule != kRuleHold || at != second.line << 7) fail("not the rule", rule, at);
    top.patience_i = 0;
    steps(5);
    violations = 0;
    steps(4 * kPatience);
    if (violations) fail("no limit is no limit", rule);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string scenario = argv[1];
  Bench bench;
  bench.random.seed(std::strtoull(argv[2], nullptr, 0));
  bench.reset();
  if (scenario == "random") bench.traffic(false);
  else if (scenario == "closes") bench.traffic(true);
  else if (scenario == "resets") bench.resets();
  else if (scenario == "rate") bench.rate();
  else if (scenario == "access") bench.bad(kRuleAccess);
  else if (scenario == "tag") bench.bad(kRuleTag);
  else if (scenario == "range") bench.bad(kRuleRange);
  else if (scenario == "slice") bench.bad(kRuleSlice);
  else if (scenario == "hold") bench.bad(kRuleHold);
  else return 2;
  return 0;
}
