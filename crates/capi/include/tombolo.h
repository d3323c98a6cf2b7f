/*
 * Tombolo for C: map files into kernels of an FPGA card, start them, wait.
 *
 *     tmb_card *card;
 *     tmb_space *space;
 *     tmb_mapping *in, *out;
 *     tmb_slot *slot;
 *     ...
 *     if (tmb_card_open_functional(NULL, &card) != TMB_OK)
 *         fprintf(stderr, "%s\n", tmb_last_error());
 *
 * Rules, for every call:
 *
 * - It returns TMB_OK, or a status with the kind of error; tmb_last_error() has the text.
 * - One call creates a handle (tmb_card and so on), another closes it. A closed handle gives
 *   TMB_ERROR_GONE, an invalid one TMB_ERROR_HANDLE; neither is undefined behaviour. Closing a space
 *   ends its mappings and stops its kernels; closing a card ends all of its objects and the library's threads for it.
 *   Calls with their handles then give TMB_ERROR_GONE, and closing them is no error. Shared memory
 *   stays with the program, without traps, until it is freed.
 * - Results returned through a pointer are written only when the call succeeds.
 * - Strings are UTF-8 and end with a zero byte. Pointers are null where this page allows it, otherwise valid.
 * - Every call may be made from any thread, also from destructors of static objects, atexit handlers, and
 *   destructors of thread-local objects. None may be made in a signal handler, but shared memory may be accessed there.
 * - The library's threads block all signals except those raised by an instruction (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 *   SIGTRAP, SIGSYS): handlers run on the program's threads, and signals that it blocks wait for its sigwait.
 * - A callback returns to its caller. A C++ exception (or longjmp) that leaves it ends the process, because it cannot pass
 *   through the library: catch it in the callback, store it in `context` (std::current_exception), return stop if the
 *   callback can (tmb_wait_options.progress), and rethrow it when the call has returned.
 * - A limit on the size of files (ulimit -f) is an error of the call, not SIGXFSZ.
 * - Bytes written by a kernel are guaranteed to be in their file only once the mapping is unmapped or synced, or its space
 *   closed. Objects that are open when the program returns from main or calls exit are closed then, after all atexit
 *   handlers and destructors of static objects; failures are printed on standard error, and the process ends after
 *   at most 30 s. A process that calls _exit or is killed loses data that was not in files.
 * - After fork, handles belong to the parent: in the child every call that needs the card gives TMB_ERROR_GONE; closing or
 *   freeing a handle there is no error and does not affect the parent's.
 *
 * Compile with the flags that `pkg-config --cflags --libs tombolo` prints.
 */
#ifndef TOMBOLO_H
#define TOMBOLO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---------------------------------------------------------------------------------------- */

typedef int tmb_status;

