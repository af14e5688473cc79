#include "servers.hpp"

#include <poll.h>
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/server/TSimpleServer.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/server/TThreadedServer.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "answering.hpp"

namespace servers {

namespace {

using apache::thrift::TProcessor;
using apache::thrift::concurrency::ThreadFactory;
using apache::thrift::concurrency::ThreadManager;
using apache::thrift::server::TServer;
using apache::thrift::server::TSimpleServer;
using apache::thrift::server::TThreadedServer;
using apache::thrift::server::TThreadPoolServer;
using channel::Channel;
using channel::Listener;
using channel::Socket;
using channel::Stack;
using hopmeter::idl::ExchangeProcessor;

template <class Handler>
std::shared_ptr<TProcessor> processor(Handler handler, carriage::Shape shape) {
  return std::make_shared<ExchangeProcessor>(std::make_shared<Answering<Handler>>(std::move(handler), shape));
}

/// Thrift's own loop for one connection, over all that the server has, so that it can run on the caller's thread and
/// end when its time is over: wait until one is readable, and let the generated processor read, answer and reply.
class Polled final : public hopmeter::Server {
 public:
  Polled(const Stack& stack, const hopmeter::Link& link, carriage::Shape shape)
      : stack_(stack), listener_(Listener::bound(stack, link, false)) {
    const auto hand_over = [this](const hopmeter::Received& received, auto& replier) {
      ++handed_over_;
      (*handle_)(received, replier);
    };
    answers_ = processor(hand_over, shape);
    awaited_.push_back({listener_->getSocketFD(), POLLIN, 0});
  }

  std::string address() const override { return listener_->address(); }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    const auto patience = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    const int ready = ::poll(awaited_.data(), awaited_.size(), static_cast<int>(patience));
    if (ready < 0 && errno != EINTR) throw hopmeter::Error::system("waiting for requests");
    if (ready <= 0) return 0;
    handle_ = handle;
    handed_over_ = 0;
    for (std::size_t client = clients_.size(); client-- > 0;) {
      if (awaited_[client + 1].revents != 0) answer(client);
    }
    if (awaited_[0].revents != 0) accept();
    return handed_over_;
  }

 private:
  /// Answers what the client has asked. A client that has left leaves the list.
  void answer(std::size_t client) {
    auto& channel = clients_[client];
    try {
      do {
        answers_->process(channel.protocol(), channel.protocol(), nullptr);
      } while (channel.buffered());
    } catch (const channel::TTransportException& error) {
      if (!channel.left(error)) throw;
      clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(client));
      awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(client) + 1);
    }
  }

  void accept() {
    clients_.emplace_back(stack_, std::static_pointer_cast<Socket>(listener_->accept()));
    awaited_.push_back({clients_.back().socket().getSocketFD(), POLLIN, 0});
  }

  const Stack& stack_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<TProcessor> answers_;
  /// Of the poll that is under way.
  std::optional<hopmeter::Handle> handle_;
  std::size_t handed_over_ = 0;
  std::vector<Channel> clients_;
  /// What to wait for: the listener, then each client.
  std::vector<pollfd> awaited_;
};

/// Requests of several connections come on several threads; the instrument takes them one at a time.
class InTurn {
 public:
  explicit InTurn(hopmeter::OnRequest ask) : ask_(std::move(ask)), turn_(std::make_unique<std::mutex>()) {}

  void operator()(const hopmeter::Received& received, auto& replier) const {
    const std::lock_guard lock(*turn_);
    ask_(received, replier);
  }

 private:
  hopmeter::OnRequest ask_;
  std::unique_ptr<std::mutex> turn_;
};

std::shared_ptr<ThreadManager> pool() {
  auto manager = ThreadManager::newSimpleThreadManager();
  manager->threadFactory(std::make_shared<ThreadFactory>());
  manager->start();
  return manager;
}

std::unique_ptr<TServer> server_of(const std::string& kind, const std::shared_ptr<TProcessor>& answers,
                                   const std::shared_ptr<Listener>& listener, const Stack& stack) {
  if (kind == "simple") return std::make_unique<TSimpleServer>(answers, listener, stack.transports, stack.protocols);
  if (kind == "threaded")
    return std::make_unique<TThreadedServer>(answers, listener, stack.transports, stack.protocols);
  return std::make_unique<TThreadPoolServer>(answers, listener, stack.transports, stack.protocols, pool());
}

/// One of Thrift's servers, on a thread of its own until this is destroyed.
class Serving final : public hopmeter::Subscription {
 public:
  explicit Serving(std::unique_ptr<TServer> server)
      : server_(std::move(server)), thread_([this] { server_->serve(); }) {}

  /// Interrupts the listening socket and every connection, and returns when the threads of all have ended.
  ~Serving() override {
    server_->stop();
    thread_.join();
  }

 private:
  std::unique_ptr<TServer> server_;
  std::thread thread_;
};

class Called final : public hopmeter::Server {
 public:
  Called(const Stack& stack, const hopmeter::Link& link, carriage::Shape shape, std::string kind)
      : stack_(stack), listener_(Listener::bound(stack, link, true)), shape_(shape), kind_(std::move(kind)) {}

  std::string address() const override { return listener_->address(); }

  std::size_t poll(hopmeter::Timeout, hopmeter::Handle) override {
    throw hopmeter::Error("this server calls, it is not polled", "use wait = \"block\" for one that is polled");
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    const auto answers = processor(InTurn(std::move(on_request)), shape_);
    return std::make_unique<Serving>(server_of(kind_, answers, listener_, stack_));
  }

 private:
  const Stack& stack_;
  std::shared_ptr<Listener> listener_;
  carriage::Shape shape_;
  std::string kind_;
};

}  // namespace

std::unique_ptr<hopmeter::Server> polled(const Stack& stack, const hopmeter::Link& link, carriage::Shape shape) {
  return std::make_unique<Polled>(stack, link, shape);
}

std::unique_ptr<hopmeter::Server> called(const Stack& stack, const hopmeter::Link& link, carriage::Shape shape,
                                         const std::string& kind) {
  return std::make_unique<Called>(stack, link, shape, kind);
}

}  // namespace servers
