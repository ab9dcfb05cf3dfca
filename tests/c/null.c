/*
 * Passes NULL where it is not allowed: the status says so, and the compiler keeps what the program
 * checks afterwards. The pointer is NULL in no way that the compiler can see.
 */

#include <stdio.h>

#include "milepost.h"

int main(int argc, char **argv) {
    milepost_settings *settings = argc > 1 ? (milepost_settings *)(void *)argv : NULL;
    milepost_status_t status = milepost_settings_set(settings, 0, 0, NULL);
    if (settings != NULL) {
        fprintf(stderr, "the check for NULL was removed\n");
        return 1;
    }
    if (status != MILEPOST_STATUS_NULL) {
        fprintf(stderr, "status %d\n", (int)status);
        return 1;
    }
    return 0;
}
