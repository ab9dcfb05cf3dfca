/*
 * How far along the road a NEAR transaction is: the C interface of milepost.
 *
 * The grammar in short; docs/C-API.md has all of it.
 *
 * - Every function returns a milepost_status_t, but for those that free and the two of the version.
 * - Bytes are a pointer and a length, never terminated by NUL; with length 0 the pointer is not looked at.
 * - Outputs are zeroed on entry and hold a value only after MILEPOST_STATUS_OK.
 * - A const receiver may be shared between threads; another is used by one thread at a time, and the second one
 *   gets MILEPOST_STATUS_BUSY.
 * - What comes out of a parameter "milepost_<noun> **" is freed once, by milepost_<noun>_free. Bytes that come out
 *   belong to the handle they were asked of: until it is freed or, if it is not const, until the next call on it.
 * - Inside a callback only milepost_sink_* may be called.
 *
 * Written by `cargo xtask header` from the sources of the library; changes belong there.
 */

#ifndef MILEPOST_H
#define MILEPOST_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; milepost_version_number() is that of the library. */
#define MILEPOST_VERSION_MAJOR 0
#define MILEPOST_VERSION_MINOR 1
#define MILEPOST_VERSION_PATCH 0
#define MILEPOST_VERSION_NUMBER \
    ((MILEPOST_VERSION_MAJOR << 16) | (MILEPOST_VERSION_MINOR << 8) | MILEPOST_VERSION_PATCH)

/**
 * No deadline: nobody waits
 */
#define MILEPOST_DEADLINE_NEVER 18446744073709551615ull

/**
 * The answer to a request
 */
typedef struct milepost_answer milepost_answer;

/**
 * Where requests wait for their milestones
 */
typedef struct milepost_desk milepost_desk;

/**
 * An engine over a storage
 */
typedef struct milepost_engine milepost_engine;

/**
 * Why a call was refused
 *
 * Comes out of the last parameter of functions that can refuse more than their parameters.
 */
typedef struct milepost_error milepost_error;

/**
 * A request on its way to its answer, over a storage that is not at hand
 */
typedef struct milepost_exchange milepost_exchange;

/**
 * A block message, or a protocol configuration, on its way into a storage that is not at hand
 */
typedef struct milepost_ingest milepost_ingest;

/**
 * What became of a block message
 */
typedef struct milepost_ingested milepost_ingested;

/**
 * A block message in the making
 */
typedef struct milepost_message milepost_message;

/**
 * Settings of engines, exchanges, blocks and desks; each takes those that concern it
 */
typedef struct milepost_settings milepost_settings;

/**
 * Where a callback puts the rows it was asked for; lent for the time of the callback
 */
typedef struct milepost_sink milepost_sink;

/**
 * A signed transaction
 */
typedef struct milepost_transaction milepost_transaction;

/**
 * What a function returns: `MILEPOST_STATUS_OK`, or why it refused
 */
typedef int32_t milepost_status_t;

/**
 * Bytes that belong to someone else; text is UTF-8, and never terminated by NUL
 *
 * With `len` 0 there is nothing at `data`.
 */
typedef struct milepost_bytes {
    /**
     * Where they start
     */
    const uint8_t *data;
    /**
     * How many there are
     */
    size_t len;
} milepost_bytes;

/**
 * What kind of answer it is
 */
typedef int32_t milepost_class_t;

/**
 * How far along a transaction is: `NONE < INCLUDED < {EXECUTED_OPTIMISTIC, INCLUDED_FINAL} < EXECUTED < FINAL`
 */
typedef int32_t milepost_milestone_t;

/**
 * How an execution ended, or a transaction as a whole; it says what the payload is
 */
typedef int32_t milepost_ending_t;

/**
 * The result of a request for a transaction's status; bytes belong to the answer
 */
typedef struct milepost_result {
    /**
     * How far along the transaction is: `MILEPOST_MILESTONE_...`
     */
    milepost_milestone_t milestone;
    /**
     * How it did as a whole: `MILEPOST_ENDING_...`
     */
    milepost_ending_t ending;
    /**
     * What that gave
     */
    struct milepost_bytes payload;
    /**
     * The transaction, as JSON; no bytes when nothing is known of it
     */
    struct milepost_bytes transaction;
    /**
     * Number of outcomes: that of the transaction, then those of receipts; 0 when nothing is known of it
     */
    size_t outcomes;
    /**
     * Number of receipts; 0 also when the request was not for receipts
     */
    size_t receipts;
} milepost_result;

/**
 * A hash: the name of a transaction, a receipt or a block
 */
typedef struct milepost_hash {
    /**
     * Its bytes, as SHA-256 gives them
     */
    uint8_t bytes[32];
} milepost_hash;

/**
 * An outcome; bytes and arrays belong to the answer
 */
typedef struct milepost_outcome {
    /**
     * Hash of the transaction, or id of the receipt
     */
    struct milepost_hash id;
    /**
     * Block whose chunk executed it
     */
    struct milepost_hash block_hash;
    /**
     * Account that executed it
     */
    struct milepost_bytes executor_id;
    /**
     * How it ended: `MILEPOST_ENDING_...`
     */
    milepost_ending_t ending;
    /**
     * What that gave
     */
    struct milepost_bytes payload;
    /**
     * Gas that it burnt
     */
    uint64_t gas_burnt;
    /**
     * yoctoNEAR that it burnt, modulo 2^64
     */
    uint64_t tokens_burnt_low;
    /**
     * yoctoNEAR that it burnt, divided by 2^64
     */
    uint64_t tokens_burnt_high;
    /**
     * Ids of the receipts that it made
     */
    const struct milepost_hash *receipt_ids;
    /**
     * How many there are
     */
    size_t receipt_ids_len;
    /**
     * Lines that the contract logged, unescaped
     */
    const struct milepost_bytes *logs;
    /**
     * How many there are
     */
    size_t logs_len;
    /**
     * The whole outcome, with its id and proof, as JSON
     */
    struct milepost_bytes json;
} milepost_outcome;

