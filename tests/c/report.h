/*
 * Shared by the adversarial programs: counters, reports, and which statuses exist.
 */
#ifndef MILEPOST_TESTS_REPORT_H
#define MILEPOST_TESTS_REPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "milepost.h"

static size_t calls;
static size_t failures;

static inline void report(const char *what, const char *where, const char *how, long number) {
    failures++;
    printf("%s(%s): %s, %ld\n", what, where, how, number);
}

static inline void must(milepost_status_t status, const char *what) {
    if (status != MILEPOST_STATUS_OK) {
        fprintf(stderr, "adversarial: %s: %d\n", what, (int)status);
        exit(2);
    }
}

static inline int is_known(milepost_status_t status) {
    return (status >= MILEPOST_STATUS_OK && status <= MILEPOST_STATUS_CONFLICT) ||
           (status >= MILEPOST_STATUS_NULL && status <= MILEPOST_STATUS_STALE);
}

#endif
