/*
 * An archive of the host: an array of rows, sorted by key and content, behind a lock.
 *
 * It can fail, and have one of some defects that the conformance check has to find.
 */
#ifndef MILEPOST_TESTS_TEST_ARCHIVE_H
#define MILEPOST_TESTS_TEST_ARCHIVE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "milepost.h"

typedef struct archive_row {
    uint8_t key[33];
    size_t key_len;
    uint8_t content[32];
    uint8_t *row;
    size_t row_len;
} archive_row;

typedef enum archive_defect {
    ARCHIVE_SOUND,
    ARCHIVE_OVERWRITES, /* keeps one row of each key */
    ARCHIVE_KEEPS,      /* removes nothing */
    ARCHIVE_FORGETS,    /* passes no rows */
    ARCHIVE_REPEATS,    /* scans from the start each time */
    ARCHIVE_WRONG_SINK, /* passes rows as a storage does */
    ARCHIVE_WRONG_KEY,  /* passes what is not a key */
    ARCHIVE_GARBAGE     /* passes other bytes than those that were put */
} archive_defect;

typedef struct archive {
    pthread_mutex_t lock;
    archive_row *rows;
    size_t len;
    size_t capacity;
    archive_defect defect;
    int fails_to_read;
    int fails_to_write;
    size_t calls;
    size_t fails_at; /* the number of a call that fails, from 1; 0 for none */
    size_t reads;    /* calls of get_many */
    size_t finalized;
} archive;

static inline void archive_new(archive *self) {
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
}

static inline int archive_compare_key(const archive_row *row, const uint8_t *key, size_t key_len) {
    int order = memcmp(row->key, key, row->key_len < key_len ? row->key_len : key_len);
    return order != 0 ? order : (row->key_len > key_len) - (row->key_len < key_len);
}

