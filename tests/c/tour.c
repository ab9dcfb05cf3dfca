/*
 * What the vectors do not show, once each: messages from a host's own views, forks, transactions, details of refusals, desks that
 * stop, exchanges that fail. Ends with 0 when all of it is as it should be, else it says where it was not.
 */
#include <stdio.h>
#include <string.h>

#include "milepost.h"

#define TRANSACTION_BASE64                                                                                                     \
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2ZXIudGVzdG5ldNMnL7URB1cxPOu3"  \
    "G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2M" \
    "fga8RlbysuQ8D8LlA6bQE="

static int failed;

static void check_at(int line, int holds, const char *what) {
    if (!holds) {
        failed = 1;
        printf("line %d: %s\n", line, what);
    }
}

#define CHECK(condition) check_at(__LINE__, (condition), #condition)
#define OK(call) CHECK((call) == MILEPOST_STATUS_OK)

static const uint8_t *text(const char *text) {
    return (const uint8_t *)text;
}

#define TEXT(literal) text(literal), strlen(literal)

static int same(milepost_bytes bytes, const char *expected) {
    return bytes.len == strlen(expected) && memcmp(bytes.data, expected, bytes.len) == 0;
}

static int contains(milepost_bytes bytes, const char *expected) {
    for (size_t i = 0; i + strlen(expected) <= bytes.len; i++) {
        if (memcmp(bytes.data + i, expected, strlen(expected)) == 0) {
            return 1;
        }
    }
    return 0;
}

static milepost_hash hash(uint8_t last) {
    milepost_hash hash;
    memset(&hash, 0, sizeof hash);
    hash.bytes[31] = last;
    return hash;
}

/* A request for the transaction of `add_views` */
static const char ASKS[] =
    "{\"method\":\"tx_status\",\"params\":{\"tx_hash\":\"11111111111111111111111111111112\",\"sender_account_id\":"
    "\"alice.near\",\"wait_until\":\"EXECUTED_OPTIMISTIC\"}}";

static const char RECEIPT[] =
    "{\"predecessor_id\":\"alice.near\",\"priority\":0,\"receipt\":{\"Action\":{\"actions\":[\"CreateAccount\"],\"gas_price\":"
    "\"100000000\",\"input_data_ids\":[],\"is_promise_yield\":false,\"output_data_receivers\":[],\"signer_id\":\"alice.near\","
    "\"signer_public_key\":\"ed25519:11111111111111111111111111111111\"}},\"receipt_id\":\"11111111111111111111111111111115\","
    "\"receiver_id\":\"new.alice.near\"}";

static milepost_message *message(uint64_t height, uint8_t block, uint8_t prev) {
    milepost_message *message;
    milepost_hash name = hash(block), before = hash(prev), epoch = hash(9), none = hash(0);
    OK(milepost_message_new(height, &name, &before, &epoch, &none, 80, &message));
    return message;
}

/* A transaction that made a receipt, and the receipt's outcome with a line of log, in the block whose hash ends with 3 */
static void add_views(milepost_message *message) {
    milepost_error *error;
    milepost_detail detail;
    OK(milepost_message_add_transaction(
        message,
        TEXT("{\"actions\":[\"CreateAccount\"],\"hash\":\"11111111111111111111111111111112\",\"nonce\":1,\"priority_fee\":0,"
             "\"public_key\":\"ed25519:11111111111111111111111111111111\",\"receiver_id\":\"new.alice.near\",\"signature\":"
             "\"ed25519:1111111111111111111111111111111111111111111111111111111111111111\",\"signer_id\":\"alice.near\"}"),
        TEXT("{\"proof\":[],\"block_hash\":\"11111111111111111111111111111114\",\"id\":\"11111111111111111111111111111112\","
             "\"outcome\":{\"executor_id\":\"alice.near\",\"gas_burnt\":7,\"logs\":[],\"receipt_ids\":"
             "[\"11111111111111111111111111111115\"],\"status\":{\"SuccessReceiptId\":\"11111111111111111111111111111115\"},"
             "\"tokens_burnt\":\"36893488147419103235\"}}"),
        NULL));
    OK(milepost_message_add_outcome(
        message,
        TEXT("{\"proof\":[],\"block_hash\":\"11111111111111111111111111111114\",\"id\":\"11111111111111111111111111111115\","
             "\"outcome\":{\"executor_id\":\"new.alice.near\",\"gas_burnt\":18446744073709551615,\"logs\":[\"one\",\"t\\\"wo\"],"
             "\"receipt_ids\":[],\"status\":{\"SuccessValue\":\"aGk=\"},\"tokens_burnt\":\"0\"}}"),
        TEXT(RECEIPT), NULL));
    OK(milepost_message_add_receipt(message, TEXT(RECEIPT), NULL));
    CHECK(milepost_message_add_receipt(message, TEXT("{},{}"), &error) == MILEPOST_STATUS_SYNTAX);
    OK(milepost_error_read(error, &detail));
    CHECK(detail.status == MILEPOST_STATUS_SYNTAX && detail.has_offset == 1 && detail.offset == 3);
    CHECK(same(detail.path, "receipt") && detail.message.len > 0);
    milepost_error_free(error);
}