/**
 * What is wrong with a request that is answered by an error; bytes belong to the answer
 */
typedef struct milepost_failure {
    /**
     * Which kind, as in `HANDLER_ERROR`
     */
    struct milepost_bytes name;
    /**
     * Why, as in `TIMEOUT_ERROR`
     */
    struct milepost_bytes cause;
    /**
     * What the cause says beside its name, as JSON; no bytes when it says nothing
     */
    struct milepost_bytes info;
    /**
     * The whole error, as JSON
     */
    struct milepost_bytes json;
} milepost_failure;

/**
 * Finds the row of a key and hands it over to the sink; returns 0, or another number to fail
 *
 * The key is its table's number and 1 to 32 bytes, good for the time of the call.
 */
typedef int32_t (*milepost_get_fn)(void *context,
                                   const uint8_t *key,
                                   size_t key_len,
                                   struct milepost_sink *sink);

/**
 * Finds the rows of many keys and hands them over in the order of the keys; returns 0, or another number
 * to fail
 */
typedef int32_t (*milepost_get_many_fn)(void *context,
                                        const struct milepost_bytes *keys,
                                        size_t keys_len,
                                        struct milepost_sink *sink);

/**
 * Whether a change writes a row or removes one
 */
typedef int32_t milepost_change_t;

/**
 * One change of the storage
 */
typedef struct milepost_change {
    /**
     * The key: the number of the table, then 1 to 32 bytes
     */
    struct milepost_bytes key;
    /**
     * The row to be written; no bytes when it is removed
     */
    struct milepost_bytes row;
    /**
     * `MILEPOST_CHANGE_PUT` or `MILEPOST_CHANGE_REMOVE`
     */
    milepost_change_t kind;
} milepost_change;

/**
 * Applies all changes, in their order, or none; returns 0, or another number when none was applied
 */
typedef int32_t (*milepost_commit_fn)(void *context, const struct milepost_change *changes, size_t changes_len);

/**
 * Called once when nothing uses the storage any more
 */
typedef void (*milepost_finalize_fn)(void *context);

/**
 * A storage of the host's: a map from keys to rows
 *
 * `get` and `get_many` are called from any thread that asks, several at a time; `commit` alone. What
 * callbacks owe is said in `docs/C-API.md`.
 */
typedef struct milepost_storage {
    /**
     * `sizeof(milepost_storage)`, by which the library knows which members there are
     */
    size_t size;
    /**
     * Passed to every function; the host's, and never looked at
     */
    void *context;
    /**
     * Finds one row; required
     */
    milepost_get_fn get;
    /**
     * Finds many rows in one round trip; NULL when `get` is as good
     */
    milepost_get_many_fn get_many;
    /**
     * Changes rows; required
     */
    milepost_commit_fn commit;
    /**
     * Ends the storage; NULL when there is nothing to end
     */
    milepost_finalize_fn finalize;
} milepost_storage;

/**
 * Makes an empty storage that is not at hand of any other; returns 0, or another number to fail
 */
typedef int32_t (*milepost_make_fn)(void *context, struct milepost_storage *storage);

/**
 * What becomes of a request that is handed to a desk
 */
typedef int32_t milepost_admission_t;

/**
 * A block by height and hash
 */
typedef struct milepost_point {
    /**
     * Its height
     */
    uint64_t height;
    /**
     * Its hash
     */
    struct milepost_hash hash;
} milepost_point;

/**
 * What the storage knows about the chain
 */
typedef struct milepost_chain {
    /**
     * Whether there is any block: 0 or 1; then `head` and `earliest` are known
     */
    int32_t has_head;
    /**
     * Whether any block is final: 0 or 1; then `last_final` is known
     */
    int32_t has_last_final;
    /**
     * The newest canonical block
     */
    struct milepost_point head;
    /**
     * The newest final block
     */
    struct milepost_point last_final;
    /**
     * The oldest canonical block that is kept
     */
    struct milepost_point earliest;
    /**
     * Number of canonical blocks kept
     */
    uint64_t blocks;
    /**
     * How many batches have changed the chain: equal numbers mean equal blocks and facts
     */
    uint64_t generation;
    /**
     * `latest_protocol_version` of the head's header; 0 without a head
     */
    uint32_t protocol_version;
} milepost_chain;

/**
 * The members of an error
 */
typedef struct milepost_detail {
    /**
     * The status that the call returned: the kind of the refusal
     */
    milepost_status_t status;
    /**
     * Whether `offset` is known: 0 or 1
     */
    int32_t has_offset;
    /**
     * The byte of the input at which the refusal was found
     */
    uint64_t offset;
    /**
     * Where in the input, as in `shards[1].chunk.header`; empty when it is refused as a whole
     */
    struct milepost_bytes path;
    /**
     * What is wrong, as a sentence without a period, in lower case
     */
    struct milepost_bytes message;
} milepost_detail;

/**
 * What a suspended question needs next
 */
typedef int32_t milepost_step_t;

/**
 * A row that a host supplies
 */
typedef struct milepost_row {
    /**
     * Its bytes, copied by the call they are passed to
     */
    struct milepost_bytes bytes;
    /**
     * 1, or 0 when there is no row of this key, and then `bytes` is not looked at
     */
    int32_t present;
} milepost_row;

/**
 * How a request that waits is asked again
 */
typedef int32_t milepost_resume_t;

/**
 * Where a block stands after it came in
 */
typedef int32_t milepost_place_t;

/**
 * What became of a block message, in numbers
 */
