// The C interface of a model. See sim/model.rs, its only caller.

#include "Vmodel.h"
#include "Vmodel__Syms.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef __AVX__
#include <immintrin.h>
#endif

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef TMB_PHASES
#ifdef TMB_PHASE_SAMPLE
void Vmodel___024root___sample(Vmodel___024root*);
#endif
#ifdef TMB_PHASE_COMBINATIONAL
bool Vmodel___024root___eval_phase__ico(Vmodel___024root*);
#endif
bool Vmodel___024root___eval_phase__act(Vmodel___024root*);
bool Vmodel___024root___eval_phase__nba(Vmodel___024root*);
#ifdef TMB_SLEEP
void Vmodel___024root___eval_triggers_vec__act(Vmodel___024root*);
#endif
#endif

#define TMB_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Answers of tmb_edge and tmb_settle.
enum Outcome : int { kOk = 0, kText = 1, kFinished = 2, kStopped = 3, kFatal = 4 };

// Leaves a model that ended itself. Nothing of the model runs afterwards.
struct Ended {
  Outcome outcome;
};

constexpr std::size_t kTextLimit = 16384;

#ifdef TMB_SLEEP
// What is compared at once. Objects begin at a multiple of it.
typedef std::uint64_t Chunk __attribute__((vector_size(32)));

// A bit of the model's triggers: what follows from it is evaluated if it is set.
struct Trigger {
  QData* word = nullptr;
  QData bit = 0;
  void set() const { *word |= bit; }
};

// Chunks of a block.
struct Range {
  std::uint32_t from;
  std::uint32_t to;
};

struct Place {
  std::size_t start;
  std::size_t bytes;
};

// The chunks of some members of an object, each once, in order.
template <std::size_t bytes, std::size_t count>
struct Chunks {
  std::array<std::uint32_t, bytes / sizeof(Chunk)> list{};
  std::size_t size = 0;
  constexpr explicit Chunks(const std::array<Place, count>& places) {
    for (std::uint32_t i = 0; i < bytes / sizeof(Chunk); ++i) {
      bool touched = false;
      for (const Place& place : places)
        touched |= place.start / sizeof(Chunk) <= i && i * sizeof(Chunk) < place.start + place.bytes;
      if (touched) list[size++] = i;
    }
  }
};

inline bool differ(const Chunk& a, const Chunk& b) {
  const Chunk different = a ^ b;
#ifdef __AVX__
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(different),
                             reinterpret_cast<__m256i>(different));
#else
  return different[0] | different[1] | different[2] | different[3];
#endif
}

// Whether the inputs of a block of one class rest: compared without a loop, for it is done at every edge.
template <typename Inputs, std::size_t... which>
bool inputs_rest(const Chunk* object, const Chunk* before, std::index_sequence<which...>) {
  constexpr auto chunks = Inputs::chunks();
  Chunk different{};
  ((different |= object[chunks.list[which]] ^ before[chunks.list[which]]), ...);
  return !differ(different, Chunk{});
}

template <typename Inputs>
bool inputs_rest(const Chunk* object, const Chunk* before) {
  return inputs_rest<Inputs>(object, before, std::make_index_sequence<Inputs::chunks().size>{});
}

// Of a block that never sleeps.
inline bool never_rest(const Chunk*, const Chunk*) { return false; }

// An instance of a block (sleep.rs). Its picture is what it was before an edge at which it was
// clocked: inputs and state, without memories but with how often they were written. If all is the same
// before the next edge, that edge left the state as it was, and the next one would; nor would any later
// one until an input changes.
struct Block {
  const Chunk* object;
  bool (*inputs_rest)(const Chunk* object, const Chunk* picture);
  CData* clock;
  CData* history;
  Trigger trigger;
  std::vector<Range> whole;
  std::vector<Chunk> picture;
  bool asleep = false;
  bool pictured = false;
  // A block that changes all the time is not compared all the time: a picture is taken only if the chunk
  // that was last seen to change (it alone is kept at every edge) did not, and after some edges.
  std::uint32_t watched = 0;
  unsigned wait = 0;
  unsigned pause = 0;

