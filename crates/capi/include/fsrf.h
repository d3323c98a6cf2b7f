/*
 * FSRF's interface for mappings of files, as printed in figure 3 of its paper.
 *
 * The paper prints names and types and "POSIX-style semantics"; the comments here are our reading. Calls that it
 * does not print (card, kernels, start and wait) are in fsrf_tombolo.h; call fsrf_tombolo_attach first.
 * prot and flags are those of <sys/mman.h>. The calls may be made from any thread.
 *
 * An fsrf_rc is a tmb_status of tombolo.h: 0 is success; tmb_last_error() has the text of an error.
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

/* Opens a file. prot: PROT_READ, PROT_WRITE or both (a written file is also read, so both rights
 * are needed). mode: 0, or the permission bits for creating a missing file (needs PROT_WRITE). *fd is a
 * descriptor of the system: use ftruncate to set the size of a new file, and close it only with fsrf_close. */
fsrf_rc fsrf_open(int *fd, char *path, int prot, int mode);

/* Closes the file; mappings stay, as with mmap. */
fsrf_rc fsrf_close(int fd);

/* Maps len bytes from offset, which must be in the file. *addr receives the address in the kernels' space.
 * flags: MAP_SHARED, or MAP_SHARED | MAP_FIXED for the address in *addr, a multiple of the page size. */
fsrf_rc fsrf_mmap(void **addr, size_t len, int prot, int flags, int fd, size_t offset);

/* Writes back and unmaps the range. A part of a mapping starts at its beginning or at a page (2 MiB, unless the file
 * is smaller) and is extended to whole pages, as with munmap; the rest of the mapping stays. If a page cannot be written
 * back, nothing of that mapping is unmapped. */
fsrf_rc fsrf_munmap(void *addr, size_t len);

/* Writes back the kernels' data in the mappings that the range touches, and waits for it. flags: MS_SYNC
 * or MS_ASYNC, which do the same. MS_INVALIDATE (from the host to the card),
 * alone or with one of them: pages on the card are read from the file again; the kernels' data is saved first. */
fsrf_rc fsrf_msync(void *addr, size_t len, int flags);

/* Advises on the use of a range: read-ahead and eviction order (docs/policies.md). STREAM and RANDOM, and
 * REUSE and LOWUSE, exclude each other; 0 clears the advice. */
fsrf_rc fsrf_madvise(void *addr, size_t len, int advice);

#ifdef __cplusplus
}
#endif

#endif
