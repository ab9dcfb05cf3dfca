/*
 * Tests of endpoints without an engine, output by output: rows that are wrong or late, commits
 * that fail, deadlines, cancellation and shutdown. Prints the checks that fail, and exits with 0 if
 * there are none.
 */
#include "check.h"
#include "test_storage.h"

/* An endpoint without an engine, and its storage */
typedef struct host {
    milepost_endpoint *endpoint;
    store store;
} host;

static void set_up(host *self) {
    memset(self, 0, sizeof *self);
    OK(milepost_endpoint_new(NULL, NULL, &self->endpoint, NULL));
}

static void tear_down(host *self) {
    size_t count;
    OK(milepost_endpoint_pending_count(self->endpoint, &count, NULL));
    CHECK(count == 0);
    milepost_endpoint_free(self->endpoint);
    store_clear(&self->store);
}

#define POLL(self, kind, handle) poll_at(__LINE__, (self)->endpoint, MILEPOST_OUTPUT_##kind, handle)

#define MAX_ROWS 64

/* Supplies `extra` rows more than the output needs */
static milepost_status_t supply(host *self, const milepost_output *output, int extra) {
    milepost_row rows[MAX_ROWS];
    memset(rows, 0, sizeof rows);
    CHECK(output->keys_len > 0 && output->keys_len < MAX_ROWS);
    for (size_t i = 0; i < output->keys_len; i++) {
        const store_row *row = store_find(&self->store, output->keys[i].data, output->keys[i].len);
        CHECK(output->keys[i].len >= 2 && output->keys[i].len <= 33);
        if (row != NULL) {
            rows[i].present = 1;
            rows[i].bytes.data = row->row;
            rows[i].bytes.len = row->row_len;
        }
    }
    return milepost_endpoint_handle_rows(self->endpoint, output->handle, rows,
                                         output->keys_len + (size_t)extra, NULL);
}

/* Supplies all rows that are needed, and returns the next output of another kind */
static milepost_output serve(host *self) {
    for (;;) {
        milepost_output output = {.size = sizeof output};
        OK(milepost_endpoint_poll_output(self->endpoint, &output, NULL));
        if (output.kind != MILEPOST_OUTPUT_NEED_ROWS) {
            return output;
        }
        OK(supply(self, &output, 0));
    }
}

static uint64_t hand_in_request(host *self, uint64_t now, uint64_t timeout) {
    milepost_response *response;
    uint64_t handle;
    OK(milepost_endpoint_handle_request(self->endpoint, now, timeout, TEXT(REQUEST), NULL, 0,
                                        &handle, &response, NULL));
    CHECK(response == NULL && handle != 0);
    return handle;
}

/* Hands in a block with the transaction of the request */
static uint64_t hand_in_block(host *self) {
    milepost_message_builder *builder = new_builder(100, 3, 2);
    milepost_import_summary *summary;
    milepost_bytes bytes;
    uint64_t handle;
    add_views(builder);
    OK(milepost_message_builder_text(builder, &bytes, NULL));
    OK(milepost_endpoint_handle_block(self->endpoint, bytes.data, bytes.len, &handle, &summary,
                                      NULL));
    CHECK(summary == NULL && handle != 0);
    milepost_message_builder_free(builder);
    return handle;
}

/* Checks a response and frees it */
static void check_response(milepost_output output, uint64_t handle, const char *expected) {
    milepost_bytes body = {NULL, 0};
    CHECK(output.kind == MILEPOST_OUTPUT_RESPONSE && output.handle == handle);
    OK(milepost_response_body(output.response, &body, NULL));
    CHECK(contains(body, expected));
    milepost_response_free(output.response);
}

