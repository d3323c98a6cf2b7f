// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel alone on an ideal memory: how many cycles a run takes, and how long a cycle takes to
// simulate. The memory answers a read after LATENCY cycles, a row a cycle, and takes a row a cycle.
//
//   bench MEGABYTES OFFSET=VALUE...      registers to write before the start
//
// It fails if the kernel breaks a burst rule of AXI4, or moves more than 1,024 rows in a direction and never has
// 16 bursts under way there. Compiled with ONE_PORT, for a kernel that writes through m_axi_gmem0 too.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <string>
#include <vector>

#include "Vkernel.h"
#include "verilated.h"

#ifdef ONE_PORT
#define WRITES(signal) m_axi_gmem0_##signal
#else
#define WRITES(signal) m_axi_gmem1_##signal
#endif

namespace {

constexpr uint64_t kRowBytes = 64;
constexpr uint64_t kLatency = 200;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "bench: %s\n", what);
  std::exit(1);
}

// Time that this process had a processor: what else the machine does matters little.
double ProcessorNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e9 * now.tv_sec + now.tv_nsec;
}

struct Burst {
  uint64_t row;
  uint64_t rows;
  uint64_t ready_at;
};

class Bench {
 public:
  explicit Bench(uint64_t rows) : memory_(rows * kRowBytes) {
    for (size_t i = 0; i < memory_.size(); i++) memory_[i] = static_cast<uint8_t>(i * 7 + (i >> 8));
  }

  void Reset() {
    kernel_.ap_rst_n = 0;
    for (int i = 0; i < 4; i++) Cycle();
    kernel_.ap_rst_n = 1;
    Cycle();
  }

  void WriteRegister(uint32_t offset, uint32_t value) {
    kernel_.s_axi_control_awvalid = kernel_.s_axi_control_wvalid = 1;
    kernel_.s_axi_control_bready = 1;
    kernel_.s_axi_control_awaddr = offset;
    kernel_.s_axi_control_wdata = value;
    kernel_.s_axi_control_wstrb = 0xf;
    Cycle();
    kernel_.s_axi_control_awvalid = kernel_.s_axi_control_wvalid = 0;
    while (!kernel_.s_axi_control_bvalid) Cycle();
    Cycle();
  }

  uint32_t ReadRegister(uint32_t offset) {
    kernel_.s_axi_control_arvalid = kernel_.s_axi_control_rready = 1;
    kernel_.s_axi_control_araddr = offset;
    Cycle();
    kernel_.s_axi_control_arvalid = 0;
    while (!kernel_.s_axi_control_rvalid) Cycle();
    const uint32_t value = kernel_.s_axi_control_rdata;
    Cycle();
    return value;
  }

  // Cycles until the last write response, which done follows.
  uint64_t RunUntilDone(uint64_t limit) {
    const uint64_t begin = cycle_;
    while (!(ReadRegister(0) & 2)) {
      for (int i = 0; i < 16; i++) Cycle();
      if (cycle_ - begin > limit) Fail("the kernel does not finish");
    }
    if (!writes_.empty() || !responses_.empty()) Fail("done came before the last write response");
    return last_response_ - begin;
  }

  uint64_t read_rows() const { return read_rows_; }
  uint64_t written_rows() const { return written_rows_; }
  size_t most_reads() const { return most_reads_; }
  size_t most_writes() const { return most_writes_; }

 private:
  static Burst Check(uint64_t address, uint64_t length, uint64_t ready_at) {
    const uint64_t rows = length + 1;
    if (address % kRowBytes != 0) Fail("a burst is not aligned to its beats");
    if (address % 4096 + rows * kRowBytes > 4096) Fail("a burst crosses a 4 KiB boundary");
    return {address / kRowBytes, rows, ready_at};
  }

  uint8_t* Row(uint64_t row) { return &memory_[row * kRowBytes % memory_.size()]; }

