/*
 * Runs the conformance check on a storage with one of the defects of docs/CONFORMANCE.md:
 * `broken_storages DEFECT ISOLATION RUNS` prints how many of the runs refused it, and why.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "milepost.h"

#define BUCKETS 1024

typedef struct row {
    struct row *next;
    uint8_t key[33];
    size_t key_len;
    uint8_t *bytes;
    size_t len;
} row;

/* Rows by the hashes of their keys; each bucket has a lock, and all of them together another one */
typedef struct rows {
    row *buckets[BUCKETS];
    pthread_mutex_t locks[BUCKETS];
    size_t len;
} rows;

typedef struct storage {
    rows newest;
    rows copy; /* of a stale snapshot */
    pthread_rwlock_t lock;
    const char *defect;
    int has_snapshots;
    size_t commits;
} storage;

/* The source of reads: a storage, and the rows of a snapshot or NULL for the newest ones */
typedef struct reader {
    storage *of;
    rows *snapshot;
} reader;

static int has(const storage *self, const char *defect) {
    return strcmp(self->defect, defect) == 0;
}

static void rows_new(rows *self) {
    memset(self, 0, sizeof *self);
    for (size_t i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&self->locks[i], NULL);
    }
}

static size_t bucket_of(milepost_bytes key) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < key.len; i++) {
        hash = (hash ^ key.data[i]) * 16777619u;
    }
    return hash % BUCKETS;
}

