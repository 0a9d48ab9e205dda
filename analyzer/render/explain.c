/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each word on the screen means, and how a name of the JSON document is called there. One sentence or two;
 * the whole is in the specification.
 */
#include "analyzer/render/explain.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct st_explanation st_explanations[] = {
    /* the head of a report */
    {"complete", "complete|NOT complete",
     "Complete: the trace was closed in order, and nothing of the file is cut or damaged. Events that were lost while "
     "recording are counted beside it. A trace that is not complete is shown as far as it can be read."},
    {"live", "still running",
     "The process still writes this trace: the report covers what is there so far; open requests enter no figure."},
    {"device_time", "device time",
     "Where the device columns come from: measured (the device's own records, by CUPTI), event, or not collected."},
    {"measured", "measured", "Device times are the device's own records."},
    {"event", "event", "Device times come from CUDA events around the work, not from the device's records."},
    {"not_collected", "not collected",
     "Nobody recorded it: shown as \xe2\x80\x93 (JSON: null), never as 0. Switched off, or it could not be had; the "
     "reason stands in brackets."},
    {"simulated", "SIMULATED", "The program ran on the simulated GPU: its times are no measurements of a device."},
    {"mode", "mode", "How it was recorded: trace (never waits), or another mode, which changes what is measured."},
    {"cuda_work_seen", "no CUDA work seen", "Not one launch, copy or memset was recorded, and nothing was lost."},

    /* requests and rounds */
    {"requests", "requests|request", "One image generation, from entry to return of what a `request` rule matched."},
    {"first", "first", "The first request of its shape, or the first after a load: it pays for what later ones find."},
    {"warmup", "warm-up", "Requests after the first one that the rule leaves out of the steady figures."},
    {"steady", "steady|steady request",
     "Complete requests of one shape behind the first and the warm-up ones: what one picture costs when all is warm."},
    {"open", "open", "A request whose end, or whose device work, is not in the trace. It enters no figure."},
    {"phase", "phase", "first, warm-up, steady or open."},
    {"rule", "rule",
     "Which requests are steady: warmup=N leaves out N after the first; stable=P%/K asks for K in a row within P %."},
    {"shape", "shape|one shape|several shapes",
     "A digest of what a request did: stages, steps, declared or recorded size, kernels and their counts. Requests of "
     "different shapes are different work; one figure only ever covers one shape."},
    {"load", "load", "Loading of weights and the like (`load` rules): kept apart from requests."},
    {"median", "median", "The middle one; of an even number, the mean of the two middle ones."},
    {"min", "min", "The shortest."},
    {"max", "max", "The longest."},
    {"spread", "spread", "Interquartile range divided by the median, over the steady requests."},
    {"typical", "rows",
     "The table is of one real request, the selected one with the median wall; the lists cover all selected requests."},
    {"steps", "steps", "Iterations (rows NAME/step) that began in the request."},
    {"thread", "thread", "The thread that the request ran on."},
    {"begin", "begin|begin UTC", "When the request began, from the start of the trace (--utc: time of day)."},
    {"wall", "wall",
     "From the request's begin on the host to the later of its return on the host and the end of the last device "
     "operation launched in it, on any device."},
    {"host_return", "host returned", "From the request's begin to the return of its function on the host."},
    {"device_done", "device done", "From the request's begin to the end of the last device operation launched in it."},
    {"wall_with_tail", "with tail",
     "The wall and the stages that the request's thread entered after it, before the next request: a picture that is "
     "saved when the request has returned."},
    {"after", "after the request|after",
     "Of a request: stages entered on its thread after it, before the next one (the tail); not part of the wall. Of a "
     "gap: the row of the first operation to start behind it."},
    {"outside", "outside|before the first request|between requests|after the last request",
     "Stages and device work that belong to no request and no tail."},

    /* the stage table */
    {"stage", "stage",
     "A row: a stage, a part of one (output/d2h), or its iterations (sample/step). Device work belongs to the stage "
     "open on its thread when it was launched, however late it runs."},
    {"calls", "calls", "Outermost entries of the row; for a step row the number of steps."},
    {"wall_share", "wall share",
     "Each instant of the wall goes to one row: the stage whose work ran on the device, else the stage "
     "the request's thread was in; several stages at once: shared; none: unattributed. The column adds up to the "
     "wall."},
    {"host_inclusive", "host",
     "Thread time between outermost begin and end of the row, summed over threads: own CPU + off-CPU + "
     "in CUDA + waiting."},
    {"host_self|self", "self",
     "The time of the row without the rows below it: among the host columns the host time, among the device columns "
     "the time in which only work of this row ran."},
    {"own_cpu", "own CPU", "Host time in the program's own code, running on a CPU."},
    {"off_cpu", "off-CPU", "Host time in the program's own code, not running: run queue, file I/O, other."},
    {"in_cuda", "in CUDA", "Host time inside CUDA calls that do not wait for the device."},
    {"waiting", "waiting", "Host time inside CUDA calls that wait for the device, CPU time in them included."},
    {"busy", "device busy|busy|GPU busy",
     "Union of the intervals in which work of the row ran on the device, however late after its launch."},
    {"compute", "kernels", "The part of device busy in which at least one kernel of the row ran."},
    {"copy_only", "copies alone",
     "The part of device busy in which copies or memsets of the row ran, and no kernel of it."},
    {"launches", "launches",
     "Successful kernel-launch calls at the driver, in the row and below it; captured and failed calls are "
     "counted apart."},
    {"graph_launches", "graphs", "Successful launches of CUDA graphs."},
    {"copies", "copies", "Copies, one per operation, staged or not; by direction: h2d, d2h, d2d, p2p."},
    {"h2d", "h2d", "Copied from the host to the device: bytes in the stage table, a direction in the list of copies."},
    {"d2h", "d2h", "Copied from the device back to the host: bytes in the stage table, a direction in the list."},
    {"d2d", "d2d", "Copied within one device."},
    {"p2p", "p2p", "Copied from one device to another."},
    {"h2h", "h2h", "Copied from host memory to host memory by a CUDA call."},

    /* identity and idle time */
    {"identity", "identity",
     "The wall of the request, cut at every start and end of a device operation: stages + shared + unattributed + "
     "other + idle = request, to the nanosecond."},
    {"stages_self", "stages", "Device time in which work of exactly one top-level stage of the request ran."},
    {"shared", "shared|shared by",
     "Device time in which work of two or more top-level stages of the request ran at once."},
    {"unattributed", "unattributed", "Work and time that no stage claims. Never spread over stages."},
    {"other", "other",
     "Device time in which operations ran, but none of this request: work of other requests, or of other processes."},
    {"idle", "idle", "The request's wall in which the device ran nothing, by cause; of the one request above."},
    {"residual", "residual",
     "Wall \xe2\x88\x92 (stages + shared + unattributed + other + idle), in nanoseconds. Anything but 0 is a defect."},

    /* gaps; names of causes as in the JSON document */
    {"gap", "gaps|largest gaps|gaps at its edges and inside",
     "A maximal interval inside a request in which a device ran nothing. The list covers all selected requests."},
    {"device", "GPU|device", "Ordinal of the device in the process. As a kind of memory: on the device."},
    {"start", "start|start UTC", "When the gap began, from the start of the trace (--utc: time of day)."},
    {"duration", "duration", "How long the device ran nothing."},
    {"before", "before", "The row of the last operation to end in front of the gap; \xe2\x80\x93 at the edge."},
    {"cause", "cause",
     "Why the device had nothing to do. A gap is cut where what the host did changes; the cause is that of its largest "
     "part, and the idle line adds up the parts."},
    {"host_late", "host late", "The call that launched the next operation was entered after the gap had begun."},
    {"dependency", "dependency", "The next operation was enqueued in time, but had to wait for something."},
    {"excluded", "excluded", "Not explained, because the trace does not have this stretch of time whole."},
    {"excluded.window_edge", "window edge (excluded)", "Full detail was not recorded on both sides of it."},
    {"excluded.missing_data", "missing data (excluded)", "Events were lost there."},
    {"excluded.own_overhead", "own overhead (excluded)", "stagetap itself was at work."},
    {"before_first", "before first work", "From the request's begin to its first operation on this device."},
    {"after_last", "after last work",
     "From the request's last operation on this device to its end: output, or work on another device."},
    {"host_late.after_sync", "host late: after a wait",
     "The program's own code behind a call that waited until the queue was empty, such as cuStreamSynchronize."},
    {"host_late.after_copy", "host late: after a copy",
     "The program's own code behind a copy that waited until the queue was empty, such as reading a value back."},
    {"host_late.own_code", "host late: own code",
     "The program's own code was slower than the device, with no wait in front of it. Time off the CPU is in here "
     "where it was not recorded."},
    {"host_late.off_cpu", "host late: off-CPU", "The launching thread did not run: run queue, file I/O, a lock."},
    {"host_late.alloc_free", "host late: alloc/free", "The launching thread was in a call that allocates or frees."},
    {"host_late.module_load", "host late: module load",
     "The launching thread loaded code: a module, or the first launch of a function."},
    {"host_late.graph_instantiate", "host late: graph instantiate", "The launching thread built a CUDA graph."},
    {"host_late.other_call", "host late: other call", "The launching thread was in another CUDA call."},
    {"dependency.event_wait", "dependency: event wait", "The stream waited for an event of another stream."},
    {"dependency.other_stream", "dependency: other stream", "The stream waited for the default stream, or it for it."},
    {"dependency.host_function", "dependency: host function", "A host function in the stream had to run first."},
    {"dependency.pageable_staging", "dependency: pageable staging",
     "The driver was copying ordinary (pageable) host memory aside before the device could start."},
    {"launch_floor", "launch floor", "Shorter than 10 us and enqueued in time: what a launch costs."},
    {"unseen_work", "unseen work",
     "The host waited for this device, which ran nothing of this trace: another process or context, or lost records."},
    {"unknown", "unknown", "What was recorded does not tell."},
    {"drained_by", "queue drained by",
     "Why nothing was queued when the gap began: the last call that waited for this device and the stage it was made "
     "in, or one of: host slower than device, request begin, nothing more to do; \xe2\x80\x93: work was queued."},
    {"wait", "wait", "A call waited until the queue was empty."},
    {"host slower than device", "host slower than device",
     "No call waited: the device finished what was queued before the host launched more."},
    {"request begin", "request begin", "The request had just begun, nothing was launched yet."},
    {"nothing more to do", "nothing more to do", "The request launched nothing more on this device."},

    /* the other lists */
    {"kernel", "kernel|kernel name", "Name of the kernel, as the device reported it."},
    {"count", "count", "How often, over the selected requests."},
    {"per_step", "per step", "Launches of the kernel in one step, on average; \xe2\x80\x93 outside of steps."},
    {"total", "total", "Added up over the selected requests."},
    {"direction", "direction", "h2d, d2h, d2d, p2p or h2h."},
    {"kind", "memory", "The host memory of a copy: pageable, pinned, managed; device where there is none."},
    {"pageable", "pageable", "Ordinary host memory: the driver copies it aside, and the host waits for that."},
    {"pinned", "pinned", "Page-locked host memory: the device copies it by itself."},
    {"managed", "managed", "Memory that moves between host and device by itself."},
    {"bytes", "size", "Bytes copied, added up."},
    {"rate_bytes_per_s", "rate", "Bytes divided by the time that the copies took on the device."},
    {"exposed", "not hidden", "Copy time during which no kernel ran on that device."},
    {"repeats", "repeats", "Copies of a range that had been copied in this direction before, unchanged."},
    {"round_trips", "round trips", "Copies of a range to the device and back (or the reverse), nothing in between."},
    {"call", "call", "Name of the CUDA call."},
    {"sync", "waiting calls|syncs", "Calls that waited for the device. Where one waits is no bottleneck by itself."},
    {"blocked_stage", "blocked stage", "The row that the waiting thread was in."},
    {"wait_ns", "waited", "Time in these calls, added up over the selected requests."},
    {"awaited_stages", "for work of",
     "Whose work ran on the device during the wait: the rows that launched it, with the time of each."},
    {"transfers", "transfers", "Copies by direction, memory and stage, over the selected requests."},

    /* what is wrong or missing */
    {"lost", "lost|events lost",
     "What should be in the trace and is not, by cause. `events lost` adds up what the recorder could not keep."},
    {"ring_full", "ring full", "Events lost because a thread was faster than its buffer was emptied (--buffer)."},
    {"no_thread", "no thread", "Events lost because there was no memory for the thread's buffer."},
    {"cupti_dropped", "device records dropped", "Device records that CUPTI says it dropped."},
    {"device_invalid", "device records invalid", "Device records whose times are 0 or end before they begin."},
    {"device_unread", "device records unread", "Device records at the end of a buffer that could not be read."},
    {"disk", "disk", "Events lost because the file could not be written."},
    {"limit", "limit", "Events left out because the trace had reached the size that --limit allows."},
    {"unmatched_device", "device work without a call", "Device operations whose launching call is not known."},
    {"launches_without_record", "launches without a record", "Launches whose work the device figures do not have."},
    {"missing_chunks", "missing chunks", "Pieces of the file that are not there."},
    {"damaged_chunks", "damaged chunks", "Pieces of the file that cannot be read."},
    {"cut_bytes", "cut bytes", "Bytes at the end or between pieces of the file that are no whole piece."},
    {"invalid_times", "invalid times", "Rows whose end lies in front of their begin."},
    {"span_ends", "stages without an end", "Stages that were entered, and whose end is not in the trace."},
    {"span_begins", "stages without a begin", "Stages that were left, and whose begin is not in the trace."},
    {"api_errors", "failed CUDA calls", "Calls that returned an error, with its code; they launch nothing."},
    {"not_intercepted", "not intercepted", "CUDA functions that the program got hold of without being watched."},
    {"completeness", "calls not seen",
     "What the program did at CUDA and the trace does not have; no line: nothing known."},
    {"runtime_without_driver", "runtime launches without a driver call",
     "Launches of the runtime library inside which no driver call was seen: counted once each, but a hole."},
    {"driver_without_runtime", "driver launches without a runtime call",
     "Launches made at the driver itself, as Triton and cuBLASLt do. Normal."},
    {"out_of_reach", "out of reach", "Libraries whose calls were not seen, and why."},
    {"unknown_variants", "not intercepted", "How many functions not_intercepted lists."},
    {"untracked_captures", "stream captures not followed",
     "Captures for which there was no room: calls recorded by them may count as launches."},
    {"unmatched_rules", "rules that matched nothing", "Rules of the stage map that no function, range or kernel met."},
    {"notes", "note", "What a reader of the figures should know."},
    {"missing", "missing", "What --strict exits 1 for; empty: nothing."},
    {"findings", "candidate", "Something worth a look; not proved."},
};
const size_t st_explanation_count = sizeof(st_explanations) / sizeof(st_explanations[0]);

