// SPDX-License-Identifier: Apache-2.0
// A bare loop over OpenVINO: MODEL BATCH SEQ THREADS fixed|dynamic.
#include <cstdlib>
#include <cstring>
#include <openvino/openvino.hpp>

#include "bare.h"

int main(int, char** argv) {
  ov::Core core;
  auto model = core.read_model(argv[1]);
  const ov::Shape shape = {std::stoul(argv[2]), std::stoul(argv[3])};
  const std::string names[] = {"input_ids", "attention_mask", "token_type_ids"};
  if (std::strcmp(argv[5], "fixed") == 0) {
    std::map<std::string, ov::PartialShape> shapes;
    for (const std::string& name : names) {
      shapes[name] = ov::PartialShape(shape);
    }
    model->reshape(shapes);
  }
  auto compiled = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32),
                                     ov::num_streams(1), ov::inference_num_threads(std::atoi(argv[4])),
                                     ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY));
  auto request = compiled.create_infer_request();
  for (int i = 0; i < 3; ++i) {
    ov::Tensor tensor(ov::element::i64, shape);
    std::fill_n(tensor.data<std::int64_t>(), tensor.get_size(), i == 0 ? 7 : i == 1 ? 1 : 0);
    request.set_tensor(names[i], tensor);
  }
  return serve_bare_loop([&] { request.infer(); });
}
