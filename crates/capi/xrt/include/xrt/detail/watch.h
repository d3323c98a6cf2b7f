/* Calls at the end of runs: one thread per run with callbacks, which waits for each start in turn. Not for programs. */
#ifndef TOMBOLO_XRT_DETAIL_WATCH_H
#define TOMBOLO_XRT_DETAIL_WATCH_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "tombolo_xrt.h"
#include "xrt/detail/ert.h"

struct tmb_xrt_watch {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    tmb_xrt_object *run;
    void (*ended)(void *, enum ert_cmd_state);
    void *data;
    /* Starts whose end is not reported yet. */
    unsigned long starts;
    int closing;
    /* Closed by its own thread, that is in a callback: the thread frees it. */
    int orphan;
};

static inline void tmb_xrt_watch_free(struct tmb_xrt_watch *watch) {
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

static inline void *tmb_xrt_watch_run(void *pointer) {
    struct tmb_xrt_watch *watch = (struct tmb_xrt_watch *)pointer;
    int orphan = 0;
    pthread_mutex_lock(&watch->mutex);
    for (;;) {
        uint32_t state = 0;
        while (watch->starts == 0 && !watch->closing) {
            pthread_cond_wait(&watch->changed, &watch->mutex);
        }
        if (watch->orphan || watch->starts == 0) {
            break;
        }
        --watch->starts;
        pthread_mutex_unlock(&watch->mutex);
        /* A callback may start the run again, or close it. */
        if (tmb_xrt_run_wait(watch->run, 0, &state) == 0) {
            watch->ended(watch->data, (enum ert_cmd_state)state);
        }
        pthread_mutex_lock(&watch->mutex);
    }
    orphan = watch->orphan;
    pthread_mutex_unlock(&watch->mutex);
    if (orphan) {
        tmb_xrt_watch_free(watch);
    }
    return NULL;
}

/* `run` stays open until the watch is closed. Null with errno if there is no thread for it. */
static inline struct tmb_xrt_watch *tmb_xrt_watch_open(tmb_xrt_object *run, void (*ended)(void *, enum ert_cmd_state),
                                                       void *data) {
    struct tmb_xrt_watch *watch = (struct tmb_xrt_watch *)calloc(1, sizeof *watch);
    int answer = 0;
    if (watch == NULL) {
        return NULL;
    }
    pthread_mutex_init(&watch->mutex, NULL);
    pthread_cond_init(&watch->changed, NULL);
    watch->run = run;
    watch->ended = ended;
    watch->data = data;
    answer = pthread_create(&watch->thread, NULL, tmb_xrt_watch_run, watch);
    if (answer != 0) {
        tmb_xrt_watch_free(watch);
        errno = answer;
        return NULL;
    }
    return watch;
}

/* The run was started. */
static inline void tmb_xrt_watch_started(struct tmb_xrt_watch *watch) {
    pthread_mutex_lock(&watch->mutex);
    ++watch->starts;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
}

/* Returns after the calls for all starts; in a callback, at once. */
static inline void tmb_xrt_watch_close(struct tmb_xrt_watch *watch) {
    const pthread_t thread = watch->thread;
    const int own = pthread_equal(thread, pthread_self()) != 0;
    pthread_mutex_lock(&watch->mutex);
    watch->closing = 1;
    watch->orphan = own;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
    if (own) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    tmb_xrt_watch_free(watch);
}

#endif
