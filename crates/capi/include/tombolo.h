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
 * - It returns TMB_OK, or a status that says what kind of thing went wrong; tmb_last_error() has the text.
 * - A handle (tmb_card and so on) is given by one call and closed by another. A handle that was closed is
 *   TMB_ERROR_GONE, one that never was one TMB_ERROR_HANDLE; neither is undefined behaviour. Closing a space
 *   ends its mappings and stops its kernels, closing a card all that was made on it, and the library's threads for it;
 *   a call with one of their handles is TMB_ERROR_GONE then, and they are closed without an error. Shared memory
 *   stays the program's, which nobody traps any more, until it is freed.
 * - What is answered through a pointer is written only when the call succeeds.
 * - Strings end with a zero byte and are UTF-8. Pointers are null where this page says so, else valid.
 * - Every call may be made from any thread; also from destructors of static objects, from atexit handlers, and from
 *   destructors of thread-local objects. None may be made in a handler of a signal; but shared memory may be touched there.
 * - The library's threads block all signals but those that an instruction raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 *   SIGTRAP, SIGSYS): handlers run on threads of the program, and signals that it blocks wait for its sigwait.
 * - A callback returns to its caller. A C++ exception (or longjmp) that leaves it ends the process, because it cannot pass
 *   through the library: catch it in the callback, keep it behind `context` (std::current_exception), say stop if the
 *   callback can (tmb_wait_options.progress), and throw it again when the call has returned.
 * - A limit on the size of files (ulimit -f) is an error of the call, not SIGXFSZ.
 * - Bytes that a kernel wrote are in their file when the mapping is unmapped or synced, or its space
 *   closed; not before. What is open when the program returns from main or calls exit is closed then, behind all atexit
 *   handlers and destructors of static objects; what fails is said on standard error, and after 30 s the process ends
 *   all the same. A process that calls _exit or is killed loses what was not in files.
 * - After fork, handles are the parent's: in the child every call that needs the card is TMB_ERROR_GONE; to close or
 *   free a handle there is no error and does nothing to the parent's.
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

/* ---- What went wrong ------------------------------------------------------------------------------- */

typedef int tmb_status;

