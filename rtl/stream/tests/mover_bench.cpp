// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_stream_mover: packets from memory through a kernel that hands them back in beats of
// random size, and into memory again. Memory and kernel stall at random; lengths are log-uniform from
// 1 byte to 64 KiB, at any alignment. Every byte of memory, every count and every end of a packet is
// compared. Usage: bench SCENARIO SEED TRANSFERS.
//
//   random   everything above; transfers that are stopped, memory that fails now and then, resets at any moment
//   rate     no stalls; prints beats a cycle within a long packet, for nine pairs of alignments
//   stop     a transfer that gets no more is stopped; what comes later is the next one's
//   holes    beats whose TKEEP has a hole, behind any number of bytes
//   long     transfers of more than 256 KiB, and ranges that no kernel fills
//   errors   a row that cannot be read, at each place of a long transfer

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "Vmover_bench_top.h"
#include "verilated.h"

namespace {

constexpr std::size_t kRow = 64;
constexpr std::size_t kHalf = 1 << 19;  // packets come from the lower half, go to the upper one
constexpr std::uint64_t kLongest = 1 << 16;

struct Beat {
  std::uint8_t data[kRow] = {};
  unsigned count = 0;
  bool last = false;
};

struct Burst {
  std::uint64_t addr;
  unsigned len;
  unsigned at = 0;
};

struct Bench {
  Vmover_bench_top top;
  std::mt19937_64 random;
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(2 * kHalf);
  std::uint64_t cycle = 0;
  unsigned memory_stall = 0, kernel_stall = 0;  // percent
  std::uint64_t bad_row = ~0ull;  // a read of it fails
  unsigned bad_writes = 0;        // percent of writes that fail
  std::uint64_t hole = 0;         // TKEEP of the beats that follow
  bool read_failed = false, write_failed = false;  // in the transfer
  std::uint64_t ended_at = 0;
  bool ended = false;  // the packet's last beat is in the mover out, the transfer that takes it goes on
  std::deque<Burst> reads, writes;
  unsigned responses = 0;
  std::deque<Beat> kernel;  // what it has and has not sent
  unsigned kernel_room = 64;
  std::vector<std::uint8_t> open;  // bytes taken and not yet cut to beats
  bool cut = false;  // in beats of random size
  bool r_offered = false, out_offered = false, b_offered = false;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llu, %llu)\n", (unsigned long long)cycle, what,
                (unsigned long long)a, (unsigned long long)b);
    std::exit(1);
  }

  bool chance(unsigned percent) { return random() % 100 < percent; }

  void drive() {
    top.ar_ready_i = reads.size() < 8 && !chance(memory_stall);
    top.aw_ready_i = writes.size() < 8 && !chance(memory_stall);
    // An offer stays until it is taken.
    r_offered = !reads.empty() && (r_offered || !chance(memory_stall));
    top.r_valid_i = r_offered;
    top.r_resp_i = 0;
    if (r_offered) {
      const Burst& burst = reads.front();
      // Both errors of AXI; EXOKAY is none.
      if (burst.addr + kRow * burst.at == bad_row) top.r_resp_i = 2 + bad_row / kRow % 2;
      else if (burst.at % 8 == 5) top.r_resp_i = 1;
      std::memcpy(&top.r_data_i[0], &memory[burst.addr + kRow * burst.at], kRow);
    }
    b_offered = responses != 0 && !chance(memory_stall);
    top.b_valid_i = b_offered;
    top.b_resp_i = chance(bad_writes) ? 2 + random() % 2 : random() % 2;
    top.w_ready_i = !writes.empty() && !chance(memory_stall);
    top.in_ready_i = kernel.size() < kernel_room && !chance(kernel_stall);
    out_offered = !kernel.empty() && (out_offered || !chance(kernel_stall));
    top.out_valid_i = out_offered;
    if (out_offered) {
      const Beat& beat = kernel.front();
      std::memcpy(&top.out_data_i[0], beat.data, kRow);
      top.out_keep_i = beat.count == kRow ? ~0ull : (1ull << beat.count) - 1;
      if (hole) top.out_keep_i = hole;
      top.out_last_i = beat.last;
    }
    top.eval();
  }

  void kernel_takes() {
    Beat beat;
    std::memcpy(beat.data, &top.in_data_o[0], kRow);
    const std::uint64_t keep = top.in_keep_o;
    beat.count = __builtin_popcountll(keep);
    beat.last = top.in_last_o;
    if (beat.count != kRow && keep != (1ull << beat.count) - 1) fail("TKEEP has a hole", keep);
    for (unsigned i = beat.count; i < kRow; ++i)
      if (beat.data[i]) fail("a byte beyond TKEEP is not zero", i);
    if (!cut) {
      kernel.push_back(beat);
      return;
    }
    open.insert(open.end(), beat.data, beat.data + beat.count);
    const std::size_t least = beat.last ? 0 : 3 * kRow;
    while (open.size() > least) {
      Beat out;
      out.count = std::min<std::size_t>(chance(30) ? random() % (kRow + 1) : kRow, open.size());
      std::memcpy(out.data, open.data(), out.count);
      open.erase(open.begin(), open.begin() + out.count);
      out.last = beat.last && open.empty();
      if (out.last && chance(20)) {  // TLAST by itself
        out.last = false;
        kernel.push_back(out);
        out = Beat{};
        out.last = true;
      }
      kernel.push_back(out);
    }
  }

  void sample() {
    if (r_offered && top.r_ready_o) {
      r_offered = false;
      read_failed |= top.r_resp_i >= 2;
      if (reads.front().at++ == reads.front().len) reads.pop_front();
    }
    if (top.ar_valid_o && top.ar_ready_i) {
      const Burst burst{top.ar_addr_o, top.ar_len_o};
      check_burst(burst);
      reads.push_back(burst);
    }
    if (b_offered) {
      --responses;
      write_failed |= top.b_resp_i >= 2;
    }
    if (top.out_begin_o && (ended || !top.busy_o[1])) fail("a packet may begin that nobody asked for");
    if (top.w_valid_o && top.w_ready_i) {
      Burst& burst = writes.front();
      const std::uint8_t* row = reinterpret_cast<const std::uint8_t*>(&top.w_data_o[0]);
      for (unsigned i = 0; i < kRow; ++i)
        if (top.w_strb_o >> i & 1) memory[burst.addr + kRow * burst.at + i] = row[i];
      if (top.w_last_o != (burst.at == burst.len)) fail("WLAST");
      if (burst.at++ == burst.len) {
        writes.pop_front();
        ++responses;
      }
    }
    if (top.aw_valid_o && top.aw_ready_i) {
      const Burst burst{top.aw_addr_o, top.aw_len_o};
      check_burst(burst);
      writes.push_back(burst);
    }
    if (out_offered && top.out_ready_o) {
      out_offered = false;
      if (kernel.front().last) {
        ended = true;
        ended_at = cycle;
      }
      kernel.pop_front();
    }
    if (top.in_valid_o && top.in_ready_i) kernel_takes();
  }

  void check_burst(const Burst& burst) {
    const std::uint64_t end = burst.addr + kRow * (burst.len + 1);
    if (burst.addr % kRow) fail("a burst is not aligned to rows", burst.addr);
    if (burst.addr / 4096 != (end - 1) / 4096) fail("a burst crosses 4 KiB", burst.addr, burst.len);
    if (end > memory.size()) fail("a burst beyond memory", burst.addr);
  }

  void edge() {
    drive();
    sample();
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    top.start_i[0] = top.start_i[1] = 0;
    top.stop_i = 0;
    ++cycle;
  }

  void reset() {
    top.rst_ni = 0;
    for (int m = 0; m < 2; ++m) top.start_i[m] = top.done_ready_i[m] = 0;
    // Reset is synchronous: a beat may still cross at the first edge.
    for (int i = 0; i < 3; ++i) {
      edge();
      reads.clear();
      writes.clear();
      kernel.clear();
      open.clear();
      responses = 0;
      r_offered = out_offered = b_offered = ended = false;
    }
    top.rst_ni = 1;
    edge();
  }

  void start(int mover, std::uint64_t addr, std::uint64_t bytes, bool last = true) {
    if (top.busy_o[mover]) fail("busy before the start", mover);
    top.addr_i[mover] = addr;
    top.bytes_i[mover] = bytes;
    top.last_i = last;
    top.start_i[mover] = 1;
    edge();
  }

  // Takes the end of a transfer, when there is one.
  bool done(int mover) {
    if (!top.done_valid_o[mover]) return false;
    top.done_ready_i[mover] = 1;
    return true;
  }

  void acknowledge(int mover) {
    edge();
    top.done_ready_i[mover] = 0;
  }

  std::uint64_t log_uniform() {
    const double most = std::log2(double(kLongest));
    const double exponent = most * double(random() >> 11) / double(1ull << 53);
    return std::min<std::uint64_t>(kLongest, std::uint64_t(std::exp2(exponent)));
  }

  // A packet through the kernel, in and out in one or more transfers.
  void packet() {
    const std::uint64_t bytes = log_uniform();
    const std::uint64_t from = random() % (kHalf - bytes);
    bad_row = chance(4) ? (from + random() % bytes) / kRow * kRow : ~0ull;
    bad_writes = chance(4) ? 30 : 0;
    for (std::uint64_t i = 0; i < bytes; ++i) memory[from + i] = std::uint8_t(random() | 1);
    std::vector<std::uint8_t> wanted(memory.begin() + kHalf, memory.end());
    std::uint64_t sent = 0, piece = 0, moved = 0, room = 0, to = 0;
    bool in_open = false, in_last = false, out_open = false, packet_open = true;
    bool stopped = false;
    const bool stops = chance(30);
    // The ends of transfers are taken at once, or late.
    const unsigned late = chance(50) ? 0 : 90;
    std::uint64_t ends_at = chance(15) ? cycle + random() % 400 : ~0ull;
    unsigned patience = 0;
    while (packet_open || in_open || sent < bytes) {
      if (++patience > 1000000) fail("nothing moves", moved, bytes);
      if (cycle > ends_at || (ended && cycle < ended_at + 3 && chance(2))) return broken();
      if (!in_open && sent < bytes) {
        // In: mostly the rest; else a part, or nothing, which ends no packet.
        piece = chance(70) ? bytes - sent : chance(20) ? 0 : 1 + random() % (bytes - sent);
        in_last = sent + piece == bytes || piece == 0;
        read_failed = false;
        start(0, from + sent, piece, in_last);
        in_open = true;
      }
      if (!out_open && packet_open) {
        // Out: all at once, too much room, or in pieces.
        room = bytes - moved;
        if (chance(30)) room += 1 + random() % 300;
        if (chance(30)) room = 1 + random() % (bytes + 1);
        room = std::max<std::uint64_t>(room, 1);
        to = kHalf + random() % (kHalf - room);
        write_failed = stopped = false;
        start(1, to, room);
        out_open = true;
      }
      if (stops && out_open && chance(2)) top.stop_i = stopped = true;
      if (in_open && !chance(late) && done(0)) {
        if (!reads.empty()) fail("done before the last row");
        if (top.done_bytes_o[0] != piece) fail("bytes in", top.done_bytes_o[0], piece);
        if (top.done_status_o[0] != read_failed) fail("status in");
        if (top.moved_o[0] != piece) fail("moved in", top.moved_o[0], piece);
        if (top.done_last_o[0] != (in_last && piece)) fail("last in");
        sent += piece;
        in_open = false;
        acknowledge(0);
      } else if (out_open && !chance(late) && done(1)) {
        if (!writes.empty() || responses) fail("done before the last response");
        const std::uint64_t count = top.done_bytes_o[1];
        const bool last = top.done_last_o[1];
        const std::uint64_t expected = std::min(room, bytes - moved);
        if (stopped ? count > expected : count != expected) fail("bytes out", count, expected);
        if (top.done_status_o[1] != write_failed) fail("status out");
        if (top.moved_o[1] != count) fail("moved out", top.moved_o[1], count);
        std::memcpy(&wanted[to - kHalf], &memory[from + moved], count);
        moved += count;
        if (last && moved != bytes) fail("TLAST too early", moved, bytes);
        if (!last && count < room && !stopped) fail("an end that is neither TLAST nor a full range");
        packet_open = !last;
        out_open = false;
        if (last) ended = false;
        acknowledge(1);
      } else {
        edge();
      }
    }
    if (std::memcmp(wanted.data(), &memory[kHalf], kHalf) != 0) {
      std::size_t at = 0;
      while (wanted[at] == memory[kHalf + at]) ++at;
      fail("memory differs", at, bytes);
    }
  }

  // The reset of the slot ends what is under way.
  void broken() {
    reset();
    if (top.busy_o[0] || top.busy_o[1] || top.done_valid_o[0] || top.done_valid_o[1])
      fail("a transfer outlives the reset");
    // What was inside is forgotten: a packet may begin.
    start(1, kHalf, 100);
    edge();
    if (!top.out_begin_o) fail("no packet may begin after a reset");
    kernel.push_back(Beat{{}, 40, true});
    for (const std::uint64_t limit = cycle + 2000; !top.done_valid_o[1];) {
      edge();
      if (cycle > limit) fail("nothing moves after a reset");
    }
    if (top.done_bytes_o[1] != 40 || !top.done_last_o[1]) fail("the packet after a reset", top.done_bytes_o[1]);
    done(1);
    ended = false;
    acknowledge(1);
  }

  void random_traffic(unsigned transfers) {
    for (unsigned t = 0; t < transfers; ++t) {
      memory_stall = chance(50) ? 0 : random() % 80;
      kernel_stall = chance(50) ? 0 : random() % 80;
      cut = chance(60);
      packet();
    }
  }

  // Cycles of a packet.
  std::uint64_t rate_of(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    const std::uint64_t begins = cycle;
    start(0, from, bytes, true);
    start(1, kHalf + to, bytes);
    while (!top.done_valid_o[1]) {
      edge();
      if (cycle - begins > 1000000) fail("nothing moves");
    }
    const std::uint64_t ends = cycle;
    done(0);
    done(1);
    ended = false;
    acknowledge(0);
    top.done_ready_i[1] = 0;
    return ends - begins;
  }

  // Beats a cycle within a long packet, at each pair of alignments.
  void rate() {
    for (const std::uint64_t from : {0, 1, 63}) {
      for (const std::uint64_t to : {0, 1, 63}) {
        constexpr std::uint64_t kShort = 64 << 10, kLong = 192 << 10;
        const std::uint64_t more = rate_of(from, to, kLong) - rate_of(from, to, kShort);
        std::printf("%.4f\n", double(kLong - kShort) / double(kRow) / double(more));
      }
    }
  }

  void stop() {
    for (const unsigned count : {0, 12, 64, 100}) {
      const std::uint64_t to = kHalf + 3 * kLongest + 61;
      std::fill(memory.begin() + kHalf, memory.end(), 0);
      start(1, to, 1000);
      for (unsigned at = 0; at < count; at += kRow) {
        Beat beat{{}, std::min<unsigned>(kRow, count - at), false};
        std::memset(beat.data, 1, beat.count);
        kernel.push_back(beat);
      }
      for (int i = 0; i < 50; ++i) edge();
      if (top.done_valid_o[1]) fail("it ends by itself", count);
      top.stop_i = 1;
      for (int i = 0; i < 50; ++i) edge();
      if (!done(1) || top.done_last_o[1] || top.done_status_o[1]) fail("it does not end", count);
      if (top.done_bytes_o[1] != count) fail("bytes before the stop", top.done_bytes_o[1], count);
      acknowledge(1);
      top.stop_i = 1;  // nobody is there to be stopped
      edge();
      start(1, to + count, 1000);
      Beat beat{{}, 10, true};
      std::memset(beat.data, 2, beat.count);
      kernel.push_back(beat);
      for (int i = 0; i < 50; ++i) edge();
      if (!done(1) || !top.done_last_o[1] || top.done_bytes_o[1] != 10) fail("the one behind", count);
      ended = false;
      acknowledge(1);
      for (std::uint64_t i = kHalf; i < memory.size(); ++i) {
        const unsigned wanted = i < to || i >= to + count + 10 ? 0 : i < to + count ? 1 : 2;
        if (memory[i] != wanted) fail("memory differs", i - to, count);
      }
    }
  }

  // What came before a beat with a hole is written and counted; the beat is not; the next transfer goes on behind it.
  void holes() {
    for (const unsigned count : {0, 12, 63, 64, 65, 200}) {
      for (const std::uint64_t keep : {0xf0full, 0x2ull, 1ull << 63, 5ull, ~0ull << 1}) {
        for (const bool last : {false, true}) {
          const std::uint64_t to = kHalf + 4096 - 61 + count;
          std::fill(memory.begin() + kHalf, memory.begin() + kHalf + 8192, 0);
          start(1, to, 1000);
          for (unsigned at = 0; at < count; at += kRow) {
            Beat beat{{}, std::min<unsigned>(kRow, count - at), false};
            std::memset(beat.data, 1, beat.count);
            kernel.push_back(beat);
          }
          const std::uint64_t limit = cycle + 1000;
          while (!kernel.empty() && cycle < limit) edge();
          hole = keep;
          Beat bad{{}, kRow, last};
          std::memset(bad.data, 2, kRow);
          kernel.push_back(bad);
          while (!top.done_valid_o[1]) {
            edge();
            if (cycle > limit) fail("a hole passes", keep, count);
          }
          hole = 0;
          if (top.done_status_o[1] != 2) fail("a hole passes", top.done_status_o[1], keep);
          if (top.done_last_o[1]) fail("a beat with a hole ends a packet", keep);
          if (top.done_bytes_o[1] != count) fail("bytes before a hole", top.done_bytes_o[1], count);
          done(1);
          ended = false;
          acknowledge(1);
          start(1, to + count, 1000);
          Beat beat{{}, 10, true};
          std::memset(beat.data, 3, beat.count);
          kernel.push_back(beat);
          for (int i = 0; i < 50; ++i) edge();
          if (!done(1) || top.done_status_o[1] || top.done_bytes_o[1] != 10) fail("the one behind", count);
          ended = false;
          acknowledge(1);
          for (std::uint64_t i = kHalf; i < kHalf + 8192; ++i) {
            const unsigned wanted = i < to || i >= to + count + 10 ? 0 : i < to + count ? 1 : 3;
            if (memory[i] != wanted) fail("memory differs", i - to, count);
          }
        }
      }
    }
  }

  // Lengths have 48 bits: more than 256 KiB, and more than anybody can send.
  void long_transfers() {
    constexpr std::uint64_t kLong = (1 << 18) + 1000;
    const std::uint64_t from = 13, to = kHalf + 61;
    for (auto& byte : memory) byte = std::uint8_t(random());
    start(0, from, kLong);
    start(1, to, kLong);
    while (!top.done_valid_o[0] || !top.done_valid_o[1]) {
      edge();
      if (cycle > 20000) fail("nothing moves");
    }
    for (int m = 0; m < 2; ++m)
      if (top.done_bytes_o[m] != kLong) fail("bytes of a long transfer", m, top.done_bytes_o[m]);
    if (std::memcmp(&memory[from], &memory[to], kLong)) fail("a long transfer differs");
    done(0);
    done(1);
    ended = false;
    acknowledge(0);
    top.done_ready_i[1] = 0;
    for (const std::uint64_t length : {1ull << 18, 1ull << 32, 1ull << 46}) {
      // A packet ends the transfer, however much there is room for.
      start(1, to, length);
      kernel.push_back(Beat{{}, 40, true});
      for (int i = 0; i < 50; ++i) edge();
      if (!done(1) || top.done_bytes_o[1] != 40 || !top.done_last_o[1]) fail("a packet in a large range", length);
      ended = false;
      acknowledge(1);
      // Into the kernel it goes on; what has been taken is counted.
      if (length > kHalf) {
        start(0, 0, length);
        for (int i = 0; i < 300; ++i) {
          edge();
          kernel.clear();
        }
        if (top.done_valid_o[0] || top.moved_o[0] < 250 * kRow) fail("a long transfer ends early", top.moved_o[0]);
        reset();
      }
    }
  }

  // Rows of the longest transfer that fail one at a time: those that come before all are asked for, too.
  void errors() {
    for (const int bad : {0, 1, 300, 1022, 1023, -1}) {
      bad_row = bad < 0 ? ~0ull : std::uint64_t(bad) * kRow;
      start(0, 0, kLongest);
      while (!top.done_valid_o[0]) {
        edge();
        kernel.clear();
        if (cycle > 100000) fail("nothing moves");
      }
      if (top.done_status_o[0] != (bad >= 0)) fail("status", top.done_status_o[0], bad);
      if (top.done_bytes_o[0] != kLongest) fail("bytes in", top.done_bytes_o[0]);
      done(0);
      acknowledge(0);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string scenario = argv[1];
  Bench bench;
  bench.random.seed(std::strtoull(argv[2], nullptr, 0));
  bench.reset();
  if (scenario == "random") bench.random_traffic(std::strtoul(argv[3], nullptr, 0));
  else if (scenario == "rate") bench.rate();
  else if (scenario == "stop") bench.stop();
  else if (scenario == "holes") bench.holes();
  else if (scenario == "long") bench.long_transfers();
  else if (scenario == "errors") bench.errors();
  else return 2;
  return 0;
}