enum {
    TMB_OK = 0,
    /* Codes of the library, the same in every language. */
    TMB_ERROR_CARD = 1,                /* the card refused or failed */
    TMB_ERROR_CARD_BROKEN = 2,         /* the card is unusable */
    TMB_ERROR_NO_SUCH_SLOT = 3,
    TMB_ERROR_BUILD = 4,               /* no Verilator, no compiler, or RTL that does not compile */
    TMB_ERROR_NOTHING_TO_WAIT_FOR = 5,
    TMB_ERROR_CONFIGURATION = 6,       /* an impossible card, platform or page size */
    TMB_ERROR_KERNEL = 10,             /* the kernel's folder, manifest or RTL is refused */
    TMB_ERROR_FILE = 20,               /* a file could not be opened or created; see tmb_last_errno */
    TMB_ERROR_UNMAPPABLE = 21,         /* not a regular file, or an impossible range */
    TMB_ERROR_TRANSFER = 22,           /* a transfer between a file and the card failed */
    TMB_ERROR_PAGER = 23,              /* out of card memory, or a failed write-back */
    TMB_ERROR_OUTSIDE = 24,            /* a kernel wrote outside a mapping, on its first or last page */
    TMB_ERROR_COHERENT_RANGE = 25,     /* a range or an offset that coherent memory does not have */
    TMB_ERROR_NO_SUCH_ARGUMENT = 30,
    TMB_ERROR_ARGUMENT_SIZE = 31,      /* a value does not fit its argument */
    TMB_ERROR_SLOT_STATE = 32,         /* the slot is running, or not running, unlike the call requires */
    TMB_ERROR_MISALIGNED_POINTER = 33, /* a pointer argument without the kernel's alignment */
    TMB_ERROR_SCHEDULE = 34,           /* a value of a slot's schedule is out of range */
    TMB_ERROR_ARGUMENT_VALUE = 35,     /* a value that the kernel's argument does not allow */
    TMB_ERROR_ACCESS = 40,             /* an access of the kernel failed: do not trust its results */
    TMB_ERROR_VIOLATION = 41,          /* the kernel broke a rule of the slot boundary */
    TMB_ERROR_UNANSWERED = 42,         /* the kernel does not answer its control interface */
    TMB_ERROR_INTERRUPT_STORM = 43,    /* it raises its interrupt without being done */
    TMB_ERROR_KERNEL_FAILED = 44,      /* it terminated itself */
    TMB_ERROR_DEADLINE = 45,           /* it was not done in time */
    TMB_ERROR_HOME = 46,               /* the kernel behind the directory broke a rule */
    TMB_ERROR_LINE_LATE = 47,          /* an access to a coherent line was not complete in time */
    TMB_ERROR_NO_HOME = 48,            /* there is no kernel behind the directory */
    TMB_ERROR_NO_FREE_SPACE = 50,      /* all address spaces are in use */
    TMB_ERROR_UNSHAREABLE = 51,        /* memory cannot be shared: none is left, or it has too many pages */
    TMB_ERROR_NOT_SHARED = 52,         /* the address is not in shared memory */
    TMB_ERROR_MEMORY_IN_USE = 53,      /* shared memory cannot be freed while a kernel of its space runs */
    TMB_ERROR_UNREGISTRABLE = 54,      /* the program's memory cannot be shared in place; the text has the reason */
    TMB_ERROR_NO_FREE_SLOT = 55,       /* every slot has a kernel */
    TMB_ERROR_QUOTA = 56,              /* the quota of a daemon's tenant is used up; the text names it */
    TMB_ERROR_GONE = 60,               /* the handle was closed, or its object has ended */
    TMB_ERROR_OTHER_CARD = 61,         /* a space of one card, a slot of another */
    TMB_ERROR_OTHER_SPACE = 62,        /* a mapping of one space, a kernel of another */
    TMB_ERROR_DAEMON = 63,             /* the daemon of a card cannot be reached, refuses, or has ended */
    TMB_ERROR_NOT_CARRIED = 64,        /* a call that the socket of a daemon does not carry */
    TMB_ERROR_INTERRUPTED = 70,        /* the progress callback returned stop */
    TMB_ERROR_STALLED = 71,            /* virtual time waits for a registered thread that sleeps elsewhere */
    TMB_ERROR_STREAM = 80,             /* incorrect use of a stream */
    TMB_ERROR_STREAM_RESET = 81,       /* a slot was reset during a transfer of its streams */
    TMB_ERROR_DEVICE = 82,             /* a device cannot be opened, or not as requested */
    TMB_ERROR_DEVICE_PEER = 83,        /* the peer of a device failed, disconnected, or timed out */
    TMB_ERROR_INTERNAL = 90,           /* a bug in the library; please report it */
    /* Codes of this interface. */
    TMB_ERROR_ARGUMENT = 100,          /* a null pointer, or an invalid value */
    TMB_ERROR_HANDLE = 101,            /* not a handle, or one of another kind */
    TMB_ERROR_ORDER = 102,             /* calls in the wrong order */
    TMB_ERROR_UNSUPPORTED = 103        /* valid, but not supported */
};

/* Text of this thread's last failed call. Valid until the thread's next failed call; do not free it. */
const char *tmb_last_error(void);

/* The errno of that failure, or 0. */
int tmb_last_errno(void);

/* "TMB_ERROR_ACCESS" for TMB_ERROR_ACCESS. */
const char *tmb_status_name(tmb_status status);

/* Version of the library, "0.2.0". */
const char *tmb_version(void);

/* Frees a text returned by a call; null is allowed. */
void tmb_text_free(char *text);

/* ---- Cards ----------------------------------------------------------------------------------------- */