enum {
    TMB_OK = 0,
    /* Codes of the library, which are the same in every language. */
    TMB_ERROR_CARD = 1,                /* the card refused or failed */
    TMB_ERROR_CARD_BROKEN = 2,         /* nothing more can be done with it */
    TMB_ERROR_NO_SUCH_SLOT = 3,
    TMB_ERROR_BUILD = 4,               /* no Verilator, no compiler, or RTL that does not compile */
    TMB_ERROR_NOTHING_TO_WAIT_FOR = 5,
    TMB_ERROR_CONFIGURATION = 6,       /* a card, platform or size of pages that is not possible */
    TMB_ERROR_KERNEL = 10,             /* the kernel's folder, manifest or RTL is refused */
    TMB_ERROR_FILE = 20,               /* a file could not be opened or made; see tmb_last_errno */
    TMB_ERROR_UNMAPPABLE = 21,         /* not a regular file, or a range that cannot be */
    TMB_ERROR_TRANSFER = 22,           /* bytes could not be moved between a file and the card */
    TMB_ERROR_PAGER = 23,              /* out of card memory, a write-back that failed */
    TMB_ERROR_OUTSIDE = 24,            /* a kernel wrote around a mapping, on its first or last page */
    TMB_ERROR_COHERENT_RANGE = 25,     /* a range or an offset that coherent memory does not have */
    TMB_ERROR_NO_SUCH_ARGUMENT = 30,
    TMB_ERROR_ARGUMENT_SIZE = 31,      /* a value does not fit its argument */
    TMB_ERROR_SLOT_STATE = 32,         /* the slot is running, or not, against what the call needs */
    TMB_ERROR_MISALIGNED_POINTER = 33, /* a pointer argument that is not aligned as the kernel wants */
    TMB_ERROR_SCHEDULE = 34,           /* a number of a slot's schedule is out of range */
    TMB_ERROR_ARGUMENT_VALUE = 35,     /* a number that the kernel's argument does not take */
    TMB_ERROR_ACCESS = 40,             /* an access of the kernel failed: do not trust its results */
    TMB_ERROR_VIOLATION = 41,          /* the kernel broke a rule of the slot boundary */
    TMB_ERROR_UNANSWERED = 42,         /* the kernel does not answer its control interface */
    TMB_ERROR_INTERRUPT_STORM = 43,    /* it raises its interrupt without being done */
    TMB_ERROR_KERNEL_FAILED = 44,      /* it ended itself */
    TMB_ERROR_DEADLINE = 45,           /* it was not done in time */
    TMB_ERROR_HOME = 46,               /* the kernel behind the directory broke a rule */
    TMB_ERROR_LINE_LATE = 47,          /* an access to a coherent line was not over in time */
    TMB_ERROR_NO_HOME = 48,            /* no kernel stands behind the directory */
    TMB_ERROR_NO_FREE_SPACE = 50,      /* all address spaces are in use */
    TMB_ERROR_UNSHAREABLE = 51,        /* memory cannot be shared: none is left, or it has too many pages */
    TMB_ERROR_NOT_SHARED = 52,         /* the address is not in shared memory */
    TMB_ERROR_MEMORY_IN_USE = 53,      /* shared memory cannot be freed while a kernel of its space runs */
    TMB_ERROR_UNREGISTRABLE = 54,      /* memory of the program that cannot be shared in place; the text says why */
    TMB_ERROR_NO_FREE_SLOT = 55,       /* every slot has a kernel */
    TMB_ERROR_QUOTA = 56,              /* the quota of a tenant of a daemon is used up; the text names it */
    TMB_ERROR_GONE = 60,               /* the handle was closed, or what it stands for has ended */
    TMB_ERROR_OTHER_CARD = 61,         /* a space of one card, a slot of another */
    TMB_ERROR_OTHER_SPACE = 62,        /* a mapping of one space, a kernel of another */
    TMB_ERROR_DAEMON = 63,             /* the daemon of a card cannot be reached, refuses, or has ended */
    TMB_ERROR_NOT_CARRIED = 64,        /* a call that the socket of a daemon does not carry */
    TMB_ERROR_INTERRUPTED = 70,        /* the progress callback said stop */
    TMB_ERROR_STALLED = 71,            /* virtual time waits for a registered thread that sleeps elsewhere */
    TMB_ERROR_STREAM = 80,             /* a stream was used against its rules */
    TMB_ERROR_STREAM_RESET = 81,       /* a slot was reset before a transfer of its streams was over */
    TMB_ERROR_DEVICE = 82,             /* a device cannot be opened, or not as asked */
    TMB_ERROR_DEVICE_PEER = 83,        /* the other end of a device failed, went away, or was late */
    TMB_ERROR_INTERNAL = 90,           /* a bug of ours; please report it */
    /* Of this interface. */
    TMB_ERROR_ARGUMENT = 100,          /* a null pointer, or a value that makes no sense */
    TMB_ERROR_HANDLE = 101,            /* no handle, or one of another kind */
    TMB_ERROR_ORDER = 102,             /* calls in the wrong order */
    TMB_ERROR_UNSUPPORTED = 103        /* makes sense, but is not offered */
};

/* What went wrong in the last call of this thread that failed. Valid until the thread's next call that
 * fails; not to be freed. */
const char *tmb_last_error(void);

/* The errno of that failure, or 0 where there is none. */
int tmb_last_errno(void);

/* "TMB_ERROR_ACCESS" for TMB_ERROR_ACCESS. */
const char *tmb_status_name(tmb_status status);

/* Version of the library, "0.1.0". */
const char *tmb_version(void);

/* Frees a text that a call answered; null is fine. */
void tmb_text_free(char *text);

/* ---- Cards ----------------------------------------------------------------------------------------- */

typedef struct tmb_card tmb_card;
typedef struct tmb_space tmb_space;
typedef struct tmb_mapping tmb_mapping;
typedef struct tmb_slot tmb_slot;

/* How a structure of options begins: `tmb_card_options options = TMB_CARD_OPTIONS;`. Every field that
 * stays zero has its default. Where a call takes options, null means all defaults. `size` lets programs that
 * were compiled for an older library run with a newer one. */
