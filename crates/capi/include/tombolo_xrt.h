/*
 * Entry points of the library that the headers of xrt/ use. Programs do not include this file: they include
 * <xrt/xrt_device.h> and so on, or <xrt.h> in C.
 *
 * Every call returns 0, or the exception that XRT's documentation assigns to the failure: a positive number is the errno of
 * std::system_error, the others are below; tmb_last_error() of tombolo.h has the text. Objects are closed with
 * tmb_xrt_close; what was made of them stays as long as it needs. Offsets and sizes are in bytes.
 */
#ifndef TOMBOLO_XRT_H
#define TOMBOLO_XRT_H

#include "tombolo.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TMB_XRT_RUNTIME = -1, TMB_XRT_OUT_OF_RANGE = -2 };

/* A device, a buffer, a kernel, a run, an ip or an xclbin. */
typedef struct tmb_xrt_object tmb_xrt_object;

int tmb_xrt_close(tmb_xrt_object *object);

/* ---- Devices; a uuid has 16 bytes ---- */

uint32_t tmb_xrt_device_count(void);
int tmb_xrt_device_open(uint32_t number, tmb_xrt_object **device);
int tmb_xrt_device_open_named(const char *name, tmb_xrt_object **device);
/* Another handle of the device, closed separately. */
int tmb_xrt_device_again(tmb_xrt_object *device, tmb_xrt_object **same);
int tmb_xrt_device_load_file(tmb_xrt_object *device, const char *path, unsigned char *uuid);
int tmb_xrt_device_load_xclbin(tmb_xrt_object *device, tmb_xrt_object *xclbin, unsigned char *uuid);
int tmb_xrt_device_uuid(tmb_xrt_object *device, unsigned char *uuid);
int tmb_xrt_device_same(tmb_xrt_object *device, tmb_xrt_object *other, int *same);
int tmb_xrt_device_reset(tmb_xrt_object *device);
/* what: the number of xrt::info::device. The text is freed with tmb_text_free. */
int tmb_xrt_device_info(tmb_xrt_object *device, uint32_t what, char **text);
/* Virtual time of its card, in picoseconds. */
int tmb_xrt_device_now(tmb_xrt_object *device, uint64_t *picoseconds);
int tmb_xrt_uuid_parse(const char *text, unsigned char *uuid);

/* ---- Files ---- */

int tmb_xrt_xclbin_open(const char *path, tmb_xrt_object **xclbin);
int tmb_xrt_xclbin_parse(const void *bytes, size_t count, tmb_xrt_object **xclbin);
/* Of bytes that say themselves how many they are: what an axlf pointer points at. */
int tmb_xrt_xclbin_parse_axlf(const void *bytes, tmb_xrt_object **xclbin);
int tmb_xrt_xclbin_of_device(tmb_xrt_object *device, tmb_xrt_object **xclbin);
int tmb_xrt_xclbin_uuid(tmb_xrt_object *xclbin, unsigned char *uuid);
/* The file's bytes. *count: in, the size of the buffer; out, the size of the file. */
int tmb_xrt_xclbin_bytes(tmb_xrt_object *xclbin, void *bytes, size_t *count);

/* Lists of an xclbin. Arguments are those of the kernel `index`. */
enum {
    TMB_XRT_KERNELS = 0,
    TMB_XRT_UNITS = 1,
    TMB_XRT_MEMORIES = 2,
    TMB_XRT_ARGUMENTS = 3
};
int tmb_xrt_xclbin_count(tmb_xrt_object *xclbin, uint32_t list, uint32_t index, uint32_t *count);

/* Texts of an xclbin, of entry `index`; of argument `place` of kernel `index`. */
enum {
    TMB_XRT_PLATFORM = 0,
    TMB_XRT_KERNEL_NAME = 1,
    TMB_XRT_UNIT_NAME = 2, /* kernel:unit */
    TMB_XRT_MEMORY_TAG = 3,
    TMB_XRT_ARGUMENT_NAME = 4,
    TMB_XRT_ARGUMENT_PORT = 5,
    TMB_XRT_ARGUMENT_TYPE = 6
};
int tmb_xrt_xclbin_text(tmb_xrt_object *xclbin, uint32_t what, uint32_t index, uint32_t place, char **text);

/* Numbers, likewise. */
enum {
    TMB_XRT_UNIT_KERNEL = 0,
    TMB_XRT_UNIT_ADDRESS = 1,
    TMB_XRT_UNIT_CONTROL = 2, /* of xrt::xclbin::ip::control_type */
    TMB_XRT_UNIT_GROUP = 3,   /* of the argument `place`; 2^64 - 1: none */
    TMB_XRT_MEMORY_BYTES = 4,
    TMB_XRT_MEMORY_USED = 5,
    TMB_XRT_MEMORY_TYPE = 6, /* of xrt::xclbin::mem::memory_type */
    TMB_XRT_ARGUMENT_INDEX = 7,
    TMB_XRT_ARGUMENT_BYTES = 8,
    TMB_XRT_ARGUMENT_OFFSET = 9,
    TMB_XRT_ARGUMENT_KIND = 10, /* 0 number, 1 buffer, 4 stream */
    TMB_XRT_MEMORY_ADDRESS = 11
};
int tmb_xrt_xclbin_number(tmb_xrt_object *xclbin, uint32_t what, uint32_t index, uint32_t place, uint64_t *number);

/* ---- Buffers ---- */

