/*
 * Watches a transaction while blocks are imported, and prints each of its states as JSON.
 *
 *     cc watch.c -lmilepost && ./a.out hash block.json...
 *
 * Ends at the final state. Nothing waits here: a host polls after each call that hands something
 * in, from its own loop. States that were not polled in between are left out.
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

/* Prints what the watch reports; `is_over` is 1 after its last event */
static milepost_status_t print_events(milepost_endpoint *endpoint, int *is_over,
                                      milepost_error **error) {
    milepost_output output;
    milepost_status_t status;
    do {
        output = (milepost_output){.size = sizeof output};
        status = milepost_endpoint_poll_output(endpoint, &output, error);
        if (status != MILEPOST_STATUS_OK) {
            return status;
        }
        if (output.kind == MILEPOST_OUTPUT_FAILED) {
            *error = output.error; /* The watch has ended. */
            return MILEPOST_STATUS_STORAGE;
        }
        if (output.kind == MILEPOST_OUTPUT_WATCH) {
            milepost_bytes text = output.compact_status;
            printf("%s%.*s\n", output.watch_event == MILEPOST_WATCH_UN_INCLUDED ? "reverted: " : "",
                   (int)text.len, (const char *)text.data);
            *is_over = output.watch_event == MILEPOST_WATCH_REACHED ||
                       output.watch_event == MILEPOST_WATCH_FORGOTTEN;
        }
    } while (output.kind != MILEPOST_OUTPUT_TIMEOUT);
    return MILEPOST_STATUS_OK;
}

int main(int argc, char **argv) {
    milepost_engine *engine = NULL;
    milepost_endpoint *endpoint = NULL;
    milepost_error *error = NULL;
    milepost_hash hash;
    milepost_status_t status;
    uint64_t watch, block;
    uint8_t *text;
    size_t len;
    int is_over = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s hash [block.json...]\n", argv[0]);
        return 1;
    }
    status = milepost_hash_parse((const uint8_t *)argv[1], strlen(argv[1]), &hash, &error);
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_engine_new(NULL, &engine, &error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_endpoint_new(engine, NULL, &endpoint, &error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status =
            milepost_endpoint_watch(endpoint, &hash, MILEPOST_MILESTONE_FINAL, 0, &watch, &error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = print_events(endpoint, &is_over, &error);
    }
    for (int i = 2; i < argc && status == MILEPOST_STATUS_OK && !is_over; i++) {
        text = read_file(argv[i], &len);
        if (text == NULL) {
            status = MILEPOST_STATUS_STORAGE;
            break;
        }
        status = milepost_endpoint_handle_block(endpoint, text, len, &block, NULL, &error);
        free(text);
        if (status == MILEPOST_STATUS_OK) {
            status = print_events(endpoint, &is_over, &error);
        }
    }
    milepost_endpoint_free(endpoint);
    milepost_engine_free(engine);
    return report(status, error);
}
