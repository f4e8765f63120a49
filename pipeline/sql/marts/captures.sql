-- One row per observation: what was found, where from, what became of it, and whether all of it is accounted for.
SELECT * FROM stg_captures