typedef struct milepost_summary {
    /**
     * The block of the message
     */
    struct milepost_point block;
    /**
     * The newest final block, as of now, if `has_last_final`
     */
    struct milepost_point last_final;
    /**
     * Whether any block is final: 0 or 1
     */
    int32_t has_last_final;
    /**
     * Where the block stands now: `MILEPOST_PLACE_...`
     */
    milepost_place_t place;
    /**
     * Transactions in the block
     */
    size_t transactions;
    /**
     * Execution outcomes in the block, those of transactions included
     */
    size_t outcomes;
    /**
     * Receipts whose bodies the block carries
     */
    size_t receipts;
    /**
     * How many blocks left the canonical chain because of it
     */
    size_t undone;
    /**
     * How many parked blocks joined the canonical chain with it
     */
    size_t redone;
} milepost_summary;

/**
 * Which setting is meant
 */
typedef int32_t milepost_setting_t;

/**
 * What is told of a transaction; bytes belong to it
 */
typedef struct milepost_transaction_view {
    /**
     * Its hash, by which it is asked for
     */
    struct milepost_hash hash;
    /**
     * Account that signed and pays
     */
    struct milepost_bytes signer_id;
    /**
     * Account that the actions are applied to
     */
    struct milepost_bytes receiver_id;
    /**
     * Nonce of the key it was signed with
     */
    uint64_t nonce;
    /**
     * Number of its actions
     */
    size_t actions;
    /**
     * Whether the signature is that of its public key: 0 or 1
     */
    int32_t signature_is_valid;
    /**
     * The transaction as answers show it, as JSON
     */
    struct milepost_bytes json;
} milepost_transaction_view;

/**
 * The text of a hash in base58: 32 to 44 bytes
 */
typedef struct milepost_text {
    /**
     * The bytes of the text; behind it zeroes
     */
    uint8_t bytes[44];
    /**
     * How many of them the text has
     */
    uint32_t len;
} milepost_text;

/**
 * A result, or a batch of any answers
 */
#define MILEPOST_CLASS_RESULT 1

/**
 * `REQUEST_VALIDATION_ERROR`
 */
#define MILEPOST_CLASS_REQUEST_VALIDATION 2

/**
 * `HANDLER_ERROR` with `TIMEOUT_ERROR`
 */
#define MILEPOST_CLASS_TIMEOUT 3

/**
 * `HANDLER_ERROR` with `UNKNOWN_BLOCK` for a height below the head: skipped or removed
 */
#define MILEPOST_CLASS_SKIPPED_BLOCK 4

/**
 * Any other `HANDLER_ERROR`
 */
#define MILEPOST_CLASS_HANDLER 5

/**
 * `INTERNAL_ERROR`
 */
#define MILEPOST_CLASS_INTERNAL 6

/**
 * `INTERNAL_ERROR` of a service that has no place for the request now, and may have later
 */
#define MILEPOST_CLASS_UNAVAILABLE 7

/**
 * Something that this library has no number for
 */
#define MILEPOST_CLASS_OTHER 255

/**
 * Waits to be included in a block
 */
#define MILEPOST_MILESTONE_NONE 0

/**
 * In a block that may not be final
 */
#define MILEPOST_MILESTONE_INCLUDED 1

/**
 * In a block, and all receipts but refunds are executed; no block need be final
 */
#define MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC 2

/**
 * In a final block
 */
#define MILEPOST_MILESTONE_INCLUDED_FINAL 3

/**
 * In a final block, and all receipts but refunds are executed
 */
#define MILEPOST_MILESTONE_EXECUTED 4

/**
 * In a final block, and all receipts, refunds included, are executed in final blocks
 */
#define MILEPOST_MILESTONE_FINAL 5

/**
 * Nothing is known of it; no payload
 */
#define MILEPOST_ENDING_NONE 0

/**
 * Of an outcome: not executed yet; no payload
 */
#define MILEPOST_ENDING_UNKNOWN 1

/**
 * Of a transaction: not executed yet; no payload
 */
#define MILEPOST_ENDING_NOT_STARTED 2

/**
 * Of a transaction: executed in part; no payload
 */
#define MILEPOST_ENDING_STARTED 3

/**
 * It failed; the payload is the failure, as JSON
 */
#define MILEPOST_ENDING_FAILURE 4

/**
 * It gave a value; the payload is the bytes of the value
 */
#define MILEPOST_ENDING_SUCCESS_VALUE 5

/**
 * It ends as a receipt ends; the payload is the 32 bytes of the receipt's id
 */
#define MILEPOST_ENDING_SUCCESS_RECEIPT_ID 6

/**
 * Something that this library has no number for; the payload is the whole status, as JSON
 */
#define MILEPOST_ENDING_OTHER 255

/**
 * It waits, and its ticket says where
 */
#define MILEPOST_ADMISSION_ASLEEP 1

/**
 * It is to be polled once more: a block came in meanwhile, there is no place, or its time is up
 */
#define MILEPOST_ADMISSION_AGAIN 2

/**
 * It is answered, and its place is free
 */
#define MILEPOST_ADMISSION_ANSWERED 3

/**
 * It was cancelled meanwhile, and nobody wants its answer
 */
#define MILEPOST_ADMISSION_GONE 4

/**
 * The rows of the keys that come with it
 */
#define MILEPOST_STEP_NEED_ROWS 1

/**
 * Nothing: it is done
 */
#define MILEPOST_STEP_DONE 2

/**
 * A block: the milestone is not reached
 */
#define MILEPOST_STEP_WAIT 3

/**
 * After a block: it is answered, or waits on
 */
#define MILEPOST_RESUME_AGAIN 1

/**
 * Its time is up: it is answered, `TIMEOUT_ERROR` if need be
 */
#define MILEPOST_RESUME_LAST 2

/**
 * It is the new head of the canonical chain
 */
#define MILEPOST_PLACE_HEAD 1

/**
 * It was in before; nothing changed
 */
