// SPDX-License-Identifier: Apache-2.0
#include "convert_array.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "graph/half.h"

namespace touchstone {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};

// Calls `use` with a value of the C++ type that stands for `type`; false where none does.
template <class Use>
bool with_type(DataType type, const Use& use) {
  switch (type) {
    case DataType::kFloat:
      use(float{});
      return true;
    case DataType::kDouble:
      use(double{});
      return true;
    case DataType::kFloat16:
      use(Half{});
      return true;
    case DataType::kBfloat16:
      use(Brain{});
      return true;
    case DataType::kBool:
      use(bool{});
      return true;
    case DataType::kInt8:
      use(std::int8_t{});
      return true;
    case DataType::kInt16:
      use(std::int16_t{});
      return true;
    case DataType::kInt32:
      use(std::int32_t{});
      return true;
    case DataType::kInt64:
      use(std::int64_t{});
      return true;
    case DataType::kUint8:
      use(std::uint8_t{});
      return true;
    case DataType::kUint16:
      use(std::uint16_t{});
      return true;
    case DataType::kUint32:
      use(std::uint32_t{});
      return true;
    case DataType::kUint64:
      use(std::uint64_t{});
      return true;
    default:
      return false;
  }
}

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

template <class T>
T load(const std::byte* at) {
  if constexpr (std::is_same_v<T, bool>) {
    return std::to_integer<int>(*at) != 0;
  } else {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
}

// Floating point goes through double, which holds every one of them; integers are compared as they are.
template <class T>
auto plain(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<double>(float_from_float16(value.bits));
  } else if constexpr (std::is_same_v<T, Brain>) {
    return static_cast<double>(float_from_bfloat16(value.bits));
  } else if constexpr (std::is_same_v<T, float>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return static_cast<std::uint8_t>(value);
  } else {
    return value;
  }
}

template <class To, class From>
To rounded_to(From value) {
  if constexpr (std::is_same_v<To, Half>) {
    return Half{float16_bits(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Brain>) {
    return Brain{bfloat16_bits(static_cast<float>(value))};
  } else {
    return static_cast<To>(value);
  }
}

enum class Fit { kExact, kRounded, kNot };

template <class To, class From>
Fit convert_one(const std::byte* from, std::byte* to) {
  const auto value = plain(load<From>(from));
  if constexpr (kIsFloat<To>) {
    const To converted = rounded_to<To>(value);
    std::memcpy(to, &converted, sizeof(To));
    const double back = plain(converted);
    const bool same = back == static_cast<double>(value) || (back != back && value != value);
    return same ? Fit::kExact : kIsFloat<From> ? Fit::kRounded : Fit::kNot;
  } else if constexpr (kIsFloat<From>) {
    return Fit::kNot;
  } else if constexpr (std::is_same_v<To, bool>) {
    const std::uint8_t flag = value != 0 ? 1 : 0;
    std::memcpy(to, &flag, 1);
    return std::cmp_equal(value, flag) ? Fit::kExact : Fit::kNot;
  } else {
    const To converted = static_cast<To>(value);
    std::memcpy(to, &converted, sizeof(To));
    return std::cmp_equal(converted, value) ? Fit::kExact : Fit::kNot;
  }
}

template <class To, class From>
Result<Array> convert(const Array& array, DataType type, bool& rounded) {
  constexpr std::size_t kFrom = sizeof(From);
  constexpr std::size_t kTo = sizeof(To);
  const std::size_t count = element_count(array.shape);
  Array out{array.name, type, array.shape, std::vector<std::byte>(count * kTo)};
  for (std::size_t i = 0; i < count; ++i) {
    const Fit fit = convert_one<To, From>(array.bytes.data() + i * kFrom, out.bytes.data() + i * kTo);
    rounded = rounded || fit == Fit::kRounded;
    if (fit == Fit::kNot) {
      return fail(Reason::kInvalidInput,
                  "array '{}' is {}; the model takes {}, which cannot hold its value {}", array.name,
                  to_string(array.type), to_string(type), plain(load<From>(array.bytes.data() + i * kFrom)));
    }
  }
  return out;
}

}  // namespace

Result<Array> convert_array(Array array, DataType type, bool& rounded) {
  if (array.type == type) {
    return array;
  }
  Result<Array> converted = fail(Reason::kInvalidInput, "array '{}' is {}; the model takes {}", array.name,
                                 to_string(array.type), to_string(type));
  with_type(type, [&](auto to) {
    with_type(array.type,
              [&](auto from) { converted = convert<decltype(to), decltype(from)>(array, type, rounded); });
  });
  return converted;
}

}  // namespace touchstone
