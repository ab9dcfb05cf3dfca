/*
 * An archive that is slow: its get_many ends only after a block was imported while it ran, and its
 * put_many only after a request was answered, so this program ends only if neither holds up what
 * does not need the archive. Prints the checks that fail, and exits with 0 if there are none.
 */
#include "check.h"
#include "test_archive.h"

typedef struct node {
    archive archive;
    milepost_engine *engine;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    int waits; /* whether a call waits */
    int inside;
    int goes_on;
} node;

static node shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Waits inside a function of the archive */
static void wait_inside(void) {
    pthread_mutex_lock(&shared.mutex);
    shared.inside = 1;
    pthread_cond_broadcast(&shared.changed);
    while (shared.waits && !shared.goes_on) {
        pthread_cond_wait(&shared.changed, &shared.mutex);
    }
    pthread_mutex_unlock(&shared.mutex);
}

static int32_t slow_get_many(void *context, const milepost_bytes *keys, size_t keys_len,
                             milepost_sink *sink) {
    if (keys[0].data[0] == 16) { /* a transaction, as a request asks for */
        wait_inside();
    }
    return archive_get_many(context, keys, keys_len, sink);
}

static int32_t slow_put_many(void *context, const milepost_archive_row *rows, size_t rows_len,
                             milepost_sink *sink) {
    wait_inside();
    return archive_put_many(context, rows, rows_len, sink);
}

/* Starts a thread, and returns when it is inside the archive */
static pthread_t start(void *(*run)(void *)) {
    pthread_t thread;
    shared.waits = 1;
    shared.inside = shared.goes_on = 0;
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_mutex_lock(&shared.mutex);
    while (!shared.inside) {
        pthread_cond_wait(&shared.changed, &shared.mutex);
    }
    pthread_mutex_unlock(&shared.mutex);
    return thread;
}

static void finish(pthread_t thread) {
    pthread_mutex_lock(&shared.mutex);
    shared.goes_on = 1;
    pthread_cond_broadcast(&shared.changed);
    pthread_mutex_unlock(&shared.mutex);
    CHECK(pthread_join(thread, NULL) == 0);
    shared.waits = 0;
}

/* Imports a block, which makes the one two before it final */
static void import_block(uint64_t height, uint8_t block, uint8_t prev, uint8_t final) {
    milepost_message_builder *builder;
    milepost_hash id = hash(block), previous = hash(prev), epoch = hash(9), last = hash(final);
    milepost_bytes bytes;
    OK(milepost_message_builder_new(height, &id, &previous, &epoch, &last, 80, &builder, NULL));
    if (height == 100) {
        add_views(builder);
    }
    OK(milepost_message_builder_text(builder, &bytes, NULL));
    OK(milepost_engine_import_block(shared.engine, bytes.data, bytes.len, NULL, NULL));
    milepost_message_builder_free(builder);
}

static void respond(const char *request, milepost_response_kind_t expected) {
    milepost_response *response;
    milepost_response_kind_t kind;
    OK(milepost_engine_respond(shared.engine, TEXT(request), NULL, 0, &response, NULL));
    OK(milepost_response_kind(response, &kind, NULL));
    CHECK(kind == expected);
    milepost_response_free(response);
}

static void *respond_in_thread(void *context) {
    (void)context;
    respond(OTHER_REQUEST, MILEPOST_RESPONSE_KIND_TIMEOUT);
    return NULL;
}

static void *import_in_thread(void *context) {
    (void)context;
    import_block(102, 5, 4, 3);
    return NULL;
}

int main(void) {
    milepost_archive functions;
    milepost_settings *settings;
    milepost_archive_status *archive_status;
    milepost_archive_status_view view = {.size = sizeof view};
    pthread_t thread;
    archive_new(&shared.archive);
    functions = archive_functions(&shared.archive);
    functions.get_many = slow_get_many;
    functions.put_many = slow_put_many;
    OK(milepost_settings_new(&settings, NULL));
    OK(milepost_settings_set_archive(settings, &functions, NULL));
    OK(milepost_engine_new(settings, &shared.engine, NULL));
    milepost_settings_free(settings);
    import_block(100, 3, 2, 0);

    thread = start(respond_in_thread);
    import_block(101, 4, 3, 0);
    finish(thread);

    thread = start(import_in_thread);
    respond(REQUEST, MILEPOST_RESPONSE_KIND_RESULT);
    OK(milepost_engine_archive_status(shared.engine, &archive_status, NULL));
    OK(milepost_archive_status_read(archive_status, &view, NULL));
    CHECK(view.has_archived == 0);
    milepost_archive_status_free(archive_status);
    finish(thread);

    OK(milepost_engine_archive_status(shared.engine, &archive_status, NULL));
    OK(milepost_archive_status_read(archive_status, &view, NULL));
    CHECK(view.has_archived == 1 && view.archived_height == 100 && view.failure.len == 0);
    CHECK(shared.archive.len > 1);
    milepost_archive_status_free(archive_status);
    milepost_engine_free(shared.engine);
    CHECK(shared.archive.finalized == 1);
    archive_clear(&shared.archive);
    return failed;
}
