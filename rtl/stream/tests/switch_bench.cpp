// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bench of tmb_stream_switch: four movers and four outgoing ports send packets of 1 byte to 64 KiB, four
// incoming ports and four movers take them, all with random stalls, while the host connects at random.
// Each beat says who sent it, in which packet, and which one of it it is; so a beat that is dropped,
// doubled, reordered, or in another packet than its own is seen, as is a packet at a port that the state
// does not name. With IDs (kIdWidth) each packet has its own, and each beat, also that of a cut, must show it; what
// a mover sends has 0. Usage: bench SCENARIO SEED PACKETS.
//
//   random   switches in mid traffic. Prints the packets lost, and the most cycles from the moment that
//            both sides of a change are drained to the moment that the port is open
//   resets   the same with resets of slots in mid-packet
//   restarts the same with resets of everything, too
//   rate     prints beats a cycle from port to port, from mover to port, from port to mover

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "Vswitch_bench_top.h"
#include "verilated.h"

namespace {

constexpr unsigned kPairs = 4, kEnds = 2 * kPairs, kNobody = ~0u;
#ifndef ID_WIDTH
#define ID_WIDTH 0
#endif
constexpr unsigned kIdWidth = ID_WIDTH;

struct Sender {
  std::uint64_t packet = 0;   // that it sends now, from 0
  std::uint64_t beat = 0, beats = 0;
  std::uint64_t bytes_of_last = 0;
  bool offered = false;
  // At the receivers: the packet that comes next, or is coming.
  std::uint64_t expected = 0;
  unsigned receiver = kNobody;
  std::uint64_t moved = 0;    // beats
  std::uint64_t skip_to = 0;  // packets before it may be gone with a reset
};

struct Receiver {
  unsigned sender = kNobody;  // of the packet that is coming
  std::uint64_t beat = 0;
  bool may_cut = false;       // its sender was reset: an empty end may come
  bool waiting = false;       // an offer was not taken
  bool must_say = false;      // the end of a cut packet comes with `broken`
  std::uint64_t offer = 0;
};

struct Bench {
  Vswitch_bench_top top;
  std::mt19937_64 random;
  std::array<Sender, kEnds> senders;
  std::array<Receiver, kEnds> receivers;
  std::array<unsigned, kPairs> wanted;  // sender of each incoming port
  std::array<std::uint64_t, kPairs> busy_since{};  // last cycle in which a side was not drained
  std::array<bool, kPairs> changing{};
  // `broken`: a packet was cut since the host connected last; no slot has been in reset since then.
  std::array<bool, kPairs> broken{}, breaks{}, whole{};
  std::uint64_t cycle = 0, received = 0, cuts = 0, limit = 0, most = 0;
  unsigned send_stall = 0, take_stall = 0;

  [[noreturn]] void fail(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    std::printf("cycle %llu: %s (%llu, %llu)\n", (unsigned long long)cycle, what,
                (unsigned long long)a, (unsigned long long)b);
    std::exit(1);
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }

  static std::uint64_t tag(unsigned sender, std::uint64_t packet, std::uint64_t beat) {
    return std::uint64_t(sender) << 60 | packet << 16 | beat;
  }

  // TID and TDEST of a packet.
  static unsigned id_of(unsigned sender, std::uint64_t packet) {
    const auto mixed = (packet * 8 + sender) * 0x9e3779b97f4a7c15u >> 32;
    return sender < kPairs ? 0 : unsigned(mixed & ((1ull << kIdWidth) - 1));
  }

  void next_packet(Sender& sender) {
    const double most_bits = chance(20) ? 8 : 16;
    const auto bytes = std::uint64_t(std::exp2(most_bits * double(random() % 10001) / 10000.0));
    sender.beat = 0;
    sender.beats = (bytes + 63) / 64;
    sender.bytes_of_last = bytes - 64 * (sender.beats - 1);
  }

  void connect(unsigned port, unsigned sender) {
    wanted[port] = sender;
    top.from_port_i[port] = sender >= kPairs;
    top.from_pair_i[port] = sender >= kPairs ? sender - kPairs : 0;
    top.forget_i[port] = 1;
    receivers[port].must_say = breaks[port] = false;
    changing[port] = true;
    busy_since[port] = cycle;
  }

