/// The adapter for LCM with lcm-cpp: one channel per link. ../README.md describes the wire format.
#include <lcm/lcm-cpp.hpp>
#include <map>
#include <mutex>

#include "hopmeter/draft.hpp"
#include "network.hpp"

using namespace hopmeter;

namespace {

using Instance = std::shared_ptr<lcm::LCM>;

Instance make_instance(const std::string& url) {
  auto instance = std::make_shared<lcm::LCM>(url);
  if (!instance->good()) throw Error("LCM cannot open " + url, multicast_remedy);
  return instance;
}

class Channel final : public Publisher {
 public:
  Channel(const Link& link, Instance lcm, std::string address)
      : name_(link.name), address_(std::move(address)), lcm_(std::move(lcm)) {}

  std::string address() const override { return address_; }

  Sent send(std::size_t payload_bytes, Fill fill) override { return publish(draft_.write(payload_bytes, fill)); }

  /// Sends the received bytes without a copy.
  Sent forward(const Received& received) override {
    const auto& message = received.require_native<lcm::ReceiveBuffer>("LCM");
    return publish({static_cast<const std::byte*>(message.data), message.data_size});
  }

 private:
  Sent publish(std::span<const std::byte> frame) {
    if (lcm_->publish(name_, frame.data(), static_cast<unsigned>(frame.size())) != 0)
      throw Error::system("publishing on LCM's channel " + name_, multicast_remedy);
    return Sent::accepted;
  }

  std::string name_, address_;
  Instance lcm_;
  Draft draft_;
};

class Listener final : public Subscriber {
 public:
  Listener(const Setup& setup, const Link& link, Instance lcm) : lcm_(std::move(lcm)), spins_(link.wait == Wait::spin) {
    // `getFileno` makes LCM open its receiving socket and send itself a message. `subscribe`, which is called later,
    // would not report a failure.
    if (lcm_->getFileno() < 0) throw Error("LCM receives nothing at " + link.address, multicast_remedy);
    subscription_ = lcm_->subscribe(link.name, &Listener::receive, this);
    subscription_->setQueueCapacity(setup.setting<int>("queue"));
  }
  ~Listener() override { lcm_->unsubscribe(subscription_); }

  std::size_t poll(Timeout timeout, Take take) override {
    take_ = &take;
    count_ = 0;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(timeout);
    if (lcm_->handleTimeout(spins_ ? 0 : static_cast<int>(wait.count())) < 0)
      throw Error::system("receiving from LCM", multicast_remedy);
    take_ = nullptr;
    return count_;
  }

 private:
  void receive(const lcm::ReceiveBuffer* message, const std::string&) {
    if (!take_) return;
    const auto* bytes = static_cast<const std::byte*>(message->data);
    (*take_)(Received::split({bytes, message->data_size}).with_native(message));
    ++count_;
  }

  Instance lcm_;
  lcm::Subscription* subscription_ = nullptr;
  const Take* take_ = nullptr;
  std::size_t count_ = 0;
  bool spins_;
};

class Lcm final : public Transport {
 public:
  explicit Lcm(const Setup& setup) : setup_(setup), in_memory_(setup.setting<std::string>("provider") == "memq") {}

  static std::string version() {
    return "liblcm " + version_text(LCM_MAJOR_VERSION, LCM_MINOR_VERSION, LCM_MICRO_VERSION);
  }

  Owned<Publisher> publisher(const Link& link) override {
    if (in_memory_) return std::make_unique<Channel>(link, make_queue(link), "memq://");
    const bool of_link = setup_.setting<std::string>("group") == "link";
    const auto url = Group(of_link ? link.name : setup_.run()).url(setup_);
    return std::make_unique<Channel>(link, make_instance(url), url);
  }

  Owned<Subscriber> subscriber(const Link& link) override {
    if (in_memory_) return std::make_unique<Listener>(setup_, link, queue_of(link));
    const auto url = link.address + "&recv_buf_size=" + std::to_string(setup_.setting<int>("recv_buf_size"));
    return std::make_unique<Listener>(setup_, link, make_instance(url));
  }

  Facts facts() override { return in_memory_ ? Facts{{"path", "memory of the process"}} : network_facts(setup_); }

 private:
  /// Returns an instance with an in-memory queue, which both ends of a link share.
  Instance make_queue(const Link& link) {
    if (link.receivers > 1)
      throw Error("LCM's memq supports only one receiver for each link", "use --set provider=udpm");
    auto queue = make_instance("memq://");
    const std::lock_guard lock(mutex_);
    queues_[link.name] = queue;
    return queue;
  }

  Instance queue_of(const Link& link) {
    const std::lock_guard lock(mutex_);
    auto shared = queues_[link.name].lock();
    if (!shared) throw Error("LCM's memq connects only ends of one process", "use --placement thread");
    return shared;
  }

  Setup setup_;
  bool in_memory_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<lcm::LCM>> queues_;
};

}  // namespace

int main(int argc, char** argv) { return run<Lcm>(argc, argv); }
