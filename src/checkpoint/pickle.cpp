// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pickle.h"

#include <bit>
#include <cstring>
#include <deque>
#include <optional>

namespace touchstone {
namespace {

// Values lie in one arena and name each other by index, so that nesting and cycles cost no stack.
using Index = std::uint32_t;

struct Value {
  enum class Kind { kNone, kInteger, kReal, kText, kSequence, kDictionary, kGlobal, kStorage, kTensor };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // kInteger; kStorage: elements; kTensor: offset
  std::string text;          // kText, kGlobal: module and name; kStorage: key
  std::vector<Index>
      items;  // kSequence; kDictionary: keys and values by turns; kTensor: storage, shape, strides
  DataType type = DataType::kUndefined;  // kStorage
};

using Kind = Value::Kind;

std::optional<DataType> storage_type(const std::string& global) {
  static const std::map<std::string, DataType> kTypes = {
      {"torch FloatStorage", DataType::kFloat},  {"torch DoubleStorage", DataType::kDouble},
      {"torch HalfStorage", DataType::kFloat16}, {"torch BFloat16Storage", DataType::kBfloat16},
      {"torch LongStorage", DataType::kInt64},   {"torch IntStorage", DataType::kInt32},
      {"torch ShortStorage", DataType::kInt16},  {"torch CharStorage", DataType::kInt8},
      {"torch ByteStorage", DataType::kUint8},   {"torch BoolStorage", DataType::kBool},
  };
  const auto found = kTypes.find(global);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

class Unpickler {
 public:
  explicit Unpickler(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::map<std::string, PickledTensor>> read() {
    while (true) {
      if (at_ >= bytes_.size()) {
        return wrong("ends without its end mark");
      }
      const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
      if (opcode == '.') {
        return tensors();
      }
      TOUCHSTONE_TRY(step(opcode));
    }
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(Reason::kInvalidModel, "its pickle {} (byte {})", what, at_);
  }

  template <class T>
  Result<T> number() {
    T value{};
    if (bytes_.size() - at_ < sizeof(T)) {
      return wrong("ends in the middle of a number");
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  Result<std::string> characters(std::size_t length) {
    if (bytes_.size() - at_ < length) {
      return wrong("ends in the middle of a string");
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
    at_ += length;
    return text;
  }

  Result<std::string> line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      return wrong("ends in the middle of a name");
    }
    at_ += end + 1;
    return std::string(rest.substr(0, end));
  }

  void push(Value value) {
    values_.push_back(std::move(value));
    stack_.push_back(static_cast<Index>(values_.size() - 1));
  }
  void push_integer(std::int64_t integer) { push({Kind::kInteger, integer, {}, {}, {}}); }
  void push_text(std::string text) { push({Kind::kText, 0, std::move(text), {}, {}}); }

  Result<Index> pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) {
      return wrong("takes more from its stack than lies there");
    }
    const Index top = stack_.back();
    stack_.pop_back();
    return top;
  }

  Result<Index> top() {
    TOUCHSTONE_ASSIGN(const Index index, pop());
    stack_.push_back(index);
    return index;
  }

  Result<std::vector<Index>> pop_to_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) {
      return wrong("closes what it never opened");
    }
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }

  Result<void> push_tuple(std::size_t length) {
    std::vector<Index> items(length);
    for (std::size_t i = length; i-- > 0;) {
      TOUCHSTONE_ASSIGN(items[i], pop());
    }
    push({Kind::kSequence, 0, {}, std::move(items), {}});
    return {};
  }

  Result<void> extend(Kind kind, const std::vector<Index>& items) {
    TOUCHSTONE_ASSIGN(const Index target, top());
    Value& value = values_[target];
    if (value.kind != kind || (kind == Kind::kDictionary && items.size() % 2 != 0)) {
      return wrong("adds to what takes no items");
    }
    value.items.insert(value.items.end(), items.begin(), items.end());
    return {};
  }

  Result<void> remember(std::size_t place) {
    TOUCHSTONE_ASSIGN(memo_[place], top());
    return {};
  }