  Block(const void* block, std::size_t bytes, CData& clock, CData& history,
        bool (*inputs_rest)(const Chunk*, const Chunk*), std::initializer_list<Place> memories)
      : object{static_cast<const Chunk*>(block)},
        inputs_rest{inputs_rest},
        clock{&clock},
        history{&history} {
    constexpr std::uint32_t size = sizeof(Chunk);
    const auto by_place = [](const Range& a, const Range& b) { return a.from < b.from; };
    // Memories without the chunks that they share with something else.
    std::vector<Range> left_out;
    for (const Place& memory : memories) {
      const std::uint32_t start = memory.start, end = memory.start + memory.bytes;
      if (end / size > (start + size - 1) / size)
        left_out.push_back({(start + size - 1) / size, end / size});
    }
    std::sort(left_out.begin(), left_out.end(), by_place);
    std::uint32_t from = 0;
    left_out.push_back({std::uint32_t(bytes / size), 0});
    for (const Range& memory : left_out) {
      if (memory.from > from) whole.push_back({from, memory.from});
      from = memory.to;
    }
    picture.resize(bytes / size);
  }

  // Whether all is as in the picture; else a chunk that is not becomes the one that is watched.
  bool rests() {
    const Chunk* const before = picture.data();
    if (differ(object[watched], before[watched])) return false;
    for (const Range& range : whole) {
      for (std::uint32_t i = range.from; i < range.to; ++i) {
        if (differ(object[i], before[i])) {
          watched = i;
          return false;
        }
      }
    }
    return true;
  }

  // Before an edge: whether it can change anything.
  bool wakes() {
    if (asleep) {
      if (inputs_rest(object, picture.data())) return false;
      asleep = false;
      wait = pause = 0;
    } else if (pictured) {
      pictured = false;
      if (rests()) {
        asleep = true;
        return false;
      }
      pause = wait;
      wait = wait < 7 ? 2 * wait + 1 : 7;
    } else if (pause) {
      --pause;
    } else if (inputs_rest != never_rest && !differ(object[watched], picture[watched])) {
      pictured = true;
      for (const Range& range : whole)
        std::copy(object + range.from, object + range.to, picture.data() + range.from);
      return true;
    }
    picture[watched] = object[watched];
    return true;
  }
};
#endif

struct Instance {
#ifdef TMB_SLEEP
  std::vector<Block> blocks;
#ifdef TMB_CLOCK_HISTORY
  // The trigger that the model's own clock is; there is none if all that it clocks is in blocks.
  Trigger clock;
#endif
#endif
  VerilatedContext context;
  Vmodel model;
  std::string text;
  // Where files are looked for, in this order; none elsewhere is opened.
  std::vector<std::string> folders;
  Instance() : context{}, model{&context, "TOP"} {}
  // Scopes take themselves out of the context that is the thread's: not that of another instance, which may
  // be gone.
  ~Instance() { Verilated::threadContextp(&context); }
};

#ifdef TMB_SLEEP
// Generated (sleep.rs).
void add_blocks(Instance& instance);

// Which trigger the rise of a clock is: the model is asked.
Trigger trigger_of(Vmodel___024root* root, CData& clock, CData& history) {
  clock = 1;
  history = 0;
  Vmodel___024root___eval_triggers_vec__act(root);
  clock = history = 0;
  Trigger found;
  auto& triggers = root->__VactTriggered;
  for (std::size_t word = 0; word < sizeof triggers / sizeof(QData); ++word) {
    const QData bits = triggers[word];
    if (!bits) continue;
    if (found.word || (bits & (bits - 1))) throw std::runtime_error{"a clock is several triggers"};
    found = {&root->__VnbaTriggered[word], bits};
    triggers[word] = 0;
  }
  if (!found.word) throw std::runtime_error{"a clock is no trigger"};
  return found;
}

