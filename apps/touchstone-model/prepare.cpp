// SPDX-License-Identifier: Apache-2.0
#include "prepare.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "graph/onnx/onnx_io.h"
#include "models/zoo.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kInlineBytes = 1024;  // constants up to here are written into graph.json
constexpr std::uint64_t kSeed = 1;

/// weights.bin while it is written: mapped at its full size, so that weights are made in place.
class WeightFile {
 public:
  static Result<WeightFile> create(const std::string& path, std::size_t size) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const auto length = static_cast<off_t>(std::max<std::size_t>(size, 1));
    // posix_fallocate finds a full disk here; with a sparse file it would be a bus error later.
    const int full = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, length);
    if (full != 0) {
      if (descriptor >= 0) {
        close(descriptor);
      }
      return fail(Reason::kStorage, "{}: {} bytes of weights cannot be written: {}", path, size,
                  strerror(full));
    }
    void* data =
        mmap(nullptr, static_cast<std::size_t>(length), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (data == MAP_FAILED) {
      return fail(Reason::kStorage, "{}: cannot be mapped: {}", path, strerror(errno));
    }
    return WeightFile(static_cast<std::byte*>(data), static_cast<std::size_t>(length));
  }
  WeightFile(WeightFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  WeightFile& operator=(WeightFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~WeightFile() {
    if (data_ != nullptr) {
      munmap(data_, size_);
    }
  }
  std::span<std::byte> at(std::size_t offset, std::size_t size) const { return {data_ + offset, size}; }

 private:
  WeightFile(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};

std::size_t aligned(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

// A folder beside the final one, renamed into place when whole, removed otherwise.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& final_folder)
      : path_(final_folder.string() + ".partial-" + std::to_string(getpid())) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  Result<void> create() const {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) {
      return fail(Reason::kStorage, "{}: cannot be made: {}", path_.string(), error.message());
    }
    return {};
  }

  Result<void> commit(const fs::path& final_folder) const {
    std::error_code error;
    fs::rename(path_, final_folder, error);
    if (error && !fs::exists(final_folder / "bundle.json")) {
      return fail(Reason::kStorage, "{}: cannot be moved into place: {}", final_folder.string(),
                  error.message());
    }
    return {};  // where it exists already, another process was first with the same content
  }

 private:
  fs::path path_;
};

bool is_float(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16 ||
         type == DataType::kBfloat16;
}

// The symbolic dimensions in the order in which the inputs name them.
std::vector<std::string> input_dimensions(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueInfo& input : graph.inputs) {
    for (const Dimension& dimension : input.shape.value_or(std::vector<Dimension>{})) {
      if (!dimension.value && std::find(names.begin(), names.end(), dimension.symbol) == names.end()) {
        names.push_back(dimension.symbol);
      }
    }
  }
  return names;
}

// Whether dimension 0 of every input and output is one and the same symbol.
bool rows_look_independent(const Graph& graph) {
  std::optional<std::string> symbol;
  const auto agrees = [&](const ValueInfo& value) {
    if (!value.shape || value.shape->empty() || value.shape->front().value) {
      return false;
    }
    if (!symbol) {
      symbol = value.shape->front().symbol;
    }
    return value.shape->front().symbol == *symbol && !symbol->empty();
  };
  return !graph.inputs.empty() && std::all_of(graph.inputs.begin(), graph.inputs.end(), agrees) &&
         std::all_of(graph.outputs.begin(), graph.outputs.end(), agrees);
}

Bundle describe(const Graph& graph) {
  Bundle bundle;
  bundle.name = graph.name;
  bundle.dimensions = input_dimensions(graph);
  bundle.inputs = infer_input_rules(graph);
  bundle.outputs = graph.outputs;
  for (const Node& node : graph.nodes) {
    ++bundle.operators[node.domain.empty() ? node.op_type : node.domain + "." + node.op_type];
  }
  bundle.row_independent = rows_look_independent(graph);
  return bundle;
}

Result<void> finish(Bundle& bundle, const TemporaryFolder& folder, const fs::path& final_folder) {
  TOUCHSTONE_TRY(write_text_file((folder.path() / "bundle.json").string(), to_json(bundle).dump(1)));
  TOUCHSTONE_TRY(folder.commit(final_folder));
  TOUCHSTONE_ASSIGN(bundle, read_bundle(final_folder.string()));
  return {};
}

