/*
 * A storage with snapshots: a commit ends only after a request was answered while it ran, so this
 * program ends only if answers do not wait for commits. Prints the checks that fail, and exits with
 * 0 if there are none.
 */
#include <pthread.h>

#include "check.h"
#include "test_storage.h"

typedef struct node {
    store store;
    milepost_engine *engine;
    pthread_mutex_t mutex; /* of all below, and of the rows */
    pthread_cond_t changed;
    int waits; /* whether a commit waits for an answer */
    int commits;
    int answered;
    int opened;
    int closed;
} node;

static node shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int32_t snapshot_open(void *context, void **snapshot, milepost_sink *sink) {
    int32_t code;
    pthread_mutex_lock(&shared.mutex);
    shared.opened++;
    code = store_snapshot_open(context, snapshot, sink);
    pthread_mutex_unlock(&shared.mutex);
    return code;
}

static int32_t snapshot_fails(void *context, void **snapshot, milepost_sink *sink) {
    (void)context, (void)snapshot;
    milepost_sink_fail(sink, TEXT("too many readers"));
    return 3;
}

static void snapshot_close(void *context, void *snapshot) {
    pthread_mutex_lock(&shared.mutex);
    shared.closed++;
    pthread_mutex_unlock(&shared.mutex);
    store_snapshot_close(context, snapshot);
}

static int32_t commit(void *context, const milepost_change *changes, size_t changes_len,
                      milepost_sink *sink) {
    int32_t code;
    pthread_mutex_lock(&shared.mutex);
    shared.commits++;
    pthread_cond_broadcast(&shared.changed);
    while (shared.waits && !shared.answered) {
        pthread_cond_wait(&shared.changed, &shared.mutex);
    }
    code = store_commit(context, changes, changes_len, sink);
    pthread_mutex_unlock(&shared.mutex);
    return code;
}

static void import_block(uint64_t height, uint8_t block, uint8_t prev) {
    milepost_message_builder *builder = new_builder(height, block, prev);
    milepost_bytes bytes;
    if (height == 100) {
        add_views(builder);
    }
    OK(milepost_message_builder_text(builder, &bytes, NULL));
    OK(milepost_engine_import_block(shared.engine, bytes.data, bytes.len, NULL, NULL));
    milepost_message_builder_free(builder);
}

static void *import_in_thread(void *context) {
    (void)context;
    import_block(101, 4, 3);
    return NULL;
}

static uint64_t blocks_in_storage(void) {
    milepost_chain_status *chain_status;
    milepost_chain_status_view view = {.size = sizeof view};
    OK(milepost_engine_chain_status(shared.engine, &chain_status, NULL));
    OK(milepost_chain_status_read(chain_status, &view, NULL));
    milepost_chain_status_free(chain_status);
    return view.blocks;
}

static void answers_go_on_while_a_commit_runs(void) {
    milepost_response *response;
    milepost_transaction_status status = {.size = sizeof status};
    milepost_endpoint *endpoint;
    pthread_t importer;
    uint64_t handle;
    import_block(100, 3, 2);
    OK(milepost_endpoint_new(shared.engine, NULL, &endpoint, NULL));
    shared.waits = 1;
    CHECK(pthread_create(&importer, NULL, import_in_thread, NULL) == 0);
    pthread_mutex_lock(&shared.mutex);
    while (shared.commits < 2) {
        pthread_cond_wait(&shared.changed, &shared.mutex);
    }
    pthread_mutex_unlock(&shared.mutex);

    OK(milepost_engine_respond(shared.engine, TEXT(REQUEST), NULL, 0, &response, NULL));
    OK(milepost_response_transaction_status(response, &status, NULL));
    CHECK(status.milestone == MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC);
    milepost_response_free(response);
    OK(milepost_endpoint_handle_request(endpoint, 0, 0, TEXT(REQUEST), NULL, 0, &handle, &response,
                                        NULL));
    CHECK(response != NULL);
    milepost_response_free(response);
    CHECK(blocks_in_storage() == 1);

    pthread_mutex_lock(&shared.mutex);
    shared.answered = 1;
    pthread_cond_broadcast(&shared.changed);
    pthread_mutex_unlock(&shared.mutex);
    CHECK(pthread_join(importer, NULL) == 0);
    CHECK(blocks_in_storage() == 2);
    milepost_endpoint_free(endpoint);
}

static void a_snapshot_that_cannot_be_opened_is_an_error(milepost_storage functions) {
    milepost_engine *engine;
    milepost_response *response;
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    functions.finalize = NULL;
    functions.snapshot_open = snapshot_fails;
    OK(milepost_engine_new_over(&functions, NULL, &engine, NULL));
    CHECK(milepost_engine_respond(engine, TEXT(REQUEST), NULL, 0, &response, &error) ==
          MILEPOST_STATUS_STORAGE);
    OK(milepost_error_read(error, &view));
    CHECK(same(view.message, "the storage's snapshot_open returned 3: too many readers"));
    milepost_error_free(error);
    milepost_engine_free(engine);
    functions.snapshot_close = NULL;
    CHECK(milepost_engine_new_over(&functions, NULL, &engine, &error) == MILEPOST_STATUS_NULL);
    OK(milepost_error_read(error, &view));
    CHECK(same(view.message, "storage.snapshot_close is NULL"));
    milepost_error_free(error);
}

int main(void) {
    milepost_storage functions = store_functions(&shared.store, 1);
    functions.commit = commit;
    functions.snapshot_open = snapshot_open;
    functions.snapshot_close = snapshot_close;
    OK(milepost_engine_new_over(&functions, NULL, &shared.engine, NULL));
    answers_go_on_while_a_commit_runs();
    a_snapshot_that_cannot_be_opened_is_an_error(functions);
    milepost_engine_free(shared.engine);
    CHECK(shared.opened == shared.closed && shared.opened > 4);
    CHECK(shared.store.finalized == 1);
    store_clear(&shared.store);
    return failed;
}