static void views_become_rows(void) {
    milepost_engine *engine;
    milepost_message *made = message(100, 3, 2);
    milepost_ingested *ingested;
    milepost_summary summary;
    milepost_answer *answer;
    milepost_result result;
    milepost_outcome outcome;
    milepost_bytes bytes;
    milepost_hash expected;
    add_views(made);
    OK(milepost_message_text(made, &bytes));
    OK(milepost_engine_new(NULL, &engine, NULL));
    OK(milepost_engine_ingest(engine, bytes.data, bytes.len, &ingested, NULL));
    milepost_message_free(made);
    OK(milepost_ingested_read(ingested, &summary));
    CHECK(summary.place == MILEPOST_PLACE_HEAD && summary.block.height == 100 && summary.has_last_final == 0);
    CHECK(summary.transactions == 1 && summary.outcomes == 2 && summary.receipts == 1 && summary.undone == 0);
    milepost_ingested_free(ingested);

    OK(milepost_engine_answer(engine, TEXT(ASKS), TEXT("tx_status"), &answer, NULL));
    OK(milepost_answer_result(answer, &result, NULL));
    CHECK(result.milestone == MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC && result.ending == MILEPOST_ENDING_SUCCESS_VALUE);
    CHECK(same(result.payload, "hi") && result.outcomes == 2 && result.receipts == 1);
    OK(milepost_answer_receipt(answer, 0, &bytes, NULL));
    CHECK(same(bytes, RECEIPT));
    OK(milepost_answer_outcome(answer, 0, &outcome, NULL));
    expected = hash(1);
    CHECK(memcmp(&outcome.id, &expected, sizeof expected) == 0 && outcome.gas_burnt == 7);
    CHECK(outcome.tokens_burnt_high == 2 && outcome.tokens_burnt_low == 3 && outcome.receipt_ids_len == 1);
    expected = hash(4);
    CHECK(outcome.ending == MILEPOST_ENDING_SUCCESS_RECEIPT_ID && memcmp(outcome.receipt_ids, &expected, 32) == 0);
    CHECK(outcome.payload.len == 32 && memcmp(outcome.payload.data, &expected, 32) == 0);
    OK(milepost_answer_outcome(answer, 1, &outcome, NULL));
    if (failed) {
        return; /* what follows looks behind pointers */
    }
    CHECK(outcome.gas_burnt == UINT64_MAX && outcome.logs_len == 2 && same(outcome.executor_id, "new.alice.near"));
    CHECK(same(outcome.logs[0], "one") && same(outcome.logs[1], "t\"wo") && outcome.json.data[0] == '{');
    CHECK(milepost_answer_outcome(answer, 2, &outcome, NULL) == MILEPOST_STATUS_INDEX && outcome.logs == NULL);
    milepost_answer_free(answer);

    /* A body that names another method than its address */
    OK(milepost_engine_answer(engine, TEXT(ASKS), TEXT("tx"), &answer, NULL));
    milepost_class_t class_of = 0;
    OK(milepost_answer_class(answer, &class_of));
    CHECK(class_of == MILEPOST_CLASS_REQUEST_VALIDATION);
    milepost_answer_free(answer);
    milepost_engine_free(engine);
}

static void take_in(milepost_engine *engine, uint64_t height, uint8_t block, uint8_t prev, milepost_ingested **ingested) {
    milepost_message *made = message(height, block, prev);
    milepost_bytes bytes;
    OK(milepost_message_text(made, &bytes));
    OK(milepost_engine_ingest(engine, bytes.data, bytes.len, ingested, NULL));
    milepost_message_free(made);
}

