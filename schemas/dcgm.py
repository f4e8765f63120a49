"""Tables of DCGM evidence: dcgm_fields (a dcgm_fields.h) and dcgm_counters (a catalogue of dcgm-exporter)."""

from __future__ import annotations

import pyarrow as pa

from schemas.columns import TEXT, absent, at_least, column, keys, table

DCGM_FIELDS = table(
    "dcgm_fields",
    "One row per `DCGM_FI_` name that a header defines.",
    {
        **keys(),
        "field_name": column(TEXT, "Name of the macro.", required=True),
        "field_id": column(
            pa.int32(),
            "Field id that the name stands for, aliases and sums resolved; NULL when it cannot be resolved here.",
            rules=(at_least(0),),
        ),
        "value_text": column(pa.string(), "Value as defined: a number, another name, or an expression.", required=True),
        "alias_of": column(TEXT, "The name that this name repeats; NULL for a number or an expression."),
        "is_deprecated": column(
            pa.bool_(), "Whether its comment or the block of old names that it stands in says deprecated."
        ),
        "is_marker": column(
            pa.bool_(), "Whether it marks a range (first, last, maximum, start, end) and is no field.", required=True
        ),
        "meaning": column(pa.string(), "Comment before the definition, as plain text."),
        "unit_hint": column(TEXT, "Unit that the comment speaks of (`in MHz`): free text, a hint only."),
        **absent(),
    },
)

DCGM_COUNTERS = table(
    "dcgm_counters",
    "One row per counter that a dcgm-exporter catalogue lists, disabled (commented) ones included.",
    {
        **keys(),
        "field_name": column(TEXT, "DCGM field or exporter counter, as listed.", required=True),
        "metric_type": column(TEXT, "Prometheus type: gauge, counter, histogram, summary, or label.", required=True),
        "help": column(
            pa.string(), "Help text of the metric; its units changed over releases while the values did not."
        ),
        "is_enabled": column(pa.bool_(), "Whether the line is active; false for a commented line.", required=True),
        **absent(),
    },
)