typedef struct tmb_card tmb_card;
typedef struct tmb_space tmb_space;
typedef struct tmb_mapping tmb_mapping;
typedef struct tmb_slot tmb_slot;

/* Initialise a structure of options like this: `tmb_card_options options = TMB_CARD_OPTIONS;`. A zero field has
 * its default. Where a call takes options, null means all defaults. `size` lets programs
 * compiled for an older library run with a newer one. */
typedef struct tmb_card_options {
    size_t size;
    uint32_t slots;          /* 1 */
    uint32_t cold;           /* simulated: files are cold (on storage, not in the page cache) */
    uint64_t channel_bytes;  /* memory of each channel */
    uint64_t page_size;      /* default page size of mappings: 2 MiB, or the smallest that holds a whole mapping */
    const char *platform;    /* simulated: "f1", or a .toml file */
    const char *home;        /* simulated: the folder with rtl/ and platforms/: TOMBOLO_HOME, or the checkout */
    const char *shell_json;  /* simulated: the shell's configuration, if not the default, as JSON */
    /* simulated: called for each step of building a model, in the thread that opens a card or loads a kernel */
    void (*progress)(const char *step, void *context);
    void *context;
    /* simulated: a system of docs/presets.md ("coyote-2m"), or a .toml file, instead of shell_json */
    const char *preset;
    uint64_t home_bytes; /* coherent: card memory reserved for tmb_coherent_open_home */
    uint32_t coherent;   /* simulated: 1: a shell with a coherence directory, for platform "enzian"; 2: with two slices */
    uint32_t host_channel; /* 1: pages may stay in host memory (tmb_memory_alloc_direct, tmb_map_options.direct) */
} tmb_card_options;

#define TMB_CARD_OPTIONS { sizeof(tmb_card_options), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

/* Opens a card by name, with default options: "f1" or another platform, which is simulated; "functional";
 * "unix:FILE", the card of a daemon (docs/daemon.md), shared with other programs; "vfio:0000:01:00.0?card=FILE",
 * a card behind Linux's vfio-pci (docs/pcie.md). The environment variable TOMBOLO_CARD, if set, overrides
 * a platform or "functional". */
tmb_status tmb_card_open(const char *name, tmb_card **card);

/* Opens a functional card: no RTL, no time, no tools, for kernels with a model in the library. */
tmb_status tmb_card_open_functional(const tmb_card_options *options, tmb_card **card);

/* Opens a simulated card: the real shell RTL in virtual time. Needs g++ and Verilator; builds the shell's
 * model the first time, which takes a minute or more. */
tmb_status tmb_card_open_simulated(const tmb_card_options *options, tmb_card **card);

tmb_status tmb_card_close(tmb_card *card);

/* Report of the run: human-readable text, or JSON. Free it with tmb_text_free. */
tmb_status tmb_card_report(tmb_card *card, char **text);
tmb_status tmb_card_report_json(tmb_card *card, char **text);

/* ---- Address spaces and mappings ------------------------------------------------------------------- */

enum {
    TMB_TRANSLATE_BOTH = 0,  /* L1 TLBs, and the page table in card memory for their misses */
    TMB_TRANSLATE_TABLE = 1, /* the page table alone; TMB_ERROR_CONFIGURATION if the shell has no walker */
    TMB_TRANSLATE_TLB = 2    /* the L1 TLBs alone, filled by the host; TMB_ERROR_CONFIGURATION if there are none */
};

typedef struct tmb_space_options {
    size_t size;
    uint64_t limit;      /* maximum card memory for its pages, in bytes; 0: no limit */
    uint32_t on_channel; /* 1: all frames on one memory channel, `channel` */
    uint32_t channel;
    /* 2, 4, ...: frames are striped over this number of channels, starting at stripe_first (a multiple of it), in
     * granules of stripe_granule bytes (a power of two from 64 to 2^30; 0: 4096).
     * 0: over all channels if these are identical, otherwise on any */
    uint32_t stripe_channels;
    uint32_t stripe_first;
    uint64_t stripe_granule;
    uint32_t translation; /* translation mode: TMB_TRANSLATE_BOTH or another */
    uint32_t reserved;    /* 0 */
} tmb_space_options;

