/* The C ABI of a codec library: the generated code for one message of a schema, built by `hopmeter build --message`.
 * Nodes load the library at run time (instrument/src/codec_library.rs has the same table in Rust). */
#ifndef HOPMETER_CODEC_H
#define HOPMETER_CODEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this table. */
#define HOPMETER_CODEC_ABI 1u

/* The functions of a codec library. Several threads may call these functions at once, each with its own encoder. */
struct hopmeter_codec_functions {
  uint32_t abi;
  /* Creates the object to send from its encoded form; returns null if the bytes are not a valid message. */
  void* (*open)(const uint8_t* bytes, size_t size);
  void (*close)(void* object);
  /* Allocates the memory that one thread encodes into. */
  void* (*open_encoder)(void);
  void (*close_encoder)(void* encoder);
  /* Encodes the object. Returns the encoded bytes, which are valid until the next call with this encoder, and their
   * number; null if the object cannot be encoded. */
  const uint8_t* (*encode)(const void* object, void* encoder, size_t* size);
  /* Decodes and verifies a payload; returns null if the payload is not a valid message. The decoded object may refer to
   * the payload. */
  void* (*decode)(const uint8_t* payload, size_t size);
  void (*close_decoded)(void* decoded);
  /* Returns 1 if a decoded object equals the object that was sent. */
  int (*equal)(const void* object, const void* decoded);
};

/* The only function that a codec library exports. */
const struct hopmeter_codec_functions* hopmeter_codec(void);

#ifdef __cplusplus
}
#endif

#endif