typedef struct tmb_card_options {
    size_t size;
    uint32_t slots;          /* 1 */
    uint32_t cold;           /* simulated: files count as being on storage, not in the page cache */
    uint64_t channel_bytes;  /* memory of each channel */
    uint64_t page_size;      /* pages of mappings that ask for no other: 2 MiB, or the smallest that holds all of one */
    const char *platform;    /* simulated: "f1", or a .toml file */
    const char *home;        /* simulated: the folder with rtl/ and platforms/: TOMBOLO_HOME, or the checkout */
    const char *shell_json;  /* simulated: the shell's configuration where it is not the default, as JSON */
    /* simulated: told each step of building a model, in whichever thread opens a card or loads a kernel */
    void (*progress)(const char *step, void *context);
    void *context;
    /* simulated: a system of docs/presets.md ("coyote-2m"), or a .toml file, instead of shell_json */
    const char *preset;
    uint64_t home_bytes; /* coherent: card memory kept for tmb_coherent_open_home */
    uint32_t coherent;   /* simulated: 1: a shell with a coherence directory, for platform "enzian"; 2: with two slices */
    uint32_t host_channel; /* 1: pages may stay in host memory (tmb_memory_alloc_direct, tmb_map_options.direct) */
} tmb_card_options;

#define TMB_CARD_OPTIONS { sizeof(tmb_card_options), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

/* Opens a card by its name, with the usual options: "f1" or another platform, which is simulated; "functional";
 * "unix:FILE", the card of a daemon (docs/daemon.md), shared with other programs; "vfio:0000:01:00.0?card=FILE",
 * a card behind Linux's vfio-pci (docs/pcie.md). Where TOMBOLO_CARD is set in the environment, it is taken
 * instead of a platform or "functional". */
tmb_status tmb_card_open(const char *name, tmb_card **card);

/* Opens a functional card: no RTL, no time, no tools, for kernels with a model in the library. */
tmb_status tmb_card_open_functional(const tmb_card_options *options, tmb_card **card);

/* Opens a simulated card: the real shell RTL in virtual time. Needs g++ and Verilator; builds the shell's
 * model the first time, which takes a minute or more. */
tmb_status tmb_card_open_simulated(const tmb_card_options *options, tmb_card **card);

tmb_status tmb_card_close(tmb_card *card);

/* Where the time went: a text for people, or JSON. To be freed with tmb_text_free. */
tmb_status tmb_card_report(tmb_card *card, char **text);
tmb_status tmb_card_report_json(tmb_card *card, char **text);

/* ---- Address spaces and mappings ------------------------------------------------------------------- */

enum {
    TMB_TRANSLATE_BOTH = 0,  /* L1 TLBs, and the page table in card memory for what misses there */
    TMB_TRANSLATE_TABLE = 1, /* the page table alone; TMB_ERROR_CONFIGURATION if the shell has no walker */
    TMB_TRANSLATE_TLB = 2    /* the L1 TLBs alone, which the host fills; likewise if it has none */
};

typedef struct tmb_space_options {
    size_t size;
    uint64_t limit;      /* at most so many bytes of card memory for its pages; 0: no limit */
    uint32_t on_channel; /* 1: its frames lie on one memory channel, the one in `channel` */
    uint32_t channel;
    /* 2, 4, ...: they are striped over so many channels, from stripe_first on (a multiple of it), with
     * stripe_granule bytes on one before the next follows (a power of two from 64 to 2^30; 0: 4096).
     * 0: over all channels where these are alike, else on any */
    uint32_t stripe_channels;
    uint32_t stripe_first;
    uint64_t stripe_granule;
    uint32_t translation; /* what translates its addresses, TMB_TRANSLATE_BOTH or another */
    uint32_t reserved;    /* 0 */
} tmb_space_options;

#define TMB_SPACE_OPTIONS { sizeof(tmb_space_options), 0, 0, 0, 0, 0, 0, TMB_TRANSLATE_BOTH, 0 }

tmb_status tmb_space_create(tmb_card *card, const tmb_space_options *options, tmb_space **space);

/* Writes back and ends its mappings. */
tmb_status tmb_space_close(tmb_space *space);

