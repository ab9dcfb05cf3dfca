/*
 * Tests of the C functions that the vectors do not cover: message builders, forks, transactions,
 * error details, endpoints that shut down. Prints the checks that fail, and exits with 0 if there
 * are none.
 */
#include "check.h"
#include "test_storage.h"

#define TRANSACTION_BASE64                                                                         \
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2" \
    "ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03" \
    "xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="

static void built_messages_are_imported(void) {
    milepost_engine *engine;
    milepost_message_builder *builder = new_builder(100, 3, 2);
    milepost_import_summary *summary;
    milepost_import_summary_view summary_view = {.size = sizeof summary_view};
    milepost_response *response;
    milepost_transaction_status status = {.size = sizeof status};
    milepost_outcome outcome = {.size = sizeof outcome};
    milepost_bytes bytes;
    milepost_hash expected, transaction;
    add_views(builder);
    OK(milepost_message_builder_text(builder, &bytes, NULL));
    OK(milepost_engine_new(NULL, &engine, NULL));
    OK(milepost_engine_import_block(engine, bytes.data, bytes.len, &summary, NULL));
    milepost_message_builder_free(builder);
    OK(milepost_import_summary_read(summary, &summary_view, NULL));
    CHECK(summary_view.position == MILEPOST_BLOCK_POSITION_HEAD &&
          summary_view.block.height == 100 && summary_view.has_last_final == 0);
    CHECK(summary_view.transactions == 1 && summary_view.outcomes == 2 &&
          summary_view.receipts == 1 && summary_view.reverted == 0);
    OK(milepost_import_summary_transaction(summary, 0, &transaction, NULL));
    expected = hash(1);
    CHECK(memcmp(&transaction, &expected, sizeof expected) == 0);
    CHECK(milepost_import_summary_transaction(summary, 1, &transaction, NULL) ==
          MILEPOST_STATUS_INDEX);
    milepost_import_summary_free(summary);

    OK(milepost_engine_respond(engine, TEXT(REQUEST), TEXT("tx_status"), &response, NULL));
    OK(milepost_response_transaction_status(response, &status, NULL));
    CHECK(status.milestone == MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC &&
          status.execution_status == MILEPOST_EXECUTION_STATUS_SUCCESS_VALUE);
    CHECK(same(status.payload, "hi") && status.outcomes == 2 && status.receipts == 1);
    OK(milepost_response_receipt(response, 0, &bytes, NULL));
    CHECK(same(bytes, RECEIPT));
    OK(milepost_response_outcome(response, 0, &outcome, NULL));
    expected = hash(1);
    CHECK(memcmp(&outcome.id, &expected, sizeof expected) == 0 && outcome.gas_burnt == 7);
    CHECK(outcome.tokens_burnt_high == 2 && outcome.tokens_burnt_low == 3 &&
          outcome.receipt_ids_len == 1);
    expected = hash(4);
    CHECK(outcome.execution_status == MILEPOST_EXECUTION_STATUS_SUCCESS_RECEIPT_ID &&
          memcmp(outcome.receipt_ids, &expected, 32) == 0);
    CHECK(outcome.payload.len == 32 && memcmp(outcome.payload.data, &expected, 32) == 0);
    OK(milepost_response_outcome(response, 1, &outcome, NULL));
    if (failed) {
        return; /* the checks that follow dereference pointers */
    }
    CHECK(outcome.gas_burnt == UINT64_MAX && outcome.logs_len == 2 &&
          same(outcome.executor_id, "new.alice.near"));
    CHECK(same(outcome.logs[0], "one") && same(outcome.logs[1], "t\"wo") &&
          outcome.json.data[0] == '{');
    CHECK(milepost_response_outcome(response, 2, &outcome, NULL) == MILEPOST_STATUS_INDEX &&
          outcome.logs == NULL);
    milepost_response_free(response);

    /* A body whose method differs from that of the URL */
    OK(milepost_engine_respond(engine, TEXT(REQUEST), TEXT("tx"), &response, NULL));
    milepost_response_kind_t kind = 0;
    OK(milepost_response_kind(response, &kind, NULL));
    CHECK(kind == MILEPOST_RESPONSE_KIND_REQUEST_VALIDATION);
    milepost_response_free(response);
    milepost_engine_free(engine);
}

