/*
 * Extensions for programs of vfpio.h that vFPIO's paper does not print: the card, errors as text, priorities, timeouts,
 * files as devices, connected kernel ports, and substitutes for missing devices.
 */
#ifndef TOMBOLO_VFPIO_EXT_H
#define TOMBOLO_VFPIO_EXT_H

#include "tombolo.h"
#include "vfpio.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Text of this thread's last failed call. */
const char *vfpio_error(void);

/* Directs the calls of this process to this card from now on. The caller keeps the card, and must keep it open. vfpio_init
 * uses its slots; it needs stream ports (shell_json of tmb_card_options: "streams_per_slot"). */
int vfpio_attach(tmb_card *card);

/* Releases every slot, frees all memory, and detaches the card; a card that was not attached is closed. */
int vfpio_detach(void);

/* Substitutes `instead` for `missing`, so that a program for another machine runs on this one. */
int vfpio_stand_in(IODev missing, IODev instead);

/* Sets RDMA_MEM to the memory that `tombolo serve` exports: at "HOST:PORT" over TCP, at
 * "fabric+PROVIDER://HOST:PORT" by one-sided accesses through libfabric. A byte has the same offset there as in its
 * block of vfpio_huge_alloc, through which it is transferred: vfpio_read fetches the bytes before it returns, and data of
 * vfpio_write is at the peer after vfpio_sync.
 *
 * "net:HOST:PORT" is the same memory through the card's own network interface, as in the paper: bytes move between the
 * peer and the user logic, bypassing the host and the block, which only selects the bytes and is not changed.
 * Set such a peer before the first call that opens a card, or attach a simulated card with "network_pairs" in its
 * shell_json; with one interface, one slot at a time has RDMA_MEM. */
int vfpio_peer(const char *address);

/* The slot for calls of tombolo.h, until vfpio_release: for the kernel's arguments and start, which the paper does not print
 * (tmb_slot_set, tmb_slot_set_bytes, tmb_slot_start, tmb_slot_wait). Pointers are addresses of vfpio_huge_alloc. NULL with
 * EBADF: no such slot. */
tmb_slot *vfpio_slot(int slot_id);

/* Sets a slot's share of card memory and link under contention: priority, weight, floor and limit
 * (tombolo.h). Takes effect in the next cycle, until vfpio_release or the next call; also with outstanding transfers. NULL: the
 * default. The paper sets priorities "using vFPIO APIs" and prints none. */
int vfpio_set_schedule(int slot_id, const tmb_schedule_options *options);

/* vfpio_sync with a timeout: at each port it gives up after deadline_ps of virtual time, in
 * picoseconds, with ETIMEDOUT. Incomplete transfers stay outstanding. One thread at a time waits at a dev_fd: the timeout of a second
 * one starts when the first has its result. */
int vfpio_sync_within(const int *dev_fds, uint64_t deadline_ps);

/* Frees memory of vfpio_huge_alloc. NULL is allowed. EBUSY: a transfer in it is outstanding, or not waited for. */
int vfpio_free(uint64_t *memory);

/* A file as a device without addresses: reads and writes are sequential from its start. rw_flag is one of RD and WR. With
 * RD, size is 0 for the whole file, or the number of its first bytes; with WR the file is created or truncated, with size bytes. It is
 * complete when the dev_fd is closed. */
int vfpio_open_file(const char *path, int rw_flag, int slot_id, int port_id, size_t size);

/* Connects an output port of the user logic of a slot to an input port of another, or of the same, without memory in
 * between; there is nothing to read or write. vfpio_close disconnects them, at the end of a packet. */
int vfpio_connect(int from_slot_id, int from_port_id, int to_slot_id, int to_port_id);

#ifdef __cplusplus
}
#endif

#endif
