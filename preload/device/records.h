/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of a CUPTI activity buffer to rows of the device tables. No CUPTI call except the
 * measuring of record sizes: the walk is our own, so that it can be tested on any bytes. One thread.
 */
#ifndef ST_DEVICE_RECORDS_H
#define ST_DEVICE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_abi.h"
#include "names.h"
#include "preload/writer/writer.h" /* struct st_device_rows */

/* Bytes of a record by kind; 0: the library does not know the kind. */
struct st_cupti_sizes {
    uint16_t bytes[ST_CUPTI_KINDS];
};

/*
 * Ask the library itself: its record walker is run over made-up buffers and tells how far it steps. Needs
 * no device and no driver. False: it does not walk at all. Not reentrant.
 */
bool st_cupti_measure(st_cupti_next_record_fn next_record, struct st_cupti_sizes *ret_sizes);

/* Times further from the library's clock than this are of another clock. */
#define ST_CUPTI_CLOCK_REACH_NS UINT64_C(3600000000000)

static inline bool st_cupti_is_far(uint64_t time_ns, uint64_t clock_ns)
{
    return (time_ns > clock_ns ? time_ns - clock_ns : clock_ns - time_ns) > ST_CUPTI_CLOCK_REACH_NS;
}

#define ST_CUPTI_CBIDS 2048
enum { ST_CBID_IGNORED = -2, ST_CBID_UNKNOWN = -1 }; /* not asked for; asked for, but none of our calls */

struct st_cupti_reader {
    struct st_cupti_sizes sizes;
    int16_t call_of_cbid[ST_CUPTI_CBIDS]; /* CALLDEF.call, or one of the two above */
    struct st_names names;
    uint64_t known_devices; /* bit per device already told */

    uint64_t records[ST_CUPTI_KINDS]; /* turned into rows, by kind */
    uint64_t clock_ns;                /* the library's clock, read lately; 0 = not known */
    uint64_t invalid;                 /* times 0, end before start, or of another clock */
    uint64_t unread;                  /* buffer ends that could not be walked */
    uint64_t no_memory;               /* rows that could not be kept */
};

/* Turn the records of one buffer into rows. Any bytes are safe, but for the name pointers, which are read
 * with care (st_names_intern_pointer). */
void st_cupti_read(struct st_cupti_reader *reader, const uint8_t *buffer, size_t valid_bytes,
                   struct st_device_rows *rows);

/* How many records a buffer holds, for one that is thrown away. Any thread. */
uint64_t st_cupti_count(const struct st_cupti_sizes *sizes, const uint8_t *buffer, size_t valid_bytes);

#endif
