/*
 * Answers requests for a driver that has the vectors: commands on the standard input, replies on the standard output.
 *
 *     new                              forgets everything
 *     set <setting> <value>            one of MILEPOST_SETTING_..., for what comes after
 *     config <height> <len>            a protocol configuration, in <len> bytes that follow the line
 *     block <len>                      a block message
 *     ask <now> <len> <method len>     a request, then the method in its address
 *     time <now>                       the time
 *     look                             what is in the last answer, without a JSON parser
 *
 * The replies are `ok`, `wait`, `answer <class> <len>` with so many bytes behind it, or `error <status> <text>`. How rows
 * are kept is said by the one argument: `memory`, `get`, `get_many`, or `far` for a storage that is not at hand.
 */
#include <inttypes.h>
#include <stdio.h>

#include "store.h"

typedef struct host {
    const char *mode;
    store store;
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_desk *desk;
    milepost_answer *last;
    uint64_t ticket;
} host;

static void fail(const char *what) {
    fprintf(stderr, "vectors: %s\n", what);
    exit(2);
}

static int is_far(const host *self) {
    return strcmp(self->mode, "far") == 0;
}

/* Makes the engine and the desk when the first command needs them: settings come before */
static void open_host(host *self) {
    milepost_storage functions = store_functions(&self->store, strcmp(self->mode, "get_many") == 0);
    milepost_status_t status;
    if (self->desk != NULL) {
        return;
    }
    if (strcmp(self->mode, "memory") == 0) {
        status = milepost_engine_new(self->settings, &self->engine, NULL);
    } else if (is_far(self)) {
        status = MILEPOST_STATUS_OK; /* there is no engine without a storage at hand */
    } else {
        status = milepost_engine_new_over(&functions, self->settings, &self->engine, NULL);
    }
    if (status != MILEPOST_STATUS_OK) {
        fail("no engine");
    }
    if (milepost_desk_new(self->engine, self->settings, &self->desk, NULL) != MILEPOST_STATUS_OK) {
        fail("no desk");
    }
}

static void close_host(host *self) {
    int had_engine = self->engine != NULL && strcmp(self->mode, "memory") != 0;
    milepost_answer_free(self->last);
    milepost_settings_free(self->settings);
    /* Either may go first. */
    milepost_engine_free(self->engine);
    milepost_desk_free(self->desk);
    if (self->store.finalized != (size_t)had_engine) {
        fail("the storage is not finalized once");
    }
    store_clear(&self->store);
    self->last = NULL;
    self->settings = NULL;
    self->engine = NULL;
    self->desk = NULL;
    if (milepost_settings_new(&self->settings) != MILEPOST_STATUS_OK) {
        fail("no settings");
    }
}

static uint8_t *read_bytes(size_t len) {
    uint8_t *bytes = (uint8_t *)malloc(len + 1);
    if (bytes == NULL || fread(bytes, 1, len, stdin) != len) {
        fail("the input ends early");
    }
    return bytes;
}

static void tell_error(milepost_status_t status, milepost_error *error) {
    milepost_detail detail;
    if (milepost_error_read(error, &detail) != MILEPOST_STATUS_OK || detail.status != status) {
        fail("an error without its detail");
    }
    printf("error %" PRId32 " %.*s: %.*s\n", status, (int)detail.path.len, (const char *)detail.path.data,
           (int)detail.message.len, (const char *)detail.message.data);
    milepost_error_free(error);
}

static void tell_answer(host *self, milepost_answer *answer) {
    milepost_bytes body;
    milepost_class_t class_ = 0;
    milepost_answer_free(self->last);
    self->last = answer;
    if (milepost_answer_body(answer, &body) != MILEPOST_STATUS_OK ||
        milepost_answer_class(answer, &class_) != MILEPOST_STATUS_OK) {
        fail("an answer without its body");
    }
    printf("answer %" PRId32 " %zu\n", class_, body.len);
    fwrite(body.data, 1, body.len, stdout);
}