enum {
    TMB_READ = 1,      /* the kernel may read: the default */
    TMB_READ_WRITE = 2 /* and write */
};

enum { TMB_MEMORY_ANY = 0, TMB_MEMORY_DDR = 1, TMB_MEMORY_HBM = 2 };

enum { TMB_FILE_DEFAULT = 0, TMB_FILE_WARM = 1, TMB_FILE_COLD = 2 };

typedef struct tmb_map_options {
    size_t size;
    uint32_t access;       /* TMB_READ or TMB_READ_WRITE */
    uint32_t create;       /* 1: makes the file, or empties it, with create_bytes of zeroes; read and write */
    uint64_t create_bytes;
    uint64_t offset;       /* first byte */
    uint64_t bytes;        /* bytes, or 0 for up to the end */
    uint64_t page_size;    /* a power of two from 4096 to 2^30, or 0 for the card's */
    uint64_t address;      /* where in the space, a multiple of the page size, or 0 for the pager's choice */
    uint32_t direct;       /* 1: its pages stay in host memory, for a card with a way there (host_channel) */
    uint32_t memory;       /* TMB_MEMORY_ANY, or which memory of a card that has several its pages lie in */
    uint32_t file_state;   /* simulated: TMB_FILE_WARM (in the page cache), TMB_FILE_COLD (on storage), or as the card's
                            * options say */
    uint32_t holes;        /* simulated: 1: holes of a cold file cost no reading; 0: as data */
} tmb_map_options;

#define TMB_MAP_OPTIONS { sizeof(tmb_map_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Maps a file, opened here with the rights of this process. "pipe:PATH", "tcp:HOST:PORT", "unix:PATH" and so on are
 * streams (docs/devices.md): set bytes. A kernel that reads one waits for what comes; what it wrote goes out by
 * tmb_mapping_sync and tmb_mapping_unmap.
 * Bytes that another card, of this process or of another, has mapped for writing cannot be mapped for writing:
 * TMB_ERROR_UNMAPPABLE. Between processes that is a lock on the range (F_OFD_SETLK), so a process must not expect to keep
 * fcntl locks of its own on the file beyond the end of the mapping. Programs that write without locks are not stopped,
 * and what they write into a page that a kernel has written is undone: docs/policies.md, "When others write the file". */
tmb_status tmb_map_file(tmb_space *space, const char *path, const tmb_map_options *options,
                        tmb_mapping **mapping);

/* Address of the first byte as the kernel sees it, and how many bytes there are. */
tmb_status tmb_mapping_address(tmb_mapping *mapping, uint64_t *address);
tmb_status tmb_mapping_bytes(tmb_mapping *mapping, uint64_t *bytes);

/* Writes back what the kernel has written so far. What fails stays on the card. A file that was truncated meanwhile is
 * not made longer again: TMB_ERROR_TRANSFER, with both sizes. */
tmb_status tmb_mapping_sync(tmb_mapping *mapping);

/* Brings pages to the card before the kernel touches them, as far as there is room. */
tmb_status tmb_mapping_prefetch(tmb_mapping *mapping);

/* The same on a simulated card before this returns, and at no virtual time: for those who ask what a kernel does with
 * data that is on the card, not what loading it costs. Not while a kernel runs. The report says so. *bytes, if not
 * null, is how many came at no time. */
tmb_status tmb_mapping_make_hot(tmb_mapping *mapping, uint64_t *bytes);

/* Writes back and ends the mapping; it is gone even if that fails. */
tmb_status tmb_mapping_unmap(tmb_mapping *mapping);

/* ---- Shared memory --------------------------------------------------------------------------------- */

/* Memory that the program and the kernels of a space read and write at the same addresses: put its pointers into
 * arguments, and follow them on both sides. Pages move by themselves; the program's access waits for its page.
 * System calls that get such a pointer fail with EFAULT while the page is with the card: touch it first, or use
 * tmb_memory_alloc_for_calls. */
typedef struct tmb_memory tmb_memory;

/* Zeroed memory. page_size is a power of two from 4096 on, or 0: 2 MiB, or one page that holds all of it. */
tmb_status tmb_memory_alloc(tmb_space *space, size_t bytes, uint64_t page_size, tmb_memory **memory);

