/// The answering end: polled on the caller's thread, or one of Thrift's own servers on threads of its own.
#pragma once

#include <hopmeter/hopmeter.hpp>
#include <memory>

#include "channel.hpp"
#include "message.hpp"

namespace servers {

/// Binds a server that is polled.
std::unique_ptr<hopmeter::Server> polled(const channel::Stack& stack, const hopmeter::Link& link,
                                         carriage::Shape shape);

/// Binds a server that is called by Thrift's `simple`, `threaded` or `threadpool` server.
std::unique_ptr<hopmeter::Server> called(const channel::Stack& stack, const hopmeter::Link& link, carriage::Shape shape,
                                         const std::string& kind);

}  // namespace servers