  Result<void> recall(std::size_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) {
      return wrong("recalls what it never stored");
    }
    stack_.push_back(found->second);
    return {};
  }

  Result<void> step(unsigned char opcode);
  Result<void> step_atom(unsigned char opcode);
  Result<void> step_container(unsigned char opcode);
  Result<void> long_integer();
  Result<void> persistent();
  Result<void> reduce();
  Result<void> rebuild(const std::vector<Index>& arguments);
  Result<std::vector<std::int64_t>> integers(Index index) const;
  Result<std::map<std::string, PickledTensor>> tensors() const;
  Result<PickledTensor> tensor(const std::string& name, const Value& value) const;

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::deque<Value> values_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::size_t, Index> memo_;
};

Result<void> Unpickler::step(unsigned char opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      TOUCHSTONE_ASSIGN(const auto protocol, number<std::uint8_t>());
      if (protocol < 2 || protocol > 4) {
        return wrong(fmt::format("is of protocol {}; read are 2 to 4", protocol));
      }
      return {};
    }
    case 0x95:  // FRAME
      TOUCHSTONE_TRY(number<std::uint64_t>());
      return {};
    case 'q': {  // BINPUT
      TOUCHSTONE_ASSIGN(const auto place, number<std::uint8_t>());
      return remember(place);
    }
    case 'r': {  // LONG_BINPUT
      TOUCHSTONE_ASSIGN(const auto place, number<std::uint32_t>());
      return remember(place);
    }
    case 0x94:  // MEMOIZE
      return remember(memo_.size());
    case 'h': {  // BINGET
      TOUCHSTONE_ASSIGN(const auto place, number<std::uint8_t>());
      return recall(place);
    }
    case 'j': {  // LONG_BINGET
      TOUCHSTONE_ASSIGN(const auto place, number<std::uint32_t>());
      return recall(place);
    }
    case 'Q':  // BINPERSID
      return persistent();
    case 'R':  // REDUCE
      return reduce();
    case 'b':  // BUILD: the state of a dictionary or tensor says nothing of its values
      TOUCHSTONE_TRY(pop());
      return {};
    default:
      return step_atom(opcode);
  }
}

Result<void> Unpickler::step_atom(unsigned char opcode) {
  switch (opcode) {
    case 'N':  // NONE
      push({});
      return {};
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push_integer(opcode == 0x88 ? 1 : 0);
      return {};
    case 'K': {  // BININT1
      TOUCHSTONE_ASSIGN(const auto value, number<std::uint8_t>());
      push_integer(value);
      return {};
    }
    case 'M': {  // BININT2
      TOUCHSTONE_ASSIGN(const auto value, number<std::uint16_t>());
      push_integer(value);
      return {};
    }
    case 'J': {  // BININT
      TOUCHSTONE_ASSIGN(const auto value, number<std::int32_t>());
      push_integer(value);
      return {};
    }
    case 0x8a:  // LONG1
      return long_integer();
    case 'G':  // BINFLOAT
      TOUCHSTONE_TRY(number<std::uint64_t>());
      push({Kind::kReal, 0, {}, {}, {}});
      return {};
    case 'X': {  // BINUNICODE
      TOUCHSTONE_ASSIGN(const auto length, number<std::uint32_t>());
      TOUCHSTONE_ASSIGN(std::string text, characters(length));
      push_text(std::move(text));
      return {};
    }
    case 0x8c: {  // SHORT_BINUNICODE
      TOUCHSTONE_ASSIGN(const auto length, number<std::uint8_t>());
      TOUCHSTONE_ASSIGN(std::string text, characters(length));
      push_text(std::move(text));
      return {};
    }
    case 'c': {  // GLOBAL
      TOUCHSTONE_ASSIGN(const std::string module, line());
      TOUCHSTONE_ASSIGN(const std::string name, line());
      push({Kind::kGlobal, 0, module + " " + name, {}, {}});
      return {};
    }
    case 0x93: {  // STACK_GLOBAL
      TOUCHSTONE_ASSIGN(const Index name, pop());
      TOUCHSTONE_ASSIGN(const Index module, pop());
      push({Kind::kGlobal, 0, values_[module].text + " " + values_[name].text, {}, {}});
      return {};
    }
    default:
      return step_container(opcode);
  }
}