static void import_block(milepost_engine *engine, uint64_t height, uint8_t block, uint8_t prev,
                         milepost_import_summary **summary) {
    milepost_message_builder *builder = new_builder(height, block, prev);
    milepost_bytes bytes;
    OK(milepost_message_builder_text(builder, &bytes, NULL));
    OK(milepost_engine_import_block(engine, bytes.data, bytes.len, summary, NULL));
    milepost_message_builder_free(builder);
}

static milepost_chain_status_view read_chain_status(const milepost_engine *engine) {
    milepost_chain_status_view view = {.size = sizeof view};
    milepost_chain_status *chain_status;
    OK(milepost_engine_chain_status(engine, &chain_status, NULL));
    OK(milepost_chain_status_read(chain_status, &view, NULL));
    milepost_chain_status_free(chain_status);
    view.chain_id.data = NULL;
    return view;
}

static void forks_are_reported(void) {
    milepost_engine *engine;
    milepost_import_summary *summary;
    milepost_import_summary_view summary_view = {.size = sizeof summary_view};
    milepost_block_point point;
    milepost_chain_status_view chain_status;
    OK(milepost_engine_new(NULL, &engine, NULL));
    chain_status = read_chain_status(engine);
    CHECK(chain_status.has_head == 0 && chain_status.blocks == 0);
    import_block(engine, 10, 10, 9, NULL);
    import_block(engine, 11, 11, 10, NULL);
    import_block(engine, 12, 112, 10, &summary);
    OK(milepost_import_summary_read(summary, &summary_view, NULL));
    CHECK(summary_view.position == MILEPOST_BLOCK_POSITION_HEAD && summary_view.reverted == 1 &&
          summary_view.reapplied == 0);
    OK(milepost_import_summary_reverted(summary, 0, &point, NULL));
    CHECK(point.height == 11 && point.hash.bytes[31] == 11);
    CHECK(milepost_import_summary_reverted(summary, 1, &point, NULL) == MILEPOST_STATUS_INDEX &&
          point.height == 0);
    milepost_import_summary_free(summary);
    import_block(engine, 13, 13, 11, &summary);
    OK(milepost_import_summary_read(summary, &summary_view, NULL));
    CHECK(summary_view.reverted == 1 && summary_view.reapplied == 1);
    OK(milepost_import_summary_reapplied(summary, 0, &point, NULL));
    CHECK(point.height == 11);
    milepost_import_summary_free(summary);
    chain_status = read_chain_status(engine);
    CHECK(chain_status.has_head == 1 && chain_status.head.height == 13 &&
          chain_status.earliest.height == 10 && chain_status.blocks == 3);
    CHECK(chain_status.complete_from == 10);
    import_block(engine, 20, 20, 19, NULL);
    CHECK(read_chain_status(engine).complete_from == 20);
    CHECK(chain_status.latest_protocol_version == 80 && chain_status.generation == 4);
    milepost_engine_free(engine);
}

