// SPDX-License-Identifier: Apache-2.0
#include "bench/reference_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/hash.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Changes with the interpreter's semantics or the generator of inputs; part of the name of every cached
// result.
constexpr int kReferenceVersion = 1;
// Row prefixes are taken from a run of this batch, or of the plan's largest: two runs a length serve all
// batches.
constexpr std::int64_t kSmallBatch = 8;
constexpr double kSameRows = 1e-10;
const std::string kGivenTruth = "the expected outputs";
constexpr std::uintmax_t kCacheBytes = 4'000'000'000;

// Oldest results go first once the cache is beyond its limit.
void prune(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::uintmax_t total = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    files.emplace_back(entry.last_write_time(error), entry.path());
    total += entry.file_size(error);
  }
  std::sort(files.begin(), files.end());
  for (const auto& [time, path] : files) {
    if (total <= kCacheBytes) {
      return;
    }
    total -= std::min(total, fs::file_size(path, error));
    fs::remove(path, error);
  }
}

// A cached result: one line of JSON that places the tensors from the next multiple of 4096 on, then the data.
Result<Expected> open_cached(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    return fail(Reason::kStorage, "{}: cannot be read: {}", path, strerror(errno));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (data == MAP_FAILED) {
    return fail(Reason::kStorage, "{}: cannot be mapped: {}", path, strerror(errno));
  }
  Expected expected;
  expected.data = std::shared_ptr<void>(data, [size](void* mapped) { munmap(mapped, size); });
  auto* bytes = static_cast<std::byte*>(data);
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::size_t end = text.find('\n');
  const json header = json::parse(text.substr(0, end), nullptr, false);
  if (end == std::string_view::npos || !header.is_object()) {
    return fail(Reason::kStorage, "{}: is not a cached reference; delete it", path);
  }
  TOUCHSTONE_ASSIGN(const auto places, tensor_places_from_json(header.value("tensors", json::array())));
  const std::size_t offset = header.value("offset", std::size_t{0});
  if (offset > size) {
    return fail(Reason::kStorage, "{}: is shorter than it says; delete it", path);
  }
  TOUCHSTONE_ASSIGN(expected.tensors, view_tensors(places, {bytes + offset, size - offset}));
  return expected;
}

// Rows `first` to `first + count` of a tensor, nothing copied.
TensorView rows_of(const TensorView& tensor, std::int64_t first, std::int64_t count) {
  const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape.front());
  TensorView rows = tensor;
  rows.shape.front() = count;
  rows.bytes =
      tensor.bytes.subspan(static_cast<std::size_t>(first) * size, static_cast<std::size_t>(count) * size);
  return rows;
}

}  // namespace

std::string ReferenceStore::path_of(const DimensionValues& dimensions, const InputBatch& batch) const {
  const json key = {kReferenceVersion, setting_.bundle.hash, dimensions, inputs_.key(batch)};
  return fmt::format("{}/{}.ref", setting_.folder, sha256(key.dump()).substr(0, 32));
}

Result<void> ReferenceStore::ensure_worker() {
  if (worker_ && worker_->alive()) {
    return {};
  }
  TOUCHSTONE_ASSIGN(worker_, WorkerClient::launch(setting_.launch, watch_));
  Conditions conditions;
  conditions.precision = "f64";
  conditions.threads = setting_.threads;
  const json request = {{"do", "load"},
                        {"model", setting_.bundle.forms.at("source").graph},
                        {"conditions", to_json(conditions)}};
  const auto loaded = worker_->call(request);
  if (!loaded) {
    worker_.reset();
    return tl::unexpected(loaded.error());
  }
  return {};
}

