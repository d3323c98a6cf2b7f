// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_home_guard: a slice of the directory that reads and writes lines and acknowledges
// operations, and a kernel that serves them, late and in any order, and sends operations. What a row holds
// follows from its line, so a row in the wrong place shows. Usage: bench SCENARIO SEED.
//
//   random       a kernel that obeys
//   closes       the same; the way to it is closed at random moments
//   resets       the same; guard, slice and kernel are reset at random moments, while a way closes, too
//   in_time      a kernel that answers in time, while the slice always waits for something: the clock of ages never rests
//   no_patience  a kernel that is very late, with no limit
//   rate         no stalls; prints rows a cycle of reads and of writes
//   read_late, write_late, read_unknown, rows, write_unknown, operation, tag
//                a kernel that breaks a rule, in each way

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "Vguard_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kReads = 8, kWrites = 16;  // the guard has room for so many; the slice sends no more writes
constexpr unsigned kOkay = 0, kError = 2;
enum Operation : unsigned { kClean = 0, kCoherentRead = 4, kCoherentWrite = 5 };
enum Rule : unsigned {
  kReadLate = 1, kWriteLate, kReadUnknown, kRows, kWriteUnknown, kOperation, kTag
};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
// Never zero: zero is what the shell answers.
std::uint64_t row_of(std::uint64_t line, unsigned row) { return mix(line + row) | 1; }
unsigned resp_of(std::uint64_t line, unsigned row) { return mix(line + row + 7) % 16 ? kOkay : kError; }

struct Access {
  std::uint64_t addr = 0;
  unsigned id = 0, rows = 0;
};

struct Beat {
  unsigned operation = 0, tag = 0, parts = 0;
  std::uint64_t line = 0, data = 0;
  bool last = true;
  bool operator==(const Beat&) const = default;
};

struct Bench {
  Vguard_bench_top top;
  std::mt19937_64 random;
  std::uint64_t cycle = 0;
  unsigned stall = 0, late = 4;      // percent; of the kernel's answers
  bool asks = true, works = true;    // the slice, the kernel by itself
  bool reads_only = false, writes_only = false;
  bool lines = true;                 // the kernel sends operations
  std::uint64_t rows_read = 0, rows_written = 0;

  // Slice.
  bool ar_offered = false;
  Access ar;
  unsigned next_id = 0;
  std::map<unsigned, Access> reads, writes;  // by ID: not answered
  unsigned half = ~0u;                       // the read of which the first row has come
  std::deque<Access> sends;                  // rows of writes that are still to be sent, with their address
  std::deque<Beat> acks;                     // still to be sent
  bool hold_acks = false;
  unsigned operations_open = 0;              // begun and not acknowledged to the end

  // Kernel.
  std::deque<Access> asked, stored;      // reads, writes to be answered
  std::deque<Access> addresses;          // writes whose rows have not all come
  bool r_offered = false, b_offered = false, line_offered = false;
  std::uint64_t expected_write_rows = 0;
  std::deque<Beat> to_send;              // beats of an operation
  std::deque<Beat> passed;               // taken by the guard, not yet at the slice
  std::map<unsigned, bool> tags;         // in use
  std::deque<Beat> acknowledged;         // sent by the slice, not yet at the kernel
  bool cut = false;                      // a write of two rows was cut behind its first
  Beat first;                            // of that write