static void transactions_are_decoded(void) {
    milepost_transaction *transaction;
    milepost_transaction_view transaction_view = {.size = sizeof transaction_view};
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    milepost_hash_text hash_text;
    OK(milepost_transaction_decode_base64(TEXT(TRANSACTION_BASE64), &transaction, NULL));
    OK(milepost_transaction_read(transaction, &transaction_view, NULL));
    OK(milepost_hash_format(&transaction_view.hash, &hash_text, NULL));
    CHECK(hash_text.len == 44 &&
          memcmp(hash_text.bytes, "6zgh2u9DqHHiXzdy9ouTP7oGky2T4nugqzqt9wJZwNFm", 44) == 0);
    CHECK(same(transaction_view.signer_id, "sender.testnet") &&
          same(transaction_view.receiver_id, "receiver.testnet"));
    CHECK(transaction_view.nonce == 15 && transaction_view.actions == 1 &&
          transaction_view.signature_is_valid == 1);
    CHECK(contains(transaction_view.json, "\"deposit\":\"1000000000000000000000000\"") ||
          contains(transaction_view.json, "\"Transfer\""));
    milepost_transaction_free(transaction);
    CHECK(milepost_transaction_decode(TEXT("\016\0\0\0"), &transaction, &error) ==
          MILEPOST_STATUS_SYNTAX);
    OK(milepost_error_read(error, &view));
    CHECK(view.message.len > 0 && view.has_offset == 1 && contains(view.message, "ends early"));
    milepost_error_free(error);
}

/* Parses a request; returns the response to what is invalid in it, or NULL */
static milepost_response *invalid_in(const char *body, size_t expected_calls) {
    milepost_request *request;
    milepost_response *response;
    size_t calls;
    OK(milepost_request_parse(NULL, (const uint8_t *)body, strlen(body), NULL, 0, &request, NULL));
    OK(milepost_request_calls(request, &calls, NULL));
    CHECK(calls == expected_calls);
    OK(milepost_request_invalid(request, &response, NULL));
    milepost_request_free(request);
    return response;
}

static void requests_are_validated(void) {
    milepost_response *response;
    milepost_rpc_error rpc_error = {.size = sizeof rpc_error};
    size_t len;
    CHECK(invalid_in(REQUEST, 1) == NULL);
    response = invalid_in("{\"method\":\"block\",\"id\":1}", 1);
    OK(milepost_response_rpc_error(response, &rpc_error, NULL));
    CHECK(same(rpc_error.cause, "METHOD_NOT_FOUND") &&
          same(rpc_error.info, "{\"method_name\":\"block\"}"));
    milepost_response_free(response);
    response = invalid_in("[1,{\"method\":\"tx\"}]", 2);
    OK(milepost_response_batch_len(response, &len, NULL));
    CHECK(len == 2);
    milepost_response_free(response);
    response = invalid_in("{", 0);
    CHECK(response != NULL);
    milepost_response_free(response);
}

static void a_host_answers_calls_of_its_own(void) {
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_request *request;
    milepost_response *response;
    milepost_call call = {.size = sizeof call};
    milepost_bytes body;
    uint64_t handle;
    size_t len;
    OK(milepost_request_parse(NULL,
                              TEXT("[{\"id\":[1],\"method\":\"echo\",\"params\":{\"x\": 1}},"
                                   "{\"method\":\"tx\",\"id\":2},"
                                   "{\"id\":\"c\",\"method\":\"gone\"}]"),
                              NULL, 0, &request, NULL));
    OK(milepost_request_call(request, 0, &call, NULL));
    CHECK(call.is_valid == 1 && same(call.id, "[1]") && same(call.other_method, "echo") &&
          same(call.other_params, "{\"x\": 1}"));
    OK(milepost_request_answer(request, 0, call.other_params.data, call.other_params.len, NULL));
    OK(milepost_request_call(request, 1, &call, NULL));
    CHECK(call.is_valid == 0 && call.other_method.len == 0);
    CHECK(milepost_request_answer(request, 1, TEXT("1"), NULL) == MILEPOST_STATUS_USAGE);
    CHECK(milepost_request_answer(request, 3, TEXT("1"), NULL) == MILEPOST_STATUS_INDEX);
    CHECK(milepost_request_answer(request, 2, TEXT("1,2"), NULL) == MILEPOST_STATUS_SYNTAX);
    CHECK(milepost_request_refuse(request, 2, TEXT("{}"), 1, NULL) == MILEPOST_STATUS_ENUM);
    OK(milepost_request_refuse(request, 2, TEXT("{\"code\":-1}"), MILEPOST_RESPONSE_KIND_HANDLER,
                               NULL));
    OK(milepost_engine_new(NULL, &engine, NULL));
    OK(milepost_engine_respond_parsed(engine, request, &response, NULL));
    OK(milepost_response_body(response, &body, NULL));
    CHECK(contains(body, "[{\"jsonrpc\":\"2.0\",\"result\":{\"x\": 1},\"id\":[1]},{") &&
          contains(body, "},{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1},\"id\":\"c\"}]"));
    OK(milepost_response_batch_len(response, &len, NULL));
    CHECK(len == 3);
    milepost_response_free(response);
    OK(milepost_endpoint_new(engine, NULL, &endpoint, NULL));
    OK(milepost_endpoint_handle_parsed(endpoint, 0, 0, request, &handle, &response, NULL));
    CHECK(handle == 0 && response != NULL);
    milepost_response_free(response);
    milepost_request_free(request);
    milepost_endpoint_free(endpoint);
    milepost_engine_free(engine);
}

