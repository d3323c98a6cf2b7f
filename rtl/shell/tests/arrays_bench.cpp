// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of the shell's register arrays, of a slot's interrupt and of its control accesses, each against a model of its
// own: accesses of any width to any element, events of every kind in one cycle, a kernel that answers late or never,
// and resets at any moment. Usage: bench SEED CYCLES.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "Varrays_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kNum = 3;
constexpr unsigned kMaxWait = 16;
constexpr unsigned kChannelsLog2 = 2, kChannelBytesLog2 = 24;
constexpr std::uint64_t k37 = (1ull << 37) - 1;

enum Block : unsigned { kSchedules, kSlots, kSpaces, kGuards, kCounters, kBlocks };
// Bytes of an element's group, and cycles from an access to its acknowledge.
constexpr std::array<unsigned, kBlocks> kStride = {8, 16, 32, 32, 32};
constexpr std::array<unsigned, kBlocks> kLatency = {1, 1, 1, 2, 1};

struct Schedule {
  unsigned level = 1, weight = 1, floor = 1, limit = 0;
};
struct Slot {
  bool run = false, rearm = false;
  unsigned asid = 0;
};
struct Space {
  bool enable = false;
  unsigned sets = 0, classes = 0, mode = 0, granule = 0, channels = 0;
  std::uint64_t base = 0;
};

struct Bench {
  Varrays_bench_top top;
  std::mt19937_64 random;
  std::uint64_t cycle = 0;

  std::array<Schedule, kNum> schedules;
  bool managed = false;
  std::array<Slot, kNum> slots;
  std::array<Space, kNum> spaces;
  std::array<std::array<std::uint32_t, 6>, kNum> counts{};

  // The accesses of the last two cycles: -1 none.
  struct Access {
    int block = -1;
    bool write = false;
    std::uint32_t wanted = 0;
  };
  std::array<Access, 2> accesses;

  // Owners of rows: the last slot that moved one, and the rows of the last cycle.
  int owner = -1;
  unsigned moved = 0;
  std::uint32_t changes = 0;

  // Interrupt: the line as it was, an edge that is not announced, whether the host has asked for one.
  bool line = false, pending = false, armed = true, announced = false;
  std::uint64_t announcements = 0;

