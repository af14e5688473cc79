/// Services: a server with its own callback queue, and a client with its own thread, because roscpp's calls always
/// block.
#pragma once

#include <ros/connection.h>
#include <ros/service_manager.h>
#include <ros/service_server_link.h>

#include <functional>
#include <mutex>

#include "hopmeter/loop_thread.hpp"
#include "hopmeter/mailbox.hpp"
#include "message.hpp"
#include "session.hpp"

namespace ros1 {

/// Like ros::ServiceSpec, but the callback receives a pointer to the request, which a relay can forward.
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

template <class Layout>
class Server final : public hopmeter::Server {
 public:
  using Message = typename Layout::Message;

  Server(Session& session, const hopmeter::Link& link) : link_(link), queue_(link) {
    ros::AdvertiseServiceOptions options;
    options.service = name_of(link);
    options.md5sum = Layout::service_sum;
    options.datatype = Layout::service;
    options.req_datatype = options.res_datatype = ros::message_traits::datatype<Message>();
    options.helper = boost::make_shared<ros::ServiceCallbackHelperT<Spec<Message>>>(
        [this](const Pointer<Message>& request, Message& response) { return call_(request, response); });
    options.callback_queue = queue_.get();
    server_ = session.node.advertiseService(options);
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    std::size_t requests = 0;
    call_ = [&](const Pointer<Message>& request, Message& response) {
      ++requests;
      return answer(request, response, handle);
    };
    queue_.call(timeout);
    return requests;
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    const auto shared = std::make_shared<hopmeter::OnRequest>(std::move(on_request));
    call_ = [this, shared](const Pointer<Message>& request, Message& response) {
      return answer(request, response, *shared);
    };
    return std::make_unique<SpinnerThread>(queue_.get());
  }

 private:
  /// Lets the handler answer a request. Returns false if the handler does not answer; the client's call then fails.
  bool answer(const Pointer<Message>& request, Message& response, const auto& handle) {
    hopmeter::MessageReplier<Layout, Message> replier(link_, *request, response);
    hopmeter::hand_over<Layout>(
        *request, [&](const hopmeter::Received& received) { handle(received, replier); }, &request);
    return replier.has_reply();
  }

  hopmeter::Link link_;
  std::function<bool(const Pointer<Message>&, Message&)> call_;
  PolledQueue queue_;
  ros::ServiceServer server_;
};

/// Makes calls like ros::ServiceClient, but lets another thread close the connection.
///
/// The client requests a persistent connection and closes the connection itself, even if each call uses a separate
/// connection. If the server closed the connection early, roscpp would report a failure and lose a response that had
/// already arrived.
class Connection {
 public:
  Connection(std::string service, const char* sum, bool is_persistent)
      : service_(std::move(service)), sum_(sum), is_persistent_(is_persistent) {}

  /// Waits for the response. Returns false if the server is missing, has disconnected or refuses the call.
  bool call(const ros::SerializedMessage& request, ros::SerializedMessage& response) {
    const auto link = connect();
    const bool is_answered = link && link->call(request, response);
    if (link && !is_persistent_) close(*link);
    return is_answered;
  }

  /// Ends the current call and all later calls.
  void end() {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    if (link_) close(*link_);
  }

 private:
  static void close(const ros::ServiceServerLink& link) {
    if (link.isValid()) link.getConnection()->drop(ros::Connection::Destructing);
  }

  ros::ServiceServerLinkPtr connect() {
    if (is_persistent_ && link_ && link_->isValid()) return link_;
    auto link = ros::ServiceManager::instance()->createServiceServerLink(service_, true, sum_, sum_, {});
    const std::lock_guard lock(mutex_);
    link_ = std::move(link);
    return has_ended_ ? nullptr : link_;
  }

  std::string service_, sum_;
  bool is_persistent_;
  std::mutex mutex_;
  bool has_ended_ = false;
  /// Only the calling thread writes this field.
  ros::ServiceServerLinkPtr link_;
};

template <class Layout>
class Client final : public hopmeter::Client {
 public:
  using Message = typename Layout::Message;

  Client(Session& session, const hopmeter::Link& link)
      : link_(link), connection_(name_of(link), Layout::service_sum, session.setup.setting<bool>("persistent")) {}

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (is_calling_) return hopmeter::Sent::busy;
    write<Layout>(*message_, link_, payload_bytes, fill);
    return begin(message_);
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto& message = received.require_native<Pointer<Message>>("ROS 1");
    return is_calling_ ? hopmeter::Sent::busy : begin(message);
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const bool spins = link_.wait == hopmeter::Wait::spin;
    const auto reply = replies_.pop(spins ? hopmeter::Timeout::zero() : timeout);
    if (reply) read<Layout>(reply, take);
    return reply ? 1 : 0;
  }

 private:
  hopmeter::Sent begin(Pointer<Message> request) {
    is_calling_ = true;
    requests_.push(std::move(request));
    return hopmeter::Sent::accepted;
  }

  /// Waits up to a second for a call, and makes the call on the client's thread.
  void make_call() {
    const auto request = requests_.pop(std::chrono::seconds(1));
    if (!request) return;
    auto reply = call(*request);
    is_calling_ = false;
    if (reply) replies_.push(std::move(reply));
  }

  Pointer<Message> call(const Message& request) {
    ros::SerializedMessage response;
    if (!connection_.call(ros::serialization::serializeMessage(request), response)) return nullptr;
    const auto reply = boost::make_shared<Message>();
    ros::serialization::deserializeMessage(response, *reply);
    return reply;
  }

  /// Makes the client's thread exit.
  void interrupt() {
    requests_.push(nullptr);
    connection_.end();
  }

  hopmeter::Link link_;
  /// This field is written only while no call is running.
  boost::shared_ptr<Message> message_ = boost::make_shared<Message>();
  Connection connection_;
  std::atomic<bool> is_calling_ = false;
  hopmeter::Mailbox<Pointer<Message>> requests_{1}, replies_{1};
  hopmeter::LoopThread thread_{[this] { make_call(); }, [this] { interrupt(); }};
};

}  // namespace ros1
