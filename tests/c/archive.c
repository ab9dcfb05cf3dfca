/*
 * Engines that forget what is in an archive, compared with one that keeps everything.
 *
 *     archive <file with the hash of a transaction in each line> <block>...
 */
#include "check.h"
#include "test_archive.h"
#include "test_storage.h"

#define RETENTION 6
#define MAX_HASHES 512
#define HASH_LEN 64

static char hashes[MAX_HASHES][HASH_LEN];
static size_t hashes_len;
static int blocks;
static char **paths;
static uint8_t content[1 << 20];

static void read_hashes(const char *path) {
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (file != NULL && hashes_len < MAX_HASHES &&
           fscanf(file, "%63s", hashes[hashes_len]) == 1) {
        hashes_len++;
    }
    if (file != NULL) {
        fclose(file);
    }
    CHECK(hashes_len > 20);
}

static void import(const milepost_engine *engine, int index) {
    FILE *file = fopen(paths[index], "rb");
    size_t len = file == NULL ? 0 : fread(content, 1, sizeof content, file);
    CHECK(len > 0 && len < sizeof content);
    if (file != NULL) {
        fclose(file);
    }
    OK(milepost_engine_import_block(engine, content, len, NULL, NULL));
}

static void import_all(const milepost_engine *engine, int from, int to) {
    for (int index = from; index < to; index++) {
        import(engine, index);
    }
}

/* An engine of few blocks in memory or, with a store, over that */
static milepost_engine *new_engine(store *store, const milepost_archive *archive,
                                   uint64_t backlog) {
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_storage functions;
    OK(milepost_settings_new(&settings, NULL));
    OK(milepost_settings_set(settings, MILEPOST_SETTING_RETENTION_BLOCKS, RETENTION, NULL));
    OK(milepost_settings_set(settings, MILEPOST_SETTING_ARCHIVE_BACKLOG, backlog, NULL));
    if (archive != NULL) {
        OK(milepost_settings_set_archive(settings, archive, NULL));
    }
    if (store != NULL) {
        functions = store_functions(store, 1);
        OK(milepost_engine_new_over(&functions, settings, &engine, NULL));
    } else {
        OK(milepost_engine_new(settings, &engine, NULL));
    }
    milepost_settings_free(settings);
    return engine;
}

static size_t request_for(const char *hash, char *request, size_t size) {
    int len = snprintf(request, size,
                       "{\"method\":\"EXPERIMENTAL_tx_status\",\"params\":{\"tx_hash\":\"%s\","
                       "\"sender_account_id\":\"a.near\",\"wait_until\":\"NONE\"}}",
                       hash);
    return (size_t)len;
}

static milepost_response *respond(const milepost_engine *engine, const char *hash) {
    char request[512];
    size_t len = request_for(hash, request, sizeof request);
    milepost_response *response;
    OK(milepost_engine_respond(engine, text(request), len, NULL, 0, &response, NULL));
    return response;
}

static int same_response(const milepost_response *left, const milepost_response *right) {
    milepost_bytes one, other;
    OK(milepost_response_body(left, &one, NULL));
    OK(milepost_response_body(right, &other, NULL));
    return one.len == other.len && memcmp(one.data, other.data, one.len) == 0;
}

/* The number of transactions about which two engines do not answer alike */
static size_t differences(const milepost_engine *left, const milepost_engine *right) {
    size_t count = 0;
    for (size_t i = 0; i < hashes_len; i++) {
        milepost_response *one = respond(left, hashes[i]), *other = respond(right, hashes[i]);
        count += !same_response(one, other);
        milepost_response_free(one);
        milepost_response_free(other);
    }
    return count;
}

static milepost_chain_status_view chain_of(const milepost_engine *engine) {
    milepost_chain_status *chain_status;
    milepost_chain_status_view view = {.size = sizeof view};
    OK(milepost_engine_chain_status(engine, &chain_status, NULL));
    OK(milepost_chain_status_read(chain_status, &view, NULL));
    milepost_chain_status_free(chain_status);
    view.chain_id.len = 0; /* They are freed. */
    return view;
}

