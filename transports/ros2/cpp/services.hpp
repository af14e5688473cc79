/// Services: a server with a wait set or an executor, and a polled client.
#pragma once

#include <functional>

#include "executing.hpp"
#include "message.hpp"

namespace ros2 {

/// Writes a service's response, which is sent after the handler returns.
template <class Frames>
class Replier final : public hopmeter::Replier {
 public:
  explicit Replier(const Frames& frames) : frames_(frames) { frames.prepare(Frames::message_in(response)); }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    frames_.write(Frames::message_in(response), payload_bytes, fill);
    given = true;
    return hopmeter::Sent::accepted;
  }

  bool given = false;
  typename Frames::Service::Response response;

 private:
  const Frames& frames_;
};

/// The server of a service. `Replies` describes the frames of responses if these frames differ from the frames of
/// requests.
template <class Frames, class Replies = Frames>
class Server final : public hopmeter::Server {
 public:
  using Service = typename Frames::Service;
  using Request = std::shared_ptr<typename Service::Request>;

  Server(House& house, const hopmeter::Link& link)
      : house_(house),
        link_(link),
        frames_(link),
        replies_(link),
        room_(house, link.wait == hopmeter::Wait::callback),
        service_(house, [&] { return served(name_of(link)); }),
        set_(rclcpp::WaitSet({}, {}, {}, {}, {}, {}, house.context)) {}

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    if (!waits_) set_.add_service(service_.shared());
    waits_ = true;
    const auto handled = look(handle);
    if (handled != 0 || link_.wait == hopmeter::Wait::spin) return handled;
    return set_.wait(timeout).kind() == rclcpp::WaitResultKind::Ready ? look(handle) : 0;
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    on_request_ = std::make_unique<hopmeter::OnRequest>(std::move(on_request));
    gate_->set(true);
    return std::make_unique<Executing>(house_, room_, gate_);
  }

 private:
  std::shared_ptr<rclcpp::Service<Service>> served(const std::string& name) {
    // A callback of this form sends the response itself, so a request may stay unanswered.
    const auto called = [this, gate = gate_](std::shared_ptr<rmw_request_id_t> id, Request request) {
      gate->pass([&] { call(*id, request); });
    };
    return room_.node->template create_service<Service>(name, called, services_qos(), room_.group);
  }

  void call(rmw_request_id_t& id, const Request& request) {
    house_.seen.called_here();
    answer(id, request, [this](const auto& received, auto& replier) { (*on_request_)(received, replier); });
  }

  std::size_t look(const hopmeter::Handle& handle) {
    std::size_t handled = 0;
    rmw_request_id_t id;
    for (; service_->take_request(*request_, id); ++handled) answer(id, request_, handle);
    return handled;
  }

  void answer(rmw_request_id_t& id, const Request& request, const auto& handler) {
    Replier<Replies> replier(replies_);
    frames_.read(Frames::message_in(*request), request,
                 [&](const hopmeter::Received& received) { handler(received, replier); });
    if (replier.given) service_->send_response(id, replier.response);
  }

  House& house_;
  hopmeter::Link link_;
  Frames frames_;
  Replies replies_;
  Room room_;
  /// Shut until `serve` is called, because an executor may already have the server's callback group.
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>(false);
  std::unique_ptr<hopmeter::OnRequest> on_request_;
  Made<rclcpp::Service<Service>> service_;
  /// The memory into which a poll takes requests.
  Request request_ = std::make_shared<typename Service::Request>();
  bool waits_ = false;
  rclcpp::WaitSet set_;
};

/// The client of a service. `Replies` describes the frames of responses, if they differ from those of requests.
template <class Frames, class Replies = Frames>
class Client final : public hopmeter::Client {
 public:
  using Service = typename Frames::Service;
  using Request = std::shared_ptr<typename Service::Request>;

  Client(House& house, const hopmeter::Link& link)
      : house_(house),
        link_(link),
        frames_(link),
        replies_(link),
        room_(house, false),
        client_(house, [&] { return asking(name_of(link)); }),
        set_(rclcpp::WaitSet({}, {}, {}, {client_.shared()}, {}, {}, house.context)) {
    frames_.prepare(Frames::message_in(*request_));
    const std::lock_guard lock(house.sharing);
    house.clients.insert(endpoint_);
  }
  ~Client() override {
    const std::lock_guard lock(house_.sharing);
    house_.clients.extract(endpoint_);
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    frames_.write(Frames::message_in(*request_), payload_bytes, fill);
    client_->async_send_request(request_);
    return hopmeter::Sent::accepted;
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    client_->async_send_request(native_of<Request>(received));
    return hopmeter::Sent::accepted;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto taken = look(take);
    if (taken != 0 || link_.wait == hopmeter::Wait::spin) return taken;
    return set_.wait(timeout).kind() == rclcpp::WaitResultKind::Ready ? look(take) : 0;
  }

 private:
  std::shared_ptr<rclcpp::Client<Service>> asking(const std::string& name) {
    return room_.node->template create_client<Service>(name, services_qos(), room_.group);
  }

  std::size_t look(const hopmeter::Take& take) {
    std::size_t taken = 0;
    rmw_request_id_t id;
    for (; client_->take_response(response_, id); ++taken) {
      client_->remove_pending_request(id.sequence_number);
      replies_.read(Replies::message_in(response_), response_, take);
    }
    return taken;
  }

  House& house_;
  const std::thread::id endpoint_ = std::this_thread::get_id();
  const hopmeter::Link link_;
  const Frames frames_;
  const Replies replies_;
  Room room_;
  Made<rclcpp::Client<Service>> client_;
  rclcpp::WaitSet set_;
  /// Each call reuses this request: the previous content was serialised when its call began.
  Request request_ = std::make_shared<typename Service::Request>();
  typename Service::Response response_;
};

}  // namespace ros2