  std::uint64_t violations = 0, answered = 0;
  std::uint64_t in_place = 0;            // answers while the way was closed
  unsigned rule = 0;
  std::uint64_t at = 0;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
                (unsigned long long)b);
    std::exit(1);
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }
  bool go() { return !chance(stall); }

  // IDs of the directory are any 16 bits.
  unsigned fresh_id() { return ++next_id * 40503u & 0xFFFF; }
  std::uint64_t fresh_line() { return (random() % (1ull << 33)) << 7; }

  void drive_slice() {
    if (!ar_offered && asks && !writes_only && reads.size() < 3 * kReads && go()) {
      ar = {fresh_line(), fresh_id()};
      ar_offered = true;
    }
    top.d_ar_valid_i = ar_offered;
    top.d_ar_id_i = ar.id;
    top.d_ar_addr_i = ar.addr;
    top.d_r_ready_i = go();
    top.d_b_ready_i = go();
    // Address and rows may come at different times, rows first or last.
    top.d_aw_valid_i = 0;
    if (asks && !reads_only && writes.size() < kWrites && go()) {
      const Access write{fresh_line(), fresh_id()};
      writes[write.id] = write;
      sends.push_back(write);
      top.d_aw_valid_i = 1;
      top.d_aw_id_i = write.id;
      top.d_aw_addr_i = write.addr;
    }
    top.d_w_valid_i = !sends.empty() && go();
    if (top.d_w_valid_i) {
      Access& write = sends.front();
      top.d_w_data_i = row_of(write.addr, write.rows);
      top.d_w_last_i = write.rows == 1;
      if (write.rows++ == 1) sends.pop_front();
    }
    top.d_op_ready_i = go();
    top.d_ack_valid_i = !acks.empty() && !hold_acks && go();
    if (top.d_ack_valid_i) {
      const Beat ack = acks.front();
      acks.pop_front();
      top.d_ack_tag_i = ack.tag;
      top.d_ack_data_i = ack.data;
      top.d_ack_last_i = ack.last;
      if (top.line_open_i) acknowledged.push_back(ack);
      if (ack.last) --operations_open;
    }
  }

  void drive_kernel() {
    if (!works || !top.open_i) return;
    top.k_ar_ready_i = go();
    top.k_aw_ready_i = go();
    top.k_w_ready_i = go();
    top.k_ack_ready_i = !deaf && go();
    if (!r_offered && !asked.empty() && (asked.front().rows || chance(late))) {
      // Any read, but both rows of it together.
      if (!asked.front().rows && chance(50)) std::swap(asked.front(), asked[random() % asked.size()]);
      r_offered = true;
    }
    top.k_r_valid_i = r_offered;
    if (r_offered) {
      const Access& read = asked.front();
      top.k_r_id_i = read.id;
      top.k_r_data_i = row_of(read.addr, read.rows);
      top.k_r_resp_i = resp_of(read.addr, read.rows);
      top.k_r_last_i = read.rows == 1;
    }
    if (!b_offered && !stored.empty() && chance(late)) {
      if (chance(50)) std::swap(stored.front(), stored[random() % stored.size()]);
      b_offered = true;
    }
    top.k_b_valid_i = b_offered;
    if (b_offered) {
      top.k_b_id_i = stored.front().id;
      top.k_b_resp_i = resp_of(stored.front().addr, 2);
    }
    if (!top.line_open_i) return;
    if (to_send.empty() && lines && asks && tags.size() < 64 && chance(20)) begin_operation(random() % 6);
    line_offered = !to_send.empty() && (line_offered || go());
    top.k_line_valid_i = line_offered;
    if (line_offered) offer(to_send.front());
  }

  void offer(const Beat& beat) {
    top.k_line_operation_i = beat.operation;
    top.k_line_tag_i = beat.tag;
    top.k_line_line_i = beat.line;
    top.k_line_parts_i = beat.parts;
    top.k_line_data_i = beat.data;
    top.k_line_last_i = beat.last;
  }

  void begin_operation(unsigned operation) {
    Beat beat{operation, unsigned(random() % 64), unsigned(random() % 16), fresh_line() >> 7, random(), true};
    while (tags.count(beat.tag)) beat.tag = (beat.tag + 1) % 64;
    tags[beat.tag] = true;
    if (operation == kCoherentWrite) {
      beat.last = false;
      to_send.push_back(beat);
      beat.data = random();
      beat.last = true;
    }
    to_send.push_back(beat);
  }

  void check_r() {
    const unsigned id = top.d_r_id_o;
    const auto read = reads.find(id);
    if (read == reads.end()) fail("a row for no read", id);
    if (half != ~0u && half != id) fail("rows of two reads are mixed", half, id);
    const unsigned row = half == id;
    if (top.d_r_last_o != row) fail("RLAST");
    const std::uint64_t data = top.open_i ? row_of(read->second.addr, row) : 0;
    const unsigned resp = top.open_i ? resp_of(read->second.addr, row) : kError;
    if (top.d_r_data_o != data || top.d_r_resp_o != resp) fail("another row", top.d_r_data_o, data);
    half = row ? ~0u : id;
    if (row) {
      reads.erase(read);
      in_place += !top.open_i;
    }
    ++rows_read;
  }

  void check_b() {
    const auto write = writes.find(top.d_b_id_o);
    if (write == writes.end()) fail("a response to no write", top.d_b_id_o);
    const unsigned resp = top.open_i ? resp_of(write->second.addr, 2) : kError;
    if (top.d_b_resp_o != resp) fail("another response", top.d_b_resp_o, resp);
    for (const Access& send : sends)
      if (send.id == write->first) fail("a response before the rows", send.id);
    if (top.open_i && write->second.rows != 3) fail("a response that the kernel did not give", write->first);
    writes.erase(write);
    in_place += !top.open_i;
  }

  void check_operation() {
    Beat beat{top.d_op_operation_o, top.d_op_tag_o, top.d_op_parts_o, top.d_op_line_o, top.d_op_data_o,
              bool(top.d_op_last_o)};
    if (top.line_open_i) {
      if (passed.empty()) fail("an operation that nobody sent", beat.tag);
      if (beat != passed.front()) fail("another operation", beat.tag, passed.front().tag);
      passed.pop_front();
    } else {
      if (!cut) fail("an operation while the way is closed", beat.tag);
      if (beat.operation != first.operation || beat.tag != first.tag || beat.line != first.line)
        fail("the end of another operation", beat.tag, first.tag);
      if (beat.parts || !beat.last) fail("a write that was cut off has more parts");
    }
    if (!cut) ++operations_open;
    cut = !beat.last;
    first = beat;
    if (!beat.last) return;
    const bool two = beat.operation == kCoherentRead;
    if (two) acks.push_back({0, beat.tag, 0, 0, random(), false});
    acks.push_back({0, beat.tag, 0, 0, random(), true});
  }

  void sample_kernel() {
    if (top.k_ar_valid_o && top.k_ar_ready_i) {
      if (top.k_ar_id_o >= kReads) fail("an ID of a read", top.k_ar_id_o);
      asked.push_back({top.k_ar_addr_o, top.k_ar_id_o});
    }
    if (r_offered && top.k_r_ready_o) {
      r_offered = false;
      if (asked.front().rows++ == 1) asked.pop_front();
    }
    // A row needs its address: accepted, or offered now.
    if (top.k_w_valid_o && addresses.empty() && !top.k_aw_valid_o) fail("a row before its address");
    const bool takes_address = top.k_aw_valid_o && top.k_aw_ready_i;
    const Access offered{top.k_aw_addr_o, top.k_aw_id_o};
    if (takes_address) {
      if (offered.id >= kReads) fail("an ID of a write", offered.id);
      addresses.push_back(offered);
      if (early_rows) {
        addresses.back().rows = early_rows;
        early_rows = 0;
      }
    }
    if (top.k_w_valid_o && top.k_w_ready_i) {
      ++rows_written;
      const bool early = addresses.empty();
      const unsigned row = early ? early_rows : addresses.front().rows;
      const std::uint64_t addr = early ? offered.addr : addresses.front().addr;
      if (row > 1) fail("a third row", addr);
      if (top.k_w_data_o != row_of(addr, row) || top.k_w_last_o != (row == 1)) fail("another row to write", addr);
      if (early) ++early_rows;
      else ++addresses.front().rows;
    }
    while (!addresses.empty() && addresses.front().rows == 2) {
      stored.push_back(addresses.front());
      addresses.pop_front();
    }
    if (b_offered && top.k_b_ready_o) {
      b_offered = false;
      for (auto& [id, write] : writes)
        if (write.addr == stored.front().addr) write.rows = 3;
      stored.pop_front();
    }
    if (line_offered && top.k_line_ready_o) {
      line_offered = false;
      passed.push_back(to_send.front());
      to_send.pop_front();
    }
    if (top.line_open_i && top.k_ack_valid_o && top.k_ack_ready_i) {
      if (acknowledged.empty()) fail("an acknowledgement that nobody sent", top.k_ack_tag_o);
      const Beat ack = acknowledged.front();
      acknowledged.pop_front();
      if (top.k_ack_tag_o != ack.tag || top.k_ack_data_o != ack.data || top.k_ack_last_o != ack.last)
        fail("another acknowledgement", top.k_ack_tag_o, ack.tag);
      if (ack.last) tags.erase(ack.tag);
    }
  }
  unsigned early_rows = 0;  // taken for the address that is offered

  void edge() {
    drive_slice();
    drive_kernel();
    top.eval();
    if (top.idle_o && (!taken_reads.empty() || operations_open)) fail("idle, with something under way");
    if (top.d_ar_valid_i && top.d_ar_ready_o) {
      reads[ar.id] = ar;
      ar_offered = false;
    }
    if (top.d_r_valid_o && top.d_r_ready_i) check_r();
    if (top.d_b_valid_o && top.d_b_ready_i) check_b();
    if (top.d_op_valid_o && top.d_op_ready_i) check_operation();
    if (top.open_i) {
      sample_kernel();
    } else {
      if (top.k_w_valid_o) fail("a row is offered while the way is closed");
      if (closed_for > 0 && (top.k_ar_valid_o || top.k_aw_valid_o || top.k_ack_valid_o))
        fail("something is offered while the way is closed");
    }
    if (lines_closed_for > 0 && !top.line_open_i && top.k_ack_valid_o)
      fail("an acknowledgement is offered while the way of operations is closed");
    lines_closed_for = top.line_open_i ? 0 : lines_closed_for + 1;
    closed_for = top.open_i ? 0 : closed_for + 1;
    if (top.violation_o) {
      if (!violations++) {
        rule = top.rule_o;
        at = top.at_o;
      }
    }
    answered += top.answered_o;
    taken_reads = reads;
    taken_reads.insert(writes.begin(), writes.end());
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    ++cycle;
  }
  std::map<unsigned, Access> taken_reads;  // reads and writes that the guard had before this cycle
  unsigned closed_for = 0, lines_closed_for = 0;
  bool deaf = false;  // the kernel takes no acknowledgement

  void steps(unsigned n) {
    while (n--) edge();
  }
  void until(const char* what, const std::function<bool()>& done, unsigned limit = 20000) {
    while (!done()) {
      if (!limit--) fail(what);
      edge();
    }
  }

  void silence() {
    top.k_ar_ready_i = top.k_aw_ready_i = top.k_w_ready_i = top.k_r_valid_i = top.k_b_valid_i = 0;
    top.k_line_valid_i = 0;
    top.k_ack_ready_i = 1;
    r_offered = b_offered = line_offered = false;
    asked.clear();
    stored.clear();
    addresses.clear();
    early_rows = 0;
    silence_lines();
  }
  void silence_lines() {
    top.k_line_valid_i = 0;
    line_offered = false;
    to_send.clear();
    passed.clear();
    tags.clear();
    acknowledged.clear();
  }

  void reset() {
    top.open_i = top.line_open_i = 0;
    top.patience_i = 0;
    silence();
    top.rst_ni = 0;
    for (int i = 0; i < 8; ++i) {
      top.clk_i = i & 1;
      top.eval();
    }
    top.clk_i = 0;
    top.rst_ni = 1;
    asks = false;
    steps(3);
    asks = true;
    top.open_i = top.line_open_i = 1;
  }

  // Guard, slice and kernel at any moment. Nothing of before comes out behind it.
  void restart() {
    top.rst_ni = 0;
    for (unsigned n = 1 + random() % 3; n; --n) {
      top.clk_i = 1;
      top.eval();
      top.clk_i = 0;
      top.eval();
      ++cycle;
    }
    top.rst_ni = 1;
    silence();
    ar_offered = hold_acks = deaf = cut = false;
    half = ~0u;
    operations_open = 0;
    reads.clear();
    writes.clear();
    taken_reads.clear();
    sends.clear();
    acks.clear();
    closed_for = lines_closed_for = 1;
    const bool asked_before = asks;
    asks = false;
    // Open from the first cycle on, or not yet.
    top.open_i = top.line_open_i = chance(50);
    edge();
    if (!top.idle_o || !top.line_idle_o) fail("not idle behind a reset");
    steps(random() % 4 + 2);
    asks = asked_before;
    top.open_i = top.line_open_i = 1;
  }

  void resets() {
    top.patience_i = 6000;
    for (unsigned round = 0; round < 300; ++round) {
      stall = chance(50) ? 0 : random() % 80;
      late = chance(30) ? 100 : 5 + random() % 30;
      steps(random() % 300);
      if (chance(20)) drain();
      if (chance(30)) {
        top.line_open_i = 0;
        silence_lines();
        if (chance(50)) {
          top.open_i = 0;
          silence();
        }
        steps(random() % 40);
      }
      restart();
      if (violations) fail("a violation without one", rule, at);
    }
    stall = 0;
    drain();
    if (violations) fail("a violation without one", rule, at);
    if (rows_read < 5000 || rows_written < 5000) fail("too little was done", rows_read, rows_written);
    std::printf("ok\n");
  }

  void drain() {
    asks = false;
    until("something is left over", [&] {
      return reads.empty() && writes.empty() && !ar_offered && acks.empty() && !operations_open && to_send.empty()
          && acknowledged.empty();
    });
    steps(4);
    if (!top.idle_o) fail("not idle");
    asks = true;
  }

  // The kernel goes; whatever it had is answered. Another one comes.
  void close() {
    top.open_i = top.line_open_i = 0;
    hold_acks = false;
    silence();
    steps(random() % 60);
    drain();
    top.open_i = top.line_open_i = 1;
    silence();
  }

  // The kernel of the operations goes, beside memory that goes on serving the lines. Another one comes.
  void close_lines() {
    top.line_open_i = 0;
    silence_lines();
    steps(2 + (deaf ? 0 : random() % 60));
    until("operations are left over", [&] { return acks.empty() && !operations_open && top.line_idle_o; });
    if (cut) fail("a write that was cut off has not ended");
    silence_lines();
    top.line_open_i = 1;
    deaf = false;
  }

  void lines_traffic() {
    for (unsigned round = 0; round < 200; ++round) {
      stall = chance(50) ? 0 : random() % 80;
      late = chance(30) ? 100 : 5 + random() % 30;
      steps(random() % 400);
      // The guard has acknowledgements that the kernel has not taken.
      deaf = chance(30);
      if (deaf) steps(100);
      close_lines();
    }
    stall = 0;
    drain();
    if (violations || answered) fail("memory was cut off", rule, answered);
    if (!rows_read || !rows_written) fail("memory had nothing to do");
    std::printf("ok\n");
  }

  void traffic(bool closes) {
    top.patience_i = 6000;  // far more than this kernel needs
    for (unsigned round = 0; round < 200; ++round) {
      stall = chance(50) ? 0 : random() % 80;
      late = chance(30) ? 100 : 5 + random() % 30;
      if (closes) {
        steps(random() % 400);
        close();
      } else {
        steps(300);
        if (chance(20)) drain();
      }
      if (violations) fail("a violation without one", rule, at);
    }
    stall = 0;
    drain();
    if (violations) fail("a violation without one", rule, at);
    if (closes != (in_place != 0) || answered != in_place) fail("answers in the kernel's place", answered, in_place);
    std::printf("ok\n");
  }

  // Ages are counted in periods of the patience: several pass, and whatever is answered meanwhile is young again.
  void in_time() {
    top.patience_i = 200;
    late = 100;
    lines = false;
    for (unsigned n = 0; n < 20000; ++n) {
      edge();
      if (violations) fail("a violation of a kernel that is in time", rule, at);
    }
    drain();
    std::printf("ok\n");
  }

  void rate() {
    late = 100;
    lines = false;
    for (const bool reading : {true, false}) {
      reads_only = reading;
      writes_only = !reading;
      steps(100);
      const std::uint64_t before = rows_read + rows_written;
      steps(2000);
      std::printf("%.4f\n", double(rows_read + rows_written - before) / 2000);
      drain();
    }
  }

  // ----------------------------------------------------------------------------------------------
  // Kernels that break a rule
  // ----------------------------------------------------------------------------------------------

  // A kernel that does nothing by itself, and takes what comes.
  void quiet() {
    asks = lines = false;
    works = false;
    top.k_ar_ready_i = top.k_aw_ready_i = top.k_w_ready_i = top.k_ack_ready_i = 1;
  }
  void ask_read() {
    ar = {fresh_line(), fresh_id()};
    ar_offered = true;
    until("the kernel sees no read", [&] { return !asked.empty() && asked.back().addr == ar.addr; });
  }
  void row(unsigned id, std::uint64_t data, unsigned resp, bool last) {
    top.k_r_valid_i = 1;
    top.k_r_id_i = id;
    top.k_r_data_i = data;
    top.k_r_resp_i = resp;
    top.k_r_last_i = last;
    edge();
    top.k_r_valid_i = 0;
  }
  void row_of_read(const Access& read, unsigned number, bool last) {
    row(read.id, row_of(read.addr, number), resp_of(read.addr, number), last);
  }
  void send(const Beat& beat, bool legal = true) {
    top.k_line_valid_i = 1;
    offer(beat);
    if (legal) passed.push_back(beat);
    edge();
    top.k_line_valid_i = 0;
  }
  // The rule, within so many cycles; then the slot is closed, and all ends.
  void expect(unsigned wanted, std::uint64_t where, unsigned least, unsigned most) {
    const std::uint64_t begins = cycle;
    if (violations && least) fail("a violation too early");
    until("no violation", [&] { return violations != 0; }, most + 3);
    if (cycle - begins < least) fail("a violation too early", cycle - begins, least);
    if (rule != wanted || at != where) fail("another violation", rule, at);
    close();
    quiet();
    violations = 0;
    steps(3);  // registers become ready
    if (violations) fail("a violation of the next kernel", rule, at);
  }

  // Another read keeps the guard's clock running, so that the late access begins anywhere in its period.
  void late_answers(bool writing) {
    const unsigned patience = 50;
    top.patience_i = patience;
    for (unsigned turn = 0; turn < 24; ++turn) {
      quiet();
      ask_read();
      const Access other = asked[0];
      steps(turn / 2 * 4);
      // Not taken, or not answered.
      top.k_ar_ready_i = top.k_aw_ready_i = top.k_w_ready_i = turn % 2;
      std::uint64_t where = 0;
      if (writing) {
        writes_only = asks = true;
        edge();
        asks = writes_only = false;
        if (writes.size() != 1) fail("one write");
        where = writes.begin()->second.addr;
      } else {
        ar = {fresh_line(), fresh_id()};
        ar_offered = true;
        edge();
        if (ar_offered) fail("no room for two reads");
        where = ar.addr;
      }
      row_of_read(other, 0, false);
      row_of_read(other, 1, true);
      expect(writing ? kWriteLate : kReadLate, where, patience - 3, 2 * patience + 4);
    }
    std::printf("ok\n");
  }

  void no_patience() {
    quiet();
    ask_read();
    steps(5000);
    if (violations) fail("a violation without a limit", rule);
    const Access read = asked.front();
    row_of_read(read, 0, false);
    row_of_read(read, 1, true);
    asked.clear();
    works = true;
    drain();
    std::printf("ok\n");
  }

  void read_unknown() {
    quiet();
    row(3, 1, kOkay, false);
    expect(kReadUnknown, 3, 0, 4);
    for (const unsigned bit : {3u, 8u, 15u}) {  // the place of a read, and bits above it
      ask_read();
      const unsigned id = asked.front().id | 1u << bit;
      row(id, 1, kOkay, false);
      expect(kReadUnknown, id, 0, 4);
    }
    // A read that has been answered.
    ask_read();
    const Access read = asked.front();
    row_of_read(read, 0, false);
    row_of_read(read, 1, true);
    steps(5);
    row(read.id, 1, kOkay, false);
    expect(kReadUnknown, read.id, 0, 4);
    std::printf("ok\n");
  }

  void rows() {
    quiet();
    ask_read();  // RLAST too early
    row_of_read(asked[0], 0, true);
    expect(kRows, asked[0].id, 0, 4);
    ask_read();  // RLAST missing
    row_of_read(asked[0], 0, false);
    row_of_read(asked[0], 1, false);
    expect(kRows, asked[0].id, 0, 4);
    ask_read();  // two reads mixed
    ask_read();
    row_of_read(asked[0], 0, false);
    row_of_read(asked[1], 1, true);
    expect(kRows, asked[1].id, 0, 4);
    std::printf("ok\n");
  }

  void write_unknown() {
    quiet();
    const auto respond = [&](unsigned id) {
      top.k_b_valid_i = 1;
      top.k_b_id_i = id;
      edge();
      top.k_b_valid_i = 0;
      expect(kWriteUnknown, id, 0, 4);
    };
    respond(5);
    for (const unsigned bit : {3u, 9u, 15u}) {
      writes_only = asks = true;
      until("no write", [&] { return !writes.empty(); });
      asks = false;
      until("the kernel sees no write", [&] { return !stored.empty(); });
      respond(stored.front().id | 1u << bit);
    }
    std::printf("ok\n");
  }

  void operation() {
    quiet();
    const Beat clean{kClean, 5, 3, 0x1234, 9, true};
    const auto illegal = [&](Beat beat) {
      send(beat, false);
      expect(kOperation, beat.line << 7, 0, 4);
    };
    Beat beat = clean;
    for (beat.operation = 6; beat.operation < 8; ++beat.operation) illegal(beat);
    for (beat.operation = 0; beat.operation < 5; ++beat.operation) {  // of two rows
      beat.last = false;
      illegal(beat);
    }
    beat = clean;
    beat.operation = kCoherentWrite;  // of one row
    illegal(beat);
    // A write whose second row is another's, or is not the last.
    for (unsigned what = 0; what < 4; ++what) {
      beat = clean;
      beat.operation = kCoherentWrite;
      beat.last = false;
      send(beat);
      beat.last = what != 0;
      if (what == 1) beat.tag ^= 4;
      if (what == 2) beat.line ^= 1;
      if (what == 3) beat.operation = kClean;
      illegal(beat);
    }
    std::printf("ok\n");
  }

  void tag() {
    quiet();
    for (const unsigned used : {kClean + 0u, kCoherentRead + 0u}) {
      Beat beat{used, 5, 3, 0x1234, 9, true};
      hold_acks = true;
      send(beat);
      steps(3);
      // The first of the two rows that answer a read ends nothing.
      hold_acks = used != kCoherentRead;
      edge();
      hold_acks = true;
      beat.line = 0x77;
      send(beat, false);
      expect(kTag, beat.line << 7, 0, 4);
      hold_acks = false;
      send(beat);
      until("the operation is not acknowledged", [&] { return acks.empty() && !operations_open && passed.empty(); });
      send(beat);
      steps(5);
      if (violations) fail("a tag that has come back", rule);
      drain();
      quiet();
    }
    std::printf("ok\n");
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
  else if (scenario == "lines_close") bench.lines_traffic();
  else if (scenario == "in_time") bench.in_time();
  else if (scenario == "no_patience") bench.no_patience();
  else if (scenario == "rate") bench.rate();
  else if (scenario == "read_late") bench.late_answers(false);
  else if (scenario == "write_late") bench.late_answers(true);
  else if (scenario == "read_unknown") bench.read_unknown();
  else if (scenario == "rows") bench.rows();
  else if (scenario == "write_unknown") bench.write_unknown();
  else if (scenario == "operation") bench.operation();
  else if (scenario == "tag") bench.tag();
  else return 2;
  return 0;
}