  // Control access: cycles that the kernel has had, 0 when there is none; what the host gets, and when.
  unsigned waited = 0;
  bool control_write = false, hung = false, done = false, error = false, done_data = false;
  std::uint32_t data = 0;
  unsigned unanswered = 0, late = 0;
  bool aw_open = false, w_open = false, ar_open = false;
  std::uint64_t answered_at_last = 0, timeouts = 0, cut_off = 0, kernel_errors = 0;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llx, %llx)\n", (unsigned long long)cycle, what, (unsigned long long)a,
                (unsigned long long)b);
    std::exit(1);
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }

  // ----------------------------------------------------------------------------------------------
  // Arrays
  // ----------------------------------------------------------------------------------------------

  std::uint32_t word(unsigned block, unsigned e, unsigned offset) {
    switch (block) {
      case kSchedules: {
        const Schedule& s = schedules[e];
        return offset == 0 ? s.level | s.weight << 8 | s.floor << 16 : s.limit;
      }
      case kSlots: {
        const unsigned notes = top.notes_i[e];  // closed, writes, reads
        switch (offset) {
          case 0x0: return unsigned(slots[e].run) | slots[e].asid << 8;
          case 0x4:
            return unsigned(top.idle_i[e]) | unsigned(top.hung_i[e]) << 1 | (notes >> 2 & 1) << 2 | (notes & 1) << 3 |
                (notes >> 1 & 1) << 4;
          case 0xc: return top.unanswered_i[e];
        }
        return 0;
      }
      case kSpaces: {
        const Space& s = spaces[e];
        switch (offset) {
          case 0x00: return unsigned(s.enable) | s.sets << 8 | s.granule << 16 | s.channels << 24;
          case 0x04: return std::uint32_t(s.base);
          case 0x08: return std::uint32_t(s.base >> 32);
          case 0x0c: return s.classes;
          case 0x10: return s.mode;
        }
        return 0;
      }
      case kGuards: {
        const unsigned shape = top.shape_i[e], reads = top.reads_i[e], writes = top.writes_i[e];
        const unsigned collection = top.collection_i[e];
        // outstanding 21:12, address offered 11, response offered 10, wait 9:0
        const auto wait = [](unsigned w) {
          return (w >> 12 & 1023) | (w >> 11 & 1) << 12 | (w >> 10 & 1) << 13 | (w & 1023) << 22;
        };
        switch (offset) {
          case 0x00:
            return top.rule_i[e] | top.channel_i[e] << 4 | (shape >> 10 & 7) << 8 | (shape >> 8 & 3) << 12 |
                (shape & 255) << 16 | (shape >> 13 & 255) << 24;
          case 0x04: return std::uint32_t(top.address_i[e]);
          case 0x08: return std::uint32_t(top.address_i[e] >> 32);
          case 0x0c: return wait(reads);
          case 0x10: return wait(writes) | (collection >> 16 & 1) << 14 | unsigned(top.data_offered_i[e]) << 15;
          case 0x14: return (collection & 255) | (collection >> 8 & 255) << 8 | (collection >> 17 & 1) << 16;
          case 0x18: return std::uint32_t(top.collected_i[e]);
          case 0x1c: return std::uint32_t(top.collected_i[e] >> 32);
        }
        return 0;
      }
      default: return offset < 0x18 ? counts[e][offset / 4] : 0;
    }
  }

  void write(unsigned block, unsigned e, unsigned offset, std::uint32_t word) {
    if (block == kSchedules) {
      Schedule& s = schedules[e];
      if (offset == 0) s = {word & 3, word >> 8 & 15, word >> 16 & 255, s.limit};
      else s.limit = word & 0xFFFFFF;
    } else if (block == kSlots) {
      if (offset == 0) {
        slots[e].run = word & 1;
        slots[e].asid = word >> 8 & 15;
      }
      if (offset == 8) slots[e].rearm = word & 1;
    } else if (block == kSpaces) {
      Space& s = spaces[e];
      const unsigned granule = word >> 16 & 31, channels = word >> 24 & 7;
      const bool possible = channels <= kChannelsLog2 && granule >= 6 && granule <= kChannelBytesLog2;
      switch (offset) {
        case 0x00:
          s.enable = word & 1;
          s.sets = word >> 8 & 31;
          if (s.enable) {
            s.granule = possible ? granule : 0;
            s.channels = possible ? channels : 0;
          }
          break;
        case 0x04: s.base = (s.base & ~0xFFFFFFFFull) | (word & ~63u); break;
        case 0x08: s.base = (s.base & 0xFFFFFFFFull) | std::uint64_t(word & 31) << 32; break;
        case 0x0c: s.classes = word & 0x7FFFF; break;
        case 0x10: s.mode = word & 3; break;
      }
    }
  }

  void drive_arrays() {
    for (unsigned b = 0; b < kBlocks; ++b) top.valid_i[b] = 0;
    for (auto& slot : slots) slot.rearm = false;
    for (unsigned e = 0; e < kNum; ++e) {
      top.idle_i[e] = random() & 1;
      top.hung_i[e] = random() & 1;
      top.unanswered_i[e] = random() & 0x1FFFF;
      top.notes_i[e] = random() & 7;
      top.rule_i[e] = random() & 15;
      top.channel_i[e] = random() & 3;
      top.address_i[e] = random();
      top.shape_i[e] = random() & 0x1FFFFF;
      top.reads_i[e] = random() & 0x3FFFFF;
      top.writes_i[e] = random() & 0x3FFFFF;
      top.data_offered_i[e] = random() & 1;
      top.collection_i[e] = random() & 0x3FFFF;
      top.collected_i[e] = random();
      top.events_i[e] = chance(30) ? 0 : chance(20) ? 63 : random() & 63;
    }
    accesses[1] = accesses[0];
    accesses[0] = {};
    if (!chance(50)) return;
    const unsigned block = random() % kBlocks;
    const unsigned element = chance(85) ? random() % kNum : kNum + random() % (0x1000 / kStride[block] - kNum);
    const unsigned offset = 4 * (random() % (kStride[block] / 4));
    const std::uint32_t mask = chance(60) ? ~0u : std::uint32_t(random());
    // Small numbers mostly: legal and just illegal stripes.
    std::uint32_t value = std::uint32_t(random());
    if (chance(50)) value &= 0x071F1F03;
    // Schedules mostly as they are out of reset, but for one field.
    if (block == kSchedules && chance(90)) {
      const std::uint32_t field = 0xFFu << 8 * (random() % 3);
      value = (0x00010101 & ~field) | (value & field);
      if (chance(70)) value = 0x00010101;
    }
    top.valid_i[block] = 1;
    top.write_i = chance(50);
    top.addr_i = element * kStride[block] + offset;
    top.data_i = value;
    top.mask_i = mask;
    accesses[0] = {int(block), bool(top.write_i), element < kNum ? word(block, element, offset) : 0};
    if (top.write_i && element < kNum && top.rst_ni)
      write(block, element, offset, (accesses[0].wanted & ~mask) | (value & mask));
  }

  // The shell has moved a table: it is so in the cycle of a write of the host, too.
  void drive_switch() {
    top.switch_valid_i = chance(3);
    if (!top.switch_valid_i) return;
    top.switch_asid_i = random() % kNum;
    top.switch_base_i = random() & k37 & ~63ull;
    top.switch_sets_log2_i = random() & 31;
    spaces[top.switch_asid_i].base = top.switch_base_i;
    spaces[top.switch_asid_i].sets = top.switch_sets_log2_i;
  }

  void check_arrays() {
    for (unsigned b = 0; b < kBlocks; ++b) {
      const Access& access = accesses[kLatency[b] - 1];
      const bool mine = access.block == int(b);
      if (top.read_ack_o[b] != (mine && !access.write)) fail("acknowledge of a read", b);
      if (top.write_ack_o[b] != (mine && access.write)) fail("acknowledge of a write", b);
      if (mine && !access.write && top.data_o[b] != access.wanted) fail("another word", top.data_o[b], access.wanted);
    }
    for (unsigned e = 0; e < kNum; ++e) {
      const Schedule& s = schedules[e];
      if (top.level_o[e] != s.level || top.weight_o[e] != s.weight || top.floor_o[e] != s.floor ||
          top.limit_o[e] != s.limit)
        fail("schedule of a slot", e);
      if (top.run_o[e] != slots[e].run || top.asid_o[e] != slots[e].asid) fail("slot", e);
      if (top.rearm_o[e] != slots[e].rearm) fail("rearm", e);
      const Space& p = spaces[e];
      if (top.enable_o[e] != p.enable || top.table_base_o[e] != p.base || top.table_sets_log2_o[e] != p.sets)
        fail("table of a space", e, top.table_base_o[e]);
      if (top.size_classes_o[e] != p.classes || top.mode_o[e] != p.mode) fail("classes or mode of a space", e);
      if (top.stripe_o[e] != (p.granule | p.channels << 5)) fail("stripe of a space", e, top.stripe_o[e]);
    }
  }

  // Whether some slot differs: a cycle after the write.
  bool differs() const {
    for (const Schedule& s : schedules)
      if (s.level != schedules[0].level || s.weight != schedules[0].weight || s.floor != 1) return true;
    return false;
  }

  void count() {
    for (unsigned e = 0; e < kNum; ++e)
      for (unsigned w = 0; w < 6; ++w) counts[e][w] += top.events_i[e] >> w & 1;
  }

  void check_owners() {
    if (top.owner_changes_o != changes) fail("changes of the owner", top.owner_changes_o, changes);
    for (unsigned s = 0; s < kNum; ++s) {
      if (!(moved >> s & 1)) continue;
      changes += owner >= 0 && owner != int(s);
      owner = int(s);
    }
    moved = top.moved_i;
  }

  // ----------------------------------------------------------------------------------------------
  // Interrupt: called before the edge, with the inputs of this cycle
  // ----------------------------------------------------------------------------------------------

  void check_interrupt() {
    if (top.announce_o != announced) fail("an announcement", top.announce_o, announced);
    const bool rises = top.interrupt_i && !line;
    if (top.edge_o != rises) fail("edge", top.edge_o, rises);
    announced = pending && armed && !top.owed_i && top.live_i;
    announcements += announced;
    pending = (pending && !announced) || rises;
    armed = (armed && !announced) || top.interrupt_rearm_i;
    line = top.interrupt_i;
    if (!top.live_i) {
      line = pending = false;
      armed = true;
    }
  }

  // ----------------------------------------------------------------------------------------------
  // Control accesses
  // ----------------------------------------------------------------------------------------------

  void drive_control() {
    top.control_run_i = control_runs;
    top.control_valid_i = 0;
    top.bvalid_i = top.rvalid_i = 0;
    top.awready_i = chance(50);
    top.wready_i = chance(50);
    top.arready_i = chance(50);
    top.bresp_i = random() & 3;
    top.rresp_i = random() & 3;
    top.rdata_i = std::uint32_t(random());
    if (waited) {
      // The kernel answers in a cycle chosen before: the last one that counts, too.
      const bool answers = waited == late;
      (control_write ? top.bvalid_i : top.rvalid_i) = answers;
      // What answers the other kind of access is not looked at.
      (control_write ? top.rvalid_i : top.bvalid_i) = chance(10);
    } else if (!done && chance(40)) {
      top.control_valid_i = 1;
      control_write = top.control_write_i = random() & 1;
      top.control_addr_i = random() & 0xFFFC;
      top.control_data_i = std::uint32_t(random());
      top.control_strobe_i = random() & 15;
      late = chance(70) ? 1 + random() % kMaxWait : chance(30) ? kMaxWait : 1000;
    }
  }
  bool control_runs = true;

  void check_control() {
    if (top.control_done_o != done) fail("done of a control access", top.control_done_o, done);
    if (done && top.control_error_o != error) fail("error of a control access", top.control_error_o, error);
    if (done && done_data && top.control_read_o != data) fail("data of a control access", top.control_read_o, data);
    if (top.control_hung_o != hung) fail("hung", top.control_hung_o, hung);
    if (hung && top.control_unanswered_o != unanswered) fail("which is unanswered", top.control_unanswered_o);
    if (top.control_idle_o != !waited) fail("idle", waited);
    if (top.awvalid_o != aw_open || top.wvalid_o != w_open || top.arvalid_o != ar_open) fail("an address or its data");
    if (top.bready_o != (waited && control_write) || top.rready_o != (waited && !control_write)) fail("ready");
    if (aw_open && top.awaddr_o != top.control_addr_i) fail("address of a write");
    if (ar_open && top.araddr_o != top.control_addr_i) fail("address of a read");
    if (w_open && (top.wdata_o != top.control_data_i || top.wstrb_o != top.control_strobe_i)) fail("data of a write");
    const bool answers = waited && (control_write ? top.bvalid_i : top.rvalid_i);
    if (top.control_mark_o != (answers && !control_write)) fail("mark", top.control_mark_o);

    done = done_data = false;
    const bool was_hung = hung;
    if (!top.control_run_i) hung = false;
    if (waited) {
      aw_open &= !top.awready_i;
      w_open &= !top.wready_i;
      ar_open &= !top.arready_i;
      const bool over = answers || waited == kMaxWait || !top.control_run_i;
      if (!over) {
        ++waited;
      } else {
        done = true;
        error = answers ? (control_write ? top.bresp_i : top.rresp_i) >> 1 : true;
        done_data = answers && !control_write;
        data = top.rdata_i;
        answered_at_last += answers && waited == kMaxWait;
        kernel_errors += answers && error;
        if (!answers && top.control_run_i) {
          hung = true;
          ++timeouts;
          unanswered = unsigned(control_write) << 16 | top.control_addr_i;
        }
        cut_off += !answers && !top.control_run_i;
        waited = 0;
        aw_open = w_open = ar_open = false;
      }
    } else if (top.control_valid_i) {
      if (top.control_run_i && !was_hung) {
        waited = 1;
        aw_open = w_open = control_write;
        ar_open = !control_write;
      } else {
        done = error = true;
      }
    }
  }

  // ----------------------------------------------------------------------------------------------

  void forget() {
    schedules = {};
    managed = false;
    slots = {};
    for (unsigned e = 0; e < kNum; ++e) {
      const bool moved_now = top.switch_valid_i && top.switch_asid_i == e;
      const Space old = spaces[e];
      spaces[e] = {};
      if (moved_now) {
        spaces[e].base = old.base;
        spaces[e].sets = old.sets;
      }
    }
    counts = {};
    accesses = {};
    owner = -1;
    moved = 0;
    changes = 0;
    line = pending = announced = false;
    armed = true;
    waited = 0;
    hung = done = aw_open = w_open = ar_open = false;
  }

  void edge(bool resets) {
    top.rst_ni = !resets;
    const bool will_differ = differs();
    drive_arrays();
    drive_switch();
    top.moved_i = chance(40) ? 0 : chance(30) ? 7 : random() & 7;
    if (chance(2)) top.live_i = !chance(30);
    top.interrupt_i = chance(storm ? 50 : 5) ? !top.interrupt_i : top.interrupt_i;
    top.interrupt_rearm_i = chance(10);
    if (chance(10)) top.owed_i = random() & 1;
    if (chance(2)) control_runs = !chance(20);
    drive_control();
    top.eval();
    if (resets) {
      top.clk_i = 1;
      top.eval();
      top.clk_i = 0;
      forget();
      top.control_valid_i = 0;
      top.eval();
      check_arrays();
      ++cycle;
      return;
    }
    check_owners();
    check_interrupt();
    check_control();
    count();
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    managed = will_differ;
    check_arrays();
    if (top.managed_o != managed) fail("managed", top.managed_o, managed);
    ++cycle;
  }
  bool storm = false;

  void run(std::uint64_t cycles) {
    top.live_i = 1;
    for (int i = 0; i < 3; ++i) edge(true);
    while (cycle < cycles) {
      if (chance(1)) storm = chance(50);
      // Long stretches in which nothing differs, too.
      if (chance(1) && chance(10)) edge(true);
      else edge(false);
    }
    if (!answered_at_last || !timeouts || !cut_off || !kernel_errors || announcements < cycles / 100)
      fail("too little was done", timeouts, announcements);
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