/* Reads the state of an engine's archive, whose failure has to be this one */
static milepost_archive_status_view status_of(const milepost_engine *engine, const char *failure) {
    milepost_archive_status *archive_status;
    milepost_archive_status_view view = {.size = sizeof view};
    OK(milepost_engine_archive_status(engine, &archive_status, NULL));
    OK(milepost_archive_status_read(archive_status, &view, NULL));
    CHECK(same(view.failure, failure));
    /* Ranges belong to the state: the practice chain has one, from its first block on. */
    CHECK((view.complete == NULL) == (view.complete_count == 0));
    if (view.has_archived && view.open_transactions == 0) {
        CHECK(view.complete_count == 1 && view.complete[0].first <= view.complete[0].last);
        CHECK(view.complete[0].last == view.archived_height);
    }
    view.complete = NULL;
    milepost_archive_status_free(archive_status);
    return view;
}

static void forgotten_transactions_are_in_the_archive(const milepost_engine *whole) {
    static store rows, other_rows;
    archive archived;
    milepost_archive functions;
    milepost_engine *engine, *hot, *reader, *other;
    milepost_archive_status_view status;
    size_t written;
    archive_new(&archived);
    functions = archive_functions(&archived);
    engine = new_engine(&rows, &functions, 1000);
    hot = new_engine(&rows, NULL, 1000);
    import_all(engine, 0, blocks);
    CHECK(differences(engine, whole) == 0);
    CHECK(differences(hot, whole) > 10);
    CHECK(chain_of(engine).blocks < 30);
    status = status_of(engine, "");
    CHECK(status.is_written == 1 && status.has_archived == 1 && status.evicted_blocks == 0);
    CHECK(status.failures == 0 && status.exported_transactions > 10);
    CHECK(status.archived_height == chain_of(engine).last_final.height);
    CHECK(status.kept_from >= chain_of(engine).earliest.height);
    CHECK(status.kept_from <= status.archived_height);

    /* An endpoint answers from the archive as well. */
    {
        milepost_endpoint *endpoint;
        milepost_response *response, *expected;
        char request[512];
        size_t len = request_for(hashes[0], request, sizeof request);
        uint64_t handle;
        OK(milepost_endpoint_new(engine, NULL, &endpoint, NULL));
        OK(milepost_endpoint_handle_request(endpoint, 0, 10, text(request), len, NULL, 0, &handle,
                                            &response, NULL));
        expected = respond(whole, hashes[0]);
        CHECK(response != NULL && same_response(response, expected));
        milepost_response_free(expected);
        milepost_response_free(response);
        milepost_endpoint_free(endpoint);
    }

    /* Another writer puts the same rows, so it adds none but that of its progress. */
    written = archived.len;
    other = new_engine(&other_rows, &functions, 1000);
    import_all(other, 0, blocks);
    CHECK(differences(other, whole) == 0);
    CHECK(archived.len == written + 1);

    /* An engine that only reads forgets what others have archived. */
    functions.put_many = functions.replace_many = NULL;
    functions.remove_many = NULL;
    reader = new_engine(NULL, &functions, 1000);
    import_all(reader, 0, blocks);
    CHECK(differences(reader, whole) == 0);
    CHECK(chain_of(reader).blocks < 30);
    status = status_of(reader, "");
    CHECK(status.is_written == 0 && status.exported_transactions == 0 && status.has_archived == 1);
    CHECK(archived.len == written + 1);

    /* One whose head lags also asks about what it has not seen finished. */
    {
        milepost_engine *late = new_engine(NULL, &functions, 1000);
        milepost_engine *alone = new_engine(NULL, NULL, 1000);
        milepost_response *expected = respond(whole, hashes[0]), *found, *unfinished;
        import(late, 0);
        import(alone, 0);
        found = respond(late, hashes[0]);
        unfinished = respond(alone, hashes[0]);
        CHECK(same_response(found, expected) && !same_response(unfinished, expected));
        milepost_response_free(found);
        milepost_response_free(unfinished);
        milepost_response_free(expected);
        milepost_engine_free(late);
        milepost_engine_free(alone);
        CHECK(archived.finalized == 1);
    }

    /* The same engine again continues where it was. */
    milepost_engine_free(engine);
    CHECK(archived.finalized == 2);
    functions = archive_functions(&archived);
    engine = new_engine(&rows, &functions, 1000);
    import(engine, blocks - 1);
    CHECK(status_of(engine, "").exported_transactions == 0);
    CHECK(archived.len == written + 1);

    milepost_engine_free(engine);
    milepost_engine_free(hot);
    milepost_engine_free(reader);
    milepost_engine_free(other);
    CHECK(archived.finalized == 5);
    store_clear(&rows);
    store_clear(&other_rows);
    archive_clear(&archived);
}

