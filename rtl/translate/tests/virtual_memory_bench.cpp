// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_virtual_memory: kernels that make random accesses and know what they must read, card
// memory behind the fabric seam (any order across channels), a pager that moves pages in and out,
// and a judge that knows at every moment which frames a port may touch, and how.
//
// Usage: bench SCENARIO SEED. Prints one line of figures; exits with 1 at the first thing that is
// wrong.

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "Vvirtual_memory_bench_top.h"
#include "verilated.h"

namespace {

constexpr int kPorts = 2;
constexpr int kChannels = 2;
constexpr int kReaders = kPorts + 2;
constexpr int kWriters = kPorts + 1;
constexpr int kChannelLog2 = 26;
constexpr unsigned kFirstSetsLog2 = 10;

enum Op { kInstall = 0, kInvalidate = 1, kProtect = 2, kReadClear = 3, kGrow = 4 };
enum Status { kOk = 0, kAbsent = 1, kSetFull = 2, kRefused = 3 };
enum Cause { kCauseAbsent = 0, kCausePermission = 1, kCauseTarget = 2 };

uint64_t cycle = 0;

[[noreturn]] void fail(const char* format, ...) {
  std::printf("cycle %llu: ", static_cast<unsigned long long>(cycle));
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
  std::exit(1);
}

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

using Row = std::array<uint8_t, 64>;

template <typename Wide>
Row from_wide(const Wide& wide) {
  Row row;
  for (int i = 0; i < 16; ++i) {
    const uint32_t word = wide[i];
    std::memcpy(&row[4 * i], &word, 4);
  }
  return row;
}

template <typename Wide>
void to_wide(const Row& row, Wide& wide) {
  for (int i = 0; i < 16; ++i) {
    uint32_t word;
    std::memcpy(&word, &row[4 * i], 4);
    wide[i] = word;
  }
}

struct Config {
  unsigned stall = 30;             // percent of cycles in which a ready or a valid is held back
  unsigned latency_min = 5, latency_max = 60;
  unsigned ack_latency = 0;        // of writes, if it is another one
  unsigned read_chance = 40, write_chance = 40;  // percent of cycles in which a burst is started
  unsigned max_rows = 64;
  bool odd_bursts = true;          // narrow, unaligned, illegal ones
  unsigned pager_delay = 40;       // cycles per action
  unsigned pager_whim = 20;        // percent of actions that are not an answer to a fault
  bool same_space = false;
  unsigned classes = 0b1101;       // 4, 16 and 32 KiB
  bool accessed = false;           // the pager installs pages as accessed
  bool grow = false;               // the tables grow once
  unsigned l1_off = 0, walker_off = 0;  // spaces, as bits
  bool tableless = false;          // with the walker off: the pager does not use the tables at all
  unsigned wander = 5;             // percent of bursts that go to a page of their own
  bool levels = false;             // levels of slots change all the time
  unsigned walk_gap = 1;           // cycles between two requests of the walker that memory takes
  bool walk_pauses = false;        // the walker gets no row for a while, then many
};

// -------------------------------------------------------------------------------------------------
// Pages
// -------------------------------------------------------------------------------------------------

struct Page {
  int asid = 0;
  uint64_t addr = 0;
  unsigned size_class = 0;
  bool forbidden = false, read_only = false;
  // as the pager sees it
  bool mapped = false, leaving = false, writable = false, downgrading = false;
  bool host_dirty = false;  // replied as dirty; where there is no table, nobody else knows
  uint64_t frame = 0;  // 4 KiB units
  // as the judge sees it
  // Installed dirty, or since it was clean a kernel has submitted a write; a write has been issued.
  bool may_be_dirty = false, is_dirty = false;
  uint64_t bytes() const { return 4096ull << size_class; }
};

uint64_t entry_bits(uint64_t frame, unsigned size_class, unsigned target, bool dirty, bool accessed,
                    bool write, bool read) {
  return frame << 13 | static_cast<uint64_t>(size_class) << 8 | target << 5 | dirty << 4 |
         accessed << 3 | write << 2 | read << 1 | 1;
}

// -------------------------------------------------------------------------------------------------
// The bench
// -------------------------------------------------------------------------------------------------

class Bench {
 public:
  using Model = Vvirtual_memory_bench_top;

  Config config;
  std::unique_ptr<Model> own;
  Model& top;
  std::mt19937_64 random;

  Bench(const Config& c, uint64_t seed) : config(c), own(std::make_unique<Model>()), top(*own), random(seed) {}
  // With a model that has been used before: start() resets it in the middle of whatever it does.
  Bench(const Config& c, uint64_t seed, Model& used) : config(c), top(used), random(seed) {}

  bool chance(unsigned percent) { return random() % 100 < percent; }
  bool go() { return config.stall == 0 || !chance(config.stall); }
  uint64_t below(uint64_t n) { return random() % n; }

  // ----------------------------------------------------------------------------------------------
  // Memory and the fabric seam
  // ----------------------------------------------------------------------------------------------

  std::unordered_map<uint64_t, Row> memory;  // by row number
  Row& memory_row(uint64_t addr) {
    auto [it, fresh] = memory.try_emplace(addr / 64);
    if (fresh) it->second.fill(0);
    return it->second;
  }

  struct Request {
    uint64_t addr = 0;
    unsigned len = 0, tag = 0, done = 0;
    uint64_t due = 0;
    std::optional<Row> early = {};  // a row that was read when the request came, not when it ended
    int channel() const { return static_cast<int>(addr >> kChannelLog2); }
  };
  std::deque<Request> reads[kReaders][kChannels], acks[kWriters][kChannels];
  std::deque<Request> write_requests[kWriters];
  int read_channel[kReaders] = {}, ack_channel[kWriters] = {};
  bool memory_fails = false;
  std::function<bool(uint64_t)> row_fails = [](uint64_t) { return false; };
  bool hold_requests = false;  // of ports: the fabric takes none, until a port is in reset
  uint64_t rows_read[kReaders] = {}, rows_written[kWriters] = {};
  uint64_t reads_issued[kReaders] = {}, writes_issued[kWriters] = {};

  uint64_t due() {
    return cycle + config.latency_min + below(config.latency_max - config.latency_min + 1);
  }

  void drive_fabric() {
    for (int r = 0; r < kReaders; ++r) {
      top.read_req_ready_i[r] = go() && !(hold_requests && r < kPorts) &&
          !(r == kPorts && cycle % config.walk_gap != 0);
      // Any channel whose oldest burst is due may send the next row.
      int chosen = -1;
      const int start = static_cast<int>(below(kChannels));
      for (int i = 0; i < kChannels; ++i) {
        const int c = (start + i) % kChannels;
        if (!reads[r][c].empty() && reads[r][c].front().due <= cycle) chosen = c;
      }
      if (chosen >= 0 && !go()) chosen = -1;
      if (config.walk_pauses && r == kPorts && cycle % 1200 < 400) chosen = -1;
      read_channel[r] = chosen;
      top.read_rsp_valid_i[r] = chosen >= 0;
      if (chosen < 0) continue;
      const Request& request = reads[r][chosen].front();
      const uint64_t addr = request.addr + 64 * request.done;
      to_wide(request.early ? *request.early : memory_row(addr), top.read_rsp_row_i[r]);
      top.read_rsp_tag_i[r] = request.tag;
      top.read_rsp_index_i[r] = request.done;
      top.read_rsp_last_i[r] = request.done == request.len;
      top.read_rsp_error_i[r] = row_fails(addr);
    }
    for (int w = 0; w < kWriters; ++w) {
      top.write_req_ready_i[w] = go() && !(hold_requests && w < kPorts);
      // Rows are taken only when their request is known, so that the model stays simple.
      top.write_data_ready_i[w] = !write_requests[w].empty() && go();
      int chosen = -1;
      for (int i = 0, start = static_cast<int>(below(kChannels)); i < kChannels; ++i) {
        const int c = (start + i) % kChannels;
        if (!acks[w][c].empty() && acks[w][c].front().due <= cycle) chosen = c;
      }
      if (chosen >= 0 && !go()) chosen = -1;
      ack_channel[w] = chosen;
      top.write_rsp_valid_i[w] = chosen >= 0;
      if (chosen < 0) continue;
      top.write_rsp_tag_i[w] = acks[w][chosen].front().tag;
      top.write_rsp_error_i[w] = row_fails(acks[w][chosen].front().addr);
    }
  }

  void observe_fabric() {
    for (int r = 0; r < kReaders; ++r) {
      if (read_channel[r] >= 0) {
        if (!top.read_rsp_ready_o[r]) fail("reader %d is not ready for a response", r);
        auto& queue = reads[r][read_channel[r]];
        ++rows_read[r];
        if (queue.front().done++ == queue.front().len) queue.pop_front();
      }
      if (top.read_req_valid_o[r] && top.read_req_ready_i[r]) {
        Request request{top.read_req_addr_o[r], top.read_req_len_o[r], top.read_req_tag_o[r]};
        check_shape(request);
        if (r < kPorts) judge(r, request, false);
        request.due = due();
        if (request.len == 0 && chance(50)) request.early = memory_row(request.addr);
        ++reads_issued[r];
        reads[r][request.channel()].push_back(request);
      }
    }
    for (int w = 0; w < kWriters; ++w) {
      if (ack_channel[w] >= 0) {
        if (!top.write_rsp_ready_o[w]) fail("writer %d is not ready for a response", w);
        acks[w][ack_channel[w]].pop_front();
      }
      if (top.write_data_valid_o[w] && top.write_data_ready_i[w]) {
        Request& request = write_requests[w].front();
        const Row row = from_wide(top.write_data_row_o[w]);
        Row& target = memory_row(request.addr + 64 * request.done);
        for (int i = 0; i < 64; ++i)
          if (top.write_data_strobe_o[w] >> i & 1) target[i] = row[i];
        ++rows_written[w];
        if (top.write_data_last_o[w] != (request.done == request.len))
          fail("writer %d: last at row %u of %u", w, request.done, request.len);
        if (request.done++ == request.len) {
          request.due = config.ack_latency != 0 ? cycle + config.ack_latency : due();
          acks[w][request.channel()].push_back(request);
          write_requests[w].pop_front();
        }
      } else if (w < kPorts && !write_requests[w].empty() && top.write_data_ready_i[w] &&
                 !top.write_data_valid_o[w] && write_waits[w]++ > 10) {
        fail("writer %d: its rows do not follow their request", w);
      }
      if (top.write_data_valid_o[w]) write_waits[w] = 0;
      if (top.write_req_valid_o[w] && top.write_req_ready_i[w]) {
        Request request{top.write_req_addr_o[w], top.write_req_len_o[w], top.write_req_tag_o[w]};
        check_shape(request);
        if (w < kPorts) judge(w, request, true);
        ++writes_issued[w];
        write_requests[w].push_back(request);
      }
    }
  }
  int write_waits[kWriters] = {};

  void check_shape(const Request& request) {
    if (request.addr % 64 != 0) fail("request to %llx is not aligned", (long long)request.addr);
    if ((request.addr & 4095) + 64 * (request.len + 1) > 4096) fail("request crosses 4 KiB");
    if (request.channel() >= kChannels) fail("request to %llx", (long long)request.addr);
  }

  // Requests of ports that touch a frame and have not ended.
  bool under_way(const Page& page, bool writes_only) {
    const auto hits = [&](const Request& request) {
      return request.addr / 4096 >= page.frame &&
             request.addr / 4096 < page.frame + (1ull << page.size_class);
    };
    for (int p = 0; p < kPorts; ++p) {
      for (int c = 0; c < kChannels; ++c) {
        if (!writes_only)
          for (const auto& request : reads[p][c])
            if (hits(request)) return true;
        for (const auto& request : acks[p][c])
          if (hits(request)) return true;
      }
      for (const auto& request : write_requests[p])
        if (hits(request)) return true;
    }
    return false;
  }

  // ----------------------------------------------------------------------------------------------
  // The judge: may this port touch this frame now?
  // ----------------------------------------------------------------------------------------------

  std::deque<Page> pages;  // stable addresses
  std::map<uint64_t, Page*> owner;  // by frame
  bool identity = false;

  void judge(int port, const Request& request, bool write) {
    if (identity) return;
    const auto it = owner.find(request.addr / 4096);
    if (it == owner.end())
      fail("port %d: %s of frame %llx, which is free", port, write ? "write" : "read",
           (long long)(request.addr / 4096));
    Page& page = *it->second;
    if (page.asid != asid_of[port])
      fail("port %d of space %d touches a frame of space %d", port, asid_of[port], page.asid);
    if (write && !page.writable && !page.downgrading)
      fail("port %d writes page %llx, which is not writable", port, (long long)page.addr);
    if (write) page.is_dirty = true;
  }

