// SPDX-License-Identifier: Apache-2.0
#include "bench/generation.h"

#include <algorithm>
#include <cstring>

#include "bench/helper_process.h"
#include "bench/layout.h"
#include "bench/planned_columns.h"

namespace touchstone {
namespace {

constexpr std::int64_t kSteps = 32;

using Tokens = std::vector<std::int64_t>;  // one a row of the batch

struct Graphs {
  Bundle prefill, decode;
};

Result<Bundle> prepared(const Installation& installation, const std::string& model) {
  TOUCHSTONE_ASSIGN(const auto described,
                    call_model_helper(installation, {"prepare", model, "--home", installation.home}));
  return bundle_from_json(described, described.value("folder", ""));
}

// The smallest value of an axis that the plan has to have.
Result<std::int64_t> smallest(const Plan& plan, const char* axis) {
  const auto values = plan.dimensions.find(axis);
  if (values == plan.dimensions.end() || values->second.empty()) {
    return fail(Reason::kUsage, "generation needs --{}: the {}", axis,
                std::string_view(axis) == "seq" ? "length of the prompt, and of what decoding looks back on"
                                                : "number of texts at once");
  }
  return *std::min_element(values->second.begin(), values->second.end());
}

Result<std::size_t> output_named(const Bundle& bundle, const std::string& name) {
  for (std::size_t i = 0; i < bundle.outputs.size(); ++i) {
    if (bundle.outputs[i].name == name) {
      return i;
    }
  }
  return fail(Reason::kInternal, "{}: has no output '{}'", bundle.name, name);
}

Result<std::vector<double>> numbers(const TensorView& tensor) {
  std::vector<double> values(element_count(tensor.shape));
  if (tensor.type == DataType::kDouble) {
    std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(double));
  } else if (tensor.type == DataType::kFloat) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + i * sizeof(float), sizeof(float));
      values[i] = static_cast<double>(value);
    }
  } else {
    return fail(Reason::kInternal, "logits of type {}", to_string(tensor.type));
  }
  return values;
}

// The most likely word of each row of [batch, 1, vocabulary].
Result<Tokens> most_likely(const TensorView& logits) {
  TOUCHSTONE_ASSIGN(const auto values, numbers(logits));
  const auto words = static_cast<std::ptrdiff_t>(logits.shape.back());
  Tokens tokens;
  for (auto row = values.begin(); row != values.end(); row += words) {
    tokens.push_back(std::max_element(row, row + words) - row);
  }
  return tokens;
}

// One output alone, with a copy of its data; nothing is known of the others.
Expected only(const Expected& outputs, std::size_t index) {
  Expected one;
  one.tensors.resize(outputs.tensors.size());
  one.tensors[index] = outputs.tensors[index];
  auto data = std::make_shared<std::vector<std::byte>>(outputs.tensors[index].bytes.begin(),
                                                       outputs.tensors[index].bytes.end());
  one.tensors[index].bytes = *data;
  one.data = std::move(data);
  return one;
}

// `from` as what the next inference reads: the reference hands on doubles, which its inputs are not.
Result<void> hand_on(const std::string& name, const TensorView& from, const TensorView& to) {
  if (from.shape != to.shape) {
    return fail(Reason::kWrongResult, "'{}' has the shape [{}], not [{}]", name, fmt::join(from.shape, ","),
                fmt::join(to.shape, ","));
  }
  if (from.type == to.type) {
    std::copy(from.bytes.begin(), from.bytes.end(), to.bytes.begin());
    return {};
  }
  TOUCHSTONE_ASSIGN(const auto values, numbers(from));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    std::memcpy(to.bytes.data() + i * sizeof(float), &value, sizeof(float));
  }
  return {};
}

