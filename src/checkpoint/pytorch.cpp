// SPDX-License-Identifier: Apache-2.0
// torch.save's archive: NAME/data.pkl, and NAME/data/KEY for each storage, stored without compression.
#include <zip.h>

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "checkpoint/pickle.h"

namespace touchstone {
namespace {

constexpr std::uint64_t kLongestPickle = 8 << 20;

class Archive {
 public:
  static Result<std::shared_ptr<Archive>> open(const std::string& path) {
    int code = 0;
    zip_t* handle = zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (handle == nullptr) {
      zip_error_t error;
      zip_error_init_with_code(&error, code);
      const std::string why = zip_error_strerror(&error);
      zip_error_fini(&error);
      return fail(Reason::kInvalidModel,
                  "{}: cannot be read as a zip archive: {}. Files of PyTorch before 1.6 are of another "
                  "format: save them again",
                  path, why);
    }
    return std::shared_ptr<Archive>(new Archive(path, handle));
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() { zip_discard(handle_); }

  const std::string& path() const { return path_; }

  /// The folder that all entries lie in, with a slash.
  Result<std::string> folder() const {
    const std::string wanted = "/data.pkl";
    for (zip_int64_t i = 0; i < zip_get_num_entries(handle_, 0); ++i) {
      const char* name = zip_get_name(handle_, static_cast<zip_uint64_t>(i), 0);
      const std::string entry = name == nullptr ? "" : name;
      if (entry.ends_with(wanted) && entry.find('/') == entry.size() - wanted.size()) {
        return entry.substr(0, entry.size() - wanted.size() + 1);
      }
    }
    return fail(Reason::kInvalidModel, "{}: holds no data.pkl: it is not an archive of torch.save", path_);
  }

  Result<std::uint64_t> size(const std::string& entry) const {
    zip_stat_t status;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat(handle_, entry.c_str(), 0, &status) != 0 || (status.valid & kNeeded) != kNeeded) {
      return fail(Reason::kInvalidModel, "{}: has no entry '{}'", path_, entry);
    }
    std::error_code unknown;
    const std::uintmax_t whole = std::filesystem::file_size(path_, unknown);
    if (unknown || status.size > whole) {
      return fail(Reason::kInvalidModel, "{}: '{}' is said to be {} bytes long, in a file of {}", path_,
                  entry, status.size, whole);
    }
    if (status.comp_method != ZIP_CM_STORE) {
      return fail(Reason::kUnsupported, "{}: '{}' is compressed, which torch.save never does", path_, entry);
    }
    return status.size;
  }

  Result<std::vector<std::byte>> read(const std::string& entry, std::uint64_t offset,
                                      std::uint64_t length) const {
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen(handle_, entry.c_str(), 0),
                                                                 zip_fclose);
    std::vector<std::byte> bytes(length);
    if (file == nullptr || zip_fseek(file.get(), static_cast<zip_int64_t>(offset), SEEK_SET) != 0 ||
        zip_fread(file.get(), bytes.data(), length) != static_cast<zip_int64_t>(length)) {
      return fail(Reason::kInvalidModel, "{}: '{}' cannot be read: {}; is the file truncated?", path_, entry,
                  zip_strerror(handle_));
    }
    return bytes;
  }

 private:
  Archive(std::string path, zip_t* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  zip_t* handle_;
};

Result<StoredTensor> stored(const std::shared_ptr<Archive>& archive, const std::string& folder,
                            const std::string& name, const PickledTensor& pickled) {
  const std::string entry = folder + "data/" + pickled.key;
  TOUCHSTONE_ASSIGN(const std::uint64_t size, archive->size(entry));
  const std::uint64_t width = byte_size(pickled.type, 1);
  if (pickled.storage_elements > size / width) {
    return fail(Reason::kInvalidModel,
                "{}: tensor '{}': its storage is said to hold {} elements, and has {} bytes", archive->path(),
                name, pickled.storage_elements, size);
  }
  StoredTensor tensor;
  tensor.type = pickled.type;
  tensor.shape = pickled.shape;
  tensor.strides = pickled.strides;
  tensor.file = archive->path();
  std::uint64_t elements = element_count(pickled.shape) == 0 ? 0 : 1;
  for (std::size_t i = 0; elements != 0 && i < pickled.shape.size(); ++i) {
    elements += static_cast<std::uint64_t>((pickled.shape[i] - 1) * pickled.strides[i]);
  }
  tensor.read = [archive, entry, offset = pickled.offset * width,
                 length = elements * width](const auto& use) -> Result<void> {
    TOUCHSTONE_ASSIGN(const auto bytes, archive->read(entry, offset, length));
    return use(bytes);
  };
  return tensor;
}

}  // namespace

Result<TensorIndex> read_pytorch(const std::string& path) {
  TOUCHSTONE_ASSIGN(const auto archive, Archive::open(path));
  TOUCHSTONE_ASSIGN(const std::string folder, archive->folder());
  TOUCHSTONE_ASSIGN(const std::uint64_t size, archive->size(folder + "data.pkl"));
  if (size > kLongestPickle) {
    return fail(Reason::kUnsupported, "{}: its pickle is {} bytes long; read are up to {}", path, size,
                kLongestPickle);
  }
  TOUCHSTONE_ASSIGN(const auto pickle, archive->read(folder + "data.pkl", 0, size));
  const auto tensors = read_pickled_tensors(pickle);
  if (!tensors) {
    return fail(tensors.error().reason, "{}: {}", path, tensors.error().message);
  }
  TensorIndex index;
  for (const auto& [name, tensor] : *tensors) {
    TOUCHSTONE_ASSIGN(index[name], stored(archive, folder, name, tensor));
  }
  return index;
}

}  // namespace touchstone