  // ----------------------------------------------------------------------------------------------
  // Spaces and pages
  // ----------------------------------------------------------------------------------------------

  int asid_of[kPorts] = {1, 2};
  std::map<unsigned, std::deque<uint64_t>> free_frames;  // by size class
  std::map<std::pair<int, uint64_t>, Page*> page_of_block;
  std::map<std::pair<int, uint64_t>, Row> backing, shadow;  // by space and virtual row
  bool flat_backing = false;  // rows start as zero

  Row original(int asid, uint64_t row) const {
    Row result;
    for (int i = 0; i < 8; ++i) {
      const uint64_t word = flat_backing ? 0 : mix(mix(row * 16 + i) + asid);
      std::memcpy(&result[8 * i], &word, 8);
    }
    return result;
  }
  Row& row_in(std::map<std::pair<int, uint64_t>, Row>& store, int asid, uint64_t addr) {
    const auto [it, fresh] = store.try_emplace({asid, addr / 64});
    if (fresh) it->second = original(asid, addr / 64);
    return it->second;
  }

  unsigned sets_log2[4] = {kFirstSetsLog2, kFirstSetsLog2, kFirstSetsLog2, kFirstSetsLog2};
  // Tables of all sizes of a space have places of their own.
  static uint64_t place_of_table(int asid, unsigned log2) {
    return (1ull << kChannelLog2) * 2 - ((static_cast<uint64_t>(asid) + 1) << 22) + (64ull << log2);
  }
  uint64_t table_base(int asid) const { return place_of_table(asid, sets_log2[asid]); }

  void set_space(int asid, bool enable, unsigned classes) {
    top.space_enable_i[asid] = enable;
    top.space_base_i[asid] = table_base(asid);
    top.space_sets_log2_i[asid] = sets_log2[asid];
    top.space_size_classes_i[asid] = classes;
    top.space_l1_off_i[asid] = config.l1_off >> asid & 1;
    top.space_walker_off_i[asid] = config.walker_off >> asid & 1;
  }

  void add_frames(unsigned size_class, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const uint64_t unit = 1ull << size_class;
      next_frame = (next_frame + unit - 1) / unit * unit;
      // Alternate channels.
      const uint64_t channel = (i % kChannels) << (kChannelLog2 - 12);
      free_frames[size_class].push_back(next_frame | channel);
      next_frame += unit;
    }
  }
  uint64_t next_frame = 16;

  Page& add_page(int asid, uint64_t addr, unsigned size_class, bool forbidden, bool read_only) {
    pages.push_back({asid, addr, size_class, forbidden, read_only});
    Page& page = pages.back();
    for (uint64_t block = 0; block < 1ull << size_class; ++block)
      page_of_block[{asid, addr / 4096 + block}] = &page;
    return page;
  }

  // ----------------------------------------------------------------------------------------------
  // Kernels
  // ----------------------------------------------------------------------------------------------

  struct Burst {
    unsigned id = 0, len = 0, size = 6, type = 1;
    uint64_t addr = 0;
    bool error = false;       // an error response is expected
    bool error_known = true;  // else: any response will do
    std::vector<Row> rows;    // expected (reads), or sent (writes)
    std::vector<uint64_t> strobes;
    unsigned done = 0;
    int last_beat = -1;  // where WLAST is (a wrong place on purpose)
    std::vector<uint64_t> blocks;
  };
  struct Kernel {
    bool enabled = true;
    bool asks = true;  // start new bursts
    bool ar_valid = false, aw_valid = false, w_valid = false;
    std::deque<Burst> ar_queue, reads;             // not yet asked; asked
    std::deque<Burst> aw_queue, w_queue, writes;   // not yet asked; data to send; asked
    uint64_t rows_read = 0, rows_written = 0, bursts = 0, errors = 0;
  };
  Kernel kernels[kPorts];
  std::function<void(int)> generate = [this](int port) { random_bursts(port); };

  // Blocks that are being read (count) or written (-1).
  std::map<std::pair<int, uint64_t>, int> locks;
  bool can_lock(int asid, uint64_t block, bool write) {
    const auto it = locks.find({asid, block});
    return it == locks.end() || (!write && it->second > 0);
  }
  void lock(int asid, uint64_t block, bool write) {
    int& count = locks[{asid, block}];
    count = write ? -1 : count + 1;
  }
  void unlock(int asid, uint64_t block, bool write) {
    int& count = locks[{asid, block}];
    if (write || --count == 0) locks.erase({asid, block});
  }

  static uint64_t beat_addr(const Burst& burst, unsigned beat) {
    const uint64_t bytes = 1ull << burst.size;
    return beat == 0 ? burst.addr : (burst.addr & ~(bytes - 1)) + beat * bytes;
  }
  // Bytes of a beat, as a mask of the row.
  static uint64_t beat_mask(const Burst& burst, unsigned beat) {
    const uint64_t bytes = 1ull << burst.size;
    const uint64_t start = beat_addr(burst, beat);
    const uint64_t end = (start & ~(bytes - 1)) + bytes;
    uint64_t mask = 0;
    for (uint64_t a = start; a < end; ++a) mask |= 1ull << (a & 63);
    return mask;
  }

  Burst shape(Page& page) {
    Burst burst;
    burst.id = static_cast<unsigned>(below(65536));
    const uint64_t block = page.addr + 4096 * below(1ull << page.size_class);
    burst.addr = block + 64 * below(64);
    unsigned rows_left = 64 - (burst.addr & 4095) / 64;
    if (rows_left > config.max_rows) rows_left = config.max_rows;
    burst.len = static_cast<unsigned>(below(rows_left));
    if (config.odd_bursts && chance(30)) {
      burst.size = static_cast<unsigned>(below(7));
      burst.addr += below(64);
      const uint64_t bytes = 1ull << burst.size;
      const unsigned beats_left = (4096 - (burst.addr & 4095 & ~(bytes - 1))) >> burst.size;
      burst.len = static_cast<unsigned>(below(std::min(beats_left, 256u)));
    }
    return burst;
  }

  // A burst that the port must refuse.
  void spoil(Burst& burst) {
    burst.error = true;
    switch (below(4)) {
      case 0:  // crosses 4 KiB
        burst.size = 6;
        burst.addr = (burst.addr & ~4095ull) + 4096 - 64;
        burst.len = 1 + static_cast<unsigned>(below(200));
        break;
      case 1:  // FIXED
        burst.type = 0;
        burst.len = 1 + static_cast<unsigned>(below(15));
        break;
      case 2:  // WRAP
        burst.type = 2;
        burst.len = 3;
        break;
      default:  // beyond 48 bits
        burst.addr |= 1ull << (48 + below(16));
        break;
    }
  }

  // Mostly one of a few pages, which change slowly.
  std::array<Page*, 6> window[kPorts] = {};
  Page& random_page(int port) {
    Page*& choice = window[port][below(6)];
    if (choice == nullptr || chance(config.wander)) {
      do {
        choice = &pages[below(pages.size())];
      } while (choice->asid != asid_of[port]);
    }
    return *choice;
  }

  void random_bursts(int port) {
    Kernel& kernel = kernels[port];
    if (kernel.ar_queue.size() < 4 && chance(config.read_chance)) {
      Page& page = random_page(port);
      Burst burst = shape(page);
      burst.error = page.forbidden;
      if (config.odd_bursts && chance(3)) spoil(burst);
      read(port, burst);
    }
    if (kernel.aw_queue.size() < 4 && chance(config.write_chance)) {
      Page& page = random_page(port);
      Burst burst = shape(page);
      burst.error = page.forbidden || page.read_only;
      if (config.odd_bursts && chance(3)) spoil(burst);
      if (config.odd_bursts && burst.len > 0 && chance(2)) {
        burst.last_beat = static_cast<int>(below(burst.len + 2));
        if (burst.last_beat == static_cast<int>(burst.len)) burst.last_beat = -1;
        else burst.error = true;
      }
      write(port, burst);
    }
  }

  // Queues a read, unless a write to the same block is under way.
  bool read(int port, Burst burst) {
    const int asid = asid_of[port];
    const uint64_t block = burst.addr / 4096;
    if (!burst.error) {
      if (!can_lock(asid, block, false)) return false;
      lock(asid, block, false);
      burst.blocks.push_back(block);
      for (unsigned beat = 0; beat <= burst.len; ++beat)
        burst.rows.push_back(row_in(shadow, asid, beat_addr(burst, beat)));
    }
    kernels[port].ar_queue.push_back(burst);
    return true;
  }

  bool write(int port, Burst burst) {
    const int asid = asid_of[port];
    const uint64_t block = burst.addr / 4096;
    if (!burst.error) {
      if (!can_lock(asid, block, true)) return false;
      lock(asid, block, true);
      burst.blocks.push_back(block);
    }
    const uint64_t sparse = chance(50) ? ~0ull : random();
    // An early WLAST ends the burst.
    const unsigned end = burst.last_beat < 0 ? burst.len : std::min<unsigned>(burst.last_beat, burst.len);
    for (unsigned beat = 0; beat <= end; ++beat) {
      Row row;
      for (int i = 0; i < 8; ++i) {
        const uint64_t word = random();
        std::memcpy(&row[8 * i], &word, 8);
      }
      const uint64_t strobe = beat_mask(burst, beat) & sparse;
      burst.rows.push_back(row);
      burst.strobes.push_back(strobe);
      if (!burst.error) {
        Row& target = row_in(shadow, asid, beat_addr(burst, beat));
        for (int i = 0; i < 64; ++i)
          if (strobe >> i & 1) target[i] = row[i];
      }
    }
    const auto page = page_of_block.find({asid, block});
    if (page != page_of_block.end()) {
      page->second->may_be_dirty = true;
      writes_wanted[page->second]++;
    }
    kernels[port].aw_queue.push_back(burst);
    return true;
  }
  // Writes submitted and not answered, by page.
  std::map<Page*, int> writes_wanted;

  bool hold_w[kPorts] = {};  // the kernel stops sending data

  void drive_kernels() {
    for (int p = 0; p < kPorts; ++p) {
      Kernel& kernel = kernels[p];
      if (kernel.enabled && kernel.asks) generate(p);
      if (!kernel.ar_valid && !kernel.ar_queue.empty() && kernel.enabled) kernel.ar_valid = go();
      top.ar_valid_i[p] = kernel.ar_valid;
      if (kernel.ar_valid) {
        const Burst& burst = kernel.ar_queue.front();
        top.ar_id_i[p] = burst.id;
        top.ar_addr_i[p] = burst.addr;
        top.ar_len_i[p] = burst.len;
        top.ar_size_i[p] = burst.size;
        top.ar_burst_i[p] = burst.type;
      }
      if (!kernel.aw_valid && !kernel.aw_queue.empty() && kernel.enabled) kernel.aw_valid = go();
      top.aw_valid_i[p] = kernel.aw_valid;
      if (kernel.aw_valid) {
        const Burst& burst = kernel.aw_queue.front();
        top.aw_id_i[p] = burst.id;
        top.aw_addr_i[p] = burst.addr;
        top.aw_len_i[p] = burst.len;
        top.aw_size_i[p] = burst.size;
        top.aw_burst_i[p] = burst.type;
      }
      if (!kernel.w_valid && !kernel.w_queue.empty() && !hold_w[p] && kernel.enabled)
        kernel.w_valid = go();
      top.w_valid_i[p] = kernel.w_valid;
      if (kernel.w_valid) {
        const Burst& burst = kernel.w_queue.front();
        to_wide(burst.rows[burst.done], top.w_data_i[p]);
        top.w_strb_i[p] = burst.strobes[burst.done];
        const int last = burst.last_beat < 0 ? static_cast<int>(burst.len) : burst.last_beat;
        top.w_last_i[p] = static_cast<int>(burst.done) == last;
      }
      top.b_ready_i[p] = kernel.enabled && go();
      top.r_ready_i[p] = kernel.enabled && go();
    }
  }

  void observe_kernels() {
    for (int p = 0; p < kPorts; ++p) {
      Kernel& kernel = kernels[p];
      if (!kernel.enabled) {
        if (top.port_reset_i[p] && (top.r_valid_o[p] || top.b_valid_o[p]) && reset_age[p] > 1)
          fail("port %d: output to a kernel in reset", p);
        continue;
      }
      if (kernel.ar_valid && top.ar_ready_o[p]) {
        kernel.reads.push_back(kernel.ar_queue.front());
        kernel.ar_queue.pop_front();
        kernel.ar_valid = false;
      }
      if (kernel.aw_valid && top.aw_ready_o[p]) {
        kernel.w_queue.push_back(kernel.aw_queue.front());
        kernel.writes.push_back(kernel.aw_queue.front());
        kernel.aw_queue.pop_front();
        kernel.aw_valid = false;
      }
      if (kernel.w_valid && top.w_ready_o[p]) {
        Burst& burst = kernel.w_queue.front();
        kernel.w_valid = false;
        if (++burst.done == burst.rows.size()) {
          if (!burst.error) kernel.rows_written += burst.len + 1;
          kernel.w_queue.pop_front();
        }
      }
      if (top.r_valid_o[p] && top.r_ready_i[p]) check_r(p);
      if (top.b_valid_o[p] && top.b_ready_i[p]) check_b(p);
    }
  }

