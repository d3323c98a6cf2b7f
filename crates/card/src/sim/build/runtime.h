// What Verilator's runtime calls instead of the terminal and exit(). Included before every file of
// a model (-include); the definitions are in the generated glue.
#ifndef TMB_RUNTIME_H_
#define TMB_RUNTIME_H_

#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL
#define VL_PRINTF tmb_printf

int tmb_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
