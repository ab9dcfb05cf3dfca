/*
 * Runs the conformance check on archives of the host: `archive_check 0` on one that is sound, and
 * `archive_check N` on one with the defect of this number. `archive_check none` creates none.
 */
#include <stdio.h>

#include "test_archive.h"

static size_t created;
static size_t finalized;

static void finalize(void *context) {
    archive_clear((archive *)context);
    free(context);
    finalized++;
}

static int32_t create(void *context, milepost_archive *functions, milepost_sink *sink) {
    const char *defect = (const char *)context;
    archive *fresh = (archive *)malloc(sizeof *fresh);
    if (fresh == NULL || strcmp(defect, "none") == 0) {
        milepost_sink_fail(sink, (const uint8_t *)"no memory", 9);
        free(fresh);
        return 1;
    }
    created++;
    archive_new(fresh);
    fresh->defect = (archive_defect)atoi(defect);
    *functions = archive_functions(fresh);
    functions->finalize = finalize;
    return 0;
}

int main(int argc, char **argv) {
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    char *defect = argc > 1 ? argv[1] : (char *)"0";
    milepost_status_t status = milepost_archive_check(create, defect, &error);
    if (status != MILEPOST_STATUS_OK && milepost_error_read(error, &view) == MILEPOST_STATUS_OK) {
        printf("%.*s\n", (int)view.message.len, (const char *)view.message.data);
    }
    milepost_error_free(error);
    if (created != finalized || (created == 0 && strcmp(defect, "none") != 0)) {
        printf("%zu archives were created and %zu were finalized\n", created, finalized);
        return 100;
    }
    return status;
}
