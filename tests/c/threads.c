/*
 * Threads that share one engine: four send requests, one imports blocks, and all contend for one
 * endpoint. Every call must return OK, or BUSY where the endpoint is in use, and every request must
 * be answered once.
 *
 *     threads <request> <block>...
 */
#include <pthread.h>

#include "report.h"

#define REQUEST_THREADS 4
#define ROUNDS 200

static uint8_t request[1 << 16], blocks[16][1 << 16];
static size_t request_len, blocks_len, block_lens[16];

typedef struct shared {
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_response *response;
} shared;

typedef struct counts {
    const shared *shared;
    size_t pending, polled, busy, other;
} counts;

static void count(counts *counts, milepost_status_t status) {
    if (status == MILEPOST_STATUS_BUSY) {
        counts->busy++;
    } else if (status != MILEPOST_STATUS_OK) {
        counts->other++;
    }
}

static void respond(counts *self) {
    milepost_response *response;
    count(self, milepost_engine_respond(self->shared->engine, request, request_len, NULL, 0,
                                        &response, NULL));
    milepost_response_free(response);
}

static void *send_requests(void *context) {
    counts *self = (counts *)context;
    const shared *shared = self->shared;
    for (size_t i = 0; i < ROUNDS; i++) {
        milepost_response *response;
        milepost_transaction_status transaction_status = {.size = sizeof transaction_status};
        milepost_chain_status *chain_status;
        milepost_output output = {.size = sizeof output};
        milepost_status_t status;
        uint64_t handle;
        respond(self);
        count(self, milepost_engine_chain_status(shared->engine, &chain_status, NULL));
        milepost_chain_status_free(chain_status);
        /* All threads parse the contents of one response at first use. */
        count(self,
              milepost_response_transaction_status(shared->response, &transaction_status, NULL));
        status =
            milepost_endpoint_handle_request(shared->endpoint, i, MILEPOST_TIMEOUT_DEFAULT, request,
                                             request_len, NULL, 0, &handle, &response, NULL);
        count(self, status);
        self->pending += status == MILEPOST_STATUS_OK && response == NULL;
        milepost_response_free(response);
        count(self, milepost_endpoint_poll_output(shared->endpoint, &output, NULL));
        self->polled += output.response != NULL;
        milepost_response_free(output.response);
    }
    return NULL;
}

static void *import_blocks(void *context) {
    counts *self = (counts *)context;
    const shared *shared = self->shared;
    for (size_t i = 0; i < blocks_len; i++) {
        milepost_import_summary *summary;
        milepost_status_t status;
        for (size_t round = 0; round < ROUNDS / 4; round++) {
            respond(self);
        }
        count(self, milepost_engine_import_block(shared->engine, blocks[i], block_lens[i], &summary,
                                                 NULL));
        do {
            status = milepost_endpoint_handle_chain_update(shared->endpoint, summary, NULL);
        } while (status == MILEPOST_STATUS_BUSY);
        count(self, status);
        milepost_import_summary_free(summary);
    }
    return NULL;
}

static size_t read_file(const char *path, uint8_t *bytes, size_t capacity) {
    FILE *file = fopen(path, "rb");
    size_t len = file == NULL ? capacity : fread(bytes, 1, capacity, file);
    must(len == capacity ? MILEPOST_STATUS_LIMIT : MILEPOST_STATUS_OK, path);
    fclose(file);
    return len;
}

int main(int argc, char **argv) {
    shared shared;
    counts counts[REQUEST_THREADS + 1];
    pthread_t threads[REQUEST_THREADS + 1];
    milepost_engine *complete;
    milepost_output output = {.size = sizeof output};
    size_t pending = 0, polled = 0, left;
    if (argc < 3 || argc > 18) {
        must(MILEPOST_STATUS_USAGE, "expected a request and its blocks");
    }
    request_len = read_file(argv[1], request, sizeof request);
    must(milepost_engine_new(NULL, &complete, NULL), "engine");
    for (size_t i = 0; i + 2 < (size_t)argc; i++, blocks_len++) {
        block_lens[i] = read_file(argv[i + 2], blocks[i], sizeof blocks[0]);
        must(milepost_engine_import_block(complete, blocks[i], block_lens[i], NULL, NULL), "block");
    }
    must(milepost_engine_respond(complete, request, request_len, NULL, 0, &shared.response, NULL),
         "response");
    milepost_engine_free(complete);
    must(milepost_engine_new(NULL, &shared.engine, NULL), "engine");
    must(milepost_endpoint_new(shared.engine, NULL, &shared.endpoint, NULL), "endpoint");
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i <= REQUEST_THREADS; i++) {
        void *(*run)(void *) = i < REQUEST_THREADS ? send_requests : import_blocks;
        counts[i].shared = &shared;
        if (pthread_create(&threads[i], NULL, run, &counts[i]) != 0) {
            must(MILEPOST_STATUS_USAGE, "thread");
        }
    }
    for (size_t i = 0; i <= REQUEST_THREADS; i++) {
        pthread_join(threads[i], NULL);
        pending += counts[i].pending;
        polled += counts[i].polled;
        failures += counts[i].other;
        calls += counts[i].busy;
    }
    must(milepost_endpoint_handle_timeout(shared.endpoint, 1000000, NULL), "handle_timeout");
    while (milepost_endpoint_poll_output(shared.endpoint, &output, NULL) == MILEPOST_STATUS_OK &&
           output.response != NULL) {
        polled++;
        milepost_response_free(output.response);
    }
    must(milepost_endpoint_pending_count(shared.endpoint, &left, NULL), "pending_count");
    printf("%zu busy, %zu failures, %zu pending, %zu answered, %zu left\n", calls, failures,
           pending, polled, left);
    if (left != 0 || polled != pending) {
        report("threads", "all", "lost a request", (long)left);
    }
    milepost_response_free(shared.response);
    milepost_engine_free(shared.engine);
    milepost_endpoint_free(shared.endpoint);
    return failures != 0;
}