/* The same for memory that system calls may be given too: read(2) and write(2) wait for its pages. It is guarded by
 * userfaultfd. *in_calls (if it is not NULL) is 1, or 0 where the system does not let this program have that (a
 * warning says what would change it): it is then as of tmb_memory_alloc. page_size 0: 4096, which is best here. */
tmb_status tmb_memory_alloc_for_calls(tmb_space *space, size_t bytes, uint64_t page_size,
                                      tmb_memory **memory, int *in_calls);

/* How the program's accesses are trapped: docs/tutorials/shared-pointers.md, "Memory for system calls". */
typedef enum tmb_traps {
    TMB_TRAPS_PROTECT = 0,   /* pages are protected: SIGSEGV. What tmb_memory_alloc takes; works everywhere */
    TMB_TRAPS_USERFAULT = 1, /* userfaultfd: system calls wait too; it needs a right */
    TMB_TRAPS_IN_THREAD = 2  /* userfaultfd: SIGBUS, and a thread serves itself what is the program's; no right */
} tmb_traps;

/* Memory whose accesses are trapped in a way of tmb_traps. *taken (if it is not NULL) is the way that was taken:
 * TMB_TRAPS_PROTECT where the system does not let this program have the other (a warning says why). page_size 0: 2 MiB
 * for TMB_TRAPS_PROTECT, else 4096. */
tmb_status tmb_memory_alloc_with_traps(tmb_space *space, size_t bytes, uint64_t page_size, int traps,
                                       tmb_memory **memory, int *taken);

/* Zeroed memory that stays in the host: kernels read and write it over PCIe, no page moves and the program is never
 * trapped (direct shared virtual memory), so system calls may have it too. For what is touched little, or written by
 * both sides in turns. The card needs a way to host memory (host_channel of tmb_card_options or of the shell's
 * configuration). page_size 0: as for tmb_memory_alloc. */
tmb_status tmb_memory_alloc_direct(tmb_space *space, size_t bytes, uint64_t page_size, tmb_memory **memory);

/* Memory that the program has, where it is: whole pages of 4096 bytes of private memory, or a block that malloc
 * has mapped by itself (large ones are, usually from 128 KiB on), from its first byte on. It must stay allocated
 * until it is freed here, and is then ordinary memory again, with what kernels wrote. page_size is the largest, or
 * 0 for 2 MiB. TMB_ERROR_UNREGISTRABLE says what cannot be taken. */
tmb_status tmb_memory_register(tmb_space *space, void *start, size_t bytes, uint64_t page_size,
                               tmb_memory **memory);

/* Its first byte. */
tmb_status tmb_memory_pointer(tmb_memory *memory, void **pointer);

/* Ends the sharing. Memory of tmb_memory_alloc is gone; registered memory is the program's alone.
 * TMB_ERROR_MEMORY_IN_USE while a kernel of the space runs: it is still shared then. */
tmb_status tmb_memory_free(tmb_memory *memory);

/* ---- Coherent memory ------------------------------------------------------------------------------- */

/* Addresses behind the directory of a coherent card (tmb_card_options.coherent), used by a core of the CPU beside it,
 * in lines of 128 bytes. Each access takes the virtual time that core, caches, link, directory and kernel need.
 * docs/blocks/home.md says what stands behind the lines. */
typedef struct tmb_coherent tmb_coherent;

enum { TMB_LINE_BYTES = 128 };

/* Lines that a kernel with home ports serves: `bytes` from `base` on, multiples of 128. */
tmb_status tmb_coherent_open(tmb_card *card, uint64_t base, uint64_t bytes, uint32_t core,
                             tmb_coherent **coherent);

/* Card memory in the kernel's place: the home_bytes of the card's options, from 0 on. */
tmb_status tmb_coherent_open_home(tmb_card *card, uint32_t core, tmb_coherent **coherent);

/* Loads the line at a multiple of 128 into TMB_LINE_BYTES bytes; exclusive: 1 for this CPU alone, so that it can be
 * written without another message. TMB_ERROR_HOME: the kernel broke a rule; TMB_ERROR_LINE_LATE: it does not answer;
 * TMB_ERROR_NO_HOME: there is none. */