#define TMB_SPACE_OPTIONS { sizeof(tmb_space_options), 0, 0, 0, 0, 0, 0, TMB_TRANSLATE_BOTH, 0 }

tmb_status tmb_space_create(tmb_card *card, const tmb_space_options *options, tmb_space **space);

/* Writes back and ends its mappings. */
tmb_status tmb_space_close(tmb_space *space);

enum {
    TMB_READ = 1,      /* the kernel may read: the default */
    TMB_READ_WRITE = 2 /* the kernel may read and write */
};

enum { TMB_MEMORY_ANY = 0, TMB_MEMORY_DDR = 1, TMB_MEMORY_HBM = 2 };

enum { TMB_FILE_DEFAULT = 0, TMB_FILE_WARM = 1, TMB_FILE_COLD = 2 };

typedef struct tmb_map_options {
    size_t size;
    uint32_t access;       /* TMB_READ or TMB_READ_WRITE */
    uint32_t create;       /* 1: creates or truncates the file, with create_bytes of zeroes; read and write */
    uint64_t create_bytes;
    uint64_t offset;       /* first byte */
    uint64_t bytes;        /* number of bytes, or 0 for up to the end */
    uint64_t page_size;    /* a power of two from 4096 to 2^30, or 0 for the card's */
    uint64_t address;      /* address in the space, a multiple of the page size, or 0 for the pager's choice */
    uint32_t direct;       /* 1: pages stay in host memory; needs a host channel (host_channel) */
    uint32_t memory;       /* memory for its pages on a card with several: TMB_MEMORY_ANY or another */
    uint32_t file_state;   /* simulated: TMB_FILE_WARM (in the page cache), TMB_FILE_COLD (on storage), or the default of
                            * the card's options */
    uint32_t holes;        /* simulated: 1: holes of a cold file cost no reading; 0: as data */
} tmb_map_options;

#define TMB_MAP_OPTIONS { sizeof(tmb_map_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Maps a file, opened here with the rights of this process. "pipe:PATH", "tcp:HOST:PORT", "unix:PATH" and so on are
 * streams (docs/devices.md): set bytes. A reading kernel waits for data; written data is sent by
 * tmb_mapping_sync and tmb_mapping_unmap.
 * Bytes that another card, of this process or of another, has mapped for writing cannot be mapped for writing:
 * TMB_ERROR_UNMAPPABLE. Between processes this is a lock on the range (F_OFD_SETLK), so a process must not rely on
 * its own fcntl locks on the file after the end of the mapping. Programs that write without locks are not stopped,
 * and their writes to a page that a kernel has written are overwritten: docs/policies.md, "When others write the file". */
tmb_status tmb_map_file(tmb_space *space, const char *path, const tmb_map_options *options,
                        tmb_mapping **mapping);

/* Address of the first byte in the kernel's space, and the number of bytes. */
tmb_status tmb_mapping_address(tmb_mapping *mapping, uint64_t *address);
tmb_status tmb_mapping_bytes(tmb_mapping *mapping, uint64_t *bytes);

/* Writes back the kernel's data so far. Data that fails stays on the card. A file that was truncated meanwhile is
 * not extended: TMB_ERROR_TRANSFER, with both sizes. */
tmb_status tmb_mapping_sync(tmb_mapping *mapping);

/* Prefetches pages to the card, as far as there is room. */
tmb_status tmb_mapping_prefetch(tmb_mapping *mapping);

/* Preloads pages onto a simulated card before this returns (zero-cost in virtual time): to measure a kernel on resident
 * data, without the cost of loading it. Not while a kernel runs. The report mentions it. *bytes, if not
 * null, is the number of preloaded bytes. */
tmb_status tmb_mapping_make_hot(tmb_mapping *mapping, uint64_t *bytes);

/* Writes back and ends the mapping; it is gone even if that fails. */
tmb_status tmb_mapping_unmap(tmb_mapping *mapping);

/* ---- Shared memory --------------------------------------------------------------------------------- */

/* Memory that the program and the kernels of a space read and write at the same addresses: put its pointers into
 * arguments, and follow them on both sides. Pages move automatically; an access of the program waits for its page.
 * System calls with such a pointer fail with EFAULT while the page is on the card: touch it first, or use
 * tmb_memory_alloc_for_calls. */