/* The rows of these keys, as a far storage would send them after a while */
static milepost_row *fetch(const host *self, const milepost_bytes *keys, size_t len) {
    milepost_row *rows = (milepost_row *)calloc(len + 1, sizeof *rows);
    for (size_t i = 0; i < len; i++) {
        const store_row *found = store_find(&self->store, keys[i].data, keys[i].len);
        if (found != NULL) {
            rows[i].present = 1;
            rows[i].bytes.data = found->row;
            rows[i].bytes.len = found->row_len;
        }
    }
    return rows;
}

/* Drives an exchange to its answer, or to NULL when it waits */
static milepost_answer *drive(const host *self, milepost_exchange *exchange) {
    for (;;) {
        milepost_step_t step;
        const milepost_bytes *keys;
        size_t keys_len;
        milepost_answer *answer;
        milepost_row *rows;
        if (milepost_exchange_poll(exchange, &step, &keys, &keys_len, &answer, NULL) != MILEPOST_STATUS_OK) {
            fail("an exchange cannot be polled");
        }
        if (step != MILEPOST_STEP_NEED_ROWS) {
            return answer;
        }
        rows = fetch(self, keys, keys_len);
        if (milepost_exchange_supply(exchange, rows, keys_len, NULL) != MILEPOST_STATUS_OK) {
            fail("an exchange takes no rows");
        }
        free(rows);
    }
}

static void ask_far(host *self, uint64_t now, const uint8_t *body, size_t len, const uint8_t *method, size_t method_len) {
    milepost_exchange *exchange;
    milepost_answer *answer;
    if (milepost_exchange_new(self->settings, body, len, method, method_len, &exchange, NULL) != MILEPOST_STATUS_OK) {
        fail("no exchange");
    }
    while ((answer = drive(self, exchange)) == NULL) {
        milepost_admission_t admission;
        if (milepost_desk_admit(self->desk, now, exchange, &admission, &self->ticket, NULL) != MILEPOST_STATUS_OK) {
            fail("an exchange is not admitted");
        }
        if (admission == MILEPOST_ADMISSION_ASLEEP) {
            milepost_exchange_free(exchange);
            printf("wait\n");
            return;
        }
    }
    milepost_exchange_free(exchange);
    tell_answer(self, answer);
}

static void ask(host *self, uint64_t now, const uint8_t *body, size_t len, const uint8_t *method, size_t method_len) {
    milepost_answer *answer;
    milepost_error *error;
    milepost_status_t status;
    open_host(self);
    if (is_far(self)) {
        ask_far(self, now, body, len, method, method_len);
        return;
    }
    status = milepost_desk_submit(self->desk, now, body, len, method, method_len, &self->ticket, &answer, &error);
    if (status != MILEPOST_STATUS_OK) {
        tell_error(status, error);
    } else if (answer == NULL) {
        printf("wait\n");
    } else {
        tell_answer(self, answer);
    }
}

/* Tells whether something is answered now; a second answer would be one too many */
static void poll_far(host *self) {
    milepost_exchange *exchange;
    uint64_t ticket;
    while (milepost_desk_poll_exchange(self->desk, &ticket, &exchange) == MILEPOST_STATUS_OK && exchange != NULL) {
        milepost_admission_t admission = MILEPOST_ADMISSION_AGAIN;
        milepost_answer *answer = NULL;
        while (admission == MILEPOST_ADMISSION_AGAIN) {
            answer = drive(self, exchange);
            if (milepost_desk_settle(self->desk, ticket, exchange, &admission, NULL) != MILEPOST_STATUS_OK) {
                fail("an exchange is not settled");
            }
        }
        milepost_exchange_free(exchange);
        if (admission == MILEPOST_ADMISSION_ANSWERED && ticket == self->ticket) {
            tell_answer(self, answer);
            return;
        }
        milepost_answer_free(answer);
    }
    printf("ok\n");
}

static void poll(host *self) {
    milepost_answer *answer;
    uint64_t ticket;
    if (is_far(self)) {
        poll_far(self);
        return;
    }
    if (milepost_desk_poll_answer(self->desk, &ticket, &answer, NULL) != MILEPOST_STATUS_OK) {
        fail("a desk cannot be polled");
    }
    if (answer == NULL) {
        printf("ok\n");
        return;
    }
    if (ticket != self->ticket) {
        fail("an answer with the ticket of nobody");
    }
    tell_answer(self, answer);
}

