/* A codec library that encodes for 2 ms and decodes for 3 ms. The bytes of the object are the payload. */
#include <hopmeter/codec.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kEncodeUs = 2000, kDecodeUs = 3000, kMostBytes = 4096 };

struct bytes {
  size_t size;
  uint8_t data[kMostBytes];
};

static long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void spin(long us) {
  const long end_us = now_us() + us;
  while (now_us() <= end_us) {
  }
}

static void* copy(const uint8_t* bytes, size_t size) {
  struct bytes* made = malloc(sizeof(struct bytes));
  if (made == NULL || size > kMostBytes) return NULL;
  made->size = size;
  memcpy(made->data, bytes, size);
  return made;
}

static void* open_encoder(void) { return malloc(1); }

static const uint8_t* encode(const void* object, void* encoder, size_t* size) {
  (void)encoder;
  spin(kEncodeUs);
  *size = ((const struct bytes*)object)->size;
  return ((const struct bytes*)object)->data;
}

static void* decode(const uint8_t* payload, size_t size) {
  spin(kDecodeUs);
  return copy(payload, size);
}

static int equal(const void* object, const void* decoded) {
  const struct bytes *one = object, *other = decoded;
  return one->size == other->size && memcmp(one->data, other->data, one->size) == 0;
}

const struct hopmeter_codec_functions* hopmeter_codec(void) {
  static const struct hopmeter_codec_functions functions = {
      HOPMETER_CODEC_ABI, copy, free, open_encoder, free, encode, decode, free, equal};
  return &functions;
}