#define MILEPOST_PLACE_KNOWN 2

/**
 * It is on a fork that is not canonical; its facts are parked
 */
#define MILEPOST_PLACE_ASIDE 3

/**
 * Something that this library has no number for
 */
#define MILEPOST_PLACE_OTHER 255

/**
 * 1: `TIMEOUT_ERROR` says why and shows the last status; default 0, because strictly typed clients
 * of the interface refuse it
 */
#define MILEPOST_SETTING_TIMEOUT_CAUSE 1

/**
 * 1: requests about transactions that nobody has seen are answered at once; default 0, they wait
 */
#define MILEPOST_SETTING_UNKNOWN_IMMEDIATE 2

/**
 * The most outcomes and pending receipts of one answer; default 100000
 */
#define MILEPOST_SETTING_MAX_RECEIPTS 3

/**
 * The most requests in one batch; default 50
 */
#define MILEPOST_SETTING_MAX_BATCH 4

/**
 * 1: every block is final when it comes in, and forks are refused; default 0, headers say what is final
 */
#define MILEPOST_SETTING_ALL_FINAL 5

/**
 * How many of the newest blocks are kept; default 0, all of them
 */
#define MILEPOST_SETTING_RETAIN_BLOCKS 6

/**
 * The blocks of how many of the newest epochs are kept; default 0, all of them. The last that was put of this
 * and `MILEPOST_SETTING_RETAIN_BLOCKS` counts
 */
#define MILEPOST_SETTING_RETAIN_EPOCHS 7

/**
 * Time from a request at a desk to its deadline, in the host's unit; default 10000
 */
#define MILEPOST_SETTING_TIMEOUT 8

/**
 * The most calls of requests that wait at a desk; default 100000
 */
#define MILEPOST_SETTING_MAX_WAITING 9

/**
 * A number that strangers cannot know, for desks that serve them; default 0
 */
#define MILEPOST_SETTING_SEED 10

/**
 * Done; outputs are valid
 */
#define MILEPOST_STATUS_OK 0

/**
 * The text is not JSON, or the bytes are not borsh
 */
#define MILEPOST_STATUS_SYNTAX 1

/**
 * The JSON lacks a member, has one too many, or has one of the wrong type
 */
#define MILEPOST_STATUS_SHAPE 2

/**
 * A scalar breaks its rules: a hash of 31 bytes, an account id with an upper-case letter
 */
#define MILEPOST_STATUS_VALUE 3

/**
 * A limit would be exceeded: depth, size, number of items
 */
#define MILEPOST_STATUS_LIMIT 4

/**
 * A block contradicts the chain that is already known
 */
#define MILEPOST_STATUS_CHAIN 5

/**
 * The storage failed
 */
#define MILEPOST_STATUS_STORAGE 6

/**
 * A row in the storage is not what the engine wrote
 */
#define MILEPOST_STATUS_CORRUPT 7

/**
 * The order of calls was broken
 */
#define MILEPOST_STATUS_USAGE 8

/**
 * A pointer is NULL that must not be
 */
#define MILEPOST_STATUS_NULL 64

/**
 * A number is not one of its constants
 */
#define MILEPOST_STATUS_ENUM 65

/**
 * A length that nothing in memory has, a structure of another size, or an array at an odd address
 */
#define MILEPOST_STATUS_LENGTH 66

/**
 * An index is past the end
 */
#define MILEPOST_STATUS_INDEX 67

/**
 * The handle is in use by another call
 */
#define MILEPOST_STATUS_BUSY 68

/**
 * Called from inside a callback, where only `milepost_sink_*` may be called
 */
#define MILEPOST_STATUS_REENTRANT 69

/**
 * A defect of the library; the handles of this call are poisoned
 */
#define MILEPOST_STATUS_PANIC 70

/**
 * An earlier call with this handle ended in `MILEPOST_STATUS_PANIC`
 */
#define MILEPOST_STATUS_POISONED 71

/**
 * The handle was freed, or never was one; told in debug builds
 */
#define MILEPOST_STATUS_STALE 72

/**
 * The row is written, in place of the one that may be there
 */
#define MILEPOST_CHANGE_PUT 1

/**
 * The row is removed; one that is not there is no error
 */
#define MILEPOST_CHANGE_REMOVE 2

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The body to send: compact JSON
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_answer_body(const struct milepost_answer *answer, struct milepost_bytes *body);