// The inputs of one step: a token a row, and as past what the step before gave as present.
Result<TensorSet> step_inputs(const Bundle& decode, const DimensionValues& dimensions, const Tokens& tokens,
                              const Bundle& before, const Expected& outputs) {
  std::vector<TensorSpec> specs;
  for (const InputRule& rule : decode.inputs) {
    TOUCHSTONE_ASSIGN(auto shape, concrete_shape(rule.shape, dimensions));
    specs.push_back({rule.name, rule.type, std::move(shape)});
  }
  std::size_t total = 0;
  auto places = place_tensors(specs, total);
  TOUCHSTONE_ASSIGN(SharedMemory memory, SharedMemory::create(total));
  TOUCHSTONE_ASSIGN(const auto views, view_tensors(places, memory.bytes()));
  const std::string past = "past_key_values.";
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::string& name = specs[i].name;
    if (name.starts_with(past)) {
      const std::string present = "present." + name.substr(past.size());
      TOUCHSTONE_ASSIGN(const std::size_t index, output_named(before, present));
      TOUCHSTONE_TRY(hand_on(present, outputs.tensors[index], views[i]));
    } else {
      std::memcpy(views[i].bytes.data(), tokens.data(), tokens.size() * sizeof(std::int64_t));
    }
  }
  TOUCHSTONE_TRY(memory.seal());
  return TensorSet{std::move(places), std::move(memory), total};
}

Result<Expected> infer(ColumnSession& session, const TensorSet& inputs) {
  TOUCHSTONE_TRY(session.prepare(inputs));
  TOUCHSTONE_TRY(session.set_inputs(inputs));
  TOUCHSTONE_ASSIGN(auto outputs, session.infer_and_keep());
  return std::move(outputs.first);
}

class Generation {
 public:
  Generation(const Graphs& graphs, std::uint64_t seed, GenerationProof extent)
      : graphs_(graphs), prompt_(graphs.prefill, seed), extent_(std::move(extent)) {}

  /// What was generated at a step (0: from the prompt); returns the tokens of the next one.
  using Next = std::function<Result<Tokens>(std::int64_t step, const Expected& outputs)>;

  Result<void> run(const ColumnSession::Setting& prefill, const ColumnSession::Setting& decode,
                   const Next& next) {
    Expected outputs;
    {
      ColumnSession session(prefill, watch_);
      const DimensionValues dimensions = {{"batch", extent_.batch}, {"seq", extent_.prompt}};
      TOUCHSTONE_ASSIGN(const TensorSet inputs, prompt_.make(dimensions, {}));
      TOUCHSTONE_ASSIGN(outputs, infer(session, inputs));
    }  // its memory goes before the next model is loaded
    TOUCHSTONE_ASSIGN(Tokens tokens, next(0, outputs));
    ColumnSession session(decode, watch_);
    const Bundle* before = &graphs_.prefill;
    for (std::int64_t step = 1; step <= extent_.steps; ++step) {
      const DimensionValues dimensions = {{"batch", extent_.batch}, {"past", extent_.prompt + step - 1}};
      TOUCHSTONE_ASSIGN(const TensorSet inputs,
                        step_inputs(graphs_.decode, dimensions, tokens, *before, outputs));
      TOUCHSTONE_ASSIGN(outputs, infer(session, inputs));
      TOUCHSTONE_ASSIGN(tokens, next(step, outputs));
      before = &graphs_.decode;
    }
    return {};
  }

 private:
  const Graphs& graphs_;
  InputSource prompt_;
  GenerationProof extent_;
  MemoryWatch watch_;
};

// What the reference generates: logits and, from them, tokens of every step.
struct Truth {
  std::vector<Expected> logits;
  std::vector<Tokens> tokens;
};

Result<Truth> reference_truth(const Graphs& graphs, Generation& generation, const WorkerLaunch& launch,
                              const ResolvedEngine& engine) {
  ColumnSession::Setting setting;
  setting.column.engine.engine = "reference";
  setting.column.precision = "f64";
  setting.label = launch.name;
  setting.engine = engine;
  setting.threads = static_cast<int>(launch.cpus.size());
  setting.cpus = launch.cpus;
  setting.timeout = launch.timeout;
  setting.log_file = launch.log_file;
  ColumnSession::Setting decode = setting;
  setting.model = graphs.prefill.forms.at("source").graph;
  decode.model = graphs.decode.forms.at("source").graph;
  TOUCHSTONE_ASSIGN(const std::size_t index, output_named(graphs.decode, "logits"));
  Truth truth;
  TOUCHSTONE_TRY(
      generation.run(setting, decode, [&](std::int64_t, const Expected& outputs) -> Result<Tokens> {
        truth.logits.push_back(only(outputs, index));
        TOUCHSTONE_ASSIGN(Tokens tokens, most_likely(outputs.tensors[index]));
        truth.tokens.push_back(tokens);
        return tokens;
      }));
  return truth;
}

