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
#include "reference/verdict.h"

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

}  // namespace

// File: one line of JSON that places the tensors from the next multiple of 4096 on, then the data.
Result<std::shared_ptr<const Expected>> Expected::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    return fail(Reason::kStorage, "{}: cannot be read: {}", path, strerror(errno));
  }
  std::shared_ptr<Expected> expected(new Expected);
  expected->size_ = static_cast<std::size_t>(status.st_size);
  expected->data_ = mmap(nullptr, expected->size_, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (expected->data_ == MAP_FAILED) {
    expected->data_ = nullptr;
    return fail(Reason::kStorage, "{}: cannot be mapped: {}", path, strerror(errno));
  }
  auto* bytes = static_cast<std::byte*>(expected->data_);
  const std::string_view text(reinterpret_cast<const char*>(bytes), expected->size_);
  const std::size_t end = text.find('\n');
  const json header = json::parse(text.substr(0, end), nullptr, false);
  if (end == std::string_view::npos || !header.is_object()) {
    return fail(Reason::kStorage, "{}: is not a cached reference; delete it", path);
  }
  TOUCHSTONE_ASSIGN(const auto places, tensor_places_from_json(header.value("tensors", json::array())));
  const std::size_t offset = header.value("offset", std::size_t{0});
  if (offset > expected->size_) {
    return fail(Reason::kStorage, "{}: is shorter than it says; delete it", path);
  }
  TOUCHSTONE_ASSIGN(expected->tensors_, view_tensors(places, {bytes + offset, expected->size_ - offset}));
  return expected;
}

Expected::~Expected() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
}

std::string ReferenceStore::path_of(const DimensionValues& dimensions, bool padded) const {
  const json key = {kReferenceVersion, setting_.bundle.hash, dimensions, setting_.seed, padded};
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
  TOUCHSTONE_TRY(worker_->call(request));
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

Result<std::shared_ptr<const Expected>> ReferenceStore::compute(const DimensionValues& dimensions,
                                                                bool padded) {
  const std::string path = path_of(dimensions, padded);
  if (const auto found = open_.find(path); found != open_.end()) {
    return found->second;
  }
  if (!fs::exists(path)) {
    TOUCHSTONE_TRY(ensure_worker());
    TOUCHSTONE_ASSIGN(const TensorSet inputs,
                      make_inputs(setting_.bundle, dimensions, setting_.seed, padded));
    TOUCHSTONE_TRY(worker_->call(inputs.prepare_request()));
    const int descriptor = inputs.memory.descriptor();
    TOUCHSTONE_TRY(worker_->call(inputs.inputs_request(), std::span(&descriptor, 1)));
    TOUCHSTONE_ASSIGN(const Message outputs, worker_->call({{"do", "infer"}, {"outputs", true}}));
    if (outputs.descriptors.size() != 1) {
      return fail(Reason::kProtocol, "the reference's worker sent no outputs");
    }
    TOUCHSTONE_TRY(save(path, outputs));
    TOUCHSTONE_TRY(worker_->rest());
  }
  TOUCHSTONE_ASSIGN(auto expected, Expected::open(path));
  open_[path] = expected;
  return expected;
}

// One row alone against the first row of several: equal in double precision means that rows do not see each
// other.
Result<void> ReferenceStore::show_independence(const DimensionValues& dimensions) {
  rows_independent_ = false;
  const std::string& batch =
      setting_.bundle.row_independent ? setting_.bundle.dimensions.front() : std::string();
  const auto asked = dimensions.find(batch);
  if (asked == dimensions.end()) {
    return {};
  }
  DimensionValues one = dimensions;
  DimensionValues several = dimensions;
  one[batch] = 1;
  several[batch] = kSmallBatch;
  TOUCHSTONE_ASSIGN(const auto alone, compute(one, true));
  TOUCHSTONE_ASSIGN(const auto together, compute(several, true));
  bool same = alone->tensors().size() == together->tensors().size();
  for (std::size_t i = 0; same && i < alone->tensors().size(); ++i) {
    same = compare_tensors(alone->tensors()[i], together->tensors()[i], {kSameRows}, true).equal;
  }
  rows_independent_ = same;
  return {};
}

Result<std::shared_ptr<const Expected>> ReferenceStore::get(const DimensionValues& dimensions, bool padded) {
  if (!rows_independent_) {
    TOUCHSTONE_TRY(show_independence(dimensions));
  }
  if (!*rows_independent_) {
    return compute(dimensions, padded);
  }
  DimensionValues shared = dimensions;
  std::int64_t& batch = shared[setting_.bundle.dimensions.front()];
  // The timed inputs differ from the padded ones in the mask only; their first rows are proof enough beside
  // these.
  batch = batch <= kSmallBatch || !padded ? kSmallBatch : setting_.largest_batch;
  return compute(shared, padded);
}

}  // namespace touchstone
