/// The adapter for D-Bus, with sd-bus: signals and method calls through dbus-daemon. ../README.md describes the
/// messages.
#include "body.hpp"
#include "hopmeter/loop_thread.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;

namespace {

constexpr auto interface = "org.hopmeter.Link";
constexpr auto signal_name = "Frame";
constexpr auto method = "Call";
/// The longest sleep of a thread that calls callbacks. After this time, the thread only starts to sleep again.
constexpr std::chrono::hours nap{1};

std::string object_path(const Link& link) { return "/org/hopmeter/" + link.name; }
std::string bus_name(const Link& link) { return "org.hopmeter.link_" + link.name; }

/// The values that all link ends of the process share. Each link end has its own connection.
struct Options {
  explicit Options(const Setup& setup)
      : address(setup.broker()), is_memfd(setup.setting<std::string>("body") == "memfd") {}

  std::string address;
  bool is_memfd;
};

class Pub final : public Publisher {
 public:
  Pub(const Options& options, const Link& link)
      : is_memfd_(options.is_memfd), path_(object_path(link)), bus_(options.address) {}

  Sent send(std::size_t payload_bytes, Fill fill) override {
    sd_bus_message* raw = nullptr;
    demand(sd_bus_message_new_signal(bus_.raw(), &raw, path_.c_str(), interface, signal_name), "creating a signal");
    const Message message(raw);
    body::write(message, is_memfd_, payload_bytes, fill);
    return bus_.send(message);
  }

 private:
  bool is_memfd_;
  std::string path_;
  Bus bus_;
};

/// Receives the signals of a link, for which the connection adds a match rule.
class Sub final : public Subscriber {
 public:
  Sub(const Options& options, const Link& link) : spins_(link.wait == Wait::spin), bus_(options.address) {
    const auto rule = "type='signal',interface='" + std::string(interface) + "',path='" + object_path(link) + "'";
    // A handler that returns 0 leaves the message to `Bus::next`.
    const auto leave = [](sd_bus_message*, void*, sd_bus_error*) { return 0; };
    demand(sd_bus_add_match(bus_.raw(), nullptr, rule.c_str(), leave, nullptr), "adding a match rule at dbus-daemon");
  }

  std::size_t poll(Timeout timeout, Take take) override { return receive(spins_ ? Timeout::zero() : timeout, take); }

  std::size_t receive(Timeout timeout, const auto& take) {
    const auto is_frame = [](auto* raw) { return sd_bus_message_is_signal(raw, interface, signal_name) > 0; };
    const auto message = bus_.next(timeout, is_frame);
    if (message) body::read(message, take);
    return message ? 1 : 0;
  }

  void stop() const { bus_.stop(); }

 private:
  bool spins_;
  Bus bus_;
};

/// A receiver with a thread that waits for signals.
class Called final : public Subscription {
 public:
  Called(const Options& options, const Link& link, OnFrame on_frame)
      : sub_(options, link),
        on_frame_(std::move(on_frame)),
        thread_([this] { sub_.receive(nap, on_frame_); }, [this] { sub_.stop(); }) {}

 private:
  Sub sub_;
  OnFrame on_frame_;
  LoopThread thread_;
};

class Responder final : public Server, public Replier {
 public:
  Responder(const Options& options, const Link& link)
      : is_memfd_(options.is_memfd), spins_(link.wait == Wait::spin), bus_(options.address) {
    demand(sd_bus_request_name(bus_.raw(), bus_name(link).c_str(), 0), "requesting a bus name");
  }

  std::size_t poll(Timeout timeout, Handle handle) override {
    return answer_next(spins_ ? Timeout::zero() : timeout, handle);
  }

  Owned<Subscription> serve(OnRequest on_request) override {
    return std::make_unique<LoopThread>([this, on_request = std::move(on_request)] { answer_next(nap, on_request); },
                                        [this] { bus_.stop(); });
  }

  Sent reply(std::size_t payload_bytes, Fill fill) override {
    sd_bus_message* raw = nullptr;
    demand(sd_bus_message_new_method_return(request_.get(), &raw), "creating a reply");
    const Message message(raw);
    body::write(message, is_memfd_, payload_bytes, fill);
    return bus_.send(message);
  }

 private:
  std::size_t answer_next(Timeout timeout, const auto& handle) {
    const auto is_call = [](auto* raw) { return sd_bus_message_is_method_call(raw, interface, method) > 0; };
    request_ = bus_.next(timeout, is_call);
    if (!request_) return 0;
    body::read(request_, [&](const auto& received) { handle(received, *this); });
    return 1;
  }

  bool is_memfd_, spins_;
  Bus bus_;
  Message request_;
};

class Requester final : public Client {
 public:
  Requester(const Options& options, const Link& link)
      : is_memfd_(options.is_memfd),
        spins_(link.wait == Wait::spin),
        path_(object_path(link)),
        server_(bus_name(link)),
        bus_(options.address) {}

  Sent start(std::size_t payload_bytes, Fill fill) override {
    sd_bus_message* raw = nullptr;
    demand(sd_bus_message_new_method_call(bus_.raw(), &raw, server_.c_str(), path_.c_str(), interface, method),
           "creating a request");
    const Message message(raw);
    body::write(message, is_memfd_, payload_bytes, fill);
    return bus_.request(message);
  }

  std::size_t poll(Timeout timeout, Take take) override {
    const auto is_reply = [](auto* raw) { return is_method_return(raw); };
    const auto reply = bus_.next(spins_ ? Timeout::zero() : timeout, is_reply);
    if (reply) body::read(reply, take);
    return reply ? 1 : 0;
  }

 private:
  static bool is_method_return(sd_bus_message* raw) {
    std::uint8_t type = 0;
    return sd_bus_message_get_type(raw, &type) >= 0 && type == SD_BUS_MESSAGE_METHOD_RETURN;
  }

  bool is_memfd_, spins_;
  std::string path_, server_;
  Bus bus_;
};

class DBus final : public TransportOf<Options, Pub, Sub, Called, Responder, Requester> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return "libsystemd " LIBSYSTEMD_VERSION; }
  Facts facts() override {
    const std::string body = shared_.is_memfd ? "sealed memory whose file descriptor passes" : "byte arrays";
    return {{"path", body + " through dbus-daemon over Unix sockets"}};
  }
};

}  // namespace

int main(int argc, char** argv) { return run<DBus>(argc, argv); }