/* The kind of the response about a transaction */
static milepost_response_kind_t kind_of(const milepost_engine *engine, const char *hash) {
    milepost_response *response = respond(engine, hash);
    milepost_response_kind_t kind;
    OK(milepost_response_kind(response, &kind, NULL));
    milepost_response_free(response);
    return kind;
}

static void an_archive_that_fails_holds_blocks_back(const milepost_engine *whole) {
    static const char UNREACHABLE[] = "the archive's put_many returned 3: the disk is gone";
    archive archived;
    milepost_archive functions;
    milepost_engine *engine;
    uint64_t kept;
    size_t reads, newest;
    archive_new(&archived);
    functions = archive_functions(&archived);
    engine = new_engine(NULL, &functions, 1000);
    import_all(engine, 0, blocks / 2);
    kept = chain_of(engine).blocks;
    archived.fails_to_write = 1;
    import_all(engine, blocks / 2, blocks - 2);
    CHECK(status_of(engine, UNREACHABLE).failures > 10);
    CHECK(chain_of(engine).blocks > kept + 10);
    CHECK(status_of(engine, UNREACHABLE).evicted_blocks == 0);
    /* What is archived, and what is held, is answered. */
    import_all(whole, 0, blocks - 2);
    CHECK(differences(engine, whole) == 0);

    /* What is not in the storage cannot be answered, and is not taken for unknown. */
    archived.fails_to_read = 1;
    reads = archived.reads;
    CHECK(kind_of(engine, hashes[0]) == MILEPOST_RESPONSE_KIND_INTERNAL);
    CHECK(kind_of(engine, "11111111111111111111111111111119") == MILEPOST_RESPONSE_KIND_INTERNAL);
    CHECK(archived.reads > reads);
    {
        milepost_response *response = respond(engine, hashes[0]);
        milepost_bytes body;
        OK(milepost_response_body(response, &body, NULL));
        CHECK(contains(body, "the archive's get_many returned 3: the disk is gone"));
        milepost_response_free(response);
    }
    /* What is in the storage needs no archive. */
    newest = hashes_len - 1;
    while (newest > 0 && kind_of(whole, hashes[newest]) != MILEPOST_RESPONSE_KIND_RESULT) {
        newest--;
    }
    reads = archived.reads;
    CHECK(kind_of(engine, hashes[newest]) == MILEPOST_RESPONSE_KIND_RESULT);
    CHECK(archived.reads == reads);

    archived.fails_to_read = archived.fails_to_write = 0;
    import_all(engine, blocks - 2, blocks);
    import_all(whole, blocks - 2, blocks);
    CHECK(differences(engine, whole) == 0);
    CHECK(status_of(engine, "").failures > 10);
    CHECK(chain_of(engine).blocks < kept + 10);
    milepost_engine_free(engine);
    archive_clear(&archived);
}

static void a_backlog_has_a_bound(void) {
    archive archived;
    milepost_archive functions;
    milepost_engine *engine;
    milepost_archive_status_view status;
    archive_new(&archived);
    archived.fails_to_read = 1;
    functions = archive_functions(&archived);
    engine = new_engine(NULL, &functions, 20);
    import_all(engine, 0, blocks);
    CHECK(chain_of(engine).blocks == 20);
    status = status_of(engine, "the archive's get_many returned 3: the disk is gone");
    CHECK(status.evicted_blocks == (uint64_t)blocks - 20 && status.has_archived == 0);
    milepost_engine_free(engine);
    archive_clear(&archived);
}

static void two_contents_of_a_key_are_not_served(const milepost_engine *whole) {
    archive archived;
    milepost_archive functions;
    milepost_engine *engine;
    milepost_response *response;
    milepost_bytes body;
    archive_row *other;
    size_t served = 0, refused = 0, len;
    archive_new(&archived);
    functions = archive_functions(&archived);
    engine = new_engine(NULL, &functions, 1000);
    import_all(engine, 0, blocks);
    /* Each key gets the row of its neighbour as well. */
    other = (archive_row *)malloc(archived.len * sizeof *other);
    len = archived.len;
    memcpy(other, archived.rows, len * sizeof *other);
    for (size_t i = 0; i + 1 < len; i++) {
        milepost_archive_row put = {{other[i].key, other[i].key_len},
                                    {other[i + 1].content, 32},
                                    {other[i + 1].row, other[i + 1].row_len}};
        archive_put(&archived, &put);
    }
    free(other);
    for (size_t i = 0; i < hashes_len; i++) {
        milepost_response *expected = respond(whole, hashes[i]);
        response = respond(engine, hashes[i]);
        OK(milepost_response_body(response, &body, NULL));
        served += same_response(response, expected);
        /* A refusal gives way to the other row, which has another transaction. */
        refused += contains(body, "two writers have put different content") ||
                   contains(body, "the archive has the row of another transaction there");
        milepost_response_free(expected);
        milepost_response_free(response);
    }
    CHECK(refused > 10 && served + refused == hashes_len);
    milepost_engine_free(engine);
    archive_clear(&archived);
}

