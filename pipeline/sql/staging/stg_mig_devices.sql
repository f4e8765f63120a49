-- One row per MIG line of nvidia-smi -L, as recorded.
SELECT * FROM evidence.mig_devices
