/*
 * A host with remote storage: serves the outputs of an endpoint without an engine in random order.
 *
 * Each evaluation reads the rows as they were when it started. The fault of the store is injected
 * when its n-th output is served. An endpoint with an engine has nothing to serve.
 */
#ifndef MILEPOST_TESTS_REMOTE_HOST_H
#define MILEPOST_TESTS_REMOTE_HOST_H

#include <stdio.h>

#include "test_storage.h"

#define REMOTE_MAX 64

/* Rows that an operation needs, or a commit whose result was not handed in yet */
typedef struct remote_task {
    uint64_t handle;
    int is_commit;
    int committed;
    store_row *keys; /* without rows */
    size_t keys_len;
} remote_task;

/* Rows as they were when the evaluation of an operation started */
typedef struct remote_snapshot {
    uint64_t handle;
    store rows;
} remote_snapshot;

typedef struct remote_host {
    milepost_endpoint *endpoint;
    store *store;
    remote_task tasks[REMOTE_MAX];
    size_t tasks_len;
    remote_snapshot snapshots[REMOTE_MAX];
    size_t snapshots_len;
    uint64_t random;
} remote_host;

static void remote_expect(milepost_status_t status, milepost_status_t expected, const char *what) {
    if (status != expected) {
        fprintf(stderr, "remote host: %s: %d\n", what, (int)status);
        exit(2);
    }
}

static size_t remote_random(remote_host *self, size_t below) {
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(self->random >> 33) % below;
}

static remote_snapshot *remote_find(remote_host *self, uint64_t handle) {
    for (size_t i = 0; i < self->snapshots_len; i++) {
        if (self->snapshots[i].handle == handle) {
            return &self->snapshots[i];
        }
    }
    return NULL;
}

/* Releases the snapshot of an operation whose evaluation has ended */
static void remote_release(remote_host *self, uint64_t handle) {
    remote_snapshot *snapshot = remote_find(self, handle);
    if (snapshot != NULL) {
        store_clear(&snapshot->rows);
        *snapshot = self->snapshots[--self->snapshots_len];
    }
}

static void remote_take_snapshot(remote_host *self, uint64_t handle) {
    remote_snapshot *snapshot;
    remote_release(self, handle);
    remote_expect(self->snapshots_len < REMOTE_MAX, 1, "too many operations");
    snapshot = &self->snapshots[self->snapshots_len++];
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->handle = handle;
    snapshot->rows = store_share(self->store);
}

static void remote_add_rows(remote_host *self, const milepost_output *output) {
    remote_task *task = &self->tasks[self->tasks_len++];
    memset(task, 0, sizeof *task);
    if (output->is_first) {
        remote_take_snapshot(self, output->handle);
    }
    remote_expect(remote_find(self, output->handle) != NULL, 1, "rows without a first output");
    task->handle = output->handle;
    task->keys = (store_row *)calloc(output->keys_len, sizeof *task->keys);
    task->keys_len = output->keys_len;
    for (size_t i = 0; i < output->keys_len; i++) {
        memcpy(task->keys[i].key, output->keys[i].data, output->keys[i].len);
        task->keys[i].key_len = output->keys[i].len;
    }
}

static void remote_add_commit(remote_host *self, const milepost_output *output) {
    remote_task *task = &self->tasks[self->tasks_len++];
    memset(task, 0, sizeof *task);
    task->handle = output->handle;
    task->is_commit = 1;
    task->committed = store_commit(self->store, output->changes, output->changes_len, NULL) == 0;
}

static void remote_supply(remote_host *self, const remote_task *task) {
    static const uint8_t GARBAGE[] = "\377garbage";
    const store *rows = &remote_find(self, task->handle)->rows;
    milepost_row *found = (milepost_row *)calloc(task->keys_len + 1, sizeof *found);
    int fault = store_is_faulty(self->store) ? (int)self->store->fault : STORE_FAULTS;
    milepost_status_t status;
    for (size_t i = 0; i < task->keys_len && fault != STORE_FORGETS; i++) {
        const store_row *row = store_find(rows, task->keys[i].key, task->keys[i].key_len);
        if (row != NULL || fault == STORE_GARBAGE) {
            found[i].present = 1;
            found[i].bytes.data = fault == STORE_GARBAGE ? GARBAGE : row->row;
            found[i].bytes.len = fault == STORE_GARBAGE ? sizeof GARBAGE - 1 : row->row_len;
        }
    }
    if (fault == STORE_TOO_FEW || fault == STORE_TOO_MANY) {
        size_t len = fault == STORE_TOO_FEW ? task->keys_len - 1 : task->keys_len + 1;
        status = milepost_endpoint_handle_rows(self->endpoint, task->handle, found, len, NULL);
        remote_expect(status, MILEPOST_STATUS_USAGE, "a wrong number of rows");
    }
    if (fault == STORE_FAILS) {
        status = milepost_endpoint_fail_rows(self->endpoint, task->handle, GARBAGE, 8, NULL);
    } else {
        status = milepost_endpoint_handle_rows(self->endpoint, task->handle, found, task->keys_len,
                                               NULL);
    }
    remote_expect(status, MILEPOST_STATUS_OK, "handle_rows or fail_rows");
    if (fault == STORE_REENTERS) {
        status = milepost_endpoint_handle_rows(self->endpoint, task->handle, found, task->keys_len,
                                               NULL);
        remote_expect(status, MILEPOST_STATUS_USAGE, "rows that were supplied before");
    }
    free(found);
}

static void remote_serve(remote_host *self) {
    size_t index = remote_random(self, self->tasks_len);
    remote_task task = self->tasks[index];
    self->tasks[index] = self->tasks[--self->tasks_len];
    if (task.is_commit) {
        const char *reason = task.committed ? "" : "the disk is full";
        remote_expect(
            milepost_endpoint_handle_commit_result(self->endpoint, task.handle, task.committed,
                                                   (const uint8_t *)reason, strlen(reason), NULL),
            MILEPOST_STATUS_OK, "handle_commit_result");
    } else {
        remote_supply(self, &task);
        free(task.keys);
    }
}

/* Returns a response, a request that waits, or the end of another operation; once nothing is left
 * to serve, MILEPOST_OUTPUT_TIMEOUT */
static milepost_output remote_next(remote_host *self) {
    for (;;) {
        milepost_output output = {.size = sizeof output};
        if (self->tasks_len == REMOTE_MAX ||
            (self->tasks_len != 0 && remote_random(self, 2) == 0)) {
            remote_serve(self);
            continue;
        }
        remote_expect(milepost_endpoint_poll_output(self->endpoint, &output, NULL),
                      MILEPOST_STATUS_OK, "poll_output");
        switch (output.kind) {
            case MILEPOST_OUTPUT_NEED_ROWS:
                remote_add_rows(self, &output);
                break;
            case MILEPOST_OUTPUT_COMMIT:
                remote_add_commit(self, &output);
                break;
            case MILEPOST_OUTPUT_TIMEOUT:
                if (self->tasks_len == 0) {
                    remote_expect(self->snapshots_len == 0, 1, "an evaluation did not end");
                    return output;
                }
                break;
            default:
                remote_release(self, output.handle);
                return output;
        }
    }
}

#endif
