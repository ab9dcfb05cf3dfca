/*
 * Checks that header and library have the same version, as numbers and as text.
 */
#include <stdio.h>
#include <string.h>

#include "milepost.h"

int main(void) {
    char expected[64];
    milepost_bytes text = milepost_version_text();
    unsigned long number = (unsigned long)MILEPOST_VERSION_MAJOR * 65536 +
                           MILEPOST_VERSION_MINOR * 256 + MILEPOST_VERSION_PATCH;
    sprintf(expected, "%d.%d.%d", MILEPOST_VERSION_MAJOR, MILEPOST_VERSION_MINOR,
            MILEPOST_VERSION_PATCH);
    if (number != MILEPOST_VERSION_NUMBER || milepost_version_number() != MILEPOST_VERSION_NUMBER) {
        return 1;
    }
    if (text.len != strlen(expected) || memcmp(text.data, expected, text.len) != 0) {
        return 2;
    }
    printf("%s\n", expected);
    return 0;
}
