/* SPDX-License-Identifier: Apache-2.0 */
/* The table of faults, and the list of what was found. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/settings.h"
#include "config/surroundings.h"
#include "doctor.h"

const struct st_fault_row st_faults[ST_FAULT_COUNT] = {
#define ST_FAULT(ID, id, symptom, test, correction) {id, symptom, test, correction},
#include "faults.def"
#undef ST_FAULT
};

bool st_diagnosis_init(struct st_diagnosis *diagnosis, const char *subject, const char *target)
{
    *diagnosis = (struct st_diagnosis){.subject = subject, .target = target, .arena = st_arena_create()};
    return diagnosis->arena != NULL;
}

void st_diagnosis_finish(struct st_diagnosis *diagnosis)
{
    st_arena_destroy(diagnosis->arena);
    diagnosis->arena = NULL;
}

static const char *make_text(struct st_diagnosis *diagnosis, const char *format, va_list arguments)
{
    char text[1024];

    vsnprintf(text, sizeof(text), format, arguments);
    return st_arena_format(diagnosis->arena, "%s", text);
}

void st_doctor_fact(struct st_diagnosis *diagnosis, const char *name, const char *format, ...)
{
    va_list arguments;
    const char *value;

    va_start(arguments, format);
    value = make_text(diagnosis, format, arguments);
    va_end(arguments);
    if (value != NULL && diagnosis->fact_count < ST_DOCTOR_MOST) {
        diagnosis->facts[diagnosis->fact_count++] = (struct st_doctor_fact){name, value};
    }
}

bool st_doctor_has(const struct st_diagnosis *diagnosis, enum st_fault fault)
{
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        if (diagnosis->findings[i].fault == fault) return true;
    }
    return false;
}

/* A fault that was found already was seen once more. */
static void add_seen(struct st_diagnosis *diagnosis, struct st_doctor_finding *finding, const char *seen)
{
    enum { LONG_TEXT = 300 };
    const char *longer;

    if (strstr(finding->seen, seen) != NULL || strlen(finding->seen) > LONG_TEXT) return;
    longer = st_arena_format(diagnosis->arena, "%s; %s", finding->seen, seen);
    if (longer != NULL) finding->seen = longer;
}

void st_doctor_find(struct st_diagnosis *diagnosis, enum st_fault fault, const char *format, ...)
{
    va_list arguments;
    const char *seen;

    va_start(arguments, format);
    seen = make_text(diagnosis, format, arguments);
    va_end(arguments);
    if (seen == NULL) return;
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        if (diagnosis->findings[i].fault == fault) {
            add_seen(diagnosis, &diagnosis->findings[i], seen);
            return;
        }
    }
    if (diagnosis->finding_count < ST_DOCTOR_MOST) {
        diagnosis->findings[diagnosis->finding_count++] = (struct st_doctor_finding){fault, seen};
    }
}

void st_doctor_variable(struct st_diagnosis *diagnosis, const char *entry)
{
    static const char PREFIX[] = "STAGETAP_", INTERNAL[] = "STAGETAP_INTERNAL_";
    const char *equals = strchr(entry, '='), *value, *effect;
    const struct st_setting *setting;
    char name[128];

    if (equals == NULL || equals - entry >= (int)sizeof(name)) return;
    snprintf(name, sizeof(name), "%.*s", (int)(equals - entry), entry);
    value = equals + 1;
    effect = st_distortion(name, value);
    if (effect != NULL) st_doctor_find(diagnosis, ST_FAULT_DISTORTED, "%s (%s)", entry, effect);
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strncmp(name, INTERNAL, strlen(INTERNAL)) == 0) return;
    setting = st_setting_find(name);
    if (setting == NULL) {
        st_doctor_find(diagnosis, ST_FAULT_BAD_SETTING, "%s is no setting", name);
    } else if (value[0] != '\0' && (!st_setting_check(setting, value) || !st_setting_works(setting, value))) {
        st_doctor_find(diagnosis, ST_FAULT_BAD_SETTING, "%s", entry);
    }
}
