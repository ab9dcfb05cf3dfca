/*
 * A storage of the host: rows in memory, in the order of their keys.
 *
 * It can inject a fault at its n-th call, to test how the library handles a faulty storage.
 */
#ifndef MILEPOST_TESTS_TEST_STORAGE_H
#define MILEPOST_TESTS_TEST_STORAGE_H

#include <stdlib.h>
#include <string.h>

#include "milepost.h"

typedef struct store_row {
    uint8_t key[33];
    size_t key_len;
    uint8_t *row;
    size_t row_len;
} store_row;

/* What a faulty call does */
typedef enum store_fault {
    STORE_FAILS,    /* returns a number that is not 0 */
    STORE_GARBAGE,  /* passes a row that the engine did not write */
    STORE_FORGETS,  /* reports rows as absent, or commits nothing */
    STORE_TOO_FEW,  /* passes no row */
    STORE_TOO_MANY, /* passes one row more */
    STORE_REENTERS, /* calls the library */
    STORE_FAULTS
} store_fault;

typedef struct store {
    store_row *rows;
    size_t len;
    size_t capacity;
    size_t *shared;  /* number of other stores with the same rows; NULL before the first */
    size_t calls;    /* so far */
    size_t fault_at; /* number of the faulty call, from 1; 0 for none */
    store_fault fault;
    void (*reenter)(void *context);
    void *reenter_context;
    size_t finalized;
} store;

