/// Servers: a polled server on the caller's thread, and Thrift's own servers.
#pragma once

#include <Exchange.h>
#include <poll.h>
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/server/TSimpleServer.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/server/TThreadedServer.h>

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "channel.hpp"
#include "hopmeter/message.hpp"

using apache::thrift::TProcessor;
using apache::thrift::server::TServer;
using hopmeter::idl::Image;
using hopmeter::idl::Timing;

/// The layouts of hopmeter.thrift's messages; ../README.md lists the fields.
template <class Message>
struct Layout;

template <>
struct Layout<Timing> {
  static void shape(Timing&, const hopmeter::Link&) {}
  static auto& text(auto& message) { return message.source; }
  static auto& octets(auto& message) { return message.padding; }
  static void stamp(Timing& message, std::uint64_t seq, std::int64_t sent_ns) {
    message.id = static_cast<std::int64_t>(seq);
    message.nanosec = sent_ns;
  }
  static std::int64_t sent_ns(const Timing& message) { return message.nanosec; }
};

template <>
struct Layout<Image> {
  static void shape(Image& message, const hopmeter::Link& link) {
    message.width = static_cast<std::int32_t>(link.width);
    message.height = static_cast<std::int32_t>(link.height);
    message.encoding = "rgb8";
    message.step = 3 * message.width;
  }
  static auto& text(auto& message) { return message.frame_id; }
  static auto& octets(auto& message) { return message.data; }
  static void stamp(Image& message, std::uint64_t, std::int64_t sent_ns) { hopmeter::set_time(message.stamp, sent_ns); }
  static std::int64_t sent_ns(const Image& message) { return hopmeter::nanoseconds(message.stamp); }
};

/// The handler that Thrift calls with a request. `Handler` is `hopmeter::Handle`, `hopmeter::OnRequest` or similar.
template <class Handler>
class Exchange final : public hopmeter::idl::ExchangeIf {
 public:
  Exchange(Handler handler, const hopmeter::Link& link) : handler_(std::move(handler)), link_(link) {}

  void timing(Timing& reply, const Timing& request) override { answer(reply, request); }
  void image(Image& reply, const Image& request) override { answer(reply, request); }

 private:
  template <class Message>
  void answer(Message& reply, const Message& request) {
    hopmeter::MessageReplier<Layout<Message>, Message> replier(link_, request, reply);
    hopmeter::hand_over<Layout<Message>>(request,
                                         [&](const hopmeter::Received& received) { handler_(received, replier); });
    if (!replier.has_reply()) throw hopmeter::idl::Unanswered();
  }

  Handler handler_;
  hopmeter::Link link_;
};

template <class Handler>
std::shared_ptr<TProcessor> make_processor(Handler handler, const hopmeter::Link& link) {
  auto exchange = std::make_shared<Exchange<Handler>>(std::move(handler), link);
  return std::make_shared<hopmeter::idl::ExchangeProcessor>(std::move(exchange));
}

/// Runs Thrift's server loop for all connections on the caller's thread, with a timeout. The loop waits until a
/// connection is readable, and lets the generated processor read and handle the request and reply.
class PolledServer final : public hopmeter::Server {
 public:
  PolledServer(const Stack& stack, const hopmeter::Link& link)
      : stack_(stack), listener_(Listener::bind(stack, link, false)) {
    const auto handle = [this](const hopmeter::Received& received, auto& replier) {
      ++requests_;
      (*handle_)(received, replier);
    };
    processor_ = make_processor(handle, link);
    events_.push_back({listener_->getSocketFD(), POLLIN, 0});
  }

  std::string address() const override { return listener_->address(); }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    const int ready = ::poll(events_.data(), events_.size(), static_cast<int>(limit));
    if (ready < 0 && errno != EINTR) throw hopmeter::Error::system("waiting for requests");
    if (ready <= 0) return 0;
    handle_ = handle;
    requests_ = 0;
    for (std::size_t client = clients_.size(); client-- > 0;) {
      if (events_[client + 1].revents != 0) answer(client);
    }
    if (events_[0].revents != 0) accept();
    return requests_;
  }

 private:
  /// Answers a client's requests, and removes a disconnected client.
  void answer(std::size_t client) {
    auto& channel = clients_[client];
    try {
      do {
        processor_->process(channel.protocol(), channel.protocol(), nullptr);
      } while (channel.has_buffered());
    } catch (const TTransportException& error) {
      if (!channel.is_farewell(error)) throw;
      clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(client));
      events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(client) + 1);
    }
  }

  void accept() {
    clients_.emplace_back(stack_, std::static_pointer_cast<Socket>(listener_->accept()));
    events_.push_back({clients_.back().socket().getSocketFD(), POLLIN, 0});
  }

  const Stack& stack_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<TProcessor> processor_;
  /// The handler of the current poll.
  std::optional<hopmeter::Handle> handle_;
  std::size_t requests_ = 0;
  std::vector<Channel> clients_;
  /// The descriptors to wait for: first the listener, then the clients.
  std::vector<pollfd> events_;
};

/// Creates one of Thrift's servers: `simple`, `threaded` or `threadpool`.
inline std::unique_ptr<TServer> make_server(const Stack& stack, const std::shared_ptr<TProcessor>& processor,
                                            const std::shared_ptr<Listener>& listener) {
  using namespace apache::thrift;
  const auto kind = stack.setup.setting<std::string>("server");
  const auto make = [&]<class Kind>(std::type_identity<Kind>, auto... more) -> std::unique_ptr<TServer> {
    return std::make_unique<Kind>(processor, listener, stack.transports, stack.protocols, more...);
  };
  if (kind == "simple") return make(std::type_identity<server::TSimpleServer>());
  if (kind == "threaded") return make(std::type_identity<server::TThreadedServer>());
  auto threads = concurrency::ThreadManager::newSimpleThreadManager();
  threads->threadFactory(std::make_shared<concurrency::ThreadFactory>());
  threads->start();
  return make(std::type_identity<server::TThreadPoolServer>(), threads);
}

/// Runs one of Thrift's servers on its own thread until this object is destroyed.
class ServerThread final : public hopmeter::Subscription {
 public:
  explicit ServerThread(std::unique_ptr<TServer> server)
      : server_(std::move(server)), thread_([this] { server_->serve(); }) {}

  /// Interrupts the listening socket and every connection, and waits for all threads.
  ~ServerThread() override {
    server_->stop();
    thread_.join();
  }

 private:
  std::unique_ptr<TServer> server_;
  std::thread thread_;
};

class CalledServer final : public hopmeter::Server {
 public:
  CalledServer(const Stack& stack, const hopmeter::Link& link)
      : stack_(stack), link_(link), listener_(Listener::bind(stack, link, true)) {}

  std::string address() const override { return listener_->address(); }

  std::size_t poll(hopmeter::Timeout, hopmeter::Handle) override {
    throw hopmeter::Error("this server uses callbacks and cannot be polled", "use wait = \"block\" to poll it");
  }

  /// Requests of several connections arrive on several threads; the instrument handles them one at a time.
  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    auto handle = [on_request = std::move(on_request), turn = std::make_unique<std::mutex>()](
                      const hopmeter::Received& received, auto& replier) {
      const std::lock_guard lock(*turn);
      on_request(received, replier);
    };
    return std::make_unique<ServerThread>(make_server(stack_, make_processor(std::move(handle), link_), listener_));
  }

 private:
  const Stack& stack_;
  hopmeter::Link link_;
  std::shared_ptr<Listener> listener_;
};
