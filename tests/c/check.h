/*
 * Checks for test programs in C, and a transaction to build blocks with. A check that fails is
 * printed, and `failed` is 1 then.
 */
#ifndef MILEPOST_TESTS_CHECK_H
#define MILEPOST_TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

#include "milepost.h"

static int failed;

static inline void check_at(int line, int holds, const char *what) {
    if (!holds) {
        failed = 1;
        printf("line %d: %s\n", line, what);
    }
}

#define CHECK(condition) check_at(__LINE__, (condition), #condition)
#define OK(call) CHECK((call) == MILEPOST_STATUS_OK)

static inline const uint8_t *text(const char *text) { return (const uint8_t *)text; }

#define TEXT(literal) text(literal), strlen(literal)

static inline int same(milepost_bytes bytes, const char *expected) {
    return bytes.len == strlen(expected) && memcmp(bytes.data, expected, bytes.len) == 0;
}

static inline int contains(milepost_bytes bytes, const char *expected) {
    for (size_t i = 0; i + strlen(expected) <= bytes.len; i++) {
        if (memcmp(bytes.data + i, expected, strlen(expected)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Returns the next output of an endpoint, which must be of this kind and, unless 0, of this
 * operation */
static inline milepost_output poll_at(int line, milepost_endpoint *endpoint,
                                      milepost_output_kind_t kind, uint64_t handle) {
    milepost_output output = {.size = sizeof output};
    OK(milepost_endpoint_poll_output(endpoint, &output, NULL));
    check_at(line, output.kind == kind, "an output of another kind");
    check_at(line, handle == 0 || output.handle == handle, "an output of another operation");
    return output;
}

static inline milepost_hash hash(uint8_t last) {
    milepost_hash hash;
    memset(&hash, 0, sizeof hash);
    hash.bytes[31] = last;
    return hash;
}

/* A request for the transaction of `add_views` */
static const char REQUEST[] =
    "{\"method\":\"tx_status\",\"params\":{\"tx_hash\":\"11111111111111111111111111111112\","
    "\"sender_account_id\":\"alice.near\",\"wait_until\":\"EXECUTED_OPTIMISTIC\"}}";

static const char OTHER_REQUEST[] =
    "{\"method\":\"tx_status\",\"params\":{\"tx_hash\":\"11111111111111111111111111111113\","
    "\"sender_account_id\":\"alice.near\"}}";

static const char RECEIPT[] =
    "{\"predecessor_id\":\"alice.near\",\"priority\":0,\"receipt\":{\"Action\":"
    "{\"actions\":[\"CreateAccount\"],\"gas_price\":\"100000000\",\"input_data_ids\":[],"
    "\"is_promise_yield\":false,\"output_data_receivers\":[],\"signer_id\":\"alice.near\","
    "\"signer_public_key\":\"ed25519:11111111111111111111111111111111\"}},"
    "\"receipt_id\":\"11111111111111111111111111111115\","
    "\"receiver_id\":\"new.alice.near\"}";

static const char TRANSACTION[] =
    "{\"actions\":[\"CreateAccount\"],\"hash\":\"11111111111111111111111111111112\","
    "\"nonce\":1,\"priority_fee\":0,"
    "\"public_key\":\"ed25519:11111111111111111111111111111111\","
    "\"receiver_id\":\"new.alice.near\",\"signature\":"
    "\"ed25519:1111111111111111111111111111111111111111111111111111111111111111\","
    "\"signer_id\":\"alice.near\"}";

static const char TRANSACTION_OUTCOME[] =
    "{\"proof\":[],\"block_hash\":\"11111111111111111111111111111114\","
    "\"id\":\"11111111111111111111111111111112\",\"outcome\":"
    "{\"executor_id\":\"alice.near\",\"gas_burnt\":7,\"logs\":[],"
    "\"receipt_ids\":[\"11111111111111111111111111111115\"],"
    "\"status\":{\"SuccessReceiptId\":\"11111111111111111111111111111115\"},"
    "\"tokens_burnt\":\"36893488147419103235\"}}";

static const char RECEIPT_OUTCOME[] =
    "{\"proof\":[],\"block_hash\":\"11111111111111111111111111111114\","
    "\"id\":\"11111111111111111111111111111115\",\"outcome\":"
    "{\"executor_id\":\"new.alice.near\",\"gas_burnt\":18446744073709551615,"
    "\"logs\":[\"one\",\"t\\\"wo\"],\"receipt_ids\":[],"
    "\"status\":{\"SuccessValue\":\"aGk=\"},\"tokens_burnt\":\"0\"}}";

static inline milepost_message_builder *new_builder(uint64_t height, uint8_t block, uint8_t prev) {
    milepost_message_builder *builder;
    milepost_hash id = hash(block), previous = hash(prev), epoch = hash(9), none = hash(0);
    OK(milepost_message_builder_new(height, &id, &previous, &epoch, &none, 80, &builder, NULL));
    return builder;
}

/* Adds a transaction with one receipt, and the receipt's outcome with two log lines */
static inline void add_views(milepost_message_builder *builder) {
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    OK(milepost_message_builder_add_transaction(builder, TEXT(TRANSACTION),
                                                TEXT(TRANSACTION_OUTCOME), NULL));
    OK(milepost_message_builder_add_outcome(builder, TEXT(RECEIPT_OUTCOME), TEXT(RECEIPT), NULL));
    OK(milepost_message_builder_add_receipt(builder, TEXT(RECEIPT), NULL));
    CHECK(milepost_message_builder_add_receipt(builder, TEXT("{},{}"), &error) ==
          MILEPOST_STATUS_SYNTAX);
    OK(milepost_error_read(error, &view));
    CHECK(view.status == MILEPOST_STATUS_SYNTAX && view.has_offset == 1 && view.offset == 3);
    CHECK(same(view.path, "receipt"));
#ifndef MEMBER_REMOVED
    CHECK(view.message.len > 0);
#endif
    milepost_error_free(error);
}

#endif