/**
 * What kind of answer it is, `MILEPOST_CLASS_...`, for a host that chooses an HTTP status by it
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_answer_class(const struct milepost_answer *answer, milepost_class_t *class_);

/**
 * The member `result` of the answer, as JSON, whatever was asked for
 *
 * `MILEPOST_STATUS_USAGE` when the answer is an error or a batch.
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_answer_result_json(const struct milepost_answer *answer,
                                              struct milepost_bytes *json,
                                              struct milepost_error **error);

/**
 * The result of a request for a transaction's status
 *
 * `MILEPOST_STATUS_USAGE` when the answer is an error, a batch, or none of a status.
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_answer_result(const struct milepost_answer *answer,
                                         struct milepost_result *result,
                                         struct milepost_error **error);

/**
 * An outcome of the result: with index 0 that of the transaction, then those of receipts in the order of the body
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_answer_outcome(const struct milepost_answer *answer,
                                          size_t index,
                                          struct milepost_outcome *outcome,
                                          struct milepost_error **error);

/**
 * A receipt of the result, as JSON, in the order of the body
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_answer_receipt(const struct milepost_answer *answer,
                                          size_t index,
                                          struct milepost_bytes *json,
                                          struct milepost_error **error);

/**
 * What is wrong with a request that is answered by an error
 *
 * `MILEPOST_STATUS_USAGE` when the answer is a result or a batch.
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_answer_failure(const struct milepost_answer *answer,
                                          struct milepost_failure *failure,
                                          struct milepost_error **error);

/**
 * How many answers a batch has; 0 when the answer is that of one request
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_answer_parts(const struct milepost_answer *answer,
                                        size_t *parts,
                                        struct milepost_error **error);

/**
 * One answer of a batch, as an answer of its own
 *
 * Its class is that of the batch, `MILEPOST_CLASS_RESULT`; `milepost_answer_failure` tells whether it is an error.
 *
 * Threads: any number at a time.
 *
 * To be freed: `part` by `milepost_answer_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_answer_part(const struct milepost_answer *answer,
                                       size_t index,
                                       struct milepost_answer **part,
                                       struct milepost_error **error);

/**
 * Frees an answer, and with it all bytes that came of it
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_answer_free(struct milepost_answer *answer);

/**
 * Checks the duties that every storage has
 *
 * `make` is called fewer than 32 times with `context`, each time for an empty storage, whose `finalize` ends it. Takes some
 * seconds and some 16 MiB. `MILEPOST_STATUS_STORAGE` when a duty is broken; the error's sentence says which one, at
 * which key, and what was found. `context` may be NULL.
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_storage_check(milepost_make_fn make,
                                         void *context,
                                         struct milepost_error **error);

/**
 * Makes a desk at which nobody waits
 *
 * It keeps what it needs of the engine, which may be freed before it. `engine` may be NULL for a host whose
 * storage is not at hand. `settings` may be NULL for the defaults; how requests are answered is the
 * engine's, if there is one.
 *
 * Threads: any number at a time.
 *
 * To be freed: `desk` by `milepost_desk_free`.
 *
 * May be NULL: `engine`, `settings`, `error`.
 */
milepost_status_t milepost_desk_new(const struct milepost_engine *engine,
                                    const struct milepost_settings *settings,
                                    struct milepost_desk **desk,
                                    struct milepost_error **error);

/**
 * Answers the body of a request, or lets it wait until `now` plus the timeout
 *
 * When `answer` is NULL after `MILEPOST_STATUS_OK` the request waits, and `milepost_desk_poll_answer` gives its
 * answer with this ticket. `method` is what the address of the request names, and of length 0 when it names none.
 *
 * Threads: one at a time for each `desk`.
 *
 * To be freed: `answer` by `milepost_answer_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_desk_submit(struct milepost_desk *desk,
                                       uint64_t now,
                                       const uint8_t *body,
                                       size_t body_len,
                                       const uint8_t *method,
                                       size_t method_len,
                                       uint64_t *ticket,
                                       struct milepost_answer **answer,
                                       struct milepost_error **error);

/**
 * Takes in a block message by the engine, in one commit, and wakes whom it concerns
 *
 * As `milepost_engine_ingest`; take answers next.
 *
 * Threads: one at a time for each `desk`.
 *
 * To be freed: `ingested` by `milepost_ingested_free`.
 *
 * May be NULL: `ingested`, `error`.
 */
milepost_status_t milepost_desk_ingest(struct milepost_desk *desk,
                                       const uint8_t *message,
                                       size_t message_len,
                                       struct milepost_ingested **ingested,
                                       struct milepost_error **error);

/**
 * Tells a desk what became of a block that was committed elsewhere: by the engine, by another desk, by the host
 *
 * Threads: one at a time for each `desk`.
 */
milepost_status_t milepost_desk_handle_ingested(struct milepost_desk *desk,
                                                const struct milepost_ingested *ingested);

/**
 * Tells a desk the time; take answers next
 *
 * Threads: one at a time for each `desk`.
 */
milepost_status_t milepost_desk_handle_time(struct milepost_desk *desk, uint64_t now);

/**
 * Takes an answer of a request that waited; NULL when there is none now
 *
 * To be called until there is none, after anything was handed in.
 *
 * Threads: one at a time for each `desk`.
 *
 * To be freed: `answer` by `milepost_answer_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_desk_poll_answer(struct milepost_desk *desk,
                                            uint64_t *ticket,
                                            struct milepost_answer **answer,
                                            struct milepost_error **error);

/**
 * When to call `milepost_desk_handle_time` next, or `MILEPOST_DEADLINE_NEVER`
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_desk_next_deadline(const struct milepost_desk *desk, uint64_t *deadline);

/**
 * Forgets a request whose client went away; `was_open` is 1 if it was waiting, else 0
 *
 * Threads: one at a time for each `desk`.
 */
milepost_status_t milepost_desk_cancel(struct milepost_desk *desk, uint64_t ticket, int32_t *was_open);

/**
 * Ends all waiting: open requests get a last look and then an error; take answers next
 *
 * Threads: one at a time for each `desk`.
 */
milepost_status_t milepost_desk_stop(struct milepost_desk *desk);

/**
 * How many calls the requests have that wait
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_desk_open(const struct milepost_desk *desk, size_t *open);

/**
 * Lets an exchange wait that ended in `MILEPOST_STEP_WAIT`
 *
 * `MILEPOST_ADMISSION_ASLEEP`: the desk has it, under `ticket`; `exchange` is spent, and is freed. It comes back
 * by `milepost_desk_poll_exchange`. `MILEPOST_ADMISSION_AGAIN`: poll `exchange` again.
 *
 * Threads: one at a time for each `desk`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_desk_admit(struct milepost_desk *desk,
                                      uint64_t now,
                                      struct milepost_exchange *exchange,
                                      milepost_admission_t *admission,
                                      uint64_t *ticket,
                                      struct milepost_error **error);

/**
 * Takes an exchange that is to be driven again; NULL when there is none now
 *
 * `milepost_desk_settle` or `milepost_desk_cancel` is to follow, or its place stays taken.
 *
 * Threads: one at a time for each `desk`.
 *
 * To be freed: `exchange` by `milepost_exchange_free`.
 */
