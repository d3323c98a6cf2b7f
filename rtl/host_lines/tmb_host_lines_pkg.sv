// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the way from a slot to the card's cache of the CPU's lines, and of the cache's link to the CPU.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_host_lines_pkg;

  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;

  // A slice's link, from the card: the cache's messages, and room for those of the lines' home.
  typedef struct packed {
    logic         forward_ready;
    logic         response_ready;
    logic         response_data_ready;
    logic         request_valid;
    link_header_t request;
    logic         response_valid;
    link_header_t response;
    logic         response_data_valid;
    link_data_t   response_data;
  } cache_link_req_t;

  // To the card.
  typedef struct packed {
    logic         request_ready;
    logic         response_ready;
    logic         response_data_ready;
    logic         forward_valid;
    link_header_t forward;
    logic         response_valid;
    link_header_t response;
    logic         response_data_valid;
    link_data_t   response_data;
  } cache_link_rsp_t;

  // Accesses of a kernel to the CPU's lines, and their answers.
  typedef struct packed {
    logic        valid;
    logic        answer_ready;
    access_req_t access;
  } line_access_req_t;

  typedef struct packed {
    logic        ready;
    logic        answer_valid;
    access_rsp_t answer;
  } line_access_rsp_t;

  // Violation by a kernel that uses the CPU's lines; the first that a guard sees is kept, with the line's address.
  typedef enum logic [3:0] {
    HostRuleNone = 4'd0,
    HostRuleAccess = 4'd1,  // no such access
    HostRuleTag = 4'd2,     // the tag belongs to an access under way
    HostRuleRange = 4'd3,   // the line is not in the range that the host gave
    HostRuleSlice = 4'd4,   // the line belongs to another slice
    HostRuleHold = 4'd5     // a hold was not released in time
  } host_rule_e;

  typedef struct packed {
    host_rule_e  rule;
    logic [63:0] at;
  } host_violation_t;

endpackage
// verilator lint_on UNUSEDPARAM