static void a_commit_wakes_requests_and_not_its_changes(void) {
    host host;
    milepost_output output = {.size = sizeof output};
    milepost_import_summary_view view = {.size = sizeof view};
    uint64_t request, block;
    int32_t was_pending;
    set_up(&host);
    request = hand_in_request(&host, 0, MILEPOST_TIMEOUT_DEFAULT);
    output = POLL(&host, NEED_ROWS, request);
    CHECK(output.is_first == 1);
    CHECK(supply(&host, &output, 1) == MILEPOST_STATUS_USAGE);
    CHECK(supply(&host, &output, -1) == MILEPOST_STATUS_USAGE);
    OK(supply(&host, &output, 0));
    CHECK(serve(&host).kind == MILEPOST_OUTPUT_PENDING);
    CHECK(POLL(&host, TIMEOUT, 0).timeout <= 10000);
    block = hand_in_block(&host);
    output = serve(&host);
    CHECK(output.kind == MILEPOST_OUTPUT_COMMIT && output.handle == block);
    CHECK(output.changes_len > 0);
    CHECK(store_commit(&host.store, output.changes, output.changes_len, NULL) == 0);
    /* The commit takes its time. */
    POLL(&host, TIMEOUT, 0);
    CHECK(milepost_endpoint_handle_rows(host.endpoint, block, NULL, 0, NULL) ==
          MILEPOST_STATUS_USAGE);
    CHECK(milepost_endpoint_handle_commit_result(host.endpoint, block, 2, NULL, 0, NULL) ==
          MILEPOST_STATUS_ENUM);
    CHECK(milepost_endpoint_handle_commit_result(host.endpoint, request, 1, NULL, 0, NULL) ==
          MILEPOST_STATUS_USAGE);
    OK(milepost_endpoint_cancel(host.endpoint, block, &was_pending, NULL));
    CHECK(was_pending == 0);
    OK(milepost_endpoint_handle_commit_result(host.endpoint, block, 1, NULL, 0, NULL));
    CHECK(milepost_endpoint_handle_commit_result(host.endpoint, block, 1, NULL, 0, NULL) ==
          MILEPOST_STATUS_USAGE);
    output = POLL(&host, COMPLETED, block);
    OK(milepost_import_summary_read(output.summary, &view, NULL));
    CHECK(view.block.height == 100 && view.position == MILEPOST_BLOCK_POSITION_HEAD);
    milepost_import_summary_free(output.summary);
    check_response(serve(&host), request, "\"final_execution_status\":\"EXECUTED_OPTIMISTIC\"");
    tear_down(&host);
}

static void a_failed_import_ends_and_the_next_one_starts(void) {
    milepost_chain_status_view chain_status = {.size = sizeof chain_status};
    host host;
    milepost_output output = {.size = sizeof output};
    milepost_error_view view = {.size = sizeof view};
    uint64_t imports[4], handle;
    set_up(&host);
    for (size_t i = 0; i < 3; i++) {
        imports[i] = hand_in_block(&host);
    }
    /* The second import is in line. */
    CHECK(milepost_endpoint_handle_rows(host.endpoint, imports[1], NULL, 0, NULL) ==
          MILEPOST_STATUS_USAGE);
    CHECK(milepost_endpoint_fail_rows(host.endpoint, imports[1], NULL, 0, NULL) ==
          MILEPOST_STATUS_USAGE);
    POLL(&host, NEED_ROWS, imports[0]);
    OK(milepost_endpoint_fail_rows(host.endpoint, imports[0], TEXT("the cluster is away"), NULL));
    output = POLL(&host, FAILED, imports[0]);
    OK(milepost_error_read(output.error, &view));
    CHECK(view.status == MILEPOST_STATUS_STORAGE && same(view.message, "the cluster is away"));
    milepost_error_free(output.error);
    output = serve(&host);
    CHECK(output.kind == MILEPOST_OUTPUT_COMMIT && output.handle == imports[1]);
    OK(milepost_endpoint_handle_commit_result(host.endpoint, imports[1], 0, TEXT("full"), NULL));
    output = POLL(&host, FAILED, imports[1]);
    OK(milepost_error_read(output.error, &view));
    CHECK(view.status == MILEPOST_STATUS_STORAGE && same(view.message, "full"));
    milepost_error_free(output.error);
    output = serve(&host);
    CHECK(output.kind == MILEPOST_OUTPUT_COMMIT && output.handle == imports[2]);
    store_commit(&host.store, output.changes, output.changes_len, NULL);
    OK(milepost_endpoint_handle_commit_result(host.endpoint, imports[2], 1, NULL, 0, NULL));
    milepost_import_summary_free(POLL(&host, COMPLETED, imports[2]).summary);
    /* A known block changes nothing, so there is nothing to commit. */
    imports[3] = hand_in_block(&host);
    output = serve(&host);
    CHECK(output.kind == MILEPOST_OUTPUT_COMPLETED && output.handle == imports[3]);
    milepost_import_summary_free(output.summary);
    OK(milepost_endpoint_handle_chain_query(host.endpoint, &handle, NULL));
    output = serve(&host);
    CHECK(output.kind == MILEPOST_OUTPUT_COMPLETED && output.handle == handle);
    OK(milepost_chain_status_read(output.chain_status, &chain_status, NULL));
    CHECK(chain_status.blocks == 1 && chain_status.head.height == 100);
    milepost_chain_status_free(output.chain_status);
    CHECK(milepost_endpoint_handle_config(host.endpoint, NULL, 7, TEXT("{}"), &handle, NULL) ==
              MILEPOST_STATUS_SCHEMA &&
          handle == 0);
    tear_down(&host);
}