GenerationVerdict judge(const PlannedColumn& prefill, const PlannedColumn& decode, const Truth& truth,
                        Generation& generation) {
  const Judging& judging = decode.setting.judging;
  GenerationVerdict verdict;
  verdict.column = prefill.setting.label;
  if (prefill.missing) {
    verdict.error = prefill.missing;
    return verdict;
  }
  Proof proof;
  const auto outcome = generation.run(
      prefill.setting, decode.setting, [&](std::int64_t step, const Expected& outputs) -> Result<Tokens> {
        const auto at = static_cast<std::size_t>(step);
        TOUCHSTONE_TRY(compare_outputs(outputs.tensors, truth.logits[at], judging, proof));
        if (!proof.equal) {
          return fail(Reason::kWrongResult, "{}: {}",
                      step == 0 ? "after the prompt" : fmt::format("token {} after the prompt", step),
                      proof.message);
        }
        return truth.tokens[at];
      });
  verdict.max_error = proof.max_error;
  if (!outcome) {
    verdict.error = outcome.error();
  } else {
    verdict.verdict = verdict_text(proof, judging, Expected{}.truth);
  }
  return verdict;
}

}  // namespace

Result<GenerationProof> prove_generation(const Plan& plan, const Installation& installation,
                                         const std::function<void(const std::string&)>& tell) {
  install_interrupt_handler();
  TOUCHSTONE_ASSIGN(const std::int64_t batch, smallest(plan, "batch"));
  TOUCHSTONE_ASSIGN(const std::int64_t length, smallest(plan, "seq"));
  Graphs graphs;
  TOUCHSTONE_ASSIGN(graphs.prefill, prepared(installation, plan.model + kPrefill));
  TOUCHSTONE_ASSIGN(graphs.decode, prepared(installation, plan.model + kDecode));
  GenerationProof proof;
  proof.batch = batch;
  const std::int64_t positions = graphs.prefill.max_sequence.value_or(length + kSteps);
  proof.prompt = std::clamp<std::int64_t>(positions - kSteps, 1, length);
  proof.steps = std::min(kSteps, positions - proof.prompt);
  TOUCHSTONE_ASSIGN(const auto catalogue, read_catalogue(installation.manifests));
  TOUCHSTONE_ASSIGN(const auto columns, layout_columns(plan, catalogue));
  TOUCHSTONE_ASSIGN(const auto cpus, cpus_for(columns));
  TOUCHSTONE_ASSIGN(const auto prefill,
                    planned_columns(plan, installation, graphs.prefill, catalogue, columns, cpus));
  TOUCHSTONE_ASSIGN(const auto decode,
                    planned_columns(plan, installation, graphs.decode, catalogue, columns, cpus));
  Generation generation(graphs, plan.seed, proof);
  tell(fmt::format("{}: generating {} tokens after a prompt of {} on the reference", plan.model, proof.steps,
                   proof.prompt));
  TOUCHSTONE_ASSIGN(const ResolvedEngine engine, reference_engine(installation, catalogue, cpus));
  TOUCHSTONE_ASSIGN(
      const Truth truth,
      reference_truth(graphs, generation, reference_launch(plan, installation, engine, cpus), engine));
  for (std::size_t i = 0; i < prefill.size(); ++i) {
    tell(fmt::format("{}: the same on {}", plan.model, prefill[i].setting.label));
    proof.columns.push_back(judge(prefill[i], decode[i], truth, generation));
    const auto& error = proof.columns.back().error;
    if (error && error->reason == Reason::kInterrupted) {
      return tl::unexpected(*error);
    }
  }
  return proof;
}

}  // namespace touchstone
