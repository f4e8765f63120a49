-- One row per observation: what was found, where from, what became of it, and whether all of it is accounted for.
--   is_accounted_for: Whether every line (element) went somewhere: total is rows, header, blank, structure and refused.
SELECT * FROM stg_captures