  bool may_take(unsigned receiver, unsigned sender) {
    if (receiver >= kPairs) return sender == receiver;
    return top.from_port_o[receiver] ? sender == kPairs + top.from_pair_o[receiver] : sender == receiver;
  }

  void take(unsigned r) {
    Receiver& receiver = receivers[r];
    const std::uint64_t data = top.take_data_o[r], keep = top.take_keep_o[r];
    const bool last = top.take_last_o[r];
    if (!keep) {
      if (!receiver.may_cut || !last || receiver.sender == kNobody) fail("an end of nothing", r);
      if (receiver.must_say && !top.broken_o[r]) fail("a packet is cut in silence", r);
      if (top.take_id_o[r] != id_of(receiver.sender, senders[receiver.sender].expected))
        fail("a cut packet ends with another ID", r, top.take_id_o[r]);
      Sender& cut = senders[receiver.sender];
      ++cut.expected;
      cut.receiver = receiver.sender = kNobody;
      receiver.may_cut = false;
      ++cuts;
      return;
    }
    const unsigned s = data >> 60;
    Sender& sender = senders[s];
    if (receiver.sender == kNobody) {
      if (!may_take(r, s)) fail("a packet from someone else", r, s);
      if (sender.receiver != kNobody) fail("a packet before the last one has ended", r, s);
      if (r >= kPairs && !top.begin_i[r - kPairs]) fail("a packet that was not asked for", r);
      const std::uint64_t packet = data >> 16 & 0xfffffffffff;
      if (packet < sender.expected || packet > std::max(sender.expected, sender.skip_to))
        fail("a packet is lost or comes again", packet, sender.expected);
      if (packet >= sender.skip_to) receiver.may_cut = false;  // of the sender's new life
      sender.expected = packet;
      sender.receiver = r;
      receiver.sender = s;
      receiver.beat = 0;
    }
    if (receiver.sender != s) fail("two packets are mixed", receiver.sender, s);
    if (data != tag(s, sender.expected, receiver.beat)) fail("a beat is lost or comes again", data);
    if (r < kPairs && top.take_id_o[r] != id_of(s, sender.expected)) fail("another ID", r, top.take_id_o[r]);
    ++receiver.beat;
    if (!last) return;
    ++sender.expected;
    ++received;
    sender.receiver = kNobody;
    receiver.sender = kNobody;
  }

  // Is a packet between an end that the change of this port concerns and its other side?
  bool drained(unsigned port) {
    if (receivers[port].sender != kNobody || top.take_valid_o[port]) return false;
    return wanted[port] < kPairs || senders[wanted[port]].receiver == kNobody;
  }

  void edge() {
    for (unsigned e = 0; e < kEnds; ++e) {
      Sender& sender = senders[e];
      const bool wants = sender.packet < limit && !top.reset_i[e % kPairs];
      sender.offered = wants && (sender.offered || !chance(send_stall));
      top.send_valid_i[e] = sender.offered;
      if (sender.offered) {
        const bool last = sender.beat + 1 == sender.beats;
        top.send_data_i[e] = tag(e, sender.packet, sender.beat);
        top.send_keep_i[e] = !last || sender.bytes_of_last == 64 ? ~0ull : (1ull << sender.bytes_of_last) - 1;
        top.send_last_i[e] = last;
        // Bits beyond the width are no part of it.
        top.send_id_i[e] = id_of(e, sender.packet) | unsigned(kIdWidth < 32 ? ~0ull << kIdWidth : 0);
      }
      top.take_ready_i[e] = !chance(take_stall) && !top.reset_i[e % kPairs];
    }
    top.eval();
    for (unsigned e = 0; e < kEnds; ++e) {
      Receiver& receiver = receivers[e];
      const bool alive = !top.reset_i[e % kPairs];
      const bool offer = top.take_valid_o[e] && alive;
      if (e < kPairs && receiver.waiting && (!offer || top.take_data_o[e] != receiver.offer))
        fail("an offer is withdrawn or changed", e);
      receiver.waiting = offer && !top.take_ready_i[e];
      receiver.offer = top.take_data_o[e];
      if (offer && top.take_ready_i[e]) take(e);
    }
    for (unsigned e = 0; e < kEnds; ++e) {
      Sender& sender = senders[e];
      if (!sender.offered || !top.send_ready_o[e] || top.reset_i[e % kPairs]) continue;
      sender.offered = false;
      ++sender.moved;
      if (++sender.beat == sender.beats) {
        ++sender.packet;
        next_packet(sender);
      }
    }
    for (unsigned p = 0; p < kPairs; ++p) {
      const unsigned connected = top.from_port_o[p] ? kPairs + top.from_pair_o[p] : p;
      if (!top.pending_o[p] && connected != wanted[p]) fail("a change is neither made nor pending", p);
      if (broken[p] && !top.broken_o[p]) fail("a packet was cut in silence", p);
      if (whole[p] && top.broken_o[p]) fail("no packet was cut", p);
    }
    const bool any_reset = std::any_of(&top.reset_i[0], &top.reset_i[0] + kPairs, [](auto r) { return r; });
    for (unsigned p = 0; p < kPairs; ++p) {
      broken[p] = (broken[p] || breaks[p]) && !top.forget_i[p];
      breaks[p] = false;
      whole[p] = (whole[p] || top.forget_i[p]) && !any_reset;
      if (!changing[p]) continue;
      if (!top.pending_o[p]) {
        changing[p] = false;
        most = std::max(most, cycle - busy_since[p]);
      } else if (!drained(p)) {
        busy_since[p] = cycle;
      }
    }
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
    ++cycle;
    for (unsigned p = 0; p < kPairs; ++p) {
      top.forget_i[p] = 0;
      // A mover that waits for a packet goes on to wait.
      if (!top.begin_i[p] || receivers[kPairs + p].sender != kNobody) top.begin_i[p] = chance(50);
    }
  }

