/// Converts the manifest's settings to Cyclone DDS quality of service.
#pragma once

#include <dds/dds.h>

#include "hopmeter/contract.hpp"
#include "hopmeter/resource.hpp"

namespace cyclone {

using Qos = hopmeter::Resource<dds_qos_t, dds_delete_qos>;

/// Makes Cyclone DDS deliver a writer's samples through a queue, to a thread that only calls listeners. Samples of
/// priority 0 or higher would be delivered on the receiving thread.
inline void set_queued(const Qos& qos) { dds_qset_transport_priority(qos.get(), -1); }

inline Qos make_qos(const hopmeter::Setup& setup, bool is_reliable, bool is_volatile) {
  Qos qos(dds_create_qos());
  const bool keeps_last = setup.setting<std::string>("history") == "keep-last";
  const auto history = keeps_last ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL;
  constexpr auto unlimited = DDS_LENGTH_UNLIMITED;
  const auto depth = keeps_last ? setup.setting<std::int32_t>("depth") : unlimited;
  // If the writer's queue is full, a write returns `busy` without waiting.
  dds_qset_reliability(qos.get(), is_reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, 0);
  dds_qset_durability(qos.get(), is_volatile ? DDS_DURABILITY_VOLATILE : DDS_DURABILITY_TRANSIENT_LOCAL);
  dds_qset_history(qos.get(), history, depth);
  dds_qset_durability_service(qos.get(), 0, history, depth, unlimited, unlimited, unlimited);
  return qos;
}

inline Qos reader_qos(const hopmeter::Setup& setup) {
  return make_qos(setup, setup.setting<std::string>("reliability") == "reliable",
                  setup.setting<std::string>("durability") == "volatile");
}

/// Returns the quality of service of a topic's writer. Requests to callback servers go through the queue, because a
/// handler may wait for another server's reply, which the receiving thread must deliver.
inline Qos writer_qos(const hopmeter::Setup& setup, const hopmeter::Link& link) {
  auto qos = reader_qos(setup);
  const bool is_call = link.wait == hopmeter::Wait::callback && link.name.ends_with("_request");
  const bool is_asynchronous =
      setup.setting<std::string>("delivery") == "asynchronous" && !link.name.ends_with("_reply");
  if (is_call || is_asynchronous) set_queued(qos);
  return qos;
}

/// Returns the quality of service of service topics: reliable and volatile, as in ROS 2, with the history of the
/// settings.
inline Qos service_qos(const hopmeter::Setup& setup) { return make_qos(setup, true, true); }

/// Returns the quality of service of a client's writer. Cyclone DDS delivers requests to callback servers through a
/// queue (see `set_queued`).
inline Qos request_qos(const hopmeter::Setup& setup, const hopmeter::Link& link) {
  auto qos = service_qos(setup);
  if (link.wait == hopmeter::Wait::callback) set_queued(qos);
  return qos;
}

}  // namespace cyclone
