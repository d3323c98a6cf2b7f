/* Signals are the program's. A timer whose handler touches memory that is shared with a kernel, while a kernel takes that
 * memory to the card again and again; and a SIGTERM that is blocked and waited for. Kernel folder "copy", a pipe, a way to
 * trap (tmb_traps), microseconds of the timer, runs. Prints how often the handler ran, on how many threads of others,
 * and how many runs had other bytes. It ends by SIGALRM if it hangs. */
#define _GNU_SOURCE
#include <tombolo.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != TMB_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", #call, tmb_last_error());                                                      \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { HALF = 65536 };

static volatile unsigned char *volatile shared;
static volatile sig_atomic_t handled, wrong;
/* Handlers that are at work, on either thread. */
static int at_work;
static volatile long program[2];

static void on_timer(int signal) {
    long here = syscall(SYS_gettid);
    (void)signal;
    __atomic_add_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
    handled++;
    if (here != program[0] && here != program[1])
        wrong++;
    volatile unsigned char *bytes = shared;
    if (bytes != NULL) { /* Pages that the kernel reads, and writes. */
        bytes[4096 + 100]++;
        (void)bytes[HALF], (void)bytes[HALF + 4096];
    }
    __atomic_sub_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
}

/* The usual pattern: a thread waits for what all others block. */
static void *wait_for_terms(void *argument) {
    long *count = argument;
    sigset_t set;
    program[1] = syscall(SYS_gettid);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    for (;;) {
        int got = 0;
        sigwait(&set, &got);
        if (got == SIGTERM && ++*count == 0)
            return NULL;
    }
}

int main(int argc, char **argv) {
    if (argc != 6)
        return 2;
    int way = atoi(argv[3]), micros = atoi(argv[4]), runs = atoi(argv[5]), taken = -1, bad = 0;
    long terms = 0;
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    program[0] = syscall(SYS_gettid);
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_terms, &terms);
    /* It may take the first signals, so it must be known as the program's before any comes. */
    while (program[1] == 0)
        usleep(100);

    tmb_card *card;
    tmb_space *space;
    tmb_slot *slot;
    tmb_memory *memory;
    tmb_mapping *pipe;
    void *first;
    tmb_map_options stream = TMB_MAP_OPTIONS;
    stream.bytes = 4096;
    OK(tmb_card_open_functional(NULL, &card));
    OK(tmb_space_create(card, NULL, &space));
    OK(tmb_map_file(space, argv[2], &stream, &pipe)); /* A thread for a device. */
    OK(tmb_memory_alloc_with_traps(space, 2 * HALF, 4096, way, &memory, &taken));
    OK(tmb_memory_pointer(memory, &first));
    unsigned char *bytes = first;
    OK(tmb_slot_load(card, 0, argv[1], space, &slot));
    OK(tmb_slot_set(slot, "input", (uint64_t)(uintptr_t)bytes));
    OK(tmb_slot_set(slot, "output", (uint64_t)(uintptr_t)(bytes + HALF)));
    OK(tmb_slot_set(slot, "bytes", 8192));

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_timer;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    /* Of real time, and by a signal that hangs do not hold up. */
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer;
    struct itimerspec every;
    memset(&every, 0, sizeof every);
    every.it_value.tv_nsec = every.it_interval.tv_nsec = micros * 1000L;
    shared = bytes;
    alarm(60);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &every, NULL) != 0)
        return 4;
    for (int n = 0; n < runs; n++) {
        memset(bytes, n, 4096);
        OK(tmb_slot_start(slot));
        kill(getpid(), SIGTERM);
        OK(tmb_slot_wait(slot, NULL));
        for (int at = 0; at < 4096; at++)
            if (bytes[HALF + at] != (unsigned char)n) {
                bad++;
                break;
            }
    }
    timer_delete(timer);
    /* The last signal may be handled on the other thread still, and not yet be there: no handler may touch memory that is gone. */
    shared = NULL;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    while (__atomic_load_n(&at_work, __ATOMIC_SEQ_CST) != 0)
        usleep(100);
    OK(tmb_card_close(card));
    OK(tmb_memory_free(memory));
    /* It has been sent; its thread may take a moment on a busy machine. */
    for (int look = 0; look < 10000 && *(volatile long *)&terms == 0; look++)
        usleep(1000);
    printf("way %d: %ld handled, %d on other threads, %d wrong runs, %ld terms\n", taken, (long)handled, (int)wrong, bad,
           terms > 0 ? 1L : 0L);
    return 0;
}
