-- One row per labelled value of nvidia-smi -q, as recorded.
SELECT * FROM evidence.gpu_query
