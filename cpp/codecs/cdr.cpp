// A codec library for one ROS 2 message type, which encodes with Fast CDR as ROS 2 does. The build defines
// HOPMETER_GENERATED, the header with the message structs, and Message, the type to send.
#include HOPMETER_GENERATED

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastcdr/exceptions/Exception.h>
#include <fastcdr/exceptions/NotEnoughMemoryException.h>
#include <hopmeter/codec.h>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

// The encapsulation header: CDR, little-endian, then two bytes of options.
constexpr uint8_t kEncapsulation[] = {0, 1, 0, 0};
constexpr size_t kFirstBytes = 1024;
// The maximum padding after a message: some middlewares round the size up to a multiple of 4.
constexpr size_t kMostPadding = 3;

// Thrown if the values are not a valid message, for example if a string is too long.
struct Refused {};

template <class T>
constexpr size_t least_bytes(const T*) {
  if constexpr (std::is_arithmetic_v<T>) {
    return sizeof(T);
  } else {
    return T::kLeastBytes;
  }
}
// An empty sequence or string is encoded as its length only.
template <class T>
constexpr size_t least_bytes(const std::vector<T>*) {
  return sizeof(uint32_t);
}
constexpr size_t least_bytes(const std::string*) { return sizeof(uint32_t); }

// Writes the fields of a message.
struct Writer {
  Cdr& cdr;

  template <class T>
  void operator()(const T& value, size_t = 0) {
    if constexpr (std::is_arithmetic_v<T>) {
      cdr.serialize(value);
    } else {
      T::visit(value, *this);
    }
  }
  void operator()(const std::string& text, size_t = 0) { cdr.serialize(text); }

  template <class T, size_t N>
  void operator()(const std::array<T, N>& values, size_t = 0) {
    all(values);
  }

  template <class T>
  void operator()(const std::vector<T>& values, size_t = 0, size_t = 0) {
    cdr.serialize(static_cast<uint32_t>(values.size()));
    if (!values.empty()) all(values);
  }

 private:
  template <class Values>
  void all(const Values& values) {
    if constexpr (std::is_same_v<Values, std::vector<bool>>) {
      for (const bool value : values) cdr.serialize(value);
    } else if constexpr (std::is_arithmetic_v<typename Values::value_type>) {
      cdr.serializeArray(values.data(), values.size());
    } else {
      for (const auto& value : values) (*this)(value);
    }
  }
};

// Reads the fields of a message. Before allocating memory, refuses a sequence that is longer than the remaining
// payload.
struct Reader {
  Cdr& cdr;
  const char* end;

  template <class T>
  void operator()(T& value, size_t = 0) {
    if constexpr (std::is_arithmetic_v<T>) {
      cdr.deserialize(value);
    } else {
      T::visit(value, *this);
    }
  }

  void operator()(std::string& text, size_t most = 0) {
    cdr.deserialize(text);
    if (most != 0 && text.size() > most) throw Refused();
  }

  template <class T, size_t N>
  void operator()(std::array<T, N>& values, size_t most_text = 0) {
    all(values, most_text);
  }

  template <class T>
  void operator()(std::vector<T>& values, size_t most_text = 0, size_t most = 0) {
    uint32_t count = 0;
    cdr.deserialize(count);
    if ((most != 0 && count > most) || count > remaining_bytes() / least_bytes(static_cast<const T*>(nullptr)))
      throw Refused();
    values.resize(count);
    if (count != 0) all(values, most_text);
  }

 private:
  size_t remaining_bytes() const { return static_cast<size_t>(end - cdr.getCurrentPosition()); }

  template <class Values>
  void all(Values& values, size_t most_text) {
    // Reads the bytes one by one, because only 0 and 1 are valid bool values.
    if constexpr (std::is_same_v<typename Values::value_type, bool>) {
      for (auto&& value : values) value = read_bool();
    } else if constexpr (std::is_arithmetic_v<typename Values::value_type>) {
      cdr.deserializeArray(values.data(), values.size());
    } else {
      for (auto& value : values) (*this)(value, most_text);
    }
  }

  bool read_bool() {
    bool value = false;
    cdr.deserialize(value);
    return value;
  }
};

// The memory of one encoder, in which padding bytes are always zero.
using Buffer = std::vector<char>;

// Encodes the message into the buffer, which grows if necessary, and returns the number of bytes.
size_t write(const Message& message, Buffer& buffer) {
  if (buffer.empty()) buffer.resize(kFirstBytes);
  for (;; buffer.resize(buffer.size() * 2)) {
    FastBuffer memory(buffer.data() + sizeof kEncapsulation, buffer.size() - sizeof kEncapsulation);
    Cdr cdr(memory, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    try {
      Writer writer{cdr};
      writer(message);
    } catch (const eprosima::fastcdr::exception::NotEnoughMemoryException&) {
      continue;
    }
    std::memcpy(buffer.data(), kEncapsulation, sizeof kEncapsulation);
    return sizeof kEncapsulation + cdr.getSerializedDataLength();
  }
}

void read_fields(Message& message, const uint8_t* bytes, size_t size) {
  // Fast CDR takes a non-const pointer, but does not write through the pointer here.
  char* first = const_cast<char*>(reinterpret_cast<const char*>(bytes));
  FastBuffer memory(first, size);
  Cdr cdr(memory, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
  Reader reader{cdr, first + size};
  reader(message);
  if (cdr.getSerializedDataLength() + kMostPadding < size) throw Refused();
}

std::unique_ptr<Message> read(const uint8_t* bytes, size_t size) noexcept {
  if (size <= sizeof kEncapsulation || bytes[0] != kEncapsulation[0] || bytes[1] != kEncapsulation[1]) return nullptr;
  try {
    auto message = std::make_unique<Message>();
    read_fields(*message, bytes + sizeof kEncapsulation, size - sizeof kEncapsulation);
    return message;
  } catch (...) {
    return nullptr;
  }
}

// The object to send, with its encoded bytes for comparisons.
struct Object {
  std::unique_ptr<Message> message;
  Buffer bytes;
};

Buffer encoded_bytes(const Message& message) {
  Buffer buffer;
  buffer.resize(write(message, buffer));
  return buffer;
}

void* open(const uint8_t* bytes, size_t size) noexcept {
  auto message = read(bytes, size);
  if (!message) return nullptr;
  auto object = std::make_unique<Object>();
  object->bytes = encoded_bytes(*message);
  object->message = std::move(message);
  return object.release();
}

void close(void* object) noexcept { delete static_cast<Object*>(object); }

void* open_encoder() noexcept { return new Buffer; }

void close_encoder(void* encoder) noexcept { delete static_cast<Buffer*>(encoder); }

const uint8_t* encode(const void* object, void* encoder, size_t* size) noexcept {
  auto& buffer = *static_cast<Buffer*>(encoder);
  *size = write(*static_cast<const Object*>(object)->message, buffer);
  return reinterpret_cast<const uint8_t*>(buffer.data());
}

void* decode(const uint8_t* payload, size_t size) noexcept { return read(payload, size).release(); }

void close_decoded(void* decoded) noexcept { delete static_cast<Message*>(decoded); }

int equal(const void* object, const void* decoded) noexcept {
  return encoded_bytes(*static_cast<const Message*>(decoded)) == static_cast<const Object*>(object)->bytes;
}

}  // namespace

extern "C" const hopmeter_codec_functions* hopmeter_codec(void) {
  static const hopmeter_codec_functions functions = {
      HOPMETER_CODEC_ABI, open, close, open_encoder, close_encoder, encode, decode, close_decoded, equal};
  return &functions;
}
