// SPDX-License-Identifier: Apache-2.0
#include "datasets/npz.h"

#include <zip.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMostGrowth = 1032;  // deflate's limit
constexpr std::uint64_t kSmallest = 4096;    // files below this may grow to kMostGrowth times this

// The header: a dictionary of Python with three keys, as text.
struct Header {
  std::string type;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

class HeaderScanner {
 public:
  explicit HeaderScanner(std::string_view text) : text_(text) {}

  std::optional<Header> scan() {
    Header header;
    std::set<std::string> seen;
    if (!take('{')) {
      return std::nullopt;
    }
    while (!take('}')) {
      const auto key = text();
      if (!key || !take(':') || !value(*key, header) || !seen.insert(*key).second) {
        return std::nullopt;
      }
      take(',');
    }
    skip();
    return at_ == text_.size() && seen.size() == 3 ? std::optional(header) : std::nullopt;
  }

 private:
  bool value(const std::string& key, Header& header) {
    if (key == "descr") {
      auto type = text();
      header.type = type.value_or("");
      return type.has_value();
    }
    if (key == "fortran_order") {
      const auto say = word();
      header.fortran = say == "True";
      return say == "True" || say == "False";
    }
    return key == "shape" && tuple(header.shape);
  }

  bool tuple(std::vector<std::int64_t>& shape) {
    if (!take('(')) {
      return false;
    }
    while (!take(')')) {
      skip();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) {
        return false;
      }
      at_ = static_cast<std::size_t>(end - text_.data());
      take('L');  // of Python 2
      shape.push_back(value);
      take(',');
    }
    return true;
  }

  std::optional<std::string> text() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') {
      return std::nullopt;
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::string found(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return found;
  }

  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }

  bool take(char wanted) {
    skip();
    if (at_ >= text_.size() || text_[at_] != wanted) {
      return false;
    }
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<DataType> type_of(const std::string& name, const std::string& word) {
  static const std::map<std::string_view, DataType> kTypes = {
      {"f4", DataType::kFloat},     {"f8", DataType::kDouble},     {"f2", DataType::kFloat16},
      {"i1", DataType::kInt8},      {"i2", DataType::kInt16},      {"i4", DataType::kInt32},
      {"i8", DataType::kInt64},     {"u1", DataType::kUint8},      {"u2", DataType::kUint16},
      {"u4", DataType::kUint32},    {"u8", DataType::kUint64},     {"b1", DataType::kBool},
      {"c8", DataType::kComplex64}, {"c16", DataType::kComplex128}};
  const char order = word.empty() ? '\0' : word.front();
  const auto found = kTypes.find(std::string_view(word).substr(std::min<std::size_t>(word.size(), 1)));
  const bool little = order == '<' || order == '|' || order == '=';
  if (!little || found == kTypes.end()) {
    return fail(Reason::kUnsupported,
                "array '{}' is of numpy's type '{}'{}; numbers and booleans, little-endian, are read", name,
                word, word == "|O" ? " (pickled objects, which are never executed here)" : "");
  }
  return found->second;
}

// Elements of an array in Fortran's order, first index fastest, into ours.
void turn(std::span<const std::byte> in, const std::vector<std::int64_t>& shape, std::size_t width,
          std::span<std::byte> out) {
  std::vector<std::size_t> stride(shape.size());
  std::size_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    stride[i] = step;
    step *= static_cast<std::size_t>(shape[i]);
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += width) {
    std::memcpy(out.data() + to, in.data() + from * width, width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < shape[axis]) {
        break;
      }
      from -= stride[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
}

// Bytes of a tensor, or nothing where the product is beyond 64 bits.
std::optional<std::uint64_t> size_of(DataType type, const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return 0;
  }
  std::uint64_t size = byte_size(type, 1);
  for (const std::int64_t dimension : shape) {
    if (size > std::numeric_limits<std::uint64_t>::max() / static_cast<std::uint64_t>(dimension)) {
      return std::nullopt;
    }
    size *= static_cast<std::uint64_t>(dimension);
  }
  return size;
}

class Archive {
 public:
  static Result<std::unique_ptr<Archive>> open(const std::string& path) {
    int code = 0;
    zip_t* handle = zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (handle == nullptr) {
      zip_error_t error;
      zip_error_init_with_code(&error, code);
      const std::string why = zip_error_strerror(&error);
      zip_error_fini(&error);
      return fail(Reason::kInvalidInput, "{}: cannot be read as a zip archive, which .npz files are: {}",
                  path, why);
    }
    return std::unique_ptr<Archive>(new Archive(path, handle));
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() { zip_discard(handle_); }

  std::uint64_t entries() const { return static_cast<std::uint64_t>(zip_get_num_entries(handle_, 0)); }

  Result<Array> array(std::uint64_t index) const {
    zip_stat_t status;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_NAME;
    if (zip_stat_index(handle_, index, 0, &status) != 0 || (status.valid & kNeeded) != kNeeded) {
      return fail(Reason::kInvalidInput, "{}: entry {} cannot be read", path_, index);
    }
    std::string name = status.name;
    if (!name.ends_with(".npy")) {
      return fail(Reason::kInvalidInput, "{}: holds '{}', which is no array of numpy (.npy)", path_, name);
    }
    name.resize(name.size() - 4);
    std::error_code unknown;
    const std::uintmax_t whole = fs::file_size(path_, unknown);
    if (unknown || status.size > std::max<std::uint64_t>(whole, kSmallest) * kMostGrowth) {
      return fail(Reason::kInvalidInput, "{}: '{}' is said to be {} bytes long, in a file of {}", path_, name,
                  status.size, whole);
    }
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(handle_, index, 0),
                                                                 zip_fclose);
    std::vector<std::byte> bytes(status.size);
    if (file == nullptr ||
        zip_fread(file.get(), bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size())) {
      return fail(Reason::kInvalidInput, "{}: '{}' cannot be read: {}; is the file damaged?", path_, name,
                  file == nullptr ? zip_strerror(handle_) : zip_file_strerror(file.get()));
    }
    return parse_npy(std::move(name), bytes);
  }

 private:
  Archive(std::string path, zip_t* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  zip_t* handle_;
};

Result<std::vector<std::byte>> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(file ? static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg()))
                                    : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) {
    return fail(Reason::kInvalidInput, "{}: cannot be read", path);
  }
  return bytes;
}

}  // namespace

