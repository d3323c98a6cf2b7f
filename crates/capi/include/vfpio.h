/*
 * vFPIO's interface for the ports of kernels, as table 1 of its paper prints it.
 *
 * In C these are the functions; C++ has the overloads of the paper's table and listing too (vfpio.hpp, which
 * this header includes). The paper prints names, arguments and a line each. What it leaves open is decided
 * here; what it does not have (card, files, ports joined with each other, errors as text) is in vfpio_ext.h.
 *
 * Errors. A call that fails answers -1, or NULL, or 0 bytes; errno says what kind, vfpio_error() what, which,
 * and what to do. Errors of a transfer are told by vfpio_sync, or by the transfer itself if it is synchronous.
 *   EINVAL     what makes no sense: a port that the kernel has not, or of the other direction; a null pointer; a range
 *              beyond the device or its memory, or of no bytes; a kernel that breaks a rule of its manifest
 *   EBADF      a slot or dev_fd that is none, or not any more
 *   EBUSY      a port that is taken, all slots in use, transfers under way
 *   ENODEV     a device that this card has not, or that nobody has named
 *   ETIMEDOUT  a transfer that is not over, and will not be unless the program does something: vfpio_error() names the port
 *              and who keeps it waiting. It stays under way: nothing is lost, and it ends when that is done
 *   EIO        everything else: the kernel broke a rule or failed, memory was taken away, the peer lied or went
 *   ENOMEM     memory that cannot be had
 * What the system refuses has the system's number: a file or folder (ENOENT, EACCES), a peer (ECONNREFUSED).
 *
 * Card. The first call opens one: what the environment variable TOMBOLO_VFPIO_CARD names, `functional` (no RTL
 * and no time) or a platform, else the simulated u280 of the paper. vfpio_attach takes one that is open.
 *
 * Threads. The calls may be made from any thread.
 */
#ifndef TOMBOLO_VFPIO_H
#define TOMBOLO_VFPIO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Devices. RDMA_MEM and FPGA_MEM are the paper's names, HOST_MEM is ours. All are byte-addressable memory:
 * that of vfpio_huge_alloc, which program and kernels see at the same addresses.
 *   HOST_MEM  what kernels have written is in the host's memory when vfpio_sync returns
 *   FPGA_MEM  goes to the card's memory ahead of a read, and stays there until the program touches it
 *   RDMA_MEM  memory of another machine, which vfpio_peer of vfpio_ext.h names first, over the host or over the card's own
 *             network interface; without, vfpio_open answers -1 with ENODEV */
typedef enum IODevs { HOST_MEM = 0, FPGA_MEM = 1, RDMA_MEM = 2 } IODev;

/* rw_flag: from the device to the user logic, from the user logic to the device, or both. The ASYNC ones are the
 * paper's: a transfer is begun, and vfpio_sync waits for it. With the others, ours, it is over on return. */
#define VFPIO_RD 1
#define VFPIO_WR 2
#define VFPIO_RDWR 3
#define ASYNC_RD 5
#define ASYNC_WR 6
#define ASYNC_RDWR 7

/* Programs a kernel into any slot that has none of this interface; answers the slot. bitstream: the path of the
 * kernel's folder, a string. */
int vfpio_init(const void *bitstream);

/* Gives the slot back. What is open there is closed; transfers under way are lost. */
int vfpio_release(int slot_id);

/* Memory for inputs and outputs, zeroed; the same for all slots. At least data_size bytes, which may be any. The
 * paper does not free it: vfpio_free does. */
uint64_t *vfpio_huge_alloc(size_t data_size);

/* Connects a port of the user logic, or with port_id -1 all of them that the flag concerns, to a device; answers
 * a dev_fd. port_id counts the streams in the order of kernel.toml, from 0. A port has one device at a time. */
int vfpio_open(IODev device_type, int rw_flag, int slot_id, int port_id);

/* Disconnects. With transfers under way it answers -1 with EBUSY, and nothing has changed: vfpio_sync first. One that is over
 * and has failed, which nobody was told of, is told by -1; it is closed all the same. */
int vfpio_close(int dev_fd);

/* Begins a transfer from the device to the user logic: a packet of `size` bytes, TLAST on its last beat. address:
 * of the device's memory, at any byte; for a device without addresses NULL, and the next bytes are meant. size is
 * in bytes, any. Answers the bytes: of the transfer that was begun, or moved if synchronous. With more than one port
 * into the user logic at the dev_fd it is refused, because the paper does not say which one gets them. */
size_t vfpio_read(int dev_fd, const void *address, size_t size);

/* The same from the user logic to the device: at most `size` bytes, less if the packet ends (TLAST). A longer packet
 * goes on with the next call. */
size_t vfpio_write(int dev_fd, void *address, size_t size);

/* Waits for all transfers that were begun at these. The table has a pointer and no length, so -1 ends the list. The
 * listing has one number: that is an overload of C++. Every one is waited for, then the first failure is told. */
int vfpio_sync(const int *dev_fds);

#ifdef __cplusplus
}
#include "vfpio.hpp"
#endif

#endif
