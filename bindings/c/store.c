/*
 * Imports blocks into the embedded database, then answers a request from it.
 *
 *     cc store.c -lmilepost && ./a.out rows.redb request.json [block.json...]
 *
 * The file keeps the blocks: the next run can answer without importing any.
 */
#include <milepost.h>
#include <stdio.h>
#include <string.h>

static uint8_t text[1 << 20];

static int read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 0;
    }
    *len = fread(text, 1, sizeof text, file);
    fclose(file);
    return 1;
}

static int report(milepost_status_t status, milepost_error *error) {
    milepost_error_view why;
    if (milepost_error_read(error, &why) == MILEPOST_STATUS_OK) {
        fprintf(stderr, "%.*s\n", (int)why.message.len, (const char *)why.message.data);
    }
    milepost_error_free(error);
    return (int)status;
}

int main(int argc, char **argv) {
    milepost_engine *engine;
    milepost_response *response;
    milepost_error *error;
    milepost_bytes body;
    milepost_status_t status;
    size_t len;
    if (argc < 3) {
        fprintf(stderr, "usage: %s rows.redb request.json [block.json...]\n", argv[0]);
        return 1;
    }
    status = milepost_engine_open((const uint8_t *)argv[1], strlen(argv[1]), NULL, &engine, &error);
    if (status != MILEPOST_STATUS_OK) {
        return report(status, error);
    }
    for (int i = 3; i < argc; i++) {
        if (!read_file(argv[i], &len)) {
            break;
        }
        status = milepost_engine_import_block(engine, text, len, NULL, &error);
        if (status != MILEPOST_STATUS_OK) {
            milepost_engine_free(engine);
            return report(status, error);
        }
    }
    if (read_file(argv[2], &len)) {
        status = milepost_engine_respond(engine, text, len, NULL, 0, &response, &error);
        if (status != MILEPOST_STATUS_OK) {
            milepost_engine_free(engine);
            return report(status, error);
        }
        if (milepost_response_body(response, &body) == MILEPOST_STATUS_OK) {
            fwrite(body.data, 1, body.len, stdout);
        }
        milepost_response_free(response);
    }
    milepost_engine_free(engine);
    return 0;
}
