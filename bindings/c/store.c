/*
 * Answers a request over the embedded store: cc store.c -lmilepost && ./a.out rows.redb request.json [block.json...]
 *
 * The blocks are taken into the file, which keeps them for the next run: then the request alone is enough.
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

static int tell(milepost_status_t status, milepost_error *error) {
    milepost_detail why;
    if (milepost_error_read(error, &why) == MILEPOST_STATUS_OK) {
        fprintf(stderr, "%.*s\n", (int)why.message.len, (const char *)why.message.data);
    }
    milepost_error_free(error);
    return (int)status;
}

int main(int argc, char **argv) {
    milepost_engine *engine;
    milepost_answer *answer;
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
        return tell(status, error);
    }
    for (int i = 3; i < argc; i++) {
        if (!read_file(argv[i], &len)) {
            break;
        }
        status = milepost_engine_ingest(engine, text, len, NULL, &error);
        if (status != MILEPOST_STATUS_OK) {
            milepost_engine_free(engine);
            return tell(status, error);
        }
    }
    if (read_file(argv[2], &len)) {
        status = milepost_engine_answer(engine, text, len, NULL, 0, &answer, &error);
        if (status != MILEPOST_STATUS_OK) {
            milepost_engine_free(engine);
            return tell(status, error);
        }
        if (milepost_answer_body(answer, &body) == MILEPOST_STATUS_OK) {
            fwrite(body.data, 1, body.len, stdout);
        }
        milepost_answer_free(answer);
    }
    milepost_engine_free(engine);
    return 0;
}