tmb_status tmb_coherent_load(tmb_coherent *coherent, uint64_t offset, int exclusive, void *line);

/* Stores bytes that lie in one line. Errors as for a load. */
tmb_status tmb_coherent_store(tmb_coherent *coherent, uint64_t offset, const void *bytes, size_t count);

/* A hint that the line will be loaded; does not wait for it. */
tmb_status tmb_coherent_prefetch(tmb_coherent *coherent, uint64_t offset);

/* Gives the line up: what was stored in it goes home. Returns when it is on its way. */
tmb_status tmb_coherent_flush(tmb_coherent *coherent, uint64_t offset);

/* Sends home what was stored in the line, and keeps a copy to read. Returns when it is on its way. */
tmb_status tmb_coherent_clean(tmb_coherent *coherent, uint64_t offset);

tmb_status tmb_coherent_close(tmb_coherent *coherent);

/* The lines at an ordinary address, for every thread of the program. A load or store of a page whose lines the CPU
 * does not have waits for them: all 32 lines of the page, so none of them may be one whose load means something to the
 * kernel, as the lines of a call. The memory begins and ends at multiples
 * of 4096 (TMB_ERROR_COHERENT_RANGE). An access that a kernel refuses, or that nobody answers, is SIGSEGV, as is one
 * after the card was closed. */
typedef struct tmb_coherent_map tmb_coherent_map;

/* write: 0: a store is SIGSEGV. eager: 1: all pages are brought at once. */
tmb_status tmb_coherent_map_open(tmb_coherent *coherent, int write, int eager, tmb_coherent_map **map);

/* The first byte; valid until the map is closed. */
tmb_status tmb_coherent_map_pointer(tmb_coherent_map *map, void **pointer);

/* Takes all pages back: what was written is in the CPU's lines, and the next access waits again. */
tmb_status tmb_coherent_map_sync(tmb_coherent_map *map);

/* Unmaps: what was written is in the CPU's lines. */
tmb_status tmb_coherent_map_close(tmb_coherent_map *map);

/* An access of a core that is under way: a core may have many. It ends, and its handle with it, when it is waited for;
 * closed, it goes on to its end, and nobody learns of it. */
typedef struct tmb_access tmb_access;

/* As tmb_coherent_load and tmb_coherent_store, without waiting. */
tmb_status tmb_coherent_begin_load(tmb_coherent *coherent, uint64_t offset, int exclusive, tmb_access **access);
tmb_status tmb_coherent_begin_store(tmb_coherent *coherent, uint64_t offset, const void *bytes, size_t count,
                                    tmb_access **access);

/* Waits: the line as the access saw or left it, TMB_LINE_BYTES bytes; null if it is of no interest. The handle is gone,
 * whatever became of the access. */
tmb_status tmb_access_wait(tmb_access *access, void *line);

tmb_status tmb_access_close(tmb_access *access);

/* A core's write buffer, 24 lines: its stores end before their lines have come, and begin in order. A store to a line
 * that waits in the buffer merges with what is there. What went wrong is told by a later call. */
typedef struct tmb_write_buffer tmb_write_buffer;

tmb_status tmb_write_buffer_open(tmb_coherent *coherent, tmb_write_buffer **buffer);

/* Stores bytes that lie in one line. Waits for the oldest line if the buffer is full. */
tmb_status tmb_write_buffer_store(tmb_write_buffer *buffer, uint64_t offset, const void *bytes, size_t count);

/* Gives the line up after the stores to it. */
tmb_status tmb_write_buffer_flush(tmb_write_buffer *buffer, uint64_t offset);

/* Waits until all that was stored is in its lines, and what was flushed is on its way. */
tmb_status tmb_write_buffer_fence(tmb_write_buffer *buffer);

/* Fences, and closes whatever came of that. */
tmb_status tmb_write_buffer_close(tmb_write_buffer *buffer);

/* Calls to the kernel rpc through two coherent lines (kernels/rpc): lines 2 * context and 2 * context + 1 of the memory.
 * The kernel waits for its first call in them since its reset. */
typedef struct tmb_rpc tmb_rpc;

