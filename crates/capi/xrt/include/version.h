/* The release of XRT whose documentation these headers follow. */
#ifndef TOMBOLO_XRT_ROOT_VERSION_H
#define TOMBOLO_XRT_ROOT_VERSION_H

#include "xrt/detail/version.h"

#if defined(__GNUC__)
#define TMB_XRT_UNUSED __attribute__((unused))
#else
#define TMB_XRT_UNUSED
#endif

TMB_XRT_UNUSED static const char xrt_build_version[] = "2.18.0";
TMB_XRT_UNUSED static const char xrt_build_version_branch[] = "tombolo";
TMB_XRT_UNUSED static const char xrt_build_version_hash[] = "";

#endif