/* The number of rows before this key */
static size_t store_position(const store *self, const uint8_t *key, size_t key_len) {
    size_t from = 0, to = self->len;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const store_row *row = &self->rows[middle];
        int order = memcmp(row->key, key, row->key_len < key_len ? row->key_len : key_len);
        if (order < 0 || (order == 0 && row->key_len < key_len)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static store_row *store_find(const store *self, const uint8_t *key, size_t key_len) {
    size_t position = store_position(self, key, key_len);
    store_row *row;
    if (position == self->len) {
        return NULL;
    }
    row = &self->rows[position];
    return row->key_len == key_len && memcmp(row->key, key, key_len) == 0 ? row : NULL;
}

static int store_is_faulty(store *self) {
    self->calls++;
    return self->calls == self->fault_at;
}

static void store_pass_row(const store *self, milepost_bytes key, milepost_sink *sink) {
    const store_row *row = store_find(self, key.data, key.len);
    if (key.len < 2 || key.len > 33 || key.data[0] > 9) {
        abort(); /* A key is the number of its table, then 1 to 32 bytes. */
    }
    if (row != NULL) {
        milepost_sink_row(sink, row->row, row->row_len);
    } else {
        milepost_sink_absent(sink);
    }
}

static int32_t store_get_many(void *context, const milepost_bytes *keys, size_t keys_len,
                              milepost_sink *sink) {
    store *self = (store *)context;
    if (store_is_faulty(self)) {
        switch (self->fault) {
            case STORE_FAILS:
                return 7;
            case STORE_GARBAGE:
                for (size_t i = 0; i < keys_len; i++) {
                    milepost_sink_row(sink, (const uint8_t *)"\377garbage", 8);
                }
                return 0;
            case STORE_FORGETS:
                for (size_t i = 0; i < keys_len; i++) {
                    milepost_sink_absent(sink);
                }
                return 0;
            case STORE_TOO_FEW:
                return 0;
            case STORE_TOO_MANY:
                for (size_t i = 0; i <= keys_len; i++) {
                    milepost_sink_absent(sink);
                }
                break;
            case STORE_REENTERS:
                self->reenter(self->reenter_context);
                break;
            case STORE_FAULTS:
                break;
        }
    }
    for (size_t i = 0; i < keys_len; i++) {
        store_pass_row(self, keys[i], sink);
    }
    return 0;
}

static int32_t store_get(void *context, const uint8_t *key, size_t key_len, milepost_sink *sink) {
    milepost_bytes one = {key, key_len};
    return store_get_many(context, &one, 1, sink);
}

/* Adds a row whose key is new */
static void store_insert(store *self, const milepost_change *change) {
    size_t position = store_position(self, change->key.data, change->key.len);
    store_row *row;
    if (self->len == self->capacity) {
        self->capacity = self->capacity == 0 ? 64 : self->capacity * 2;
        self->rows = (store_row *)realloc(self->rows, self->capacity * sizeof *self->rows);
    }
    row = &self->rows[position];
    memmove(row + 1, row, (self->len - position) * sizeof *row);
    self->len++;
    memcpy(row->key, change->key.data, change->key.len);
    row->key_len = change->key.len;
    row->row = (uint8_t *)malloc(change->row.len + 1);
    memcpy(row->row, change->row.data, change->row.len);
    row->row_len = change->row.len;
}

/* Leaves the rows to the stores that share them; 0 if there is none */
static int store_leave(store *self) {
    if (self->shared == NULL || *self->shared == 0) {
        return 0;
    }
    --*self->shared;
    return 1;
}

/* Copies the rows if another store has them too */
static void store_unshare(store *self) {
    store_row *rows = self->rows;
    size_t len = self->len;
    if (!store_leave(self)) {
        return;
    }
    self->rows = NULL;
    self->shared = NULL;
    self->len = self->capacity = 0;
    for (size_t i = 0; i < len; i++) {
        milepost_change change = {
            {rows[i].key, rows[i].key_len}, {rows[i].row, rows[i].row_len}, 1};
        store_insert(self, &change);
    }
}

static void store_put(store *self, const milepost_change *change) {
    store_row *row = store_find(self, change->key.data, change->key.len);
    if (row != NULL) {
        free(row->row);
        self->len--;
        memmove(row, row + 1, (size_t)(self->rows + self->len - row) * sizeof *row);
    }
    if (change->kind == MILEPOST_CHANGE_PUT) {
        store_insert(self, change);
    }
}

static int32_t store_commit(void *context, const milepost_change *changes, size_t changes_len,
                            milepost_sink *sink) {
    store *self = (store *)context;
    static const char full[] = "the disk is full";
    if (store_is_faulty(self)) {
        if (self->fault == STORE_FAILS) {
            /* There is no sink if an endpoint without an engine asks for the commit. */
            milepost_sink_fail(sink, (const uint8_t *)full, sizeof full - 1);
            return -7;
        }
        if (self->fault == STORE_FORGETS) {
            return 0;
        }
        if (self->fault == STORE_REENTERS) {
            self->reenter(self->reenter_context);
        }
    }
    store_unshare(self);
    for (size_t i = 0; i < changes_len; i++) {
        store_put(self, &changes[i]);
    }
    return 0;
}

/* Keeps the rows: the owner of the store clears it */
static void store_finalize(void *context) { ((store *)context)->finalized++; }

static void store_clear(store *self) {
    if (!store_leave(self)) {
        for (size_t i = 0; i < self->len; i++) {
            free(self->rows[i].row);
        }
        free(self->rows);
        free(self->shared);
    }
    memset(self, 0, sizeof *self);
}

static inline milepost_storage store_functions(store *self, int with_get_many) {
    milepost_storage storage;
    memset(&storage, 0, sizeof storage);
    storage.size = sizeof storage;
    storage.context = self;
    storage.get = store_get;
    storage.get_many = with_get_many ? store_get_many : NULL;
    storage.commit = store_commit;
    storage.finalize = store_finalize;
    return storage;
}

/* The rows of now in another store, which later commits do not change */
static inline store store_share(store *self) {
    store other;
    if (self->shared == NULL) {
        self->shared = (size_t *)calloc(1, sizeof *self->shared);
    }
    ++*self->shared;
    memset(&other, 0, sizeof other);
    other.rows = self->rows;
    other.len = self->len;
    other.shared = self->shared;
    return other;
}

static inline int32_t store_snapshot_open(void *context, void **snapshot, milepost_sink *sink) {
    store *other = (store *)malloc(sizeof *other);
    (void)sink;
    *other = store_share((store *)context);
    *snapshot = other;
    return 0;
}

static inline void store_snapshot_close(void *context, void *snapshot) {
    (void)context;
    store_clear((store *)snapshot);
    free(snapshot);
}

#endif