/* Asks what a block or a configuration changes, and commits it, as a far storage would after a while */
static milepost_status_t settle_far(host *self, milepost_ingest *ingest, milepost_error **error) {
    milepost_step_t step = MILEPOST_STEP_NEED_ROWS;
    const milepost_change *changes;
    size_t changes_len;
    milepost_status_t status = MILEPOST_STATUS_OK;
    while (status == MILEPOST_STATUS_OK && step == MILEPOST_STEP_NEED_ROWS) {
        const milepost_bytes *keys;
        size_t keys_len;
        status = milepost_ingest_poll(ingest, &step, &keys, &keys_len, error);
        if (status == MILEPOST_STATUS_OK && step == MILEPOST_STEP_NEED_ROWS) {
            milepost_row *rows = fetch(self, keys, keys_len);
            status = milepost_ingest_supply(ingest, rows, keys_len, error);
            free(rows);
        }
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_ingest_changes(ingest, &changes, &changes_len, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        store_commit(&self->store, changes, changes_len);
    }
    return status;
}

static milepost_status_t take_in_far(host *self, const uint8_t *block, size_t len, milepost_error **error) {
    milepost_ingest *ingest;
    milepost_ingested *ingested;
    milepost_status_t status = milepost_ingest_new(self->settings, block, len, &ingest, error);
    if (status == MILEPOST_STATUS_OK) {
        status = settle_far(self, ingest, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_ingest_result(ingest, &ingested, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_desk_handle_ingested(self->desk, ingested);
        milepost_ingested_free(ingested);
    }
    milepost_ingest_free(ingest);
    return status;
}

static milepost_status_t put_config(host *self, uint64_t height, const uint8_t *config, size_t len, milepost_error **error) {
    milepost_ingest *ingest;
    milepost_status_t status;
    if (!is_far(self)) {
        return milepost_engine_put_config(self->engine, height, config, len, error);
    }
    status = milepost_ingest_new_config(height, config, len, &ingest, error);
    if (status == MILEPOST_STATUS_OK) {
        status = settle_far(self, ingest, error);
    }
    milepost_ingest_free(ingest);
    return status;
}

static void take_in(host *self, const uint8_t *block, size_t len) {
    milepost_error *error = NULL;
    milepost_status_t status;
    open_host(self);
    if (is_far(self)) {
        status = take_in_far(self, block, len, &error);
    } else {
        status = milepost_desk_ingest(self->desk, block, len, NULL, &error);
    }
    if (status != MILEPOST_STATUS_OK) {
        tell_error(status, error);
        return;
    }
    poll(self);
}

static void tell_hex(milepost_bytes bytes) {
    putchar(' ');
    for (size_t i = 0; i < bytes.len; i++) {
        printf("%02x", bytes.data[i]);
    }
    putchar('.');
}

static void tell_text(milepost_bytes bytes) {
    putchar(' ');
    fwrite(bytes.data, 1, bytes.len, stdout);
}

static void tell_hash(const milepost_hash *hash) {
    milepost_text text;
    milepost_hash back;
    if (milepost_hash_format(hash, &text) != MILEPOST_STATUS_OK ||
        milepost_hash_parse(text.bytes, text.len, &back, NULL) != MILEPOST_STATUS_OK ||
        memcmp(hash, &back, sizeof back) != 0) {
        fail("a hash that cannot be written and read");
    }
    printf(" %.*s", (int)text.len, (const char *)text.bytes);
}

static void look_at_outcomes(const milepost_answer *answer, const milepost_result *result) {
    for (size_t i = 0; i < result->outcomes; i++) {
        milepost_outcome outcome;
        if (milepost_answer_outcome(answer, i, &outcome, NULL) != MILEPOST_STATUS_OK) {
            fail("an outcome is missing");
        }
        printf("outcome");
        tell_hash(&outcome.id);
        tell_hash(&outcome.block_hash);
        tell_text(outcome.executor_id);
        printf(" %" PRId32, outcome.ending);
        tell_hex(outcome.payload);
        printf(" %" PRIu64 " %" PRIu64 " %" PRIu64, outcome.gas_burnt, outcome.tokens_burnt_high, outcome.tokens_burnt_low);
        for (size_t j = 0; j < outcome.receipt_ids_len; j++) {
            tell_hash(&outcome.receipt_ids[j]);
        }
        for (size_t j = 0; j < outcome.logs_len; j++) {
            tell_hex(outcome.logs[j]);
        }
        tell_text(outcome.json);
        putchar('\n');
    }
}

/* One line for the answer and one for each of its parts; the last line is `.` */
static void look(const milepost_answer *answer) {
    milepost_result result;
    milepost_failure failure;
    milepost_bytes json;
    size_t parts;
    if (milepost_answer_parts(answer, &parts, NULL) != MILEPOST_STATUS_OK) {
        fail("an answer that cannot be looked at");
    }
    for (size_t i = 0; i < parts; i++) {
        milepost_answer *part;
        if (milepost_answer_part(answer, i, &part, NULL) != MILEPOST_STATUS_OK ||
            milepost_answer_body(part, &json) != MILEPOST_STATUS_OK) {
            fail("a part is missing");
        }
        printf("part");
        tell_text(json);
        putchar('\n');
        milepost_answer_free(part);
    }
    if (milepost_answer_failure(answer, &failure, NULL) == MILEPOST_STATUS_OK) {
        printf("failure");
        tell_text(failure.name);
        tell_text(failure.cause);
        tell_text(failure.info);
        putchar('\n');
    } else if (milepost_answer_result(answer, &result, NULL) == MILEPOST_STATUS_OK) {
        printf("result %" PRId32 " %" PRId32, result.milestone, result.ending);
        tell_hex(result.payload);
        tell_text(result.transaction);
        putchar('\n');
        look_at_outcomes(answer, &result);
        for (size_t i = 0; i < result.receipts; i++) {
            if (milepost_answer_receipt(answer, i, &json, NULL) != MILEPOST_STATUS_OK) {
                fail("a receipt is missing");
            }
            printf("receipt");
            tell_text(json);
            putchar('\n');
        }
    } else if (milepost_answer_result_json(answer, &json, NULL) == MILEPOST_STATUS_OK) {
        printf("json");
        tell_text(json);
        putchar('\n');
    }
    printf(".\n");
}

int main(int argc, char **argv) {
    host self;
    char line[256];
    memset(&self, 0, sizeof self);
    self.mode = argc == 2 ? argv[1] : "memory";
    if (milepost_version_number() != MILEPOST_VERSION_NUMBER) {
        fail("the header is of another version");
    }
    close_host(&self);
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t number;
        size_t len, method_len;
        int setting;
        if (strcmp(line, "new\n") == 0) {
            close_host(&self);
            printf("ok\n");
        } else if (sscanf(line, "set %d %" SCNu64, &setting, &number) == 2) {
            milepost_error *error;
            milepost_status_t status = milepost_settings_put(self.settings, setting, number, &error);
            if (status == MILEPOST_STATUS_OK) {
                printf("ok\n");
            } else {
                tell_error(status, error);
            }
        } else if (sscanf(line, "config %" SCNu64 " %zu", &number, &len) == 2) {
            uint8_t *config = read_bytes(len);
            milepost_error *error;
            milepost_status_t status;
            open_host(&self);
            status = put_config(&self, number, config, len, &error);
            free(config);
            if (status == MILEPOST_STATUS_OK) {
                printf("ok\n");
            } else {
                tell_error(status, error);
            }
        } else if (sscanf(line, "block %zu", &len) == 1) {
            uint8_t *block = read_bytes(len);
            take_in(&self, block, len);
            free(block);
        } else if (sscanf(line, "ask %" SCNu64 " %zu %zu", &number, &len, &method_len) == 3) {
            uint8_t *body = read_bytes(len);
            uint8_t *method = read_bytes(method_len);
            ask(&self, number, body, len, method, method_len);
            free(body);
            free(method);
        } else if (sscanf(line, "time %" SCNu64, &number) == 1) {
            if (milepost_desk_handle_time(self.desk, number) != MILEPOST_STATUS_OK) {
                fail("a desk without time");
            }
            poll(&self);
        } else if (strcmp(line, "look\n") == 0) {
            look(self.last);
        } else {
            fail(line);
        }
        fflush(stdout);
    }
    close_host(&self);
    milepost_settings_free(self.settings);
    return 0;
}
