#include "qos.hpp"

#include <string>
#include <string_view>

using hopmeter::Link;
using hopmeter::Setup;
using hopmeter::Wait;

namespace cyclone {
namespace {

/// Cyclone DDS delivers samples of at least priority 0 on the thread that receives, others from a queue.
constexpr std::int32_t queued_priority = -1;

/// Whether samples are queued for a thread that does nothing but call listeners. Those of calls are where servers are
/// called: such a server waits for the next one's reply, which the thread that receives has to bring.
bool is_queued(const Setup& setup, std::string_view link) {
  if (link.ends_with("_reply")) return false;
  if (setup.wait() == Wait::callback && link.ends_with("_request")) return true;
  return setup.setting<std::string>("delivery") == "asynchronous";
}

Qos settled(const Setup& setup, bool is_reliable, bool is_volatile) {
  Qos qos(dds_create_qos(), &dds_delete_qos);
  const auto text = [&](const char* name) { return setup.setting<std::string>(name); };
  const auto history = text("history") == "keep-last" ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL;
  const auto depth = history == DDS_HISTORY_KEEP_LAST ? setup.setting<std::int32_t>("depth") : DDS_LENGTH_UNLIMITED;
  // A writer that may not wait says that it is busy.
  dds_qset_reliability(qos.get(), is_reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, 0);
  dds_qset_durability(qos.get(), is_volatile ? DDS_DURABILITY_VOLATILE : DDS_DURABILITY_TRANSIENT_LOCAL);
  dds_qset_history(qos.get(), history, depth);
  constexpr auto unlimited = DDS_LENGTH_UNLIMITED;
  dds_qset_durability_service(qos.get(), 0, history, depth, unlimited, unlimited, unlimited);
  return qos;
}

Qos settled(const Setup& setup) {
  return settled(setup, setup.setting<std::string>("reliability") == "reliable",
                 setup.setting<std::string>("durability") == "volatile");
}

}  // namespace

Qos writer_qos(const Setup& setup, const Link& link) {
  auto qos = settled(setup);
  if (is_queued(setup, link.name)) dds_qset_transport_priority(qos.get(), queued_priority);
  return qos;
}

Qos reader_qos(const Setup& setup) { return settled(setup); }

Qos service_qos(const Setup& setup) { return settled(setup, true, true); }

Qos request_qos(const Setup& setup) {
  auto qos = service_qos(setup);
  if (setup.wait() == Wait::callback) dds_qset_transport_priority(qos.get(), queued_priority);
  return qos;
}

}  // namespace cyclone
