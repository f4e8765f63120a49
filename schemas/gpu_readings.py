"""Tables of `nvidia-smi --query-gpu`: gpu_readings (typed) and gpu_extra (everything else, as text)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from schemas.columns import LOCAL, TEXT, UTC, absent, at_least, between, column, keys, matches, table

if TYPE_CHECKING:
    from pandera.pyarrow import Column

    from schemas.columns import Rule

_I32, _I64, _F64 = pa.int32(), pa.int64(), pa.float64()
_POSITIVE = (at_least(0),)
_PERCENT = (between(0, 100),)
_TEMPERATURE = (between(-100, 250),)


def _text(field: str, description: str, *rules: Rule) -> Column:
    return column(TEXT, description, source=field, rules=rules)


def _flag(field: str, description: str) -> Column:
    return column(pa.bool_(), description, source=field)


def _number(
    kind: pa.DataType, field: str, unit: str | None, description: str, rules: tuple[Rule, ...] = _POSITIVE
) -> Column:
    return column(kind, description, unit=unit, source=field, rules=rules)


def _mhz(field: str, description: str) -> Column:
    return _number(_I32, field, "MHz", description)


def _watt(field: str, description: str) -> Column:
    return _number(_F64, field, "W", description)


def _mib(field: str, description: str) -> Column:
    return _number(_I64, field, "MiB", description)


def _percent(field: str, description: str) -> Column:
    return _number(_I32, field, "%", description, _PERCENT)


def _counter(field: str, description: str) -> Column:
    return _number(_I64, field, "us", f"{description}, cumulative since driver load.")


def _count(field: str, description: str) -> Column:
    return _number(_I64, field, None, description)


_REASON = "clocks_event_reasons."

GPU_READINGS = table(
    "gpu_readings",
    "One row per GPU and sweep of a `--query-gpu` capture: an inventory has one sweep, a monitor log many.",
    {
        **keys(),
        "segment": column(_I32, "Which header the row is under, from 1: a repeated header starts one.", required=True),
        "sweep": column(
            _I64, "Which sweep over the GPUs, from 1: one starts when a GPU repeats; NULL when rows name no GPU."
        ),
        "gpu_index": _number(_I32, "index", None, "Index of the GPU; it can change at boot."),
        "gpu_uuid": _text("uuid", "UUID of the GPU: the key between captures."),
        "serial": _text("serial", "Serial number, digits kept as text."),
        "model": _text("name", "Product name as printed."),
        "driver_version": _text("driver_version", "Driver version, always text."),
        "vbios_version": _text("vbios_version", "VBIOS version as printed; its case differs by platform."),
        "pci_bus_id": _text("pci.bus_id", "PCI bus id, domain with 8 digits in newer tools."),
        "pci_device_id": _text("pci.device_id", "PCI device and vendor id, as printed."),
        "gpu_count": _count("count", "GPUs in the system."),
        "observed_local": column(LOCAL, "Wall clock of the host, no zone.", source="timestamp"),
        "observed_at": column(UTC, "The same in UTC, where the sidecar says the zone.", unit="UTC", source="timestamp"),
        "pstate": _text("pstate", "Performance state, P0 is the fastest.", matches("pstate", "P[0-9]{1,2}")),
        "compute_mode": _text("compute_mode", "Compute mode."),
        "compute_cap": _text("compute_cap", "Compute capability, text."),
        "persistence_mode": _text("persistence_mode", "Enabled or Disabled."),
        "addressing_mode": _text("addressing_mode", "None, HMM or ATS; None is a value."),
        "mig_mode": _text("mig.mode.current", "Enabled or Disabled; not_supported where the GPU has no MIG."),
        "mig_mode_pending": _text("mig.mode.pending", "MIG mode after the next reset."),
        "ecc_mode": _text("ecc.mode.current", "Enabled or Disabled."),
        "gpu_recovery_action": _text("gpu_recovery_action", "What the driver recommends; None is a value."),
        "sm_clock_mhz": _mhz("clocks.current.sm", "SM clock now."),
        "sm_clock_max_mhz": _mhz("clocks.max.sm", "Highest SM clock."),
        "graphics_clock_mhz": _mhz("clocks.current.graphics", "Graphics clock now."),
        "graphics_clock_max_mhz": _mhz("clocks.max.graphics", "Highest graphics clock."),
        "memory_clock_mhz": _mhz("clocks.current.memory", "Memory clock now."),
        "memory_clock_max_mhz": _mhz("clocks.max.memory", "Highest memory clock."),
        "video_clock_mhz": _mhz("clocks.current.video", "Video clock now."),
        "core_temp_c": _number(_I32, "temperature.gpu", "C", "Core temperature.", _TEMPERATURE),
        "core_temp_margin_c": _number(
            _I32, "temperature.gpu.tlimit", "C", "T.Limit: margin to the limit, not a temperature.", _TEMPERATURE
        ),
        "memory_temp_c": _number(_I32, "temperature.memory", "C", "Memory temperature.", _TEMPERATURE),
        "power_draw_w": _watt("power.draw", "Power draw: mean of 1 s on newer GPUs, instantaneous on older."),
        "power_draw_average_w": _watt("power.draw.average", "Power draw, mean of 1 s."),
        "power_draw_instant_w": _watt("power.draw.instant", "Power draw, instantaneous."),
        "power_limit_w": _watt("power.limit", "Power limit that software asked for."),
        "power_limit_enforced_w": _watt("enforced.power.limit", "The least of all limiters: the cap in force."),
        "power_default_limit_w": _watt("power.default_limit", "Default power limit."),
        "power_limit_min_w": _watt("power.min_limit", "Lowest power limit that can be set."),
        "power_limit_max_w": _watt("power.max_limit", "Highest power limit that can be set."),
        "gpu_utilization_pct": _percent("utilization.gpu", "Share of the sample period with a kernel running."),
        "memory_utilization_pct": _percent("utilization.memory", "Share of the sample period with memory traffic."),
        "encoder_utilization_pct": _percent("utilization.encoder", "Encoder utilization."),
        "decoder_utilization_pct": _percent("utilization.decoder", "Decoder utilization."),
        "memory_total_mib": _mib("memory.total", "Memory, total; each memory cell is rounded up by itself."),
        "memory_reserved_mib": _mib("memory.reserved", "Memory, reserved by driver and firmware."),
        "memory_used_mib": _mib("memory.used", "Memory in use."),
        "memory_free_mib": _mib("memory.free", "Memory free."),
        "fan_speed_pct": _number(_I32, "fan.speed", "%", "Fan speed; it may exceed 100."),
        "clocks_event_reasons": _number(
            pa.uint64(), f"{_REASON}active", None, "Mask of the clock event reasons active now.", ()
        ),
        "clocks_event_reasons_supported": _number(
            pa.uint64(), f"{_REASON}supported", None, "Mask of the reasons the GPU can report.", ()
        ),
        "is_gpu_idle": _flag(f"{_REASON}gpu_idle", "Reason GPU idle is active (0x1)."),
        "is_applications_clocks_setting": _flag(
            f"{_REASON}applications_clocks_setting", "Reason applications clocks setting is active (0x2)."
        ),
        "is_sw_power_cap": _flag(f"{_REASON}sw_power_cap", "Reason software power cap is active (0x4)."),
        "is_hw_slowdown": _flag(f"{_REASON}hw_slowdown", "Reason hardware slowdown is active (0x8)."),
        "is_sync_boost": _flag(f"{_REASON}sync_boost", "Reason sync boost is active (0x10)."),
        "is_sw_thermal_slowdown": _flag(
            f"{_REASON}sw_thermal_slowdown", "Reason software thermal slowdown is active (0x20)."
        ),
        "is_hw_thermal_slowdown": _flag(
            f"{_REASON}hw_thermal_slowdown", "Reason hardware thermal slowdown is active (0x40)."
        ),
        "is_hw_power_brake_slowdown": _flag(
            f"{_REASON}hw_power_brake_slowdown", "Reason hardware power brake is active (0x80)."
        ),
        "sw_power_cap_us": _counter("clocks_event_reasons_counters.sw_power_cap", "Time under the software power cap"),
        "sync_boost_us": _counter("clocks_event_reasons_counters.sync_boost", "Time under sync boost"),
        "sw_thermal_slowdown_us": _counter(
            "clocks_event_reasons_counters.sw_thermal_slowdown", "Time in software thermal slowdown"
        ),
        "hw_thermal_slowdown_us": _counter(
            "clocks_event_reasons_counters.hw_thermal_slowdown", "Time in hardware thermal slowdown"
        ),
        "hw_power_brake_slowdown_us": _counter(
            "clocks_event_reasons_counters.hw_power_brake_slowdown", "Time under the hardware power brake"
        ),
        "pcie_link_gen": _count("pcie.link.gen.current", "PCIe generation now; it drops when idle."),
        "pcie_link_gen_max": _count("pcie.link.gen.max", "Highest PCIe generation here."),
        "pcie_link_width": _count("pcie.link.width.current", "PCIe lanes now."),
        "pcie_link_width_max": _count("pcie.link.width.max", "Most PCIe lanes."),
        "ecc_corrected_volatile_count": _count("ecc.errors.corrected.volatile.total", "Corrected errors since reset."),
        "ecc_uncorrected_volatile_count": _count(
            "ecc.errors.uncorrected.volatile.total", "Uncorrected errors since reset."
        ),
        "ecc_corrected_aggregate_count": _count(
            "ecc.errors.corrected.aggregate.total", "Corrected errors over the card's life."
        ),
        "ecc_uncorrected_aggregate_count": _count(
            "ecc.errors.uncorrected.aggregate.total", "Uncorrected errors over the card's life."
        ),
        "is_remapped_rows_pending": _flag("remapped_rows.pending", "Row remapping waits for a reset."),
        "is_remapped_rows_failure": _flag("remapped_rows.failure", "Row remapping has failed."),
        **absent(),
    },
)

GPU_EXTRA = table(
    "gpu_extra",
    "One row per cell of a `--query-gpu` capture that has no column in gpu_readings: the field and its text.",
    {
        **keys(),
        "field": column(
            TEXT, "Canonical name of a known field; the printed name (without unit) of an unknown one.", required=True
        ),
        "is_known_field": column(pa.bool_(), "Whether reference/smi_fields.csv lists the field.", required=True),
        "text": column(TEXT, "The cell as printed, tokens such as [N/A] included; '' is an empty cell.", required=True),
        **absent(),
    },
)
