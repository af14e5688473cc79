/// The adapter for MQTT, with libmosquitto: messages are published on topics and pass through a broker. ../README.md
/// describes the wire format.
#include <mosquitto.h>
#include <poll.h>

#include <atomic>
#include <functional>

#include "hopmeter/credentials.hpp"
#include "hopmeter/draft.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/resource.hpp"

using namespace hopmeter;

namespace {

void demand(int code, const std::string& doing) {
  if (code != MOSQ_ERR_SUCCESS) throw Error(doing + ": " + mosquitto_strerror(code));
}

/// A link end of any kind, with its own connection. `loop` handles the connection until `start_thread` starts a thread
/// of libmosquitto. The thread writes bytes that the socket does not accept immediately, and sends acknowledgements.
class End final : public Publisher, public Subscriber, public Subscription {
 public:
  End(const Setup& setup, const Link& link)
      : topic_(link.name), qos_(setup.setting<int>("qos")), mosquitto_(mosquitto_new(nullptr, true, this)) {
    if (!mosquitto_) throw Error::system("creating an MQTT client");
    mosquitto_int_option(handle(), MOSQ_OPT_TCP_NODELAY, setup.setting<bool>("nodelay"));
    mosquitto_max_inflight_messages_set(handle(), setup.setting<unsigned>("inflight"));
    mosquitto_connect_callback_set(
        handle(), [](mosquitto*, void* self, int code) { static_cast<End*>(self)->is_accepted_ = code == 0; });
    mosquitto_message_callback_set(handle(), [](mosquitto*, void* self, const mosquitto_message* message) {
      const auto* bytes = static_cast<const std::byte*>(message->payload);
      static_cast<End*>(self)->take_(Received::split({bytes, static_cast<std::size_t>(message->payloadlen)}));
    });
    if (uses_tls(setup)) {
      const auto authority = credential(setup, "ca.pem");
      demand(mosquitto_tls_set(handle(), authority.c_str(), nullptr, nullptr, nullptr, nullptr), "setting up TLS");
    }
    const auto broker = BrokerAddress::parse(setup.broker());
    if (!broker.user.empty())
      demand(mosquitto_username_pw_set(handle(), broker.user.c_str(), broker.password.c_str()), "setting the password");
    const auto& [host, port] = broker.place;
    demand(mosquitto_connect(handle(), host.c_str(), port, 600), "connecting to mosquitto at " + broker.text());
  }

  ~End() override {
    mosquitto_disconnect(handle());
    mosquitto_loop_stop(handle(), false);
  }

  void start_thread() { demand(mosquitto_loop_start(handle()), "starting libmosquitto's thread"); }

  /// Waits until the broker has accepted the connection. At quality of service 0, there are no acknowledgements, so the
  /// publisher writes to the socket itself, without a thread.
  void start_publishing() {
    if (qos_ > 0) return start_thread();
    for (int tries = 0; tries < 100 && !is_accepted_; ++tries) loop(std::chrono::milliseconds(100));
    if (!is_accepted_) throw Error("mosquitto did not confirm that it has accepted this client");
  }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    const auto frame = draft_.write(payload_bytes, fill);
    const auto bytes = static_cast<int>(frame.size());
    demand(mosquitto_publish(handle(), nullptr, topic_.c_str(), bytes, frame.data(), qos_, false),
           "publishing at mosquitto");
    if (qos_ == 0) flush();
    return Sent::accepted;
  }

  void subscribe(std::function<void(const Received&)> take = [](const Received&) {}) {
    take_ = std::move(take);
    demand(mosquitto_subscribe(handle(), nullptr, topic_.c_str(), qos_), "subscribing at mosquitto");
  }

  std::size_t poll(Timeout timeout, Take take) override {
    std::size_t frames = 0;
    take_ = [&](const Received& received) {
      take(received);
      ++frames;
    };
    loop(timeout);
    return frames;
  }

 private:
  mosquitto* handle() const noexcept { return mosquitto_.get(); }

  void loop(Timeout timeout) {
    const auto wait_ms = std::max<std::int64_t>(1, timeout.count() / 1'000'000);
    demand(mosquitto_loop(handle(), static_cast<int>(wait_ms), 1), "receiving from mosquitto");
  }

  /// Waits until the socket has accepted all published messages.
  void flush() {
    while (mosquitto_want_write(handle())) {
      pollfd writable{mosquitto_socket(handle()), POLLOUT, 0};
      ::poll(&writable, 1, 100);
      demand(mosquitto_loop_write(handle(), 1), "sending to mosquitto");
    }
  }

  std::string topic_;
  int qos_;
  Draft draft_;
  std::function<void(const Received&)> take_;
  Resource<mosquitto, mosquitto_destroy> mosquitto_;
  std::atomic<bool> is_accepted_ = false;
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

  Owned<Publisher> publisher(const Link& link) override {
    auto end = std::make_unique<End>(setup_, link);
    end->start_publishing();
    return end;
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    auto end = std::make_unique<End>(setup_, link);
    end->subscribe();
    return end;
  }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    auto end = std::make_unique<End>(setup_, link);
    end->subscribe([on_frame = std::make_shared<OnFrame>(std::move(on_frame))](const Received& received) {
      (*on_frame)(received);
    });
    end->start_thread();
    return end;
  }
  Facts facts() override { return {{"path", connection_kind(setup_) + " through mosquitto"}}; }

 private:
  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<Mqtt>(argc, argv); }
