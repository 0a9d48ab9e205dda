/* SPDX-License-Identifier: Apache-2.0 */
/* The stage table: one line a row, host on the left, devices on the right. One thread. */
#include <string.h>

#include "analyzer/render/views.h"

enum { GROUP_NAME, GROUP_WALL, GROUP_HOST, GROUP_DEVICE /* one for each device, then the counts */ };

bool st_row_is_within(const char *row, const char *stage)
{
    size_t length;

    if (stage == NULL) return true;
    if (row == NULL) return false;
    length = strlen(stage);
    return strncmp(row, stage, length) == 0 && (row[length] == '\0' || row[length] == '/');
}

/* `is_csv`: heads stand alone there, so that none may be there twice. */
static void add_device_columns(struct st_grid *grid, const struct st_report_request *request, size_t device_count,
                               bool is_csv)
{
    for (size_t i = 0; i < device_count; i++) {
        static const char *const parts[] = {"busy", "kernels", "copies alone", "self"};
        char device[24] = "device", head[48];

        if (device_count > 1) snprintf(device, sizeof(device), "GPU%d", (int)request->devices[i].device);
        for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
            snprintf(head, sizeof(head), "%s %s", device, parts[part]);
            st_grid_add_column(grid, ST_GRID_TIME, GROUP_DEVICE + (int)i, part == 0 || is_csv ? head : parts[part]);
        }
    }
}

static bool has_graphs(const struct st_report_request *request)
{
    for (size_t i = 0; i < request->stage_count; i++) {
        if (request->stages[i].graph_launches.known && request->stages[i].graph_launches.value > 0) return true;
    }
    return false;
}

/* `has_wall`: the rows share the wall of a request. */
static void add_columns(struct st_grid *grid, const struct st_report_request *request, size_t device_count, bool graphs,
                        bool has_wall, bool is_csv)
{
    int counts = GROUP_DEVICE + (int)device_count;

    st_grid_add_column(grid, ST_GRID_TEXT, GROUP_NAME, "stage");
    st_grid_add_column(grid, ST_GRID_COUNT, GROUP_WALL, "calls");
    if (has_wall) st_grid_add_column(grid, ST_GRID_TIME, GROUP_WALL, "wall share");
    st_grid_add_column(grid, ST_GRID_TIME, GROUP_HOST, "host");
    st_grid_add_column(grid, ST_GRID_TIME, GROUP_HOST, is_csv ? "host self" : "self");
    st_grid_add_column(grid, ST_GRID_TIME, GROUP_HOST, "own CPU");
    st_grid_add_column(grid, ST_GRID_TIME, GROUP_HOST, "off-CPU");
    st_grid_add_column(grid, ST_GRID_TIME, GROUP_HOST, "in CUDA");
    st_grid_add_column(grid, ST_GRID_TIME, GROUP_HOST, "waiting");
    add_device_columns(grid, request, device_count, is_csv);
    st_grid_add_column(grid, ST_GRID_COUNT, counts, "launches");
    if (graphs) st_grid_add_column(grid, ST_GRID_COUNT, counts, "graphs");
    st_grid_add_column(grid, ST_GRID_BYTES, counts, "h2d");
    st_grid_add_column(grid, ST_GRID_BYTES, counts, "d2h");
}

static void add_figure(struct st_grid *grid, struct st_figure figure)
{
    st_grid_add_value(grid, figure.known, figure.value);
}

/* What a row did on one device; a row without an entry for it did nothing there. */
static void add_device_cells(struct st_grid *grid, const struct st_report_row *row, int64_t device, bool is_whole)
{
    bool known = row->device_known && is_whole; /* of an open request nobody knows how much is missing */
    struct st_report_row_device nothing = {.device = device};
    const struct st_report_row_device *found = &nothing;

    for (size_t i = 0; i < row->device_count; i++) {
        if (row->devices[i].device == device) found = &row->devices[i];
    }
    st_grid_add_value(grid, known, found->busy_ns);
    st_grid_add_value(grid, known, found->compute_ns);
    st_grid_add_value(grid, known, found->copy_only_ns);
    st_grid_add_value(grid, known, found->self_ns);
}

static bool is_inferred(const struct st_report_row *row)
{
    return row->edges != NULL && strcmp(row->edges, "inferred") == 0;
}