typedef struct tmb_memory tmb_memory;

/* Zeroed memory. page_size is a power of two of at least 4096, or 0: 2 MiB, or one page that holds all of it. */
tmb_status tmb_memory_alloc(tmb_space *space, size_t bytes, uint64_t page_size, tmb_memory **memory);

/* The same for memory that can be passed to system calls: read(2) and write(2) wait for its pages. It is guarded by
 * userfaultfd. *in_calls (if not NULL) is 1, or 0 if the system does not permit it (a
 * warning names the remedy): the memory is then like that of tmb_memory_alloc. page_size 0: 4096, which is best here. */
tmb_status tmb_memory_alloc_for_calls(tmb_space *space, size_t bytes, uint64_t page_size,
                                      tmb_memory **memory, int *in_calls);

/* How the program's accesses are trapped: docs/tutorials/shared-pointers.md, "Memory for system calls". */
typedef enum tmb_traps {
    TMB_TRAPS_PROTECT = 0,   /* protected pages: SIGSEGV. The default of tmb_memory_alloc; works everywhere */
    TMB_TRAPS_USERFAULT = 1, /* userfaultfd: system calls wait too; needs a privilege */
    TMB_TRAPS_IN_THREAD = 2  /* userfaultfd: SIGBUS, served in the faulting thread; no privilege */
} tmb_traps;

/* Memory with a trap mechanism of tmb_traps. *taken (if not NULL) is the mechanism in use:
 * TMB_TRAPS_PROTECT if the system does not permit the other (a warning gives the reason). page_size 0: 2 MiB
 * for TMB_TRAPS_PROTECT, otherwise 4096. */
tmb_status tmb_memory_alloc_with_traps(tmb_space *space, size_t bytes, uint64_t page_size, int traps,
                                       tmb_memory **memory, int *taken);

/* Zeroed memory that stays in the host: kernels read and write it over PCIe, no page moves and the program is never
 * trapped (direct shared virtual memory), so it can be passed to system calls too. For data that is accessed rarely, or written by
 * both sides alternately. The card needs a host channel (host_channel of tmb_card_options or of the shell's
 * configuration). page_size 0: as for tmb_memory_alloc. */
tmb_status tmb_memory_alloc_direct(tmb_space *space, size_t bytes, uint64_t page_size, tmb_memory **memory);

/* Shares existing memory in place: whole pages of 4096 bytes of private memory, or a block that malloc
 * has mapped separately (usually from 128 KiB), from its first byte. It must stay allocated
 * until it is freed here, and is then ordinary memory again, with the kernels' data. page_size is the maximum, or
 * 0 for 2 MiB. TMB_ERROR_UNREGISTRABLE: this memory cannot be shared. */
tmb_status tmb_memory_register(tmb_space *space, void *start, size_t bytes, uint64_t page_size,
                               tmb_memory **memory);

/* Address of the first byte. */
tmb_status tmb_memory_pointer(tmb_memory *memory, void **pointer);

/* Ends the sharing. Memory of tmb_memory_alloc is freed; registered memory belongs to the program alone.
 * TMB_ERROR_MEMORY_IN_USE while a kernel of the space runs: the memory stays shared. */
tmb_status tmb_memory_free(tmb_memory *memory);

/* ---- Coherent memory ------------------------------------------------------------------------------- */

/* Addresses behind the directory of a coherent card (tmb_card_options.coherent), used by a core of its CPU,
 * in lines of 128 bytes. Each access takes the virtual time of core, caches, link, directory and kernel.
 * docs/blocks/home.md describes the memory behind the lines. */
typedef struct tmb_coherent tmb_coherent;

enum { TMB_LINE_BYTES = 128 };

/* Lines served by a kernel with home ports: `bytes` starting at `base`, multiples of 128. */
tmb_status tmb_coherent_open(tmb_card *card, uint64_t base, uint64_t bytes, uint32_t core,
                             tmb_coherent **coherent);

/* Card memory instead of a kernel: the home_bytes of the card's options, starting at 0. */
tmb_status tmb_coherent_open_home(tmb_card *card, uint32_t core, tmb_coherent **coherent);

