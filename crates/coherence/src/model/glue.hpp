// What the C interfaces of all models share: making, freeing, the shape that the caller compares
// (loaded.rs), and rows of 64 bytes.

#pragma once

#include "verilated.h"

#include <cstdint>
#include <cstring>

using Words = uint32_t[16];

template <typename Model>
struct Instance {
  VerilatedContext context;
  Model model;
  Instance() : context{}, model{&context, "TOP"} {
    // A failed assertion ends the run, not the process.
    context.fatalOnError(false);
  }
  // Scopes take themselves out of the context that is the thread's: not that of another instance, which may
  // be gone.
  ~Instance() { Verilated::threadContextp(&context); }
};

template <typename Wide>
void put(Wide& to, const Words& from) {
  std::memcpy(to.data(), from, sizeof from);
}

template <typename Wide>
void get(Words& to, const Wide& from) {
  std::memcpy(to, from.data(), sizeof to);
}

// Defines what every model has besides model_cycle. The numbers are its shape: sizes of structures and
// of arrays; a model has fewer numbers than the caller asks for if model_shape returns UINT32_MAX.
#define MODEL(Class, ...)                                                          \
  extern "C" void* model_create() { return new Instance<Class>; }                  \
  extern "C" void model_free(void* handle) {                                       \
    delete static_cast<Instance<Class>*>(handle);                                  \
  }                                                                                \
  extern "C" uint32_t model_shape(uint32_t index) {                                \
    constexpr uint32_t shape[] = {__VA_ARGS__};                                    \
    return index < sizeof shape / sizeof *shape ? shape[index] : UINT32_MAX;       \
  }