/* Is `word` of `length` bytes one of a|b|c? Case does not matter. */
static bool is_one_of(const char *list, const char *word, size_t length)
{
    while (*list != '\0') {
        size_t item = strcspn(list, "|");

        if (item == length && strncasecmp(list, word, length) == 0) return true;
        list += item + (list[item] == '|');
    }
    return false;
}

static const struct st_explanation *find(const char *word, size_t length)
{
    for (size_t i = 0; length > 0 && i < st_explanation_count; i++) {
        if (is_one_of(st_explanations[i].name, word, length)) return &st_explanations[i];
    }
    for (size_t i = 0; length > 0 && i < st_explanation_count; i++) {
        if (is_one_of(st_explanations[i].screen, word, length)) return &st_explanations[i];
    }
    return NULL;
}

/* Length of `word` without the unit behind it: "wall share ms", "wall_ns", "rate GB/s". */
static size_t without_unit(const char *word)
{
    static const char units[] = "ns|us|ms|s|B|kB|MB|GB|TB|B/s|kB/s|MB/s|GB/s|TB/s|bytes";
    const char *end = strrchr(word, ' ');

    if (end == NULL) end = strrchr(word, '_');
    return end != NULL && is_one_of(units, end + 1, strlen(end + 1)) ? (size_t)(end - word) : strlen(word);
}

const struct st_explanation *st_explain(const char *figure)
{
    const struct st_explanation *found = find(figure, strlen(figure));
    char plain[64];

    if (found != NULL) return found;
    if (strncmp(figure, "GPU", 3) == 0 && isdigit((unsigned char)figure[3])) { /* "GPU0 busy ms" */
        snprintf(plain, sizeof(plain), "GPU%s", figure + 3 + strspn(figure + 3, "0123456789"));
        figure = plain;
    }
    return find(figure, without_unit(figure));
}

const char *st_words(const char *name, char ret[ST_WORDS_BYTES])
{
    for (size_t i = 0; i < st_explanation_count; i++) {
        const struct st_explanation *one = &st_explanations[i];

        if (strcmp(one->name, name) != 0) continue;
        snprintf(ret, ST_WORDS_BYTES, "%.*s", (int)strcspn(one->screen, "|"), one->screen);
        return ret;
    }
    return name;
}
