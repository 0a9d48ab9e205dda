/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What library and program tell each other beside traces.
 *
 * The library's version: ST_VERSION_MARK and the version, NUL-terminated, once in its file.
 *
 * A process without a trace says what it was: `stagetap run` makes a file for its run before the target starts and
 * removes it at the end; a process of the run that ends in order and has written no trace appends one line. Nobody else
 * makes the file, so without `run` nothing is written. A line, at most ST_NOTE_BYTES with its end:
 *
 *   PID <tab> PROGRAM <tab> CUDA <tab> BACKENDS <newline>
 *
 * CUDA: soname of a CUDA library that was mapped and never called, or "-". BACKENDS: names of other compute back-ends
 * that were mapped, joined with ", ", or "-". Once the file has ST_NOTES_BYTES no more lines come.
 */
#ifndef ST_TRACE_NOTES_H
#define ST_TRACE_NOTES_H

#define ST_VERSION_MARK "libstagetap version "

#define ST_NOTES_PATH "/dev/shm/stagetap-run." /* and the run id, 32 hex digits */
#define ST_NOTE_BYTES 512
#define ST_NOTES_BYTES (64 << 10)

#endif