static void requests_fail_expire_and_are_cancelled(void) {
    host host;
    milepost_output output = {.size = sizeof output};
    uint64_t request, second;
    int32_t was_pending;
    set_up(&host);
    request = hand_in_request(&host, 0, MILEPOST_TIMEOUT_DEFAULT);
    POLL(&host, NEED_ROWS, request);
    OK(milepost_endpoint_fail_rows(host.endpoint, request, TEXT("the cluster is down"), NULL));
    check_response(POLL(&host, RESPONSE, request), request, "the cluster is down");
    OK(milepost_endpoint_fail_rows(host.endpoint, request, NULL, 0, NULL));

    request = hand_in_request(&host, 0, 50);
    CHECK(serve(&host).kind == MILEPOST_OUTPUT_PENDING);
    OK(milepost_endpoint_handle_timeout(host.endpoint, 49, NULL));
    POLL(&host, TIMEOUT, 0);
    OK(milepost_endpoint_handle_timeout(host.endpoint, 50, NULL));
    check_response(serve(&host), request, "\"TIMEOUT_ERROR\"");
    request = hand_in_request(&host, 50, 0);
    check_response(serve(&host), request, "\"TIMEOUT_ERROR\"");

    request = hand_in_request(&host, 50, MILEPOST_TIMEOUT_DEFAULT);
    POLL(&host, NEED_ROWS, request);
    OK(milepost_endpoint_cancel(host.endpoint, request, &was_pending, NULL));
    CHECK(was_pending == 1);
    OK(milepost_endpoint_cancel(host.endpoint, request, &was_pending, NULL));
    CHECK(was_pending == 0);
    OK(milepost_endpoint_handle_rows(host.endpoint, request, NULL, 0, NULL));
    POLL(&host, TIMEOUT, 0);

    request = hand_in_request(&host, 50, MILEPOST_TIMEOUT_DEFAULT);
    CHECK(serve(&host).kind == MILEPOST_OUTPUT_PENDING);
    second = hand_in_request(&host, 50, MILEPOST_TIMEOUT_NEVER);
    output = POLL(&host, NEED_ROWS, second);
    OK(supply(&host, &output, 0));
    OK(milepost_endpoint_shutdown(host.endpoint, NULL));
    output = serve(&host);
    check_response(output, output.handle == second ? second : request, "the service stops");
    second = output.handle == second ? request : second;
    check_response(serve(&host), second, "the service stops");
    POLL(&host, TIMEOUT, 0);
    tear_down(&host);
}

static void unknown_operations_change_nothing(void) {
    static const uint64_t UNKNOWN[] = {0, 1, 99, UINT64_MAX};
    host host;
    int32_t was_pending;
    set_up(&host);
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++) {
        OK(milepost_endpoint_handle_rows(host.endpoint, UNKNOWN[i], NULL, 0, NULL));
        OK(milepost_endpoint_fail_rows(host.endpoint, UNKNOWN[i], NULL, 0, NULL));
        CHECK(milepost_endpoint_handle_commit_result(host.endpoint, UNKNOWN[i], 1, NULL, 0, NULL) ==
              MILEPOST_STATUS_USAGE);
        OK(milepost_endpoint_cancel(host.endpoint, UNKNOWN[i], &was_pending, NULL));
        CHECK(was_pending == 0);
        POLL(&host, TIMEOUT, 0);
    }
    tear_down(&host);
}

/* Serves the rows of an observation, which ends with MILEPOST_OUTPUT_PENDING */
static void serve_observation(host *self) {
    milepost_output output = serve(self);
    CHECK(output.kind == MILEPOST_OUTPUT_PENDING);
}

static void commit_block(host *self) {
    uint64_t block = hand_in_block(self);
    milepost_output output = serve(self);
    CHECK(output.kind == MILEPOST_OUTPUT_COMMIT && output.handle == block);
    CHECK(store_commit(&self->store, output.changes, output.changes_len, NULL) == 0);
    OK(milepost_endpoint_handle_commit_result(self->endpoint, block, 1, NULL, 0, NULL));
    milepost_import_summary_free(POLL(self, COMPLETED, block).summary);
}

