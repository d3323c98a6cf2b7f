// The C interface of the Verilated directory. See ffi.rs, its only caller: the structures below are
// its `SliceInputs` and `SliceOutputs`, field by field.

#include "Vdirectory.h"
#include "glue.hpp"

#ifndef NUM_SLICES
#error "NUM_SLICES must be the model's parameter NumSlices"
#endif

namespace {

struct SliceInputs {
  Words request_data_row;
  Words response_data_row;
  Words operation_row;
  Words r_row;
  uint64_t request;
  uint64_t request_data_header;
  uint64_t response;
  uint64_t response_data_header;
  uint64_t operation_line;
  uint16_t r_id;
  uint16_t b_id;
  uint8_t request_valid;
  uint8_t request_data_valid;
  uint8_t request_data_last;
  uint8_t response_valid;
  uint8_t response_data_valid;
  uint8_t response_data_last;
  uint8_t forward_ready;
  uint8_t response_ready;
  uint8_t response_data_ready;
  uint8_t operation_valid;
  uint8_t operation_kind;
  uint8_t operation_tag;
  uint8_t operation_dmask;
  uint8_t operation_last;
  uint8_t operation_ready;
  uint8_t ar_ready;
  uint8_t aw_ready;
  uint8_t w_ready;
  uint8_t r_valid;
  uint8_t r_resp;
  uint8_t r_last;
  uint8_t b_valid;
  uint8_t b_resp;
};

struct SliceOutputs {
  Words response_data_row;
  Words operation_row;
  Words w_row;
  uint64_t forward;
  uint64_t response;
  uint64_t response_data_header;
  uint64_t ar_addr;
  uint64_t aw_addr;
  uint64_t w_strb;
  uint16_t ar_id;
  uint16_t aw_id;
  uint8_t request_ready;
  uint8_t request_data_ready;
  uint8_t response_ready;
  uint8_t response_data_ready;
  uint8_t forward_valid;
  uint8_t response_valid;
  uint8_t response_data_valid;
  uint8_t response_data_last;
  uint8_t operation_ready;
  uint8_t operation_valid;
  uint8_t operation_tag;
  uint8_t operation_last;
  uint8_t ar_valid;
  uint8_t aw_valid;
  uint8_t w_valid;
  uint8_t w_last;
  uint8_t r_ready;
  uint8_t b_ready;
};

struct Registers {
  uint32_t write_data;
  uint32_t read_data;
  uint8_t write;
  uint8_t write_addr;
  uint8_t read;
  uint8_t read_addr;
  uint8_t read_valid;
  uint8_t interrupt;
  uint8_t reset_n;
  uint8_t reserved;
};

}  // namespace

MODEL(Vdirectory, sizeof(SliceInputs), sizeof(SliceOutputs), sizeof(Registers), NUM_SLICES)

// One cycle: inputs in, outputs of this cycle out, then the rising edge. Returns 1 if the model ended
// itself (a failed assertion).
extern "C" int model_cycle(void* handle, const SliceInputs* inputs, SliceOutputs* outputs,
                           Registers* registers) {
  auto* instance = static_cast<Instance<Vdirectory>*>(handle);
  Vdirectory& m = instance->model;
  m.rst_ni = registers->reset_n;
  m.reg_write_i = registers->write;
  m.reg_write_addr_i = registers->write_addr;
  m.reg_write_data_i = registers->write_data;
  m.reg_read_i = registers->read;
  m.reg_read_addr_i = registers->read_addr;
  for (int s = 0; s < NUM_SLICES; s++) {
    const SliceInputs& in = inputs[s];
    m.request_valid_i[s] = in.request_valid;
    m.request_i[s] = in.request;
    m.request_data_valid_i[s] = in.request_data_valid;
    m.request_data_header_i[s] = in.request_data_header;
    put(m.request_data_row_i[s], in.request_data_row);
    m.request_data_last_i[s] = in.request_data_last;
    m.response_valid_i[s] = in.response_valid;
    m.response_i[s] = in.response;
    m.response_data_valid_i[s] = in.response_data_valid;
    m.response_data_header_i[s] = in.response_data_header;
    put(m.response_data_row_i[s], in.response_data_row);
    m.response_data_last_i[s] = in.response_data_last;
    m.forward_ready_i[s] = in.forward_ready;
    m.response_ready_i[s] = in.response_ready;
    m.response_data_ready_i[s] = in.response_data_ready;
    m.operation_valid_i[s] = in.operation_valid;
    m.operation_kind_i[s] = in.operation_kind;
    m.operation_tag_i[s] = in.operation_tag;
    m.operation_line_i[s] = in.operation_line;
    m.operation_dmask_i[s] = in.operation_dmask;
    put(m.operation_row_i[s], in.operation_row);
    m.operation_last_i[s] = in.operation_last;
    m.operation_ready_i[s] = in.operation_ready;
    m.ar_ready_i[s] = in.ar_ready;
    m.aw_ready_i[s] = in.aw_ready;
    m.w_ready_i[s] = in.w_ready;
    m.r_valid_i[s] = in.r_valid;
    m.r_id_i[s] = in.r_id;
    m.r_resp_i[s] = in.r_resp;
    m.r_last_i[s] = in.r_last;
    put(m.r_row_i[s], in.r_row);
    m.b_valid_i[s] = in.b_valid;
    m.b_id_i[s] = in.b_id;
    m.b_resp_i[s] = in.b_resp;
  }
  m.clk_i = 0;
  m.eval();
  for (int s = 0; s < NUM_SLICES; s++) {
    SliceOutputs& out = outputs[s];
    out.request_ready = m.request_ready_o[s];
    out.request_data_ready = m.request_data_ready_o[s];
    out.response_ready = m.response_ready_o[s];
    out.response_data_ready = m.response_data_ready_o[s];
    out.forward_valid = m.forward_valid_o[s];
    out.forward = m.forward_o[s];
    out.response_valid = m.response_valid_o[s];
    out.response = m.response_o[s];
    out.response_data_valid = m.response_data_valid_o[s];
    out.response_data_header = m.response_data_header_o[s];
    if (out.response_data_valid) get(out.response_data_row, m.response_data_row_o[s]);
    out.response_data_last = m.response_data_last_o[s];
    out.operation_ready = m.operation_ready_o[s];
    out.operation_valid = m.operation_valid_o[s];
    out.operation_tag = m.operation_tag_o[s];
    if (out.operation_valid) get(out.operation_row, m.operation_row_o[s]);
    out.operation_last = m.operation_last_o[s];
    out.ar_valid = m.ar_valid_o[s];
    out.ar_id = m.ar_id_o[s];
    out.ar_addr = m.ar_addr_o[s];
    out.aw_valid = m.aw_valid_o[s];
    out.aw_id = m.aw_id_o[s];
    out.aw_addr = m.aw_addr_o[s];
    out.w_valid = m.w_valid_o[s];
    out.w_strb = m.w_strb_o[s];
    out.w_last = m.w_last_o[s];
    if (out.w_valid) get(out.w_row, m.w_row_o[s]);
    out.r_ready = m.r_ready_o[s];
    out.b_ready = m.b_ready_o[s];
  }
  registers->read_valid = m.reg_read_valid_o;
  registers->read_data = m.reg_read_data_o;
  registers->interrupt = m.interrupt_o;
  m.clk_i = 1;
  m.eval();
  return instance->context.gotFinish() ? 1 : 0;
}
