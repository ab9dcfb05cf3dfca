/*
 * Imports blocks into the embedded database, then answers a request from it.
 *
 *     cc store.c -lmilepost && ./a.out rows.redb request.json [block.json...]
 *
 * The file keeps the blocks: the next run can answer without importing any.
 */
#include <milepost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a file whole, whatever its size; NULL if it cannot be read */
static uint8_t *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL, *grown;
    size_t size = 0, got = 1;
    for (*len = 0; file != NULL && got != 0; *len += got) {
        if (*len == size) {
            size += 1 << 20;
            grown = (uint8_t *)realloc(bytes, size);
            if (grown == NULL) {
                break;
            }
            bytes = grown;
        }
        got = fread(bytes + *len, 1, size - *len, file);
    }
    if (file == NULL || got != 0 || ferror(file)) {
        perror(path);
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

static int report(milepost_status_t status, milepost_error *error) {
    milepost_error_view why = {.size = sizeof why};
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
    uint8_t *text;
    size_t len;
    if (argc < 3) {
        fprintf(stderr, "usage: %s rows.redb request.json [block.json...]\n", argv[0]);
        return 1;
    }
    status = milepost_engine_open((const uint8_t *)argv[1], strlen(argv[1]), NULL, &engine, &error);
    if (status != MILEPOST_STATUS_OK) {
        return report(status, error);
    }
    /* The blocks first, then the request */
    for (int i = 3; i <= argc; i++) {
        text = read_file(argv[i < argc ? i : 2], &len);
        if (text == NULL) {
            milepost_engine_free(engine);
            return 1;
        }
        if (i < argc) {
            status = milepost_engine_import_block(engine, text, len, NULL, &error);
        } else {
            status = milepost_engine_respond(engine, text, len, NULL, 0, &response, &error);
        }
        free(text);
        if (status != MILEPOST_STATUS_OK) {
            milepost_engine_free(engine);
            return report(status, error);
        }
    }
    if (milepost_response_body(response, &body, NULL) == MILEPOST_STATUS_OK) {
        fwrite(body.data, 1, body.len, stdout);
    }
    milepost_response_free(response);
    milepost_engine_free(engine);
    return 0;
}