/* push: 1: the arguments are sent home with the call instead of being called home by the kernel: a round trip less. */
tmb_status tmb_rpc_connect(tmb_coherent *coherent, uint32_t context, int push, tmb_rpc **rpc);

/* Calls: up to TMB_LINE_BYTES bytes of arguments (the rest of the line keeps what it has; with none, null will do), and
 * TMB_LINE_BYTES bytes of result. More arguments are TMB_ERROR_COHERENT_RANGE; other errors as for a load. */
tmb_status tmb_rpc_call(tmb_rpc *rpc, const void *arguments, size_t count, void *result);

/* Begins to call; the line of the access is the result. A core with several contexts (the kernel's argument) may have a
 * call under way in each. */
tmb_status tmb_rpc_begin_call(tmb_rpc *rpc, const void *arguments, size_t count, tmb_access **access);

tmb_status tmb_rpc_close(tmb_rpc *rpc);

/* Calls of up to TMB_RPC_LINES_MOST lines each way to the kernel rpc_lines, in TMB_RPC_LINES_BYTES bytes of memory from
 * the kernel's argument "base" on. The kernel waits for its first call since its reset. */
typedef struct tmb_rpc_lines tmb_rpc_lines;

enum { TMB_RPC_LINES_MOST = 2048, TMB_RPC_LINES_BYTES = (2 * TMB_RPC_LINES_MOST + 2) * TMB_LINE_BYTES };

/* What comes with an answer. */
typedef struct tmb_lines_answer {
    uint64_t sum;      /* of the request's 64-bit words, if the handler makes it */
    uint64_t xor_bits; /* their exclusive or */
    uint32_t lines;    /* of the request, as the kernel counted them */
    uint32_t calls;    /* before this one */
    uint32_t cycles;   /* of the card, from the call to the answer */
    uint32_t reserved; /* 0 */
} tmb_lines_answer;

tmb_status tmb_rpc_lines_connect(tmb_coherent *coherent, tmb_rpc_lines **rpc);

/* Brings the first lines of the next request, so that its stores find them. A call does it too, if nobody has. */
tmb_status tmb_rpc_lines_prepare(tmb_rpc_lines *rpc, uint64_t lines);

/* Calls with these bytes, to the end of their last line as zeroes, and takes so many lines of the answer. about may be
 * null, and so may answer if answer_lines is 0. Too many lines are TMB_ERROR_COHERENT_RANGE. After an error of the
 * kernel, connect anew. */
tmb_status tmb_rpc_lines_call(tmb_rpc_lines *rpc, const void *payload, size_t count, void *answer,
                              uint64_t answer_lines, tmb_lines_answer *about);

tmb_status tmb_rpc_lines_close(tmb_rpc_lines *rpc);

/* ---- Slots ----------------------------------------------------------------------------------------- */

/* Puts the kernel of a folder (with kernel.toml) into a slot, in a space. A handle from before on the same
 * slot is TMB_ERROR_GONE from then on. */
tmb_status tmb_slot_load(tmb_card *card, uint32_t number, const char *folder, tmb_space *space,
                         tmb_slot **slot);

/* The same with the first slot that has no kernel: on a card that others use, too. */
tmb_status tmb_slot_load_anywhere(tmb_card *card, const char *folder, tmb_space *space, tmb_slot **slot);

/* Sets an argument of up to 8 bytes: a number, or an address. */
tmb_status tmb_slot_set(tmb_slot *slot, const char *argument, uint64_t value);

/* Sets a pointer argument to a mapping. TMB_ERROR_OTHER_SPACE: it is of another space than the kernel's. Spaces use the same
 * addresses, so tmb_slot_set with that of tmb_mapping_address would let the kernel use other bytes. */
tmb_status tmb_slot_set_mapping(tmb_slot *slot, const char *argument, tmb_mapping *mapping);

/* Sets an argument to exactly its bytes, in the order of memory. */
tmb_status tmb_slot_set_bytes(tmb_slot *slot, const char *argument, const void *value, size_t count);

enum {
    TMB_PRIORITY_NORMAL = 0, /* what every slot has at first */
    TMB_PRIORITY_LOW = 1,    /* after all others */
    TMB_PRIORITY_HIGH = 2,   /* before normal ones */
    TMB_PRIORITY_URGENT = 3  /* before all others */
};