  void check_r(int p) {
    Kernel& kernel = kernels[p];
    if (kernel.reads.empty()) fail("port %d: R that nobody asked for", p);
    Burst& burst = kernel.reads.front();
    if (top.r_id_o[p] != burst.id) fail("port %d: R has id %x, not %x", p, top.r_id_o[p], burst.id);
    if (burst.error_known && (top.r_resp_o[p] != 0) != burst.error)
      fail("port %d: R of %llx beat %u says %d, expected %s", p, (long long)burst.addr, burst.done,
           top.r_resp_o[p], burst.error ? "an error" : "no error");
    if (!burst.error) {
      const Row row = from_wide(top.r_data_o[p]);
      const uint64_t mask = beat_mask(burst, burst.done);
      for (int i = 0; i < 64; ++i)
        if ((mask >> i & 1) && row[i] != burst.rows[burst.done][i])
          fail("port %d: R of %llx beat %u byte %d is %02x, not %02x", p, (long long)burst.addr,
               burst.done, i, row[i], burst.rows[burst.done][i]);
      ++kernel.rows_read;
    }
    const bool last = burst.done == burst.len;
    if (top.r_last_o[p] != last) fail("port %d: RLAST at beat %u of %u", p, burst.done, burst.len);
    ++burst.done;
    if (!last) return;
    ++kernel.bursts;
    kernel.errors += burst.error;
    for (const uint64_t block : burst.blocks) unlock(asid_of[p], block, false);
    kernel.reads.pop_front();
  }

  void check_b(int p) {
    Kernel& kernel = kernels[p];
    if (kernel.writes.empty()) fail("port %d: B that nobody asked for", p);
    const Burst& burst = kernel.writes.front();
    if (kernel.writes.size() <= kernel.w_queue.size()) fail("port %d: B before its last beat", p);
    if (top.b_id_o[p] != burst.id) fail("port %d: B has id %x, not %x", p, top.b_id_o[p], burst.id);
    if (burst.error_known && (top.b_resp_o[p] != 0) != burst.error)
      fail("port %d: B of %llx says %d, expected %s", p, (long long)burst.addr, top.b_resp_o[p],
           burst.error ? "an error" : "no error");
    ++kernel.bursts;
    kernel.errors += burst.error;
    for (const uint64_t block : burst.blocks) unlock(asid_of[p], block, true);
    answered_write(p, burst);
    kernel.writes.pop_front();
  }

  void answered_write(int p, const Burst& burst) {
    const auto page = page_of_block.find({asid_of[p], burst.addr / 4096});
    if (page != page_of_block.end()) --writes_wanted[page->second];
  }

  bool kernels_busy() const {
    for (const Kernel& kernel : kernels)
      if (!kernel.ar_queue.empty() || !kernel.aw_queue.empty() || !kernel.reads.empty() ||
          !kernel.writes.empty())
        return true;
    return false;
  }

  // ----------------------------------------------------------------------------------------------
  // Table commands and replies, as the shell's command engine issues them: one at a time, in order
  // ----------------------------------------------------------------------------------------------

  struct Command {
    bool is_reply = false;
    int op = 0, asid = 0;
    uint64_t addr = 0, entry = 0;
    unsigned sets_log2 = 0;
    unsigned requester = 0, index = 0;
    bool fail = false;
    std::function<void(int status, bool accessed, bool dirty)> then;
  };
  std::deque<Command> commands;
  bool command_sent = false;
  uint64_t command_start = 0, longest_command = 0;

  void drive_commands() {
    const bool any = !commands.empty();
    top.table_cmd_valid_i = any && !command_sent && !commands.front().is_reply;
    top.reply_valid_i = any && !command_sent && commands.front().is_reply;
    top.table_rsp_ready_i = go();
    if (!any) return;
    const Command& command = commands.front();
    top.table_cmd_op_i = command.op;
    top.table_cmd_asid_i = command.asid;
    top.table_cmd_addr_i = command.addr;
    top.table_cmd_entry_i = command.entry;
    top.table_cmd_sets_log2_i = command.sets_log2;
    top.reply_requester_i = command.requester;
    top.reply_index_i = command.index;
    top.reply_fail_i = command.fail;
    top.reply_entry_i = command.entry;
  }

  void observe_commands() {
    if (top.table_rsp_valid_o && top.table_rsp_ready_i) {
      if (commands.empty() || !command_sent) fail("answer to no table command");
      if (commands.front().op != kGrow)
        longest_command = std::max(longest_command, cycle - command_start);
      const Command command = commands.front();
      commands.pop_front();
      command_sent = false;
      if (command.then)
        command.then(top.table_rsp_status_o, top.table_rsp_accessed_o, top.table_rsp_dirty_o);
    } else if (top.table_cmd_valid_i && top.table_cmd_ready_o) {
      command_sent = true;
      command_start = cycle;
    } else if (top.reply_valid_i && top.reply_ready_o) {
      const Command command = commands.front();
      commands.pop_front();
      if (command.then) command.then(0, false, false);
    }
  }

  // ----------------------------------------------------------------------------------------------
  // Faults
  // ----------------------------------------------------------------------------------------------

  struct Fault {
    unsigned cause, asid, write, ahead, requester, index;
    uint64_t addr;
  };
  std::deque<Fault> faults;
  uint64_t faults_seen = 0;
  bool drop_faults[kPorts] = {};

  void observe_faults() {
    if (!top.fault_valid_o || !top.fault_ready_i) return;
    ++faults_seen;
    const Fault fault{top.fault_cause_o, top.fault_asid_o,   top.fault_write_o, top.fault_ahead_o,
                      top.fault_requester_o, top.fault_index_o, top.fault_addr_o};
    const int port = static_cast<int>(fault.requester / 2);
    if (port >= kPorts) fail("fault of requester %u", fault.requester);
    if (static_cast<int>(fault.asid) != asid_of[port]) fail("fault of the wrong space");
    if (fault.write != fault.requester % 2) fail("fault of the wrong direction");
    if (!drop_faults[port]) faults.push_back(fault);
  }

  // ----------------------------------------------------------------------------------------------
  // Pager
  // ----------------------------------------------------------------------------------------------

  bool pager_on = true;
  uint64_t pager_wakes = 0;
  uint64_t installs = 0, evictions = 0, protects = 0, read_clears = 0;

  // The table knows nothing of the pages of such a space; the L1 TLBs hold what was replied.
  bool tableless(const Page& page) const {
    return config.tableless && (config.walker_off >> page.asid & 1);
  }
  int found(const Page& page) const { return tableless(page) ? kAbsent : kOk; }

  void copy_in(Page& page) {
    for (uint64_t offset = 0; offset < page.bytes(); offset += 64)
      memory_row(page.frame * 4096 + offset) = row_in(backing, page.asid, page.addr + offset);
  }
  void copy_out(Page& page) {
    for (uint64_t offset = 0; offset < page.bytes(); offset += 64)
      row_in(backing, page.asid, page.addr + offset) = memory_row(page.frame * 4096 + offset);
  }
  void check_clean(Page& page) {
    for (uint64_t offset = 0; offset < page.bytes(); offset += 64)
      if (row_in(backing, page.asid, page.addr + offset) != memory_row(page.frame * 4096 + offset))
        fail("page %llx was reported clean but has been written", (long long)page.addr);
  }

  void check_dirty(Page& page, bool dirty, const char* what) {
    if (page.is_dirty && !dirty)
      fail("%s of page %llx: reported clean, but a write was issued", what, (long long)page.addr);
    if (dirty && !page.may_be_dirty)
      fail("%s of page %llx: reported dirty, but nothing wrote", what, (long long)page.addr);
    if (!dirty) check_clean(page);
  }

  void cleaned(Page& page) {
    page.is_dirty = false;
    page.may_be_dirty = writes_wanted[&page] > 0;
  }

  void install(Page& page, bool write, bool dirty, std::function<void()> then) {
    ++installs;
    const bool fresh = !page.mapped;
    if (fresh) {
      auto& frames = free_frames[page.size_class];
      if (frames.empty()) fail("no frame for class %u", page.size_class);
      page.frame = frames.front();
      frames.pop_front();
      copy_in(page);
      cleaned(page);
      for (uint64_t i = 0; i < 1ull << page.size_class; ++i) owner[page.frame + i] = &page;
    }
    if (dirty) page.may_be_dirty = page.is_dirty = true;
    page.mapped = true;
    page.writable = write;
    page.host_dirty |= dirty;
    if (tableless(page)) {
      if (then) then();
      return;
    }
    Command command;
    command.op = kInstall;
    command.asid = page.asid;
    command.addr = page.addr;
    command.entry = entry_bits(page.frame, page.size_class, 1, page.is_dirty,
                               config.accessed || chance(50), write, true);
    command.then = [this, &page, then](int status, bool, bool) {
      if (status != kOk) fail("install of %llx: status %d", (long long)page.addr, status);
      if (then) then();
    };
    commands.push_back(command);
  }

  void invalidate(Page& page, std::function<void()> then) {
    ++evictions;
    page.leaving = true;
    Command command;
    command.op = kInvalidate;
    command.asid = page.asid;
    command.addr = page.addr;
    command.entry = entry_bits(0, page.size_class, 0, 0, 0, 0, 0);
    command.then = [this, &page, then](int status, bool, bool dirty) {
      if (tableless(page)) dirty = page.host_dirty;
      page.host_dirty = false;
      if (status != found(page)) fail("invalidate of %llx: status %d", (long long)page.addr, status);
      if (under_way(page, false))
        fail("invalidate of %llx answered too early", (long long)page.addr);
      check_dirty(page, dirty, "invalidate");
      if (dirty) copy_out(page);
      for (uint64_t i = 0; i < 1ull << page.size_class; ++i) owner.erase(page.frame + i);
      // Whoever reads the old frame now must be seen to.
      for (uint64_t offset = 0; offset < page.bytes(); offset += 64)
        memory_row(page.frame * 4096 + offset).fill(0xEE);
      free_frames[page.size_class].push_back(page.frame);
      page.mapped = page.leaving = page.writable = false;
      if (then) then();
    };
    commands.push_back(command);
  }

  void protect(Page& page) {
    ++protects;
    page.downgrading = page.writable;
    page.writable = false;
    Command command;
    command.op = kProtect;
    command.asid = page.asid;
    command.addr = page.addr;
    command.entry = entry_bits(0, page.size_class, 0, 0, 0, 0, 0);
    command.then = [this, &page](int status, bool, bool dirty) {
      if (tableless(page)) dirty = page.host_dirty;
      page.host_dirty = false;
      if (status != found(page)) fail("protect of %llx: status %d", (long long)page.addr, status);
      if (under_way(page, true)) fail("protect of %llx answered too early", (long long)page.addr);
      check_dirty(page, dirty, "protect");
      if (dirty) copy_out(page);
      page.downgrading = false;
      cleaned(page);
    };
    commands.push_back(command);
  }

  void read_clear(Page& page) {
    ++read_clears;
    Command command;
    command.op = kReadClear;
    command.asid = page.asid;
    command.addr = page.addr;
    command.entry = entry_bits(0, page.size_class, 0, 0, 0, 0, 0);
    command.then = [this, &page](int status, bool, bool) {
      if (status != found(page)) fail("read-clear of %llx: status %d", (long long)page.addr, status);
    };
    commands.push_back(command);
  }

  // Entries of a table as (page number, size class, everything but the tag), in any order.
  std::multiset<std::array<uint64_t, 3>> entries_at(uint64_t base, unsigned log2) {
    std::multiset<std::array<uint64_t, 3>> entries;
    for (uint64_t set = 0; set < 1ull << log2; ++set) {
      for (int way = 0; way < 8; ++way) {
        uint64_t entry;
        std::memcpy(&entry, &memory_row(base + 64 * set)[8 * way], 8);
        if (!(entry & 1)) continue;
        uint64_t number = (entry >> 38) << log2;
        for (int bit = static_cast<int>(log2) - 1; bit >= 0; --bit)
          number |= (set ^ number >> 10 ^ number >> 20 ^ number >> 30) & 1ull << bit;
        entries.insert({number, entry >> 8 & 31, entry & ((1ull << 38) - 1)});
      }
    }
    return entries;
  }

