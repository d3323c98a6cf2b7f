/*
 * Calls for programs of fsrf.h that FSRF's paper does not print: card, kernels, registers, start, wait.
 */
#ifndef TOMBOLO_FSRF_TOMBOLO_H
#define TOMBOLO_FSRF_TOMBOLO_H

#include "fsrf.h"
#include "tombolo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Directs the calls of this process to this space from now on. The caller keeps card and space, and must keep them open. */
fsrf_rc fsrf_tombolo_attach(tmb_card *card, tmb_space *space);

/* Ends every mapping (written back) and file of fsrf.h, and releases the slots. */
fsrf_rc fsrf_tombolo_detach(void);

/* Loads the kernel of a folder into a slot. */
fsrf_rc fsrf_tombolo_load(uint32_t number, const char *folder);

/* Arguments, by the names of kernel.toml; addresses are numbers: (uint64_t)(uintptr_t)address. */
fsrf_rc fsrf_tombolo_set(uint32_t number, const char *argument, uint64_t value);
fsrf_rc fsrf_tombolo_set_bytes(uint32_t number, const char *argument, const void *value, size_t count);

fsrf_rc fsrf_tombolo_start(uint32_t number);

/* Waits for the kernel; deadline_ps as in tmb_wait_options. For a kernel with its own registers (user_managed): waits for its
 * interrupt. */
fsrf_rc fsrf_tombolo_wait(uint32_t number, uint64_t deadline_ps);

/* As tmb_slot_wait_register, for kernels with their own registers. */
fsrf_rc fsrf_tombolo_wait_register(uint32_t number, uint32_t offset, uint32_t mask, uint32_t value,
                                   uint64_t deadline_ps, uint32_t *found);

/* Registers of the kernel: 32 bits, offsets in bytes. */
fsrf_rc fsrf_tombolo_read_register(uint32_t number, uint32_t offset, uint32_t *value);
fsrf_rc fsrf_tombolo_write_register(uint32_t number, uint32_t offset, uint32_t value);

#ifdef __cplusplus
}
#endif

#endif
