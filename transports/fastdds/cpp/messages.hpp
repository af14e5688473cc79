/// The messages of ../idl, and the fields in which they store a frame; ../README.md lists the fields.
#pragma once

#include "ends.hpp"
#include "fast/hopmeterPubSubTypes.h"

/// The common parts of all message layouts.
template <class Generated>
struct Message {
  using Support = Generated;
  /// The link's name contains the run id, so different trials use different topics.
  static std::string topic(const std::string& link) { return link; }
};

/// The small message without padding.
template <class Generated>
struct Small : Message<Generated> {
  static void shape(auto&, const hopmeter::Link&) {}
  static auto& text(auto& sample) { return sample.source(); }
  static auto& octets(auto& sample) { return sample.padding(); }
};

template <class Generated>
struct Picture : Message<Generated> {
  static void shape(auto& sample, const hopmeter::Link& link) { fastdds::set_shape(sample, link); }
  static auto& text(auto& sample) { return sample.frame_id(); }
  static auto& octets(auto& sample) { return sample.data(); }
  static void stamp(auto& sample, std::uint64_t, std::int64_t sent_ns) { hopmeter::set_time(sample.stamp(), sent_ns); }
  static std::int64_t sent_ns(const auto& sample) { return hopmeter::nanoseconds(sample.stamp()); }
};

/// Gives access to the octets of plain types, which are an array with a count.
struct Counted {
  static std::uint32_t length(const auto& sample) { return sample.length(); }
  static void length(auto& sample, std::uint32_t bytes) { sample.length(bytes); }
};

struct Timing : Small<message::TimingPubSubType> {
  static void stamp(auto& sample, std::uint64_t seq, std::int64_t sent_ns) {
    sample.id(static_cast<std::int64_t>(seq));
    sample.nanosec(sent_ns);
  }
  static std::int64_t sent_ns(const auto& sample) { return sample.nanosec(); }
};

struct Image : Picture<message::ImagePubSubType> {};

struct PlainTiming : Small<message::PlainTimingPubSubType>, Counted {
  static void stamp(auto& sample, std::uint64_t seq, std::int64_t sent_ns) {
    sample.id(static_cast<std::uint32_t>(seq));
    hopmeter::set_time(sample.stamp(), sent_ns);
  }
  static std::int64_t sent_ns(const auto& sample) { return hopmeter::nanoseconds(sample.stamp()); }
};

struct PlainImage : Picture<message::PlainImagePubSubType>, Counted {};
