// Gives a codec library frames that are cut off, altered or random. Compiled with sanitizers, which end the program at
// the first undefined behaviour. `hostile FILE`: FILE has the encoded object. Prints how many frames were invalid,
// different from the object, and equal.
#include <hopmeter/codec.h>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kFrames = 20'000;
constexpr size_t kMostRandomBytes = 300;

struct Counts {
  long invalid = 0, different = 0, equal = 0;
};

// The frame's memory has exactly the frame's size, so that the sanitizer detects a read beyond its end.
void judge(const hopmeter_codec_functions& codec, const void* object, const Bytes& frame, Counts& counts) {
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
  std::copy(frame.begin(), frame.end(), exact.get());
  void* decoded = codec.decode(exact.get(), frame.size());
  if (decoded == nullptr) {
    ++counts.invalid;
    return;
  }
  ++(codec.equal(object, decoded) == 1 ? counts.equal : counts.different);
  codec.close_decoded(decoded);
}

Bytes alter(Bytes frame, std::mt19937& dice) {
  for (auto changes = 1 + dice() % 4; changes > 0; --changes)
    frame[dice() % frame.size()] = static_cast<uint8_t>(dice());
  if (dice() % 3 == 0) frame.resize(dice() % frame.size());
  return frame;
}

Bytes random_frame(std::mt19937& dice) {
  Bytes frame(dice() % kMostRandomBytes);
  for (auto& byte : frame) byte = static_cast<uint8_t>(dice());
  return frame;
}

}  // namespace

int main(int, char** argv) {
  std::ifstream file(argv[1], std::ios::binary);
  const Bytes whole((std::istreambuf_iterator<char>(file)), {});
  const auto& codec = *hopmeter_codec();
  void* object = codec.open(whole.data(), whole.size());
  std::mt19937 dice(7);
  Counts counts;
  for (size_t size = 0; size < whole.size(); ++size)
    judge(codec, object, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), counts);
  for (int frame = 0; frame < kFrames; ++frame) {
    judge(codec, object, alter(whole, dice), counts);
    judge(codec, object, random_frame(dice), counts);
  }
  codec.close(object);
  std::printf("%ld %ld %ld\n", counts.invalid, counts.different, counts.equal);
}