static void check_kind(milepost_response *response, milepost_response_kind_t expected) {
    milepost_response_kind_t kind = 0;
    CHECK(response != NULL);
    OK(milepost_response_kind(response, &kind, NULL));
    CHECK(kind == expected);
    milepost_response_free(response);
}

static void errors_are_data(void) {
    milepost_engine *engine;
    milepost_response *response, *item;
    milepost_rpc_error rpc_error = {.size = sizeof rpc_error};
    milepost_hash hash;
    milepost_bytes body;
    OK(milepost_engine_new(NULL, &engine, NULL));
    OK(milepost_engine_respond(
        engine,
        TEXT("[{\"method\":\"EXPERIMENTAL_protocol_config\",\"params\":{\"block_id\":7}},"
             "{\"method\":\"tx\",\"params\":{\"tx_hash\":\"11111111111111111111111111111112\","
             "\"sender_account_id\":\"a.near\",\"wait_until\":\"NONE\"}}]"),
        NULL, 0, &response, NULL));
    milepost_engine_free(engine);
    OK(milepost_response_batch_item(response, 0, &item, NULL));
    OK(milepost_response_rpc_error(item, &rpc_error, NULL));
    CHECK(same(rpc_error.cause, "UNKNOWN_BLOCK") && rpc_error.height && *rpc_error.height == 7);
    CHECK(!rpc_error.hash && !rpc_error.shard_id && !rpc_error.limit);
    milepost_response_free(item);
    OK(milepost_response_batch_item(response, 1, &item, NULL));
    milepost_response_free(response);
    OK(milepost_response_rpc_error(item, &rpc_error, NULL));
    OK(milepost_hash_parse(TEXT("11111111111111111111111111111112"), &hash, NULL));
    CHECK(same(rpc_error.name, "HANDLER_ERROR") && same(rpc_error.cause, "UNKNOWN_TRANSACTION"));
    CHECK(rpc_error.hash && memcmp(rpc_error.hash, &hash, sizeof hash) == 0 && !rpc_error.height);
    OK(milepost_response_body(item, &body, NULL));
    CHECK(rpc_error.json.data > body.data &&
          rpc_error.json.data + rpc_error.json.len < body.data + body.len);
    check_kind(item, MILEPOST_RESPONSE_KIND_HANDLER);
}

#define POLL(endpoint, kind) poll_at(__LINE__, endpoint, MILEPOST_OUTPUT_##kind, 0)

/* Hands in a request that has to wait, with a timeout, and returns its handle */
static uint64_t wait_for(milepost_endpoint *endpoint, uint64_t now, uint64_t timeout) {
    milepost_response *response;
    uint64_t handle;
    OK(milepost_endpoint_handle_request(endpoint, now, timeout, TEXT(REQUEST), NULL, 0, &handle,
                                        &response, NULL));
    CHECK(response == NULL && handle != 0);
    return handle;
}