  uint64_t grows = 0;
  void grow(int asid, std::function<void()> then) {
    ++grows;
    const unsigned log2 = sets_log2[asid] + 1;
    const uint64_t from = table_base(asid), to = place_of_table(asid, log2);
    for (uint64_t set = 0; set < 1ull << log2; ++set) memory_row(to + 64 * set).fill(0xFF);
    Command command;
    command.op = kGrow;
    command.asid = asid;
    command.addr = to;
    command.sets_log2 = log2;
    command.then = [=, this](int status, bool, bool) {
      if (status != kOk) fail("growth of space %d: status %d", asid, status);
      if (sets_log2[asid] != log2) fail("growth of space %d: the registers do not follow", asid);
      if (entries_at(from, log2 - 1) != entries_at(to, log2))
        fail("growth of space %d: not the same entries", asid);
      // Whoever looks into the old table now must be seen to.
      for (uint64_t set = 0; set < 1ull << (log2 - 1); ++set) memory_row(from + 64 * set).fill(0xEF);
      if (then) then();
    };
    commands.push_back(command);
  }

  void reply(const Fault& fault, bool refuse, const Page* page) {
    Command command;
    command.is_reply = true;
    command.requester = fault.requester;
    command.index = fault.index;
    command.fail = refuse;
    if (page != nullptr)
      command.entry = entry_bits(page->frame, page->size_class, 1, fault.write, 1,
                                 page->writable, 1);
    commands.push_back(command);
  }

  Page* random_mapped(std::function<bool(const Page&)> good) {
    std::vector<Page*> candidates;
    for (Page& page : pages)
      if (page.mapped && !page.leaving && good(page)) candidates.push_back(&page);
    return candidates.empty() ? nullptr : candidates[below(candidates.size())];
  }

  void serve(const Fault& fault) {
    const auto it = page_of_block.find({static_cast<int>(fault.asid), fault.addr / 4096});
    if (it == page_of_block.end())
      fail("fault at %llx, which nobody touched", (long long)fault.addr);
    Page& page = *it->second;
    if (page.forbidden || (page.read_only && fault.write)) {
      reply(fault, true, nullptr);
      return;
    }
    const bool write = !page.read_only && (fault.write || chance(70));
    const auto finish = [this, &page, fault, write] {
      install(page, write, fault.write, [this, &page, fault] { reply(fault, false, &page); });
    };
    if (!page.mapped && free_frames[page.size_class].empty()) {
      Page* victim = random_mapped([&](const Page& p) { return p.size_class == page.size_class; });
      invalidate(*victim, finish);
    } else if (page.mapped && (page.writable || !fault.write)) {
      // Came in meanwhile, for another requester. A reply to a write needs the dirty bit in the table.
      const auto answer = [this, &page, fault] { reply(fault, false, &page); };
      if (fault.write) install(page, page.writable, true, answer);
      else answer();
    } else {
      finish();
    }
  }

  void pager() {
    if (!pager_on || !commands.empty() || cycle < pager_wakes) return;
    pager_wakes = cycle + 1 + below(2 * config.pager_delay + 1);
    if (!faults.empty() && !chance(config.pager_whim)) {
      const Fault fault = faults.front();
      faults.pop_front();
      serve(fault);
    } else if (config.grow && grows < 2 && installs > 20 * (grows + 1)) {
      grow(static_cast<int>(grows) + 1, nullptr);
    } else if (chance(config.pager_whim)) {
      Page* page = random_mapped([](const Page&) { return true; });
      if (page == nullptr) return;
      switch (below(4)) {
        case 0: protect(*page); break;
        case 1: read_clear(*page); break;
        default: invalidate(*page, nullptr); break;
      }
    }
  }

  // ----------------------------------------------------------------------------------------------
  // Time
  // ----------------------------------------------------------------------------------------------

  std::array<uint64_t, 6> events[2 * kPorts] = {};
  int reset_age[kPorts] = {};

  void step() {
    pager();
    drive_kernels();
    drive_fabric();
    drive_commands();
    top.fault_ready_i = go();
    top.clk_i = 0;
    top.eval();
    if (top.rst_ni) {
      observe_kernels();
      observe_fabric();
      observe_commands();
      observe_faults();
      for (int s = 0; s < 2 * kPorts; ++s)
        for (int i = 0; i < 6; ++i) events[s][i] += top.events_o[s] >> i & 1;
    }
    const bool switches = top.rst_ni && top.table_switch_valid_o;
    const int asid = top.table_switch_asid_o;
    const uint64_t base = top.table_switch_base_o;
    const unsigned log2 = top.table_switch_sets_log2_o;
    top.clk_i = 1;
    top.eval();
    if (switches) {
      sets_log2[asid] = log2;
      top.space_base_i[asid] = base;
      top.space_sets_log2_i[asid] = log2;
    }
    ++cycle;
    for (int p = 0; p < kPorts; ++p) reset_age[p] = top.port_reset_i[p] ? reset_age[p] + 1 : 0;
  }

  void steps(int n) {
    while (n-- > 0) step();
  }

  void until(const char* what, std::function<bool()> done, int limit = 200000) {
    while (!done()) {
      if (limit-- == 0) fail("%s: not within the limit", what);
      step();
    }
  }

  void set_levels(bool managed, int first, int second) {
    top.managed_i = managed;
    top.level_i[0] = first;
    top.level_i[1] = second;
  }

  void start() {
    if (config.same_space) asid_of[1] = asid_of[0];
    for (int p = 0; p < kPorts; ++p) top.port_asid_i[p] = asid_of[p];
    for (int asid = 0; asid < 4; ++asid) set_space(asid, false, config.classes);
    set_space(1, true, config.classes);
    set_space(2, true, config.classes);
    top.rst_ni = 0;
    const bool was_on = pager_on;
    pager_on = false;
    for (Kernel& kernel : kernels) kernel.enabled = false;
    steps(4);
    top.rst_ni = 1;
    steps(2);
    for (Kernel& kernel : kernels) kernel.enabled = true;
    pager_on = was_on;
  }

  void drain() {
    for (Kernel& kernel : kernels) kernel.asks = false;
    until("draining", [this] { return !kernels_busy() && commands.empty(); });
    steps(100);
    for (int p = 0; p < kPorts; ++p)
      if (!top.port_idle_o[p]) fail("port %d is drained but not idle", p);
  }

  // The words of a port that is put in reset are lost: what its pending writes left behind is taken
  // from memory.
  void reset_port(int p) {
    Kernel& kernel = kernels[p];
    drop_faults[p] = true;
    kernel.enabled = false;
    kernel.ar_valid = kernel.aw_valid = kernel.w_valid = false;
    std::erase_if(faults, [&](const Fault& f) { return static_cast<int>(f.requester / 2) == p; });
    std::vector<Burst> lost(kernel.writes.begin(), kernel.writes.end());
    lost.insert(lost.end(), kernel.aw_queue.begin(), kernel.aw_queue.end());
    std::vector<Burst> lost_reads(kernel.reads.begin(), kernel.reads.end());
    lost_reads.insert(lost_reads.end(), kernel.ar_queue.begin(), kernel.ar_queue.end());
    kernel.reads.clear();
    kernel.writes.clear();
    kernel.ar_queue.clear();
    kernel.aw_queue.clear();
    kernel.w_queue.clear();
    // A guard closes the port first, perhaps.
    if (chance(50)) {
      top.port_closed_i[p] = 1;
      steps(static_cast<int>(below(60)));
    }
    top.port_reset_i[p] = 1;
    steps(2);
    hold_requests = false;
    until("port_idle_o", [&] { return top.port_idle_o[p]; }, 5000);
    for (int c = 0; c < kChannels; ++c)
      if (!reads[p][c].empty() || !acks[p][c].empty()) fail("port %d is not idle, but says so", p);
    until("the commands before the reset", [&] { return commands.empty(); });
    until("the faults before the reset", [&] { return !top.fault_valid_o; });
    for (const Burst& burst : lost_reads)
      for (const uint64_t block : burst.blocks) unlock(asid_of[p], block, false);
    for (const Burst& burst : lost) {
      for (const uint64_t block : burst.blocks) {
        Page& page = *page_of_block[{asid_of[p], block}];
        for (uint64_t addr = block * 4096; addr < block * 4096 + 4096; addr += 64)
          row_in(shadow, page.asid, addr) = page.mapped
              ? memory_row(page.frame * 4096 + addr - page.addr)
              : row_in(backing, page.asid, addr);
        unlock(asid_of[p], block, true);
      }
      answered_write(p, burst);
    }
    top.port_reset_i[p] = 0;
    top.port_closed_i[p] = 0;
    drop_faults[p] = false;
    kernel.enabled = true;
    steps(2);
  }

  // ----------------------------------------------------------------------------------------------
  // Figures
  // ----------------------------------------------------------------------------------------------

  void check_all_data() {
    // Everything goes out; what is left behind must be what the kernels wrote.
    pager_on = false;
    until("commands", [this] { return commands.empty(); });
    for (Page& page : pages)
      if (page.mapped) invalidate(page, nullptr);
    until("the last invalidations", [this] { return commands.empty(); });
    for (auto& [key, row] : shadow)
      if (row != row_in(backing, key.first, key.second * 64))
        fail("space %d row %llx: lost write", key.first, (long long)key.second * 64);
  }
};

// -------------------------------------------------------------------------------------------------
// Scenarios
// -------------------------------------------------------------------------------------------------

void add_world(Bench& bench, unsigned frames) {
  for (int asid = 1; asid <= 2; ++asid) {
    const uint64_t base = 0x7F0000000000ull + (static_cast<uint64_t>(asid) << 36);
    for (unsigned i = 0; i < 12; ++i) {
      // Far apart, so that tags and folds matter; and neighbours, so that sets of the L1 TLB do.
      bench.add_page(asid, base + 4096ull * i, 0, false, false);
      bench.add_page(asid, base + (1ull << 33) * (i + 1), 0, false, false);
      bench.add_page(asid, base + (1ull << 28) + 16384ull * i, 2, false, false);
      if (i < 6) bench.add_page(asid, base + (1ull << 29) + 32768ull * i, 3, false, false);
      if (i < 1) bench.add_page(asid, base + (1ull << 30) + 4096ull * i, 0, true, false);
      if (i < 2) bench.add_page(asid, base + (1ull << 31) + 16384ull * i, 2, false, true);
    }
  }
  bench.add_frames(0, frames);
  bench.add_frames(2, frames);
  bench.add_frames(3, frames / 2);
}

// Resets of everything at any moment: the kernels, the memory and the host begin again each time, with other frames, and
// nothing of before is known.
void random_restarts(uint64_t seed) {
  Bench::Model model;
  uint64_t bursts = 0;
  for (uint64_t life = 0; life < 40; ++life) {
    Bench bench({.max_rows = 16, .pager_delay = 3}, 1000 * seed + life, model);
    // The frames are others.
    bench.next_frame += bench.below(64);
    add_world(bench, 18);
    bench.start();
    bench.steps(static_cast<int>(bench.below(1500)));
    if (bench.chance(30)) {
      bench.drain();
      bench.check_all_data();
    }
    for (const auto& kernel : bench.kernels) bursts += kernel.bursts;
  }
  if (bursts < 500) fail("only %llu bursts", (long long)bursts);
}

void random_traffic(Config config, uint64_t seed, int cycles, bool resets) {
  Bench bench(config, seed);
  add_world(bench, 18);
  bench.start();
  for (int i = 0; i < cycles; ++i) {
    bench.step();
    if (config.levels && bench.below(60) == 0)
      bench.set_levels(bench.chance(85), bench.below(4), bench.below(4));
    if (resets && bench.below(1000) == 0) bench.reset_port(static_cast<int>(bench.below(kPorts)));
  }
  bench.drain();
  bench.check_all_data();
  uint64_t bursts = 0, errors = 0;
  for (const auto& kernel : bench.kernels) {
    bursts += kernel.bursts;
    errors += kernel.errors;
  }
  if (bursts < static_cast<uint64_t>(cycles) / 500) fail("only %llu bursts", (long long)bursts);
  if (config.grow && bench.grows == 0) fail("no table has grown");
  std::printf("bursts %llu errors %llu faults %llu installs %llu evictions %llu longest %llu",
              (long long)bursts, (long long)errors, (long long)bench.faults_seen,
              (long long)bench.installs, (long long)bench.evictions,
              (long long)bench.longest_command);
  for (int i = 0; i < 6; ++i) {
    uint64_t sum = 0;
    for (const auto& events : bench.events) sum += events[i];
    std::printf(" %llu", (long long)sum);
  }
  std::printf("\n");
}

