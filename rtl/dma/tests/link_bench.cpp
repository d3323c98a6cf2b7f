// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_dma_host and tmb_host_channel: three readers and three writers of host memory at once, a host that
// answers late, mixes the answers of different users and fails at random, and resets at any moment. A row's content
// follows from its address. Usage: bench SEED CYCLES.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "Vlink_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kUsers = 3;
constexpr unsigned kSharedRows = 128, kMaxWrites = 4, kBurst = 64;
constexpr unsigned kHostReadRows = 512;  // tmb_fabric_pkg::HostReadRows
// IDs of the users at the host (tmb_dma_pkg::host_id_e).
constexpr std::array<unsigned, kUsers> kReaderId = {0, 1, 4}, kWriterId = {2, 3, 4};
// The third user's answers wait until they are taken.
constexpr unsigned kPages = 2;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
bool read_fails(std::uint64_t row) { return mix(row + 1) % 8 == 0; }
bool write_fails(std::uint64_t addr) { return mix(addr + 2) % 4 == 0; }
std::uint64_t strobe_of(std::uint64_t row) { return mix(row + 3); }

struct Burst {
  std::uint64_t addr = 0;
  unsigned len = 0, at = 0, user = 0;
  std::uint64_t row() const { return addr + 64 * at; }
};

struct Bench {
  Vlink_bench_top top;
  std::mt19937_64 random;
  std::uint64_t cycle = 0;
  unsigned stall = 0;
  bool quiet = false;
  std::uint64_t done[2] = {}, errors[2] = {}, both_full = 0, responses_full = 0, rows_full = 0;

  // Users.
  std::array<bool, kUsers> ar_offered{}, aw_offered{}, w_offered{};
  std::array<Burst, kUsers> ar, aw;
  std::array<std::deque<Burst>, kUsers> reads, sends, writes;  // to be answered; rows to be sent; to be acknowledged
  std::array<unsigned, kUsers> asked{}, untaken{};  // rows: not at the shell yet; not taken
  // The row or response of the last cycle stands in a register: it is one less a cycle later.
  std::array<unsigned, kUsers> arrived{};