static void forks_are_told(void) {
    milepost_engine *engine;
    milepost_ingested *ingested;
    milepost_summary summary;
    milepost_point point;
    milepost_chain chain;
    OK(milepost_engine_new(NULL, &engine, NULL));
    OK(milepost_engine_chain(engine, &chain, NULL));
    CHECK(chain.has_head == 0 && chain.blocks == 0);
    take_in(engine, 10, 10, 9, NULL);
    take_in(engine, 11, 11, 10, NULL);
    take_in(engine, 12, 112, 10, &ingested);
    OK(milepost_ingested_read(ingested, &summary));
    CHECK(summary.place == MILEPOST_PLACE_HEAD && summary.undone == 1 && summary.redone == 0);
    OK(milepost_ingested_undone(ingested, 0, &point));
    CHECK(point.height == 11 && point.hash.bytes[31] == 11);
    CHECK(milepost_ingested_undone(ingested, 1, &point) == MILEPOST_STATUS_INDEX && point.height == 0);
    milepost_ingested_free(ingested);
    take_in(engine, 13, 13, 11, &ingested);
    OK(milepost_ingested_read(ingested, &summary));
    CHECK(summary.undone == 1 && summary.redone == 1);
    OK(milepost_ingested_redone(ingested, 0, &point));
    CHECK(point.height == 11);
    milepost_ingested_free(ingested);
    OK(milepost_engine_chain(engine, &chain, NULL));
    CHECK(chain.has_head == 1 && chain.head.height == 13 && chain.earliest.height == 10 && chain.blocks == 3);
    CHECK(chain.protocol_version == 80 && chain.generation == 4);
    milepost_engine_free(engine);
}

static void transactions_are_read(void) {
    milepost_transaction *transaction;
    milepost_transaction_view view;
    milepost_error *error;
    milepost_detail detail;
    milepost_text name;
    OK(milepost_transaction_decode_base64(TEXT(TRANSACTION_BASE64), &transaction, NULL));
    OK(milepost_transaction_read(transaction, &view));
    OK(milepost_hash_format(&view.hash, &name));
    CHECK(name.len == 44 && memcmp(name.bytes, "6zgh2u9DqHHiXzdy9ouTP7oGky2T4nugqzqt9wJZwNFm", 44) == 0);
    CHECK(same(view.signer_id, "sender.testnet") && same(view.receiver_id, "receiver.testnet"));
    CHECK(view.nonce == 15 && view.actions == 1 && view.signature_is_valid == 1);
    CHECK(contains(view.json, "\"deposit\":\"1000000000000000000000000\"") || contains(view.json, "\"Transfer\""));
    milepost_transaction_free(transaction);
    CHECK(milepost_transaction_decode(TEXT("\016\0\0\0"), &transaction, &error) == MILEPOST_STATUS_SYNTAX);
    OK(milepost_error_read(error, &detail));
    CHECK(detail.message.len > 0 && detail.has_offset == 1 && contains(detail.message, "ends early"));
    milepost_error_free(error);
}

static void requests_are_checked(void) {
    milepost_answer *refusal;
    milepost_failure failure;
    size_t calls, parts;
    OK(milepost_request_validate(NULL, TEXT(ASKS), NULL, 0, &calls, &refusal, NULL));
    CHECK(calls == 1 && refusal == NULL);
    OK(milepost_request_validate(NULL, TEXT("{\"method\":\"block\",\"id\":1}"), NULL, 0, &calls, &refusal, NULL));
    OK(milepost_answer_failure(refusal, &failure, NULL));
    CHECK(calls == 1 && same(failure.cause, "METHOD_NOT_FOUND") && same(failure.info, "{\"method_name\":\"block\"}"));
    milepost_answer_free(refusal);
    OK(milepost_request_validate(NULL, TEXT("[1,{\"method\":\"tx\"}]"), NULL, 0, &calls, &refusal, NULL));
    OK(milepost_answer_parts(refusal, &parts, NULL));
    CHECK(calls == 2 && parts == 2);
    milepost_answer_free(refusal);
    OK(milepost_request_validate(NULL, TEXT("{"), NULL, 0, &calls, &refusal, NULL));
    CHECK(calls == 0 && refusal != NULL);
    milepost_answer_free(refusal);
}

