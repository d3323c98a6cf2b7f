/*
 * FSRF's interface for mappings of files, as figure 3 of its paper prints it.
 *
 * The paper prints names and types and says "POSIX-style semantics"; what follows here is our reading. What it
 * does not print (which card, kernels, start and wait) is in fsrf_tombolo.h; call fsrf_tombolo_attach first.
 * prot and flags are those of <sys/mman.h>. The calls may be made from any thread.
 *
 * An fsrf_rc is a tmb_status of tombolo.h: 0 is success; tmb_last_error() says what went wrong.
 */
#ifndef TOMBOLO_FSRF_H
#define TOMBOLO_FSRF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FSRF_ADV_STREAM 1
#define FSRF_ADV_RANDOM 2
#define FSRF_ADV_REUSE 4
#define FSRF_ADV_LOWUSE 8

typedef int fsrf_rc;

/* Opens a file. prot: PROT_READ, PROT_WRITE or both (a file that is written is read as well, so both rights
 * are needed). mode: 0, or the permission bits with which a missing file is made (needs PROT_WRITE). *fd is a
 * descriptor of the system: ftruncate gives a new file its size, close it only with fsrf_close. */
fsrf_rc fsrf_open(int *fd, char *path, int prot, int mode);

/* Closes it; mappings stay, as with mmap. */
fsrf_rc fsrf_close(int fd);

/* Maps len bytes from offset on, which must be in the file. *addr becomes the address as kernels see it.
 * flags: MAP_SHARED, or MAP_SHARED | MAP_FIXED for the address that *addr has, a multiple of the page size. */
fsrf_rc fsrf_mmap(void **addr, size_t len, int prot, int flags, int fd, size_t offset);

/* Writes back and ends what is mapped in the range. A part of a mapping begins with it or at a page (2 MiB, unless the file
 * is smaller) and grows to whole pages, as with munmap; what is left of the mapping stays. If a page cannot be written
 * back, nothing of that mapping has ended. */
fsrf_rc fsrf_munmap(void *addr, size_t len);

/* Writes back what kernels have written to the mappings that the range touches, and waits for it. flags: MS_SYNC
 * or MS_ASYNC, which do the same. MS_INVALIDATE (from the host to the card),
 * alone or with one of them: what is on the card is read from the file again; what a kernel wrote there is saved first. */
fsrf_rc fsrf_msync(void *addr, size_t len, int flags);

/* Says how a range will be used: what is fetched ahead, and whose pages leave first (docs/policies.md). STREAM and RANDOM, and
 * REUSE and LOWUSE, exclude each other; 0 takes advice back. */
fsrf_rc fsrf_madvise(void *addr, size_t len, int advice);

#ifdef __cplusplus
}
#endif

#endif
