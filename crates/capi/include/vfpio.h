/*
 * vFPIO's interface for the ports of kernels, as printed in table 1 of its paper.
 *
 * In C these are the functions; C++ has the overloads of the paper's table and listing too (vfpio.hpp, which
 * this header includes). The paper prints names, arguments and one line each. This header
 * defines the rest; extensions (card, files, connected ports, errors as text) are in vfpio_ext.h.
 *
 * Errors. A failed call returns -1, or NULL, or 0 bytes; errno has the kind of error, vfpio_error() the subject, the cause
 * and the remedy. vfpio_sync reports errors of a transfer, or the transfer itself if it is synchronous.
 *   EINVAL     an invalid argument: a port that the kernel does not have, or of the other direction; a null pointer; a range
 *              beyond the device or its memory, or empty; a kernel that breaks a rule of its manifest
 *   EBADF      an invalid or closed slot or dev_fd
 *   EBUSY      a port in use, all slots in use, outstanding transfers
 *   ENODEV     a device that this card does not have, or that has no peer (vfpio_peer)
 *   ETIMEDOUT  a transfer that cannot complete unless the program does something: vfpio_error() names the port
 *              and the cause. It stays outstanding: nothing is lost, and it completes when that is done
 *   EIO        all other errors: the kernel broke a rule or failed, memory was removed, the peer sent invalid data or disconnected
 *   ENOMEM     out of memory
 * Errors of the system have the system's number: a file or folder (ENOENT, EACCES), a peer (ECONNREFUSED).
 *
 * Card. The first call opens the card named by the environment variable TOMBOLO_VFPIO_CARD, else by TOMBOLO_CARD:
 * `functional` (no RTL and no time), a platform, or `unix:FILE`, the card of a daemon, which programs share; by default the
 * simulated u280 of the paper. vfpio_attach uses an open one.
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

/* Devices. RDMA_MEM and FPGA_MEM are the paper's names, HOST_MEM is ours. All are byte-addressable memory
 * of vfpio_huge_alloc, at the same addresses for program and kernels.
 *   HOST_MEM  the kernels' data is in host memory when vfpio_sync returns
 *   FPGA_MEM  is prefetched to card memory before a read, and stays there until the program touches it
 *   RDMA_MEM  memory of another machine, named first by vfpio_peer of vfpio_ext.h, through the host or through the card's own
 *             network interface; otherwise vfpio_open returns -1 with ENODEV */
typedef enum IODevs { HOST_MEM = 0, FPGA_MEM = 1, RDMA_MEM = 2 } IODev;

/* rw_flag: from the device to the user logic, from the user logic to the device, or both. The ASYNC flags are the
 * paper's: a call starts a transfer, and vfpio_sync waits for it. The others are ours: the transfer is complete on return. */
#define VFPIO_RD 1
#define VFPIO_WR 2
#define VFPIO_RDWR 3
#define ASYNC_RD 5
#define ASYNC_WR 6
#define ASYNC_RDWR 7

/* Programs a kernel into the first empty slot; returns the slot. bitstream: the path of the
 * kernel's folder, a string. EBUSY: every slot of the card has a kernel, of this program or of another. */
int vfpio_init(const void *bitstream);

/* Releases the slot. Its connections are closed; outstanding transfers are lost. */
int vfpio_release(int slot_id);

/* Zeroed memory for inputs and outputs, the same for all slots. At least data_size bytes, any number. The
 * paper has no call to free it: vfpio_free does. */
uint64_t *vfpio_huge_alloc(size_t data_size);

/* Connects a port of the user logic, or with port_id -1 all ports of the flag's direction, to a device; returns
 * a dev_fd. port_id counts the streams in the order of kernel.toml, from 0. A port has one device at a time. */
int vfpio_open(IODev device_type, int rw_flag, int slot_id, int port_id);

/* Disconnects. With outstanding transfers it returns -1 with EBUSY, without effect: call vfpio_sync first. An unreported
 * failure of a completed transfer is reported by -1; the dev_fd is closed in any case. */
int vfpio_close(int dev_fd);

/* Starts a transfer from the device to the user logic: a packet of `size` bytes, TLAST on its last beat. address:
 * in the device's memory, at any byte; NULL for a device without addresses, for the next bytes. size: any number of
 * bytes. Returns the bytes of the transfer, or those moved if synchronous. With more than one port
 * into the user logic at the dev_fd it is refused, because the paper does not define which one gets them. */
size_t vfpio_read(int dev_fd, const void *address, size_t size);

/* The same from the user logic to the device: at most `size` bytes, less if the packet ends (TLAST). A longer packet
 * continues with the next call. */
size_t vfpio_write(int dev_fd, void *address, size_t size);

/* Waits for all transfers started at these dev_fds. The table has a pointer and no length, so -1 ends the list. The
 * listing has one number: this is a C++ overload. The call waits for all, then reports the first failure. */
int vfpio_sync(const int *dev_fds);

#ifdef __cplusplus
}
#include "vfpio.hpp"
#endif

#endif