static void desks_wait_cancel_and_stop(void) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_desk *desk;
    milepost_answer *answer;
    milepost_ingested *ingested;
    milepost_class_t class_of;
    uint64_t first, second, third, deadline, ticket;
    int32_t was_open;
    size_t open;
    OK(milepost_settings_new(&settings));
    OK(milepost_settings_put(settings, MILEPOST_SETTING_TIMEOUT, 50, NULL));
    OK(milepost_engine_new(settings, &engine, NULL));
    OK(milepost_desk_new(engine, settings, &desk, NULL));
    milepost_settings_free(settings);
    OK(milepost_desk_next_deadline(desk, &deadline));
    CHECK(deadline == MILEPOST_DEADLINE_NEVER);
    OK(milepost_desk_submit(desk, 7, TEXT(ASKS), NULL, 0, &first, &answer, NULL));
    CHECK(answer == NULL);
    OK(milepost_desk_submit(desk, 7, TEXT(ASKS), NULL, 0, &second, &answer, NULL));
    OK(milepost_desk_submit(desk, 8, TEXT(ASKS), NULL, 0, &third, &answer, NULL));
    OK(milepost_desk_open(desk, &open));
    OK(milepost_desk_next_deadline(desk, &deadline));
    CHECK(open == 3 && deadline <= 57 && first != second);
    OK(milepost_desk_cancel(desk, first, &was_open));
    CHECK(was_open == 1);
    OK(milepost_desk_cancel(desk, first, &was_open));
    CHECK(was_open == 0);
    OK(milepost_desk_handle_time(desk, 57));
    OK(milepost_desk_poll_answer(desk, &ticket, &answer, NULL));
    CHECK(answer != NULL && ticket == second);
    OK(milepost_answer_class(answer, &class_of));
    CHECK(class_of == MILEPOST_CLASS_TIMEOUT);
    milepost_answer_free(answer);
    OK(milepost_desk_poll_answer(desk, &ticket, &answer, NULL));
    CHECK(answer == NULL && ticket == 0);
    /* A block that the engine took in is nothing the desk has heard of, until it is told. */
    milepost_message *made = message(100, 3, 2);
    milepost_bytes bytes;
    add_views(made);
    OK(milepost_message_text(made, &bytes));
    OK(milepost_engine_ingest(engine, bytes.data, bytes.len, &ingested, NULL));
    milepost_message_free(made);
    milepost_engine_free(engine);
    OK(milepost_desk_poll_answer(desk, &ticket, &answer, NULL));
    CHECK(answer == NULL);
    OK(milepost_desk_handle_ingested(desk, ingested));
    milepost_ingested_free(ingested);
    OK(milepost_desk_poll_answer(desk, &ticket, &answer, NULL));
    CHECK(answer != NULL && ticket == third);
    milepost_answer_free(answer);
    OK(milepost_desk_stop(desk));
    OK(milepost_desk_submit(desk, 60, TEXT("{\"method\":\"tx_status\",\"params\":{\"tx_hash\":\"11111111111111111111111111111113\","
                                           "\"sender_account_id\":\"alice.near\"}}"),
                            NULL, 0, &ticket, &answer, NULL));
    CHECK(answer != NULL);
    OK(milepost_answer_class(answer, &class_of));
    CHECK(class_of == MILEPOST_CLASS_UNAVAILABLE);
    milepost_answer_free(answer);
    milepost_desk_free(desk);
}

static void supply_nothing(milepost_exchange *exchange, milepost_step_t expected, milepost_answer **answer) {
    const milepost_bytes *keys;
    milepost_step_t step;
    size_t keys_len;
    milepost_row rows[64];
    memset(rows, 0, sizeof rows);
    OK(milepost_exchange_poll(exchange, &step, &keys, &keys_len, answer, NULL));
    while (step == MILEPOST_STEP_NEED_ROWS) {
        CHECK(keys_len > 0 && keys_len < 64 && keys[0].len >= 2 && keys[0].len <= 33);
        CHECK(milepost_exchange_supply(exchange, rows, keys_len + 1, NULL) == MILEPOST_STATUS_USAGE);
        OK(milepost_exchange_supply(exchange, rows, keys_len, NULL));
        OK(milepost_exchange_poll(exchange, &step, &keys, &keys_len, answer, NULL));
    }
    CHECK(step == expected);
}