static void endpoints_wait_cancel_and_shut_down(void) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_response *response;
    milepost_import_summary *summary;
    milepost_output output = {.size = sizeof output};
    milepost_chain_status_view chain_status = {.size = sizeof chain_status};
    uint64_t first, second, third, timeout, handle;
    int32_t was_pending;
    size_t count;
    OK(milepost_settings_new(&settings, NULL));
    OK(milepost_settings_set(settings, MILEPOST_SETTING_TIMEOUT, 50, NULL));
    OK(milepost_engine_new(settings, &engine, NULL));
    OK(milepost_endpoint_new(engine, settings, &endpoint, NULL));
    milepost_settings_free(settings);
    OK(milepost_endpoint_next_timeout(endpoint, &timeout, NULL));
    CHECK(timeout == MILEPOST_TIMEOUT_NEVER);
    first = wait_for(endpoint, 7, MILEPOST_TIMEOUT_DEFAULT);
    second = wait_for(endpoint, 7, MILEPOST_TIMEOUT_DEFAULT);
    third = wait_for(endpoint, 8, MILEPOST_TIMEOUT_DEFAULT);
    OK(milepost_endpoint_pending_count(endpoint, &count, NULL));
    OK(milepost_endpoint_next_timeout(endpoint, &timeout, NULL));
    CHECK(count == 3 && timeout <= 57 && first != second);
    CHECK(POLL(endpoint, TIMEOUT).timeout == timeout);
    OK(milepost_endpoint_cancel(endpoint, first, &was_pending, NULL));
    CHECK(was_pending == 1);
    OK(milepost_endpoint_cancel(endpoint, first, &was_pending, NULL));
    CHECK(was_pending == 0);
    OK(milepost_endpoint_handle_timeout(endpoint, 57, NULL));
    output = POLL(endpoint, RESPONSE);
    CHECK(output.handle == second);
    check_kind(output.response, MILEPOST_RESPONSE_KIND_TIMEOUT);
    output = POLL(endpoint, TIMEOUT);
    CHECK(output.response == NULL && output.handle == 0);
    /* A block of the engine wakes no request until the endpoint gets the chain update. */
    milepost_message_builder *builder = new_builder(100, 3, 2);
    milepost_bytes bytes;
    add_views(builder);
    OK(milepost_message_builder_text(builder, &bytes, NULL));
    OK(milepost_engine_import_block(engine, bytes.data, bytes.len, &summary, NULL));
    milepost_message_builder_free(builder);
    milepost_engine_free(engine);
    POLL(endpoint, TIMEOUT);
    OK(milepost_endpoint_handle_chain_update(endpoint, summary, NULL));
    milepost_import_summary_free(summary);
    output = POLL(endpoint, RESPONSE);
    CHECK(output.handle == third);
    check_kind(output.response, MILEPOST_RESPONSE_KIND_RESULT);
    OK(milepost_endpoint_handle_chain_query(endpoint, &handle, NULL));
    output = POLL(endpoint, COMPLETED);
    CHECK(output.handle == handle && output.summary == NULL);
    OK(milepost_chain_status_read(output.chain_status, &chain_status, NULL));
    CHECK(chain_status.blocks == 1 && chain_status.chain_id.len == 0);
    milepost_chain_status_free(output.chain_status);
    OK(milepost_endpoint_shutdown(endpoint, NULL));
    OK(milepost_endpoint_handle_request(endpoint, 60, MILEPOST_TIMEOUT_NEVER, TEXT(OTHER_REQUEST),
                                        NULL, 0, &handle, &response, NULL));
    CHECK(response == NULL);
    output = POLL(endpoint, RESPONSE);
    CHECK(output.handle == handle);
    check_kind(output.response, MILEPOST_RESPONSE_KIND_UNAVAILABLE);
    milepost_endpoint_free(endpoint);
}

