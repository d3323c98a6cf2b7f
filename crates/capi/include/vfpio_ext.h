/*
 * What a program for vfpio.h needs and vFPIO's paper does not print: the card, errors as text, priorities, patience,
 * files as devices, ports of kernels connected with each other, and a device in the place of one that the card lacks.
 */
#ifndef TOMBOLO_VFPIO_EXT_H
#define TOMBOLO_VFPIO_EXT_H

#include "tombolo.h"
#include "vfpio.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the last call of this thread that failed has to say. */
const char *vfpio_error(void);

/* The calls of this process go to this card from now on, which stays the caller's, and open. Its slots are
 * vfpio_init's; it has stream ports (shell_json of tmb_card_options: "streams_per_slot"). */
int vfpio_attach(tmb_card *card);

/* Releases every slot, frees all memory, and lets go of the card; one that was not attached is closed. */
int vfpio_detach(void);

/* Whoever asks for `missing` gets `instead`, so that a program for another machine runs on this one. */
int vfpio_stand_in(IODev missing, IODev instead);

/* RDMA_MEM is from now on the memory that `tombolo serve` exports: at "HOST:PORT" over TCP, at
 * "fabric+PROVIDER://HOST:PORT" by one-sided accesses through libfabric. A byte has the same offset there as in its
 * block of vfpio_huge_alloc, through which it goes: vfpio_read fetches the bytes before it returns, and what
 * vfpio_write moves is with the peer after vfpio_sync.
 *
 * At "net:HOST:PORT" it is the same memory over the card's own network interface, as in the paper: bytes go between the
 * peer and the user logic, past the host and past the block, which only says which bytes are meant and is not changed.
 * Name such a peer before the first call that opens a card, or attach a simulated card with "network_pairs" in its
 * shell_json; with one interface, one slot at a time has RDMA_MEM. */
int vfpio_peer(const char *address);

/* The slot for the calls of tombolo.h, until vfpio_release: what the paper does not print, the kernel's arguments and its start
 * (tmb_slot_set, tmb_slot_set_bytes, tmb_slot_start, tmb_slot_wait). Pointers are addresses of vfpio_huge_alloc. NULL with
 * EBADF: there is no such slot. */
tmb_slot *vfpio_slot(int slot_id);

/* What a slot gets of the card's memory and its link while others want them too: its priority, and weight, floor and limit
 * (tombolo.h). From the next cycle on, until vfpio_release or the next call; also with transfers under way. NULL: what
 * every slot has at first. The paper sets priorities "using vFPIO APIs" and prints none. */
int vfpio_set_schedule(int slot_id, const tmb_schedule_options *options);

/* vfpio_sync for those who do not want to wait without end: at each port it gives up after so much virtual time, in
 * picoseconds, with ETIMEDOUT. What is not over stays under way. One thread at a time waits at a dev_fd: a second one's time
 * begins when the first has its answer. */
int vfpio_sync_within(const int *dev_fds, uint64_t deadline_ps);

/* Frees memory of vfpio_huge_alloc. NULL is nothing. EBUSY: a transfer in it is under way, or nobody has waited for it. */
int vfpio_free(uint64_t *memory);

/* A file as a device without addresses: reads and writes go from its beginning on. rw_flag is one of RD and WR. With
 * RD, size is 0 for all of it, or the first bytes of it; with WR the file is made anew, of so many bytes. It is whole
 * when the dev_fd is closed. */
int vfpio_open_file(const char *path, int rw_flag, int slot_id, int port_id, size_t size);

/* Connects a port out of the user logic of a slot with one into that of another, or the same; no memory is between
 * them, and there is nothing to read or write. vfpio_close takes them apart, at the end of a packet. */
int vfpio_connect(int from_slot_id, int from_port_id, int to_slot_id, int to_port_id);

#ifdef __cplusplus
}
#endif

#endif
