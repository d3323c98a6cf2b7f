// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: breadth-first search in a graph of the program, from vertex `source`. The graph is in compressed rows
// (CSR): the edges of vertex v lead to edges[offsets[v]] ... edges[offsets[v + 1] - 1]; numbers have 4 bytes.
// `levels` has a number a vertex, all ones where the vertex has not been reached; the kernel writes 0 at the
// source and, where it comes to a vertex that is not reached, the distance from the source. `queue` gets the
// vertices in the order in which they are reached, and `output` (64 bytes) how many they are, the distance of
// the last one, and zeroes.
//
// Edges to vertices that are not in the graph lead nowhere, and from a source that is not in the graph nothing is
// reached. The kernel ends whatever the numbers are: a vertex enters the queue at most once a place, and the
// queue has as many places as there are vertices.
//
// Throughput: an access a round trip, as each address is in the row before: five for a vertex, two for an edge,
// and two more for an edge that leads to a new vertex. Ordering: a write has its response before the next access
// leaves. Deadlock: one transaction at a time, and nothing is held back while it runs.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module bfs (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] source;    // 0x3c
    logic [31:0] vertices;  // 0x38
    logic [63:0] output_;   // 0x30, output
    logic [63:0] queue_;    // 0x28
    logic [63:0] levels;    // 0x20
    logic [63:0] edges;     // 0x18
    logic [63:0] offsets;   // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  // -- One access after the other -----------------------------------------------------------------

  typedef enum logic [3:0] {
    StepIdle,
    StepSeed,     // write: level of the source
    StepFirst,    // write: the source is the first of the queue
    StepLook,     // is a vertex left in the queue?
    StepVertex,   // read: which
    StepLevel,    // read: its level
    StepBegin,    // read: its first edge
    StepEnd,      // read: the first edge that is not its own
    StepEdge,     // is an edge left?
    StepTarget,   // read: where it leads
    StepFits,     // is that a vertex, and has the queue room?
    StepVisit,    // read: the level there
    StepMark,     // write: the new level
    StepPush,     // write: the vertex is the last of the queue
    StepResult    // write: what was found
  } step_e;

  localparam logic [31:0] Unreached = '1;

  step_e step_q, step_d;
  logic asked_q;  // the step's access has left
  logic aw_done_q, w_done_q;
  logic reads, writes, sent, complete;
  logic [31:0] head_q, tail_q, vertex_q, level_q, edge_q, end_q, target_q;
  logic [31:0] word, data;
  logic [63:0] address;
  logic fits;

  assign reads = step_q inside {StepVertex, StepLevel, StepBegin, StepEnd, StepTarget, StepVisit};
  assign writes = step_q inside {StepSeed, StepFirst, StepMark, StepPush, StepResult};
  assign sent = reads ? m_axi_gmem0_arready
                      : (aw_done_q || m_axi_gmem1_awready) && (w_done_q || m_axi_gmem1_wready);
  assign complete = asked_q && (reads ? m_axi_gmem0_rvalid : m_axi_gmem1_bvalid);
  assign word = m_axi_gmem0_rdata[32*address[5:2] +: 32];
  // A vertex of the graph, and room in the queue.
  assign fits = target_q < arguments.vertices && tail_q != arguments.vertices;

  always_comb begin
    unique case (step_q)
      StepSeed, StepLevel, StepVisit, StepMark: address = arguments.levels;
      StepFirst, StepVertex, StepPush: address = arguments.queue_;
      StepBegin, StepEnd: address = arguments.offsets;
      StepTarget: address = arguments.edges;
      default: address = arguments.output_;
    endcase
    unique case (step_q)
      StepSeed: address += {30'd0, arguments.source, 2'd0};
      StepVertex: address += {30'd0, head_q, 2'd0};
      StepPush: address += {30'd0, tail_q, 2'd0};
      StepLevel, StepBegin: address += {30'd0, vertex_q, 2'd0};
      StepEnd: address += {30'd0, vertex_q, 2'd0} + 64'd4;
      StepTarget: address += {30'd0, edge_q, 2'd0};
      StepVisit, StepMark: address += {30'd0, target_q, 2'd0};
      default: ;
    endcase
    unique case (step_q)
      StepSeed: data = '0;
      StepFirst: data = arguments.source;
      StepMark: data = level_q + 32'd1;
      default: data = target_q;
    endcase
  end

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      StepIdle: if (start) step_d = arguments.source < arguments.vertices ? StepSeed : StepResult;
      StepLook: step_d = head_q == tail_q ? StepResult : StepVertex;
      StepEdge: step_d = edge_q < end_q ? StepTarget : StepLook;
      StepFits: step_d = fits ? StepVisit : StepEdge;
      default: if (complete) begin
        unique case (step_q)
          StepSeed: step_d = StepFirst;
          StepVertex: step_d = StepLevel;
          StepLevel: step_d = StepBegin;
          StepBegin: step_d = StepEnd;
          StepTarget: step_d = StepFits;
          StepVisit: step_d = word == Unreached ? StepMark : StepEdge;
          StepMark: step_d = StepPush;
          StepFirst: step_d = StepLook;
          StepResult: step_d = StepIdle;
          default: step_d = StepEdge;  // StepEnd, StepPush
        endcase
      end
    endcase
    end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      step_q <= StepIdle;
      asked_q <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
    end else begin
      step_q <= step_d;
      asked_q <= step_d == step_q && (asked_q || (reads || writes) && sent);
      aw_done_q <= m_axi_gmem1_awvalid && m_axi_gmem1_awready && !sent || aw_done_q && !sent;
      w_done_q <= m_axi_gmem1_wvalid && m_axi_gmem1_wready && !sent || w_done_q && !sent;
    end
  end
  always_ff @(posedge ap_clk) begin
    unique case (step_q)
      StepIdle: begin
        head_q <= '0;
        tail_q <= '0;
        level_q <= '0;
      end
      StepFirst: if (complete) tail_q <= 32'd1;
      StepVertex: if (complete) begin
        vertex_q <= word;
        head_q <= head_q + 32'd1;
      end
      StepLevel: if (complete) level_q <= word;
      StepBegin: if (complete) edge_q <= word;
      StepEnd: if (complete) end_q <= word;
      StepTarget: if (complete) begin
        target_q <= word;
        edge_q <= edge_q + 32'd1;
      end
      StepPush: if (complete) tail_q <= tail_q + 32'd1;
      default: ;
    endcase
  end

  assign m_axi_gmem0_arvalid = reads && !asked_q;
  assign m_axi_gmem0_araddr = {address[63:6], 6'd0};
  assign m_axi_gmem0_arlen = '0;
  assign m_axi_gmem0_rready = 1'b1;

  assign m_axi_gmem1_awvalid = writes && !asked_q && !aw_done_q;
  assign m_axi_gmem1_awaddr = {address[63:6], 6'd0};
  assign m_axi_gmem1_awlen = '0;
  assign m_axi_gmem1_wvalid = writes && !asked_q && !w_done_q;
  assign m_axi_gmem1_wdata = step_q == StepResult ? {384'd0, 32'd0, level_q, 32'd0, tail_q} : {16{data}};
  assign m_axi_gmem1_wstrb = step_q == StepResult ? '1 : 64'hf << {address[5:2], 2'd0};
  assign m_axi_gmem1_wlast = 1'b1;
  assign m_axi_gmem1_bready = writes && asked_q;
  assign done = step_q == StepResult && complete;

  // Every beat is a whole row.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp, address[1:0]};

endmodule