static void a_watch_reports_changes_until_its_milestone(void) {
    milepost_hash transaction = hash(1);
    host host;
    milepost_output output;
    uint64_t watch, other;
    int32_t was_pending;
    set_up(&host);
    CHECK(milepost_endpoint_watch(host.endpoint, &transaction, 6, 0, &watch, NULL) ==
          MILEPOST_STATUS_ENUM);
    CHECK(milepost_endpoint_watch(host.endpoint, &transaction, -1, 0, &watch, NULL) ==
          MILEPOST_STATUS_ENUM);
    CHECK(milepost_endpoint_watch(host.endpoint, &transaction, 5, 2, &watch, NULL) ==
          MILEPOST_STATUS_ENUM);
    OK(milepost_endpoint_watch(host.endpoint, &transaction, MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC,
                               1, &watch, NULL));
    OK(milepost_endpoint_watch(host.endpoint, &transaction, MILEPOST_MILESTONE_FINAL, 0, &other,
                               NULL));
    CHECK(watch != 0 && watch != other);
    serve_observation(&host);
    output = POLL(&host, WATCH, watch);
    CHECK(output.watch_event == MILEPOST_WATCH_STATUS);
    CHECK(output.milestone == MILEPOST_MILESTONE_NONE);
    CHECK(contains(output.compact_status, "\"final_execution_status\":\"NONE\"}"));
    CHECK(contains(output.event_id, "NONE-0-"));
    POLL(&host, WATCH, other);
    POLL(&host, TIMEOUT, 0);

    commit_block(&host);
    serve_observation(&host);
    output = POLL(&host, WATCH, watch);
    CHECK(output.watch_event == MILEPOST_WATCH_REACHED);
    CHECK(output.milestone == MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC);
    CHECK(contains(output.compact_status, "\"block\":{\"height\":100,"));
    CHECK(contains(output.compact_status, ",\"result\":{\"final_execution_status\":"));
    CHECK(contains(output.event_id, "-reached"));
    output = POLL(&host, WATCH, other);
    CHECK(output.watch_event == MILEPOST_WATCH_STATUS);
    CHECK(!contains(output.compact_status, "\"result\":"));
    OK(milepost_endpoint_cancel(host.endpoint, watch, &was_pending, NULL));
    CHECK(was_pending == 0);
    OK(milepost_endpoint_cancel(host.endpoint, other, &was_pending, NULL));
    CHECK(was_pending == 1);
    POLL(&host, TIMEOUT, 0);
    tear_down(&host);
}

static void a_watch_fails_with_its_rows_and_at_a_shutdown(void) {
    milepost_hash transaction = hash(1);
    milepost_error_view view = {.size = sizeof view};
    host host;
    milepost_output output;
    uint64_t watch;
    set_up(&host);
    OK(milepost_endpoint_watch(host.endpoint, &transaction, 5, 0, &watch, NULL));
    output = POLL(&host, NEED_ROWS, 0);
    CHECK(output.handle != watch && output.is_first == 1);
    OK(milepost_endpoint_fail_rows(host.endpoint, output.handle, TEXT("the cluster is away"),
                                   NULL));
    POLL(&host, PENDING, output.handle);
    output = POLL(&host, FAILED, watch);
    OK(milepost_error_read(output.error, &view));
    CHECK(view.status == MILEPOST_STATUS_STORAGE && same(view.message, "the cluster is away"));
    milepost_error_free(output.error);

    OK(milepost_endpoint_watch(host.endpoint, &transaction, 5, 0, &watch, NULL));
    serve_observation(&host);
    POLL(&host, WATCH, watch);
    OK(milepost_endpoint_shutdown(host.endpoint, NULL));
    output = POLL(&host, FAILED, watch);
    CHECK(output.error != NULL);
    milepost_error_free(output.error);
    POLL(&host, TIMEOUT, 0);
    CHECK(milepost_endpoint_watch(host.endpoint, &transaction, 5, 0, &watch, NULL) ==
          MILEPOST_STATUS_USAGE);
    tear_down(&host);
}

/* An endpoint is freed with operations in every state */
static void an_endpoint_ends_what_is_open(void) {
    milepost_hash transaction = hash(1);
    uint64_t watch;
    host host;
    set_up(&host);
    hand_in_request(&host, 0, MILEPOST_TIMEOUT_DEFAULT);
    CHECK(serve(&host).kind == MILEPOST_OUTPUT_PENDING);
    hand_in_block(&host);
    CHECK(serve(&host).kind == MILEPOST_OUTPUT_COMMIT);
    hand_in_block(&host);
    hand_in_request(&host, 0, MILEPOST_TIMEOUT_DEFAULT);
    POLL(&host, NEED_ROWS, 0);
    hand_in_request(&host, 0, MILEPOST_TIMEOUT_DEFAULT);
    OK(milepost_endpoint_watch(host.endpoint, &transaction, 5, 1, &watch, NULL));
    milepost_endpoint_free(host.endpoint);
}

int main(void) {
    a_commit_wakes_requests_and_not_its_changes();
    a_failed_import_ends_and_the_next_one_starts();
    requests_fail_expire_and_are_cancelled();
    unknown_operations_change_nothing();
    a_watch_reports_changes_until_its_milestone();
    a_watch_fails_with_its_rows_and_at_a_shutdown();
    an_endpoint_ends_what_is_open();
    return failed;
}