// Few pages and a restless pager: invalidations meet lookups, walks, fills and departures of the same page
// in every order. In the breaks between, the pager only serves faults: nothing may wait for more.
void races(uint64_t seed) {
  Config config{.stall = 5, .latency_min = 2, .latency_max = 120, .read_chance = 60, .write_chance = 60,
                .max_rows = 2, .odd_bursts = false, .pager_delay = 1, .pager_whim = 60};
  config.same_space = seed % 2 == 0;
  if (seed % 4 >= 2) config.latency_max = 12;
  Bench bench(config, seed);
  for (int asid = 1; asid <= 2; ++asid) {
    const uint64_t base = 0x7F0000000000ull + (static_cast<uint64_t>(asid) << 36);
    for (unsigned i = 0; i < 3; ++i) bench.add_page(asid, base + 4096ull * i, 0, false, false);
    bench.add_page(asid, base + (1ull << 28), 2, false, false);
    bench.add_page(asid, base + (1ull << 29), 3, false, false);
  }
  bench.add_frames(0, 8);
  bench.add_frames(2, 3);
  bench.add_frames(3, 3);
  bench.start();
  for (int round = 0; round < 100; ++round) {
    bench.steps(600);
    bench.config.pager_whim = 0;
    bench.drain();
    bench.config.pager_whim = config.pager_whim;
    for (auto& kernel : bench.kernels) kernel.asks = true;
  }
  bench.drain();
  bench.check_all_data();
  std::printf("invalidations %llu\n", (long long)bench.evictions);
}

// Both ports read and write everything that is mapped; rows a cycle after a warm-up.
void throughput(unsigned rows, bool random_pages, unsigned latency, uint64_t seed) {
  Config config;
  config.stall = 0;
  config.latency_min = config.latency_max = latency;
  config.odd_bursts = false;
  config.accessed = true;
  config.classes = random_pages ? 0b0001 : 0b1000;
  config.l1_off = random_pages ? 0b110 : 0;
  Bench bench(config, seed);
  bench.pager_on = false;
  bench.flat_backing = true;
  const unsigned size_class = random_pages ? 0 : 3;
  const unsigned count = random_pages ? 64 : 2;  // few pages: all of them in the L1 TLB
  for (int asid = 1; asid <= 2; ++asid)
    for (unsigned i = 0; i < count; ++i)
      bench.add_page(asid, (static_cast<uint64_t>(asid) << 36) + i * (4096ull << size_class),
                     size_class, false, false);
  bench.add_frames(size_class, 2 * count);
  bench.generate = [](int) {};
  bench.start();
  for (Page& page : bench.pages) {
    bench.install(page, true, true, nullptr);
    bench.until("install", [&] { return bench.commands.empty(); });
  }
  uint64_t next[kPorts][2] = {};
  const uint64_t half = count * (4096ull << size_class) / 2;
  bench.generate = [&](int port) {
    for (int direction = 0; direction < 2; ++direction) {
      auto& queue = direction ? bench.kernels[port].aw_queue : bench.kernels[port].ar_queue;
      if (queue.size() >= 2) continue;
      Bench::Burst burst;
      burst.len = rows - 1;
      uint64_t offset = next[port][direction];
      if (random_pages)
        offset = bench.below(half / 4096) * 4096 + bench.below(64 / rows) * 64 * rows;
      else
        next[port][direction] = (offset + 64 * rows) % half;
      // Reads in the lower half, writes in the upper; their content is not the point here.
      const uint64_t base = static_cast<uint64_t>(bench.asid_of[port]) << 36;
      burst.addr = base + offset + (direction ? half : 0);
      burst.rows.resize(rows);
      for (auto& row : burst.rows) row.fill(0);
      burst.strobes.assign(rows, ~0ull);
      queue.push_back(burst);
    }
  };
  bench.steps(3000);
  uint64_t before[2 * kPorts];
  for (int p = 0; p < kPorts; ++p) {
    before[2 * p] = bench.rows_read[p];
    before[2 * p + 1] = bench.rows_written[p];
  }
  const int cycles = 6000;
  bench.steps(cycles);
  for (int p = 0; p < kPorts; ++p)
    std::printf("%.4f %.4f ", (bench.rows_read[p] - before[2 * p]) / double(cycles),
                (bench.rows_written[p] - before[2 * p + 1]) / double(cycles));
  std::printf("\n");
}

// A bench with space 1, 4 KiB pages from `base`, and no traffic of its own.
struct Quiet : Bench {
  static constexpr uint64_t kBase = 0x123400000000ull;
  explicit Quiet(uint64_t seed, unsigned count = 32, unsigned walker_off = 0, unsigned l1_off = 0)
      : Bench(quiet_config(), seed) {
    config.walker_off = walker_off;
    config.l1_off = l1_off;
    pager_on = false;
    generate = [](int) {};
    for (unsigned i = 0; i < count; ++i) add_page(1, kBase + 4096ull * i, 0, false, false);
    for (unsigned i = 0; i < count; ++i) add_page(2, kBase + 4096ull * i, 0, false, false);
    add_frames(0, 2 * count);
    start();
  }
  static Config quiet_config() {
    Config config;
    config.stall = 0;
    config.odd_bursts = false;
    return config;
  }
  void done(const char* what = "commands") {
    until(what, [this] { return commands.empty(); });
    steps(1);
  }
  static Burst at(uint64_t addr, unsigned len = 0) {
    Burst burst;
    burst.addr = addr;
    burst.len = len;
    burst.id = 7;
    return burst;
  }
  void answered_writes_only(int port) {
    until("the kernel's writes", [&] {
      return kernels[port].writes.empty() && kernels[port].aw_queue.empty();
    }, 5000);
  }
  void answered(int port) {
    until("the kernel's bursts", [&] {
      return kernels[port].reads.empty() && kernels[port].writes.empty() &&
             kernels[port].ar_queue.empty() && kernels[port].aw_queue.empty();
    }, 5000);
  }
};

void expect(bool truth, const char* what) {
  if (!truth) fail("expected: %s", what);
}

// One fault for the oldest, LookAhead more, each page once; then all served in any order.
void look_ahead(uint64_t seed) {
  Quiet b(seed, 16);
  for (unsigned i = 0; i < 14; ++i) b.read(0, Quiet::at(Quiet::kBase + (4096 + 64) * i, 1));
  b.read(0, Quiet::at(Quiet::kBase + 512));  // page 0 again
  b.steps(2000);
  expect(b.faults.size() == 9, "one fault and eight more");
  std::set<uint64_t> seen;
  bool first = true;
  for (const auto& fault : b.faults) {
    expect(seen.insert(fault.addr / 4096).second, "each page once");
    expect(fault.ahead == !first, "all but the first are look-ahead");
    expect(fault.cause == kCauseAbsent, "absent");
    first = false;
  }
  expect(b.faults.front().addr == Quiet::kBase, "the address of the first byte");
  expect(seen.count(Quiet::kBase / 4096) == 1, "the oldest burst is among them");
  // Backwards: the oldest last.
  while (!b.faults.empty()) {
    const auto fault = b.faults.back();
    b.faults.pop_back();
    Page& page = *b.page_of_block[{1, fault.addr / 4096}];
    if (!page.mapped) b.install(page, true, true, nullptr);
    b.done();
    b.reply(fault, false, &page);
    b.done();
    b.steps(300);
  }
  b.answered(0);
  // Where no page is smaller than 16 KiB, the blocks of such a page are one page.
  b.set_space(1, false, 0b1101);
  b.steps(100);
  b.set_space(1, true, 0b1100);
  b.steps(2000);
  Page& large = b.add_page(1, Quiet::kBase + (1 << 24), 2, false, false);
  b.add_frames(2, 1);
  for (int i = 0; i < 4; ++i) b.read(0, Quiet::at(large.addr + 4096 * i));
  b.steps(500);
  expect(b.faults.size() == 1, "a large page once");
  b.install(large, true, true, nullptr);
  b.done();
  b.reply(b.faults.front(), false, &large);
  b.done();
  b.answered(0);
  std::printf("faults %llu\n", (long long)b.faults_seen);
}

// A burst that faults behind bursts that do not, with nobody's report open, is reported in the end.
void fault_behind_hits(uint64_t seed) {
  Quiet b(seed, 32, 0b010);
  const auto serve = [&] {
    expect(b.faults.size() == 1, "a fault");
    Page& page = *b.page_of_block[{1, b.faults.front().addr / 4096}];
    if (!page.mapped) b.install(page, true, true, nullptr);
    b.reply(b.faults.front(), false, &page);
    b.faults.clear();
    b.done();
  };
  b.read(0, Quiet::at(Quiet::kBase));
  b.steps(300);
  serve();
  b.answered(0);
  for (int i = 0; i < 6; ++i) b.read(0, Quiet::at(Quiet::kBase, 63));
  b.read(0, Quiet::at(Quiet::kBase + 4096));
  b.steps(2000);
  serve();
  b.answered(0);
  std::printf("ok\n");
}

// Two requesters that fault do not disturb a third; reads and writes of a port park separately.
void requester_isolation(uint64_t seed) {
  Quiet b(seed);
  Page& mapped = b.pages[0];
  b.install(mapped, true, true, nullptr);
  b.done();
  b.read(0, Quiet::at(Quiet::kBase + 5 * 4096));  // faults, unanswered
  b.steps(500);
  expect(b.faults.size() == 1, "a fault");
  for (int i = 0; i < 40; ++i) {
    b.write(0, Quiet::at(Quiet::kBase + 64 * (i % 32), 3));
    b.answered_writes_only(0);
  }
  expect(b.kernels[0].reads.size() == 1, "the read still waits");
  b.reply(b.faults.front(), true, nullptr);
  b.kernels[0].reads.front().error = true;
  b.kernels[0].reads.front().blocks.clear();
  b.done();
  b.answered(0);
  std::printf("ok\n");
}

// A reply that translates without the table, for a page larger than a burst's block.
void reply_without_entry(uint64_t seed) {
  Quiet b(seed);
  Page& page = b.add_page(1, Quiet::kBase + (1 << 24), 3, false, false);
  b.add_frames(3, 1);
  page.frame = b.free_frames[3].front();
  b.copy_in(page);
  for (int i = 0; i < 8; ++i) b.owner[page.frame + i] = &page;
  page.writable = true;
  b.read(0, Quiet::at(page.addr + 5 * 4096 + 128, 7));
  b.steps(300);
  expect(b.faults.size() == 1, "a fault");
  b.reply(b.faults.front(), false, &page);
  b.done();
  b.answered(0);
  // It was used for that burst only.
  b.faults.clear();
  b.read(0, Quiet::at(page.addr + 5 * 4096));
  b.steps(300);
  expect(b.faults.size() == 1, "the next burst faults again");
  // Replies that name nothing are ignored.
  auto stray = b.faults.front();
  stray.index = (stray.index + 3) % 16;
  b.reply(stray, false, &page);
  stray.index = 63;
  b.reply(stray, false, &page);
  stray.requester = 200;
  b.reply(stray, true, nullptr);
  stray.requester = 1;
  stray.index = 0;
  b.reply(stray, false, &page);
  b.done();
  b.steps(300);
  expect(b.kernels[0].reads.size() == 1, "stray replies are ignored");
  b.reply(b.faults.front(), false, &page);
  b.done();
  b.answered(0);
  std::printf("ok\n");
}

// Read-only page: reads go, writes fault with Permission; a failed reply ends them with an error.
void permission(uint64_t seed) {
  Quiet b(seed);
  Page& page = b.pages[3];
  b.install(page, false, false, nullptr);
  b.done();
  b.read(0, Quiet::at(page.addr, 63));
  b.answered(0);
  auto write = Quiet::at(page.addr + 64, 5);
  write.error = true;
  b.write(0, write);
  b.steps(300);
  expect(b.faults.size() == 1 && b.faults.front().cause == kCausePermission, "a permission fault");
  b.reply(b.faults.front(), true, nullptr);
  b.faults.clear();
  b.answered(0);
  // A target that this shell cannot reach.
  Bench::Command command;
  command.op = kInstall;
  command.asid = 1;
  command.addr = b.pages[4].addr;
  command.entry = entry_bits(77, 0, 2, false, true, true, true);
  b.commands.push_back(command);
  b.done();
  auto far = Quiet::at(b.pages[4].addr, 2);
  far.error = true;
  b.read(0, far);
  b.steps(300);
  expect(b.faults.size() == 1 && b.faults.front().cause == kCauseTarget, "a target fault");
  b.reply(b.faults.front(), true, nullptr);
  b.answered(0);
  std::printf("ok\n");
}

