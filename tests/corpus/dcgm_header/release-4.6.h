#ifndef DCGM_DEPRECATED
#define DCGM_DEPRECATED 1
#endif

/**
 * Core temperature, in degrees C
 */
#define DCGM_FI_DEV_GPU_TEMP_CELSIUS 150

/**
 * Margin to the slowdown
 */
#define DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS 153

/* Load of the device */
#define DCGM_FI_DEV_GPU_UTIL_RATIO 203
#define DCGM_FI_PROF_LAST_ONE 1533

/** End of the ids */
#define DCGM_FI_MAX_FIELDS (DCGM_FI_PROF_LAST_ONE + 1)

#if DCGM_DEPRECATED
#define DCGM_FI_DEV_GPU_TEMP DCGM_FI_DEV_GPU_TEMP_CELSIUS // 150
#define DCGM_FI_DEV_GPU_TEMP_LIMIT DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS /* 153 */
#if defined(OTHER)
#define DCGM_FI_DEV_GPU_UTIL DCGM_FI_DEV_GPU_UTIL_RATIO // 204
#endif
#else
/* Without the old names */
#define DCGM_FI_INTERNAL_FIELDS_0_START 600
#endif
#define DCGM_FI_DEV_AFTER 601