Result<void> Unpickler::step_container(unsigned char opcode) {
  switch (opcode) {
    case '}':  // EMPTY_DICT
      push({Kind::kDictionary, 0, {}, {}, {}});
      return {};
    case ']':  // EMPTY_LIST
    case ')':  // EMPTY_TUPLE
      push({Kind::kSequence, 0, {}, {}, {}});
      return {};
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return {};
    case 't': {  // TUPLE
      TOUCHSTONE_ASSIGN(auto items, pop_to_mark());
      push({Kind::kSequence, 0, {}, std::move(items), {}});
      return {};
    }
    case 0x85:  // TUPLE1, TUPLE2, TUPLE3
    case 0x86:
    case 0x87:
      return push_tuple(opcode - 0x84U);
    case 's': {  // SETITEM
      TOUCHSTONE_ASSIGN(const Index value, pop());
      TOUCHSTONE_ASSIGN(const Index key, pop());
      return extend(Kind::kDictionary, {key, value});
    }
    case 'u': {  // SETITEMS
      TOUCHSTONE_ASSIGN(const auto items, pop_to_mark());
      return extend(Kind::kDictionary, items);
    }
    case 'a': {  // APPEND
      TOUCHSTONE_ASSIGN(const Index item, pop());
      return extend(Kind::kSequence, {item});
    }
    case 'e': {  // APPENDS
      TOUCHSTONE_ASSIGN(const auto items, pop_to_mark());
      return extend(Kind::kSequence, items);
    }
    default:
      return wrong(fmt::format("holds the opcode 0x{:02x}, which no dictionary of tensors needs", opcode));
  }
}