int tmb_xrt_bo_alloc(tmb_xrt_object *device, size_t count, uint32_t flags, uint32_t group, tmb_xrt_object **bo);
int tmb_xrt_bo_over(tmb_xrt_object *device, void *pointer, size_t count, uint32_t flags, uint32_t group,
                    tmb_xrt_object **bo);
int tmb_xrt_bo_part(tmb_xrt_object *parent, size_t count, size_t offset, tmb_xrt_object **bo);
/* direction: 0 to the device, 1 from it */
/* A descriptor, which the caller closes, and the buffer of one, in the same process. */
int tmb_xrt_bo_export(tmb_xrt_object *bo, int *descriptor);
int tmb_xrt_bo_import(int descriptor, tmb_xrt_object **bo);
int tmb_xrt_bo_sync(tmb_xrt_object *bo, uint32_t direction, size_t count, size_t offset);
int tmb_xrt_bo_map(tmb_xrt_object *bo, void **pointer);
int tmb_xrt_bo_write(tmb_xrt_object *bo, const void *source, size_t count, size_t seek);
int tmb_xrt_bo_read(tmb_xrt_object *bo, void *target, size_t count, size_t skip);
int tmb_xrt_bo_copy(tmb_xrt_object *bo, tmb_xrt_object *source, size_t count, size_t source_offset, size_t offset);
int tmb_xrt_bo_size(tmb_xrt_object *bo, size_t *count);
int tmb_xrt_bo_address(tmb_xrt_object *bo, uint64_t *address);
int tmb_xrt_bo_group(tmb_xrt_object *bo, uint32_t *group);
int tmb_xrt_bo_flags(tmb_xrt_object *bo, uint32_t *flags);

/* ---- Kernels and runs ---- */

/* access: 0 exclusive, 1 shared, 2 none */
int tmb_xrt_kernel_open(tmb_xrt_object *device, const unsigned char *uuid, const char *name, uint32_t access,
                        tmb_xrt_object **kernel);
int tmb_xrt_kernel_group(tmb_xrt_object *kernel, uint32_t index, int *group);
int tmb_xrt_kernel_offset(tmb_xrt_object *kernel, uint32_t index, uint32_t *offset);
int tmb_xrt_kernel_name(tmb_xrt_object *kernel, char **name);
int tmb_xrt_kernel_uuid(tmb_xrt_object *kernel, unsigned char *uuid);
int tmb_xrt_kernel_read_register(tmb_xrt_object *kernel, uint32_t offset, uint32_t *value);
int tmb_xrt_kernel_write_register(tmb_xrt_object *kernel, uint32_t offset, uint32_t value);
/* Lets a program read registers of a kernel that it shares. */
int tmb_xrt_kernel_set_read_range(tmb_xrt_object *kernel, uint32_t start, uint32_t bytes);

int tmb_xrt_run_create(tmb_xrt_object *kernel, tmb_xrt_object **run);
int tmb_xrt_run_index(tmb_xrt_object *run, const char *name, uint32_t *index);
int tmb_xrt_run_set_value(tmb_xrt_object *run, uint32_t index, const void *value, size_t count);
int tmb_xrt_run_set_bo(tmb_xrt_object *run, uint32_t index, tmb_xrt_object *bo);
int tmb_xrt_run_start(tmb_xrt_object *run);
/* The kernel begins anew at its end, `times` runs in all; 0: until tmb_xrt_run_stop, which waits for the present one. */
int tmb_xrt_run_start_repeated(tmb_xrt_object *run, uint32_t times);
int tmb_xrt_run_stop(tmb_xrt_object *run, uint32_t *state);
/* Arguments set since the start take effect at the next iteration. */
int tmb_xrt_run_renew(tmb_xrt_object *run);
/* Lets virtual time pass until the kernel has run with new values, at most a millisecond. */
int tmb_xrt_run_settle(tmb_xrt_object *run);

/* An argument: its kind (0 number, 1 buffer, 4 stream), the bytes of its registers, whether it is a float or a double. */
typedef struct tmb_xrt_argument {
    uint32_t kind;
    uint32_t bytes;
    int is_real;
} tmb_xrt_argument;
int tmb_xrt_run_argument(tmb_xrt_object *run, uint32_t index, tmb_xrt_argument *argument);
int tmb_xrt_run_argument_count(tmb_xrt_object *run, uint32_t *count);
/* The present values of its registers. *count: in, the size of the buffer; out, the size of the argument. */
int tmb_xrt_run_read_argument(tmb_xrt_object *run, uint32_t index, void *bytes, size_t *count);
/* milliseconds of virtual time; 0: for ever. State: of ert_cmd_state */
int tmb_xrt_run_wait(tmb_xrt_object *run, uint64_t milliseconds, uint32_t *state);
int tmb_xrt_run_state(tmb_xrt_object *run, uint32_t *state);
int tmb_xrt_run_abort(tmb_xrt_object *run, uint32_t *state);

/* ---- Registers ---- */

int tmb_xrt_ip_open(tmb_xrt_object *device, const unsigned char *uuid, const char *name, tmb_xrt_object **ip);
int tmb_xrt_ip_read_register(tmb_xrt_object *ip, uint32_t offset, uint32_t *value);
int tmb_xrt_ip_write_register(tmb_xrt_object *ip, uint32_t offset, uint32_t value);
/* Fails if the kernel has no interrupt. */
int tmb_xrt_ip_require_interrupt(tmb_xrt_object *ip);
/* milliseconds of virtual time; 0: for ever. came: whether there was one. */
int tmb_xrt_ip_wait_interrupt(tmb_xrt_object *ip, uint64_t milliseconds, int *came);

#ifdef __cplusplus
}
#endif

#endif
