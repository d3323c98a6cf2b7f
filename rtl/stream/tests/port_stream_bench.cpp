// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of FSRF's streaming mode: a kernel that reads, writes, opens, closes, sends and receives at random, a memory that
// answers in order, and a host at the other ends of both streams. Every byte, packet and answer is judged.
// Usage: bench random SEED SESSIONS | resets SEED SESSIONS | ends | rate. `resets` is `random` with resets at any
// moment: behind them everything is as after power-on.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "Vport_stream_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kRow = 64;
constexpr std::uint64_t kOpen = 1ull << 63, kClose = kOpen + 64;
enum : unsigned { kOkay = 0, kSlvErr = 2, kDecErr = 3 };

using Bytes = std::vector<std::uint8_t>;

Vport_stream_bench_top top;
std::mt19937_64 generator;
unsigned stall = 30;
bool held = false;  // the kernel takes nothing
std::uint64_t cycle = 0;
struct Reset {};
std::uint64_t reset_at = ~0ull;  // the cycle; Reset is thrown

[[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
  std::printf("cycle %llu: %s (%llu, %llu)\n", (unsigned long long)cycle, what, (unsigned long long)a,
              (unsigned long long)b);
  std::exit(1);
}

bool lucky() { return generator() % 100 >= stall; }
unsigned below(unsigned n) { return generator() % n; }

struct Address {
  std::uint64_t address;
  unsigned id, len, size;
};
struct Answer {
  unsigned id, resp;
  bool operator==(const Answer& other) const { return id == other.id && resp == other.resp; }
};
struct Beat {
  Bytes bytes;
  bool last;
};
struct Write {
  Bytes bytes;  // of a stream's beat, or a number
  bool stream, last;
};

// What the kernel wants to send.
std::deque<Address> reads, writes;
std::deque<Write> data;
// What it has sent.
std::deque<Address> reads_asked, writes_asked;
std::deque<Answer> read_answers, write_answers, packet_answers;  // to the window, and to packets
// The memory.
std::deque<Address> memory_reads, memory_writes;
std::deque<unsigned> memory_answers;
unsigned read_beat = 0, write_beat = 0;
unsigned written = 0;  // writes whose data the port has, without answer
std::uint64_t memory_write_beats = 0, kernel_write_beats = 0;
// The streams: what the host sends and the kernel has got, and the other way round.
std::deque<Beat> host_sends;
std::deque<Beat> wanted_in;  // packets, as bytes
std::vector<Bytes> host_got;
Bytes in_packet, out_packet;
std::vector<std::pair<Bytes, bool>> kernel_got;  // elements
unsigned in_id = 0, in_size = 0;
bool in_ended = false;
unsigned kernel_beat = 0;

void put(WData* to, const Bytes& bytes) {
  std::memset(to, 0, kRow);
  std::memcpy(to, bytes.data(), bytes.size());
}
std::uint64_t mask(std::size_t count) { return count == kRow ? ~0ull : (1ull << count) - 1; }

bool ar = false, aw = false, w = false, r = false, b = false, in = false;  // offered

void tick() {
  if (cycle == reset_at) throw Reset{};
  ar = !reads.empty() && (ar || lucky());
  top.k_arvalid_i = ar;
  if (ar) {
    top.k_araddr_i = reads[0].address;
    top.k_arid_i = reads[0].id;
    top.k_arlen_i = reads[0].len;
    top.k_arsize_i = reads[0].size;
  }
  aw = !writes.empty() && (aw || lucky());
  top.k_awvalid_i = aw;
  if (aw) {
    top.k_awaddr_i = writes[0].address;
    top.k_awid_i = writes[0].id;
    top.k_awlen_i = writes[0].len;
    top.k_awsize_i = writes[0].size;
  }
  w = !data.empty() && (w || lucky());
  top.k_wvalid_i = w;
  if (w) {
    put(&top.k_wdata_i[0], data[0].bytes);
    // A kernel may leave rubbish in the lanes beyond its width.
    top.k_wstrb_i = data[0].stream ? mask(data[0].bytes.size()) : ~0ull;
    top.k_wlast_i = data[0].last;
    top.k_wstream_i = data[0].stream;
  }
  r = !memory_reads.empty() && (r || lucky());
  top.s_rvalid_i = r;
  if (r) {
    top.s_rid_i = memory_reads[0].id;
    top.s_rdata_i[0] = memory_reads[0].address + read_beat;
    top.s_rlast_i = read_beat == memory_reads[0].len;
  }
  b = !memory_answers.empty() && (b || lucky());
  top.s_bvalid_i = b;
  if (b) top.s_bid_i = memory_answers[0];
  in = !host_sends.empty() && (in || lucky());
  top.in_valid_i = in;
  if (in) {
    put(&top.in_data_i[0], host_sends[0].bytes);
    top.in_keep_i = mask(host_sends[0].bytes.size());
    top.in_last_i = host_sends[0].last;
  }
  top.s_arready_i = lucky();
  top.s_awready_i = lucky();
  top.s_wready_i = lucky();
  top.k_rready_i = !held && lucky();
  top.k_bready_i = lucky();
  top.out_ready_i = lucky();
  top.eval();

  if (top.s_arvalid_o && (reads[0].address >> 63)) fail("a read in the window reached the slot");
  if (top.s_awvalid_o && (writes[0].address >> 63)) fail("a write in the window reached the slot");
  if (top.s_wvalid_o && data[0].stream) fail("a beat of the stream reached the slot's port");
  if (top.k_rvalid_o && top.k_rready_i) {
    const std::uint8_t* bytes = reinterpret_cast<const std::uint8_t*>(&top.k_rdata_o[0]);
    if (top.k_rstream_o) {
      if (top.k_rid_o != in_id) fail("the ID of the stream", top.k_rid_o, in_id);
      if (top.k_rresp_o == kDecErr) {
        if (!top.k_rlast_o || top.k_rkeep_o) fail("the end of the stream has bytes");
        if (in_ended) fail("the end of the stream came twice");
        in_ended = true;
      } else {
        const unsigned count = __builtin_popcountll(top.k_rkeep_o);
        if (top.k_rkeep_o != mask(count)) fail("rkeep has a hole");
        if (count > 1u << in_size) fail("more bytes than the width", count, in_size);
        if (count < 1u << in_size && !top.k_rlast_o) fail("an element that is not full", count);
        for (unsigned i = count; i < kRow; ++i)
          if (bytes[i]) fail("a byte beyond the element is not zero", i);
        in_packet.insert(in_packet.end(), bytes, bytes + count);
        if (wanted_in.empty() || in_packet.size() > wanted_in[0].bytes.size() ||
            std::memcmp(in_packet.data(), wanted_in[0].bytes.data(), in_packet.size()))
          fail("a byte differs, or a packet goes on", in_packet.size(), wanted_in.size());
        if (top.k_rlast_o) {
          if (in_packet.size() != wanted_in[0].bytes.size()) fail("a packet is cut", in_packet.size());
          in_packet.clear();
          wanted_in.pop_front();
        }
      }
    } else {
      if (reads_asked.empty()) fail("an answer to no read");
      const Address asked = reads_asked[0];
      if (top.k_rid_o != asked.id) fail("the ID of a read", top.k_rid_o, asked.id);
      if (bool(top.k_rlast_o) != (kernel_beat == asked.len)) fail("RLAST", kernel_beat, asked.len);
      if (asked.address >> 63) {
        if (top.k_rlast_o) read_answers.push_back({asked.id, top.k_rresp_o});
      } else if (top.k_rdata_o[0] != std::uint32_t(asked.address + kernel_beat) || top.k_rresp_o) {
        fail("data of a read", top.k_rdata_o[0], asked.address + kernel_beat);
      }
      ++kernel_beat;
      if (top.k_rlast_o) {
        reads_asked.pop_front();
        kernel_beat = 0;
      }
    }
  }
  if (top.k_bvalid_o && top.k_bready_i) {
    // The stream's ID is one that no write has.
    const Answer answer{top.k_bid_o, top.k_bresp_o};
    if (answer.id >= 0x8000) {
      packet_answers.push_back(answer);
    } else {
      if (writes_asked.empty() || writes_asked[0].id != answer.id) fail("the ID of a write", answer.id);
      if (!written--) fail("the answer to a write before its data", answer.id);
      if (writes_asked[0].address >> 63) write_answers.push_back(answer);
      else if (answer.resp) fail("the answer to a write", answer.resp);
      writes_asked.pop_front();
    }
  }
  if (top.out_valid_o && top.out_ready_i) {
    const unsigned count = __builtin_popcountll(top.out_keep_o);
    if (top.out_keep_o != mask(count)) fail("TKEEP has a hole");
    const std::uint8_t* bytes = reinterpret_cast<const std::uint8_t*>(&top.out_data_o[0]);
    out_packet.insert(out_packet.end(), bytes, bytes + count);
    if (top.out_last_o) host_got.push_back(std::move(out_packet)), out_packet.clear();
  }
  // The slot's answers come after what it was asked, so they are taken before it is asked more.
  if (r && top.s_rready_o && read_beat++ == memory_reads[0].len) memory_reads.pop_front(), read_beat = 0;
  if (r && top.s_rready_o) r = false;
  if (b && top.s_bready_o) memory_answers.pop_front(), b = false;
  if (in && top.in_ready_o) host_sends.pop_front(), in = false;
  if (top.s_wvalid_o && top.s_wready_i) {
    if (memory_writes.empty()) fail("data of a write before its address");
    ++memory_write_beats;
    const bool last = write_beat++ == memory_writes[0].len;
    if (bool(top.k_wlast_i) != last) fail("WLAST");
    if (last) memory_answers.push_back(memory_writes[0].id), memory_writes.pop_front(), write_beat = 0;
  }
  if (w && top.k_wready_o) {
    kernel_write_beats += !data[0].stream;
    written += !data[0].stream && data[0].last;
    data.pop_front();
    w = false;
  }
  if (ar && top.k_arready_o) {
    reads_asked.push_back(reads[0]);
    if (!(reads[0].address >> 63)) memory_reads.push_back(reads[0]);
    reads.pop_front();
    ar = false;
  }
  if (aw && top.k_awready_o) {
    writes_asked.push_back(writes[0]);
    if (!(writes[0].address >> 63)) memory_writes.push_back(writes[0]);
    writes.pop_front();
    aw = false;
  }
  top.clk_i = 1;
  top.eval();
  top.clk_i = 0;
  top.eval();
  ++cycle;
}

template <typename Condition>
void until(const char* what, Condition condition) {
  for (unsigned i = 0; !condition(); ++i) {
    if (i == 200000) fail(what);
    tick();
  }
}

void read(std::uint64_t address, unsigned id, unsigned len, unsigned size) {
  reads.push_back({address, id, len, size});
}
void write(std::uint64_t address, unsigned id, unsigned len, unsigned size) {
  writes.push_back({address, id, len, size});
  for (unsigned i = 0; i <= len; ++i) data.push_back({Bytes(kRow, 0x5a), false, i == len});
}

// Asks the window and waits for the answer, whatever else goes on.
unsigned ask_in(std::uint64_t address, unsigned id, unsigned size, unsigned len = 0) {
  read(address, id, len, size);
  until("no answer to a read in the window", [] { return !read_answers.empty(); });
  const Answer answer = read_answers[0];
  read_answers.pop_front();
  if (answer.id != id) fail("the ID of an answer", answer.id, id);
  return answer.resp;
}
unsigned ask_out(std::uint64_t address, unsigned id, unsigned size, unsigned len = 0) {
  write(address, id & 0x7fff, len, size);
  // The stream's own ID is the one that opened it; the bench tells answers apart by bit 15.
  until("no answer to a write in the window", [] { return !write_answers.empty(); });
  const Answer answer = write_answers[0];
  write_answers.pop_front();
  return answer.resp;
}
void expect(const char* what, unsigned got, unsigned wanted) {
  if (got != wanted) fail(what, got, wanted);
}

Bytes random_bytes(unsigned count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = std::uint8_t(generator() | 1);
  return bytes;
}

void host_packet(unsigned beats) {
  Beat whole{{}, true};
  for (unsigned i = 0; i < beats; ++i) {
    const bool last = i + 1 == beats;
    const unsigned count = last && below(4) == 0 ? 0 : below(3) ? kRow : 1 + below(kRow);
    Beat beat{random_bytes(count), last};
    whole.bytes.insert(whole.bytes.end(), beat.bytes.begin(), beat.bytes.end());
    host_sends.push_back(beat);
  }
  wanted_in.push_back(whole);
}

void memory_traffic() {
  if (below(8) == 0 && reads.size() < 4) read(below(1 << 30), below(0x8000), below(8), 6);
  if (below(8) == 0 && writes.size() < 4 && data.size() < 40) write(below(1 << 30), below(0x8000), below(8), 6);
}

void reset() {
  top.rst_ni = 0;
  for (int i = 0; i < 6; ++i) {
    top.clk_i = i & 1;
    top.eval();
  }
  top.clk_i = 0;
  top.rst_ni = 1;
  for (int i = 0; i < 4; ++i) tick();
}

void set_closed(unsigned closed) {
  top.c_closed_i = closed;
  top.c_write_i = 1;
  do {
    top.eval();
    const bool written = top.c_written_o;
    tick();
    if (written) break;
  } while (true);
  top.c_write_i = 0;
  for (int i = 0; i < 4; ++i) tick();
}

// Opens for packets whose answers have this ID.
void open_out(unsigned id, unsigned size) {
  writes.push_back({kOpen, id, 0, size});
  data.push_back({Bytes(kRow, 1), false, true});
  until("no answer to opening", [] { return !packet_answers.empty(); });
  if (!(packet_answers[0] == Answer{id, kOkay})) fail("opening was not answered OKAY", packet_answers[0].resp);
  if (!written--) fail("opening was answered before its data");
  packet_answers.pop_front();
  writes_asked.pop_front();
}

void traffic_of_session(unsigned session) {
  stall = (session % 3) * 30;
  in_size = below(7);
  in_id = below(0x8000);
  const unsigned out_size = below(7), out_id = 0x8000 + below(0x8000);
  if (ask_in(kClose, 3, 0) != kSlvErr) fail("closed when not open");
  expect("opening", ask_in(kOpen, in_id, in_size), kOkay);
  until("memory does not come to rest", [] { return writes_asked.empty() && writes.empty(); });
  open_out(out_id, out_size);
  std::vector<Bytes> wanted_out;
  const std::size_t before = host_got.size();
  const unsigned packets = 1 + below(6);
  for (unsigned packet = 0; packet < packets; ++packet) {
    host_packet(1 + below(6));
    Bytes whole;
    const unsigned beats = 1 + below(20);
    for (unsigned i = 0; i < beats; ++i) {
      const bool last = i + 1 == beats;
      Bytes element = random_bytes(last ? below((1u << out_size) + 1) : 1u << out_size);
      whole.insert(whole.end(), element.begin(), element.end());
      // Beats beyond the width do not count.
      data.push_back({element, true, last});
      if (below(4) == 0) write(below(1 << 30), below(0x8000), 0, 6);
    }
    wanted_out.push_back(whole);
  }
  // Sometimes the stream is closed in the middle; the next session goes on.
  const bool cut = below(3) == 0;
  const unsigned cycles = 50 + below(200);
  for (unsigned i = 0; i < cycles; ++i) memory_traffic(), tick();
  if (!cut) until("a packet does not come", [] { memory_traffic(); return wanted_in.empty(); });
  until("packets do not go out", [&] { return host_got.size() - before == wanted_out.size(); });
  until("packets have no answer", [&] { return packet_answers.size() == packets; });
  for (unsigned packet = 0; packet < packets; ++packet) {
    if (host_got[before + packet] != wanted_out[packet]) fail("a packet differs", packet);
    if (!(packet_answers[0] == Answer{out_id, kOkay})) fail("the answer to a packet", packet_answers[0].resp);
    packet_answers.pop_front();
  }
  expect("OPEN", top.c_open_o, 3);
  expect("opened twice", ask_in(kOpen, 7, 3), kSlvErr);
  expect("another address", ask_in(kOpen + 8 + 8 * below(7), 7, 3), kDecErr);
  expect("closing", ask_in(kClose, 9, 0), kOkay);
  until("memory does not come to rest", [] { return writes_asked.empty() && writes.empty(); });
  expect("opened twice", ask_out(kOpen, 5, 2), kSlvErr);
  expect("another address", ask_out(kOpen + 128, 5, 2), kDecErr);
  expect("closing", ask_out(kClose, 5, 2), kOkay);
  until("memory does not come to rest", [] {
    return reads_asked.empty() && writes_asked.empty() && reads.empty() && writes.empty();
  });
  for (int i = 0; i < 4; ++i) tick();
  expect("OPEN", top.c_open_o, 0);
}

void beats_of_writes() {
  if (memory_write_beats == 0 || memory_write_beats > kernel_write_beats) fail("beats of writes");
}

void random(unsigned sessions) {
  for (unsigned session = 0; session < sessions; ++session) traffic_of_session(session);
  beats_of_writes();
}

// All that was under way is gone, at both sides of the ports and in the memory.
void forget() {
  reads.clear();
  writes.clear();
  data.clear();
  reads_asked.clear();
  writes_asked.clear();
  read_answers.clear();
  write_answers.clear();
  packet_answers.clear();
  memory_reads.clear();
  memory_writes.clear();
  memory_answers.clear();
  read_beat = write_beat = kernel_beat = written = 0;
  host_sends.clear();
  wanted_in.clear();
  in_packet.clear();
  out_packet.clear();
  in_ended = false;
  ar = aw = w = r = b = in = false;
}

void resets(unsigned sessions) {
  unsigned cuts = 0;
  for (unsigned session = 0; session < sessions; ++session) {
    // Two sessions in three; the others show that everything comes to its end behind a reset.
    reset_at = below(3) ? cycle + below(below(2) ? 600 : 60) : ~0ull;
    try {
      traffic_of_session(session);
      continue;
    } catch (Reset) {
      ++cuts;
    }
    reset_at = ~0ull;
    if (below(3) == 0) {
      // The host has closed its ends just before.
      top.c_closed_i = 1 + below(3);
      top.c_write_i = 1;
      top.s_rvalid_i = top.s_bvalid_i = 0;
      top.out_ready_i = below(2);
      for (unsigned i = 2 * (1 + below(5)); i--;) {
        top.clk_i = i & 1;
        top.eval();
      }
      top.c_write_i = 0;
    }
    forget();
    const std::size_t before = host_got.size();
    reset();
    expect("OPEN behind a reset", top.c_open_o, 0);
    if (below(2)) {
      // A stream without a packet.
      open_out(0x8000, 6);
      expect("closing", ask_out(kClose, 5, 2), kOkay);
    }
    for (int i = 0; i < 20; ++i) tick();
    if (host_got.size() != before) fail("a packet that nobody sent");
  }
  if (cuts < sessions / 4) fail("too few resets", cuts);
  beats_of_writes();
}

void ends() {
  // What is too wide, or a burst.
  expect("a width of 128 bytes", ask_in(kOpen, 1, 7), kSlvErr);
  expect("a burst", ask_in(kOpen, 1, 3, 2), kSlvErr);
  expect("a width of 128 bytes", ask_out(kOpen, 1, 7), kSlvErr);
  expect("a burst", ask_out(kOpen, 1, 3, 2), kSlvErr);
  // A packet that nobody opened a stream for has one answer, with the ID of no stream, 0, and goes nowhere.
  for (int i = 0; i < 5; ++i) data.push_back({Bytes(4, 1), true, i == 4});
  writes_asked.push_back({kOpen, 0, 0, 0});
  ++written;
  until("no answer to a packet", [] { return !write_answers.empty() && data.empty(); });
  expect("a packet before opening", write_answers[0].resp, kSlvErr);
  write_answers.pop_front();
}

void other_end() {
  // The host closes behind its last byte: the kernel gets the byte, then the error, once.
  in_id = 77, in_size = 2;
  expect("opening", ask_in(kOpen, in_id, in_size), kOkay);
  host_packet(3);
  until("a packet does not come", [] { return wanted_in.empty(); });
  // What has no TLAST, and is no whole number of elements, comes all the same.
  held = true;
  host_sends.push_back({random_bytes(18), false});
  wanted_in.push_back({host_sends.back().bytes, true});
  until("the host's bytes are not taken", [] { return host_sends.empty() && !top.in_valid_i; });
  set_closed(1);
  held = false;
  until("no end", [] { return in_ended; });
  if (!wanted_in.empty()) fail("the end came before the bytes");
  for (int i = 0; i < 100; ++i) tick();
  expect("OPEN", top.c_open_o, 0);
  expect("opened after the end", ask_in(kOpen, 5, 2), kDecErr);
  expect("closed after the end", ask_in(kClose, 5, 2), kDecErr);
  set_closed(0);
  in_ended = false;
  in_id = 78;
  expect("opened again", ask_in(kOpen, in_id, in_size), kOkay);
  host_packet(2);
  until("a packet does not come", [] { return wanted_in.empty(); });

  // The host closes in the middle of a packet out: an error once, the packet is ended, the kernel can go on.
  open_out(0x8001, 6);
  Bytes sent;
  for (int i = 0; i < 4; ++i) {
    Bytes element = random_bytes(kRow);
    sent.insert(sent.end(), element.begin(), element.end());
    data.push_back({element, true, false});
  }
  until("the packet's beginning is not taken", [] { return data.empty() && !top.k_wvalid_i; });
  set_closed(2);
  for (int i = 0; i < 6; ++i) data.push_back({random_bytes(kRow), true, i == 5});
  write(64, 9, 3, 6);
  until("the rest is not taken", [] { return data.empty() && writes_asked.empty() && writes.empty(); });
  until("the packet is not ended", [] { return !host_got.empty(); });
  if (host_got.size() != 1 || host_got[0] != sent) fail("the packet that was cut", host_got[0].size());
  until("no answer", [] { return !packet_answers.empty(); });
  for (int i = 0; i < 100; ++i) tick();
  if (packet_answers.size() != 1 || !(packet_answers[0] == Answer{0x8001, kDecErr})) fail("DECERR once");
  packet_answers.clear();
  data.push_back({random_bytes(9), true, true});
  until("no answer", [] { return !packet_answers.empty(); });
  if (!(packet_answers[0] == Answer{0x8001, kDecErr})) fail("DECERR for the next packet");
  packet_answers.clear();
  expect("opened after the end", ask_out(kOpen, 5, 2), kDecErr);
  set_closed(0);
  open_out(0x8002, 0);
  data.push_back({random_bytes(1), true, false});
  until("a beat is not taken", [] { return data.empty() && !top.k_wvalid_i; });
  // Closing ends the packet.
  expect("closing", ask_out(kClose, 5, 2), kOkay);
  until("the packet is not ended", [] { return host_got.size() == 2; });
  if (host_got[1].size() != 1) fail("the packet that closing ends", host_got[1].size());
}

void rate() {
  stall = 0;
  in_id = 1, in_size = 6;
  expect("opening", ask_in(kOpen, in_id, in_size), kOkay);
  open_out(0x8001, 6);
  constexpr unsigned kBeats = 2000;
  Beat whole{{}, true};
  for (unsigned i = 0; i < kBeats; ++i) {
    Beat beat{random_bytes(kRow), i + 1 == kBeats};
    whole.bytes.insert(whole.bytes.end(), beat.bytes.begin(), beat.bytes.end());
    host_sends.push_back(beat);
    data.push_back({beat.bytes, true, beat.last});
  }
  wanted_in.push_back(whole);
  const std::uint64_t begin = cycle;
  until("a packet does not come", [] { return wanted_in.empty() && !host_got.empty(); });
  std::printf("%.4f\n", double(kBeats) / double(cycle - begin));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  generator.seed(argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1);
  reset();
  if (what == "random" && argc == 4) random(std::strtoul(argv[3], nullptr, 0));
  else if (what == "resets" && argc == 4) resets(std::strtoul(argv[3], nullptr, 0));
  else if (what == "ends") ends(), other_end();
  else if (what == "rate") rate();
  else return 2;
  return 0;
}
