/*
 * Checks storages of a host's: `check good`, `check many`, and `check broken`, which forgets what is removed too late.
 */
#include <stdio.h>

#include "store.h"

static int32_t keep_removed(void *context, const milepost_change *changes, size_t changes_len) {
    for (size_t i = 0; i < changes_len; i++) {
        if (changes[i].kind != MILEPOST_CHANGE_REMOVE) {
            store_put((store *)context, &changes[i]);
        }
    }
    return 0;
}

static size_t made;
static size_t ended;

static void end(void *context) {
    store_finalize(context);
    store_clear((store *)context);
    free(context);
    ended++;
}

static int32_t make(void *context, milepost_storage *storage) {
    const char *mode = (const char *)context;
    store *fresh = (store *)calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return 1;
    }
    made++;
    *storage = store_functions(fresh, strcmp(mode, "many") == 0);
    storage->finalize = end;
    if (strcmp(mode, "broken") == 0) {
        storage->commit = keep_removed;
    }
    return 0;
}

int main(int argc, char **argv) {
    milepost_error *error;
    milepost_detail detail;
    milepost_status_t status = milepost_storage_check(make, argc > 1 ? argv[1] : (char *)"good", &error);
    if (status != MILEPOST_STATUS_OK && milepost_error_read(error, &detail) == MILEPOST_STATUS_OK) {
        printf("%.*s\n", (int)detail.message.len, (const char *)detail.message.data);
    }
    milepost_error_free(error);
    if (made == 0 || made != ended) {
        printf("%zu storages were made and %zu were ended\n", made, ended);
        return 100;
    }
    return status;
}