milepost_status_t milepost_desk_poll_exchange(struct milepost_desk *desk,
                                              uint64_t *ticket,
                                              struct milepost_exchange **exchange);

/**
 * Takes back an exchange that was driven again to its end
 *
 * `MILEPOST_ADMISSION_ANSWERED`: its answer may be sent, and its place is free. `MILEPOST_ADMISSION_GONE`: it was
 * cancelled meanwhile. `MILEPOST_ADMISSION_ASLEEP`: it waits on. `MILEPOST_ADMISSION_AGAIN`: poll `exchange`
 * again, and settle it again. The exchange stays the host's, to be freed.
 *
 * Threads: one at a time for each `desk`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_desk_settle(struct milepost_desk *desk,
                                       uint64_t ticket,
                                       struct milepost_exchange *exchange,
                                       milepost_admission_t *admission,
                                       struct milepost_error **error);

/**
 * Frees a desk; whoever waits is forgotten
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_desk_free(struct milepost_desk *desk);

/**
 * Makes an engine that keeps its rows in memory
 *
 * `settings` may be NULL for the defaults.
 *
 * Threads: any number at a time.
 *
 * To be freed: `engine` by `milepost_engine_free`.
 *
 * May be NULL: `settings`, `error`.
 */
milepost_status_t milepost_engine_new(const struct milepost_settings *settings,
                                      struct milepost_engine **engine,
                                      struct milepost_error **error);

/**
 * Makes an engine over a storage of the host's
 *
 * The structure is copied. Its `finalize` is called when the last handle that uses the engine is freed; when
 * this call does not return `MILEPOST_STATUS_OK`, it never is. `settings` may be NULL for the defaults.
 *
 * Threads: any number at a time.
 *
 * To be freed: `engine` by `milepost_engine_free`.
 *
 * May be NULL: `settings`, `error`.
 */
milepost_status_t milepost_engine_new_over(const struct milepost_storage *storage,
                                           const struct milepost_settings *settings,
                                           struct milepost_engine **engine,
                                           struct milepost_error **error);

/**
 * Makes an engine that keeps its rows in a file, which is made when it is not there
 *
 * The file is a database, open in one engine at a time; what was taken in is on disk when its call returns. `path`
 * is UTF-8. `MILEPOST_STATUS_STORAGE` or `MILEPOST_STATUS_CORRUPT` when it cannot be opened, and it is as it
 * was. `settings` may be NULL for the defaults. In libraries that were built without their feature `store` this
 * function is missing.
 *
 * Threads: any number at a time.
 *
 * To be freed: `engine` by `milepost_engine_free`.
 *
 * May be NULL: `settings`, `error`.
 */
milepost_status_t milepost_engine_open(const uint8_t *path,
                                       size_t path_len,
                                       const struct milepost_settings *settings,
                                       struct milepost_engine **engine,
                                       struct milepost_error **error);

/**
 * Takes in a block message, in one commit
 *
 * The message is the JSON of NEAR Lake or neardata, or that of a `milepost_message`. Calls from
 * several threads wait for each other. What came of it is of use to desks.
 * When the message is refused nothing is changed.
 *
 * Threads: any number at a time.
 *
 * To be freed: `ingested` by `milepost_ingested_free`.
 *
 * May be NULL: `ingested`, `error`.
 */
milepost_status_t milepost_engine_ingest(const struct milepost_engine *engine,
                                         const uint8_t *message,
                                         size_t message_len,
                                         struct milepost_ingested **ingested,
                                         struct milepost_error **error);

/**
 * Puts a protocol configuration in force from this height on, in one commit
 *
 * The text is the result of `EXPERIMENTAL_protocol_config` of a node. One that is there for this height is
 * replaced. All configurations of a storage belong to one chain.
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_engine_put_config(const struct milepost_engine *engine,
                                             uint64_t height,
                                             const uint8_t *config,
                                             size_t config_len,
                                             struct milepost_error **error);

/**
 * Answers the body of a request at once
 *
 * There is an answer to any body; a request whose milestone is not reached is answered as though its time was
 * up. `method` is what the address of the request names, and of length 0 when it names none: a body that
 * names another is refused by its answer.
 *
 * Threads: any number at a time.
 *
 * To be freed: `answer` by `milepost_answer_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_engine_answer(const struct milepost_engine *engine,
                                         const uint8_t *body,
                                         size_t body_len,
                                         const uint8_t *method,
                                         size_t method_len,
                                         struct milepost_answer **answer,
                                         struct milepost_error **error);

/**
 * Says what the storage knows about the chain
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_engine_chain(const struct milepost_engine *engine,
                                        struct milepost_chain *chain,
                                        struct milepost_error **error);

/**
 * Frees an engine; desks that use it keep what they need of it
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_engine_free(struct milepost_engine *engine);

/**
 * Reads an error; the bytes belong to it
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_error_read(const struct milepost_error *error, struct milepost_detail *detail);

/**
 * Frees an error
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_error_free(struct milepost_error *error);

/**
 * Reads the body of a request over a storage that is not at hand
 *
 * There is an answer to any body. `settings` may be NULL for the defaults. `method` is what the address of
 * the request names, and of length 0 when it names none. Poll it next.
 *
 * Threads: any number at a time.
 *
 * To be freed: `exchange` by `milepost_exchange_free`.
 *
 * May be NULL: `settings`, `error`.
 */
milepost_status_t milepost_exchange_new(const struct milepost_settings *settings,
                                        const uint8_t *body,
                                        size_t body_len,
                                        const uint8_t *method,
                                        size_t method_len,
                                        struct milepost_exchange **exchange,
                                        struct milepost_error **error);

