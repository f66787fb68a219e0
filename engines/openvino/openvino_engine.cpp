// SPDX-License-Identifier: Apache-2.0
#include "openvino_engine.h"

#include <cstring>
#include <sstream>

namespace touchstone {
namespace {

ov::element::Type element_type(DataType type) {
  switch (type) {
    case DataType::kFloat:
      return ov::element::f32;
    case DataType::kDouble:
      return ov::element::f64;
    case DataType::kFloat16:
      return ov::element::f16;
    case DataType::kBfloat16:
      return ov::element::bf16;
    case DataType::kInt8:
      return ov::element::i8;
    case DataType::kInt16:
      return ov::element::i16;
    case DataType::kInt32:
      return ov::element::i32;
    case DataType::kInt64:
      return ov::element::i64;
    case DataType::kUint8:
      return ov::element::u8;
    case DataType::kUint16:
      return ov::element::u16;
    case DataType::kUint32:
      return ov::element::u32;
    case DataType::kUint64:
      return ov::element::u64;
    case DataType::kBool:
      return ov::element::boolean;
    case DataType::kInt4:
      return ov::element::i4;
    case DataType::kUint4:
      return ov::element::u4;
    case DataType::kFloat8E4M3FN:
      return ov::element::f8e4m3;
    case DataType::kFloat8E5M2:
      return ov::element::f8e5m2;
    default:
      return ov::element::dynamic;
  }
}

DataType data_type(const ov::element::Type& type) {
  for (int number = 1; number <= static_cast<int>(DataType::kInt2); ++number) {
    const auto candidate = static_cast<DataType>(number);
    if (element_type(candidate) != ov::element::dynamic && element_type(candidate) == type) {
      return candidate;
    }
  }
  return DataType::kUndefined;
}

// OpenVINO tells what it lacks in the text of its exceptions only.
Error error_from(const std::exception& exception, Reason fallback) {
  const std::string text = exception.what();
  const bool lacks = text.find("No conversion rule") != std::string::npos ||
                     text.find("not supported") != std::string::npos ||
                     text.find("Not supported") != std::string::npos ||
                     text.find("doesn't support") != std::string::npos ||
                     text.find("wasn't fully converted") != std::string::npos ||
                     text.find("OpenVINO does not support") != std::string::npos;
  return {lacks ? Reason::kUnsupportedOperator : fallback, text.substr(0, 600)};
}

ov::Shape shape_of(const TensorSpec& spec) {
  return {spec.shape.begin(), spec.shape.end()};
}

// The input of this name, which is `index` in the model's order. Where an input reaches an output unchanged
// its tensor may have the output's name only; the parameter keeps its own, or at least its place.
template <class Port>
Port port_of(const std::vector<Port>& ports, const std::string& name, std::size_t index) {
  for (const Port& port : ports) {
    if (port.get_names().contains(name) || port.get_node()->get_friendly_name() == name) {
      return port;
    }
  }
  return ports.at(index);
}

}  // namespace

Result<EngineInfo> OpenVinoEngine::info() {
  return EngineInfo{"openvino",
                    ov::get_openvino_version().buildNumber,
                    {{"plugin", core_.get_versions("CPU").begin()->second.buildNumber},
                     {"description", ov::get_openvino_version().description}}};
}

Result<Options> OpenVinoEngine::load(const LoadRequest& request) {
  const Conditions& conditions = request.conditions;
  if (conditions.device != "cpu") {
    return fail(Reason::kDeviceMissing, "device {}: this worker runs OpenVINO's CPU plugin only",
                conditions.device);
  }
  if (conditions.precision != "f32") {
    return fail(Reason::kUnsupported, "precision {}: not offered by this worker", conditions.precision);
  }
  request_ = request;
  // The default precision is bf16 where the CPU has it: twice as fast and four digits less.
  properties_ = {ov::hint::inference_precision(ov::element::f32),
                 ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY),
                 ov::num_streams(1),
                 ov::inference_num_threads(conditions.threads),
                 ov::hint::enable_cpu_pinning(false),  // the driver has bound the process to its CPUs already
                 ov::hint::enable_hyper_threading(true),
                 ov::enable_mmap(false)};  // weights in private memory, as for every engine
  for (const auto& [key, value] : conditions.options) {
    properties_[key] = value;
  }
  try {
    core_.set_property(ov::enable_mmap(false));
    model_ = core_.read_model(request.model);
  } catch (const std::exception& exception) {
    return tl::unexpected(error_from(exception, Reason::kInvalidModel));
  }
  compiled_ = {};
  infer_ = {};
  Options options;
  for (const auto& [key, value] : properties_) {
    options[key] = value.as<std::string>();
  }
  return options;
}

ov::CompiledModel OpenVinoEngine::compile(const std::shared_ptr<ov::Model>& model) {
  return core_.compile_model(model, "CPU", properties_);
}

Result<void> OpenVinoEngine::prepare(std::span<const TensorSpec> inputs) {
  try {
    infer_ = {};
    if (request_.conditions.shape_mode == "fixed") {
      compiled_ = {};
      const auto fixed = model_->clone();
      std::map<ov::Output<ov::Node>, ov::PartialShape> shapes;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        shapes[port_of(fixed->inputs(), inputs[i].name, i)] = ov::PartialShape(shape_of(inputs[i]));
      }
      fixed->reshape(shapes);
      compiled_ = compile(fixed);
    } else if (!compiled_) {
      compiled_ = compile(model_);
    }
    infer_ = compiled_.create_infer_request();
    inputs_.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs_.emplace_back(element_type(inputs[i].type), shape_of(inputs[i]));
      infer_.set_tensor(port_of(compiled_.inputs(), inputs[i].name, i), inputs_.back());
    }
  } catch (const std::exception& exception) {
    return tl::unexpected(error_from(exception, Reason::kInvalidInput));
  }
  return {};
}

Result<void> OpenVinoEngine::set_inputs(std::span<const TensorView> inputs) {
  if (inputs.size() != inputs_.size()) {
    return fail(Reason::kInvalidInput, "{} inputs came, the session was prepared for {}", inputs.size(),
                inputs_.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs_[i].get_byte_size() != inputs[i].bytes.size()) {
      return fail(Reason::kUnsupported, "input {}: OpenVINO keeps {} bytes of it, {} came", i,
                  inputs_[i].get_byte_size(), inputs[i].bytes.size());
    }
    if (!inputs[i].bytes.empty()) {
      std::memcpy(inputs_[i].data(), inputs[i].bytes.data(), inputs[i].bytes.size());
    }
  }
  return {};
}

Result<void> OpenVinoEngine::infer() {
  try {
    infer_.infer();
  } catch (const std::exception& exception) {
    return tl::unexpected(error_from(exception, Reason::kInternal));
  }
  return {};
}

Result<std::vector<TensorView>> OpenVinoEngine::outputs() {
  std::vector<TensorView> views;
  for (const auto& port : compiled_.outputs()) {
    const ov::Tensor tensor = infer_.get_tensor(port);
    TensorView view;
    view.type = data_type(tensor.get_element_type());
    const ov::Shape shape = tensor.get_shape();
    view.shape.assign(shape.begin(), shape.end());
    view.bytes = {static_cast<std::byte*>(const_cast<void*>(tensor.data())), tensor.get_byte_size()};
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace touchstone
