/*
 * What the hostile programs share: what is known of a function, what is good for it, and handles that are sound.
 *
 * functions.inc, which the test writes from the sources of the library, says what functions there are.
 */
#ifndef MILEPOST_TESTS_HOSTILE_H
#define MILEPOST_TESTS_HOSTILE_H

#include "store.h"
#include "trial.h"

/* What a parameter is */
typedef enum kind {
    HANDLE,      /* one of ours */
    BYTES,       /* its length is the next parameter */
    ROWS,        /* likewise */
    LENGTH,
    NUMBER,
    CHOICE,      /* a number that must be one of its constants */
    INDEX,
    HASH,        /* a plain value that is read */
    STORAGE,
    SINK,
    MAKER,       /* a function of the host's */
    CONTEXT,     /* the host's, and never looked at */
    OUT,         /* a plain value that is written */
    OUT_HANDLE
} kind;

typedef enum handle {
    NO_HANDLE,
    ANSWER,
    DESK,
    ENGINE,
    ERROR,
    EXCHANGE,
    INGEST,
    INGESTED,
    MESSAGE,
    SETTINGS,
    TRANSACTION,
    HANDLES
} handle;

typedef struct parameter {
    const char *name;
    kind kind;
    handle handle;
    int optional;
    size_t size; /* of what an output writes */
} parameter;

typedef union slot {
    const void *pointer;
    uint64_t number;
    milepost_make_fn make;
} slot;

typedef struct function {
    const char *name;
    milepost_status_t (*call)(const slot *slots);
    const parameter *parameters;
    size_t len;
    int in_callback; /* may be called inside a callback */
} function;

typedef struct freeing {
    const char *name;
    handle handle;
    void (*call)(void *handle);
} freeing;

#include "functions.inc"

#define MOST 12     /* parameters */
#define LARGEST 256 /* bytes of an output */

static const char BLOCK[] =
    "{\"block\":{\"header\":{\"height\":7,\"hash\":\"11111111111111111111111111111117\",\"prev_hash\":"
    "\"11111111111111111111111111111116\",\"epoch_id\":\"11111111111111111111111111111111\"}},\"shards\":[]}";
static const char NEXT[] =
    "{\"block\":{\"header\":{\"height\":8,\"hash\":\"11111111111111111111111111111118\",\"prev_hash\":"
    "\"11111111111111111111111111111117\",\"epoch_id\":\"11111111111111111111111111111111\"}},\"shards\":[]}";
static const char WAITS[] =
    "{\"method\":\"tx_status\",\"params\":{\"tx_hash\":\"11111111111111111111111111111112\",\"sender_account_id\":"
    "\"alice.near\",\"wait_until\":\"FINAL\"}}";

static const uint8_t *bytes(const char *text) {
    return (const uint8_t *)text;
}

/* What a function gets where nothing is wrong */
static const char *good_bytes(const char *function, const char *parameter) {
    static const struct {
        const char *name, *text;
    } TEXTS[] = {
        {"body", WAITS},       {"method", "tx_status"}, {"message", NEXT}, {"config", "{}"},        {"reason", "no rows"},
        {"path", "rows.redb"},   {"transaction", "{}"}, {"outcome", "{}"},       {"receipt", "{}"}, {"row", "a row"},        {"bytes", "borsh"},
    };
    if (strcmp(parameter, "text") == 0) {
        return strcmp(function, "milepost_hash_parse") == 0 ? "11111111111111111111111111111112" : TRANSACTION_BASE64;
    }
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        if (strcmp(TEXTS[i].name, parameter) == 0) {
            return TEXTS[i].text;
        }
    }
    fprintf(stderr, "hostile: nothing is known to be good for %s(%s)\n", function, parameter);
    exit(2);
}

/* What it returns then, unless it is OK: its fixture has no more than this */
static milepost_status_t good_status(const char *function) {
    static const struct {
        const char *name;
        milepost_status_t status;
    } STATUSES[] = {
        {"milepost_answer_outcome", MILEPOST_STATUS_USAGE},   {"milepost_answer_part", MILEPOST_STATUS_INDEX},
        {"milepost_answer_receipt", MILEPOST_STATUS_USAGE},   {"milepost_answer_result", MILEPOST_STATUS_USAGE},
        {"milepost_answer_result_json", MILEPOST_STATUS_USAGE}, {"milepost_desk_admit", MILEPOST_STATUS_USAGE},
        {"milepost_desk_settle", MILEPOST_STATUS_USAGE},      {"milepost_engine_put_config", MILEPOST_STATUS_SHAPE},
        {"milepost_exchange_resume", MILEPOST_STATUS_USAGE},  {"milepost_ingest_changes", MILEPOST_STATUS_USAGE},
        {"milepost_ingest_result", MILEPOST_STATUS_USAGE},    {"milepost_ingested_redone", MILEPOST_STATUS_INDEX},
        {"milepost_ingested_undone", MILEPOST_STATUS_INDEX},  {"milepost_ingest_new_config", MILEPOST_STATUS_SHAPE},
        {"milepost_exchange_waits_for", MILEPOST_STATUS_USAGE}, {"milepost_storage_check", MILEPOST_STATUS_STORAGE},
        {"milepost_transaction_decode", MILEPOST_STATUS_SYNTAX},
    };
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++) {
        if (strcmp(STATUSES[i].name, function) == 0) {
            return STATUSES[i].status;
        }
    }
    return MILEPOST_STATUS_OK;
}