Result<Array> parse_npy(std::string name, std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || text.size() < 10) {
    return fail(Reason::kInvalidInput, "array '{}' does not begin as numpy's .npy files do", name);
  }
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(file[i]); };
  const bool wide = byte(6) >= 2;  // versions 2 and 3 have a length of four bytes
  const std::size_t begin = wide ? 12 : 10;
  if (byte(6) < 1 || byte(6) > 3 || file.size() < begin) {
    return fail(Reason::kUnsupported, "array '{}' is of version {} of numpy's format; 1 to 3 are read", name,
                byte(6));
  }
  const std::size_t length = byte(8) | byte(9) << 8U | (wide ? byte(10) << 16U | byte(11) << 24U : 0U);
  if (length > file.size() - begin) {
    return fail(Reason::kInvalidInput, "array '{}' ends within its header", name);
  }
  const auto header = HeaderScanner(text.substr(begin, length)).scan();
  if (!header) {
    return fail(Reason::kUnsupported,
                "array '{}' has a header that is not understood (arrays of records are not read): {}", name,
                text.substr(begin, std::min<std::size_t>(length, 200)));
  }
  Array array{std::move(name), DataType::kUndefined, header->shape, {}};
  TOUCHSTONE_ASSIGN(array.type, type_of(array.name, header->type));
  const auto data = file.subspan(begin + length);
  const auto size = size_of(array.type, array.shape);
  if (!size || *size != data.size()) {
    return fail(Reason::kInvalidInput, "array '{}' has {} bytes of data where its shape [{}] needs {}",
                array.name, data.size(), fmt::join(array.shape, ","),
                size ? std::to_string(*size) : "more than there can be");
  }
  if (header->fortran && array.shape.size() > 1) {
    array.bytes.resize(data.size());
    turn(data, array.shape, byte_size(array.type, 1), array.bytes);
  } else {
    array.bytes.assign(data.begin(), data.end());
  }
  return array;
}

Result<std::vector<Array>> read_arrays(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return fail(Reason::kInvalidInput, "{}: there is no such file", path);
  }
  std::vector<Array> arrays;
  const auto in_file = [&](Result<Array> array) -> Result<void> {
    if (!array) {
      const std::string& message = array.error().message;
      return message.starts_with(path) ? Result<void>(tl::unexpected(array.error()))
                                       : fail(array.error().reason, "{}: {}", path, message);
    }
    arrays.push_back(std::move(*array));
    return {};
  };
  if (fs::path(path).extension() == ".npy") {
    TOUCHSTONE_ASSIGN(const auto bytes, read_file(path));
    TOUCHSTONE_TRY(in_file(parse_npy("", bytes)));
    return arrays;
  }
  TOUCHSTONE_ASSIGN(const auto archive, Archive::open(path));
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < archive->entries(); ++i) {
    TOUCHSTONE_TRY(in_file(archive->array(i)));
    if (!names.insert(arrays.back().name).second) {
      return fail(Reason::kInvalidInput, "{}: holds array '{}' twice", path, arrays.back().name);
    }
  }
  return arrays;
}

}  // namespace touchstone