static void add_row(struct st_grid *grid, const struct st_report_request *request, const struct st_report_row *row,
                    size_t device_count, bool graphs, bool has_wall, bool indent)
{
    char name[1024];

    snprintf(name, sizeof(name), "%*s%.900s%s", indent && row->depth < 16 ? row->depth * 2 : 0, "", row->name,
             indent && is_inferred(row) ? " ≈" : "");
    st_grid_add_text(grid, name);
    st_grid_add_value(grid, true, row->calls);
    if (has_wall) add_figure(grid, row->wall_share_ns);
    add_figure(grid, row->host_inclusive_ns);
    add_figure(grid, row->host_self_ns);
    add_figure(grid, row->own_cpu_ns);
    add_figure(grid, row->off_cpu_ns);
    add_figure(grid, row->in_cuda_ns);
    add_figure(grid, row->waiting_ns);
    for (size_t i = 0; i < device_count; i++) {
        add_device_cells(grid, row, i < request->device_count ? request->devices[i].device : 0,
                         !has_wall || request->complete);
    }
    add_figure(grid, row->launches);
    if (graphs) add_figure(grid, row->graph_launches);
    add_figure(grid, row->copies[ST_COPY_H2D].bytes);
    add_figure(grid, row->copies[ST_COPY_D2H].bytes);
}

static bool show_rows(const struct st_report_request *request, bool has_wall, const struct st_filter *filter,
                      const struct st_style *style)
{
    /* without device time the columns stay, filled with "–": nobody shall take their absence for zero */
    size_t device_count = request->devices_known && request->device_count > 0 ? request->device_count : 1;
    bool graphs = has_graphs(request), ok;
    struct st_grid grid;

    if (device_count > 8) device_count = 8; /* columns for more fit no screen; the JSON has them all */
    st_grid_init(&grid);
    grid.one_time_scale = true;
    add_columns(&grid, request, device_count, graphs, has_wall, style->format == ST_GRID_FORMAT_CSV);
    for (size_t i = 0; i < request->stage_count; i++) {
        if (!st_row_is_within(request->stages[i].name, filter->stage)) continue;
        add_row(&grid, request, &request->stages[i], device_count, graphs, has_wall,
                style->format == ST_GRID_FORMAT_TEXT);
    }
    ok = st_grid_print(&grid, style);
    st_grid_finish(&grid);
    return ok;
}

/* Below the table: what ≈ means, and how much. */
static void say_doubt(const struct st_report_request *request, const struct st_filter *filter,
                      const struct st_style *style)
{
    char text[ST_NUMBER_BYTES];
    bool any = false, known = true;
    int64_t most_ns = 0;

    for (size_t i = 0; i < request->stage_count; i++) {
        const struct st_report_row *row = &request->stages[i];
        if (!is_inferred(row) || !st_row_is_within(row->name, filter->stage)) continue;
        any = true;
        known = known && row->edges_doubt_ns.known;
        if (row->edges_doubt_ns.value > most_ns) most_ns = row->edges_doubt_ns.value;
    }
    if (!any) return;
    struct st_scale scale = st_scale_time(style->unit, most_ns);
    if (known && most_ns == 0) {
        st_style_line(style, "≈ edges are inferred from what told of them in that instant");
    } else if (known) {
        st_style_line(style, "≈ edges are inferred from what came later: in truth at most %s %s earlier",
                      st_scale_show(&scale, most_ns, text), scale.name);
    } else {
        st_style_line(style, "≈ edges are inferred from what came later: how much earlier they were is not known");
    }
}

bool st_view_rows(const struct st_report_request *request, const struct st_filter *filter, const struct st_style *style)
{
    bool is_there = filter->stage == NULL;
    char name[ST_REQUEST_BYTES];

    for (size_t i = 0; !is_there && i < request->stage_count; i++) {
        is_there = st_row_is_within(request->stages[i].name, filter->stage);
    }
    if (!is_there && style->format != ST_GRID_FORMAT_CSV) {
        st_style_line(style, "no row %s in request %s", filter->stage, st_request_name(request->id, name));
    }
    bool ok = show_rows(request, true, filter, style);
    if (style->format == ST_GRID_FORMAT_TEXT) say_doubt(request, filter, style);
    return ok;
}

bool st_view_outside(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    const struct {
        const char *where;
        struct st_report_row *rows;
        size_t count;
    } parts[] = {{"before the first request", report->before_first, report->before_first_count},
                 {"between requests", report->between, report->between_count},
                 {"after the last request", report->after_last, report->after_last_count}};
    struct st_report_request_device devices[ST_GRID_MAX_COLUMNS] = {{0}};
    struct st_report_request table = {.devices = devices};
    bool ok = true;

    for (; table.device_count < report->device_count && table.device_count < ST_GRID_MAX_COLUMNS;
         table.device_count++) {
        devices[table.device_count].device = report->devices[table.device_count].device;
    }
    for (size_t i = 0; ok && i < sizeof(parts) / sizeof(parts[0]); i++) {
        table.stages = parts[i].rows;
        table.stage_count = parts[i].count;
        table.devices_known = parts[i].count > 0 && parts[i].rows[0].device_known;
        if (parts[i].count == 0) continue;
        if (style->format != ST_GRID_FORMAT_CSV && report->request_total > 0)
            st_style_head(style, "%s", parts[i].where);
        ok = show_rows(&table, false, filter, style);
    }
    return ok;
}
