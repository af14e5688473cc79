/// MQTT by libmosquitto: topics through a broker. ../README.md says what is on the wire.
#include <mosquitto.h>
#include <poll.h>

#include <atomic>
#include <functional>

#include "hopmeter/hopmeter.hpp"

using namespace hopmeter;

namespace {

void demand(int code, const std::string& doing) {
  if (code != MOSQ_ERR_SUCCESS) throw Error(doing + ": " + mosquitto_strerror(code));
}

/// A connection of an end's own. Whoever calls `loop` does its work; nothing happens behind anybody's back.
class Connection {
 public:
  using Call = std::function<void(const Received&)>;

  explicit Connection(const Setup& setup) : mosquitto_(mosquitto_new(nullptr, true, this)) {
    if (!mosquitto_) throw Error::system("making an MQTT client");
    qos_ = setup.setting<int>("qos");
    const auto daemon = setup.daemon();
    const auto colon = daemon.find(':');
    mosquitto_int_option(handle(), MOSQ_OPT_TCP_NODELAY, setup.setting<bool>("nodelay"));
    mosquitto_max_inflight_messages_set(handle(), setup.setting<unsigned>("inflight"));
    mosquitto_connect_callback_set(
        handle(), [](mosquitto*, void* self, int code) { static_cast<Connection*>(self)->is_taken_ = code == 0; });
    mosquitto_message_callback_set(handle(), [](mosquitto*, void* self, const mosquitto_message* message) {
      const auto* bytes = static_cast<const std::byte*>(message->payload);
      static_cast<Connection*>(self)->call_(Received::split({bytes, static_cast<std::size_t>(message->payloadlen)}));
    });
    demand(mosquitto_connect(handle(), daemon.substr(0, colon).c_str(), std::stoi(daemon.substr(colon + 1)), 600),
           "connecting to mosquitto at " + daemon);
  }

  mosquitto* handle() const noexcept { return mosquitto_.get(); }

  void subscribe(const std::string& topic, Call call) {
    call_ = std::move(call);
    demand(mosquitto_subscribe(handle(), nullptr, topic.c_str(), qos_), "subscribing at mosquitto");
  }

  /// Only what is being taken at the moment; for polled ends, whose taker changes with every poll.
  void take_by(Call call) { call_ = std::move(call); }

  void loop(Timeout timeout) {
    const auto wait_ms = std::max<std::int64_t>(1, timeout.count() / 1'000'000);
    demand(mosquitto_loop(handle(), static_cast<int>(wait_ms), 1), "receiving from mosquitto");
  }

  /// Waits until the broker has taken this client, for those whose connection no thread looks after.
  void await_taken() {
    for (int tries = 0; tries < taken_tries && !is_taken_; ++tries) loop(std::chrono::milliseconds(100));
    if (!is_taken_) throw Error("mosquitto did not answer that it has taken this client");
  }

  /// Waits until the socket has taken all that was published.
  void flush() {
    while (mosquitto_want_write(handle())) {
      pollfd writable{mosquitto_socket(handle()), POLLOUT, 0};
      ::poll(&writable, 1, 100);
      demand(mosquitto_loop_write(handle(), 1), "sending to mosquitto");
    }
  }

  int qos() const noexcept { return qos_; }

  /// What the socket does not take at once is written by `flush`, or by the library's thread.
  Sent publish(const std::string& topic, std::span<const std::byte> frame) {
    const auto bytes = static_cast<int>(frame.size());
    demand(mosquitto_publish(handle(), nullptr, topic.c_str(), bytes, frame.data(), qos_, false),
           "publishing at mosquitto");
    return Sent::accepted;
  }

 private:
  struct Destroyed {
    void operator()(mosquitto* handle) const noexcept { mosquitto_destroy(handle); }
  };
  std::unique_ptr<mosquitto, Destroyed> mosquitto_;
  static constexpr int taken_tries = 100;

  Call call_ = [](const Received&) {};
  int qos_ = 0;
  std::atomic<bool> is_taken_ = false;
};

/// libmosquitto's own thread writes what the socket does not take at once, and acknowledges.
class Served {
 public:
  explicit Served(const Setup& setup) : connection_(setup) {}
  ~Served() {
    mosquitto_disconnect(connection_.handle());
    mosquitto_loop_stop(connection_.handle(), false);
  }
  void start() { demand(mosquitto_loop_start(connection_.handle()), "starting libmosquitto's thread"); }
  Connection& operator*() noexcept { return connection_; }

 private:
  Connection connection_;
};

/// At quality 0 nothing comes back, and whoever publishes writes to the socket itself, without handing over to a
/// thread.
class Pub final : public Publisher {
 public:
  Pub(const Setup& setup, const Link& link) : served_(setup), topic_(link.name), is_answered_((*served_).qos() > 0) {
    is_answered_ ? served_.start() : (*served_).await_taken();
  }
  /// The library takes a copy of the frame.
  Sent send(std::size_t payload_bytes, Fill fill) override {
    frame_.resize(header_bytes + payload_bytes);
    fill(std::span(frame_));
    const auto sent = (*served_).publish(topic_, frame_);
    if (!is_answered_) (*served_).flush();
    return sent;
  }

 private:
  Served served_;
  std::string topic_;
  bool is_answered_;
  std::vector<std::byte> frame_;
};

class Sub final : public Subscriber {
 public:
  Sub(const Setup& setup, const Link& link) : connection_(setup) {
    connection_.subscribe(link.name, [](const Received&) {});
  }

  std::size_t poll(Timeout timeout, Take take) override {
    std::size_t frames = 0;
    connection_.take_by([&](const Received& received) {
      take(received);
      ++frames;
    });
    connection_.loop(timeout);
    return frames;
  }

 private:
  Connection connection_;
};

class Called final : public Subscription {
 public:
  Called(const Setup& setup, const Link& link, OnFrame on_frame) : on_frame_(std::move(on_frame)), served_(setup) {
    (*served_).subscribe(link.name, [this](const Received& received) { on_frame_(received); });
    served_.start();
  }

 private:
  OnFrame on_frame_;
  Served served_;
};

class Mqtt final : public Transport {
 public:
  explicit Mqtt(const Setup& setup) : setup_(setup) { mosquitto_lib_init(); }
  ~Mqtt() override { mosquitto_lib_cleanup(); }

  static std::string version() {
    int major = 0, minor = 0, revision = 0;
    mosquitto_lib_version(&major, &minor, &revision);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(revision);
  }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Pub>(setup_, link); }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<Sub>(setup_, link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return std::make_unique<Called>(setup_, link, std::move(on_frame));
  }
  Facts facts() override { return {{"path", "TCP through mosquitto"}}; }

 private:
  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<Mqtt>(argc, argv); }
