// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Configuration of tmb_stream_width.

package tmb_stream_width_pkg;

  typedef struct packed {
    int unsigned InBytes;      // width of the beats that come, any number of bytes
    int unsigned OutBytes;     // width of those that leave
    int unsigned FlushCycles;  // pause of the sender that flushes the bytes held; 0: none does
    int unsigned IdWidth;      // bits of TID and TDEST together; 0: none are carried
  } stream_width_cfg_t;

  localparam stream_width_cfg_t DefaultStreamWidthCfg = '{InBytes: 4, OutBytes: 64, FlushCycles: 0, IdWidth: 0};

endpackage