/* The link to the row of a key, which points to NULL if there is none */
static row **rows_find(rows *self, milepost_bytes key) {
    row **link = &self->buckets[bucket_of(key)];
    while (*link != NULL &&
           ((*link)->key_len != key.len || memcmp((*link)->key, key.data, key.len) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

static void rows_put(rows *self, milepost_bytes key, milepost_bytes bytes) {
    row **link = rows_find(self, key);
    row *found = *link;
    if (found == NULL) {
        found = (row *)calloc(1, sizeof *found);
        memcpy(found->key, key.data, key.len);
        found->key_len = key.len;
        *link = found;
        self->len++;
    }
    free(found->bytes);
    found->bytes = (uint8_t *)malloc(bytes.len + 1);
    if (bytes.len > 0) {
        memcpy(found->bytes, bytes.data, bytes.len);
    }
    found->len = bytes.len;
}

static void rows_remove(rows *self, milepost_bytes key) {
    row **link = rows_find(self, key);
    row *found = *link;
    if (found != NULL) {
        *link = found->next;
        free(found->bytes);
        free(found);
        self->len--;
    }
}

static void rows_clear(rows *self) {
    for (size_t i = 0; i < BUCKETS; i++) {
        while (self->buckets[i] != NULL) {
            row *first = self->buckets[i];
            self->buckets[i] = first->next;
            free(first->bytes);
            free(first);
        }
    }
    self->len = 0;
}

static void rows_free(rows *self) {
    rows_clear(self);
    for (size_t i = 0; i < BUCKETS; i++) {
        pthread_mutex_destroy(&self->locks[i]);
    }
}

static void rows_copy(rows *from, rows *to) {
    for (size_t i = 0; i < BUCKETS; i++) {
        pthread_mutex_lock(&from->locks[i]);
        for (row *each = from->buckets[i]; each != NULL; each = each->next) {
            milepost_bytes key = {each->key, each->key_len};
            milepost_bytes bytes = {each->bytes, each->len};
            rows_put(to, key, bytes);
        }
        pthread_mutex_unlock(&from->locks[i]);
    }
}

/* A key as this storage keeps it */
static milepost_bytes kept_key(const storage *self, milepost_bytes key) {
    if (has(self, "truncated key") && key.len > 32) {
        key.len = 32;
    }
    return key;
}

static void lock_for_reading(storage *self) {
    if (!has(self, "one lock per row")) {
        pthread_rwlock_rdlock(&self->lock);
    }
}

static void unlock(storage *self) {
    if (!has(self, "one lock per row")) {
        pthread_rwlock_unlock(&self->lock);
    }
}

/* Makes the copy of stale snapshots again if the number of rows has changed */
static rows *stale_copy(storage *self) {
    if (self->copy.len != self->newest.len) {
        rows_clear(&self->copy);
        rows_copy(&self->newest, &self->copy);
    }
    return &self->copy;
}

/* Copies a row and says whether there is one */
static int read_row(const reader *self, milepost_bytes key, uint8_t **bytes, size_t *len) {
    storage *of = self->of;
    rows *from = self->snapshot;
    key = kept_key(of, key);
    lock_for_reading(of);
    if (from == NULL) {
        from = has(of, "stale snapshot") ? stale_copy(of) : &of->newest;
    }
    pthread_mutex_t *lock = &from->locks[bucket_of(key)];
    pthread_mutex_lock(lock);
    row *found = *rows_find(from, key);
    if (found != NULL) {
        *len = found->len;
        *bytes = (uint8_t *)malloc(found->len + 1);
        memcpy(*bytes, found->bytes, found->len);
    }
    pthread_mutex_unlock(lock);
    unlock(of);
    return found != NULL;
}

/* `context` is a reader: the storage's own, or that of a snapshot */
static int32_t get_row(void *context, const uint8_t *key, size_t key_len, milepost_sink *sink) {
    milepost_bytes bytes_of_key = {key, key_len};
    uint8_t *bytes;
    size_t len;
    if (read_row((const reader *)context, bytes_of_key, &bytes, &len)) {
        milepost_sink_row(sink, bytes, len);
        free(bytes);
    } else {
        milepost_sink_absent(sink);
    }
    return 0;
}

static int compare_keys(const void *left, const void *right) {
    const milepost_bytes *one = (const milepost_bytes *)left;
    const milepost_bytes *other = (const milepost_bytes *)right;
    int order = memcmp(one->data, other->data, one->len < other->len ? one->len : other->len);
    return order != 0 ? order : (one->len > other->len) - (one->len < other->len);
}

static int32_t get_rows(void *context, const milepost_bytes *keys, size_t keys_len,
                        milepost_sink *sink) {
    const reader *self = (const reader *)context;
    milepost_bytes *sorted = (milepost_bytes *)malloc((keys_len + 1) * sizeof *sorted);
    if (keys_len > 0) {
        memcpy(sorted, keys, keys_len * sizeof *sorted);
    }
    if (has(self->of, "reordered keys")) {
        qsort(sorted, keys_len, sizeof *sorted, compare_keys);
    }
    for (size_t i = 0; i < keys_len; i++) {
        uint8_t *bytes = NULL;
        size_t len = 0;
        int found = read_row(self, sorted[i], &bytes, &len);
        if (found && has(self->of, "range off by one") && i % 100 == 99) {
            milepost_sink_absent(sink);
        } else if (found) {
            milepost_sink_row(sink, bytes, len);
        } else if (!has(self->of, "wrong length of get_many")) {
            milepost_sink_absent(sink);
        }
        free(bytes);
    }
    free(sorted);
    return 0;
}

static void apply(storage *self, const milepost_change *changes, size_t changes_len) {
    int is_locked = !has(self, "one lock per row");
    if (is_locked) {
        pthread_rwlock_wrlock(&self->lock);
    }
    for (size_t i = 0; i < changes_len; i++) {
        milepost_bytes key = kept_key(self, changes[i].key);
        pthread_mutex_t *lock = &self->newest.locks[bucket_of(key)];
        pthread_mutex_lock(lock);
        if (changes[i].kind == MILEPOST_CHANGE_PUT) {
            rows_put(&self->newest, key, changes[i].row);
        } else if (!has(self, "forgotten delete")) {
            rows_remove(&self->newest, key);
        }
        pthread_mutex_unlock(lock);
    }
    if (is_locked) {
        pthread_rwlock_unlock(&self->lock);
    }
}

/* Writes changes where no reader sees them, as a log does */
static void prepare(const milepost_change *changes, size_t changes_len) {
    rows log;
    rows_new(&log);
    for (size_t i = 0; i < changes_len; i++) {
        rows_put(&log, changes[i].key, changes[i].row);
    }
    rows_free(&log);
}

static int32_t commit(void *context, const milepost_change *changes, size_t changes_len,
                      milepost_sink *sink) {
    storage *self = ((reader *)context)->of;
    size_t first = 0;
    (void)sink;
    self->commits++;
    if (has(self, "lost write") && self->commits % 7 == 0) {
        return 0;
    }
    for (size_t i = 0; i < changes_len; i++) {
        if (has(self, "error swallowed") && changes[i].row.len > 1 << 20) {
            return 0;
        }
    }
    if (has(self, "torn commit")) {
        first = changes_len / 2;
    } else if (has(self, "commit visible early") && changes_len > 0) {
        first = 1;
    }
    if (first > 0) {
        apply(self, changes, first);
        prepare(changes + first, changes_len - first);
    }
    apply(self, changes + first, changes_len - first);
    return 0;
}

static int32_t snapshot_open(void *context, void **snapshot, milepost_sink *sink) {
    storage *of = ((reader *)context)->of;
    reader *opened = (reader *)calloc(1, sizeof *opened);
    (void)sink;
    opened->of = of;
    if (!has(of, "shared snapshot")) {
        opened->snapshot = (rows *)malloc(sizeof *opened->snapshot);
        rows_new(opened->snapshot);
        lock_for_reading(of);
        rows_copy(has(of, "stale snapshot") ? stale_copy(of) : &of->newest, opened->snapshot);
        unlock(of);
    }
    *snapshot = opened;
    return 0;
}

static void snapshot_close(void *context, void *snapshot) {
    reader *opened = (reader *)snapshot;
    (void)context;
    if (opened->snapshot != NULL) {
        rows_free(opened->snapshot);
        free(opened->snapshot);
    }
    free(opened);
}

static void finalize(void *context) {
    reader *self = (reader *)context;
    rows_free(&self->of->newest);
    rows_free(&self->of->copy);
    pthread_rwlock_destroy(&self->of->lock);
    free(self->of);
    free(self);
}

static const char *defect;
static const char *isolation;

static int32_t create(void *context, milepost_storage *functions, milepost_sink *sink) {
    reader *self = (reader *)calloc(1, sizeof *self);
    (void)context, (void)sink;
    self->of = (storage *)calloc(1, sizeof *self->of);
    rows_new(&self->of->newest);
    rows_new(&self->of->copy);
    pthread_rwlock_init(&self->of->lock, NULL);
    self->of->defect = defect;
    functions->context = self;
    functions->get = get_row;
    functions->get_many = get_rows;
    functions->commit = commit;
    functions->finalize = finalize;
    if (strcmp(isolation, "snapshots") == 0) {
        functions->snapshot_open = snapshot_open;
        functions->snapshot_close = snapshot_close;
    }
    if (strcmp(isolation, "read committed") == 0) {
        functions->isolation = MILEPOST_ISOLATION_READ_COMMITTED;
    }
    return 0;
}

int main(int argc, char **argv) {
    int refused = 0, runs;
    char message[1024] = "";
    if (argc != 4) {
        return 2;
    }
    defect = argv[1];
    isolation = argv[2];
    runs = atoi(argv[3]);
    for (int i = 0; i < runs; i++) {
        milepost_error *error = NULL;
        milepost_error_view view = {.size = sizeof view};
        milepost_status_t status = milepost_storage_check(create, NULL, &error);
        if (status == MILEPOST_STATUS_STORAGE) {
            refused++;
            if (milepost_error_read(error, &view) != MILEPOST_STATUS_OK) {
                return 3;
            }
            snprintf(message, sizeof message, "%.*s", (int)view.message.len,
                     (const char *)view.message.data);
        } else if (status != MILEPOST_STATUS_OK) {
            return 3;
        }
        milepost_error_free(error);
    }
    printf("%d %s\n", refused, message);
    return 0;
}