  void reset() {
    for (unsigned p = 0; p < kPairs; ++p) {
      connect(p, p);
      top.reset_i[p] = 0;
      top.begin_i[p] = 1;
    }
    top.rst_ni = 0;
    for (int i = 0; i < 4; ++i) {
      top.clk_i = i & 1;
      top.eval();
    }
    top.clk_i = 0;
    top.rst_ni = 1;
    for (Sender& sender : senders) next_packet(sender);
  }

  // Switch, slots and host begin again. Nothing of before comes out behind it.
  void restart() {
    for (unsigned p = 0; p < kPairs; ++p) top.reset_i[p] = 0;
    top.rst_ni = 0;
    top.eval();
    for (auto cycles = 1 + random() % 3; cycles; --cycles) {
      top.clk_i = 1;
      top.eval();
      top.clk_i = 0;
      top.eval();
      ++cycle;
    }
    top.rst_ni = 1;
    for (Sender& sender : senders) {
      sender.expected = sender.skip_to = ++sender.packet;
      sender.receiver = kNobody;
      sender.offered = false;
      next_packet(sender);
    }
    receivers.fill({});
    broken.fill(false);
    breaks.fill(false);
    for (unsigned p = 0; p < kPairs; ++p) {
      connect(p, p);
      top.forget_i[p] = 0;
      top.begin_i[p] = chance(20);
    }
    // Nothing is pending, no packet is cut, and each port is its own pair's.
    changing.fill(false);
    whole.fill(true);
    for (unsigned e = 0; e < kEnds; ++e) top.send_valid_i[e] = 0;
    top.eval();
    for (unsigned e = 0; e < kEnds; ++e)
      if (top.take_valid_o[e]) fail("an offer behind a reset", e);
    for (unsigned p = 0; p < kPairs; ++p)
      if (top.from_port_o[p] || top.pending_o[p]) fail("a connection behind a reset", p);
    // The first change of a new host, while nobody sends, waits for no packet of before.
    if (!chance(50)) return;
    const unsigned port = random() % kPairs;
    connect(port, kPairs + unsigned(random() % kPairs));
    limit = 0;
    for (int i = 0; i < 8; ++i) edge();
    if (top.pending_o[port]) fail("a change waits for a packet of before a reset", port);
  }

