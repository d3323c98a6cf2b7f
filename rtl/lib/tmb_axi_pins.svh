// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Flat AXI pins to structures and back, one macro a bus and side. `__name` is what the pins' names begin with, `__at` the
// element of each pin ([p]; empty if pins are no arrays), `__req` what the manager drives, `__rsp` what it receives:
//
//   `TMB_AXI_MANAGER_PINS(home, [h], home_req[h], home_rsp[h])
//   `TMB_AXI_SUBORDINATE_PINS(port, [p], port_req[p], port_rsp[p])
//   `TMB_AXI_LITE_MANAGER_PINS(ctl, [s], ctl_req[s], ctl_rsp[s])
//
// A manager's pins leave as requests, a subordinate's come as requests. Structures: axi_req_t and axi_rsp_t of tmb_pkg,
// ctl_req_t and ctl_rsp_t of tmb_shell_pkg.

`ifndef TMB_AXI_PINS_SVH
`define TMB_AXI_PINS_SVH

// AXI4 pins of a manager.
`define TMB_AXI_MANAGER_PINS(__name, __at, __req, __rsp)                                \
  assign __name``_arid_o __at = __req.ar.id;                                            \
  assign __name``_araddr_o __at = __req.ar.addr;                                        \
  assign __name``_arlen_o __at = __req.ar.len;                                          \
  assign __name``_arsize_o __at = __req.ar.size;                                        \
  assign __name``_arburst_o __at = __req.ar.burst;                                      \
  assign __name``_arvalid_o __at = __req.ar_valid;                                      \
  assign __name``_rready_o __at = __req.r_ready;                                        \
  assign __name``_awid_o __at = __req.aw.id;                                            \
  assign __name``_awaddr_o __at = __req.aw.addr;                                        \
  assign __name``_awlen_o __at = __req.aw.len;                                          \
  assign __name``_awsize_o __at = __req.aw.size;                                        \
  assign __name``_awburst_o __at = __req.aw.burst;                                      \
  assign __name``_awvalid_o __at = __req.aw_valid;                                      \
  assign __name``_wdata_o __at = __req.w.data;                                          \
  assign __name``_wstrb_o __at = __req.w.strb;                                          \
  assign __name``_wlast_o __at = __req.w.last;                                          \
  assign __name``_wvalid_o __at = __req.w_valid;                                        \
  assign __name``_bready_o __at = __req.b_ready;                                        \
  assign __rsp = '{                                                                     \
      aw_ready: __name``_awready_i __at, w_ready: __name``_wready_i __at,               \
      b: '{id: __name``_bid_i __at, resp: tmb_pkg::axi_resp_e'(__name``_bresp_i __at)}, \
      b_valid: __name``_bvalid_i __at,                                                  \
      ar_ready: __name``_arready_i __at, r_valid: __name``_rvalid_i __at,               \
      r: '{                                                                             \
          id: __name``_rid_i __at, resp: tmb_pkg::axi_resp_e'(__name``_rresp_i __at),   \
          last: __name``_rlast_i __at, data: __name``_rdata_i __at                      \
      }                                                                                 \
  };

// AXI4 pins of a subordinate.
`define TMB_AXI_SUBORDINATE_PINS(__name, __at, __req, __rsp)                                       \
  assign __req = '{                                                                                \
      aw: '{                                                                                       \
          id: __name``_awid_i __at, addr: __name``_awaddr_i __at,                                  \
          len: __name``_awlen_i __at, size: __name``_awsize_i __at,                                \
          burst: __name``_awburst_i __at                                                           \
      },                                                                                           \
      aw_valid: __name``_awvalid_i __at,                                                           \
      w: '{data: __name``_wdata_i __at, strb: __name``_wstrb_i __at, last: __name``_wlast_i __at}, \
      w_valid: __name``_wvalid_i __at, b_ready: __name``_bready_i __at,                            \
      ar: '{                                                                                       \
          id: __name``_arid_i __at, addr: __name``_araddr_i __at,                                  \
          len: __name``_arlen_i __at, size: __name``_arsize_i __at,                                \
          burst: __name``_arburst_i __at                                                           \
      },                                                                                           \
      ar_valid: __name``_arvalid_i __at,                                                           \
      r_ready: __name``_rready_i __at                                                              \
  };                                                                                               \
  assign __name``_arready_o __at = __rsp.ar_ready;                                                 \
  assign __name``_rid_o __at = __rsp.r.id;                                                         \
  assign __name``_rdata_o __at = __rsp.r.data;                                                     \
  assign __name``_rresp_o __at = __rsp.r.resp;                                                     \
  assign __name``_rlast_o __at = __rsp.r.last;                                                     \
  assign __name``_rvalid_o __at = __rsp.r_valid;                                                   \
  assign __name``_awready_o __at = __rsp.aw_ready;                                                 \
  assign __name``_wready_o __at = __rsp.w_ready;                                                   \
  assign __name``_bid_o __at = __rsp.b.id;                                                         \
  assign __name``_bresp_o __at = __rsp.b.resp;                                                     \
  assign __name``_bvalid_o __at = __rsp.b_valid;

// AXI4-Lite pins of a manager.
`define TMB_AXI_LITE_MANAGER_PINS(__name, __at, __req, __rsp)           \
  assign __name``_awaddr_o __at = __req.awaddr;                         \
  assign __name``_awvalid_o __at = __req.awvalid;                       \
  assign __name``_wdata_o __at = __req.wdata;                           \
  assign __name``_wstrb_o __at = __req.wstrb;                           \
  assign __name``_wvalid_o __at = __req.wvalid;                         \
  assign __name``_bready_o __at = __req.bready;                         \
  assign __name``_araddr_o __at = __req.araddr;                         \
  assign __name``_arvalid_o __at = __req.arvalid;                       \
  assign __name``_rready_o __at = __req.rready;                         \
  assign __rsp = '{                                                     \
      awready: __name``_awready_i __at, wready: __name``_wready_i __at, \
      bresp: __name``_bresp_i __at, bvalid: __name``_bvalid_i __at,     \
      arready: __name``_arready_i __at, rdata: __name``_rdata_i __at,   \
      rresp: __name``_rresp_i __at, rvalid: __name``_rvalid_i __at      \
  };

`endif
