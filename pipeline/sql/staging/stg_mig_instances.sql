-- One row per line of a mig -lgi or -lci table, as recorded.
SELECT * FROM evidence.mig_instances
