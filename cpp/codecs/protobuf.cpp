// A codec library for one Protocol Buffers message type. The build defines HOPMETER_GENERATED, the header that protoc
// generated for a schema with the message as a field.
#include HOPMETER_GENERATED

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <hopmeter/codec.h>
#include <climits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using Message = std::decay_t<decltype(std::declval<const hopmeter_probe::Probe&>().message())>;

// The object to send, with its encoded bytes for comparisons.
struct Object {
  Message message;
  std::string bytes;
};

bool parse(Message& message, const uint8_t* bytes, size_t size) {
  return size <= INT_MAX && message.ParseFromArray(bytes, static_cast<int>(size));
}

// Encodes a message with sorted map entries, so that equal messages have equal bytes.
std::string sorted_bytes(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

void* open(const uint8_t* bytes, size_t size) noexcept {
  auto object = std::make_unique<Object>();
  if (!parse(object->message, bytes, size)) return nullptr;
  object->bytes = sorted_bytes(object->message);
  return object.release();
}

void close(void* object) noexcept { delete static_cast<Object*>(object); }

void* open_encoder() noexcept { return new std::string; }

void close_encoder(void* encoder) noexcept { delete static_cast<std::string*>(encoder); }

const uint8_t* encode(const void* object, void* encoder, size_t* size) noexcept {
  auto& bytes = *static_cast<std::string*>(encoder);
  if (!static_cast<const Object*>(object)->message.SerializeToString(&bytes)) return nullptr;
  *size = bytes.size();
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

void* decode(const uint8_t* payload, size_t size) noexcept {
  auto message = std::make_unique<Message>();
  return parse(*message, payload, size) ? message.release() : nullptr;
}

void close_decoded(void* decoded) noexcept { delete static_cast<Message*>(decoded); }

int equal(const void* object, const void* decoded) noexcept {
  return sorted_bytes(*static_cast<const Message*>(decoded)) == static_cast<const Object*>(object)->bytes;
}

}  // namespace

extern "C" const hopmeter_codec_functions* hopmeter_codec(void) {
  static const hopmeter_codec_functions functions = {
      HOPMETER_CODEC_ABI, open, close, open_encoder, close_encoder, encode, decode, close_decoded, equal};
  return &functions;
}
