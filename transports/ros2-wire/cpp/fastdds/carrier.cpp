/// Topics and services by Fast DDS. The rest is in ../../../_fastdds.
#include "../../../_fastdds/cpp/carrier.hpp"

#include "../../../_cyclonedds/cpp/buffer.hpp"
#include "messages.hpp"
#include "services.hpp"

using namespace hopmeter;

namespace wire::by_fastdds {
namespace {

fastdds::Customs customs(const Setup& setup) {
  return {
      // What others read, too.
      .transport = "udp",
      .receive_buffer_bytes = cyclone::is_large(setup) ? cyclone::large_buffer_bytes : 0,
      .patience_ms = 0,
      .meets_others = true,
  };
}

/// Tells what was not done as asked, beside what else was not.
void fall_back(Facts& facts, const std::string& what) {
  for (auto& [name, value] : facts)
    if (name == "fallback") return void(value += "; " + what);
  facts.emplace_back("fallback", what);
}

/// The adapter for one message.
template <class Message, class Request, class Reply>
class Carrier final : public fastdds::Carrier<Message> {
 public:
  explicit Carrier(const Setup& setup) : fastdds::Carrier<Message>(setup, customs(setup)) {}

  Owned<hopmeter::Server> server(const Link& link) override {
    return std::make_unique<Server<Request, Reply>>(this->house_, this->participant_, link);
  }
  Owned<hopmeter::Client> client(const Link& link) override {
    return std::make_unique<Client<Request, Reply>>(this->house_, this->participant_, link);
  }

  Facts facts() override {
    const auto& setup = this->house_.setup;
    auto facts = fastdds::Carrier<Message>::facts();
    facts.emplace_back("domain", std::to_string(fastdds::domain_of(setup.run())));
    facts.emplace_back("interface", "lo, 127.0.0.1");
    facts.emplace_back("shared_memory", "not used");
    if (setup.template setting<std::string>("delivery") == "asynchronous")
      fall_back(facts, "Fast DDS does not know delivery = asynchronous");
    return facts;
  }
};

}  // namespace

std::string version() { return fastdds::version(); }

std::unique_ptr<Transport> carrier(const Setup& setup) {
  if (setup.payload() == PayloadKind::timing)
    return std::make_unique<Carrier<Timing, TimingRequest, TimingReply>>(setup);
  return std::make_unique<Carrier<Image, ImageRequest, ImageReply>>(setup);
}

}  // namespace wire::by_fastdds