/* Loads the line at a multiple of 128 into TMB_LINE_BYTES bytes; exclusive: 1 for this CPU alone, so that it can be
 * written without another message. TMB_ERROR_HOME: the kernel broke a rule; TMB_ERROR_LINE_LATE: it does not answer;
 * TMB_ERROR_NO_HOME: there is no kernel. */
tmb_status tmb_coherent_load(tmb_coherent *coherent, uint64_t offset, int exclusive, void *line);

/* Stores bytes within one line. Errors as for a load. */
tmb_status tmb_coherent_store(tmb_coherent *coherent, uint64_t offset, const void *bytes, size_t count);

/* A hint that the line will be loaded; does not wait for it. */
tmb_status tmb_coherent_prefetch(tmb_coherent *coherent, uint64_t offset);

/* Writes the line back and invalidates it. Posted: returns when the message is sent. */
tmb_status tmb_coherent_flush(tmb_coherent *coherent, uint64_t offset);

/* Writes the line back, and keeps a copy to read. Posted: returns when the message is sent. */
tmb_status tmb_coherent_clean(tmb_coherent *coherent, uint64_t offset);

tmb_status tmb_coherent_close(tmb_coherent *coherent);

/* The lines at an ordinary address, for every thread of the program. A load or store of a page that the CPU
 * does not have waits for all 32 lines of the page, so none of them may be one whose load has a meaning for the
 * kernel, such as the lines of a call. The memory begins and ends at multiples
 * of 4096 (TMB_ERROR_COHERENT_RANGE). An access that a kernel refuses or does not answer gives SIGSEGV, as does one
 * after the card was closed. */
typedef struct tmb_coherent_map tmb_coherent_map;

/* write: 0: a store gives SIGSEGV. eager: 1: all pages are fetched at once. */
tmb_status tmb_coherent_map_open(tmb_coherent *coherent, int write, int eager, tmb_coherent_map **map);

/* The first byte; valid until the map is closed. */
tmb_status tmb_coherent_map_pointer(tmb_coherent_map *map, void **pointer);

/* Revokes all pages: written data is in the CPU's lines, and the next access waits again. */
tmb_status tmb_coherent_map_sync(tmb_coherent_map *map);

/* Unmaps: written data is in the CPU's lines. */
tmb_status tmb_coherent_map_close(tmb_coherent_map *map);

/* An outstanding access of a core: a core may have many. Waiting for it ends it and its handle;
 * if it is closed, it still completes, without a report. */
typedef struct tmb_access tmb_access;

/* As tmb_coherent_load and tmb_coherent_store, without waiting. */
tmb_status tmb_coherent_begin_load(tmb_coherent *coherent, uint64_t offset, int exclusive, tmb_access **access);
tmb_status tmb_coherent_begin_store(tmb_coherent *coherent, uint64_t offset, const void *bytes, size_t count,
                                    tmb_access **access);

/* Waits: the line after the access, TMB_LINE_BYTES bytes; null to ignore it. The handle is closed
 * in any case. */
tmb_status tmb_access_wait(tmb_access *access, void *line);

tmb_status tmb_access_close(tmb_access *access);

/* A core's write buffer, 24 lines: its stores complete before their lines have arrived, and start in order. A store to a line
 * that waits in the buffer is merged. A later call reports errors. */
typedef struct tmb_write_buffer tmb_write_buffer;

tmb_status tmb_write_buffer_open(tmb_coherent *coherent, tmb_write_buffer **buffer);

/* Stores bytes within one line. Waits for the oldest line if the buffer is full. */
tmb_status tmb_write_buffer_store(tmb_write_buffer *buffer, uint64_t offset, const void *bytes, size_t count);

/* Writes the line back and invalidates it, after the stores to it. */
tmb_status tmb_write_buffer_flush(tmb_write_buffer *buffer, uint64_t offset);

/* Waits until all stores are in their lines, and all flushes are sent. */
tmb_status tmb_write_buffer_fence(tmb_write_buffer *buffer);

/* Fences, and closes the buffer even if that fails. */
tmb_status tmb_write_buffer_close(tmb_write_buffer *buffer);

