/// Services: a server on a callback queue of its own, and a client with a thread, since calls only block.
#pragma once

#include <ros/connection.h>
#include <ros/service_manager.h>
#include <ros/service_server_link.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "house.hpp"
#include "message.hpp"

namespace ros1 {

/// As ros::ServiceSpec, but its callback gets the request's pointer, which a relay can pass on.
template <class Message>
struct Spec {
  using RequestType = Message;
  using ResponseType = Message;
  using RequestPtr = boost::shared_ptr<Message>;
  using ResponsePtr = boost::shared_ptr<Message>;
  using CallbackType = boost::function<bool(const Pointer<Message>&, Message&)>;
  static bool call(const CallbackType& callback, ros::ServiceSpecCallParams<Message, Message>& call) {
    return callback(call.request, *call.response);
  }
};

template <class Carrier>
class Replier final : public hopmeter::Replier {
 public:
  Replier(typename Carrier::Message& response, const hopmeter::Setup& setup) : response_(response), setup_(setup) {}

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    write<Carrier>(response_, setup_, payload_bytes, fill);
    given_ = true;
    return hopmeter::Sent::accepted;
  }
  bool given() const noexcept { return given_; }

 private:
  typename Carrier::Message& response_;
  const hopmeter::Setup& setup_;
  bool given_ = false;
};

template <class Carrier>
class Server final : public hopmeter::Server {
 public:
  using Message = typename Carrier::Message;

  Server(House& house, const hopmeter::Link& link) : setup_(house.setup), arrivals_(house) {
    ros::AdvertiseServiceOptions options;
    options.service = name_of(link);
    options.md5sum = Carrier::service_sum;
    options.datatype = Carrier::service;
    options.req_datatype = options.res_datatype = ros::message_traits::datatype<Message>();
    options.helper = boost::make_shared<ros::ServiceCallbackHelperT<Spec<Message>>>(
        [this](const Pointer<Message>& request, Message& response) { return answer_(request, response); });
    options.callback_queue = arrivals_.queue();
    server_ = house.node.advertiseService(options);
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    std::size_t handled = 0;
    answer_ = [&](const Pointer<Message>& request, Message& response) {
      ++handled;
      return answered(request, response, handle);
    };
    arrivals_.call(timeout);
    return handled;
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    const auto ask = std::make_shared<hopmeter::OnRequest>(std::move(on_request));
    answer_ = [this, ask](const Pointer<Message>& request, Message& response) {
      return answered(request, response, *ask);
    };
    return std::make_unique<Spinning>(arrivals_.queue());
  }

 private:
  /// A request without an answer fails at its client.
  bool answered(const Pointer<Message>& request, Message& response, const auto& handler) {
    Replier<Carrier> replier(response, setup_);
    read<Carrier>(request, [&](const hopmeter::Received& received) { handler(received, replier); });
    return replier.given();
  }

  hopmeter::Setup setup_;
  std::function<bool(const Pointer<Message>&, Message&)> answer_;
  Arrivals arrivals_;
  ros::ServiceServer server_;
};

/// Makes calls as ros::ServiceClient does, over a connection that can be dropped from outside, which its own cannot.
///
/// It asks for a connection that persists even where each call has its own, and ends that itself. Left to the server,
/// the end can come while the thread that calls is not yet ready to read: roscpp then takes the hang-up for a failure,
/// and the response that came before it is lost.
class Connection {
 public:
  Connection(std::string service, const char* sum, bool persists)
      : service_(std::move(service)), sum_(sum), persists_(persists) {}

  /// Waits for the response; false where there is none, for the server has gone, refuses or was never there.
  bool call(const ros::SerializedMessage& request, ros::SerializedMessage& response) {
    const auto link = connected();
    const bool answered = link && link->call(request, response);
    if (link && !persists_) drop(*link);
    return answered;
  }

  /// Ends the call that is under way, and those to come.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (link_) drop(*link_);
  }

 private:
  static void drop(const ros::ServiceServerLink& link) {
    if (link.isValid()) link.getConnection()->drop(ros::Connection::Destructing);
  }

  ros::ServiceServerLinkPtr connected() {
    if (persists_ && link_ && link_->isValid()) return link_;
    auto link = ros::ServiceManager::instance()->createServiceServerLink(service_, true, sum_, sum_, {});
    const std::lock_guard lock(mutex_);
    link_ = std::move(link);
    return ended_ ? nullptr : link_;
  }

  std::string service_, sum_;
  bool persists_;
  std::mutex mutex_;
  bool ended_ = false;
  /// Written by the thread that calls only.
  ros::ServiceServerLinkPtr link_;
};

template <class Carrier>
class Client final : public hopmeter::Client {
 public:
  using Message = typename Carrier::Message;

  Client(House& house, const hopmeter::Link& link)
      : setup_(house.setup),
        connection_(name_of(link), Carrier::service_sum, setup_.setting<bool>("persistent")),
        thread_([this] { run(); }) {}

  ~Client() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    connection_.end();
    thread_.join();
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (is_calling()) return hopmeter::Sent::busy;
    write<Carrier>(*message_, setup_, payload_bytes, fill);
    return begin(message_);
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* message = received.native<Pointer<Message>>();
    if (!message) throw hopmeter::Error("this frame did not come by ROS 1, so it cannot be moved on");
    return is_calling() ? hopmeter::Sent::busy : begin(*message);
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    Pointer<Message> reply;
    {
      std::unique_lock lock(mutex_);
      if (setup_.wait() != hopmeter::Wait::spin) changed_.wait_for(lock, timeout, [&] { return !replies_.empty(); });
      if (replies_.empty()) return 0;
      reply = std::move(replies_.front());
      replies_.pop_front();
    }
    read<Carrier>(reply, take);
    return 1;
  }

 private:
  bool is_calling() {
    const std::lock_guard lock(mutex_);
    return request_ != nullptr;
  }

  hopmeter::Sent begin(Pointer<Message> request) {
    {
      const std::lock_guard lock(mutex_);
      request_ = std::move(request);
    }
    changed_.notify_all();
    return hopmeter::Sent::accepted;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return closed_ || request_; });
      if (closed_) return;
      const auto request = request_;
      lock.unlock();
      auto reply = call(*request);
      lock.lock();
      request_ = nullptr;
      if (!reply) continue;
      replies_.push_back(std::move(reply));
      changed_.notify_all();
    }
  }

  Pointer<Message> call(const Message& request) {
    ros::SerializedMessage response;
    if (!connection_.call(ros::serialization::serializeMessage(request), response)) return nullptr;
    const auto reply = boost::make_shared<Message>();
    ros::serialization::deserializeMessage(response, *reply);
    return reply;
  }

  hopmeter::Setup setup_;
  /// Written while no call is under way.
  boost::shared_ptr<Message> message_ = boost::make_shared<Message>();
  Connection connection_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /// The call under way.
  Pointer<Message> request_;
  std::deque<Pointer<Message>> replies_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace ros1
