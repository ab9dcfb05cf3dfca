/*
 * Fixtures of the adversarial calls: forms of parameters, valid arguments, and one valid handle of
 * each type.
 *
 * functions.inc, which the test generates from the sources of the library, lists the functions.
 */
#ifndef MILEPOST_TESTS_ADVERSARIAL_CALLS_H
#define MILEPOST_TESTS_ADVERSARIAL_CALLS_H

#include "report.h"
#include "test_storage.h"

/* Form of a parameter */
typedef enum form {
    HANDLE, /* a handle that is used */
    BYTES,  /* its length is the next parameter */
    ROWS,   /* its length is the next parameter */
    LENGTH,
    NUMBER,
    CHOICE, /* a number that must be one of its constants */
    INDEX,
    HASH, /* a plain value that is read */
    STORAGE,
    SINK,
    FACTORY, /* a function of the host */
    CONTEXT, /* opaque to the library */
    OUTPUT,  /* a plain value that is written */
    OUTPUT_HANDLE
} form;

typedef enum handle {
    NO_HANDLE,
    BLOCK_IMPORT,
    ENDPOINT,
    ENGINE,
    ERROR,
    IMPORT_SUMMARY,
    MESSAGE_BUILDER,
    PENDING_REQUEST,
    RESPONSE,
    SETTINGS,
    TRANSACTION,
    HANDLES
} handle;

typedef struct parameter {
    const char *name;
    form form;
    handle handle;
    int optional;
    size_t size; /* of what an output writes */
} parameter;

typedef union argument {
    const void *pointer;
    uint64_t number;
    milepost_create_fn create;
} argument;

typedef struct function {
    const char *name;
    milepost_status_t (*call)(const argument *arguments);
    const parameter *parameters;
    size_t len;
    int in_callback; /* may be called inside a callback */
} function;

typedef struct destructor {
    const char *name;
    handle handle;
    void (*call)(void *handle);
} destructor;

#include "functions.inc"

#define MAX_PARAMETERS 12
#define MAX_OUTPUT 256 /* bytes */

static const char BLOCK[] =
    "{\"block\":{\"header\":{\"height\":7,\"hash\":\"11111111111111111111111111111117\","
    "\"prev_hash\":\"11111111111111111111111111111116\","
    "\"epoch_id\":\"11111111111111111111111111111111\"}},\"shards\":[]}";
static const char NEXT_BLOCK[] =
    "{\"block\":{\"header\":{\"height\":8,\"hash\":\"11111111111111111111111111111118\","
    "\"prev_hash\":\"11111111111111111111111111111117\","
    "\"epoch_id\":\"11111111111111111111111111111111\"}},\"shards\":[]}";
static const char PENDING[] =
    "{\"method\":\"tx_status\",\"params\":{\"tx_hash\":\"11111111111111111111111111111112\","
    "\"sender_account_id\":\"alice.near\",\"wait_until\":\"FINAL\"}}";

static const uint8_t *bytes(const char *text) {
    return (const uint8_t *)text;
}

/* Returns a valid argument for a parameter of bytes */
static const char *valid_bytes(const char *function, const char *parameter) {
    static const struct {
        const char *name, *text;
    } TEXTS[] = {
        {"body", PENDING},     {"url_method", "tx_status"}, {"message", NEXT_BLOCK},
        {"config", "{}"},      {"reason", "no rows"},       {"path", "rows.redb"},
        {"transaction", "{}"}, {"outcome", "{}"},           {"receipt", "{}"},
        {"row", "a row"},      {"bytes", "borsh"},
    };
    if (strcmp(parameter, "text") == 0) {
        int is_hash = strcmp(function, "milepost_hash_parse") == 0;
        return is_hash ? "11111111111111111111111111111112" : TRANSACTION_BASE64;
    }
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        if (strcmp(TEXTS[i].name, parameter) == 0) {
            return TEXTS[i].text;
        }
    }
    fprintf(stderr, "adversarial_calls: no valid bytes for %s(%s)\n", function, parameter);
    exit(2);
}

/* Returns the status of a function for valid arguments and the handles of the fixture */
static milepost_status_t valid_status(const char *function) {
    static const struct {
        const char *name;
        milepost_status_t status;
    } STATUSES[] = {
        {"milepost_block_import_changes", MILEPOST_STATUS_USAGE},
        {"milepost_block_import_new_config", MILEPOST_STATUS_SCHEMA},
        {"milepost_block_import_summary", MILEPOST_STATUS_USAGE},
        {"milepost_endpoint_resume", MILEPOST_STATUS_USAGE},
        {"milepost_endpoint_suspend", MILEPOST_STATUS_USAGE},
        {"milepost_engine_put_config", MILEPOST_STATUS_SCHEMA},
        {"milepost_import_summary_reapplied", MILEPOST_STATUS_INDEX},
        {"milepost_import_summary_reverted", MILEPOST_STATUS_INDEX},
        {"milepost_pending_request_resume", MILEPOST_STATUS_USAGE},
        {"milepost_pending_request_transaction", MILEPOST_STATUS_USAGE},
        {"milepost_response_batch_item", MILEPOST_STATUS_INDEX},
        {"milepost_response_outcome", MILEPOST_STATUS_USAGE},
        {"milepost_response_receipt", MILEPOST_STATUS_USAGE},
        {"milepost_response_result_json", MILEPOST_STATUS_USAGE},
        {"milepost_response_transaction_status", MILEPOST_STATUS_USAGE},
        {"milepost_storage_check", MILEPOST_STATUS_STORAGE},
        {"milepost_transaction_decode", MILEPOST_STATUS_SYNTAX},
    };
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++) {
        if (strcmp(STATUSES[i].name, function) == 0) {
            return STATUSES[i].status;
        }
    }
    return MILEPOST_STATUS_OK;
}

