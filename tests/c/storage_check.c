/*
 * Runs the conformance check on storages of the host: `storage_check good`, `storage_check many`
 * with get_many, `storage_check single` with single reads, and `storage_check broken`, which
 * ignores removals.
 */
#include <stdio.h>

#include "test_storage.h"

static int32_t commit_without_removals(void *context, const milepost_change *changes,
                                       size_t changes_len, milepost_sink *sink) {
    (void)sink;
    for (size_t i = 0; i < changes_len; i++) {
        if (changes[i].kind != MILEPOST_CHANGE_REMOVE) {
            store_put((store *)context, &changes[i]);
        }
    }
    return 0;
}

/* What is no snapshot: it changes with the next commit */
static int32_t open_storage_itself(void *context, void **snapshot, milepost_sink *sink) {
    (void)sink;
    *snapshot = context;
    return 0;
}

static void close_nothing(void *context, void *snapshot) { (void)context, (void)snapshot; }

static size_t created;
static size_t finalized;

static void finalize(void *context) {
    store_finalize(context);
    store_clear((store *)context);
    free(context);
    finalized++;
}

static int32_t create(void *context, milepost_storage *storage, milepost_sink *sink) {
    const char *mode = (const char *)context;
    store *fresh = (store *)calloc(1, sizeof *fresh);
    if (fresh == NULL || strcmp(mode, "none") == 0) {
        milepost_sink_fail(sink, (const uint8_t *)"no memory", 9);
        free(fresh);
        return 1;
    }
    created++;
    *storage = store_functions(fresh, strcmp(mode, "many") == 0);
    storage->finalize = finalize;
    if (strcmp(mode, "single") == 0) {
        storage->isolation = MILEPOST_ISOLATION_READ_COMMITTED;
    }
    if (strcmp(mode, "snapshots") == 0) {
        storage->snapshot_open = store_snapshot_open;
        storage->snapshot_close = store_snapshot_close;
    }
    if (strcmp(mode, "same") == 0) {
        storage->snapshot_open = open_storage_itself;
        storage->snapshot_close = close_nothing;
    }
    if (strcmp(mode, "broken") == 0) {
        storage->commit = commit_without_removals;
    }
    return 0;
}

int main(int argc, char **argv) {
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    char *mode = argc > 1 ? argv[1] : (char *)"good";
    milepost_status_t status = milepost_storage_check(create, mode, &error);
    if (status != MILEPOST_STATUS_OK && milepost_error_read(error, &view) == MILEPOST_STATUS_OK) {
        printf("%.*s\n", (int)view.message.len, (const char *)view.message.data);
    }
    milepost_error_free(error);
    if (created == 0 || created != finalized) {
        printf("%zu storages were created and %zu were finalized\n", created, finalized);
        return 100;
    }
    return status;
}