/* Calls to the kernel rpc through two coherent lines (kernels/rpc): lines 2 * context and 2 * context + 1 of the memory.
 * The kernel waits for its first call in them since its reset. */
typedef struct tmb_rpc tmb_rpc;

/* push: 1: the arguments are flushed with the call instead of being recalled by the kernel: one round trip less. */
tmb_status tmb_rpc_connect(tmb_coherent *coherent, uint32_t context, int push, tmb_rpc **rpc);

/* Calls: up to TMB_LINE_BYTES bytes of arguments (the rest of the line is unchanged; null if there are none), and
 * TMB_LINE_BYTES bytes of result. More arguments give TMB_ERROR_COHERENT_RANGE; other errors as for a load. */
tmb_status tmb_rpc_call(tmb_rpc *rpc, const void *arguments, size_t count, void *result);

/* Starts a call; the line of the access is the result. A core may have an outstanding call in each
 * context (the kernel's argument). */
tmb_status tmb_rpc_begin_call(tmb_rpc *rpc, const void *arguments, size_t count, tmb_access **access);

tmb_status tmb_rpc_close(tmb_rpc *rpc);

/* Calls of up to TMB_RPC_LINES_MOST lines each way to the kernel rpc_lines, in TMB_RPC_LINES_BYTES bytes of memory starting at
 * the kernel's argument "base". The kernel waits for its first call since its reset. */
typedef struct tmb_rpc_lines tmb_rpc_lines;

enum { TMB_RPC_LINES_MOST = 2048, TMB_RPC_LINES_BYTES = (2 * TMB_RPC_LINES_MOST + 2) * TMB_LINE_BYTES };

/* Details of an answer. */
typedef struct tmb_lines_answer {
    uint64_t sum;      /* of the request's 64-bit words, if the handler computes it */
    uint64_t xor_bits; /* their exclusive or */
    uint32_t lines;    /* of the request, as counted by the kernel */
    uint32_t calls;    /* before this one */
    uint32_t cycles;   /* of the card, from the call to the answer */
    uint32_t reserved; /* 0 */
} tmb_lines_answer;

tmb_status tmb_rpc_lines_connect(tmb_coherent *coherent, tmb_rpc_lines **rpc);

/* Fetches the first lines of the next request, so that its stores hit. A call does it too, if necessary. */
tmb_status tmb_rpc_lines_prepare(tmb_rpc_lines *rpc, uint64_t lines);

/* Calls with these bytes, zero-padded to the end of their last line, and takes answer_lines lines of the answer. about may be
 * null, and so may answer if answer_lines is 0. Too many lines give TMB_ERROR_COHERENT_RANGE. After an error of the
 * kernel, connect again. */
tmb_status tmb_rpc_lines_call(tmb_rpc_lines *rpc, const void *payload, size_t count, void *answer,
                              uint64_t answer_lines, tmb_lines_answer *about);

tmb_status tmb_rpc_lines_close(tmb_rpc_lines *rpc);

/* ---- Slots ----------------------------------------------------------------------------------------- */

/* Loads the kernel of a folder (with kernel.toml) into a slot, in a space. Earlier handles of the same
 * slot give TMB_ERROR_GONE from then on. */
tmb_status tmb_slot_load(tmb_card *card, uint32_t number, const char *folder, tmb_space *space,
                         tmb_slot **slot);

/* The same in the first empty slot: also on a shared card. */
tmb_status tmb_slot_load_anywhere(tmb_card *card, const char *folder, tmb_space *space, tmb_slot **slot);

/* Sets an argument of up to 8 bytes: a number, or an address. */
tmb_status tmb_slot_set(tmb_slot *slot, const char *argument, uint64_t value);

/* Sets a pointer argument to a mapping. TMB_ERROR_OTHER_SPACE: it belongs to another space than the kernel. Spaces use the same
 * addresses, so tmb_slot_set with that of tmb_mapping_address would give the kernel other bytes. */
tmb_status tmb_slot_set_mapping(tmb_slot *slot, const char *argument, tmb_mapping *mapping);

/* Sets an argument to exactly its bytes, in memory order. */
tmb_status tmb_slot_set_bytes(tmb_slot *slot, const char *argument, const void *value, size_t count);