// Gives every weight its place, makes it there, and hashes it on the way.
Result<void> make_weights(ModelDefinition& model, const std::string& path, Sha256& hash, Bundle& bundle) {
  std::size_t total = 0;
  for (const WeightSpec& weight : model.weights) {
    Constant constant;
    constant.type = DataType::kFloat;
    constant.shape = weight.shape;
    constant.file = "weights.bin";
    constant.offset = total;
    constant.size = byte_size(DataType::kFloat, element_count(weight.shape));
    bundle.parameters += element_count(weight.shape);
    total = aligned(total + constant.size);
    model.graph.initializers[weight.name] = std::move(constant);
  }
  TOUCHSTONE_ASSIGN(const WeightFile file, WeightFile::create(path, total));
  for (const WeightSpec& weight : model.weights) {
    const Constant& constant = model.graph.initializers[weight.name];
    const auto bytes = file.at(constant.offset, constant.size);
    generate_weights(weight, kSeed, {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
    hash.update(bytes);
  }
  bundle.weight_bytes = total;
  return {};
}

Result<Bundle> prepare_zoo(const ZooEntry& entry, const fs::path& bundles) {
  const fs::path final_folder = bundles / fmt::format("zoo-{}-v{}", entry.name, kZooVersion);
  if (fs::exists(final_folder / "bundle.json")) {
    return read_bundle(final_folder.string());
  }
  const TemporaryFolder folder(final_folder);
  TOUCHSTONE_TRY(folder.create());
  ModelDefinition source = entry.build(entry, Form::kPrimitive);
  Bundle bundle = describe(source.graph);
  Sha256 hash;
  TOUCHSTONE_TRY(make_weights(source, (folder.path() / "weights.bin").string(), hash, bundle));
  // The weights' places are the same in every form.
  ModelDefinition fused = entry.build(entry, Form::kFused);
  for (const WeightSpec& weight : fused.weights) {
    fused.graph.initializers[weight.name] = source.graph.initializers.at(weight.name);
  }
  bundle.inputs = infer_input_rules(source.graph);
  const std::string text = to_json(source.graph).dump();
  hash.update(text);
  TOUCHSTONE_TRY(write_text_file((folder.path() / "graph-source.json").string(), text));
  TOUCHSTONE_TRY(write_text_file((folder.path() / "graph-fused.json").string(), to_json(fused.graph).dump()));
  TOUCHSTONE_TRY(write_onnx(source.graph, (folder.path() / "model-source.onnx").string()));
  bundle.name = entry.name;
  bundle.source = "zoo:" + entry.name;
  bundle.hash = hash.hex_digest();
  bundle.max_sequence = entry.max_sequence;
  bundle.forms["source"] = {"model-source.onnx", "graph-source.json"};
  bundle.forms["fused"] = {"", "graph-fused.json"};
  TOUCHSTONE_TRY(finish(bundle, folder, final_folder));
  return bundle;
}

// A cheap name for a file's content: place, size and time of its last change.
std::string file_stamp(const fs::path& file) {
  std::error_code error;
  return fmt::format("{}|{}|{}", file.string(), fs::file_size(file, error),
                     fs::last_write_time(file, error).time_since_epoch().count());
}

void hash_file(const std::string& path, Sha256& hash) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount())));
  }
}

// Embedded constants move to weights.bin, so that workers can map them; small ones stay in the graph's text.
Result<void> move_constants(Graph& graph, const std::string& path, Bundle& bundle) {
  std::size_t total = 0;
  std::vector<std::pair<Constant*, std::size_t>> moved;
  for (auto& [name, constant] : graph.initializers) {
    if (is_float(constant.type)) {
      bundle.parameters += element_count(constant.shape);
    }
    bundle.weight_bytes += constant.size;
    if (constant.owned && constant.size > kInlineBytes) {
      moved.emplace_back(&constant, total);
      total = aligned(total + constant.size);
    }
  }
  TOUCHSTONE_ASSIGN(const WeightFile file, WeightFile::create(path, total));
  for (const auto& [constant, offset] : moved) {
    std::memcpy(file.at(offset, constant->size).data(), constant->owned->data(), constant->size);
    constant->owned.reset();
    constant->file = "weights.bin";
    constant->offset = offset;
  }
  return {};
}

Result<Bundle> prepare_file(const std::string& model, const fs::path& bundles) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(model), error);
  if (!fs::exists(path, error)) {
    return fail(Reason::kInvalidModel, "{}: there is no such file", path.string());
  }
  // The files that hold external data count into the name as well; only reading finds them.
  TOUCHSTONE_ASSIGN(Graph graph, read_onnx(path.string()));
  std::set<std::string> files = {path.string()};
  for (const auto& [name, constant] : graph.initializers) {
    if (!constant.file.empty()) {
      files.insert(constant.file);
    }
  }
  std::string stamp;
  for (const std::string& file : files) {
    stamp += file_stamp(file) + "\n";
  }
  const fs::path final_folder = bundles / ("file-" + sha256(stamp).substr(0, 32));
  if (fs::exists(final_folder / "bundle.json")) {
    return read_bundle(final_folder.string());
  }
  const TemporaryFolder folder(final_folder);
  TOUCHSTONE_TRY(folder.create());
  Bundle bundle = describe(graph);
  Sha256 hash;
  for (const std::string& file : files) {
    hash_file(file, hash);
  }
  TOUCHSTONE_TRY(move_constants(graph, (folder.path() / "weights.bin").string(), bundle));
  TOUCHSTONE_TRY(write_text_file((folder.path() / "graph-source.json").string(), to_json(graph).dump()));
  bundle.name = path.stem().string();
  bundle.source = path.string();
  bundle.hash = hash.hex_digest();
  bundle.forms["source"] = {path.string(), "graph-source.json"};
  TOUCHSTONE_TRY(finish(bundle, folder, final_folder));
  return bundle;
}

}  // namespace

Result<Bundle> prepare_bundle(const std::string& model, const std::string& home) {
  const fs::path bundles = fs::path(home) / "bundles";
  if (const ZooEntry* entry = find_in_zoo(model)) {
    return prepare_zoo(*entry, bundles);
  }
  const bool looks_like_file = model.find('/') != std::string::npos || fs::path(model).has_extension();
  if (!looks_like_file) {
    std::vector<std::string> known;
    for (const ZooEntry& entry : zoo()) {
      known.push_back(entry.name);
    }
    return fail(
        Reason::kUsage,
        "there is no model '{}'{}; `touchstone models` lists the zoo, or give the path of an .onnx file",
        model, did_you_mean(model, known));
  }
  return prepare_file(model, bundles);
}

}  // namespace touchstone