/* Fails to create a storage */
static int32_t create_none(void *context, milepost_storage *storage) {
    (void)context;
    storage->get = NULL;
    return 5;
}

/* One valid handle of each type */
typedef struct fixture {
    store store;
    void *handles[HANDLES];
    milepost_storage functions;
    milepost_row rows[8];
    size_t rows_len;
    milepost_hash hash;
    uint64_t request_handle;
} fixture;

static void free_handle(handle type, void *handle) {
    for (size_t i = 0; i < sizeof DESTRUCTORS / sizeof *DESTRUCTORS; i++) {
        if (DESTRUCTORS[i].handle == type) {
            DESTRUCTORS[i].call(handle);
        }
    }
}

static void set_up(fixture *self) {
    milepost_block_import *block_import;
    milepost_endpoint *endpoint;
    milepost_engine *engine;
    milepost_error *error;
    milepost_import_summary *summary;
    milepost_message_builder *builder;
    milepost_pending_request *request;
    milepost_response *response;
    milepost_settings *settings;
    milepost_transaction *transaction;
    const milepost_bytes *keys;
    milepost_step_t step;
    const size_t block_len = sizeof BLOCK - 1, next_len = sizeof NEXT_BLOCK - 1;
    const size_t pending_len = sizeof PENDING - 1, base64_len = sizeof TRANSACTION_BASE64 - 1;
    memset(self, 0, sizeof *self);
    self->functions = store_functions(&self->store, 1);
    must(milepost_settings_new(&settings), "settings");
    must(milepost_engine_new_over(&self->functions, settings, &engine, NULL), "engine");
    must(milepost_engine_import_block(engine, bytes(BLOCK), block_len, &summary, NULL), "block");
    must(milepost_endpoint_new(engine, NULL, &endpoint, NULL), "endpoint");
    must(milepost_endpoint_handle_request(endpoint, 0, bytes(PENDING), pending_len, NULL, 0,
                                          &self->request_handle, &response, NULL),
         "handle_request");
    must(milepost_engine_respond(engine, bytes(PENDING), pending_len, NULL, 0, &response, NULL),
         "respond");
    must(milepost_pending_request_new(NULL, bytes(PENDING), pending_len, NULL, 0, &request, NULL),
         "pending request");
    must(milepost_block_import_new(NULL, bytes(NEXT_BLOCK), next_len, &block_import, NULL),
         "block import");
    must(milepost_block_import_poll(block_import, &step, &keys, &self->rows_len, NULL), "keys");
    if (self->rows_len > sizeof self->rows / sizeof *self->rows) {
        must(MILEPOST_STATUS_LIMIT, "more keys than the fixture has rows for");
    }
    for (size_t i = 0; i < self->rows_len; i++) {
        const store_row *row = store_find(&self->store, keys[i].data, keys[i].len);
        if (row != NULL) {
            self->rows[i].present = 1;
            self->rows[i].bytes.data = row->row;
            self->rows[i].bytes.len = row->row_len;
        }
    }
    must(milepost_message_builder_new(7, &self->hash, &self->hash, &self->hash, &self->hash, 80,
                                      &builder),
         "builder");
    must(milepost_transaction_decode_base64(bytes(TRANSACTION_BASE64), base64_len, &transaction,
                                            NULL),
         "transaction");
    if (milepost_settings_set(settings, 0, 0, &error) != MILEPOST_STATUS_ENUM) {
        must(MILEPOST_STATUS_USAGE, "error");
    }
    self->handles[BLOCK_IMPORT] = block_import;
    self->handles[ENDPOINT] = endpoint;
    self->handles[ENGINE] = engine;
    self->handles[ERROR] = error;
    self->handles[IMPORT_SUMMARY] = summary;
    self->handles[MESSAGE_BUILDER] = builder;
    self->handles[PENDING_REQUEST] = request;
    self->handles[RESPONSE] = response;
    self->handles[SETTINGS] = settings;
    self->handles[TRANSACTION] = transaction;
}

static void tear_down(fixture *self) {
    for (int type = NO_HANDLE + 1; type < HANDLES; type++) {
        free_handle((handle)type, self->handles[type]);
    }
    store_clear(&self->store);
}

#endif