static void rows_that_were_not_put_are_not_served(void) {
    archive archived;
    milepost_archive functions;
    milepost_engine *engine;
    archive_new(&archived);
    functions = archive_functions(&archived);
    engine = new_engine(NULL, &functions, 1000);
    import_all(engine, 0, blocks);
    CHECK(kind_of(engine, hashes[0]) == MILEPOST_RESPONSE_KIND_RESULT);
    for (int defect = ARCHIVE_WRONG_SINK; defect <= ARCHIVE_GARBAGE; defect++) {
        archived.defect = (archive_defect)defect;
        CHECK(kind_of(engine, hashes[0]) == MILEPOST_RESPONSE_KIND_INTERNAL);
    }
    milepost_engine_free(engine);
    archive_clear(&archived);
}

/* Whichever call fails, and with a part of its rows written, nothing is lost */
static void any_call_may_fail(const milepost_engine *whole) {
    size_t calls = 2;
    for (size_t at = 1; at < calls; at += at < 12 ? 1 : 11) {
        archive archived;
        milepost_archive functions;
        milepost_engine *engine;
        archive_new(&archived);
        archived.fails_at = at;
        functions = archive_functions(&archived);
        engine = new_engine(NULL, &functions, 1000);
        import_all(engine, 0, blocks - 1);
        /* A call that fails is tried again by the next import. */
        calls = archived.calls;
        import(engine, blocks - 1);
        CHECK(status_of(engine, "").failures == 1 && status_of(engine, "").evicted_blocks == 0);
        CHECK(chain_of(engine).blocks < 30);
        CHECK(differences(engine, whole) == 0);
        milepost_engine_free(engine);
        archive_clear(&archived);
    }
    CHECK(calls > 50);
}

static void archives_are_refused(void) {
    archive archived;
    milepost_archive functions;
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_archive_status *archive_status;
    archive_new(&archived);
    OK(milepost_settings_new(&settings, NULL));
    functions = archive_functions(&archived);
    functions.scan = NULL;
    CHECK(milepost_settings_set_archive(settings, &functions, NULL) == MILEPOST_STATUS_NULL);
    functions = archive_functions(&archived);
    functions.replace_many = NULL;
    CHECK(milepost_settings_set_archive(settings, &functions, NULL) == MILEPOST_STATUS_NULL);
    CHECK(archived.finalized == 0);
    functions = archive_functions(&archived);
    OK(milepost_settings_set_archive(settings, &functions, NULL));
    OK(milepost_settings_set_archive(settings, &functions, NULL));
    CHECK(archived.finalized == 1);
    milepost_settings_free(settings);
    CHECK(archived.finalized == 2);
    OK(milepost_engine_new(NULL, &engine, NULL));
    CHECK(milepost_engine_archive_status(engine, &archive_status, NULL) == MILEPOST_STATUS_USAGE);
    milepost_engine_free(engine);
    archive_clear(&archived);
}

int main(int argc, char **argv) {
    milepost_engine *whole, *growing;
    if (argc < 42) {
        return 2;
    }
    read_hashes(argv[1]);
    blocks = argc - 2;
    paths = argv + 2;
    OK(milepost_engine_new(NULL, &whole, NULL));
    import_all(whole, 0, blocks);
    OK(milepost_engine_new(NULL, &growing, NULL));
    forgotten_transactions_are_in_the_archive(whole);
    an_archive_that_fails_holds_blocks_back(growing);
    a_backlog_has_a_bound();
    two_contents_of_a_key_are_not_served(whole);
    rows_that_were_not_put_are_not_served();
    any_call_may_fail(whole);
    archives_are_refused();
    milepost_engine_free(whole);
    milepost_engine_free(growing);
    return failed;
}