void find_triggers(Instance& instance) {
  Vmodel___024root* const root = instance.model.rootp;
#ifdef TMB_CLOCK_HISTORY
  root->TMB_CLOCK_HISTORY = 0;
#endif
  for (Block& block : instance.blocks)
    block.trigger = trigger_of(root, *block.clock, *block.history);
#ifdef TMB_CLOCK_HISTORY
  instance.clock = trigger_of(root, instance.model.TMB_CLOCK, root->TMB_CLOCK_HISTORY);
#endif
}
#endif

thread_local Instance* running = nullptr;

void say(const std::string& text) {
  if (running && running->text.size() < kTextLimit) running->text += text;
}

std::string place(const char* file, int line) {
  if (!file || !*file) return "";
  return std::string(file) + ":" + std::to_string(line) + ": ";
}

template <typename Step>
int guarded(Instance* instance, std::uint64_t picoseconds, Step step) {
  running = instance;
  Verilated::threadContextp(&instance->context);
  instance->context.time(picoseconds);
  int outcome = kOk;
  try {
    step(instance->model);
  } catch (const Ended& ended) {
    outcome = ended.outcome;
  } catch (const std::exception& error) {
    say(error.what());
    outcome = kFatal;
  } catch (...) {
    say("unknown C++ exception");
    outcome = kFatal;
  }
  running = nullptr;
  if (outcome == kOk && !instance->text.empty()) outcome = kText;
  return outcome;
}

}  // namespace

int tmb_printf(const char* format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  say(buffer);
  return length;
}

void vl_warn(const char* file, int line, const char*, const char* message) {
  say(place(file, line) + message + "\n");
  // A memory without its contents computes something else.
  if (!std::strcmp(message, "$readmem file not found")) {
    say("no such file in the folders of the RTL");
    throw Ended{kFatal};
  }
}

// Files of the RTL's folders can be read. What asks for more ends the model.
std::FILE* tmb_fopen(const char* name, const char* mode) {
  const auto refuse = [&](const char* why) {
    say(std::string("file \"") + name + "\" is refused: " + why);
    throw Ended{kFatal};
  };
  // Anything beyond reading: w, a, +.
  if (*mode != 'r' || std::strspn(mode, "rb") != std::strlen(mode))
    refuse("a kernel on a card writes no files of the host");
  if (!running) return nullptr;
  for (const std::string& folder : running->folders) {
    const std::string path = *name == '/' ? name : folder + "/" + name;
    // Not to wait for a writer, should it be a FIFO.
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) continue;
    // Judged is what was opened, whatever the name leads to now.
    struct stat status;
    char real[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = readlink(link.c_str(), real, sizeof real);
    bool within = false;
    if (length > 0 && static_cast<std::size_t>(length) < sizeof real) {
      const std::string opened(real, static_cast<std::size_t>(length));
      for (const std::string& root : running->folders)
        within = within || opened.compare(0, root.size() + 1, root + "/") == 0;
    }
    const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    if (!within || !regular) {
      close(file);
      refuse(within ? "it is no regular file" : "a kernel reads the files beside its RTL, no others");
    }
    return fdopen(file, "r");
  }
  return nullptr;
}

// What RTL writes to descriptors 1 and 2 is said like $display; descriptor 0 is at its end.
std::FILE* tmb_terminal() {
  struct Terminal {
    std::FILE* file;
    Terminal() {
      cookie_io_functions_t functions{};
      functions.write = [](void*, const char* text, std::size_t size) -> ssize_t {
        say(std::string(text, size));
        return static_cast<ssize_t>(size);
      };
      functions.read = [](void*, char*, std::size_t) -> ssize_t { return 0; };
      file = fopencookie(nullptr, "r+", functions);
      if (file) std::setvbuf(file, nullptr, _IONBF, 0);
    }
    ~Terminal() {
      if (file) std::fclose(file);
    }
  };
  static Terminal terminal;
  return terminal.file;
}

void vl_finish(const char* file, int line, const char*) {
  say(place(file, line) + "$finish");
  throw Ended{kFinished};
}

void vl_stop(const char* file, int line, const char*) {
  say(place(file, line) + "$stop, $fatal or a failed assertion");
  throw Ended{kStopped};
}

void vl_fatal(const char* file, int line, const char*, const char* message) {
  say(place(file, line) + message);
  throw Ended{kFatal};
}