static void requests_have_timeouts_of_their_own(void) {
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_response *response;
    milepost_output output = {.size = sizeof output};
    uint64_t soon, later, handle;
    OK(milepost_engine_new(NULL, &engine, NULL));
    OK(milepost_endpoint_new(engine, NULL, &endpoint, NULL));
    milepost_engine_free(engine);
    wait_for(endpoint, 10, MILEPOST_TIMEOUT_NEVER);
    later = wait_for(endpoint, 10, MILEPOST_TIMEOUT_DEFAULT);
    soon = wait_for(endpoint, 10, 7);
    OK(milepost_endpoint_handle_request(endpoint, 10, 0, TEXT(REQUEST), NULL, 0, &handle, &response,
                                        NULL));
    CHECK(handle == 0);
    check_kind(response, MILEPOST_RESPONSE_KIND_TIMEOUT);
    OK(milepost_endpoint_handle_timeout(endpoint, 16, NULL));
    CHECK(POLL(endpoint, TIMEOUT).timeout <= 17);
    OK(milepost_endpoint_handle_timeout(endpoint, 17, NULL));
    output = POLL(endpoint, RESPONSE);
    CHECK(output.handle == soon);
    check_kind(output.response, MILEPOST_RESPONSE_KIND_TIMEOUT);
    OK(milepost_endpoint_handle_timeout(endpoint, 10010, NULL));
    output = POLL(endpoint, RESPONSE);
    CHECK(output.handle == later);
    check_kind(output.response, MILEPOST_RESPONSE_KIND_TIMEOUT);
    OK(milepost_endpoint_handle_timeout(endpoint, UINT64_MAX - 1, NULL));
    CHECK(POLL(endpoint, TIMEOUT).timeout == MILEPOST_TIMEOUT_NEVER);
    milepost_endpoint_free(endpoint);
}

static void errors_have_details(void) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    milepost_hash out;
    OK(milepost_settings_new(&settings, NULL));
    CHECK(milepost_settings_set(settings, MILEPOST_SETTING_FINALITY, 2, &error) ==
          MILEPOST_STATUS_ENUM);
    OK(milepost_error_read(error, &view));
    CHECK(view.status == MILEPOST_STATUS_ENUM && view.path.len == 0 && view.has_offset == 0);
    milepost_error_free(error);
    milepost_settings_free(settings);
    OK(milepost_engine_new(NULL, &engine, NULL));
    OK(milepost_endpoint_new(engine, NULL, &endpoint, NULL));
    CHECK(milepost_endpoint_handle_commit_result(endpoint, 7, 1, NULL, 0, &error) ==
          MILEPOST_STATUS_USAGE);
    OK(milepost_error_read(error, &view));
    CHECK(contains(view.message, "has no commit"));
    milepost_error_free(error);
    milepost_endpoint_free(endpoint);
    milepost_engine_free(engine);
    CHECK(milepost_hash_parse(TEXT("0"), &out, NULL) == MILEPOST_STATUS_VALUE);
    CHECK(milepost_hash_format(&out, NULL, &error) == MILEPOST_STATUS_NULL);
    OK(milepost_error_read(error, &view));
    CHECK(same(view.message, "text is NULL"));
    milepost_error_free(error);
    CHECK(milepost_endpoint_handle_timeout(NULL, 7, &error) == MILEPOST_STATUS_NULL);
    OK(milepost_error_read(error, &view));
    CHECK(same(view.message, "endpoint is NULL"));
    milepost_error_free(error);
    CHECK(strcmp(milepost_status_name(MILEPOST_STATUS_STORAGE), "MILEPOST_STATUS_STORAGE") == 0);
    CHECK(strcmp(milepost_status_name(-1), "unknown status") == 0);
}