/* The index of the first row whose key is not below this one or, if `above`, is above it */
static inline size_t archive_bound(const archive *self, const uint8_t *key, size_t key_len,
                                   int above) {
    size_t low = 0, high = self->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = archive_compare_key(&self->rows[middle], key, key_len);
        if (order < 0 || (above && order == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether the call fails that begins now */
static inline int archive_is_faulty(archive *self, int fails) {
    self->calls++;
    return fails || self->calls == self->fails_at;
}

static inline int archive_fail(milepost_sink *sink) {
    static const char REASON[] = "the disk is gone";
    milepost_sink_fail(sink, (const uint8_t *)REASON, sizeof REASON - 1);
    return 3;
}

static inline void archive_pass(const archive *self, size_t at, milepost_sink *sink) {
    const archive_row *row = &self->rows[at];
    if (self->defect == ARCHIVE_WRONG_SINK) {
        milepost_sink_row(sink, row->row, row->row_len);
    } else if (self->defect == ARCHIVE_GARBAGE) {
        milepost_sink_entry(sink, row->key, row->key_len, (const uint8_t *)"\001garbage", 8);
    } else {
        size_t key_len = self->defect == ARCHIVE_WRONG_KEY ? 1 : row->key_len;
        milepost_sink_entry(sink, row->key, key_len, row->row, row->row_len);
    }
}

static inline int32_t archive_get_many(void *context, const milepost_bytes *keys, size_t keys_len,
                                       milepost_sink *sink) {
    archive *self = (archive *)context;
    int32_t status = 0;
    pthread_mutex_lock(&self->lock);
    self->reads++;
    if (archive_is_faulty(self, self->fails_to_read)) {
        status = archive_fail(sink);
    }
    for (size_t i = 0; i < keys_len && status == 0 && self->defect != ARCHIVE_FORGETS; i++) {
        size_t end = archive_bound(self, keys[i].data, keys[i].len, 1);
        for (size_t at = archive_bound(self, keys[i].data, keys[i].len, 0); at < end; at++) {
            archive_pass(self, at, sink);
        }
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}

static inline int32_t archive_scan(void *context, uint8_t table, const uint8_t *after,
                                   size_t after_len, size_t limit, milepost_sink *sink) {
    archive *self = (archive *)context;
    int32_t status = 0;
    size_t at;
    pthread_mutex_lock(&self->lock);
    if (archive_is_faulty(self, self->fails_to_read)) {
        status = archive_fail(sink);
    }
    /* The byte of the table alone is below all of its keys. */
    if (after_len == 0 || self->defect == ARCHIVE_REPEATS) {
        at = archive_bound(self, &table, 1, 0);
    } else {
        at = archive_bound(self, after, after_len, 1);
    }
    for (size_t passed = 0; status == 0 && passed < limit && at < self->len; passed++, at++) {
        if (self->rows[at].key[0] != table) {
            break;
        }
        archive_pass(self, at, sink);
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}

static inline void archive_remove(archive *self, milepost_bytes key) {
    size_t start = archive_bound(self, key.data, key.len, 0);
    size_t end = archive_bound(self, key.data, key.len, 1);
    if (start == end) {
        return;
    }
    for (size_t at = start; at < end; at++) {
        free(self->rows[at].row);
    }
    memmove(&self->rows[start], &self->rows[end], (self->len - end) * sizeof *self->rows);
    self->len -= end - start;
}

static inline void archive_put(archive *self, const milepost_archive_row *put) {
    size_t at = archive_bound(self, put->key.data, put->key.len, 0);
    archive_row *row;
    for (; at < self->len; at++) {
        row = &self->rows[at];
        if (archive_compare_key(row, put->key.data, put->key.len) != 0 ||
            memcmp(row->content, put->content.data, put->content.len) > 0) {
            break;
        }
        if (memcmp(row->content, put->content.data, put->content.len) == 0) {
            return;
        }
    }
    if (self->len == self->capacity) {
        self->capacity = self->capacity == 0 ? 64 : self->capacity * 2;
        self->rows = (archive_row *)realloc(self->rows, self->capacity * sizeof *self->rows);
    }
    row = &self->rows[at];
    memmove(row + 1, row, (self->len - at) * sizeof *row);
    self->len++;
    memcpy(row->key, put->key.data, put->key.len);
    row->key_len = put->key.len;
    memcpy(row->content, put->content.data, put->content.len);
    row->row = (uint8_t *)malloc(put->row.len + 1);
    memcpy(row->row, put->row.data, put->row.len);
    row->row_len = put->row.len;
}

static inline int32_t archive_write(archive *self, const milepost_archive_row *rows,
                                    size_t rows_len, int replaces, milepost_sink *sink) {
    int32_t status = 0;
    pthread_mutex_lock(&self->lock);
    if (archive_is_faulty(self, self->fails_to_write)) {
        status = archive_fail(sink);
        rows_len = replaces ? 0 : rows_len / 2; /* A part is written all the same. */
    }
    for (size_t i = 0; i < rows_len; i++) {
        if (rows[i].content.len != 32) {
            abort(); /* A format version and a hash. */
        }
        if (replaces || self->defect == ARCHIVE_OVERWRITES) {
            archive_remove(self, rows[i].key);
        }
        archive_put(self, &rows[i]);
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}

static inline int32_t archive_put_many(void *context, const milepost_archive_row *rows,
                                       size_t rows_len, milepost_sink *sink) {
    return archive_write((archive *)context, rows, rows_len, 0, sink);
}

static inline int32_t archive_replace_many(void *context, const milepost_archive_row *rows,
                                           size_t rows_len, milepost_sink *sink) {
    return archive_write((archive *)context, rows, rows_len, 1, sink);
}

static inline int32_t archive_remove_many(void *context, const milepost_bytes *keys,
                                          size_t keys_len, milepost_sink *sink) {
    archive *self = (archive *)context;
    int32_t status = 0;
    pthread_mutex_lock(&self->lock);
    if (archive_is_faulty(self, self->fails_to_write)) {
        status = archive_fail(sink);
    }
    for (size_t i = 0; i < keys_len && status == 0 && self->defect != ARCHIVE_KEEPS; i++) {
        archive_remove(self, keys[i]);
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* Keeps the rows: the owner of the archive clears it */
static inline void archive_finalize(void *context) { ((archive *)context)->finalized++; }

static inline void archive_clear(archive *self) {
    for (size_t i = 0; i < self->len; i++) {
        free(self->rows[i].row);
    }
    free(self->rows);
    pthread_mutex_destroy(&self->lock);
}

static inline milepost_archive archive_functions(archive *self) {
    milepost_archive functions;
    memset(&functions, 0, sizeof functions);
    functions.size = sizeof functions;
    functions.context = self;
    functions.get_many = archive_get_many;
    functions.scan = archive_scan;
    functions.put_many = archive_put_many;
    functions.replace_many = archive_replace_many;
    functions.remove_many = archive_remove_many;
#ifndef MEMBER_REMOVED
    functions.finalize = archive_finalize;
#endif
    return functions;
}

#endif
