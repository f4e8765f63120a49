"""Table `gpu_query`: every labelled line of `nvidia-smi -q`, text or XML."""

from __future__ import annotations

import pyarrow as pa

from schemas.columns import TEXT, absent, at_least, column, keys, table

GPU_QUERY = table(
    "gpu_query",
    "One row per labelled value of `nvidia-smi -q` (text) or leaf element of `-q -x` (XML).",
    {
        **keys(),
        "document": column(
            pa.int32(),
            "Which document of a loop, from 1: each NVSMI LOG banner or XML root starts one.",
            required=True,
            rules=(at_least(1),),
        ),
        "gpu": column(TEXT, "Bus id in the heading of the GPU's block; NULL above the first GPU."),
        "section": column(
            TEXT, "Headings above the label, outermost first, joined with ' > ' ('' when none); XML: element names."
        ),
        "block": column(
            pa.int32(),
            "Which of several equal blocks of this GPU (MIG devices, processes), from 1; NULL where there is one.",
            rules=(at_least(1),),
        ),
        "label": column(TEXT, "Label as printed; XML: element name.", required=True),
        "field": column(
            TEXT,
            "The same quantity under one name, whatever the driver or form: 'Section > Label' as driver 590 prints it "
            "in text; NULL when the label is not known to reference/smi_query_fields.csv.",
        ),
        "value_text": column(TEXT, "Value as printed; NULL when the text is not a value (see absent)."),
        "value_number": column(pa.float64(), "Value as a number, where the field is one."),
        "unit": column(TEXT, "Unit as printed (MHz, W, C, MiB, %, us, mV, KB/s)."),
        **absent(),
    },
)