static int32_t fails(void *context, const uint8_t *key, size_t key_len, milepost_sink *sink) {
    (void)context, (void)key, (void)key_len;
    milepost_sink_fail(sink, TEXT("the first reason"));
    milepost_sink_fail(sink, TEXT("disk sda is gone"));
    return 7;
}

/* The sentence of a callback is in the response, and in the error */
static void callbacks_give_their_reason(void) {
    store store;
    milepost_storage functions;
    milepost_engine *engine;
    milepost_response *response;
    milepost_rpc_error rpc_error = {.size = sizeof rpc_error};
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    milepost_chain_status *chain_status;
    memset(&store, 0, sizeof store);
    functions = store_functions(&store, 0);
    functions.get = fails;
    OK(milepost_engine_new_over(&functions, NULL, &engine, NULL));
    OK(milepost_engine_respond(engine, TEXT(REQUEST), NULL, 0, &response, NULL));
    OK(milepost_response_rpc_error(response, &rpc_error, NULL));
    CHECK(contains(rpc_error.json, "storage.get(transactions/"));
    CHECK(contains(rpc_error.json, "): the storage's get returned 7: disk sda is gone"));
    milepost_response_free(response);
    CHECK(milepost_engine_chain_status(engine, &chain_status, &error) == MILEPOST_STATUS_STORAGE);
    OK(milepost_error_read(error, &view));
    CHECK(same(view.path, "storage.get(chain/0000000000000000)"));
    CHECK(same(view.message, "the storage's get returned 7: disk sda is gone"));
    milepost_error_free(error);
    milepost_engine_free(engine);
    store_clear(&store);
}

#define ONES "11111111111111111111111111111112"
static const char OTHER_TYPE[] =
    "{\"block\":{\"header\":{\"height\":7,\"hash\":\"" ONES "\",\"prev_hash\":\"" ONES
    "\",\"epoch_id\":\"" ONES
    "\"}},\"shards\":[{\"chunk\":{\"transactions\":[],\"receipts\":["
    "{\"predecessor_id\":\"aa\",\"priority\":{},\"receipt\":{\"Data\":{\"data_id\":\"" ONES
    "\"}},\"receipt_id\":\"" ONES
    "\",\"receiver_id\":\"bb\"}]},"
    "\"receipt_execution_outcomes\":[]}]}";

static void other_types_are_counted_or_refused(void) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_import_summary *summary;
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    milepost_type_mismatches type_mismatches = {.size = sizeof type_mismatches};
    const char *path = "shards[0].chunk.receipts[0].priority";
    OK(milepost_settings_new(&settings, NULL));
    OK(milepost_engine_new(settings, &engine, NULL));
    OK(milepost_engine_import_block(engine, TEXT(OTHER_TYPE), &summary, NULL));
    OK(milepost_import_summary_type_mismatches(summary, &type_mismatches, NULL));
    CHECK(type_mismatches.count == 1 && contains(type_mismatches.first_path, path) &&
          contains(type_mismatches.first_message, "expected u64"));
    milepost_import_summary_free(summary);
    import_block(engine, 8, 8, 2, &summary);
    OK(milepost_import_summary_type_mismatches(summary, &type_mismatches, NULL));
    CHECK(type_mismatches.count == 0 && type_mismatches.first_path.len == 0);
    milepost_import_summary_free(summary);
    milepost_engine_free(engine);

    OK(milepost_settings_set(settings, MILEPOST_SETTING_STRICT_TYPES, 1, NULL));
    OK(milepost_engine_new(settings, &engine, NULL));
    CHECK(milepost_engine_import_block(engine, TEXT(OTHER_TYPE), NULL, &error) ==
          MILEPOST_STATUS_SCHEMA);
    OK(milepost_error_read(error, &view));
    CHECK(contains(view.path, path));
    milepost_error_free(error);
    milepost_engine_free(engine);
    milepost_settings_free(settings);
}

