/* Answers a request from recorded blocks, one in each line: ./answer blocks.jsonl */
#include <milepost.h>
#include <stdio.h>
#include <string.h>

static const char request[] =
    "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"EXPERIMENTAL_tx_status\", \"params\": "
    "[\"SLRXdgh3pFS4jqMjxHCpU71fc1pT5EZgxaaT1Ghumxq\", \"y.test.near\"]}";

int main(int argc, char **argv) {
    static char line[1 << 20];
    const uint8_t *block = (const uint8_t *)line, *body = (const uint8_t *)request;
    milepost_engine *engine = NULL;
    milepost_response *response = NULL;
    milepost_bytes text;
    FILE *blocks = fopen(argc > 1 ? argv[1] : "blocks.jsonl", "r");
    if (blocks == NULL) return perror("blocks"), 1;
    milepost_status_t status = milepost_engine_new(NULL, &engine, NULL);
    while (status == MILEPOST_STATUS_OK && fgets(line, sizeof line, blocks))
        status = milepost_engine_import_block(engine, block, strlen(line), NULL, NULL);
    if (status == MILEPOST_STATUS_OK)
        status = milepost_engine_respond(engine, body, strlen(request), NULL, 0, &response, NULL);
    if (status == MILEPOST_STATUS_OK && milepost_response_body(response, &text, NULL) == 0)
        fwrite(text.data, 1, text.len, stdout);
    milepost_response_free(response);
    milepost_engine_free(engine);
    fclose(blocks);
    return status;
}
