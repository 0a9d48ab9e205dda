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
    {"schema", "schema", "Name and version of the document; within a version keys are only ever added."},
    {"device_time_source", "CUPTI|source",
     "Where figures or records come from: CUPTI, events, the host; of a clock: its name."},
    {"no device record in the trace", "no device record in the trace|no device record in the trace yet",
     "Work was launched, and the trace holds no record of when the device did it: the process ended without its "
     "exit handlers (_exit, exec, abort, a signal) within about a quarter second, or has only just begun. Host "
     "figures stand."},
    {"traces", "traces|trace", "What each process left behind: one file each."},
    {"file", "file", "The trace file."},
    {"pid|pids", "pid", "Process id. A further image of the same id (exec) is PID.2."},
    {"process|processes", "process|processes|run of N processes",
     "One image of a program: its process id, or PID.2 for a further one. Each has a trace of its own; those of one "
     "run are shown on one time line."},
    {"program", "program", "The program's name, or the script's for an interpreter."},
    {"end_ns", "end", "The last instant that the trace has, from the start of the earliest trace."},
    {"utc_start", "UTC", "When the trace began, as time of day."},
    {"monotonic_start_ns", "monotonic start", "Where time 0 lies on CLOCK_MONOTONIC."},
    {"clock", "clock",
     "Which clock the recorder read (the processor's counter, or CLOCK_MONOTONIC_RAW) and how far its conversion to "
     "CLOCK_MONOTONIC may be off (residual)."},
    {"own_overhead", "own overhead", "Time that stagetap itself took; null: this version does not record it."},
    {"left_out", "left out",
     "Files of the run, or of its folder, that could not be read or cannot be shown with the others, and why. "
     "Counts for --strict."},
    {"manifest", "manifest",
     "What is known about the run: declared by the user (--meta), found, and what is not recorded."},
    {"declared", "declared", "Said by the user: --meta key=value."},
    {"found", "found", "Seen by stagetap itself: program, versions; of look-ups: how many had a result."},
    {"capabilities", "capabilities", "What was to be collected, and what became of it: kind, state, source, why."},
    {"state", "state",
     "Of a capability: requested, accepted, seen, degraded or not collected; of a finding: candidate."},
    {"requested|accepted|seen", "requested|accepted|seen",
     "A kind of record was asked for · the device library agreed · at least one came."},
    {"degraded", "degraded|stopped or incomplete", "Collecting it stopped, or has holes; the reason stands beside it."},
    {"why", "why|reason", "The reason, in words."},
    {"devices", "devices|devices by uuid", "GPUs of the run; one uuid is one number, whatever a process calls it."},
    {"uuid", "uuid", "The device's own id. A device without one is its process's own."},
    {"ordinal", "ordinal|is number", "The number that a process calls the device by (CUDA_VISIBLE_DEVICES)."},
    {"name", "name", "Of a row, kernel or device."},
    {"text", "text", "In words."},
    {"id", "id|PID:N", "Requests count from 1 in each process; of several processes PID:N."},
    {"lookups", "look-ups", "Function pointers that the program asked CUDA for by name."},
    {"asked", "asked", "Look-ups that were seen."},
    {"wrapped", "wrapped", "Look-ups whose result is watched."},
    {"passed", "passed", "Look-ups whose result was handed on as it was: nothing of interest, or not known."},
    {"not_found", "not found", "Look-ups that had no result."},
    {"symbol", "symbol", "Name of a function."},
    {"version", "version", "The version of a function that was asked for."},
    {"flags", "flags", "The flags of a look-up."},
    {"caller", "caller", "The file that made a look-up."},
    {"not_collected", "not collected",
     "Nobody recorded it: shown as \xe2\x80\x93 (JSON: null), never as 0. Switched off, or it could not be had; the "
     "reason stands in brackets."},
    {"simulated", "SIMULATED", "The program ran on the simulated GPU: its times are no measurements of a device."},
    {"mode", "mode", "How it was recorded: trace (never waits), or another mode, which changes what is measured."},
    {"map", "map",
     "The stage map in force: presets, a file or inline rules; why it is that one, and what its presets were checked "
     "against."},
    {"recognised", "recognised",
     "No map was set; the program, or a module that it imported, told which preset is for it."},
    {"as set|inline|auto", "as set|inline|auto",
     "Where the stage map came from: a preset or file that was named, rules as text, or no map was set and no preset "
     "was recognised."},
    {"checked|oldest|newest|package", "checked|preset",
     "The versions that the names in a preset were compared with: OLDEST–NEWEST."},
    {"covered|not recorded", "to be verified|version not recorded",
     "No one has compared the preset with the version that was found: names may have changed, and rules then match "
     "nothing or the wrong function."},
    {"cuda_work_seen", "no CUDA work seen", "Not one launch, copy or memset was recorded, and nothing was lost."},

    /* requests and rounds */
    {"requests", "requests|request", "One image generation, from entry to return of what a `request` rule matched."},
    {"first", "first",
     "The first request of its shape, or the first after a load that is not part of that shape: it pays for what "
     "later ones find."},
    {"warmup", "warm-up", "Requests after the first one that the rule leaves out of the steady figures."},
    {"steady", "steady|steady request",
     "Complete requests of one shape behind the first and the warm-up ones: what one picture costs when all is warm."},
    {"open", "open", "A request whose end, or whose device work, is not in the trace. It enters no figure."},
    {"phase", "phase", "first, warm-up, steady or open."},
    {"implicit|implicit_requests", "no request rule matched",
     "Where no request rule matched, the process is taken as one request: from the end of its last load before the "
     "first stage (none: from that stage; no stage: from the first launch) to the end of its last stage, launch or "
     "wait. It is a first one, and counts only where no other request is there."},
    {"rule", "rule",
     "Which requests are steady: warmup=N leaves out N after the first; stable=P%/K asks for K in a row within P %."},
    {"rounds", "rounds", "Requests by phase, and the figures over the steady ones."},
    {"chosen_afterwards", "chosen afterwards",
     "The rule was given only now (--rounds), not when the run was recorded."},
    {"several_shapes", "several shapes",
     "The steady requests did different work; the summary covers the most frequent shape only."},
    {"window|window_note|windows", "window|in the window",
     "With STAGETAP_WINDOW calls and device work were recorded only there, boundaries everywhere. What lies in the "
     "window is like a request of its own, and never taken for the whole one."},
    {"partial", "recorded in part", "The window does not hold the request whole: only its boundaries are known."},
    {"first_step|last_step", "steps in the window", "The steps of the request that lie in the window whole."},
    {"not_recorded", "not recorded", "What a comparison needs to know of a run, and neither was declared nor found."},
    {"stable|rounds.note", "not stable|steady was not reached",
     "Steady requests that still trend (Mann-Kendall at 5 %, and the later half's median is more than 1 % from the "
     "earlier half's) are not stable; fewer than 5 tell nothing. Not reached: the rule left no request."},
    {"selection", "lists|selection",
     "Which requests the lists cover: steady, first, all complete ones, or one (--request)."},
    {"selection_note", "no steady request|no complete request|selection note",
     "Why the selection is not what was asked for: where there is no steady request all complete ones are taken; where "
     "none is complete the lists are empty, and the table shows what the host knows of one."},
    {"lists_cover", "in the whole process", "What the lists go over: requests, or in a trace without any the process."},
    {"request_total", "request total", "All requests of the trace, open ones too."},
    {"open_requests", "requests open", "Requests whose end, or whose device work, is not in the trace."},
    {"device_known_until", "device time is known",
     "A trace that just ends holds the device records only of work launched until then."},
    {"requests_without_device_time", "count as open",
     "Requests that returned, and launched some work whose device record is not in the trace."},
    {"n", "median of", "How many requests a figure is over."},
    {"steady_wall", "steady wall", "The wall of the steady requests: number, median, shortest, longest, spread."},
    {"steady_host_return_median", "median host return", "Median time until the host returned, steady requests."},
    {"steady_device_done_median", "median device done", "Median time until the device was done, steady requests."},
    {"shape", "shape|one shape",
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
    {"outside", "outside|outside of requests|before the first request|between requests|between|after the last request",
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
    {"host_self|self", "self|host self|device self|GPU self",
     "The time of the row without the rows below it: among the host columns the host time, among the device columns "
     "the time in which only work of this row ran."},
    {"own_cpu", "own CPU",
     "Host time in the program's own code, running on a CPU. \xe2\x80\x93 (and off-CPU with it) where it cannot be "
     "told: the thread's CPU clock was not read at an end of a stage, or shows that a call in it lost the CPU or "
     "that a copy's wait kept it, by more than 1 %."},
    {"off_cpu", "off-CPU", "Host time in the program's own code, not running: run queue, file I/O, other."},
    {"in_cuda", "in CUDA", "Host time inside CUDA calls that do not wait for the device."},
    {"waiting", "waiting",
     "Host time inside CUDA calls that wait for the device, CPU time in them included; also a launch that returned "
     "only when its full queue had room again (told by the device's records)."},
    {"busy", "device busy|busy|GPU busy",
     "Union of the intervals in which work of the row ran on the device, however late after its launch."},
    {"compute", "kernels|device kernels|GPU kernels",
     "The part of device busy in which at least one kernel of the row ran."},
    {"copy_only", "copies alone|device copies alone|GPU copies alone",
     "The part of device busy in which copies or memsets of the row ran, and no kernel of it."},
    {"launches", "launches",
     "Successful kernel-launch calls at the driver, in the row and below it; captured and failed calls are "
     "counted apart."},
    {"launches_self", "launches self", "Launches of the row without the rows below it."},
    {"graph_launches", "graphs|graph", "Successful launches of CUDA graphs."},
    {"graph_nodes", "graph nodes", "Kernels that the launched graphs ran."},
    {"failed", "failed", "CUDA calls of the row that returned an error: they launch nothing."},
    {"memsets", "memsets", "Fills of device memory: number, bytes, device time."},
    {"edges", "edges",
     "How begin and end of the row are known: exact, or inferred (from a printed line or a stack, left by longjmp, or "
     "open when the trace ended)."},
    {"edges_doubt_ns", "≈",
     "Of a row with inferred edges: its begins and ends were in truth at most so much earlier than noted; – if nobody "
     "knows how much."},
    {"exact", "exact", "Begin and end of the row were seen."},
    {"inferred", "inferred", "Begin or end of the row was not seen itself: it is known from what came later."},
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
    {"shared", "shared",
     "Device time in which work of two or more top-level stages of the request ran at once."},
    {"unattributed", "unattributed", "Work and time that no stage claims. Never spread over stages."},
    {"other", "other",
     "Device time in which operations ran, but none of this request: work of other requests, or of other processes."},
    {"idle", "idle", "The request's wall in which the device ran nothing, by cause; of the one request above."},
    {"shared_by_set", "shared by", "Shared device time by which stages shared it."},
    {"overlap_other", "overlap with other",
     "Device time in which work of other requests ran beside that of this one; not a part of the identity."},
    {"idle_by_cause", "idle by cause", "Idle time of the device by why it had nothing to do."},
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
    {"parts", "parts", "A gap cut where what the host did changes; in order of time."},
    {"gaps_total", "all together", "All gaps of the selected requests, short ones too."},
    {"host_late", "host late", "The call that launched the next operation was entered after the gap had begun."},
    {"dependency", "dependency", "The next operation was enqueued in time, but had to wait for something."},
    {"excluded", "excluded", "Not explained, because the trace does not have this stretch of time whole."},
    {"excluded.window_edge", "window edge (excluded)|window edge", "Full detail was not recorded on both sides of it."},
    {"excluded.missing_data", "missing data (excluded)", "Events were lost there."},
    {"excluded.own_overhead", "own overhead (excluded)", "stagetap itself was at work."},
    {"before_first", "before first work", "From the request's begin to its first operation on this device."},
    {"after_last", "after last work",
     "From the request's last operation on this device to its end: output, or work on another device."},
    {"host_late.after_sync", "host late: after a wait",
     "The program's own code behind a call that waited until the queue was empty, such as cuStreamSynchronize."},
    {"host_late.after_copy", "host late: after a copy",
     "The program's own code behind a copy that waited until the queue was empty, such as reading a value back."},
    {"host_late.own_code", "host late: own code|own code",
     "The program's own code was slower than the device, with no wait in front of it. Time off the CPU is in here "
     "where it was not recorded."},
    {"host_late.off_cpu", "host late: off-CPU", "The launching thread did not run: run queue, file I/O, a lock."},
    {"host_late.alloc_free", "host late: alloc/free", "The launching thread was in a call that allocates or frees."},
    {"host_late.module_load", "host late: module load",
     "The launching thread loaded code: a module, or the first launch of a function."},
    {"host_late.graph_instantiate", "host late: graph instantiate", "The launching thread built a CUDA graph."},
    {"host_late.other_call", "host late: other call|other call", "The launching thread was in another CUDA call."},
    {"dependency.event_wait", "dependency: event wait", "The stream waited for an event of another stream."},
    {"dependency.other_stream", "dependency: other stream", "The stream waited for the default stream, or it for it."},
    {"dependency.host_function", "dependency: host function",
     "A host function in the stream had to run first; `stagetap syncs` lists them with their times."},
    {"dependency.pageable_staging", "dependency: pageable staging",
     "The driver was copying ordinary (pageable) host memory aside before the device could start."},
    {"launch_floor", "launch floor", "Shorter than 10 us and enqueued in time: what a launch costs."},
    {"unseen_work", "unseen work",
     "The host waited for this device, which ran nothing of this trace: another process or context, or lost records."},
    {"unknown", "unknown",
     "What was recorded does not tell. What one can do: look what the launching thread did just before (`stagetap "
     "syncs`, `stagetap dump --table call`), name that code as a stage of its own in the map, and see under `lost` "
     "and `calls not seen` whether records are missing there."},
    {"drained_by", "queue drained by",
     "Why nothing was queued when the gap began: the last call that waited for this device and the stage it was made "
     "in, or one of: host slower than device, request begin, process begin, nothing more to do; \xe2\x80\x93: work was "
     "queued."},
    {"wait", "wait", "A call waited until the queue was empty."},
    {"host slower than device", "host slower than device",
     "No call waited: the device finished what was queued before the host launched more."},
    {"request begin", "request begin", "The request had just begun, nothing was launched yet."},
    {"process begin", "process begin", "A trace without requests: nothing was launched yet."},
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
    {"host_functions", "host functions|host function",
     "Functions of the program that a thread of the driver ran when a stream reached them (cuLaunchHostFunc, "
     "cudaLaunchHostFunc, cuStreamAddCallback). Their time is of no row: the program's threads were elsewhere, and the "
     "stream behind them waited. `stagetap syncs` lists them."},
    {"function", "function", "Symbol of the host function, or its file and the offset in it."},
    {"handed over in", "handed over in",
     "The row whose call handed the host function over; \xe2\x80\x93: a graph ran it, or that call is not known."},
    {"host_functions_total", "host functions, run by threads of the driver",
     "How often all of them were handed over and ran."},
    {"handed_over", "handed over", "Calls that handed a host function over to run, of the selected requests."},
    {"captured", "captured",
     "Calls recorded into a CUDA graph instead of run: they count as nothing else; what the graph runs counts when "
     "it is launched."},
    {"ran", "ran", "Executions of the host function, also by graphs, so that it may be more than were handed over."},
    {"transfers", "transfers", "Copies by direction, memory and stage, over the selected requests."},

    /* what is wrong or missing */
    {"lost|lost_events", "lost|events lost",
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
    {"unknown_variants", "unknown variants", "How many functions not_intercepted lists."},
    {"untracked_captures", "stream captures not followed",
     "Captures for which there was no room: calls recorded by them may count as launches."},
    {"unmatched_rules", "rules that matched nothing", "Rules of the stage map that no function, range or kernel met."},
    {"other_backends", "other back-ends",
     "Compute back-ends in the process whose work is not collected: Vulkan, HIP, Level Zero, OpenCL. A library that is "
     "loaded need not have worked."},
    {"distortions", "DISTORTED",
     "Settings of the run that change what is measured, such as CUDA_LAUNCH_BLOCKING: its figures are of that."},
    {"notes", "note", "What a reader of the figures should know."},
    {"not_closed", "not closed|cut|damaged|growing|whole",
     "Of a file, as `stagetap verify` says: not closed: every piece is whole, but the process did not end in order "
     "\xc2\xb7 cut: it ends inside a piece, or without its index \xc2\xb7 damaged: something in it was changed or "
     "is gone \xc2\xb7 growing: its process still writes \xc2\xb7 whole."},
    {"code", "code|returned", "The CUDA error code that a call returned."},
    {"missing", "missing", "What --strict exits 1 for; empty: nothing."},
    {"findings", "candidate", "Something worth a look; not proved."},
    {"figures", "figures", "The numbers that a finding rests on."},
    {"next_check", "next", "What would prove or refute a finding."},

    /* `map check` */
    {"origin", "origin", "Where a rule stands: a file, a preset, or inline."},
    {"pattern", "pattern", "What the rule matches: * any run of characters, ? one."},
    {"meaning", "meaning", "What a match is: a stage, request, step, load …"},
    {"line", "line", "Line of the rule in its map."},
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

/* ---- words that are not there ---- */

#define LONGEST 47 /* longer words are compared by their beginning */

/* Changes (insert, delete, replace) from one word to the other, in any case. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[LONGEST + 1], above, kept;

    a_length = a_length < LONGEST ? a_length : LONGEST;
    b_length = b_length < LONGEST ? b_length : LONGEST;
    for (size_t k = 0; k <= b_length; k++) row[k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        above = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            size_t best = above + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[k - 1]));

            kept = row[k];
            best = row[k] + 1 < best ? row[k] + 1 : best;
            row[k] = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
            above = kept;
        }
    }
    return row[b_length];
}

/* How unlike a word is; a part of the other is near whatever its length. */
static size_t unlikeness(const char *word, const char *item, size_t length)
{
    size_t word_length = strlen(word), changes = distance(word, word_length, item, length);
    char text[LONGEST + 1];

    snprintf(text, sizeof(text), "%.*s", (int)length, item);
    if (word_length >= 3 && strcasestr(text, word) != NULL) return 1 + (length - word_length) / 4;
    if (length >= 3 && strcasestr(word, text) != NULL) return 2 + (word_length - length) / 4;
    return changes + 1;
}

size_t st_explain_nearest(const char *word, const char *ret_words[ST_NEAREST], size_t ret_lengths[ST_NEAREST])
{
    size_t scores[ST_NEAREST], count = 0;

    for (size_t i = 0; i < st_explanation_count; i++) {
        size_t length = strcspn(st_explanations[i].screen, "|"), at;
        size_t score = unlikeness(word, st_explanations[i].screen, length);
        size_t other = unlikeness(word, st_explanations[i].name, strcspn(st_explanations[i].name, "|"));

        score = other < score ? other : score;
        for (at = count; at > 0 && scores[at - 1] > score; at--) {
            if (at == ST_NEAREST) continue;
            scores[at] = scores[at - 1];
            ret_words[at] = ret_words[at - 1];
            ret_lengths[at] = ret_lengths[at - 1];
        }
        if (at == ST_NEAREST) continue;
        scores[at] = score;
        ret_words[at] = st_explanations[i].screen;
        ret_lengths[at] = length;
        count += count < ST_NEAREST;
    }
    return count;
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
