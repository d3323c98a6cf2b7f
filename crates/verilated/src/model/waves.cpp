// Waveforms of a model. Appended to glue.cpp in builds with waves; see sim/model.rs, its only caller.

#include "verilated_fst_c.h"

#include <limits>
#include <memory>

namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct Waves {
  Instance* instance;
  VerilatedFstC file;
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t half_period;
  // The edge whose values are not written yet.
  std::uint64_t edge = 0;
};

// Writes the values as they are after the last edge and all that followed from it, until the next one.
void write_values(Waves& waves, std::uint64_t next) {
  Instance& instance = *waves.instance;
  const std::uint64_t at = waves.edge;
  if (at >= waves.to || next <= waves.from) return;
  Verilated::threadContextp(&instance.context);
  auto* const symbols = instance.model.rootp->vlSymsp;
  symbols->__Vm_activity = true;
  if (at < waves.from) {
    // What the window begins with: so no file is without values, which readers do not expect.
    instance.model.TMB_CLOCK = 0;
    waves.file.dump(waves.from);
    return;
  }
  instance.model.TMB_CLOCK = 1;
  waves.file.dump(at);
  // The clock falls for those who look; nothing in the model does.
  symbols->__Vm_activity = true;
  instance.model.TMB_CLOCK = 0;
  waves.file.dump(at + waves.half_period);
}

}  // namespace

// Before the first evaluation. Null when the file cannot be made. A stretch that begins at kNever
// begins when tmb_waves_begin says so.
TMB_EXPORT void* tmb_waves_open(Instance* instance, const char* path, std::uint64_t from,
                                std::uint64_t to, std::uint64_t half_period) {
  try {
    Verilated::threadContextp(&instance->context);
    instance->context.timeunit(-12);
    instance->context.timeprecision(-12);
    instance->context.traceEverOn(true);
    auto waves = std::make_unique<Waves>();
    waves->instance = instance;
    waves->from = from;
    waves->to = to;
    waves->half_period = half_period;
    instance->model.trace(&waves->file, 99);
    waves->file.open(path);
    return waves->file.isOpen() ? waves.release() : nullptr;
  } catch (...) {
    return nullptr;
  }
}

// The stretch is known now. Before the edge at which it begins.
TMB_EXPORT void tmb_waves_begin(void* handle, std::uint64_t from, std::uint64_t to) {
  Waves& waves = *static_cast<Waves*>(handle);
  waves.from = from;
  waves.to = to;
}

// Before every edge, at this time.
TMB_EXPORT void tmb_waves_edge(void* handle, std::uint64_t picoseconds) {
  Waves& waves = *static_cast<Waves*>(handle);
  write_values(waves, picoseconds);
  waves.edge = picoseconds;
}

// Before the instance is freed.
TMB_EXPORT void tmb_waves_close(void* handle) {
  std::unique_ptr<Waves> waves{static_cast<Waves*>(handle)};
  if (waves->from == kNever) {
    // It never began: the last values, because a file must have some.
    waves->from = waves->edge;
    waves->to = waves->edge + 1;
  }
  write_values(*waves, kNever);
  waves->file.close();
}
