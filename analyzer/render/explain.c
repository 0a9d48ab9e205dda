/* SPDX-License-Identifier: Apache-2.0 */
/* What each figure means. One sentence or two; the whole is in the specification. */
#include "analyzer/render/explain.h"

#include <string.h>

const struct st_explanation st_explanations[] = {
    {"wall", "wall",
     "From the request's begin on the host to the later of its return on the host and the end of the last device "
     "operation launched in it, on any device."},
    {"host_return", "host returned", "From the request's begin to the return of its function on the host."},
    {"device_done", "device done", "From the request's begin to the end of the last device operation launched in it."},
    {"wall_with_tail", "with tail",
     "The wall and the stages that the request's thread entered after it, before the next request."},
    {"wall_share", "wall share",
     "Each instant of the wall goes to one row: the stage whose work ran on the device, else the stage "
     "the request's thread was in; several stages at once: shared; none: unattributed. The column adds up to the "
     "wall."},
    {"calls", "calls", "Outermost entries of the row; for a step row the number of steps."},
    {"host_inclusive", "host",
     "Thread time between outermost begin and end of the row, summed over threads: own CPU + off-CPU + "
     "in CUDA + waiting."},
    {"host_self", "self",
     "The host time of the row without the rows below it. In the device columns, self is the device's: "
     "the time in which only work of this row ran."},
    {"own_cpu", "own CPU", "Host time in the program's own code, running on a CPU."},
    {"off_cpu", "off-CPU", "Host time in the program's own code, not running: run queue, file I/O, other."},
    {"in_cuda", "in CUDA", "Host time inside CUDA calls that do not wait for the device."},
    {"waiting", "waiting", "Host time inside CUDA calls that wait for the device, CPU time in them included."},
    {"busy", "device busy",
     "Union of the intervals in which work of the row ran on the device, however late after its launch."},
    {"compute", "kernels", "The part of device busy in which at least one kernel of the row ran."},
    {"copy_only", "copies alone",
     "The part of device busy in which copies or memsets of the row ran, and no kernel of it."},
    {"launches", "launches",
     "Successful kernel-launch calls at the driver, in the row and below it; captured and failed calls are "
     "counted apart."},
    {"graph_launches", "graphs", "Successful launches of CUDA graphs."},
    {"copies", "h2d",
     "Copies by direction, one per operation, staged or not; h2d to the device, d2h back to the host."},
    {"unattributed", "unattributed", "Work and time that no stage claims. Never spread over stages."},
    {"shared", "shared", "Device time in which work of two or more top-level stages of the request ran at once."},
    {"other", "other", "Device time in which operations ran, but none of this request."},
    {"idle", "idle", "Device time of the request's wall in which the device ran nothing, by cause."},
    {"residual", "residual",
     "Wall − (stages + shared + unattributed + other + idle), in nanoseconds. Anything but 0 is a defect."},
    {"gap", "gaps",
     "A maximal interval inside a request in which a device ran nothing. Its cause is that of its largest part."},
    {"drained_by", "queue drained by",
     "Why nothing was queued when the gap began: the last call that waited for the device, or "
     "a word for it."},
    {"exposed", "not hidden", "Copy time during which no kernel ran on that device."},
    {"spread", "", "Interquartile range divided by the median, over the steady requests."},
};
const size_t st_explanation_count = sizeof(st_explanations) / sizeof(st_explanations[0]);

const struct st_explanation *st_explain(const char *figure)
{
    size_t length = strlen(figure);

    if (length > 3 && strcmp(figure + length - 3, "_ns") == 0) length -= 3;
    for (size_t i = 0; i < st_explanation_count; i++) {
        const struct st_explanation *one = &st_explanations[i];

        if (strlen(one->name) == length && strncmp(one->name, figure, length) == 0) return one;
        if (one->screen[0] != '\0' && strcmp(one->screen, figure) == 0) return one;
    }
    return NULL;
}
