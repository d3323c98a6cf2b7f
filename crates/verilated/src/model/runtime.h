// What Verilator's runtime calls instead of the terminal and exit(). Included before every file of
// a model (-include); the definitions are in the generated glue.
#ifndef TMB_RUNTIME_H_
#define TMB_RUNTIME_H_

#include <cstdio>

#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL
#define VL_USER_WARN
#define VL_PRINTF tmb_printf

int tmb_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

// RTL opens files through these alone: $fopen, $readmemh and the like, and the descriptors 0 to 2.
std::FILE* tmb_fopen(const char* name, const char* mode);
std::FILE* tmb_terminal();
namespace std {
using ::tmb_fopen;
}
#define fopen tmb_fopen
#undef stdin
#undef stdout
#undef stderr
#define stdin tmb_terminal()
#define stdout tmb_terminal()
#define stderr tmb_terminal()

#endif
