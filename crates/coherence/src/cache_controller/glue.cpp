// The C interface of the Verilated cache controller. See model.rs, its only caller: the structures
// below are its `Inputs` and `Outputs`, field by field.

#include "Vcache_controller.h"
#include "glue.hpp"

namespace {

struct Inputs {
  Words access_row;
  Words response_data_row;
  uint64_t access_strobe;
  uint64_t access_line;
  uint64_t forward;
  uint64_t response;
  uint64_t response_data_header;
  uint32_t timeout_period;
  uint8_t access_valid;
  uint8_t access_kind;
  uint8_t access_held;
  uint8_t access_hold;
  uint8_t access_tag;
  uint8_t access_second;
  uint8_t answer_ready;
  uint8_t request_ready;
  uint8_t response_ready;
  uint8_t response_data_ready;
  uint8_t forward_valid;
  uint8_t response_valid;
  uint8_t response_data_valid;
  uint8_t response_data_last;
  uint8_t reset_n;
  uint8_t reserved;
};

struct Outputs {
  Words answer_row;
  Words response_data_row;
  uint64_t request;
  uint64_t response;
  uint64_t response_data_header;
  uint16_t error_info;
  uint8_t access_ready;
  uint8_t answer_valid;
  uint8_t answer_tag;
  uint8_t answer_status;
  uint8_t answer_hold;
  uint8_t request_valid;
  uint8_t response_valid;
  uint8_t response_data_valid;
  uint8_t response_data_last;
  uint8_t forward_ready;
  uint8_t response_ready;
  uint8_t response_data_ready;
  uint8_t events;
  uint8_t error_valid;
  uint8_t error_cause;
};

}  // namespace

MODEL(Vcache_controller, sizeof(Inputs), sizeof(Outputs))

// One cycle: inputs in, outputs of this cycle out, then the rising edge. Returns 1 if the model ended
// itself (a failed assertion).
extern "C" int model_cycle(void* handle, const Inputs* inputs, Outputs* outputs) {
  auto* instance = static_cast<Instance<Vcache_controller>*>(handle);
  Vcache_controller& m = instance->model;
  const Inputs& in = *inputs;
  Outputs& out = *outputs;
  if (in.access_valid) put(m.access_row_i, in.access_row);
  if (in.response_data_valid) put(m.response_data_row_i, in.response_data_row);
  m.access_strobe_i = in.access_strobe;
  m.access_line_i = in.access_line;
  m.forward_i = in.forward;
  m.response_i = in.response;
  m.response_data_header_i = in.response_data_header;
  m.access_valid_i = in.access_valid;
  m.access_kind_i = in.access_kind;
  m.access_held_i = in.access_held;
  m.access_hold_i = in.access_hold;
  m.access_tag_i = in.access_tag;
  m.access_second_i = in.access_second;
  m.answer_ready_i = in.answer_ready;
  m.request_ready_i = in.request_ready;
  m.response_ready_i = in.response_ready;
  m.response_data_ready_i = in.response_data_ready;
  m.forward_valid_i = in.forward_valid;
  m.response_valid_i = in.response_valid;
  m.response_data_valid_i = in.response_data_valid;
  m.response_data_last_i = in.response_data_last;
  m.timeout_period_i = in.timeout_period;
  m.rst_ni = in.reset_n;
  m.clk_i = 0;
  m.eval();
  out.access_ready = m.access_ready_o;
  out.answer_valid = m.answer_valid_o;
  out.answer_tag = m.answer_tag_o;
  out.answer_status = m.answer_status_o;
  out.answer_hold = m.answer_hold_o;
  out.request_valid = m.request_valid_o;
  out.response_valid = m.response_valid_o;
  out.response_data_valid = m.response_data_valid_o;
  out.response_data_last = m.response_data_last_o;
  out.forward_ready = m.forward_ready_o;
  out.response_ready = m.response_ready_o;
  out.response_data_ready = m.response_data_ready_o;
  out.events = m.events_o;
  out.error_valid = m.error_valid_o;
  if (out.answer_valid) get(out.answer_row, m.answer_row_o);
  if (out.response_data_valid) get(out.response_data_row, m.response_data_row_o);
  out.request = m.request_o;
  out.response = m.response_o;
  out.response_data_header = m.response_data_header_o;
  out.error_cause = m.error_cause_o;
  out.error_info = m.error_info_o;
  m.clk_i = 1;
  m.eval();
  return instance->context.gotFinish() ? 1 : 0;
}