  // Host.
  std::array<std::deque<Burst>, kUsers> host_reads, host_acks;
  std::deque<Burst> host_writes;                       // addresses, their rows still to come
  std::array<std::deque<Burst>, kUsers> expected_aw;   // granted to a user, not yet at the host
  std::array<std::deque<Burst>, kUsers> expected_ar;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
                (unsigned long long)b);
    std::exit(1);
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }
  bool go() { return !chance(stall); }

  Burst fresh(unsigned user) {
    const unsigned row = random() % kBurst;
    const unsigned most = kBurst - row;
    return {(random() % (1ull << 40)) * 4096 + 64 * row, unsigned(chance(30) ? most - 1 : chance(30) ? 0 : random() % most), 0, user};
  }

  void drive() {
    for (unsigned u = 0; u < kUsers; ++u) {
      // The channel asks for no more than there is room for.
      const bool room = untaken[u] <= kHostReadRows;
      if (!ar_offered[u] && !quiet && room && chance(busy[u])) {
        ar[u] = fresh(u);
        ar_offered[u] = true;
      }
      top.ar_valid_i[u] = ar_offered[u];
      top.ar_addr_i[u] = ar[u].addr;
      top.ar_len_i[u] = ar[u].len;
      const bool may_write = u != kPages || writes[u].size() + aw_offered[u] < kMaxWrites;
      if (!aw_offered[u] && !quiet && may_write && chance(busy[u])) {
        aw[u] = fresh(u);
        aw_offered[u] = true;
        // Its rows are all here, and may be offered with the address.
        sends[u].push_back(aw[u]);
      }
      top.aw_valid_i[u] = aw_offered[u];
      top.aw_addr_i[u] = aw[u].addr;
      top.aw_len_i[u] = aw[u].len;
      w_offered[u] = !sends[u].empty() && (w_offered[u] || go());
      top.w_valid_i[u] = w_offered[u];
      if (w_offered[u]) {
        const Burst& burst = sends[u].front();
        top.w_data_i[u] = mix(burst.row());
        top.w_last_i[u] = burst.at == burst.len;
        if (u == kPages) top.page_w_strobe_i = strobe_of(burst.row());
      }
    }
    top.page_r_ready_i = !deaf && go();
    top.page_b_ready_i = !deaf && go();

    top.host_ar_ready_i = go();
    top.host_aw_ready_i = go();
    top.host_w_ready_i = go();
    // Any user's oldest answer.
    top.host_r_valid_i = 0;
    const unsigned reader = random() % kUsers;
    if (!slow && !host_reads[reader].empty() && go()) {
      const Burst& burst = host_reads[reader].front();
      top.host_r_valid_i = 1;
      top.host_r_id_i = kReaderId[reader];
      top.host_r_data_i = mix(burst.row());
      top.host_r_last_i = burst.at == burst.len;
      top.host_r_error_i = read_fails(burst.row());
    }
    top.host_b_valid_i = 0;
    const unsigned writer = random() % kUsers;
    if (!slow && !host_acks[writer].empty() && go()) {
      top.host_b_valid_i = 1;
      top.host_b_id_i = kWriterId[writer];
      top.host_b_error_i = write_fails(host_acks[writer].front().addr);
    }
  }
  std::array<unsigned, kUsers> busy = {20, 20, 20};
  bool deaf = false, slow = false;

  static unsigned user_of(const std::array<unsigned, kUsers>& ids, unsigned id) {
    unsigned user = 0;
    while (user < kUsers && ids[user] != id) ++user;
    return user;
  }

  void sample_users() {
    for (unsigned u = 1; u < kUsers; ++u) {
      const unsigned other = 3 - u;
      if (top.ar_ready_o[u] && ar_offered[u] && asked[u] > kSharedRows - kBurst &&
          (asked[other] || ar_offered[other]))
        fail("a reader has more than its share of the link", u, asked[u]);
    }
    both_full += ar_offered[1] && ar_offered[2] && asked[1] > kSharedRows - kBurst && asked[2] > kSharedRows - kBurst;
    for (unsigned u = 0; u < kUsers; ++u) asked[u] -= arrived[u];
    for (unsigned u = 0; u < kUsers; ++u) {
      if (ar_offered[u] && top.ar_ready_o[u]) {
        ar_offered[u] = false;
        expected_ar[u].push_back(ar[u]);
        reads[u].push_back(ar[u]);
        asked[u] += ar[u].len + 1;
        untaken[u] += ar[u].len + 1;
      }
      if (aw_offered[u] && top.aw_ready_o[u]) {
        aw_offered[u] = false;
        expected_aw[u].push_back(aw[u]);
        writes[u].push_back(aw[u]);
      }
      if (w_offered[u] && top.w_ready_o[u]) {
        w_offered[u] = false;
        if (sends[u].front().at++ == sends[u].front().len) sends[u].pop_front();
      }
      if (top.r_valid_o[u] && (u != kPages || top.page_r_ready_i)) {
        if (reads[u].empty()) fail("a row that nobody asked for", u);
        Burst& burst = reads[u].front();
        if (top.r_data_o[u] != mix(burst.row())) fail("another row", u, burst.addr);
        if (top.r_error_o[u] != read_fails(burst.row())) fail("error of a row", u, burst.addr);
        errors[0] += top.r_error_o[u];
        if (top.r_last_o[u] != (burst.at == burst.len)) fail("last row", u, burst.addr);
        --untaken[u];
        if (burst.at++ == burst.len) {
          reads[u].pop_front();
          ++done[0];
        }
      }
      if (top.b_valid_o[u] && (u != kPages || top.page_b_ready_i)) {
        if (writes[u].empty()) fail("a response that nobody waits for", u);
        if (top.b_error_o[u] != write_fails(writes[u].front().addr)) fail("error of a write", u, writes[u].front().addr);
        errors[1] += top.b_error_o[u];
        writes[u].pop_front();
        ++done[1];
      }
    }
    rows_full += deaf && !asked[kPages] && untaken[kPages] > kHostReadRows;
    responses_full += deaf && host_acks[kPages].empty() && host_writes.empty() && writes[kPages].size() == kMaxWrites;
  }

  void sample_host() {
    if (!top.host_r_ready_o || !top.host_b_ready_o) fail("an answer of the host is not taken");
    arrived = {};
    if (top.host_r_valid_i) {
      const unsigned u = user_of(kReaderId, top.host_r_id_i);
      if (host_reads[u].front().at++ == host_reads[u].front().len) host_reads[u].pop_front();
      arrived[u] = 1;
    }
    if (top.host_b_valid_i) host_acks[user_of(kWriterId, top.host_b_id_i)].pop_front();
    if (top.host_ar_valid_o && top.host_ar_ready_i) {
      const unsigned u = user_of(kReaderId, top.host_ar_id_o);
      if (u == kUsers || expected_ar[u].empty()) fail("a read of nobody", top.host_ar_id_o);
      const Burst wanted = expected_ar[u].front();
      expected_ar[u].pop_front();
      if (top.host_ar_addr_o != wanted.addr || top.host_ar_len_o != wanted.len) fail("another read", u, wanted.addr);
      host_reads[u].push_back(wanted);
    }
    if (top.host_w_valid_o && top.host_w_ready_i) {
      if (host_writes.empty()) early.push_back(row());
      else take_row(row());
    }
    if (top.host_aw_valid_o && top.host_aw_ready_i) {
      const unsigned u = user_of(kWriterId, top.host_aw_id_o);
      if (u == kUsers || expected_aw[u].empty()) fail("a write of nobody", top.host_aw_id_o);
      const Burst wanted = expected_aw[u].front();
      expected_aw[u].pop_front();
      if (top.host_aw_addr_o != wanted.addr || top.host_aw_len_o != wanted.len) fail("another write", u, wanted.addr);
      host_writes.push_back(wanted);
      while (!early.empty() && !host_writes.empty()) {
        take_row(early.front());
        early.pop_front();
      }
    }
  }

  struct Row {
    std::uint64_t data, strobe;
    bool last;
  };
  std::deque<Row> early;  // rows that came before their address
  Row row() { return {top.host_w_data_o, top.host_w_strobe_o, bool(top.host_w_last_o)}; }
  void take_row(const Row& got) {
    Burst& burst = host_writes.front();
    if (got.data != mix(burst.row())) fail("another row is written", burst.user, burst.addr);
    const std::uint64_t strobe = burst.user == kPages ? strobe_of(burst.row()) : ~0ull;
    if (got.strobe != strobe) fail("strobes of a row", burst.user, got.strobe);
    if (got.last != (burst.at == burst.len)) fail("last row of a write", burst.user, burst.addr);
    if (burst.at++ == burst.len) {
      host_acks[burst.user].push_back(burst);
      host_writes.pop_front();
    }
  }

  void edge() {
    top.rst_ni = 1;
    drive();
    top.eval();
    sample_users();
    sample_host();
    tick();
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
    ar_offered = aw_offered = w_offered = {};
    for (auto* queues : {&reads, &sends, &writes, &host_reads, &host_acks, &expected_aw, &expected_ar})
      for (auto& queue : *queues) queue.clear();
    host_writes.clear();
    early.clear();
    asked = untaken = arrived = {};
    for (unsigned u = 0; u < kUsers; ++u) top.ar_valid_i[u] = top.aw_valid_i[u] = top.w_valid_i[u] = 0;
    top.host_r_valid_i = top.host_b_valid_i = 0;
    for (int i = 0; i < 2; ++i) tick();
  }

  void drain() {
    quiet = true;
    stall = 0;
    deaf = slow = false;
    for (unsigned left = 20000;; --left) {
      bool empty = true;
      for (unsigned u = 0; u < kUsers; ++u)
        empty &= reads[u].empty() && writes[u].empty() && !ar_offered[u] && !aw_offered[u] && sends[u].empty();
      if (empty) break;
      if (!left) fail("something is never answered");
      edge();
    }
    quiet = false;
  }

  void run(std::uint64_t cycles) {
    reset();
    while (cycle < cycles) {
      stall = chance(40) ? 0 : random() % 80;
      for (auto& percent : busy) percent = chance(20) ? 100 : chance(20) ? 0 : random() % 40;
      deaf = chance(20);
      slow = chance(20);
      for (unsigned n = random() % (deaf ? 2000 : 500); n; --n) edge();
      if (chance(30)) drain();
      if (chance(10)) reset();
    }
    drain();
    for (const std::uint64_t count : {done[0], done[1], 10 * errors[0], 10 * errors[1]})
      if (count < cycles / 200) fail("too little was done", done[0], done[1]);
    if (!both_full || !responses_full || !rows_full) fail("a bound was not reached", both_full, responses_full);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Bench bench;
  bench.random.seed(std::strtoull(argv[1], nullptr, 0));
  bench.run(std::strtoull(argv[2], nullptr, 0));
  return 0;
}
