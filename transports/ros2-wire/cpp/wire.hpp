/// What of ROS 2's wire protocol is the same whichever DDS is beneath.
#pragma once

#include <memory>
#include <string>

#include "hopmeter/contract.hpp"

namespace wire {

/// The topics of messages, and of the requests and replies of services, as ROS 2 names them.
inline std::string message_topic(const std::string& link) { return "rt/hopmeter_" + link; }
inline std::string request_topic(const std::string& link) { return "rq/hopmeter_" + link + "Request"; }
inline std::string reply_topic(const std::string& link) { return "rr/hopmeter_" + link + "Reply"; }

namespace by_cyclonedds {
std::string version();
std::unique_ptr<hopmeter::Transport> carrier(const hopmeter::Setup& setup);
}  // namespace by_cyclonedds

namespace by_fastdds {
std::string version();
std::unique_ptr<hopmeter::Transport> carrier(const hopmeter::Setup& setup);
}  // namespace by_fastdds

}  // namespace wire
