// A codec library for one FlatBuffers table type. The build defines HOPMETER_GENERATED, the header that flatc
// generated, and HOPMETER_ALIGNMENT, the alignment of the table's payload. flatc generated the header for a schema with
// the table as a field.
#include HOPMETER_GENERATED

#include <hopmeter/codec.h>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using Field = decltype(std::declval<const hopmeter_probe::Probe&>().message());
using Message = std::remove_cv_t<std::remove_pointer_t<Field>>;
using NativeObject = Message::NativeTableType;
using flatbuffers::FlatBufferBuilder;

// Scalars have at most 8 bytes; a struct with `force_align` may need a larger alignment.
constexpr size_t kAlignment = HOPMETER_ALIGNMENT;
constexpr flatbuffers::uoffset_t kMostDepth = 64;
// The minimum size of a table together with the offset that refers to the table. This size limits the number of tables
// in a payload.
constexpr size_t kLeastTableBytes = 4;

void pack(const NativeObject& object, FlatBufferBuilder& builder) {
  builder.Clear();
  builder.Finish(Message::Pack(builder, &object));
}

// The object to send, with its encoded bytes for comparisons.
struct Object {
  NativeObject object;
  std::vector<uint8_t> bytes;
};

// A verified table in the payload's memory, or in an aligned copy if that memory is not aligned.
struct Decoded {
  const Message* message = nullptr;
  std::unique_ptr<std::max_align_t[]> copy;
};

const Message* verify(const uint8_t* bytes, size_t size) {
  if (size > FLATBUFFERS_MAX_BUFFER_SIZE) return nullptr;
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(size / kLeastTableBytes + 1);
  flatbuffers::Verifier verifier(bytes, size, kMostDepth, most_tables);
  return verifier.VerifyBuffer<Message>(nullptr) ? flatbuffers::GetRoot<Message>(bytes) : nullptr;
}

const uint8_t* align(const uint8_t* bytes, size_t size, Decoded& decoded) {
  if (reinterpret_cast<uintptr_t>(bytes) % kAlignment == 0) return bytes;
  decoded.copy = std::make_unique<std::max_align_t[]>(size / sizeof(std::max_align_t) + 1);
  std::memcpy(decoded.copy.get(), bytes, size);
  return reinterpret_cast<const uint8_t*>(decoded.copy.get());
}

std::unique_ptr<Decoded> read(const uint8_t* bytes, size_t size) {
  auto decoded = std::make_unique<Decoded>();
  decoded->message = verify(align(bytes, size, *decoded), size);
  return decoded->message ? std::move(decoded) : nullptr;
}

std::vector<uint8_t> packed_bytes(const NativeObject& object) {
  FlatBufferBuilder builder;
  pack(object, builder);
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void* open(const uint8_t* bytes, size_t size) noexcept {
  const auto decoded = read(bytes, size);
  if (!decoded) return nullptr;
  auto object = std::make_unique<Object>();
  decoded->message->UnPackTo(&object->object);
  object->bytes = packed_bytes(object->object);
  return object.release();
}

void close(void* object) noexcept { delete static_cast<Object*>(object); }

void* open_encoder() noexcept { return new FlatBufferBuilder; }

void close_encoder(void* encoder) noexcept { delete static_cast<FlatBufferBuilder*>(encoder); }

const uint8_t* encode(const void* object, void* encoder, size_t* size) noexcept {
  auto& builder = *static_cast<FlatBufferBuilder*>(encoder);
  pack(static_cast<const Object*>(object)->object, builder);
  *size = builder.GetSize();
  return builder.GetBufferPointer();
}

void* decode(const uint8_t* payload, size_t size) noexcept { return read(payload, size).release(); }

void close_decoded(void* decoded) noexcept { delete static_cast<Decoded*>(decoded); }

int equal(const void* object, const void* decoded) noexcept {
  NativeObject came;
  static_cast<const Decoded*>(decoded)->message->UnPackTo(&came);
  return packed_bytes(came) == static_cast<const Object*>(object)->bytes;
}

}  // namespace

extern "C" const hopmeter_codec_functions* hopmeter_codec(void) {
  static const hopmeter_codec_functions functions = {
      HOPMETER_CODEC_ABI, open, close, open_encoder, close_encoder, encode, decode, close_decoded, equal};
  return &functions;
}
