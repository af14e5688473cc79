/// MQTT by libmosquitto: topics through a broker. ../README.md says what is on the wire.
#include <mosquitto.h>
#include <poll.h>

#include <atomic>
#include <functional>

#include "hopmeter/draft.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/resource.hpp"

using namespace hopmeter;

namespace {

void demand(int code, const std::string& doing) {
  if (code != MOSQ_ERR_SUCCESS) throw Error(doing + ": " + mosquitto_strerror(code));
}

/// A connection that belongs to one end. Its work is done by whoever calls `loop`, or by libmosquitto's own thread
/// after `start_thread`: that thread writes what the socket does not take at once, and acknowledges.
class Connection {
 public:
  using Call = std::function<void(const Received&)>;

  explicit Connection(const Setup& setup)
      : qos(setup.setting<int>("qos")), mosquitto_(mosquitto_new(nullptr, true, this)) {
    if (!mosquitto_) throw Error::system("making an MQTT client");
    mosquitto_int_option(handle(), MOSQ_OPT_TCP_NODELAY, setup.setting<bool>("nodelay"));
    mosquitto_max_inflight_messages_set(handle(), setup.setting<unsigned>("inflight"));
    mosquitto_connect_callback_set(
        handle(), [](mosquitto*, void* self, int code) { static_cast<Connection*>(self)->is_accepted_ = code == 0; });
    mosquitto_message_callback_set(handle(), [](mosquitto*, void* self, const mosquitto_message* message) {
      const auto* bytes = static_cast<const std::byte*>(message->payload);
      static_cast<Connection*>(self)->call(Received::split({bytes, static_cast<std::size_t>(message->payloadlen)}));
    });
    const auto [host, port] = HostPort::parse(setup.daemon());
    demand(mosquitto_connect(handle(), host.c_str(), port, 600), "connecting to mosquitto at " + setup.daemon());
  }

  ~Connection() {
    mosquitto_disconnect(handle());
    mosquitto_loop_stop(handle(), false);
  }

  void start_thread() { demand(mosquitto_loop_start(handle()), "starting libmosquitto's thread"); }

  void subscribe(const std::string& topic) {
    demand(mosquitto_subscribe(handle(), nullptr, topic.c_str(), qos), "subscribing at mosquitto");
  }

  void loop(Timeout timeout) {
    const auto wait_ms = std::max<std::int64_t>(1, timeout.count() / 1'000'000);
    demand(mosquitto_loop(handle(), static_cast<int>(wait_ms), 1), "receiving from mosquitto");
  }

  /// Waits until the broker has accepted this client, for connections without a thread.
  void await_acceptance() {
    for (int tries = 0; tries < 100 && !is_accepted_; ++tries) loop(std::chrono::milliseconds(100));
    if (!is_accepted_) throw Error("mosquitto did not answer that it has accepted this client");
  }

  /// Waits until the socket has taken everything that was published.
  void flush() {
    while (mosquitto_want_write(handle())) {
      pollfd writable{mosquitto_socket(handle()), POLLOUT, 0};
      ::poll(&writable, 1, 100);
      demand(mosquitto_loop_write(handle(), 1), "sending to mosquitto");
    }
  }

  /// What the socket does not take at once is written by `flush`, or by the library's thread.
  void publish(const std::string& topic, std::span<const std::byte> frame) {
    const auto bytes = static_cast<int>(frame.size());
    demand(mosquitto_publish(handle(), nullptr, topic.c_str(), bytes, frame.data(), qos, false),
           "publishing at mosquitto");
  }

  /// Takes received frames. A polled end sets it anew in every poll.
  Call call = [](const Received&) {};
  const int qos;

 private:
  mosquitto* handle() const noexcept { return mosquitto_.get(); }

  Resource<mosquitto, mosquitto_destroy> mosquitto_;
  std::atomic<bool> is_accepted_ = false;
};

/// At quality 0 the broker answers nothing, and the publisher writes to the socket itself, without handing over to a
/// thread.
class Pub final : public Publisher {
 public:
  Pub(const Setup& setup, const Link& link) : topic_(link.name), connection_(setup) {
    connection_.qos > 0 ? connection_.start_thread() : connection_.await_acceptance();
  }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    connection_.publish(topic_, draft_.write(payload_bytes, fill));
    if (connection_.qos == 0) connection_.flush();
    return Sent::accepted;
  }

 private:
  std::string topic_;
  Draft draft_;
  Connection connection_;
};

class Sub final : public Subscriber {
 public:
  Sub(const Setup& setup, const Link& link) : connection_(setup) { connection_.subscribe(link.name); }

  std::size_t poll(Timeout timeout, Take take) override {
    std::size_t frames = 0;
    connection_.call = [&](const Received& received) {
      take(received);
      ++frames;
    };
    connection_.loop(timeout);
    return frames;
  }

 private:
  Connection connection_;
};

class Called final : public Subscription {
 public:
  Called(const Setup& setup, const Link& link, OnFrame on_frame) : on_frame_(std::move(on_frame)), connection_(setup) {
    connection_.call = [this](const Received& received) { on_frame_(received); };
    connection_.subscribe(link.name);
    connection_.start_thread();
  }

 private:
  OnFrame on_frame_;
  Connection connection_;
};

class Mqtt final : public Transport {
 public:
  explicit Mqtt(const Setup& setup) : setup_(setup) { mosquitto_lib_init(); }
  ~Mqtt() override { mosquitto_lib_cleanup(); }

  static std::string version() {
    int major = 0, minor = 0, revision = 0;
    mosquitto_lib_version(&major, &minor, &revision);
    return version_text(major, minor, revision);
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