static void exchanges_wait_and_fail(void) {
    milepost_exchange *exchange;
    milepost_answer *answer;
    milepost_failure failure;
    milepost_hash waited_for, expected = hash(1);
    OK(milepost_exchange_new(NULL, TEXT(ASKS), NULL, 0, &exchange, NULL));
    supply_nothing(exchange, MILEPOST_STEP_WAIT, &answer);
    OK(milepost_exchange_waits_for(exchange, 0, &waited_for, NULL));
    CHECK(memcmp(&waited_for, &expected, sizeof expected) == 0);
    CHECK(milepost_exchange_waits_for(exchange, 1, &waited_for, NULL) == MILEPOST_STATUS_INDEX);
    OK(milepost_exchange_resume(exchange, MILEPOST_RESUME_AGAIN, NULL));
    supply_nothing(exchange, MILEPOST_STEP_WAIT, &answer);
    OK(milepost_exchange_resume(exchange, MILEPOST_RESUME_LAST, NULL));
    supply_nothing(exchange, MILEPOST_STEP_DONE, &answer);
    OK(milepost_answer_failure(answer, &failure, NULL));
    CHECK(same(failure.name, "HANDLER_ERROR") && same(failure.cause, "TIMEOUT_ERROR") && failure.info.len == 0);
    milepost_answer_free(answer);
    CHECK(milepost_exchange_resume(exchange, MILEPOST_RESUME_LAST, NULL) == MILEPOST_STATUS_USAGE);
    milepost_exchange_free(exchange);
    OK(milepost_exchange_new(NULL, TEXT(ASKS), NULL, 0, &exchange, NULL));
    OK(milepost_exchange_fail(exchange, TEXT("the cluster is down"), &answer, NULL));
    OK(milepost_answer_failure(answer, &failure, NULL));
    CHECK(same(failure.cause, "INTERNAL_ERROR") && contains(failure.json, "the cluster is down"));
    milepost_answer_free(answer);
    CHECK(milepost_exchange_fail(exchange, NULL, 0, &answer, NULL) == MILEPOST_STATUS_USAGE && answer == NULL);
    milepost_exchange_free(exchange);
}

static void refusals_have_details(void) {
    milepost_settings *settings;
    milepost_desk *desk;
    milepost_error *error;
    milepost_detail detail;
    milepost_answer *answer;
    uint64_t ticket;
    milepost_hash out;
    OK(milepost_settings_new(&settings));
    CHECK(milepost_settings_put(settings, MILEPOST_SETTING_ALL_FINAL, 2, &error) == MILEPOST_STATUS_ENUM);
    OK(milepost_error_read(error, &detail));
    CHECK(detail.status == MILEPOST_STATUS_ENUM && detail.path.len == 0 && detail.has_offset == 0);
    milepost_error_free(error);
    milepost_settings_free(settings);
    OK(milepost_desk_new(NULL, NULL, &desk, NULL));
    CHECK(milepost_desk_submit(desk, 0, TEXT(ASKS), NULL, 0, &ticket, &answer, &error) == MILEPOST_STATUS_USAGE);
    OK(milepost_error_read(error, &detail));
    CHECK(contains(detail.message, "without an engine"));
    milepost_error_free(error);
    milepost_desk_free(desk);
    CHECK(milepost_hash_parse(TEXT("0"), &out, NULL) == MILEPOST_STATUS_VALUE);
}

/* Limits that nothing reaches are limits like any other */
static void settings_may_be_extreme(void) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_desk *desk;
    milepost_answer *answer;
    uint64_t ticket, deadline;
    for (uint64_t value = 0; value <= 1; value++) {
        OK(milepost_settings_new(&settings));
        for (milepost_setting_t setting = 1; setting <= MILEPOST_SETTING_SEED; setting++) {
            milepost_status_t status = milepost_settings_put(settings, setting, value == 0 ? UINT64_MAX : 0, NULL);
            CHECK(status == MILEPOST_STATUS_OK || (value == 0 && status == MILEPOST_STATUS_ENUM));
        }
        OK(milepost_engine_new(settings, &engine, NULL));
        OK(milepost_desk_new(engine, settings, &desk, NULL));
        take_in(engine, 10, 10, 9, NULL);
        take_in(engine, UINT64_MAX, 11, 10, NULL);
        OK(milepost_desk_submit(desk, UINT64_MAX, TEXT(ASKS), NULL, 0, &ticket, &answer, NULL));
        CHECK((answer == NULL) == (value == 0));
        milepost_answer_free(answer);
        OK(milepost_desk_next_deadline(desk, &deadline));
        OK(milepost_desk_handle_time(desk, UINT64_MAX));
        OK(milepost_desk_poll_answer(desk, &ticket, &answer, NULL));
        CHECK((answer != NULL) == (value == 0));
        milepost_answer_free(answer);
        milepost_desk_free(desk);
        milepost_engine_free(engine);
        milepost_settings_free(settings);
    }
}

int main(void) {
    settings_may_be_extreme();
    views_become_rows();
    forks_are_told();
    transactions_are_read();
    requests_are_checked();
    desks_wait_cancel_and_stop();
    exchanges_wait_and_fail();
    refusals_have_details();
    return failed;
}
