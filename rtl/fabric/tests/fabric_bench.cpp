// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_fabric: random requesters, in-order memory controllers, a scoreboard, and counts of
// rows a cycle. Usage: bench SCENARIO SEED; prints one line of results, exits non-zero on the first
// thing that is wrong.
//
// A row's content follows from its address (reads) or from address and tag (writes), so that any
// row in the wrong place shows. Each requester has a stripe (most scenarios: none); the bench has its
// own idea of where a striped address lies, and of where a burst must be cut. Resets come at any moment:
// nothing of what was under way comes out behind them.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "Vfabric_bench_top.h"
#include "verilated.h"

namespace {

constexpr int kChannels = NUM_CHANNELS;
constexpr int kReaders = 5;
constexpr int kWriters = 4;
constexpr int kChannelLog2 = 20;
constexpr uint64_t kChannelRows = (1ull << kChannelLog2) / 64;

using Row = std::array<uint32_t, 16>;

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

Row row_of(uint64_t key) {
  Row row;
  for (int i = 0; i < 16; i += 2) {
    const uint64_t word = mix(key * 16 + i);
    row[i] = static_cast<uint32_t>(word);
    row[i + 1] = static_cast<uint32_t>(word >> 32);
  }
  return row;
}

// Rows whose reads, and bursts whose writes, the controller answers with an error.
bool read_fails(uint64_t row_address) { return mix(row_address ^ 0x1111) % 61 == 0; }
bool write_fails(uint64_t row_address) { return mix(row_address ^ 0x2222) % 31 == 0; }

[[noreturn]] void fail(uint64_t cycle, const char* what, uint64_t a = 0, uint64_t b = 0) {
  std::printf("cycle %llu: %s (%llx, %llx)\n", static_cast<unsigned long long>(cycle), what,
              static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  std::exit(1);
}

struct Request {
  uint64_t row = 0;  // row number over all channels
  unsigned len = 0;
  unsigned tag = 0;
  unsigned group = 0;    // stripe: log2(channels)
  unsigned granule = 6;  // stripe: log2(bytes)
  // The row's place over all channels, channel after channel: granules of a group of channels are
  // dealt out in turn.
  uint64_t place(unsigned index) const {
    const uint64_t at = row + index;
    if (group == 0) return at;
    const uint64_t rows = 1ull << (granule - 6), channels = 1ull << group;
    const uint64_t group_rows = kChannelRows << group;
    const uint64_t in_group = at % group_rows, number = in_group / rows;
    const uint64_t channel = at / group_rows * channels + number % channels;
    return channel * kChannelRows + number / channels * rows + in_group % rows;
  }
  int channel(unsigned index) const { return static_cast<int>(place(index) / kChannelRows); }
  // Rows of the piece that starts at `index`, minus one.
  unsigned piece(unsigned index) const {
    unsigned end = index;
    while (end < len && (group == 0 || granule >= 12 || (row + end + 1) % (1u << (granule - 6)) != 0))
      ++end;
    return end - index;
  }
  unsigned stripe() const { return group << 5 | granule; }
  uint64_t packed() const { return row * 64 << 22 | static_cast<uint64_t>(len) << 16 | tag; }
};

struct Scenario {
  unsigned min_len = 0, max_len = 63;
  unsigned stall = 0;        // percent of cycles in which a ready or a valid is held back
  unsigned latency = 20;     // of the memory, cycles
  int cycles = 20000;
  bool pinned = false;    // requester r uses channel r modulo channels: every channel is saturated
  bool dma_and_one = false;  // the DMA requester and one other, both from channel 0
  bool striped = false;      // every requester has a stripe, granules of 64 B and up
  int granule = 0;           // log2(bytes): everybody has this granule over all channels
  unsigned resets = 0;       // before the run, with other traffic under way
};

struct Burst {
  Request request;
  uint64_t due = 0;
  unsigned done = 0;   // rows
  unsigned first = 0;  // expected pieces: index of the first row in its burst, and the rest of them
  unsigned rest = 0;   // rows minus one
  bool whole = true;   // the burst is this one piece
  int writer = 0;
};

class Bench {
 public:
  Bench(const Scenario& scenario, uint64_t seed) : s_(scenario), random_(seed) {
    for (int r = 0; r < kReaders; ++r) set_stripe(read_request_[r]);
    for (int w = 0; w < kWriters; ++w) set_stripe(write_request_[w]);
  }

  int run() {
    reset(4);
    for (unsigned i = 0; i < s_.resets; ++i) cut();
    for (cycle_ = 0; cycle_ < static_cast<uint64_t>(s_.cycles); ++cycle_) step();
    drain();
    const double n = s_.cycles;
    std::printf("read");
    for (int c = 0; c < kChannels; ++c) std::printf(" %.4f", rows_read_[c] / n);
    std::printf(" write");
    for (int c = 0; c < kChannels; ++c) std::printf(" %.4f", rows_written_[c] / n);
    std::printf(" grants");
    for (int r = 0; r < kReaders; ++r) std::printf(" %llu", (unsigned long long)granted_[r]);
    std::printf("\n");
    return 0;
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }
  bool go() { return s_.stall == 0 || !chance(s_.stall); }

  void drain() {
    draining_ = true;
    for (int i = 0; i < 200000 && busy(); ++i, ++cycle_) step();
    if (busy()) fail(cycle_, "requests are left over: deadlock");
  }

  // Resets the fabric, and with it its requesters and its memories.
  void reset(int cycles) {
    for (auto& reads : reads_)
      for (auto& pieces : reads) pieces.clear();
    for (auto& writes : writes_)
      for (auto& pieces : writes) pieces.clear();
    for (auto& rows : write_rows_) rows.clear();
    for (auto& left : left_) left.clear();
    for (auto& unacked : unacked_) unacked.clear();
    for (int c = 0; c < kChannels; ++c) {
      memory_reads_[c].clear();
      memory_writes_[c].clear();
      memory_acks_[c].clear();
      memory_rows_[c].clear();
      r_valid_[c] = b_valid_[c] = false;
    }
    std::fill_n(read_valid_, kReaders, false);
    std::fill_n(write_valid_, kWriters, false);
    draining_ = true;
    top_.rst_ni = 0;
    for (int i = 0; i < cycles; ++i) step();
    top_.rst_ni = 1;
    draining_ = false;
  }

  // Traffic with a load of its own, and a reset in the middle of it; now and then all of it ends first.
  void cut() {
    const Scenario scenario = s_;
    s_.stall = random_() % 80;
    s_.latency = random_() % 100;
    for (int r = 0; r < kReaders; ++r) set_stripe(read_request_[r]);
    for (int w = 0; w < kWriters; ++w) set_stripe(write_request_[w]);
    for (auto cycles = random_() % 400; cycles; --cycles, ++cycle_) step();
    if (random_() % 4 == 0) drain();
    reset(1 + random_() % 3);
    s_ = scenario;
  }

  static constexpr unsigned log2(unsigned n) { return n == 1 ? 0 : 1 + log2(n / 2); }

  void set_stripe(Request& request) {
    if (s_.granule != 0) {
      request.group = log2(kChannels);
      request.granule = s_.granule;
    } else if (s_.striped) {
      request.group = random_() % (log2(kChannels) + 1);
      request.granule = 6 + random_() % (kChannelLog2 - 6 + 1);
    }
  }

  // The pieces that a burst must become, towards each channel.
  unsigned expect(const Request& request, std::deque<Burst>* channels) {
    unsigned pieces = 0;
    for (unsigned index = 0; index <= request.len; ++pieces) {
      Burst piece{request};
      piece.first = index;
      piece.rest = request.piece(index);
      piece.whole = piece.rest == request.len;
      channels[request.channel(index)].push_back(piece);
      index += piece.rest + 1;
    }
    return pieces;
  }

  Request random_request(int requester, uint64_t half, const Request& last) {
    Request request;
    request.group = last.group;
    request.granule = last.granule;
    request.len = s_.min_len + random_() % (s_.max_len - s_.min_len + 1);
    const int channel = s_.dma_and_one ? 0
                        : s_.pinned    ? requester % kChannels
                                       : static_cast<int>(random_() % kChannels);
    // Reads use the lower half of a channel, writes the upper. One block of 64 rows: 4 KiB.
    const uint64_t block = random_() % (kChannelRows / 128);
    request.row = channel * kChannelRows + half * (kChannelRows / 2) + block * 64 +
                  random_() % (64 - request.len);
    request.tag = next_tag_++ & 0xFFFF;
    return request;
  }

  bool takes_part(int requester, int count) const {
    return !s_.dma_and_one || requester == count - 1 || requester == 0;
  }

  bool busy() const {
    for (int r = 0; r < kReaders; ++r) {
      if (read_valid_[r]) return true;
      for (int c = 0; c < kChannels; ++c)
        if (!reads_[r][c].empty()) return true;
    }
    for (int w = 0; w < kWriters; ++w) {
      if (write_valid_[w] || !write_rows_[w].empty()) return true;
      for (int c = 0; c < kChannels; ++c)
        if (!writes_[w][c].empty()) return true;
    }
    return false;
  }

  // One clock cycle: inputs for it, the values before the edge, what they mean, the edge.
  void step() {
    drive();
    top_.clk_i = 0;
    top_.eval();
    if (top_.rst_ni) observe();
    top_.clk_i = 1;
    top_.eval();
  }

  void drive() {
    for (int r = 0; r < kReaders; ++r) {
      if (!read_valid_[r] && !draining_ && takes_part(r, kReaders) && go()) {
        read_valid_[r] = true;
        if (r == kReaders - 1) set_stripe(read_request_[r]);  // the DMA: one a command
        read_request_[r] = random_request(r, 0, read_request_[r]);
        expect(read_request_[r], reads_[r]);
        left_[r][read_request_[r].tag] = read_request_[r].len + 1;
      }
      top_.read_req_valid_i[r] = read_valid_[r] && top_.rst_ni;
      top_.read_req_i[r] = read_request_[r].packed();
      top_.read_stripe_i[r] = read_request_[r].stripe();
      top_.read_rsp_ready_i[r] = go();
    }
    for (int w = 0; w < kWriters; ++w) {
      if (!write_valid_[w] && !draining_ && takes_part(w, kWriters) && go()) {
        write_valid_[w] = true;
        if (w == kWriters - 1) set_stripe(write_request_[w]);
        write_request_[w] = random_request(w, 1, write_request_[w]);
        const unsigned pieces = expect(write_request_[w], writes_[w]);
        unacked_[w][write_request_[w].tag] = pieces;
        // All rows are ready before the request is made, as the contract says.
        for (unsigned i = 0; i <= write_request_[w].len; ++i)
          write_rows_[w].push_back({write_request_[w], i});
      }
      top_.write_req_valid_i[w] = write_valid_[w] && top_.rst_ni;
      top_.write_req_i[w] = write_request_[w].packed();
      top_.write_stripe_i[w] = write_request_[w].stripe();
      top_.write_data_valid_i[w] = !write_rows_[w].empty() && top_.rst_ni;
      if (!write_rows_[w].empty()) {
        const auto& [request, index] = write_rows_[w].front();
        const Row row = row_of(request.place(index) << 16 | request.tag);
        // {last, strobe, row}, most significant first.
        auto& word = top_.write_data_i[w];
        const uint64_t strobe = mix(request.place(index));
        for (int i = 0; i < 16; ++i) word[i] = row[i];
        word[16] = static_cast<uint32_t>(strobe);
        word[17] = static_cast<uint32_t>(strobe >> 32);
        word[18] = index == request.len;
      }
      top_.write_rsp_ready_i[w] = go();
    }
    for (int c = 0; c < kChannels; ++c) {
      top_.mem_ar_ready_i[c] = go();
      top_.mem_aw_ready_i[c] = go();
      top_.mem_w_ready_i[c] = go();
      // A valid, once up, stays.
      if (!r_valid_[c]) r_valid_[c] = !memory_reads_[c].empty() &&
                                      memory_reads_[c].front().due <= cycle_ && go();
      top_.mem_r_valid_i[c] = r_valid_[c];
      if (r_valid_[c]) {
        const Burst& burst = memory_reads_[c].front();
        const uint64_t row_address = burst.request.row + burst.done;
        const Row row = row_of(row_address);
        // {last, error, row}
        auto& word = top_.mem_r_i[c];
        for (int i = 0; i < 16; ++i) word[i] = row[i];
        word[16] = read_fails(row_address) | (burst.done == burst.request.len) << 1;
      }
      if (!b_valid_[c]) b_valid_[c] = !memory_acks_[c].empty() &&
                                      memory_acks_[c].front().due <= cycle_ && go();
      top_.mem_b_valid_i[c] = b_valid_[c];
      top_.mem_b_error_i[c] = b_valid_[c] && write_fails(memory_acks_[c].front().request.row);
    }
  }

  void observe() {
    const bool counting = !draining_;
    // Requests that are granted, and their order towards each channel.
    for (int r = 0; r < kReaders; ++r) {
      if (top_.read_req_valid_i[r] && top_.read_req_ready_o[r]) {
        read_valid_[r] = false;
        if (counting) ++granted_[r];
      }
      if (top_.read_rsp_valid_o[r] && top_.read_rsp_ready_i[r]) check_row(r);
    }
    for (int w = 0; w < kWriters; ++w) {
      if (top_.write_req_valid_i[w] && top_.write_req_ready_o[w]) {
        write_valid_[w] = false;
      }
      if (top_.write_data_valid_i[w] && top_.write_data_ready_o[w]) write_rows_[w].pop_front();
      if (top_.write_rsp_valid_o[w] && top_.write_rsp_ready_i[w]) check_response(w);
    }
    for (int c = 0; c < kChannels; ++c) {
      if (r_valid_[c] && top_.mem_r_ready_o[c]) {
        r_valid_[c] = false;
        Burst& burst = memory_reads_[c].front();
        if (burst.done++ == burst.request.len) memory_reads_[c].pop_front();
        if (counting) ++rows_read_[c];
      }
      if (b_valid_[c] && top_.mem_b_ready_o[c]) {
        b_valid_[c] = false;
        --unacked_[memory_acks_[c].front().writer][memory_acks_[c].front().request.tag];
        memory_acks_[c].pop_front();
      }
      if (top_.mem_ar_valid_o[c] && top_.mem_ar_ready_i[c])
        memory_reads_[c].push_back(memory_burst(c, top_.mem_ar_o[c]));
      if (top_.mem_aw_valid_o[c] && top_.mem_aw_ready_i[c])
        memory_writes_[c].push_back(memory_burst(c, top_.mem_aw_o[c]));
      if (top_.mem_w_valid_o[c] && top_.mem_w_ready_i[c]) {
        std::array<uint32_t, 19> word;
        for (int i = 0; i < 19; ++i) word[i] = top_.mem_w_o[c][i];
        memory_rows_[c].push_back(word);
        if (counting) ++rows_written_[c];
      }
      // MaxReads, and two that have left the order queue; MaxReadRows, and a burst.
      if (memory_reads_[c].size() > 66) fail(cycle_, "too many reads outstanding");
      unsigned rows = 0;
      for (const Burst& burst : memory_reads_[c]) rows += burst.request.len + 1 - burst.done;
      if (rows > 128 + 63) fail(cycle_, "too many rows outstanding");
      // Rows may run ahead of their address.
      while (!memory_writes_[c].empty() && !memory_rows_[c].empty()) store_row(c);
    }
  }

  Burst memory_burst(int channel, const VlWide<3>& word) {
    // {addr 64, len 8}
    Burst burst;
    burst.request.len = word[0] & 0xFF;
    const uint64_t address = static_cast<uint64_t>(word[0]) >> 8 |
                             static_cast<uint64_t>(word[1]) << 24 |
                             static_cast<uint64_t>(word[2]) << 56;
    if (address % 64 != 0 || address >= 1ull << kChannelLog2)
      fail(cycle_, "address outside its channel", address, channel);
    burst.request.row = channel * kChannelRows + address / 64;
    burst.due = cycle_ + s_.latency;
    return burst;
  }

  void store_row(int c) {
    Burst& burst = memory_writes_[c].front();
    const auto& word = memory_rows_[c].front();
    const bool last = word[18] & 1;
    if (last != (burst.done == burst.request.len)) fail(cycle_, "last in the wrong place", c);
    // Whose row it is shows in its content: find the writer whose piece here it can be.
    Row row;
    for (int i = 0; i < 16; ++i) row[i] = word[i];
    const uint64_t strobe = static_cast<uint64_t>(word[17]) << 32 | word[16];
    const uint64_t address = burst.request.row + burst.done;
    bool known = false;
    for (int w = 0; w < kWriters && !known; ++w)
      for (const Burst& piece : writes_[w][c])
        if (piece.request.place(piece.first) == burst.request.row &&
            piece.rest == burst.request.len &&
            row == row_of(address << 16 | piece.request.tag)) {
          known = true;
          burst.writer = w;
          burst.request.tag = piece.request.tag;
          break;
        }
    if (!known) fail(cycle_, "row written to the wrong place", address, c);
    if (strobe != mix(address)) fail(cycle_, "strobe changed", address);
    memory_rows_[c].pop_front();
    if (burst.done++ == burst.request.len) {
      burst.due = cycle_ + s_.latency;
      memory_acks_[c].push_back(burst);
      memory_writes_[c].pop_front();
    }
  }

  void check_row(int r) {
    // {tag 16, index 6, last, error, row}
    const auto& word = top_.read_rsp_o[r];
    const bool error = word[16] & 1, last = word[16] >> 1 & 1;
    const unsigned index = word[16] >> 2 & 63, tag = word[16] >> 8 & 0xFFFF;
    Row row;
    for (int i = 0; i < 16; ++i) row[i] = word[i];
    // The oldest piece of one of the channels must be the one.
    for (int c = 0; c < kChannels; ++c) {
      if (reads_[r][c].empty()) continue;
      Burst& piece = reads_[r][c].front();
      if (piece.request.tag != tag || piece.first + piece.done != index) continue;
      const uint64_t address = piece.request.place(index);
      if (row != row_of(address)) continue;
      if (error != read_fails(address)) fail(cycle_, "error lost or made up", address);
      if (last != (--left_[r][tag] == 0)) fail(cycle_, "last of a read", r, index);
      if (piece.done++ == piece.rest) reads_[r][c].pop_front();
      return;
    }
    fail(cycle_, "row that nobody asked for, or out of order", r, tag);
  }

  void check_response(int w) {
    // {tag 16, error}
    const unsigned tag = top_.write_rsp_o[w] >> 1;
    const bool error = top_.write_rsp_o[w] & 1;
    if (unacked_[w].count(tag) == 0) fail(cycle_, "write response that nobody waits for", w, tag);
    if (unacked_[w][tag] != 0) fail(cycle_, "write response before that of the memory", w, tag);
    unacked_[w].erase(tag);
    bool failed = false;
    for (int c = 0; c < kChannels; ++c) {
      bool overtaken = false;
      for (auto piece = writes_[w][c].begin(); piece != writes_[w][c].end();) {
        if (piece->request.tag != tag) {
          overtaken |= piece->whole;
          ++piece;
          continue;
        }
        if (piece->whole && overtaken) fail(cycle_, "write response out of order", w, tag);
        failed |= write_fails(piece->request.place(piece->first));
        piece = writes_[w][c].erase(piece);
      }
    }
    if (error != failed) fail(cycle_, "write response with the wrong error", w, tag);
  }

  Scenario s_;
  std::mt19937_64 random_;
  Vfabric_bench_top top_;
  uint64_t cycle_ = 0;
  bool draining_ = false;
  unsigned next_tag_ = 0;

  bool read_valid_[kReaders] = {}, write_valid_[kWriters] = {};
  Request read_request_[kReaders], write_request_[kWriters];
  std::deque<std::pair<Request, unsigned>> write_rows_[kWriters];
  std::deque<Burst> reads_[kReaders][kChannels], writes_[kWriters][kChannels];
  std::map<unsigned, unsigned> left_[kReaders];     // rows of a read that are to come, by tag
  std::map<unsigned, unsigned> unacked_[kWriters];  // pieces of a write without a response of the memory

  bool r_valid_[kChannels] = {}, b_valid_[kChannels] = {};
  std::deque<Burst> memory_reads_[kChannels], memory_writes_[kChannels], memory_acks_[kChannels];
  std::deque<std::array<uint32_t, 19>> memory_rows_[kChannels];

  uint64_t rows_read_[kChannels] = {}, rows_written_[kChannels] = {}, granted_[kReaders] = {};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s SCENARIO SEED\n", argv[0]);
    return 2;
  }
  const std::map<std::string, Scenario> scenarios = {
      {"random", {.stall = 30}},
      {"short", {.max_len = 3, .stall = 30}},
      {"stalled", {.stall = 80, .cycles = 40000}},
      {"unstalled", {}},
      {"slow_memory", {.latency = 200}},
      {"full_bursts", {.min_len = 62, .pinned = true}},
      {"short_bursts", {.min_len = 3, .max_len = 3, .pinned = true}},
      {"single_rows", {.max_len = 0, .pinned = true}},
      {"striped", {.stall = 30, .striped = true}},
      {"striped_stalled", {.stall = 80, .cycles = 40000, .striped = true}},
      {"striped_unstalled", {.striped = true}},
      {"striped_slow_memory", {.latency = 200, .striped = true}},
      {"striped_many",
       {.min_len = 1, .max_len = 1, .latency = 400, .cycles = 5000, .dma_and_one = true, .granule = 6}},
      {"striped_short", {.max_len = 3, .stall = 30, .striped = true}},
      {"granule_64", {.min_len = 62, .granule = 6}},
      {"granule_512", {.min_len = 62, .granule = 9}},
      {"granule_4096", {.min_len = 62, .granule = 12}},
      {"resets", {.stall = 30, .cycles = 1000, .resets = 150}},
      {"striped_resets", {.stall = 30, .cycles = 1000, .striped = true, .resets = 150}},
      {"fairness", {.max_len = 0, .dma_and_one = true}},
  };
  const auto scenario = scenarios.find(argv[1]);
  if (scenario == scenarios.end()) {
    std::fprintf(stderr, "unknown scenario %s\n", argv[1]);
    return 2;
  }
  Bench bench(scenario->second, std::strtoull(argv[2], nullptr, 0));
  return bench.run();
}
