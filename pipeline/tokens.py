"""Texts that stand where a value should be, and the reason for the absence that each gives.

Brackets hold the text of an NVML error, except [N/A]. No token ever becomes a number, "no" or a state.
Source: nvidia-smi captures of drivers 442 to 615 and nvml.h (nvmlReturn_t).
"""

from __future__ import annotations

REASONS = (
    "not_supported",
    "not_available",
    "deprecated",
    "error",
    "insufficient_permissions",
    "requires_reset",
    "unparsable",
    "masked",
    "not_recorded",
)
"""Every reason that a row's `absent` can give."""

_TOKENS = {
    "[n/a]": "not_supported",
    "n/a": "not_supported",
    "[not supported]": "not_supported",
    "not supported": "not_supported",
    "[requested functionality has been deprecated]": "deprecated",
    "requested functionality has been deprecated": "deprecated",
    "[function not found]": "not_available",
    "function not found": "not_available",
    "[not found]": "not_available",
    "not found": "not_available",
    "[no data]": "not_available",
    "[unknown error]": "error",
    "unknown error": "error",
    "[insufficient permissions]": "insufficient_permissions",
    "insufficient permissions": "insufficient_permissions",
    "[gpu access blocked by the operating system]": "insufficient_permissions",
    "[gpu requires reset]": "requires_reset",
    "gpu requires reset": "requires_reset",
    "[gpu is lost]": "error",
    "gpu is lost": "error",
    "[timeout]": "error",
    "[insufficient size]": "error",
    "[corrupted inforom]": "error",
    "[in use by another client]": "error",
    "[insufficient resources]": "error",
    "[invalid argument]": "error",
    "[uninitialized]": "error",
    "[driver not loaded]": "error",
    "[driver/library version mismatch]": "error",
    "[insufficient memory]": "error",
    "[insufficient external power]": "error",
    "[interrupt request issue]": "error",
    "[already initialized]": "error",
    "err!": "error",
}


def absence(text: str) -> str | None:
    """The reason that a trimmed cell holds no value, or None when it may hold one. Unknown brackets are errors."""
    folded = text.casefold()
    reason = _TOKENS.get(folded)
    if reason is None and folded.startswith("[") and folded.endswith("]"):
        return "error"
    return reason


def is_known_token(text: str) -> bool:
    """Whether the text is one of the tokens seen before (an unknown one is worth a remark)."""
    return text.casefold() in _TOKENS
