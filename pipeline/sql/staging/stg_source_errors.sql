-- One row per remark about a capture, as recorded.
SELECT * FROM evidence.source_errors
