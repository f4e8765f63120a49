#ifndef DCGM_FIELDS_MADE_UP_H
#define DCGM_FIELDS_MADE_UP_H
#ifdef __cplusplus
extern "C" {
#endif

/**
 * Bits of the limiters
 */
#define DCGM_CLOCKS_EVENT_REASON_GPU_IDLE 0x0000000000000001LL

/** Limiters that are active (see DCGM_CLOCKS_EVENT_REASON_*) */
#define DCGM_FI_DEV_CLOCKS_EVENT_REASONS 112

/** Deprecated: use DCGM_FI_DEV_CLOCKS_EVENT_REASONS instead */
#define DCGM_FI_DEV_CLOCK_THROTTLE_REASONS DCGM_FI_DEV_CLOCKS_EVENT_REASONS

/** The name before that, kept */
#define DCGM_FI_DEV_OLDEST_REASONS DCGM_FI_DEV_CLOCK_THROTTLE_REASONS

/* Power now in Watts; replaces the deprecated reading */
#define DCGM_FI_DEV_POWER_USAGE 155

#define DCGM_FI_FIRST_NVSWITCH_FIELD_ID 700 //!< first of the switches
#define DCGM_FI_LAST_NVSWITCH_FIELD_ID  899 //!< last of the switches
#define DCGM_FI_MAX_NVSWITCH_FIELDS     (DCGM_FI_LAST_NVSWITCH_FIELD_ID - DCGM_FI_FIRST_NVSWITCH_FIELD_ID + 1)

typedef struct { unsigned short id; char tag[32]; } made_up_meta_t;
const char *name(unsigned short id); // "#define DCGM_FI_NO_FIELD 9"
#ifdef __cplusplus
}
#endif
#endif
