/*
 * Fields that the acceptance contract uses, under the names and ids of DCGM 4.6.
 * Comments are in this project's own words.
 */
#ifndef DCGM_FIELDS_H
#define DCGM_FIELDS_H

/* Set to 0 to do without the old names. */
#ifndef DCGM_DEPRECATED
#define DCGM_DEPRECATED 1
#endif

/**
 * Version of the driver, as text
 */
#define DCGM_FI_SYSTEM_DRIVER_VERSION                                 1

/**
 * Product name of the device
 */
#define DCGM_FI_DEV_GPU_NAME                                          50

/**
 * UUID of the device
 */
#define DCGM_FI_DEV_GPU_UUID                                          54

/**
 * PCI address of the device
 */
#define DCGM_FI_DEV_PCI_BUS_ID                                        57

/**
 * Clock of the SMs now, in MHz
 */
#define DCGM_FI_DEV_SM_CLOCK                                          100

/**
 * Clock of the memory now, in MHz
 */
#define DCGM_FI_DEV_MEM_CLOCK                                         101

/**
 * Why the clocks are below their highest, as a bit mask
 */
#define DCGM_FI_DEV_CLOCKS_EVENT_REASONS                              112

/**
 * Highest clock that the SMs can have, in MHz
 */
#define DCGM_FI_DEV_MAX_SM_CLOCK                                      113

/**
 * Highest clock that the memory can have, in MHz
 */
#define DCGM_FI_DEV_MAX_MEM_CLOCK                                     114

/**
 * Core temperature (C)
 */
#define DCGM_FI_DEV_GPU_TEMP_CELSIUS                                  150

/**
 * Highest core temperature for normal operation (C)
 */
#define DCGM_FI_DEV_GPU_MAX_OP_TEMP_CELSIUS                           152

/**
 * Degrees left until the core must slow down (C);
 * a margin, although the old name reads like a limit
 */
#define DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS                           153

/**
 * Power that the board draws, averaged, in Watts
 */
#define DCGM_FI_DEV_BOARD_POWER_WATTS                                 155

/**
 * Power that the board draws at this instant, in Watts
 */
#define DCGM_FI_DEV_BOARD_POWER_RAW_WATTS                             157

/**
 * Core temperature at which clocks are cut (C)
 */
#define DCGM_FI_DEV_GPU_TEMP_SLOWDOWN_CELSIUS                         158

/**
 * Core temperature at which the device goes off (C)
 */
#define DCGM_FI_DEV_GPU_TEMP_SHUTDOWN_CELSIUS                         159

/**
 * Power limit that software asked for, in Watts
 */
#define DCGM_FI_DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS                 160

/**
 * Lowest power limit that can be set, in Watts
 */
#define DCGM_FI_DEV_BOARD_POWER_LIMIT_MIN_WATTS                       161

/**
 * Highest power limit that can be set, in Watts
 */
#define DCGM_FI_DEV_BOARD_POWER_LIMIT_MAX_WATTS                       162

/**
 * Power limit after a restart, in Watts
 */
#define DCGM_FI_DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS                   163

/**
 * Power limit in force, the lowest of all that apply, in Watts
 */
#define DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS                  164

/**
 * Share of time with work on the device, in percent
 */
#define DCGM_FI_DEV_GPU_UTIL_RATIO                                    203

/**
 * Time that the power policy held clocks down, in ns
 */
#define DCGM_FI_DEV_POWER_VIOLATION                                   240

/**
 * Time that heat held clocks down, in ns
 */
#define DCGM_FI_DEV_THERMAL_VIOLATION                                 241

/**
 * Time under the software power cap, in ns
 */
#define DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS               1420

/**
 * Time held to the clock of a sync boost group, in ns
 */
#define DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS                 1421

/**
 * Time under the software thermal slowdown, in ns
 */
#define DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS          1422

/**
 * Time under the hardware thermal slowdown, in ns
 */
#define DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS          1423

/**
 * Time under the external power brake, in ns
 */
#define DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS    1424

/* Names up to 4.5, each with the id of its new name beside it. */
#if DCGM_DEPRECATED
#define DCGM_FI_DRIVER_VERSION                DCGM_FI_SYSTEM_DRIVER_VERSION // 1
#define DCGM_FI_DEV_NAME                      DCGM_FI_DEV_GPU_NAME // 50
#define DCGM_FI_DEV_UUID                      DCGM_FI_DEV_GPU_UUID // 54
#define DCGM_FI_DEV_PCI_BUSID                 DCGM_FI_DEV_PCI_BUS_ID // 57
#define DCGM_FI_DEV_CLOCK_THROTTLE_REASONS    DCGM_FI_DEV_CLOCKS_EVENT_REASONS // 112
#define DCGM_FI_DEV_GPU_TEMP                  DCGM_FI_DEV_GPU_TEMP_CELSIUS // 150
#define DCGM_FI_DEV_GPU_MAX_OP_TEMP           DCGM_FI_DEV_GPU_MAX_OP_TEMP_CELSIUS // 152
#define DCGM_FI_DEV_GPU_TEMP_LIMIT            DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS // 153
#define DCGM_FI_DEV_POWER_USAGE               DCGM_FI_DEV_BOARD_POWER_WATTS // 155
#define DCGM_FI_DEV_POWER_USAGE_INSTANT       DCGM_FI_DEV_BOARD_POWER_RAW_WATTS // 157
#define DCGM_FI_DEV_SLOWDOWN_TEMP             DCGM_FI_DEV_GPU_TEMP_SLOWDOWN_CELSIUS // 158
#define DCGM_FI_DEV_SHUTDOWN_TEMP             DCGM_FI_DEV_GPU_TEMP_SHUTDOWN_CELSIUS // 159
#define DCGM_FI_DEV_POWER_MGMT_LIMIT          DCGM_FI_DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS // 160
#define DCGM_FI_DEV_POWER_MGMT_LIMIT_MIN      DCGM_FI_DEV_BOARD_POWER_LIMIT_MIN_WATTS // 161
#define DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX      DCGM_FI_DEV_BOARD_POWER_LIMIT_MAX_WATTS // 162
#define DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF      DCGM_FI_DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS // 163
#define DCGM_FI_DEV_ENFORCED_POWER_LIMIT      DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS // 164
#define DCGM_FI_DEV_GPU_UTIL                  DCGM_FI_DEV_GPU_UTIL_RATIO // 203
#endif

#endif