/**
 * Says what the request needs next
 *
 * `MILEPOST_STEP_NEED_ROWS`: the rows of `keys`, all from one state of the storage, by
 * `milepost_exchange_supply`; they are asked for again until they are supplied. `MILEPOST_STEP_DONE`: nothing,
 * `answer` is its answer. `MILEPOST_STEP_WAIT`: a block; then `milepost_exchange_resume` or
 * `milepost_desk_admit`. The keys belong to `exchange`.
 *
 * Threads: one at a time for each `exchange`.
 *
 * To be freed: `answer` by `milepost_answer_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_exchange_poll(struct milepost_exchange *exchange,
                                         milepost_step_t *step,
                                         const struct milepost_bytes **keys,
                                         size_t *keys_len,
                                         struct milepost_answer **answer,
                                         struct milepost_error **error);

/**
 * Supplies the rows of the keys last asked for, in their order; they are copied
 *
 * `MILEPOST_STATUS_USAGE` unless there is one for each key, and nothing is changed then.
 *
 * Threads: one at a time for each `exchange`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_exchange_supply(struct milepost_exchange *exchange,
                                           const struct milepost_row *rows,
                                           size_t rows_len,
                                           struct milepost_error **error);

/**
 * Answers a request whose rows cannot be had: `INTERNAL_ERROR` with this reason
 *
 * Threads: one at a time for each `exchange`.
 *
 * To be freed: `answer` by `milepost_answer_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_exchange_fail(struct milepost_exchange *exchange,
                                         const uint8_t *reason,
                                         size_t reason_len,
                                         struct milepost_answer **answer,
                                         struct milepost_error **error);

/**
 * Asks a request that waits once more, `MILEPOST_RESUME_...`; poll it next
 *
 * Threads: one at a time for each `exchange`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_exchange_resume(struct milepost_exchange *exchange,
                                           milepost_resume_t resume,
                                           struct milepost_error **error);

/**
 * The transaction that a call of a request waits for, once it ended in `MILEPOST_STEP_WAIT`
 *
 * Calls are numbered from 0, without those that are ready. Nothing that the request waits for comes but with a block.
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_exchange_waits_for(const struct milepost_exchange *exchange,
                                              size_t index,
                                              struct milepost_hash *transaction,
                                              struct milepost_error **error);

/**
 * Frees a request, answered or not
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_exchange_free(struct milepost_exchange *exchange);

/**
 * Reads a block message that is to go into a storage that is not at hand
 *
 * `settings` may be NULL for the defaults. Poll it next.
 *
 * Threads: any number at a time.
 *
 * To be freed: `ingest` by `milepost_ingest_free`.
 *
 * May be NULL: `settings`, `error`.
 */
milepost_status_t milepost_ingest_new(const struct milepost_settings *settings,
                                      const uint8_t *message,
                                      size_t message_len,
                                      struct milepost_ingest **ingest,
                                      struct milepost_error **error);

/**
 * Reads a protocol configuration that is to be put in force from this height on, in a storage that is not at hand
 *
 * As `milepost_engine_put_config`. Poll it next; nothing becomes of it but its changes.
 *
 * Threads: any number at a time.
 *
 * To be freed: `ingest` by `milepost_ingest_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_ingest_new_config(uint64_t height,
                                             const uint8_t *config,
                                             size_t config_len,
                                             struct milepost_ingest **ingest,
                                             struct milepost_error **error);

/**
 * Says what the block message or configuration needs next
 *
 * `MILEPOST_STEP_NEED_ROWS`: the rows of `keys`, all from one state of the storage, by `milepost_ingest_supply`;
 * they are asked for again until they are supplied. `MILEPOST_STEP_DONE`: that `milepost_ingest_changes` are
 * committed before any other message is asked about. After a refusal only freeing is left.
 *
 * Threads: one at a time for each `ingest`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_ingest_poll(struct milepost_ingest *ingest,
                                       milepost_step_t *step,
                                       const struct milepost_bytes **keys,
                                       size_t *keys_len,
                                       struct milepost_error **error);

/**
 * Supplies the rows of the keys last asked for, in their order; they are copied
 *
 * `MILEPOST_STATUS_USAGE` unless there is one for each key, and nothing is changed then.
 *
 * Threads: one at a time for each `ingest`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_ingest_supply(struct milepost_ingest *ingest,
                                         const struct milepost_row *rows,
                                         size_t rows_len,
                                         struct milepost_error **error);

/**
 * The changes to commit, all or none, once the message is done; they belong to `ingest`
 *
 * None when the block was known. Their order has no meaning: no key is there twice.
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_ingest_changes(const struct milepost_ingest *ingest,
                                          const struct milepost_change **changes,
                                          size_t *changes_len,
                                          struct milepost_error **error);

/**
 * What became of the message once it is done, for a desk to hear of after the commit
 *
 * Threads: any number at a time.
 *
 * To be freed: `ingested` by `milepost_ingested_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_ingest_result(const struct milepost_ingest *ingest,
                                         struct milepost_ingested **ingested,
                                         struct milepost_error **error);

/**
 * Frees a block message or configuration, done or not
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_ingest_free(struct milepost_ingest *ingest);

/**
 * What became of a block message, in numbers
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_ingested_read(const struct milepost_ingested *ingested,
                                         struct milepost_summary *summary);

/**
 * A block that left the canonical chain, newest first
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_ingested_undone(const struct milepost_ingested *ingested,
                                           size_t index,
                                           struct milepost_point *block);

/**
 * A parked block that joined the canonical chain, oldest first
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_ingested_redone(const struct milepost_ingested *ingested,
                                           size_t index,
                                           struct milepost_point *block);

/**
 * Frees what became of a block message
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_ingested_free(struct milepost_ingested *ingested);

/**
 * Begins the message of a block
 *
 * `last_final_hash` is the `last_final_block` of the header, all zero for none; a feed of final blocks needs
 * none. `protocol_version` is its `latest_protocol_version`.
 *
 * Threads: any number at a time.
 *
 * To be freed: `message` by `milepost_message_free`.
 */