/* Makes no storage, which is told */
static int32_t make_none(void *context, milepost_storage *storage) {
    (void)context;
    storage->get = NULL;
    return 5;
}

/* One of each, fresh and sound */
typedef struct fixture {
    store store;
    void *handles[HANDLES];
    milepost_storage functions;
    milepost_row rows[8];
    size_t rows_len;
    milepost_hash hash;
    uint64_t ticket;
} fixture;

static void free_handle(handle kind, void *handle) {
    for (size_t i = 0; i < sizeof FREEINGS / sizeof *FREEINGS; i++) {
        if (FREEINGS[i].handle == kind) {
            FREEINGS[i].call(handle);
        }
    }
}

static void set_up(fixture *self) {
    milepost_engine *engine;
    milepost_desk *desk;
    milepost_answer *answer;
    milepost_error *error;
    milepost_exchange *exchange;
    milepost_ingest *ingest;
    milepost_ingested *ingested;
    milepost_message *message;
    milepost_settings *settings;
    milepost_transaction *transaction;
    const milepost_bytes *keys;
    milepost_step_t step;
    memset(self, 0, sizeof *self);
    self->functions = store_functions(&self->store, 1);
    must(milepost_settings_new(&settings), "settings");
    must(milepost_engine_new_over(&self->functions, settings, &engine, NULL), "engine");
    must(milepost_engine_ingest(engine, bytes(BLOCK), sizeof BLOCK - 1, &ingested, NULL), "ingested");
    must(milepost_desk_new(engine, NULL, &desk, NULL), "desk");
    must(milepost_desk_submit(desk, 0, bytes(WAITS), sizeof WAITS - 1, NULL, 0, &self->ticket, &answer, NULL), "submit");
    must(milepost_engine_answer(engine, bytes(WAITS), sizeof WAITS - 1, NULL, 0, &answer, NULL), "answer");
    must(milepost_exchange_new(NULL, bytes(WAITS), sizeof WAITS - 1, NULL, 0, &exchange, NULL), "exchange");
    must(milepost_ingest_new(NULL, bytes(NEXT), sizeof NEXT - 1, &ingest, NULL), "ingest");
    must(milepost_ingest_poll(ingest, &step, &keys, &self->rows_len, NULL), "keys");
    if (self->rows_len > sizeof self->rows / sizeof *self->rows) {
        must(MILEPOST_STATUS_LIMIT, "more keys than there is room for");
    }
    for (size_t i = 0; i < self->rows_len; i++) {
        const store_row *row = store_find(&self->store, keys[i].data, keys[i].len);
        if (row != NULL) {
            self->rows[i].present = 1;
            self->rows[i].bytes.data = row->row;
            self->rows[i].bytes.len = row->row_len;
        }
    }
    must(milepost_message_new(7, &self->hash, &self->hash, &self->hash, &self->hash, 80, &message), "message");
    must(milepost_transaction_decode_base64(bytes(TRANSACTION_BASE64), sizeof TRANSACTION_BASE64 - 1, &transaction, NULL),
         "transaction");
    if (milepost_settings_put(settings, 0, 0, &error) != MILEPOST_STATUS_ENUM) {
        must(MILEPOST_STATUS_USAGE, "error");
    }
    self->handles[ANSWER] = answer;
    self->handles[DESK] = desk;
    self->handles[ENGINE] = engine;
    self->handles[ERROR] = error;
    self->handles[EXCHANGE] = exchange;
    self->handles[INGEST] = ingest;
    self->handles[INGESTED] = ingested;
    self->handles[MESSAGE] = message;
    self->handles[SETTINGS] = settings;
    self->handles[TRANSACTION] = transaction;
}

static void tear_down(fixture *self) {
    for (int kind = ANSWER; kind < HANDLES; kind++) {
        free_handle((handle)kind, self->handles[kind]);
    }
    store_clear(&self->store);
}

#endif
