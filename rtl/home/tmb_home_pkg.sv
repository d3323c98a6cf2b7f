// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the way from the directory's slices to the slots, and of the link to the CPU.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_home_pkg;

  import tmb_directory_pkg::*;

  // A slice's link, from the CPU: its messages, and room for the directory's.
  typedef struct packed {
    logic         forward_ready;
    logic         response_ready;
    logic         response_data_ready;
    logic         request_valid;
    link_header_t request;
    logic         response_valid;
    link_header_t response;
    logic         request_data_valid;
    link_data_t   request_data;
    logic         response_data_valid;
    link_data_t   response_data;
  } home_link_req_t;

  // To the CPU: the directory's messages, and room for the CPU's.
  typedef struct packed {
    logic         request_ready;
    logic         request_data_ready;
    logic         response_ready;
    logic         response_data_ready;
    logic         forward_valid;
    link_header_t forward;
    logic         response_valid;
    link_header_t response;
    logic         response_data_valid;
    link_data_t   response_data;
  } home_link_rsp_t;

  // Line operations of a kernel, and their acknowledgements.
  typedef struct packed {
    logic           valid;
    logic           ack_ready;
    operation_req_t operation;
  } line_req_t;

  typedef struct packed {
    logic           ready;
    logic           ack_valid;
    operation_rsp_t ack;
  } line_rsp_t;

  // Violation by a kernel behind the directory; the first that a guard sees is kept.
  typedef enum logic [3:0] {
    HomeRuleNone = 4'd0,
    HomeRuleReadLate = 4'd1,      // a read of a line was not answered in time; at: the line's address
    HomeRuleWriteLate = 4'd2,     // a write of a line was not taken, or answered, in time; at: address
    HomeRuleReadUnknown = 4'd3,   // a row answers no read; at: its ID
    HomeRuleRows = 4'd4,          // an answer is not two rows of one ID with rlast on the second; at: ID
    HomeRuleWriteUnknown = 4'd5,  // a response answers no write; at: its ID
    HomeRuleOperation = 4'd6,     // no such operation, or not one beat (a write: two); at: the line
    HomeRuleTag = 4'd7            // the tag belongs to an operation under way; at: the line
  } home_rule_e;

  typedef struct packed {
    home_rule_e  rule;
    logic [63:0] at;
  } home_violation_t;

  // Card memory behind the slices (tmb_home_memory).
  typedef struct packed {
    int unsigned NumSlices;
    int unsigned NumChannels;       // as the shell's
    int unsigned ChannelBytesLog2;
    int unsigned NumReads;          // reads that the guard may have under way
  } home_memory_cfg_t;

  localparam home_memory_cfg_t DefaultHomeMemoryCfg =
      '{NumSlices: 1, NumChannels: 2, ChannelBytesLog2: 34, NumReads: 32};

endpackage
// verilator lint_on UNUSEDPARAM