// Statuses of table commands, and what they leave in the table.
void table_commands(uint64_t seed) {
  Quiet b(seed);
  int status = -1;
  bool accessed = false, dirty = false;
  const auto run = [&](int op, int asid, uint64_t addr, uint64_t entry) {
    Bench::Command command;
    command.op = op;
    command.asid = asid;
    command.addr = addr;
    command.entry = entry;
    command.then = [&](int s, bool a, bool d) { status = s, accessed = a, dirty = d; };
    b.commands.push_back(command);
    b.done();
    return status;
  };
  const auto entry = [](uint64_t frame, unsigned size_class, bool d, bool a) {
    return entry_bits(frame, size_class, 1, d, a, true, true);
  };
  // Nine pages of one set: the number's bits above the index repeat below.
  const auto same_set = [](uint64_t i) { return (i << 10 | i) << 12; };
  const uint64_t any = entry(0, 0, 0, 0);
  for (uint64_t i = 0; i < 8; ++i)
    expect(run(kInstall, 1, same_set(i), entry(i, 0, i & 1, i & 2)) == kOk, "room");
  expect(run(kInstall, 1, same_set(8), entry(8, 0, 0, 0)) == kSetFull, "a full set");
  expect(run(kInstall, 1, same_set(3), entry(33, 0, 1, 1)) == kOk, "replacing needs no room");
  expect(run(kInvalidate, 1, same_set(8), any) == kAbsent, "absent");
  expect(run(kReadClear, 1, same_set(2), any) == kOk && accessed && !dirty, "accessed");
  expect(run(kReadClear, 1, same_set(2), any) == kOk && !accessed && !dirty, "cleared");
  expect(run(kProtect, 1, same_set(1), any) == kOk && dirty, "dirty");
  expect(run(kReadClear, 1, same_set(1), any) == kOk && !dirty, "clean");
  expect(run(kInvalidate, 1, same_set(3), any) == kOk && dirty && accessed, "reported");
  expect(run(kInstall, 1, same_set(8), entry(8, 0, 0, 0)) == kOk, "room again");
  expect(run(kInvalidate, 2, same_set(1), any) == kAbsent, "another space");
  // Size classes do not mix.
  expect(run(kInstall, 1, 0x40000, entry(64, 2, 0, 0)) == kOk, "16 KiB");
  expect(run(kInvalidate, 1, 0x40000, any) == kAbsent, "no such 4 KiB page");
  expect(run(kInvalidate, 1, 0x40000, entry(0, 2, 0, 0)) == kOk, "16 KiB page");
  // Refused.
  expect(run(kInstall, 1, 0x41000, entry(64, 2, 0, 0)) == kRefused, "misaligned page");
  expect(run(kInstall, 1, 0x40800, entry(64, 0, 0, 0)) == kRefused, "misaligned address");
  expect(run(kInstall, 1, 0x200000, entry(512, 9, 0, 0)) == kRefused, "class not in use");
  expect(run(kInstall, 1, 0, entry(512, 31, 0, 0)) == kRefused, "no such class");
  expect(run(kInstall, 3, 0, entry(512, 0, 0, 0)) == kRefused, "space not enabled");
  expect(run(kInstall, 9, 0, entry(512, 0, 0, 0)) == kRefused, "no such space");
  // The entry's place and form, as docs/architecture.md says.
  const uint64_t addr = 0xABCDE1235000ull;
  expect(run(kInstall, 1, addr, entry(0x155, 0, 1, 0)) == kOk, "install");
  const uint64_t n = addr >> 12, set = (n ^ n >> 10 ^ n >> 20 ^ n >> 30) & 1023, tag = n >> 10;
  // tag, frame, class 0, card, dirty, not accessed, W, R, valid
  const uint64_t wanted = tag << 38 | 0x155ull << 13 | 1 << 5 | 1 << 4 | 1 << 2 | 1 << 1 | 1;
  uint64_t found = 0;
  std::memcpy(&found, b.memory_row(b.table_base(1) + 64 * set).data(), 8);
  expect(found == wanted, "the entry in way 0 of its set");
  std::printf("ok\n");
}

// Install of a page that is present: nothing uses the old frame once it is answered.
void replace_page(uint64_t seed) {
  Quiet b(seed);
  Page& page = b.add_page(1, Quiet::kBase + (1 << 24), 2, false, false);
  b.add_frames(2, 2);
  b.install(page, true, true, nullptr);
  b.done();
  b.read(0, Quiet::at(page.addr + 4096, 3));
  b.answered(0);  // the L1 TLB has it now
  b.read(0, Quiet::at(page.addr + 4096, 3));
  b.answered(0);
  expect(b.events[0][0] == 1, "a hit");
  for (uint64_t i = 0; i < 4; ++i) b.owner.erase(page.frame + i);
  page.mapped = false;
  b.install(page, true, true, nullptr);  // another frame
  b.done();
  b.read(0, Quiet::at(page.addr + 4096, 3));
  b.answered(0);
  std::printf("ok\n");
}

// The first write marks the page dirty, before it is issued; reads do not.
void dirty_exact(uint64_t seed) {
  Quiet b(seed);
  Page& page = b.pages[2];
  b.install(page, true, false, nullptr);
  b.done();
  b.read(0, Quiet::at(page.addr, 3));
  b.answered(0);
  b.protect(page);  // checks: clean
  b.done();
  b.install(page, true, false, nullptr);
  b.done();
  b.read(0, Quiet::at(page.addr, 3));
  b.answered(0);
  const uint64_t table_writes = b.rows_written[kPorts];
  b.write(0, Quiet::at(page.addr + 1024, 3));
  b.answered(0);
  expect(b.rows_written[kPorts] == table_writes + 1, "one write of the table");
  b.write(0, Quiet::at(page.addr + 2048, 3));
  b.answered(0);
  expect(b.rows_written[kPorts] == table_writes + 1, "and no more");
  b.invalidate(page, nullptr);  // checks: dirty, content
  b.done();
  std::printf("ok\n");
}

// A port in reset forgets what waits for the host; late replies do no harm.
void reset_with_faults(uint64_t seed) {
  Quiet b(seed);
  for (int i = 0; i < 12; ++i) b.read(0, Quiet::at(Quiet::kBase + 4096 * i, 2));
  for (int i = 12; i < 24; ++i) b.write(0, Quiet::at(Quiet::kBase + 4096 * i, 2));
  b.steps(1500);
  expect(b.faults.size() == 18, "faults of both requesters");
  expect(!b.top.port_idle_o[0], "not idle");
  const auto old = b.faults;
  b.reset_port(0);
  // Late replies, before any new fault.
  for (const auto& fault : old) b.reply(fault, false, &b.pages[0]);
  b.done();
  b.steps(50);
  b.install(b.pages[1], true, true, nullptr);
  b.done();
  b.read(0, Quiet::at(b.pages[1].addr, 63));
  b.write(0, Quiet::at(b.pages[1].addr + 0, 10));
  b.answered(0);
  // Reset in the middle of a write burst, and of a read that the kernel does not take.
  b.hold_w[0] = true;
  b.write(0, Quiet::at(b.pages[1].addr, 20));
  b.read(0, Quiet::at(b.pages[1].addr, 60));
  b.steps(30);
  b.reset_port(0);
  b.hold_w[0] = false;
  b.write(0, Quiet::at(b.pages[1].addr, 20));
  b.answered(0);
  b.read(0, Quiet::at(b.pages[1].addr, 60));
  b.answered(0);
  std::printf("ok\n");
}

// What is translated and has not left when the port's reset begins never leaves. Two bursts of each
// direction may have left: the fabric has not taken them.
void reset_with_translated(uint64_t seed) {
  Quiet b(seed);
  for (int i = 0; i < 32; ++i) b.install(b.pages[i], true, true, nullptr);
  b.done();
  b.hold_requests = true;
  for (int i = 0; i < 12; ++i) b.read(0, Quiet::at(b.pages[i].addr, 2));
  for (int i = 12; i < 24; ++i) b.write(0, Quiet::at(b.pages[i].addr, 2));
  b.steps(1500);
  expect(b.events[0][2] == 12 && b.events[1][2] == 12, "all walked");
  expect(b.reads_issued[0] == 0 && b.writes_issued[0] == 0, "nothing has left");
  b.reset_port(0);
  expect(b.reads_issued[0] <= 2, "reads do not leave in reset");
  expect(b.writes_issued[0] <= 2, "writes do not leave in reset");
  // The next ones are served.
  for (int i = 0; i < 24; ++i) b.read(0, Quiet::at(b.pages[i].addr, 2));
  for (int i = 24; i < 30; ++i) b.write(0, Quiet::at(b.pages[i].addr, 2));
  b.answered(0);
  for (int i = 0; i < 32; ++i) b.invalidate(b.pages[i], nullptr);
  b.done();
  std::printf("ok\n");
}

// A kernel that stops in the middle of a write, or does not take its data, holds up nobody else.
void stuck_kernel(uint64_t seed) {
  Quiet b(seed);
  for (int i = 0; i < 4; ++i) b.install(b.pages[i], true, true, nullptr);
  for (int i = 32; i < 36; ++i) b.install(b.pages[i], true, true, nullptr);
  b.done();
  // Port 0 asks and then neither sends nor takes.
  for (int i = 0; i < 4; ++i) b.write(0, Quiet::at(b.pages[i].addr, 63));
  b.steps(20);
  b.kernels[0].enabled = false;
  b.kernels[0].w_valid = false;
  b.steps(200);
  for (int round = 0; round < 20; ++round) {
    b.write(1, Quiet::at(b.pages[32 + round % 4].addr, 63));
    b.answered(1);
    b.read(1, Quiet::at(b.pages[32 + round % 4].addr, 63));
    b.answered(1);
  }
  // Its own pages can be taken away.
  const uint64_t before = cycle;
  b.writes_wanted.clear();
  for (int i = 0; i < 4; ++i) b.invalidate(b.pages[i], nullptr);
  b.done();
  expect(cycle - before < 2000, "invalidations end without the kernel");
  std::printf("ok\n");
}

// A memory error reaches the kernel as an error of that beat or burst, and a walk's as one too.
void memory_errors(uint64_t seed) {
  Quiet b(seed);
  b.install(b.pages[0], true, true, nullptr);
  b.install(b.pages[1], true, true, nullptr);
  b.done();
  const uint64_t bad = b.pages[0].frame * 4096 + 3 * 64;
  b.row_fails = [=](uint64_t addr) { return addr == bad; };
  auto burst = Quiet::at(b.pages[0].addr, 7);
  burst.error_known = false;
  b.read(0, burst);
  int errors = 0;
  for (int i = 0; i < 500; ++i) {
    b.step();
    errors += b.top.r_valid_o[0] && b.top.r_ready_i[0] && b.top.r_resp_o[0] == 2;
  }
  expect(errors == 1, "one beat with an error");
  auto write = Quiet::at(b.pages[0].addr + 3 * 64, 0);
  write.error = true;
  b.write(0, write);
  b.answered(0);
  // The table itself cannot be read.
  b.row_fails = [&](uint64_t addr) { return addr >= b.table_base(1); };
  auto walk = Quiet::at(b.pages[9].addr, 2);
  walk.error = true;
  b.read(0, walk);
  b.answered(0);
  std::printf("ok\n");
}

// A walk begins at each moment of an invalidation, and it at each moment of a walk. A walk that has read the
// entry just before it went makes no burst ready afterwards, also when its result comes long after that.
void invalidate_meets_walk(uint64_t seed) {
  Quiet b(seed, 1);
  b.config.latency_min = b.config.latency_max = 60;
  b.config.ack_latency = 2;
  Page& page = b.pages[0];
  int faults = 0;
  const int turns = 160;
  for (int turn = 0; turn < turns; ++turn) {
    b.install(page, true, false, nullptr);
    b.done();
    const bool write = turn % 2;
    // Checks: nothing is under way to the old frame, now or later.
    if (turn < turns / 2) b.invalidate(page, nullptr);
    if (turn < turns / 2) b.steps(turn);
    if (write) b.write(0, Quiet::at(page.addr, 3));
    else b.read(0, Quiet::at(page.addr, 3));
    if (turn >= turns / 2) b.steps(turn - turns / 2);
    if (turn >= turns / 2) b.invalidate(page, nullptr);
    b.done();
    b.until("the burst", [&] {
      if (!b.faults.empty()) {
        ++faults;
        b.install(page, true, write, nullptr);
        b.done();
        b.reply(b.faults.front(), false, &page);
        b.faults.pop_front();
      }
      const Bench::Kernel& kernel = b.kernels[0];
      return kernel.reads.empty() && kernel.writes.empty() && kernel.ar_queue.empty() && kernel.aw_queue.empty();
    }, 5000);
    b.done();
    if (page.mapped) b.invalidate(page, nullptr);
    b.done();
  }
  expect(faults > turns / 4 && faults < turns, "before the walk's end, and after it");
  std::printf("ok\n");
}