/* Blocks without the members that their hashes cover cannot be verified, and are imported */
static void blocks_are_verified_if_set(void) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_import_summary *summary;
    milepost_verification found = {.size = sizeof found};
    CHECK(MILEPOST_VERIFY_OFF == 0);
    OK(milepost_settings_new(&settings, NULL));
    CHECK(milepost_settings_set(settings, MILEPOST_SETTING_VERIFY, 3, NULL) ==
          MILEPOST_STATUS_ENUM);
    for (uint64_t mode = MILEPOST_VERIFY_OFF; mode <= MILEPOST_VERIFY_STRICT; mode++) {
        OK(milepost_settings_set(settings, MILEPOST_SETTING_VERIFY, mode, NULL));
        OK(milepost_engine_new(settings, &engine, NULL));
        OK(milepost_engine_import_block(engine, TEXT(OTHER_TYPE), &summary, NULL));
        OK(milepost_import_summary_verification(summary, &found, NULL));
        if (mode == MILEPOST_VERIFY_OFF) {
            CHECK(found.result == MILEPOST_VERIFICATION_RESULT_NONE && found.path.len == 0);
        } else {
            CHECK(found.result == MILEPOST_VERIFICATION_RESULT_UNVERIFIABLE &&
                  contains(found.path, "block.header") && contains(found.message, "missing"));
        }
        milepost_import_summary_free(summary);
        milepost_engine_free(engine);
    }
    milepost_settings_free(settings);
}

/* The largest and smallest values of all settings work */
static void settings_may_be_extreme(void) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_output output = {.size = sizeof output};
    uint64_t handle, timeout;
    for (uint64_t value = 0; value <= 1; value++) {
        OK(milepost_settings_new(&settings, NULL));
        for (milepost_setting_t setting = 1; setting <= MILEPOST_SETTING_VERIFY; setting++) {
            milepost_status_t status =
                milepost_settings_set(settings, setting, value == 0 ? UINT64_MAX : 0, NULL);
            /* With 0 nothing could be answered, so the default stays. */
            int is_refused = value == 1 && (setting == MILEPOST_SETTING_MAX_RECEIPTS ||
                                            setting == MILEPOST_SETTING_MAX_BATCH ||
                                            setting == MILEPOST_SETTING_MAX_ID_BYTES);
            CHECK(is_refused ? status == MILEPOST_STATUS_VALUE
                             : status == MILEPOST_STATUS_OK ||
                                   (value == 0 && status == MILEPOST_STATUS_ENUM));
        }
        OK(milepost_engine_new(settings, &engine, NULL));
        OK(milepost_endpoint_new(engine, settings, &endpoint, NULL));
        import_block(engine, 10, 10, 9, NULL);
        import_block(engine, UINT64_MAX, 11, 10, NULL);
        handle = wait_for(endpoint, UINT64_MAX, MILEPOST_TIMEOUT_DEFAULT);
        if (value == 0) {
            POLL(endpoint, TIMEOUT);
            OK(milepost_endpoint_next_timeout(endpoint, &timeout, NULL));
            OK(milepost_endpoint_handle_timeout(endpoint, UINT64_MAX, NULL));
        }
        output = POLL(endpoint, RESPONSE);
        CHECK(output.handle == handle);
        milepost_response_free(output.response);
        POLL(endpoint, TIMEOUT);
        milepost_endpoint_free(endpoint);
        milepost_engine_free(engine);
        milepost_settings_free(settings);
    }
}

int main(void) {
    settings_may_be_extreme();
    built_messages_are_imported();
    forks_are_reported();
    transactions_are_decoded();
    requests_are_validated();
    errors_are_data();
    a_host_answers_calls_of_its_own();
    endpoints_wait_cancel_and_shut_down();
    requests_have_timeouts_of_their_own();
    errors_have_details();
    callbacks_give_their_reason();
    other_types_are_counted_or_refused();
    blocks_are_verified_if_set();
    return failed;
}
