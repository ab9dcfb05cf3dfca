/*
 * Keeps finalized transactions in a file that only grows, and recent blocks in memory.
 *
 *     cc archive.c -lmilepost -lpthread && ./a.out rows.log request.json [block.json...]
 *
 * The next run can answer about old transactions without importing a block. The rows are a list in
 * memory, which the file is read into at the start: a database has the same five functions, each of
 * one statement, over a table with the primary key (key, content).
 */
#define _POSIX_C_SOURCE 200809L
#include <milepost.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum kind { PUT, REPLACE, REMOVE } kind;

typedef struct header { /* of a record in the file; then come the bytes */
    uint64_t kind, key_len, content_len, row_len;
} header;

typedef struct row {
    struct row *next;
    header header;
    uint8_t bytes[]; /* the key, the content, the row */
} row;

typedef struct archive {
    pthread_mutex_t lock;
    FILE *file;
    row *first;
} archive;

static size_t body_len(const header *of) { return of->key_len + of->content_len + of->row_len; }

static int compare(const uint8_t *left, size_t left_len, const uint8_t *right, size_t right_len) {
    int order = memcmp(left, right, left_len < right_len ? left_len : right_len);
    return order != 0 ? order : (left_len > right_len) - (left_len < right_len);
}

static int has_key(const row *it, const uint8_t *key, size_t key_len) {
    return it != NULL && compare(it->bytes, it->header.key_len, key, key_len) == 0;
}

/* The place of the first row whose key is not below this one; the list is sorted by key */
static row **find(archive *self, const uint8_t *key, size_t key_len) {
    row **at = &self->first;
    while (*at != NULL && compare((*at)->bytes, (*at)->header.key_len, key, key_len) < 0) {
        at = &(*at)->next;
    }
    return at;
}

/* Takes a record into the list */
static void apply(archive *self, row *record) {
    size_t key_len = record->header.key_len, content_len = record->header.content_len;
    row **at = find(self, record->bytes, key_len), *it;
    while (record->header.kind != PUT && has_key(it = *at, record->bytes, key_len)) {
        *at = it->next;
        free(it);
    }
    while (has_key(it = *at, record->bytes, key_len) &&
           memcmp(it->bytes + key_len, record->bytes + key_len, content_len) != 0) {
        at = &it->next;
    }
    if (record->header.kind == REMOVE || has_key(*at, record->bytes, key_len)) {
        free(record); /* There is such a row already. */
    } else {
        record->next = *at;
        *at = record;
    }
}

static row *new_record(kind kind, milepost_bytes key, milepost_bytes content,
                       milepost_bytes value) {
    row *record = (row *)malloc(sizeof *record + key.len + content.len + value.len);
    if (record != NULL) {
        record->header = (header){kind, key.len, content.len, value.len};
        memcpy(record->bytes, key.data, key.len);
        if (kind != REMOVE) {
            memcpy(record->bytes + key.len, content.data, content.len);
            memcpy(record->bytes + key.len + content.len, value.data, value.len);
        }
    }
    return record;
}

static int32_t fail(milepost_sink *sink) {
    static const char reason[] = "the file cannot be written";
    (void)milepost_sink_fail(sink, (const uint8_t *)reason, sizeof reason - 1);
    return 1;
}

/* Writes a record; the list gets it at once, because a call that fails may have done a part */
static int write_record(archive *self, row *record) {
    const header *header;
    if (record == NULL) {
        return 0;
    }
    header = &record->header;
    if (fwrite(header, sizeof *header, 1, self->file) != 1 ||
        fwrite(record->bytes, 1, body_len(header), self->file) != body_len(header)) {
        free(record);
        return 0;
    }
    apply(self, record);
    return 1;
}

static int is_durable(archive *self) {
    return fflush(self->file) == 0 && fsync(fileno(self->file)) == 0;
}

static int32_t write_rows(archive *self, kind kind, const milepost_archive_row *rows, size_t len,
                          milepost_sink *sink) {
    int written = 1;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < len && written; i++) {
        written = write_record(self, new_record(kind, rows[i].key, rows[i].content, rows[i].row));
    }
    written = written && is_durable(self);
    pthread_mutex_unlock(&self->lock);
    return written ? 0 : fail(sink);
}

static int32_t put_many(void *self, const milepost_archive_row *rows, size_t len,
                        milepost_sink *sink) {
    return write_rows((archive *)self, PUT, rows, len, sink);
}

static int32_t replace_many(void *self, const milepost_archive_row *rows, size_t len,
                            milepost_sink *sink) {
    return write_rows((archive *)self, REPLACE, rows, len, sink);
}

static int32_t remove_many(void *context, const milepost_bytes *keys, size_t len,
                           milepost_sink *sink) {
    archive *self = (archive *)context;
    const milepost_bytes none = {NULL, 0};
    int written = 1;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < len && written; i++) {
        written = write_record(self, new_record(REMOVE, keys[i], none, none));
    }
    written = written && is_durable(self);
    pthread_mutex_unlock(&self->lock);
    return written ? 0 : fail(sink);
}

