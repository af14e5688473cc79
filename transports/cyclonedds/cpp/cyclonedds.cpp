/// The adapter for Cyclone DDS, through its C API. ../idl defines the messages; the shared code is in
/// ../../_cyclonedds.
#include "cyclone/hopmeter.h"
#include "ends.hpp"
#include "hopmeter/choice.hpp"

using namespace hopmeter;

namespace {

/// Topic names must begin with a letter; link names may begin with another character.
std::string topic_of(const std::string& link) { return "hopmeter_" + link; }

struct Timing {
  using Sample = message_Timing;
  static constexpr const dds_topic_descriptor_t& type = message_Timing_desc;
  static std::string topic(const std::string& link) { return topic_of(link); }
  static void shape(Sample&, const Link&) {}
  static auto& text(auto& sample) { return sample.source; }
  static auto& octets(auto& sample) { return sample.padding; }
  static void stamp(Sample& sample, std::uint64_t seq, std::int64_t sent_ns) {
    sample.id = static_cast<std::int64_t>(seq);
    sample.nanosec = sent_ns;
  }
  static std::int64_t sent_ns(const Sample& sample) { return sample.nanosec; }
};

struct Image {
  using Sample = message_Image;
  static constexpr const dds_topic_descriptor_t& type = message_Image_desc;
  static std::string topic(const std::string& link) { return topic_of(link); }
  static void shape(Sample& sample, const Link& link) { cyclone::set_shape(sample, link); }
  static auto& text(auto& sample) { return sample.frame_id; }
  static auto& octets(auto& sample) { return sample.data; }
  static void stamp(Sample& sample, std::uint64_t, std::int64_t sent_ns) { set_time(sample.stamp, sent_ns); }
  static std::int64_t sent_ns(const Sample& sample) { return nanoseconds(sample.stamp); }
};

struct CycloneDds final : cyclone::DdsTransport<MessageTypes<Timing, Image>> {
  explicit CycloneDds(const Setup& setup) : DdsTransport(setup, {.is_tagged = true}) {}
  static std::string version() { return cyclone::version(); }
};

}  // namespace

int main(int argc, char** argv) { return run<CycloneDds>(argc, argv); }