  // The slot of a pair goes into reset, for a while.
  void reset_pair(unsigned p) {
    for (const unsigned s : {p, kPairs + p}) {  // as senders
      Sender& sender = senders[s];
      if (sender.receiver % kPairs == p) sender.receiver = kNobody;
      sender.offered = false;
      sender.skip_to = ++sender.packet;
      next_packet(sender);
    }
    for (unsigned r = 0; r < kPairs; ++r)
      if (r != p && top.from_port_o[r] && top.from_pair_o[r] == p) {
        receivers[r].may_cut = true;
        receivers[r].must_say = !top.forget_i[r];
      }
    // A packet from another port that has come in part.
    breaks[p] = receivers[p].sender != kNobody && receivers[p].sender >= kPairs && !top.forget_i[p];
    for (const unsigned r : {p, kPairs + p}) {  // as receivers
      receivers[r].waiting = receivers[r].may_cut = false;
      const unsigned s = receivers[r].sender;
      receivers[r].sender = kNobody;
      if (s != kNobody) senders[s].receiver = kNobody;
    }
    // One packet that was under way, and two whole ones in the receiver's queue.
    if (top.from_port_o[p] && top.from_pair_o[p] != p) {
      Sender& sender = senders[kPairs + top.from_pair_o[p]];
      sender.skip_to = std::max(sender.skip_to, sender.expected + 3);
    }
    top.reset_i[p] = 1;
    changing.fill(false);
  }

  void traffic(std::uint64_t packets, bool resets, bool restarts = false) {
    std::uint64_t release = 0, change = 0;
    unsigned restarted = 0;
    unsigned down = kNobody;
    while (received < packets) {
      limit = ~0ull;
      if (cycle % 5000 == 0) {
        send_stall = chance(50) ? 0 : random() % 90;
        take_stall = chance(50) ? 0 : random() % 90;
      }
      if (cycle >= change) {
        // Two ports may ask for the same one: then one of them waits.
        const unsigned port = random() % kPairs;
        connect(port, chance(30) ? port : kPairs + unsigned(random() % kPairs));
        change = cycle + random() % (chance(50) ? 20 : 3000);
      }
      if (restarts && chance(1) && chance(10)) {
        restart();
        ++restarted;
        down = kNobody;
      }
      if (resets && down == kNobody && chance(1) && chance(20)) {
        down = random() % kPairs;
        reset_pair(down);
        release = cycle + 1 + random() % 50;
      }
      const bool over = down != kNobody && cycle >= release;
      edge();
      if (over) {
        top.reset_i[down] = 0;
        down = kNobody;
      }
      // Two ports that ask for one say nothing about how long a change takes.
      for (unsigned p = 0; p < kPairs; ++p)
        for (unsigned q = 0; q < kPairs; ++q)
          if (p != q && wanted[p] == wanted[q]) changing[p] = false;
      if (cycle > 100000000) fail("nothing moves", received);
    }
    // Everything ends up somewhere.
    if (down != kNobody) top.reset_i[down] = 0;
    for (unsigned p = 0; p < kPairs; ++p) connect(p, p);
    limit = 0;
    for (const Sender& sender : senders) limit = std::max(limit, sender.packet + 1);
    send_stall = take_stall = 0;
    const std::uint64_t until = cycle + 1000000;
    const auto done = [&] {
      return std::all_of(senders.begin(), senders.end(), [&](const Sender& s) { return s.expected >= limit; });
    };
    while (!done() && cycle < until) edge();
    std::uint64_t lost = 0;
    for (const Sender& sender : senders) lost += limit - std::min(limit, sender.expected);
    for (unsigned p = 0; p < kPairs; ++p)
      if (top.pending_o[p]) fail("a change stays pending", p);
    if (resets && !cuts) fail("no packet was cut");
    if (restarts && restarted < 50) fail("too few resets", restarted);
    std::printf("%llu %llu %llu\n", (unsigned long long)lost, (unsigned long long)most,
                (unsigned long long)received);
  }

  void rate() {
    connect(0, kPairs + 1);
    connect(1, kPairs + 0);
    for (int i = 0; i < 20; ++i) edge();
    limit = ~0ull;
    for (unsigned p = 0; p < kPairs; ++p) top.begin_i[p] = 1;
    const std::uint64_t cycles = 20000;
    for (std::uint64_t c = 0; c < cycles; ++c) {
      edge();
      for (unsigned p = 0; p < kPairs; ++p) top.begin_i[p] = 1;
    }
    for (const unsigned s : {kPairs + 0u, kPairs + 1u, 2u, kPairs + 2u}) {
      std::printf("%.4f\n", double(senders[s].moved) / double(cycles));
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
  const std::uint64_t packets = std::strtoull(argv[3], nullptr, 0);
  if (scenario == "random") bench.traffic(packets, false);
  else if (scenario == "resets") bench.traffic(packets, true);
  else if (scenario == "restarts") bench.traffic(packets, true, true);
  else if (scenario == "rate") bench.rate();
  else return 2;
  return 0;
}