static void pass(const row *it, milepost_sink *sink) {
    const header *header = &it->header;
    (void)milepost_sink_entry(sink, it->bytes, header->key_len,
                              it->bytes + header->key_len + header->content_len, header->row_len);
}

static int32_t get_many(void *context, const milepost_bytes *keys, size_t len,
                        milepost_sink *sink) {
    archive *self = (archive *)context;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < len; i++) {
        const row *it = *find(self, keys[i].data, keys[i].len);
        for (; has_key(it, keys[i].data, keys[i].len); it = it->next) {
            pass(it, sink);
        }
    }
    pthread_mutex_unlock(&self->lock);
    return 0;
}

static int32_t scan(void *context, uint8_t table, const uint8_t *after, size_t after_len,
                    size_t limit, milepost_sink *sink) {
    archive *self = (archive *)context;
    const row *it;
    pthread_mutex_lock(&self->lock);
    it = after_len == 0 ? *find(self, &table, 1) : *find(self, after, after_len);
    while (after_len != 0 && has_key(it, after, after_len)) {
        it = it->next;
    }
    for (; it != NULL && it->bytes[0] == table && limit != 0; it = it->next, limit--) {
        pass(it, sink);
    }
    pthread_mutex_unlock(&self->lock);
    return 0;
}

/* Reads the file; what follows its last whole record was not written to its end, and is cut off */
static int read_records(archive *self, const char *path) {
    header header;
    row *record;
    off_t end = 0;
    self->file = fopen(path, "a+b");
    if (self->file == NULL || fseeko(self->file, 0, SEEK_SET) != 0) {
        return 0;
    }
    while (fread(&header, sizeof header, 1, self->file) == 1) {
        record = (row *)malloc(sizeof *record + body_len(&header));
        if (record == NULL) {
            return 0;
        }
        record->header = header;
        if (fread(record->bytes, 1, body_len(&header), self->file) != body_len(&header)) {
            free(record);
            break;
        }
        apply(self, record);
        end = ftello(self->file);
    }
    return !ferror(self->file) && ftruncate(fileno(self->file), end) == 0 &&
           fseeko(self->file, 0, SEEK_END) == 0;
}

static void finalize(void *context) {
    archive *self = (archive *)context;
    for (row *next; self->first != NULL; self->first = next) {
        next = self->first->next;
        free(self->first);
    }
    if (self->file != NULL) {
        fclose(self->file);
    }
}

static uint8_t *read_file(const char *path, size_t *len) { /* all of it: blocks have any size */
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    *len = 0;
    while (file != NULL && !feof(file) && !ferror(file)) {
        bytes = (uint8_t *)realloc(bytes, *len + 65536);
        *len += bytes == NULL ? 0 : fread(bytes + *len, 1, 65536, file);
    }
    if (file == NULL || bytes == NULL || ferror(file)) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

/* An engine that keeps some blocks in memory, and all finalized transactions in this archive */
static milepost_status_t new_engine(archive *self, milepost_engine **engine,
                                    milepost_error **error) {
    milepost_archive functions = {.size = sizeof functions,
                                  .context = self,
                                  .get_many = get_many,
                                  .scan = scan,
                                  .put_many = put_many,
                                  .replace_many = replace_many,
                                  .remove_many = remove_many,
                                  .finalize = finalize};
    milepost_settings *settings;
    milepost_status_t status = milepost_settings_new(&settings, error);
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_settings_set(settings, MILEPOST_SETTING_RETENTION_BLOCKS, 100, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_settings_set_archive(settings, &functions, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_engine_new(settings, engine, error);
    }
    milepost_settings_free(settings);
    return status;
}

int main(int argc, char **argv) {
    static archive archive = {.lock = PTHREAD_MUTEX_INITIALIZER};
    milepost_engine *engine = NULL;
    milepost_response *response;
    milepost_error *error = NULL;
    milepost_error_view why = {.size = sizeof why};
    milepost_bytes body;
    milepost_status_t status;
    if (argc < 3) {
        fprintf(stderr, "usage: %s rows.log request.json [block.json...]\n", argv[0]);
        return 1;
    }
    if (!read_records(&archive, argv[1])) {
        perror(argv[1]);
        return 1;
    }
    status = new_engine(&archive, &engine, &error);
    /* The blocks first, then the request */
    for (int i = 3; i <= argc && status == MILEPOST_STATUS_OK; i++) {
        size_t len;
        uint8_t *text = read_file(argv[i < argc ? i : 2], &len);
        if (i < argc) {
            status = milepost_engine_import_block(engine, text, len, NULL, &error);
        } else {
            status = milepost_engine_respond(engine, text, len, NULL, 0, &response, &error);
        }
        free(text);
    }
    if (status == MILEPOST_STATUS_OK) {
        if (milepost_response_body(response, &body, NULL) == MILEPOST_STATUS_OK) {
            fwrite(body.data, 1, body.len, stdout);
        }
        milepost_response_free(response);
    } else if (milepost_error_read(error, &why) == MILEPOST_STATUS_OK) {
        fprintf(stderr, "%.*s\n", (int)why.message.len, (const char *)why.message.data);
    }
    milepost_error_free(error);
    milepost_engine_free(engine);
    return status;
}
