/// Tests the C++ interface with adapter classes that throw, omit functions, or own and release memory.
#include "hopmeter/hopmeter.hpp"

#include <array>
#include <functional>

#include "check.hpp"
#include "hopmeter/choice.hpp"
#include "hopmeter/transport_of.hpp"
#include "hopmeter/typed.hpp"

using namespace hopmeter;

namespace {

/// The error that an adapter reported.
struct Told {
  std::string what, remedy;
  HopmeterError sink{this, [](void* context, HopmeterText what, HopmeterText remedy) {
                       auto& told = *static_cast<Told*>(context);
                       told.what = detail::string(what);
                       told.remedy = detail::string(remedy);
                     }};
};

int alive = 0;

/// A publisher whose `send` calls a function of the test.
class Scripted final : public Publisher {
 public:
  explicit Scripted(std::function<Sent(std::size_t, Fill)> script) : script_(std::move(script)) { ++alive; }
  ~Scripted() override { --alive; }
  Sent send(std::size_t payload_bytes, Fill fill) override { return script_(payload_bytes, fill); }

 private:
  std::function<Sent(std::size_t, Fill)> script_;
};

/// A publisher in the form that the instrument receives.
class Held {
 public:
  explicit Held(std::function<Sent(std::size_t, Fill)> script)
      : raw(Owned<Publisher>(std::make_unique<Scripted>(std::move(script))).release()) {}
  ~Held() { raw.calls->close(raw.object); }
  std::int32_t send(Told& told) const { return raw.calls->send(raw.object, 3, fill, &told.sink); }

