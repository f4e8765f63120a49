/*
 * Made up in the shape of a release 1 header.
 */

/** Type of a text value */
#define DCGM_FT_STRING           's'
#define DCGM_FS_DEVICE            2

/**
 * Nothing is known of it
 */
#define DCGM_FI_UNKNOWN           0

/**
 * Driver version
 */
#define DCGM_FI_DRIVER_VERSION    1

/***************************************************
 * Clocks
 ***************************************************/

/**
 * SM clock
 * of the device in MHz
 */
#define DCGM_FI_DEV_SM_CLOCK      100
#define DCGM_FI_DEV_MEM_CLOCK     101

/* Held down by heat (usec) */

#define DCGM_FI_DEV_THERMAL_VIOLATION 241

/** First of the virtual ones */
#define DCGM_FI_FIRST_VGPU_FIELD_ID   520
#define DCGM_FI_DEV_VIRTUAL_TYPE      520
#define DCGM_FI_LAST_VGPU_FIELD_ID    570
#define DCGM_FI_MAX_VGPU_FIELDS       DCGM_FI_LAST_VGPU_FIELD_ID - DCGM_FI_FIRST_VGPU_FIELD_ID

// One more than the last
#define DCGM_FI_MAX_FIELDS            571