  // One clock edge: what both sides show before it is what they take.
  void Cycle() {
    const bool ar = kernel_.m_axi_gmem0_arvalid && kernel_.m_axi_gmem0_arready;
    const bool r = kernel_.m_axi_gmem0_rvalid && kernel_.m_axi_gmem0_rready;
    const bool aw = kernel_.WRITES(awvalid) && kernel_.WRITES(awready);
    const bool w = kernel_.WRITES(wvalid) && kernel_.WRITES(wready);
    const bool b = kernel_.WRITES(bvalid) && kernel_.WRITES(bready);
    if (ar) {
      const uint64_t at = std::max(cycle_ + kLatency, reads_.empty() ? 0 : reads_.back().ready_at);
      reads_.push_back(Check(kernel_.m_axi_gmem0_araddr, kernel_.m_axi_gmem0_arlen, at));
    }
    if (aw) writes_.push_back(Check(kernel_.WRITES(awaddr), kernel_.WRITES(awlen), 0));
    most_reads_ = std::max(most_reads_, reads_.size());
    most_writes_ = std::max(most_writes_, writes_.size() + responses_.size());
    if (r) {
      read_rows_++;
      Burst& burst = reads_.front();
      burst.row++;
      if (--burst.rows == 0) reads_.pop_front();
    }
    if (b) {
      responses_.pop_front();
      last_response_ = cycle_;
    }
    if (w) {
      if (writes_.empty()) Fail("a row was written before its burst was announced");
      Burst& burst = writes_.front();
      std::memcpy(Row(burst.row), &kernel_.WRITES(wdata), kRowBytes);
      written_rows_++;
      burst.row++;
      if ((--burst.rows == 0) != static_cast<bool>(kernel_.WRITES(wlast))) {
        Fail("WLAST does not match AWLEN");
      }
      if (burst.rows == 0) {
        writes_.pop_front();
        responses_.push_back(cycle_ + kLatency);
      }
    }

    kernel_.ap_clk = 1;
    kernel_.eval();
    cycle_++;
    const bool running = kernel_.ap_rst_n;
    kernel_.m_axi_gmem0_arready = running;
    kernel_.WRITES(awready) = running;
    kernel_.WRITES(wready) = running;
    const bool offer = !reads_.empty() && reads_.front().ready_at <= cycle_;
    kernel_.m_axi_gmem0_rvalid = offer;
    if (offer) {
      std::memcpy(&kernel_.m_axi_gmem0_rdata, Row(reads_.front().row), kRowBytes);
      kernel_.m_axi_gmem0_rlast = reads_.front().rows == 1;
    }
    kernel_.WRITES(bvalid) = !responses_.empty() && responses_.front() <= cycle_;
    kernel_.ap_clk = 0;
    kernel_.eval();
  }

  VerilatedContext context_;
  Vkernel kernel_{&context_};
  std::vector<uint8_t> memory_;
  std::deque<Burst> reads_, writes_;
  std::deque<uint64_t> responses_;
  uint64_t cycle_ = 0, last_response_ = 0, read_rows_ = 0, written_rows_ = 0;
  size_t most_reads_ = 0, most_writes_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) Fail("usage: bench MEGABYTES OFFSET=VALUE...");
  const uint64_t bytes = std::strtoull(argv[1], nullptr, 0) << 20;
  Bench bench(3 * bytes / kRowBytes);
  bench.Reset();
  for (int i = 2; i < argc; i++) {
    char* value = std::strchr(argv[i], '=');
    if (value == nullptr) Fail("arguments are OFFSET=VALUE");
    bench.WriteRegister(std::strtoul(argv[i], nullptr, 0), std::strtoul(value + 1, nullptr, 0));
  }
  const double begin = ProcessorNanoseconds();
  bench.WriteRegister(0, 1);
  const uint64_t cycles = bench.RunUntilDone(8 * bytes / kRowBytes + 100000);
  const double time = ProcessorNanoseconds() - begin;
  if ((bench.read_rows() > 1024 && bench.most_reads() < 16) ||
      (bench.written_rows() > 1024 && bench.most_writes() < 16)) {
    Fail("fewer than 16 bursts under way");
  }
  std::printf(
      "{\"cycles\": %llu, \"rows_read\": %llu, \"rows_written\": %llu, \"ns_per_cycle\": %.1f, "
      "\"bursts_reading\": %zu, \"bursts_writing\": %zu}\n",
      static_cast<unsigned long long>(cycles), static_cast<unsigned long long>(bench.read_rows()),
      static_cast<unsigned long long>(bench.written_rows()), time / cycles,
      bench.most_reads(), bench.most_writes());
  return 0;
}