// A space that is disabled refuses; enabled again with another table, nothing of the old one is
// left.
void disabled_space(uint64_t seed) {
  Quiet b(seed);
  Page& page = b.pages[5];
  b.install(page, true, true, nullptr);
  b.done();
  b.read(0, Quiet::at(page.addr, 3));
  b.answered(0);
  b.set_space(1, false, 0b1101);
  b.step();
  auto refused = Quiet::at(page.addr, 3);
  refused.error = true;
  b.read(0, refused);
  b.answered(0);
  b.steps(100);
  // Another table, in which the page is elsewhere; on again after one cycle only.
  b.set_space(1, true, 0b1101);
  b.steps(20);
  b.set_space(1, false, 0b1101);
  b.step();
  b.set_space(1, true, 0b1101);
  for (uint64_t set = 0; set < 1 << kFirstSetsLog2; ++set)
    b.memory_row(b.table_base(1) + 64 * set).fill(0);
  b.owner.erase(page.frame);
  page.mapped = false;
  b.read(0, Quiet::at(page.addr, 3));
  b.steps(500);
  expect(b.faults.size() == 1, "the page is gone");
  b.install(page, true, true, nullptr);
  b.done();
  b.reply(b.faults.front(), false, &page);
  b.answered(0);
  std::printf("ok\n");
}

// A table grows: the space waits and finds everything again; another space goes on.
void grow(uint64_t seed) {
  Quiet b(seed);
  int status = -1;
  const auto refused = [&](int asid, uint64_t base, unsigned log2) {
    Bench::Command command;
    command.op = kGrow;
    command.asid = asid;
    command.addr = base;
    command.sets_log2 = log2;
    command.then = [&](int s, bool, bool) { status = s; };
    b.commands.push_back(command);
    b.done();
    return status == kRefused && b.sets_log2[1] == kFirstSetsLog2;
  };
  for (int i = 0; i < 16; ++i) b.install(b.pages[i], true, true, nullptr);
  for (int i = 32; i < 48; ++i) b.install(b.pages[i], true, false, nullptr);
  b.done();
  // Entries everywhere, in full sets too; pages that nobody touches.
  for (int i = 0; i < 600; ++i) {
    const uint64_t number = i < 64 ? (i << 10 | i % 8) ^ i : b.below(1ull << 36);
    Bench::Command command;
    command.op = kInstall;
    command.asid = 1;
    command.addr = number << 12;
    command.entry = entry_bits(b.below(1 << 14), 0, 1, i & 1, i & 2, i & 4, true);
    command.then = [](int, bool, bool) {};
    b.commands.push_back(command);
  }
  b.done();
  expect(refused(1, Bench::place_of_table(1, 12), 12), "twice the size, not more");
  expect(refused(1, Bench::place_of_table(1, 11) + 4096, 11), "aligned to its size");
  expect(refused(3, Bench::place_of_table(3, 11), 11), "a space that is not enabled");
  const uint64_t bad = Bench::place_of_table(1, 11) + 64 * 1500;
  b.row_fails = [=](uint64_t addr) { return addr / 512 == bad / 512; };
  expect(refused(1, Bench::place_of_table(1, 11), 11), "a table that cannot be written");
  b.row_fails = [](uint64_t) { return false; };

  for (int round = 0; round < 2; ++round) {
    bool grown = false;
    b.grow(1, [&] { grown = true; });
    b.steps(500);
    const uint64_t faults = b.faults_seen, walks = b.reads_issued[kPorts];
    for (int i = 0; i < 16; ++i) b.read(0, Quiet::at(b.pages[i].addr, 3));
    uint64_t others = 0;
    while (!grown) {
      // Read, and written for the first time: marks.
      b.read(1, Quiet::at(b.pages[32 + others % 16].addr, 3));
      b.write(1, Quiet::at(b.pages[32 + (others + 5) % 16].addr + 2048, 3));
      b.answered(1);
      ++others;
      expect(grown || b.kernels[0].bursts == 16u * round, "the space waits");
    }
    expect(others > 20, "the other space goes on");
    b.answered(0);
    expect(b.faults_seen == faults, "no fault");
    expect(b.reads_issued[kPorts] > walks, "walks in the new table");
  }
  for (int i = 0; i < 16; ++i) b.invalidate(b.pages[i], nullptr);
  b.done();
  std::printf("ok\n");
}

// First accesses of many pages: their marks overlap.
void marks(uint64_t seed) {
  Quiet b(seed, 64);
  b.config.latency_min = b.config.latency_max = 60;
  for (int i = 0; i < 48; ++i) b.install(b.pages[i], true, false, nullptr);
  b.done();
  const uint64_t before = cycle, written = b.rows_written[kPorts];
  for (int i = 0; i < 48; ++i) b.read(0, Quiet::at(b.pages[i].addr, 0));
  b.answered(0);
  const double each = double(cycle - before) / double(b.rows_written[kPorts] - written);
  expect(each < 60, "less than a memory latency a mark");
  for (int i = 0; i < 48; ++i) {
    Bench::Command command;
    command.op = kReadClear;
    command.asid = 1;
    command.addr = b.pages[i].addr;
    command.entry = entry_bits(0, 0, 0, 0, 0, 0, 0);
    command.then = [](int status, bool accessed, bool dirty) {
      expect(status == kOk && accessed && !dirty, "accessed, not dirty");
    };
    b.commands.push_back(command);
  }
  b.done();
  std::printf("%.1f\n", each);
}

// A write and a read of one page that nobody has touched, close together: two marks of one entry. That
// of the read, which saw the entry clean, must not undo that of the write.
void marks_of_one_entry(uint64_t seed) {
  Quiet b(seed, 1);
  b.config.latency_min = b.config.latency_max = 60;
  const int turns = 24;
  b.add_frames(2, turns);
  for (int turn = 0; turn < turns; ++turn) {
    Page& page = b.add_page(1, Quiet::kBase + ((turn + 1ull) << 24), 2, false, false);
    b.install(page, true, false, nullptr);
    b.commands.back().entry &= ~(1ull << 3);  // not accessed
    b.done();
    const uint64_t walks = b.reads_issued[kPorts], marks = b.reads_issued[kPorts + 1];
    // Each comes first, by up to a dozen cycles.
    if (turn % 2 == 0) b.write(0, Quiet::at(page.addr));
    else b.read(0, Quiet::at(page.addr + 4096));
    b.steps(turn / 2);
    if (turn % 2 == 0) b.read(0, Quiet::at(page.addr + 4096));
    else b.write(0, Quiet::at(page.addr));
    b.answered(0);
    expect(b.reads_issued[kPorts] == walks + 2, "both walk");
    expect(b.reads_issued[kPorts + 1] > marks, "and mark");
    b.invalidate(page, nullptr);  // checks: dirty
    b.done();
  }
  std::printf("ok\n");
}

// Marks under way at once, while the fabric takes requests and rows of writes at odd moments, apart:
// each entry is written where it belongs, and once.
void marks_stalled(uint64_t seed) {
  for (int turn = 0; turn < 12; ++turn) {
    Quiet b(seed * 100 + turn, 64);
    b.config.stall = 75;
    b.config.latency_min = 5;
    for (int i = 0; i < 48; ++i) {
      b.install(b.pages[i], true, false, nullptr);
      b.commands.back().entry &= ~(1ull << 3);  // not accessed
    }
    b.done();
    const uint64_t written = b.rows_written[kPorts];
    for (int i = 0; i < 48; ++i) b.read(0, Quiet::at(b.pages[i].addr, 0));
    b.answered(0);
    expect(b.rows_written[kPorts] == written + 48, "a write for each page");
    for (int i = 0; i < 48; ++i) {
      Bench::Command command;
      command.op = kReadClear;
      command.asid = 1;
      command.addr = b.pages[i].addr;
      command.entry = entry_bits(0, 0, 0, 0, 0, 0, 0);
      command.then = [](int status, bool accessed, bool dirty) {
        expect(status == kOk && accessed && !dirty, "accessed, not dirty");
      };
      b.commands.push_back(command);
    }
    b.done();
  }
  std::printf("ok\n");
}

// Pages of each size go to the L1 TLB that suits them; an invalidation finds them there.
void several_l1s(uint64_t seed) {
  Quiet b(seed);
  const auto hits = [&] { return b.events[0][0]; };
  Page& small = b.pages[3];
  Page& middle = b.add_page(1, Quiet::kBase + (1 << 24), 2, false, false);
  Page& large = b.add_page(1, Quiet::kBase + (1 << 25), 3, false, false);
  b.add_frames(2, 1);
  b.add_frames(3, 1);
  for (Page* page : {&small, &middle, &large}) b.install(*page, true, true, nullptr);
  b.done();
  const auto read = [&](uint64_t addr, bool hit) {
    const uint64_t before = hits();
    b.read(0, Quiet::at(addr, 1));
    b.answered(0);
    expect((hits() == before + 1) == hit, hit ? "a hit" : "a miss");
  };
  read(small.addr, false);
  read(small.addr + 64, true);
  read(middle.addr, false);
  read(middle.addr + 3 * 4096, true);
  read(large.addr, false);
  read(large.addr + 3 * 4096, true);
  read(large.addr + 7 * 4096, false);  // its other half
  read(large.addr + 4 * 4096, true);
  read(small.addr, true);
  for (Page* page : {&small, &middle, &large}) {
    const uint64_t faults = b.faults_seen;
    b.invalidate(*page, nullptr);
    b.done();
    for (uint64_t block = 0; block < 1ull << page->size_class; ++block) {
      auto burst = Quiet::at(page->addr + 4096 * block);
      burst.error = true;
      b.read(0, burst);
    }
    b.steps(500);
    while (!b.faults.empty()) {
      b.reply(b.faults.front(), true, nullptr);
      b.faults.pop_front();
      b.done();
      b.steps(300);
    }
    b.answered(0);
    expect(b.faults_seen == faults + (1ull << page->size_class), "every part faults");
  }
  std::printf("ok\n");
}

// Buffers at round addresses, and the same addresses in another space, do not fight for one set: the
// L1 TLB of 4 KiB pages has four sets of three ways, so ten pages fit if they are spread.
void round_addresses(uint64_t seed) {
  Quiet b(seed, 1);
  std::vector<std::pair<int, Page*>> pages;
  for (int asid = 1; asid <= 2; ++asid)
    for (uint64_t i = 0; i < 5; ++i)
      pages.emplace_back(asid - 1,
                         &b.add_page(asid, Quiet::kBase + ((i + 1) << 24), 0, false, false));
  b.add_frames(0, pages.size());
  for (auto& [port, page] : pages) b.install(*page, true, true, nullptr);
  b.done();
  uint64_t hits = 0;
  for (int turn = 0; turn < 3; ++turn) {
    if (turn == 2) hits = b.events[0][0] + b.events[2][0];
    for (auto& [port, page] : pages) {
      b.read(port, Quiet::at(page->addr));
      b.answered(port);
    }
  }
  hits = b.events[0][0] + b.events[2][0] - hits;
  if (hits != pages.size()) fail("%d of %d hit", int(hits), int(pages.size()));
  // An invalidation finds each of them.
  for (auto& [port, page] : pages) {
    b.invalidate(*page, nullptr);
    b.done();
    const uint64_t faults = b.faults_seen;
    auto burst = Quiet::at(page->addr);
    burst.error = true;
    b.read(port, burst);
    b.until("a fault", [&] { return !b.faults.empty(); });
    b.reply(b.faults.front(), true, nullptr);
    b.faults.pop_front();
    b.done();
    b.answered(port);
    expect(b.faults_seen == faults + 1, "it faults");
  }
  std::printf("ok\n");
}