Result<void> ReferenceStore::save(const std::string& path, const Message& outputs) const {
  TOUCHSTONE_ASSIGN(
      const SharedMemory memory,
      SharedMemory::open(Descriptor(fcntl(outputs.descriptors.front().get(), F_DUPFD_CLOEXEC, 0)),
                         outputs.body.value("size", std::size_t{0})));
  constexpr std::size_t kPage = 4096;
  json header = {{"tensors", outputs.body.at("tensors")}, {"offset", 0}};
  const std::size_t offset = (header.dump().size() + 32 + kPage - 1) / kPage * kPage;
  header["offset"] = offset;
  std::string text = header.dump() + "\n";
  text.resize(offset, ' ');
  std::error_code error;
  fs::create_directories(setting_.folder, error);
  const std::string partial = fmt::format("{}.partial-{}", path, getpid());
  {
    std::ofstream file(partial, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.write(reinterpret_cast<const char*>(memory.bytes().data()),
               static_cast<std::streamsize>(memory.bytes().size()));
    file.flush();
    if (!file) {
      fs::remove(partial, error);
      return fail(Reason::kStorage, "{}: the reference's outputs cannot be written: {}", path,
                  strerror(errno));
    }
  }
  fs::rename(partial, path, error);
  prune(setting_.folder);
  return {};
}

Result<void> ReferenceStore::compute_and_save(const DimensionValues& dimensions, const InputBatch& batch,
                                              const std::string& path) {
  TOUCHSTONE_TRY(ensure_worker());
  TOUCHSTONE_ASSIGN(const TensorSet inputs, inputs_.make(dimensions, batch));
  TOUCHSTONE_TRY(worker_->call(inputs.prepare_request()));
  const int descriptor = inputs.memory.descriptor();
  TOUCHSTONE_TRY(worker_->call(inputs.inputs_request(), std::span(&descriptor, 1)));
  TOUCHSTONE_ASSIGN(const Message outputs, worker_->call({{"do", "infer"}, {"outputs", true}}));
  if (outputs.descriptors.size() != 1) {
    return fail(Reason::kProtocol, "the reference's worker sent no outputs");
  }
  TOUCHSTONE_TRY(save(path, outputs));
  return worker_->rest();
}

Result<Expected> ReferenceStore::compute(const DimensionValues& dimensions, const InputBatch& batch) {
  const std::string path = path_of(dimensions, batch);
  if (const auto found = open_.find(path); found != open_.end()) {
    return found->second;
  }
  if (const auto before = failed_.find(path); before != failed_.end()) {
    return tl::unexpected(before->second);
  }
  if (!fs::exists(path)) {
    const auto computed = compute_and_save(dimensions, batch, path);
    if (!computed) {
      failed_.emplace(path, computed.error());
      return tl::unexpected(computed.error());
    }
  }
  TOUCHSTONE_ASSIGN(Expected expected, open_cached(path));
  open_[path] = expected;
  return expected;
}

// One row alone against the first row of several: equal in double precision means that rows do not see each
// other.
Result<void> ReferenceStore::show_independence(const DimensionValues& dimensions, const InputBatch& batch) {
  rows_independent_ = false;
  const std::string& rows =
      setting_.bundle.row_independent ? setting_.bundle.dimensions.front() : std::string();
  const auto asked = dimensions.find(rows);
  if (asked == dimensions.end()) {
    return {};
  }
  DimensionValues one = dimensions;
  DimensionValues several = dimensions;
  one[rows] = 1;
  several[rows] = kSmallBatch;
  TOUCHSTONE_ASSIGN(const Expected alone, compute(one, batch));
  TOUCHSTONE_ASSIGN(const Expected together, compute(several, batch));
  bool same = alone.tensors.size() == together.tensors.size();
  for (std::size_t i = 0; same && i < alone.tensors.size(); ++i) {
    same = compare_tensors(alone.tensors[i], together.tensors[i], {kSameRows}, true).equal;
  }
  rows_independent_ = same;
  return {};
}

const UserInputSet* ReferenceStore::user_set(const InputBatch& batch) const {
  return inputs_.user() == nullptr ? nullptr : &inputs_.user()->sets()[batch.set];
}

std::string ReferenceStore::truth() const {
  return inputs_.user() != nullptr && inputs_.user()->judged() ? kGivenTruth : Expected{}.truth;
}

// Rows of the outputs that the user gave.
Result<Expected> ReferenceStore::given(const DimensionValues& dimensions, const InputBatch& batch) const {
  const UserInputSet& set = *user_set(batch);
  const std::int64_t asked = inputs_.rows(dimensions);
  Expected expected;
  expected.truth = kGivenTruth;
  expected.rows_may_differ = set.rows > 0;
  for (std::size_t i = 0; i < set.expected.size(); ++i) {
    if (!set.expected[i]) {
      expected.tensors.emplace_back();
      continue;
    }
    const TensorView& whole = *set.expected[i];
    if (set.rows == 0 || asked == set.rows) {
      expected.tensors.push_back(whole);
    } else if (whole.shape.empty() || whole.shape.front() != set.rows) {
      return fail(
          Reason::kInvalidInput,
          "expected output '{}' has the shape [{}]; the inputs have {} rows, so that it cannot be told "
          "which of it belongs to a batch of {}",
          setting_.bundle.outputs[i].name, fmt::join(whole.shape, ","), set.rows, asked);
    } else {
      expected.tensors.push_back(rows_of(whole, batch.first, std::min(asked, set.rows - batch.first)));
    }
  }
  return expected;
}

// A batch of the user's rows, put together from the blocks that serve all batches.
Result<Expected> ReferenceStore::computed_rows(const DimensionValues& dimensions, const InputBatch& batch) {
  const std::int64_t end = std::min(batch.first + inputs_.rows(dimensions), user_set(batch)->rows);
  DimensionValues block_dimensions = dimensions;
  block_dimensions[setting_.bundle.dimensions.front()] = kSmallBatch;
  Expected expected;
  auto data = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (std::int64_t row = batch.first; row < end;) {
    const std::int64_t begin = row / kSmallBatch * kSmallBatch;
    const std::int64_t count = std::min(end, begin + kSmallBatch) - row;
    TOUCHSTONE_ASSIGN(const Expected block, compute(block_dimensions, {false, batch.set, begin}));
    data->resize(block.tensors.size());
    expected.tensors.resize(block.tensors.size());
    for (std::size_t i = 0; i < block.tensors.size(); ++i) {
      const TensorView rows = rows_of(block.tensors[i], row - begin, count);
      (*data)[i].insert((*data)[i].end(), rows.bytes.begin(), rows.bytes.end());
      expected.tensors[i].type = rows.type;
      expected.tensors[i].shape = rows.shape;
      expected.tensors[i].shape.front() = end - batch.first;
    }
    row += count;
  }
  for (std::size_t i = 0; i < data->size(); ++i) {
    expected.tensors[i].bytes = (*data)[i];
  }
  expected.data = data;
  return expected;
}

Result<Expected> ReferenceStore::get(const DimensionValues& dimensions, const InputBatch& batch) {
  const UserInputSet* set = user_set(batch);
  if (set != nullptr && !set->expected.empty()) {
    return given(dimensions, batch);
  }
  if (!rows_independent_) {
    TOUCHSTONE_TRY(show_independence(dimensions, {inputs_.user() == nullptr, batch.set, 0}));
  }
  if (!*rows_independent_) {
    return compute(dimensions, batch);
  }
  Result<Expected> expected = set != nullptr ? computed_rows(dimensions, batch) : Result<Expected>();
  if (set == nullptr) {
    DimensionValues shared = dimensions;
    std::int64_t& rows = shared[setting_.bundle.dimensions.front()];
    // The timed inputs differ from the padded ones in the mask only; their first rows are proof enough beside
    // these.
    rows = rows <= kSmallBatch || !batch.padded ? kSmallBatch : setting_.largest_batch;
    expected = compute(shared, batch);
  }
  if (expected) {
    expected->rows_may_differ = true;
  }
  return expected;
}

}  // namespace touchstone
