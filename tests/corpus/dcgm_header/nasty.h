/* A heading, not a meaning */
/** Inside of a comment:
#define DCGM_FI_IN_A_COMMENT 1
 */
  #	define	DCGM_FI_TABS	2	/* beside */
static const char *text = "/* no comment \" \
#define DCGM_FI_IN_A_STRING 3";
char quote = '"'; // \
#define DCGM_FI_IN_A_LINE_COMMENT 4

// first line
// second line
// ------------
#define DCGM_FI_LINES \
    5
// apart

// near
#define/**/DCGM_FI_GLUED/**/6
/*/ still the same comment */ #define DCGM_FI_AFTER_COMMENT 7
#define DCGM_FI_CHAIN_A ((DCGM_FI_CHAIN_B))
#define DCGM_FI_CHAIN_B DCGM_BASE_MADE_UP
#define DCGM_BASE_MADE_UP (10 - (2 - 1) + 0x10u)
#define DCGM_FI_TABS (1 + 1)
#define DCGM_FI_ELSEWHERE DCGM_NOT_HERE // 77
#define DCGM_FI_TWO 7
