/*
 * Threads that share one engine: some answer, one takes in blocks, and all fight for one desk. Every call returns OK, or BUSY
 * where a desk is in use; in the end every request was answered once.
 *
 *     threads <request> <block>...
 */
#include <pthread.h>

#include "trial.h"

#define ASKERS 4
#define ROUNDS 200

static uint8_t request[1 << 16], blocks[16][1 << 16];
static size_t request_len, blocks_len, block_lens[16];

typedef struct shared {
    milepost_engine *engine;
    milepost_desk *desk;
    milepost_answer *answer;
} shared;

typedef struct counts {
    const shared *shared;
    size_t waited, polled, busy, other;
} counts;

static void count(counts *counts, milepost_status_t status) {
    if (status == MILEPOST_STATUS_BUSY) {
        counts->busy++;
    } else if (status != MILEPOST_STATUS_OK) {
        counts->other++;
    }
}

static void *ask(void *context) {
    counts *self = (counts *)context;
    for (size_t i = 0; i < ROUNDS; i++) {
        milepost_answer *answer;
        milepost_result result;
        milepost_chain chain;
        milepost_status_t status;
        uint64_t ticket;
        count(self, milepost_engine_answer(self->shared->engine, request, request_len, NULL, 0, &answer, NULL));
        milepost_answer_free(answer);
        count(self, milepost_engine_chain(self->shared->engine, &chain, NULL));
        /* One answer, looked at for the first time by all of them */
        count(self, milepost_answer_result(self->shared->answer, &result, NULL));
        status = milepost_desk_submit(self->shared->desk, i, request, request_len, NULL, 0, &ticket, &answer, NULL);
        count(self, status);
        self->waited += status == MILEPOST_STATUS_OK && answer == NULL;
        milepost_answer_free(answer);
        status = milepost_desk_poll_answer(self->shared->desk, &ticket, &answer, NULL);
        count(self, status);
        self->polled += answer != NULL;
        milepost_answer_free(answer);
    }
    return NULL;
}

static void *take_in(void *context) {
    counts *self = (counts *)context;
    for (size_t i = 0; i < blocks_len; i++) {
        milepost_ingested *ingested;
        milepost_status_t status;
        for (size_t round = 0; round < ROUNDS / 4; round++) {
            milepost_answer *answer;
            count(self, milepost_engine_answer(self->shared->engine, request, request_len, NULL, 0, &answer, NULL));
            milepost_answer_free(answer);
        }
        count(self, milepost_engine_ingest(self->shared->engine, blocks[i], block_lens[i], &ingested, NULL));
        do {
            status = milepost_desk_handle_ingested(self->shared->desk, ingested);
        } while (status == MILEPOST_STATUS_BUSY);
        count(self, status);
        milepost_ingested_free(ingested);
    }
    return NULL;
}

static size_t read_file(const char *path, uint8_t *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t len = file == NULL ? room : fread(bytes, 1, room, file);
    must(len == room ? MILEPOST_STATUS_LIMIT : MILEPOST_STATUS_OK, path);
    fclose(file);
    return len;
}

int main(int argc, char **argv) {
    shared shared;
    counts counts[ASKERS + 1];
    pthread_t threads[ASKERS + 1];
    milepost_engine *finished;
    milepost_answer *answer;
    uint64_t ticket;
    size_t waited = 0, polled = 0, open;
    if (argc < 3 || argc > 18) {
        must(MILEPOST_STATUS_USAGE, "a request and its blocks are expected");
    }
    request_len = read_file(argv[1], request, sizeof request);
    must(milepost_engine_new(NULL, &finished, NULL), "engine");
    for (blocks_len = 0; blocks_len + 2 < (size_t)argc; blocks_len++) {
        block_lens[blocks_len] = read_file(argv[blocks_len + 2], blocks[blocks_len], sizeof blocks[0]);
        must(milepost_engine_ingest(finished, blocks[blocks_len], block_lens[blocks_len], NULL, NULL), "block");
    }
    must(milepost_engine_answer(finished, request, request_len, NULL, 0, &shared.answer, NULL), "answer");
    milepost_engine_free(finished);
    must(milepost_engine_new(NULL, &shared.engine, NULL), "engine");
    must(milepost_desk_new(shared.engine, NULL, &shared.desk, NULL), "desk");
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i <= ASKERS; i++) {
        counts[i].shared = &shared;
        if (pthread_create(&threads[i], NULL, i < ASKERS ? ask : take_in, &counts[i]) != 0) {
            must(MILEPOST_STATUS_USAGE, "a thread");
        }
    }
    for (size_t i = 0; i <= ASKERS; i++) {
        pthread_join(threads[i], NULL);
        waited += counts[i].waited;
        polled += counts[i].polled;
        wrong += counts[i].other;
        calls += counts[i].busy;
    }
    must(milepost_desk_handle_time(shared.desk, 1000000), "time");
    while (milepost_desk_poll_answer(shared.desk, &ticket, &answer, NULL) == MILEPOST_STATUS_OK && answer != NULL) {
        polled++;
        milepost_answer_free(answer);
    }
    must(milepost_desk_open(shared.desk, &open), "open");
    printf("%zu busy, %zu wrong, %zu waited, %zu answered, %zu open\n", calls, wrong, waited, polled, open);
    if (open != 0 || polled != waited) {
        complain("threads", "all", "lost a request", (long)open);
    }
    milepost_answer_free(shared.answer);
    milepost_engine_free(shared.engine);
    milepost_desk_free(shared.desk);
    return wrong != 0;
}