TMB_EXPORT std::uint32_t tmb_abi() { return TMB_ABI; }

// `folders` are absolute, without symbolic links.
TMB_EXPORT Instance* tmb_create(const char* const* folders, std::uint32_t count) {
  try {
    Instance* const instance = new Instance;
    instance->folders.assign(folders, folders + count);
#ifdef TMB_SLEEP
    add_blocks(*instance);
#endif
    return instance;
  } catch (...) {
    return nullptr;
  }
}

TMB_EXPORT void tmb_free(Instance* instance) { delete instance; }

// The first evaluation runs initial blocks; inputs are settled before every edge, so it is always
// this one.
TMB_EXPORT int tmb_start(Instance* instance) {
  return guarded(instance, 0, [instance](Vmodel& model) {
    (void)instance;
    model.TMB_CLOCK = 0;
    model.eval_step();
#ifdef TMB_SLEEP
    find_triggers(*instance);
#endif
  });
}

// The clock rises. Inputs are settled.
TMB_EXPORT int tmb_edge(Instance* instance, std::uint64_t picoseconds) {
  return guarded(instance, picoseconds, [instance](Vmodel& model) {
    (void)instance;
    model.TMB_CLOCK = 1;
#ifdef TMB_PHASES
    // What eval_step does, without what was done when the inputs were settled. Nothing but clocks triggers
    // anything, so that one round is all.
    Vmodel___024root* const root = model.rootp;
#ifdef TMB_PHASE_SAMPLE
    Vmodel___024root___sample(root);
#endif
#ifdef TMB_SLEEP
    for (Block& block : instance->blocks)
      if (block.wakes()) block.trigger.set();
#ifdef TMB_CLOCK_HISTORY
    instance->clock.set();
#endif
#else
    Vmodel___024root___eval_phase__act(root);
#endif
    Vmodel___024root___eval_phase__nba(root);
#else
    model.eval_step();
#endif
#ifdef TMB_CLOCK_HISTORY
    // Nothing in the model reacts to a falling clock: forget that the clock is high rather than
    // evaluate the model to tell it so.
    model.rootp->TMB_CLOCK_HISTORY = 0;
#elif !defined(TMB_PHASES)
    model.TMB_CLOCK = 0;
    model.eval_step();
#endif
  });
}

// Outputs follow changed inputs.
TMB_EXPORT int tmb_settle(Instance* instance, std::uint64_t picoseconds) {
#if defined(TMB_PHASES) && !defined(TMB_PHASE_COMBINATIONAL)
  // Inputs go to registers only.
  (void)instance;
  (void)picoseconds;
  return kOk;
#else
  return guarded(instance, picoseconds, [](Vmodel& model) {
    model.TMB_CLOCK = 0;
#ifdef TMB_PHASES
    model.rootp->__VicoFirstIteration = 1;
    Vmodel___024root___eval_phase__ico(model.rootp);
    model.rootp->__VicoFirstIteration = 0;
#else
    model.eval_step();
#endif
  });
#endif
}

TMB_EXPORT const char* tmb_text(Instance* instance, std::uint64_t* length) {
  *length = instance->text.size();
  return instance->text.data();
}

TMB_EXPORT void tmb_clear_text(Instance* instance) { instance->text.clear(); }

TMB_EXPORT void* tmb_state(Instance* instance, std::uint64_t* bytes) {
  *bytes = sizeof(Vmodel__Syms);
  return instance->model.rootp->vlSymsp;
}

// Address of each port, in the order of model.json, and the bytes of all its elements.
TMB_EXPORT std::uint32_t tmb_ports(Instance* instance, void** addresses, std::uint64_t* bytes,
                                   std::uint32_t room) {
  Vmodel& model = instance->model;
  (void)model;
  std::uint32_t count = 0;
#define TMB_PORT(member)                                \
  if (count < room) {                                   \
    addresses[count] = &model.member;                   \
    bytes[count] = sizeof(model.member);                \
  }                                                     \
  ++count;
  TMB_PORTS
#undef TMB_PORT
  return count;
}
