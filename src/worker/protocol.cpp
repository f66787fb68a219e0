// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol.h"

namespace touchstone {
namespace {

using nlohmann::json;

constexpr std::size_t kAlignment = 64;

template <class Read>
auto reading(std::string_view what, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const json::exception& error) {
    return fail(Reason::kProtocol, "{}: {}", what, error.what());
  }
}

TensorSpec spec_of(const json& object) {
  TensorSpec spec;
  spec.name = object.at("name").get<std::string>();
  spec.type = data_type_from_string(object.at("type").get<std::string>()).value_or(DataType::kUndefined);
  spec.shape = object.at("shape").get<std::vector<std::int64_t>>();
  return spec;
}

}  // namespace

std::vector<TensorPlace> place_tensors(const std::vector<TensorSpec>& specs, std::size_t& total) {
  std::vector<TensorPlace> places;
  total = 0;
  for (const TensorSpec& spec : specs) {
    TensorPlace place{spec, total, byte_size(spec.type, element_count(spec.shape))};
    total += (place.size + kAlignment - 1) / kAlignment * kAlignment;
    places.push_back(std::move(place));
  }
  return places;
}

Result<std::vector<TensorView>> view_tensors(const std::vector<TensorPlace>& places,
                                             std::span<std::byte> memory) {
  std::vector<TensorView> views;
  for (const TensorPlace& place : places) {
    for (const std::int64_t dimension : place.spec.shape) {
      if (dimension < 0) {
        return fail(Reason::kProtocol, "tensor '{}' has a negative dimension", place.spec.name);
      }
    }
    const std::size_t wanted = byte_size(place.spec.type, element_count(place.spec.shape));
    if (place.size != wanted || place.offset > memory.size() || place.size > memory.size() - place.offset) {
      return fail(Reason::kProtocol,
                  "tensor '{}': {} bytes at {} announced, its shape wants {}, the memory holds {}",
                  place.spec.name, place.size, place.offset, wanted, memory.size());
    }
    views.push_back({place.spec.type, place.spec.shape, memory.subspan(place.offset, place.size)});
  }
  return views;
}

json to_json(const TensorSpec& spec) {
  return {{"name", spec.name}, {"type", to_string(spec.type)}, {"shape", spec.shape}};
}

json to_json(const TensorPlace& place) {
  json made = to_json(place.spec);
  made["offset"] = place.offset;
  made["size"] = place.size;
  return made;
}

json to_json(const Conditions& conditions) {
  return {{"mode", conditions.mode},           {"device", conditions.device},
          {"precision", conditions.precision}, {"shape_mode", conditions.shape_mode},
          {"threads", conditions.threads},     {"options", conditions.options}};
}

Result<TensorSpec> tensor_spec_from_json(const json& object) {
  return reading("tensor", [&] { return spec_of(object); });
}

Result<std::vector<TensorPlace>> tensor_places_from_json(const json& list) {
  return reading("tensors", [&] {
    std::vector<TensorPlace> places;
    for (const json& object : list) {
      places.push_back(
          {spec_of(object), object.at("offset").get<std::size_t>(), object.at("size").get<std::size_t>()});
    }
    return places;
  });
}

Result<Conditions> conditions_from_json(const json& object) {
  return reading("conditions", [&] {
    Conditions conditions;
    conditions.mode = object.at("mode").get<std::string>();
    conditions.device = object.at("device").get<std::string>();
    conditions.precision = object.at("precision").get<std::string>();
    conditions.shape_mode = object.at("shape_mode").get<std::string>();
    conditions.threads = object.at("threads").get<int>();
    conditions.options = object.at("options").get<Options>();
    return conditions;
  });
}

json to_json(const MeasureRequest& request) {
  return {{"do", "measure"},
          {"warm", {{"max_count", request.warm_max_count}, {"max_ns", request.warm_max_ns}}},
          {"samples",
           {{"min_count", request.min_count},
            {"max_count", request.max_count},
            {"min_ns", request.min_ns},
            {"max_ns", request.max_ns}}},
          {"inner", request.inner}};
}

Result<MeasureRequest> measure_request_from_json(const json& object) {
  return reading("measure", [&] {
    MeasureRequest request;
    const json& warm = object.at("warm");
    const json& samples = object.at("samples");
    request.warm_max_count = warm.at("max_count").get<std::int64_t>();
    request.warm_max_ns = warm.at("max_ns").get<std::int64_t>();
    request.min_count = std::max<std::int64_t>(1, samples.at("min_count").get<std::int64_t>());
    request.max_count = std::max(request.min_count, samples.at("max_count").get<std::int64_t>());
    request.min_ns = samples.at("min_ns").get<std::int64_t>();
    request.max_ns = samples.at("max_ns").get<std::int64_t>();
    request.inner = std::max<std::int64_t>(1, object.at("inner").get<std::int64_t>());
    return request;
  });
}

json to_json(const MeasureReply& reply) {
  return {
      {"warm_ns", reply.warm_ns},         {"samples_ns", reply.samples_ns}, {"inner", reply.inner},
      {"cpu_ns", reply.cpu_ns},           {"wall_ns", reply.wall_ns},       {"voluntary", reply.voluntary},
      {"involuntary", reply.involuntary}, {"start_ns", reply.start_ns},     {"end_ns", reply.end_ns}};
}

Result<MeasureReply> measure_reply_from_json(const json& object) {
  return reading("measure", [&] {
    MeasureReply reply;
    reply.warm_ns = object.at("warm_ns").get<std::vector<std::int64_t>>();
    reply.samples_ns = object.at("samples_ns").get<std::vector<std::int64_t>>();
    reply.inner = object.at("inner").get<std::int64_t>();
    reply.cpu_ns = object.at("cpu_ns").get<std::int64_t>();
    reply.wall_ns = object.at("wall_ns").get<std::int64_t>();
    reply.voluntary = object.at("voluntary").get<std::int64_t>();
    reply.involuntary = object.at("involuntary").get<std::int64_t>();
    reply.start_ns = object.at("start_ns").get<std::int64_t>();
    reply.end_ns = object.at("end_ns").get<std::int64_t>();
    return reply;
  });
}

}  // namespace touchstone
