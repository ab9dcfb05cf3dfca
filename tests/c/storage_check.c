/*
 * Runs the conformance check on storages of the host, each of which it has to finalize:
 * `storage_check good`, `storage_check many` with get_many, and `storage_check none`, which creates
 * none.
 */
#include <stdio.h>

#include "test_storage.h"

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
    if (created != finalized || (created == 0 && strcmp(mode, "none") != 0)) {
        printf("%zu storages were created and %zu were finalized\n", created, finalized);
        return 100;
    }
    return status;
}
