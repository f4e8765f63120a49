-- One row per GPU line of nvidia-smi -L, as recorded.
SELECT * FROM evidence.gpu_list
