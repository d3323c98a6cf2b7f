/* The release of XRT whose documentation these headers follow, for the preprocessor. */
#ifndef TOMBOLO_XRT_DETAIL_VERSION_H
#define TOMBOLO_XRT_DETAIL_VERSION_H

#define XRT_VERSION(major, minor) (((major) << 16) + (minor))
#define XRT_VERSION_CODE XRT_VERSION(2, 18)
#define XRT_MAJOR(code) ((code) >> 16)
#define XRT_MINOR(code) ((code) & 0xffff)
#define XRT_PATCH 0

#endif