// A walk reads one set where a region has pages of one size only, and never misses a page because
// the filter forgot it.
void size_filter(uint64_t seed) {
  Quiet b(seed, 1, 0, 0b010);
  // Regions of 2 MiB, with pages of three sizes each; more of them than the filter has counters.
  const unsigned classes[] = {0, 2, 3};
  for (unsigned region = 0; region < 300; ++region) {
    const uint64_t base = (0x4000ull + region * (region % 7 + 1)) << 21;
    for (unsigned i = 0; i < 3; ++i) {
      const uint64_t addr = base + (i << 17);
      if (b.page_of_block.count({1, addr / 4096}) == 0) b.add_page(1, addr, classes[i], false, false);
    }
  }
  for (const unsigned size_class : classes) b.add_frames(size_class, 300);
  const auto touch = [&](Page& page) {
    const uint64_t faults = b.faults_seen;
    auto burst = Quiet::at(page.addr + 64 * b.below(32));
    burst.error = !page.mapped;
    b.read(0, burst);
    while (!b.kernels[0].reads.empty() || !b.kernels[0].ar_queue.empty()) {
      b.step();
      if (b.faults.empty()) continue;
      b.reply(b.faults.front(), true, nullptr);
      b.faults.pop_front();
    }
    expect((b.faults_seen != faults) == !page.mapped, "a fault if and only if the page is absent");
  };
  const auto some_page = [&]() -> Page& { return b.pages[2 + b.below(b.pages.size() - 2)]; };
  for (int i = 0; i < 3000; ++i) {
    Page& page = some_page();
    if (page.mapped) {
      b.invalidate(page, nullptr);
      b.done();
    } else if (!b.free_frames[page.size_class].empty()) {
      b.install(page, true, true, nullptr);
      b.done();
    }
    touch(page);
    touch(some_page());
  }
  // One size a region: about one read a walk.
  for (unsigned i = 2; i < b.pages.size(); ++i) {
    Page& page = b.pages[i];
    const bool keep = classes[(page.addr >> 21) % 3] == page.size_class && i < 60;
    if (page.mapped && !keep) b.invalidate(page, nullptr);
    if (!page.mapped && keep) b.install(page, true, true, nullptr);
    b.done();
  }
  uint64_t walks = 0;
  const uint64_t reads = b.reads_issued[kPorts];
  for (int i = 0; i < 400; ++i) {
    Page& page = b.pages[2 + b.below(58)];
    if (!page.mapped) continue;
    touch(page);
    ++walks;
  }
  const double per_walk = double(b.reads_issued[kPorts] - reads) / double(walks);
  expect(walks > 20 && per_walk <= 1.05, "one read a walk");
  // An absent page of a region that has nothing: one read as well.
  b.add_page(1, 0x700000000000ull, 0, false, false);
  const uint64_t before = b.reads_issued[kPorts];
  touch(b.pages.back());
  expect(b.reads_issued[kPorts] == before + 1, "one read for a fault");
  // More pages of a size in a region than a counter counts.
  const size_t first = b.pages.size();
  b.add_frames(2, 64);
  for (uint64_t i = 0; i < 64; ++i) {
    b.add_page(1, 0x600000000000ull + (i << 14), 2, false, false);
    b.install(b.pages.back(), true, true, nullptr);
    b.done();
  }
  for (size_t i = first; i < b.pages.size(); ++i) touch(b.pages[i]);
  std::printf("%.3f\n", per_walk);
}

// Without a walker: a miss is a fault at once, replies fill, table commands empty the L1 TLBs.
void walker_off(uint64_t seed) {
  Quiet b(seed, 32, 0b010);
  Page& page = b.pages[3];
  b.install(page, true, true, nullptr);
  b.done();
  const auto fault = [&](bool write, int cause) {
    if (write) b.write(0, Quiet::at(page.addr, 1));
    else b.read(0, Quiet::at(page.addr, 1));
    b.steps(100);
    expect(b.faults.size() == 1, "a fault");
    expect(static_cast<int>(b.faults.front().cause) == cause, "its cause");
    if (write) b.install(page, true, true, nullptr);
    b.reply(b.faults.front(), false, &page);
    b.faults.clear();
    b.done();
    b.answered(0);
  };
  const auto hit = [&](bool write) {
    const uint64_t before = b.events[write][0];
    if (write) b.write(0, Quiet::at(page.addr + 128, 1));
    else b.read(0, Quiet::at(page.addr + 128, 1));
    b.answered(0);
    expect(b.events[write][0] == before + 1, "a hit");
  };
  fault(false, kCauseAbsent);  // although the table has it
  hit(false);
  fault(true, kCauseAbsent);  // replied clean
  hit(true);
  hit(false);
  b.protect(page);
  b.done();
  fault(false, kCauseAbsent);
  hit(false);
  fault(true, kCausePermission);
  hit(true);
  b.invalidate(page, nullptr);
  b.done();
  // The table has it no more, and the L1 TLBs can be told all the same.
  b.install(page, true, true, nullptr);
  b.done();
  fault(true, kCauseAbsent);
  expect(b.reads_issued[kPorts] == 0, "no walk");
  std::printf("ok\n");
}

// Two slots whose lookups all miss: the first asks once at a time, the second all the time. What the
// first waits for at most, from AR to R.
struct Contended : Quiet {
  static constexpr unsigned kCount = 32;  // pages of a space

  Contended(uint64_t seed, unsigned walk_gap, unsigned latency) : Quiet(seed, kCount, 0, 0b110) {
    config.latency_min = config.latency_max = latency;
    config.walk_gap = walk_gap;
  }
  // Untouched ones need a mark.
  void install_all(bool touched) {
    for (Page& page : pages) {
      install(page, true, touched, nullptr);
      commands.back().entry = (commands.back().entry & ~(1ull << 3)) | (touched ? 1ull << 3 : 0);
      done();
    }
  }
  // A port whose requesters have bursts of one row each, as many as their parks hold.
  void keep_busy(int port) {
    generate = [this, port](int asked) {
      if (asked != port) return;
      for (const bool write : {false, true}) {
        auto& queue = write ? kernels[port].aw_queue : kernels[port].ar_queue;
        if (queue.size() >= 2) continue;
        auto burst = at(kBase + 4096 * (write ? kCount / 2 + below(kCount / 2) : below(kCount / 2)));
        if (write) {
          this->write(port, burst);
        } else {
          read(port, burst);
        }
      }
    };
  }
  uint64_t longest(int port, int times, bool write = false) {
    uint64_t most = 0;
    for (int i = 0; i < times; ++i) {
      steps(static_cast<int>(below(40)));
      const uint64_t before = cycle;
      auto burst = at(kBase + 4096 * below(kCount / 2));
      if (write) this->write(port, burst);
      else read(port, burst);
      answered(port);
      most = std::max(most, cycle - before);
    }
    return most;
  }
};

void high_beside_misses(unsigned walk_gap, unsigned latency, uint64_t seed) {
  Contended b(seed, walk_gap, latency);
  b.install_all(true);
  const uint64_t alone = b.longest(0, 200);
  b.keep_busy(1);
  b.steps(2000);
  const uint64_t in_turn = b.longest(0, 200);
  b.set_levels(true, 3, 0);
  b.steps(2000);
  const uint64_t first = b.longest(0, 200);
  // The other way round: a lower one gets its turns, and what is taken from it ends.
  b.set_levels(true, 0, 3);
  b.steps(2000);
  const uint64_t last = b.longest(0, 20);
  const uint64_t before = cycle;
  b.invalidate(b.pages[Contended::kCount / 2 - 1], nullptr);
  b.done();
  std::printf("%d %d %d %d %d\n", int(alone), int(in_turn), int(first), int(last), int(cycle - before));
}

// The same with pages of three sizes in one region, so that the filter excludes none: three sets a walk. Rows
// come after a pause, so that many walks go for their next set at once.
void high_beside_further(uint64_t seed) {
  Contended b(seed, 8, 60);
  b.config.walk_pauses = true;
  for (int asid = 1; asid <= 2; ++asid)
    for (const unsigned size_class : {2u, 3u})
      b.add_page(asid, Quiet::kBase + (asid << 19) + (size_class << 16), size_class, false, false);
  b.add_frames(2, 2);
  b.add_frames(3, 2);
  b.install_all(true);
  const uint64_t alone = b.longest(0, 200);
  b.keep_busy(1);
  b.steps(2000);
  const uint64_t in_turn = b.longest(0, 200);
  b.set_levels(true, 3, 0);
  b.steps(2000);
  std::printf("%d %d %d\n", int(alone), int(in_turn), int(b.longest(0, 200)));
}

// First touches: a slot beside another one whose marks queue up.
void high_beside_marks(uint64_t seed) {
  uint64_t most[3] = {};
  for (int turn = 0; turn < 24; ++turn)
    for (int mode = 0; mode < 3; ++mode) {
      Contended b(seed + turn, 1, 60);
      b.install_all(false);
      if (mode == 2) b.set_levels(true, 3, 0);
      for (unsigned i = 0; mode != 0 && i < Contended::kCount / 2; ++i) {
        b.read(1, Quiet::at(Quiet::kBase + 4096 * i));
        b.write(1, Quiet::at(Quiet::kBase + 4096 * (Contended::kCount - 1 - i)));
      }
      b.steps(150 + 8 * turn);
      most[mode] = std::max(most[mode], b.longest(0, 1));
    }
  std::printf("%d %d %d\n", int(most[0]), int(most[1]), int(most[2]));
}

// Random walks that all miss in the L1 TLB: how many run at once.
void walks(uint64_t seed) { throughput(1, true, 60, seed); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s SCENARIO SEED\n", argv[0]);
    return 2;
  }
  const uint64_t seed = std::strtoull(argv[2], nullptr, 0);
  const int cycles = 60000;
  const Config unstalled{.stall = 0, .max_rows = 8, .wander = 1};
  const Config busy_pager{.stall = 5, .max_rows = 4, .odd_bursts = false, .pager_delay = 3,
                          .pager_whim = 50, .wander = 2};
  const Config slow_memory{.latency_min = 50, .latency_max = 400, .pager_delay = 10,
                           .pager_whim = 40, .wander = 1};
  const std::map<std::string, std::function<void()>> scenarios = {
      {"random", [&] { random_traffic({}, seed, cycles, false); }},
      {"random_resets", [&] { random_traffic({}, seed, cycles, true); }},
      {"random_restarts", [&] { random_restarts(seed); }},
      {"random_shared_space", [&] { random_traffic({.same_space = true}, seed, cycles, true); }},
      {"random_unstalled", [&] { random_traffic(unstalled, seed, cycles, false); }},
      {"random_busy_pager", [&] { random_traffic(busy_pager, seed, cycles, true); }},
      {"random_slow_memory", [&] { random_traffic(slow_memory, seed, cycles, false); }},
      {"random_grow", [&] { random_traffic({.pager_delay = 10, .grow = true}, seed, cycles, false); }},
      {"random_races", [&] { races(seed); }},
      {"random_l1_off", [&] { random_traffic({.l1_off = 0b110}, seed, cycles, false); }},
      {"random_walker_off", [&] { random_traffic({.walker_off = 0b110}, seed, cycles, true); }},
      {"random_modes",
       [&] { random_traffic({.l1_off = 0b010, .walker_off = 0b100}, seed, cycles, true); }},
      {"random_tableless",
       [&] {
         random_traffic({.pager_delay = 10, .walker_off = 0b110, .tableless = true}, seed, cycles,
                        true);
       }},
      {"grow", [&] { grow(seed); }},
      {"marks", [&] { marks(seed); }},
      {"marks_of_one_entry", [&] { marks_of_one_entry(seed); }},
      {"marks_stalled", [&] { marks_stalled(seed); }},
      {"several_l1s", [&] { several_l1s(seed); }},
      {"round_addresses", [&] { round_addresses(seed); }},
      {"size_filter", [&] { size_filter(seed); }},
      {"walker_off", [&] { walker_off(seed); }},
      {"look_ahead", [&] { look_ahead(seed); }},
      {"fault_behind_hits", [&] { fault_behind_hits(seed); }},
      {"requester_isolation", [&] { requester_isolation(seed); }},
      {"reply_without_entry", [&] { reply_without_entry(seed); }},
      {"permission", [&] { permission(seed); }},
      {"table_commands", [&] { table_commands(seed); }},
      {"replace_page", [&] { replace_page(seed); }},
      {"dirty_exact", [&] { dirty_exact(seed); }},
      {"reset_with_faults", [&] { reset_with_faults(seed); }},
      {"reset_with_translated", [&] { reset_with_translated(seed); }},
      {"stuck_kernel", [&] { stuck_kernel(seed); }},
      {"memory_errors", [&] { memory_errors(seed); }},
      {"invalidate_meets_walk", [&] { invalidate_meets_walk(seed); }},
      {"disabled_space", [&] { disabled_space(seed); }},
      {"stream_full", [&] { throughput(64, false, 40, seed); }},
      {"stream_short", [&] { throughput(4, false, 40, seed); }},
      {"stream_single", [&] { throughput(1, false, 40, seed); }},
      {"walks", [&] { walks(seed); }},
      {"random_levels", [&] { random_traffic({.pager_delay = 10, .levels = true}, seed, cycles, false); }},
      {"random_levels_busy",
       [&] {
         random_traffic({.stall = 5, .max_rows = 4, .odd_bursts = false, .pager_delay = 3, .pager_whim = 50,
                         .wander = 2, .levels = true}, seed, cycles, true);
       }},
      {"high_beside_misses", [&] { high_beside_misses(8, 60, seed); }},
      {"high_beside_long_walks", [&] { high_beside_misses(1, 400, seed); }},
      {"high_beside_further", [&] { high_beside_further(seed); }},
      {"high_beside_marks", [&] { high_beside_marks(seed); }},
  };
  const auto scenario = scenarios.find(argv[1]);
  if (scenario == scenarios.end()) {
    std::fprintf(stderr, "unknown scenario %s\n", argv[1]);
    return 2;
  }
  scenario->second();
  return 0;
}