milepost_status_t milepost_message_new(uint64_t height,
                                       const struct milepost_hash *hash,
                                       const struct milepost_hash *prev_hash,
                                       const struct milepost_hash *epoch_id,
                                       const struct milepost_hash *last_final_hash,
                                       uint32_t protocol_version,
                                       struct milepost_message **message);

/**
 * Adds a transaction, as answers show it
 *
 * `outcome` is its outcome with id; of length 0 when it comes with a later block.
 *
 * Threads: one at a time for each `message`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_message_add_transaction(struct milepost_message *message,
                                                   const uint8_t *transaction,
                                                   size_t transaction_len,
                                                   const uint8_t *outcome,
                                                   size_t outcome_len,
                                                   struct milepost_error **error);

/**
 * Adds the outcome with id of a receipt that the block executed
 *
 * `receipt` is the receipt itself; of length 0 when it is not at hand.
 *
 * Threads: one at a time for each `message`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_message_add_outcome(struct milepost_message *message,
                                               const uint8_t *outcome,
                                               size_t outcome_len,
                                               const uint8_t *receipt,
                                               size_t receipt_len,
                                               struct milepost_error **error);

/**
 * Adds a receipt that came into being, and is executed in this block or later
 *
 * Threads: one at a time for each `message`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_message_add_receipt(struct milepost_message *message,
                                               const uint8_t *receipt,
                                               size_t receipt_len,
                                               struct milepost_error **error);

/**
 * The text of the message; it belongs to `message`, until something is added
 *
 * Threads: one at a time for each `message`.
 */
milepost_status_t milepost_message_text(struct milepost_message *message, struct milepost_bytes *text);

/**
 * Frees a message
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_message_free(struct milepost_message *message);

/**
 * Checks the body of a request, and gives the answer to one that is not in order
 *
 * `refusal` is NULL after `MILEPOST_STATUS_OK` when the request is in order. Of a batch in which any call is not,
 * it is the array of the answers to those. `calls` is how many calls the body has; 0 when it cannot be read.
 * `settings` may be NULL for the defaults. `method` is what the address of the request names, and of length 0
 * when it names none.
 *
 * Threads: any number at a time.
 *
 * To be freed: `refusal` by `milepost_answer_free`.
 *
 * May be NULL: `settings`, `error`.
 */
milepost_status_t milepost_request_validate(const struct milepost_settings *settings,
                                            const uint8_t *body,
                                            size_t body_len,
                                            const uint8_t *method,
                                            size_t method_len,
                                            size_t *calls,
                                            struct milepost_answer **refusal,
                                            struct milepost_error **error);

/**
 * Makes settings that are all at their defaults
 *
 * Threads: any number at a time.
 *
 * To be freed: `settings` by `milepost_settings_free`.
 */
milepost_status_t milepost_settings_new(struct milepost_settings **settings);

/**
 * Puts one of the settings, `MILEPOST_SETTING_...`; what was made with them before stays as it is
 *
 * Threads: one at a time for each `settings`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_settings_put(struct milepost_settings *settings,
                                        milepost_setting_t setting,
                                        uint64_t value,
                                        struct milepost_error **error);

/**
 * Frees settings; nothing that was made with them needs them any more
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_settings_free(struct milepost_settings *settings);

/**
 * Hands over the row of the next key; it is copied at once
 *
 * `MILEPOST_STATUS_STALE` when the sink is not that of the callback that runs on this thread,
 * `MILEPOST_STATUS_LIMIT` when every key has its row already.
 *
 * Threads: that of the callback.
 */
milepost_status_t milepost_sink_row(struct milepost_sink *sink, const uint8_t *row, size_t row_len);

/**
 * Says that there is no row of the next key; refuses as `milepost_sink_row` does
 *
 * Threads: that of the callback.
 */
milepost_status_t milepost_sink_absent(struct milepost_sink *sink);

/**
 * Reads a signed transaction from its borsh encoding, and checks its signature
 *
 * Threads: any number at a time.
 *
 * To be freed: `transaction` by `milepost_transaction_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_transaction_decode(const uint8_t *bytes,
                                              size_t bytes_len,
                                              struct milepost_transaction **transaction,
                                              struct milepost_error **error);

/**
 * Reads a signed transaction from the base64 of its borsh encoding, as requests carry it
 *
 * Threads: any number at a time.
 *
 * To be freed: `transaction` by `milepost_transaction_free`.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_transaction_decode_base64(const uint8_t *text,
                                                     size_t text_len,
                                                     struct milepost_transaction **transaction,
                                                     struct milepost_error **error);

/**
 * What is told of a transaction
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_transaction_read(const struct milepost_transaction *transaction,
                                            struct milepost_transaction_view *view);

/**
 * Frees a transaction
 *
 * NULL is left alone, as is a handle that is in use.
 */
void milepost_transaction_free(struct milepost_transaction *transaction);

/**
 * Reads a hash from its text in base58
 *
 * Threads: any number at a time.
 *
 * May be NULL: `error`.
 */
milepost_status_t milepost_hash_parse(const uint8_t *text,
                                      size_t text_len,
                                      struct milepost_hash *hash,
                                      struct milepost_error **error);

/**
 * Writes the text of a hash, in base58
 *
 * Threads: any number at a time.
 */
milepost_status_t milepost_hash_format(const struct milepost_hash *hash, struct milepost_text *text);

/**
 * The version of the library, as `MILEPOST_VERSION_NUMBER` is that of the header; may be called anywhere
 */
uint32_t milepost_version_number(void);

/**
 * The version of the library as text, such as `0.1.0`; the bytes live as long as the library, and it may be
 * called anywhere
 */
struct milepost_bytes milepost_version_text(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MILEPOST_H */
