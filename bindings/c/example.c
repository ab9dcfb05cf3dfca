/* Answers from its own storage: cc example.c -lmilepost && ./a.out request.json block.json... */
#include <milepost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row { /* A list, newest first. A database needs the same two functions. */
    struct row *next;
    size_t key_len, len, removed;
    uint8_t bytes[]; /* the key, then the row */
} row;

static int32_t get(void *rows, const uint8_t *key, size_t key_len, milepost_sink *sink) {
    row *it = *(row **)rows;
    while (it && (it->key_len != key_len || memcmp(it->bytes, key, key_len) != 0)) it = it->next;
    if (it == NULL || it->removed) return milepost_sink_absent(sink);
    return milepost_sink_row(sink, it->bytes + key_len, it->len);
}

static int32_t commit(void *rows, const milepost_change *all, size_t len, milepost_sink *sink) {
    for (size_t i = 0; i < len; i++) { /* All are applied, or none: a real storage rolls back. */
        milepost_bytes key = all[i].key, value = all[i].row;
        row *it = malloc(sizeof *it + key.len + value.len);
        if (it == NULL) return milepost_sink_fail(sink, (const uint8_t *)"no memory", 9), 1;
        *it = (row){*(row **)rows, key.len, value.len, all[i].kind == MILEPOST_CHANGE_REMOVE};
        memcpy(it->bytes, key.data, key.len);
        if (value.len != 0) memcpy(it->bytes + key.len, value.data, value.len);
        *(row **)rows = it;
    }
    return 0;
}

static uint8_t *read_file(const char *path, size_t *len) { /* all of it: blocks have any size */
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    for (*len = 0; file && !feof(file) && !ferror(file) && (bytes = realloc(bytes, *len + 65536));)
        *len += fread(bytes + *len, 1, 65536, file);
    return bytes && !ferror(file) && !fclose(file) ? bytes : (perror(path), exit(1), bytes);
}

int main(int argc, char **argv) {
    size_t len, request_len;
    row *rows = NULL;
    milepost_storage store = {.size = sizeof store, .context = &rows, .get = get, .commit = commit};
    milepost_engine *engine;
    milepost_response *response;
    milepost_error *error = NULL;
    milepost_error_view why = {.size = sizeof why};
    milepost_bytes body;
    uint8_t *block, *request = read_file(argc > 1 ? argv[1] : "", &request_len);
    milepost_status_t status = milepost_engine_new_over(&store, NULL, &engine, &error);
    for (int i = 2; i < argc && status == MILEPOST_STATUS_OK; i++, free(block))
        block = read_file(argv[i], &len),
        status = milepost_engine_import_block(engine, block, len, NULL, &error);
    if (status == MILEPOST_STATUS_OK)
        status = milepost_engine_respond(engine, request, request_len, NULL, 0, &response, &error);
    if (status == MILEPOST_STATUS_OK && milepost_response_body(response, &body, NULL) == 0)
        fwrite(body.data, 1, body.len, stdout), milepost_response_free(response);
    else if (milepost_error_read(error, &why) == MILEPOST_STATUS_OK)
        fprintf(stderr, "%.*s\n", (int)why.message.len, (const char *)why.message.data);
    free(request), milepost_error_free(error), milepost_engine_free(engine);
    for (row *next; rows != NULL; rows = next) next = rows->next, free(rows);
    return status;
}