// LONG1: little-endian two's complement.
Result<void> Unpickler::long_integer() {
  TOUCHSTONE_ASSIGN(const auto length, number<std::uint8_t>());
  TOUCHSTONE_ASSIGN(const std::string text, characters(length));
  if (length > sizeof(std::int64_t)) {
    return wrong(fmt::format("holds an integer of {} bytes", length));
  }
  std::uint64_t bits =
      !text.empty() && (static_cast<unsigned char>(text.back()) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
  std::memcpy(&bits, text.data(), text.size());
  push_integer(std::bit_cast<std::int64_t>(bits));
  return {};
}

// ('storage', type, key, device, elements)
Result<void> Unpickler::persistent() {
  TOUCHSTONE_ASSIGN(const Index index, pop());
  const Value& id = values_[index];
  if (id.kind != Kind::kSequence || id.items.size() < 5 || values_[id.items[0]].text != "storage" ||
      values_[id.items[2]].kind != Kind::kText || values_[id.items[4]].kind != Kind::kInteger) {
    return wrong("names a storage in a way that is not torch.save's");
  }
  const auto type = storage_type(values_[id.items[1]].text);
  if (!type) {
    return fail(Reason::kUnsupported, "its pickle holds a storage of kind '{}', which is not read",
                values_[id.items[1]].text);
  }
  push({Kind::kStorage, values_[id.items[4]].integer, values_[id.items[2]].text, {}, *type});
  return {};
}

Result<void> Unpickler::reduce() {
  TOUCHSTONE_ASSIGN(const Index arguments, pop());
  TOUCHSTONE_ASSIGN(const Index callable, pop());
  const std::string& name = values_[callable].text;
  if (values_[callable].kind != Kind::kGlobal || values_[arguments].kind != Kind::kSequence) {
    return wrong("calls what is no function");
  }
  if (name == "collections OrderedDict") {
    push({Kind::kDictionary, 0, {}, {}, {}});
    return {};
  }
  if (name == "torch._utils _rebuild_tensor_v2") {
    return rebuild(values_[arguments].items);
  }
  if (name == "torch._utils _rebuild_parameter" && !values_[arguments].items.empty()) {
    stack_.push_back(values_[arguments].items[0]);
    return {};
  }
  return fail(
      Reason::kUnsupported,
      "its pickle calls '{}'; only the calls that rebuild tensors are understood, and nothing is executed. "
      "Save the state dictionary alone: torch.save(model.state_dict(), …), or as safetensors",
      name);
}

// (storage, offset, shape, strides, …)
Result<void> Unpickler::rebuild(const std::vector<Index>& arguments) {
  if (arguments.size() < 4 || values_[arguments[0]].kind != Kind::kStorage ||
      values_[arguments[1]].kind != Kind::kInteger || values_[arguments[2]].kind != Kind::kSequence ||
      values_[arguments[3]].kind != Kind::kSequence) {
    return wrong("rebuilds a tensor from something else than storage, offset, shape and strides");
  }
  push({Kind::kTensor, values_[arguments[1]].integer, {}, {arguments[0], arguments[2], arguments[3]}, {}});
  return {};
}

Result<std::vector<std::int64_t>> Unpickler::integers(Index index) const {
  std::vector<std::int64_t> numbers;
  for (const Index item : values_[index].items) {
    if (values_[item].kind != Kind::kInteger || values_[item].integer < 0) {
      return wrong("gives a tensor a shape or stride that is no whole number");
    }
    numbers.push_back(values_[item].integer);
  }
  return numbers;
}

Result<PickledTensor> Unpickler::tensor(const std::string& name, const Value& value) const {
  const Value& storage = values_[value.items[0]];
  PickledTensor tensor{storage.text,
                       storage.type,
                       static_cast<std::uint64_t>(storage.integer),
                       static_cast<std::uint64_t>(value.integer),
                       {},
                       {}};
  TOUCHSTONE_ASSIGN(tensor.shape, integers(value.items[1]));
  TOUCHSTONE_ASSIGN(tensor.strides, integers(value.items[2]));
  std::int64_t last = value.integer;  // the element that lies furthest in the storage
  std::int64_t elements = 1;
  bool fits = tensor.shape.size() == tensor.strides.size() && last >= 0 && storage.integer >= 0;
  bool empty = false;
  for (std::size_t i = 0; fits && i < tensor.shape.size(); ++i) {
    const std::int64_t extent = tensor.shape[i];
    std::int64_t reach = 0;
    empty = empty || extent == 0;
    fits = !__builtin_mul_overflow(std::max<std::int64_t>(extent - 1, 0), tensor.strides[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last) &&
           !__builtin_mul_overflow(elements, std::max<std::int64_t>(extent, 1), &elements);
  }
  // Strides of 0 would let a small storage fill any memory.
  if (!fits || (!empty && (last >= storage.integer || elements > storage.integer))) {
    return fail(Reason::kInvalidModel, "tensor '{}' does not lie inside its storage of {} elements", name,
                storage.integer);
  }
  return tensor;
}

Result<std::map<std::string, PickledTensor>> Unpickler::tensors() const {
  if (stack_.size() != 1 || values_[stack_[0]].kind != Kind::kDictionary) {
    return wrong("holds no dictionary");
  }
  std::map<std::string, PickledTensor> found;
  const std::vector<Index>& items = values_[stack_[0]].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const Value& key = values_[items[i]];
    const Value& value = values_[items[i + 1]];
    if (key.kind == Kind::kText && value.kind == Kind::kTensor) {
      TOUCHSTONE_ASSIGN(found[key.text], tensor(key.text, value));
    }
  }
  if (found.empty()) {
    return wrong("holds no tensor at the top of its dictionary; expected is a state dictionary");
  }
  return found;
}

}  // namespace

Result<std::map<std::string, PickledTensor>> read_pickled_tensors(std::span<const std::byte> pickle) {
  return Unpickler(pickle).read();
}

}  // namespace touchstone