enum {
    TMB_PRIORITY_NORMAL = 0, /* the default */
    TMB_PRIORITY_LOW = 1,    /* after all others */
    TMB_PRIORITY_HIGH = 2,   /* before normal ones */
    TMB_PRIORITY_URGENT = 3  /* before all others */
};

typedef struct tmb_schedule_options {
    size_t size;
    uint32_t priority; /* slots of equal priority share by their weights */
    uint32_t weight;   /* 1 to 15; 0: 1 */
    uint32_t floor;    /* minimum share of the total in per cent, regardless of priorities; 0 to 90 */
    uint32_t reserved; /* 0 */
    uint64_t limit;    /* maximum bytes per second for reads, and for writes; 0: no limit */
} tmb_schedule_options;

#define TMB_SCHEDULE_OPTIONS { sizeof(tmb_schedule_options), 0, 0, 0, 0, 0 }

/* Sets the slot's share of card memory under contention, from now on and as long as this kernel is
 * loaded; also while it runs. Null: the default. TMB_ERROR_SCHEDULE: a value out of range. */
tmb_status tmb_slot_set_schedule(tmb_slot *slot, const tmb_schedule_options *options);

tmb_status tmb_slot_start(tmb_slot *slot);

typedef struct tmb_progress {
    uint64_t time_ps;   /* virtual time since the card was opened, in picoseconds; 0 on a functional card, which has none */
    uint64_t bytes_in;  /* bytes copied to the card */
    uint64_t bytes_out; /* bytes written back */
    uint64_t faults;    /* faults served */
} tmb_progress;

typedef struct tmb_wait_options {
    size_t size;
    uint64_t deadline_ps; /* timeout in virtual time, in picoseconds; 0: none */
    /* called periodically in the waiting thread; a result other than 0 stops the kernel. It must not make
     * calls about this slot. */
    int (*progress)(const tmb_progress *progress, void *context);
    void *context;
} tmb_wait_options;

#define TMB_WAIT_OPTIONS { sizeof(tmb_wait_options), 0, NULL, NULL }

/* Waits until the kernel is done. After an error the slot is in reset and can be started again. For a kernel with
 * its own registers (user_managed): waits for its interrupt, as tmb_slot_wait_interrupt. */
tmb_status tmb_slot_wait(tmb_slot *slot, const tmb_wait_options *options);

/* Waits until one of several kernels is done, at most for deadline_ps of virtual time (in picoseconds; 0: forever), and
 * returns its index in `slots`, the first if several are done; its tmb_slot_wait then returns the result at once. The others
 * continue. TMB_ERROR_DEADLINE: none is done; TMB_ERROR_SLOT_STATE: one is not running. */
tmb_status tmb_card_wait_any(tmb_card *card, tmb_slot *const *slots, size_t count, uint64_t deadline_ps,
                             size_t *place);

/* Registers of the kernel: 32 bits, offsets in bytes. A program may poll: each read takes the virtual time of its round trip
 * over the link, in which the kernel continues, and following reads serve the kernel's faults. */
tmb_status tmb_slot_read_register(tmb_slot *slot, uint32_t offset, uint32_t *value);
tmb_status tmb_slot_write_register(tmb_slot *slot, uint32_t offset, uint32_t value);

/* Waits until the bits of `mask` in a register equal those of `value`, and serves the kernel's faults meanwhile; cheaper
 * than polling. For kernels with their own registers (user_managed). *found, if not NULL, is the final value of the
 * register. TMB_ERROR_DEADLINE after deadline_ps of virtual time (0: never): the kernel continues. After another error
 * the slot is in reset until tmb_slot_start. */
tmb_status tmb_slot_wait_register(tmb_slot *slot, uint32_t offset, uint32_t mask, uint32_t value,
                                  uint64_t deadline_ps, uint32_t *found);

/* The same for the interrupt of such a kernel. *count, if not NULL, is the number of interrupts since the last wait. */
tmb_status tmb_slot_wait_interrupt(tmb_slot *slot, uint64_t deadline_ps, uint32_t *count);

/* Stops the kernel if it runs, and empties the slot. Its data stays in the mappings. */
tmb_status tmb_slot_close(tmb_slot *slot);

#ifdef __cplusplus
}
#endif

#endif