  HopmeterPublisher raw;
  HopmeterFill fill{nullptr, [](void*, HopmeterFrameMut) {}};
};

void check_thrown(std::function<Sent(std::size_t, Fill)> script, const std::string& what, const std::string& remedy) {
  Told told;
  check(Held(std::move(script)).send(told) == HOPMETER_FAILED, "a throw is a failure");
  check_equal(told.what, what);
  check_equal(told.remedy, remedy);
}

void exceptions_become_texts() {
  check_thrown([](auto...) -> Sent { throw Error("no cable", "plug it in"); }, "no cable", "plug it in");
  check_thrown([](auto...) -> Sent { throw std::runtime_error("odd"); }, "odd", "");
  check_thrown([](auto...) -> Sent { throw 7; }, "the adapter threw something that is not a std::exception", "");
}

void causes_are_kept_and_the_nearest_remedy_wins() {
  const auto nested = [](auto...) -> Sent {
    try {
      throw Error("no route", "add one");
    } catch (...) {
      std::throw_with_nested(Error("sending", "try again"));
    }
  };
  check_thrown(nested, "sending: no route", "add one");
}

void answers_pass_unchanged() {
  Told told;
  check(Held([](auto...) { return Sent::busy; }).send(told) == HOPMETER_BUSY, "busy");
  check(Held([](auto...) { return Sent::accepted; }).send(told) == HOPMETER_ACCEPTED, "accepted");
  check(told.what.empty(), "nothing failed");
}

void ends_are_destroyed_once() {
  {
    Held held([](auto...) { return Sent::accepted; });
  }
  {
    Owned<Publisher> owned = std::make_unique<Scripted>([](auto...) { return Sent::accepted; });
    Owned<Publisher> moved = std::move(owned);
    check(alive == 1, "moving keeps it");
  }
  check(alive == 0, "every end is gone");
}

std::array<std::byte, 80> sent{};

Sent send_into_sent(std::size_t payload_bytes, Fill fill) {
  fill(std::span(sent).first(header_bytes + payload_bytes));
  return Sent::accepted;
}

void forward_copies_where_it_is_not_overridden() {
  std::array<std::byte, 70> frame;
  frame.fill(std::byte{5});
  sent.fill(std::byte{0});
  Told told;
  const Held held(send_into_sent);
  const auto whole = Received::split(frame);
  check(held.raw.calls->forward(held.raw.object, &whole.raw(), &told.sink) == HOPMETER_ACCEPTED, told.what);
  check(std::equal(frame.begin(), frame.end(), sent.begin()), "header and payload arrive");
  const auto stump = Received::split(std::span(frame).first(10));
  check(held.raw.calls->forward(held.raw.object, &stump.raw(), &told.sink) == HOPMETER_FAILED, "10 bytes are no frame");
}

void parts_are_copied_and_given_back_once() {
  int given_back = 0;
  const std::array<std::uint8_t, 64> header{1};
  const std::array<std::uint8_t, 6> payload{2};
  const HopmeterShared shared{&given_back, payload.data(), payload.size(),
                              [](void* context) { ++*static_cast<int*>(context); }};
  Told told;
  const Held held(send_into_sent);
  const auto answer = held.raw.calls->send_parts(held.raw.object, header.data(), shared, &told.sink);
  check(answer == HOPMETER_ACCEPTED && sent[0] == std::byte{1} && sent[64] == std::byte{2}, "both parts arrive");
  check(given_back == 1, "the payload is given back once");
}

struct Words final : FrameHolder {
  explicit Words(const std::string* native) : text(*native) { ++alive; }
  ~Words() override { --alive; }
  std::span<const std::byte> bytes() const noexcept override { return std::as_bytes(std::span(text)); }
  std::string text;
};

std::unique_ptr<FrameHolder> keep_words(const void* native) {
  return std::make_unique<Words>(static_cast<const std::string*>(native));
}

void kept_bytes_outlive_the_frame() {
  auto message = std::make_unique<std::string>("kept words");
  const auto received =
      Received::split(std::as_bytes(std::span(*message))).with_native(message.get()).with_keep<keep_words>();
  const HopmeterFrameHolder kept = received.raw().keep(received.raw().native);
  message.reset();
  check_equal(std::string(reinterpret_cast<const char*>(kept.data), kept.bytes), "kept words");
  kept.release(kept.handle);
  check(alive == 0, "released");
}

/// A transport without any link end.
struct Bare final : Transport {
  explicit Bare(const Setup&) {}
  static std::string version() { return "0"; }
};

void what_is_not_offered_is_named_and_callbacks_are_given_back() {
  Told told;
  HopmeterTransport transport{};
  check(adapter<Bare>.open(nullptr, &transport, &told.sink) == HOPMETER_ACCEPTED, told.what);
  int given_back = 0;
  const HopmeterOnFrame on_frame{&given_back, [](void*, const HopmeterReceived*) {},
                                 [](void* context) { ++*static_cast<int*>(context); }};
  const HopmeterLink link{.name = detail::text("camera"), .address = detail::text(""), .receivers = 1};
  HopmeterSubscription out{};
  check(transport.calls->subscribe(transport.object, &link, on_frame, &out, &told.sink) == HOPMETER_FAILED,
        "not offered");
  check_equal(told.what, "the adapter does not implement subscribe (needed for link camera)");
  check(!told.remedy.empty() && given_back == 1, "a remedy, and the callback is given back once");
  transport.calls->close(transport.object);
}

/// An adapter with two libraries, which selects a transport without any link end.
struct Picking final : Choice {
  explicit Picking(const Setup& setup) : Choice(std::make_unique<Bare>(setup)) {}
  static std::string version() { return "one 1, two 2"; }
  std::string library() const { return "two 2"; }
};

/// Returns the versions that an adapter reports before and after its transport is opened.
template <class Ours>
std::pair<std::string, std::string> versions() {
  Told told;
  HopmeterTransport transport{};
  check(adapter<Ours>.open(nullptr, &transport, &told.sink) == HOPMETER_ACCEPTED, told.what);
  std::string before, after;
  const auto put = [](void* context, HopmeterText text) { *static_cast<std::string*>(context) = detail::string(text); };
  const HopmeterTextOut first{&before, put}, second{&after, put};
  adapter<Ours>.version(&first);
  transport.calls->version(transport.object, &second);
  transport.calls->close(transport.object);
  return {before, after};
}

void an_adapter_with_several_libraries_says_which_it_took() {
  check(versions<Bare>() == std::pair<std::string, std::string>{"0", "0"}, "the only one");
  check(versions<Picking>() == std::pair<std::string, std::string>{"one 1, two 2", "two 2"}, "the one of two");
}

void a_choice_passes_on_what_is_asked_of_it() {
  Told told;
  HopmeterTransport transport{};
  check(adapter<Picking>.open(nullptr, &transport, &told.sink) == HOPMETER_ACCEPTED, told.what);
  const HopmeterLink link{.name = detail::text("camera"), .address = detail::text(""), .receivers = 1};
  HopmeterClient out{};
  check(transport.calls->client(transport.object, &link, &out, &told.sink) == HOPMETER_FAILED, "not offered");
  check_equal(told.what, "the adapter does not implement client (needed for link camera)");
  transport.calls->close(transport.object);
}

/// A publisher that records the name of its link.
struct Recording final : Publisher {
  static inline std::string link;
  Recording(const Setup&, const Link& its_link) { link = its_link.name; }
  Sent send(std::size_t, Fill) override { return Sent::accepted; }
};

void a_transport_of_ends_makes_these_and_names_the_others() {
  TransportOf<Setup, Recording> transport{Setup(nullptr)};
  const Link link{.name = "camera", .address = "", .receivers = 1};
  (void)transport.publisher(link);
  check_equal(Recording::link, "camera");
  try {
    (void)transport.client(link);
    check(false, "a client was made");
  } catch (const Error& refused) {
    check_equal(refused.what(), "the adapter does not implement client (needed for link camera)");
  }
}

void a_header_travels_in_the_fields_of_a_message() {
  const std::string_view text = "0123456789abcdef 00000007 000c 000000000000002a deadbeef";
  const auto header = header_of(text, 1234, 9);
  check_equal(std::string(label(header)), std::string(text));
  check(seq_of(header) == 42 && sent_of(header) == 1234, "its number and its time");
  check(header_of("hello", 1, 0) == Header{}, "what is no label gives a header that is refused");
}

}  // namespace

int main() {
  exceptions_become_texts();
  causes_are_kept_and_the_nearest_remedy_wins();
  answers_pass_unchanged();
  ends_are_destroyed_once();
  forward_copies_where_it_is_not_overridden();
  parts_are_copied_and_given_back_once();
  kept_bytes_outlive_the_frame();
  what_is_not_offered_is_named_and_callbacks_are_given_back();
  an_adapter_with_several_libraries_says_which_it_took();
  a_choice_passes_on_what_is_asked_of_it();
  a_transport_of_ends_makes_these_and_names_the_others();
  a_header_travels_in_the_fields_of_a_message();
}
