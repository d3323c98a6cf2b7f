/* The beginning of an .xclbin, for programs that read fields of it. A file of `tombolo link` has these fields and no
 * sections: its first bytes are not "xclbin2". */
#ifndef TOMBOLO_XRT_DETAIL_XCLBIN_H
#define TOMBOLO_XRT_DETAIL_XCLBIN_H

#include <stdint.h>

#include "xrt/xrt.h"

enum axlf_section_kind {
    BITSTREAM = 0,
    CLEARING_BITSTREAM = 1,
    EMBEDDED_METADATA = 2,
    FIRMWARE = 3,
    DEBUG_DATA = 4,
    SCHED_FIRMWARE = 5,
    MEM_TOPOLOGY = 6,
    CONNECTIVITY = 7,
    IP_LAYOUT = 8,
    DEBUG_IP_LAYOUT = 9,
    DESIGN_CHECK_POINT = 10,
    CLOCK_FREQ_TOPOLOGY = 11,
    MCS = 12,
    BMC = 13,
    BUILD_METADATA = 14,
    KEYVALUE_METADATA = 15,
    USER_METADATA = 16,
    DNA_CERTIFICATE = 17,
    PDI = 18,
    BITSTREAM_PARTIAL_PDI = 19,
    PARTITION_METADATA = 20,
    EMULATION_DATA = 21,
    SYSTEM_METADATA = 22,
    SOFT_KERNEL = 23,
    ASK_FLASH = 24,
    AIE_METADATA = 25,
    ASK_GROUP_TOPOLOGY = 26,
    ASK_GROUP_CONNECTIVITY = 27,
    SMARTNIC = 28,
    AIE_RESOURCES = 29,
    OVERLAY = 30,
    VENDER_METADATA = 31,
    AIE_PARTITION = 32,
    IP_METADATA = 33
};

struct axlf_section_header {
    uint32_t m_sectionKind;
    char m_sectionName[16];
    uint64_t m_sectionOffset;
    uint64_t m_sectionSize;
};

struct axlf_header {
    uint64_t m_length;
    uint64_t m_timeStamp;
    uint64_t m_featureRomTimeStamp;
    uint16_t m_versionPatch;
    uint8_t m_versionMajor;
    uint8_t m_versionMinor;
    uint16_t m_mode;
    uint16_t m_actionMask;
    unsigned char m_interface_uuid[16];
    unsigned char m_platformVBNV[64];
    union {
        char m_next_axlf[16];
        xuid_t uuid;
    };
    char m_debug_bin[16];
    uint32_t m_numSections;
};

struct axlf {
    char m_magic[8];
    int32_t m_signature_length;
    unsigned char reserved[28];
    unsigned char m_keyBlock[256];
    uint64_t m_uniqueId;
    struct axlf_header m_header;
    struct axlf_section_header m_sections[1];
};

typedef struct axlf xclBin;

#endif