typedef struct tmb_schedule_options {
    size_t size;
    uint32_t priority; /* who goes first; slots of one priority share by their weights */
    uint32_t weight;   /* 1 to 15; 0: 1 */
    uint32_t floor;    /* per cent of what all slots get, at least, whatever the priorities; 0 to 90 */
    uint32_t reserved; /* 0 */
    uint64_t limit;    /* bytes a second that it may read, and that it may write; 0: as many as it can */
} tmb_schedule_options;

#define TMB_SCHEDULE_OPTIONS { sizeof(tmb_schedule_options), 0, 0, 0, 0, 0 }

/* Says what the slot gets of card memory while other slots want it too, from now on and as long as this kernel is
 * in it; also while it runs. Null: what every slot has at first. TMB_ERROR_SCHEDULE: a number out of range. */
tmb_status tmb_slot_set_schedule(tmb_slot *slot, const tmb_schedule_options *options);

tmb_status tmb_slot_start(tmb_slot *slot);

typedef struct tmb_progress {
    uint64_t time_ps;   /* virtual time since the card was opened, in picoseconds; 0 on a functional card, which has none */
    uint64_t bytes_in;  /* bytes brought to the card */
    uint64_t bytes_out; /* bytes written back */
    uint64_t faults;    /* faults served */
} tmb_progress;

typedef struct tmb_wait_options {
    size_t size;
    uint64_t deadline_ps; /* gives up after so much virtual time, in picoseconds; 0: never */
    /* asked now and then, in the thread that waits; anything but 0 stops the kernel. It must not call
     * anything about this slot. */
    int (*progress)(const tmb_progress *progress, void *context);
    void *context;
} tmb_wait_options;

#define TMB_WAIT_OPTIONS { sizeof(tmb_wait_options), 0, NULL, NULL }

/* Waits until the kernel is done. After an error the slot is in reset and can be started again. For a kernel with
 * registers of its own (user_managed): for its interrupt, as tmb_slot_wait_interrupt. */
tmb_status tmb_slot_wait(tmb_slot *slot, const tmb_wait_options *options);

/* Waits until one of several kernels is done, at most for so much virtual time (in picoseconds; 0: for ever), and
 * gives its place in `slots`, the first if several are; its tmb_slot_wait tells at once how it went. The others go
 * on. TMB_ERROR_DEADLINE: none is done; TMB_ERROR_SLOT_STATE: one is not running. */
tmb_status tmb_card_wait_any(tmb_card *card, tmb_slot *const *slots, size_t count, uint64_t deadline_ps,
                             size_t *place);

/* Registers of the kernel: 32 bits, offsets in bytes. A program may poll: each read takes the virtual time of its way
 * over the link, in which the kernel goes on, and what the kernel has faulted on is served by the reads that follow. */
tmb_status tmb_slot_read_register(tmb_slot *slot, uint32_t offset, uint32_t *value);
tmb_status tmb_slot_write_register(tmb_slot *slot, uint32_t offset, uint32_t value);

/* Waits until the bits of `mask` in a register are those of `value`, and serves the kernel's faults meanwhile; cheaper
 * than to poll. For kernels with registers of their own (user_managed). *found, if it is not NULL, is what the register
 * holds then. TMB_ERROR_DEADLINE after deadline_ps of virtual time (0: never): the kernel goes on. After another error
 * the slot is in reset, and tmb_slot_start ends that. */
tmb_status tmb_slot_wait_register(tmb_slot *slot, uint32_t offset, uint32_t mask, uint32_t value,
                                  uint64_t deadline_ps, uint32_t *found);

/* The same for the interrupt of such a kernel. *count, if it is not NULL, is how many there were since the last wait. */
tmb_status tmb_slot_wait_interrupt(tmb_slot *slot, uint64_t deadline_ps, uint32_t *count);

/* Stops the kernel if it runs, and empties the slot. What it wrote stays where it is mapped. */
tmb_status tmb_slot_close(tmb_slot *slot);

#ifdef __cplusplus
}
#endif

#endif
