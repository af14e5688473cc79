/// Tests the building blocks of adapters: buffers, mailboxes, callbacks, descriptors and messages.
#include <sys/eventfd.h>

#include <array>
#include <cstring>
#include <thread>

#include "check.hpp"
#include "hopmeter/callback_slot.hpp"
#include "hopmeter/completion.hpp"
#include "hopmeter/draft.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/loop_thread.hpp"
#include "hopmeter/mailbox.hpp"
#include "hopmeter/message.hpp"
#include "hopmeter/resource.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;

namespace {

std::string thrown_by(auto&& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

const Fill fill_with_sevens(HopmeterFill{nullptr,
                                         [](void*, HopmeterFrameMut frame) {
                                           std::memset(frame.header, 7, header_bytes);
                                           if (frame.payload_bytes) std::memset(frame.payload, 7, frame.payload_bytes);
                                         },
                                         nullptr});

void a_descriptor_closes_itself_and_names_what_failed() {
  const int raw = ::eventfd(0, 0);
  {
    Descriptor first(raw);
    Descriptor second = std::move(first);
    check(*first == -1 && *second == raw, "moving leaves nothing behind");
  }
  check(::eventfd_write(raw, 1) != 0 && errno == EBADF, "it is closed");
  errno = EMFILE;
  check_equal(thrown_by([] { Descriptor(-1, "making a socket"); }), "making a socket: Too many open files");
}

int destroyed = 0;
void destroy(int*) { ++destroyed; }

void a_resource_is_given_back_once() {
  int handle = 0;
  { Resource<int, destroy> first(&handle), second(std::move(first)); }
  check(destroyed == 1, "once");
}

void a_draft_holds_the_whole_frame_of_any_size() {
  Draft draft;
  for (const std::size_t payload_bytes : {10, 3, 1000}) {
    const auto frame = draft.write(payload_bytes, fill_with_sevens);
    check(frame.size() == header_bytes + payload_bytes && frame.back() == std::byte{7}, "as long as it was asked");
  }
}

void addresses_are_taken_apart_or_refused() {
  const auto [host, port] = HostPort::parse("127.0.0.1:4222");
  check(host == "127.0.0.1" && port == 4222, "both parts");
  for (const char* wrong : {"", "4222", "host:", "host:x", "host:65536", "host:1 "})
    check_equal(thrown_by([&] { HostPort::parse(wrong); }),
                "the address " + std::string(wrong) + " does not have the form HOST:PORT");
}

void the_address_of_a_broker_may_have_credentials() {
  const auto open = BrokerAddress::parse("127.0.0.1:1883");
  check(open.user.empty() && open.password.empty(), "nobody is named");
  const auto closed = BrokerAddress::parse("hopmeter:a:b@10.0.0.7:1883");
  check(closed.user == "hopmeter" && closed.password == "a:b", "who, and the password");
  check_equal(closed.text(), std::string("10.0.0.7:1883"));
  check_equal(thrown_by([&] { BrokerAddress::parse("hopmeter@10.0.0.7:1883"); }),
              std::string("the user of the broker at 10.0.0.7:1883 has no password"));
}

void a_mailbox_keeps_the_order_and_says_when_it_is_full() {
  Mailbox<std::shared_ptr<int>> mailbox(2);
  check(!mailbox.pop(0ns) && !mailbox.pop(1ms), "nothing is there");
  for (int value = 0; value < 3; ++value) {
    check(mailbox.has_room() == (value < 2), "room for two");
    mailbox.push(std::make_shared<int>(value));
    if (value == 0) check(*mailbox.pop(0ns) == 0, "the oldest first"), mailbox.push(std::make_shared<int>(0));
  }
  for (int value = 0; value < 3; ++value) check(*mailbox.pop(1ms) == value, "it grew without mixing them");
}

void a_mailbox_wakes_the_one_that_waits() {
  Mailbox<std::unique_ptr<int>> mailbox(1);
  std::thread sender([&] {
    std::this_thread::sleep_for(20ms);
    mailbox.push(std::make_unique<int>(5));
  });
  const auto item = mailbox.pop(10s);
  sender.join();
  check(item && *item == 5, "woken by what came");
}

void a_loop_thread_steps_until_it_is_destroyed_without_waiting_for_a_sleep() {
  Completion stepped, woken;
  const auto begin = std::chrono::steady_clock::now();
  {
    LoopThread thread(
        [&] {
          stepped.set();
          woken.wait();
        },
        [&] { woken.set(); });
    stepped.wait();
  }
  check(std::chrono::steady_clock::now() - begin < 5s, "woken");
}

void a_loop_thread_ends_with_its_exception() {
  Completion threw;
  LoopThread thread([&] {
    threw.set();
    throw Error("no more");
  });
  threw.wait();
}

void a_slot_calls_its_callback_only_while_the_subscription_lives() {
  static int calls = 0, releases = 0;
  const auto slot = std::make_shared<CallbackSlot<OnFrame>>();
  const auto call = [&] { return slot->call([](const OnFrame& on_frame) { on_frame(Received({}, {})); }); };
  check(!call(), "nobody yet");
  {
    const SlotSubscription<OnFrame> subscription(
        slot, OnFrame({nullptr, [](void*, const HopmeterReceived*) { ++calls; }, [](void*) { ++releases; }}));
    check(call() && calls == 1 && releases == 0, "called");
  }
  check(!call() && calls == 1 && releases == 1, "not called any more, and given back");
}

/// A message with fields and a sequence.
struct Picture {
  struct {
    std::int32_t sec;
    std::uint32_t nanosec;
  } stamp;
  std::string frame_id;
  std::vector<std::uint8_t> data;
  std::uint32_t width = 0;
};

/// A message with accessor functions, and with an array of which only a part is used.
struct Plain {
  class Time {
   public:
    std::int32_t sec() const { return sec_; }
    void sec(std::int32_t value) { sec_ = value; }
    std::uint32_t nanosec() const { return nanosec_; }
    void nanosec(std::uint32_t value) { nanosec_ = value; }

   private:
    std::int32_t sec_;
    std::uint32_t nanosec_;
  } stamp;
  std::array<char, label_bytes> frame_id;
  std::array<std::uint8_t, 100> data;
  std::uint32_t length;
};

struct PictureLayout {
  static void shape(auto& message, const Link&) { message.width = 3; }
  static auto& text(auto& message) { return message.frame_id; }
  static auto& octets(auto& message) { return message.data; }
  static void stamp(auto& message, std::uint64_t, std::int64_t sent_ns) { set_time(message.stamp, sent_ns); }
  static std::int64_t sent_ns(const auto& message) { return nanoseconds(message.stamp); }
};

struct PlainLayout : PictureLayout {
  static std::uint32_t length(const auto& message) { return message.length; }
  static void length(auto& message, std::uint32_t bytes) { message.length = bytes; }
};

/// A message whose text is a pointer, and that has no payload field.
struct Small {
  char* text;
  std::int64_t nanosec;
};

struct SmallLayout {
  static auto& text(auto& message) { return message.text; }
  static void stamp(auto& message, std::uint64_t, std::int64_t sent_ns) { message.nanosec = sent_ns; }
  static std::int64_t sent_ns(const auto& message) { return message.nanosec; }
};

const Header sound_header = header_of("0123456789abcdef 00000007 000c 000000000000002a deadbeef", 5'000'000'021, 9);
const Fill fill_soundly(HopmeterFill{nullptr,
                                     [](void*, HopmeterFrameMut frame) {
                                       std::memcpy(frame.header, sound_header.data(), header_bytes);
                                       if (frame.payload_bytes) std::memset(frame.payload, 7, frame.payload_bytes);
                                     },
                                     nullptr});

template <class Layout>
void check_round_trip(auto message, std::size_t payload_bytes) {
  write_message<Layout>(message, payload_bytes, fill_soundly);
  int frames = 0;
  hand_over<Layout>(std::as_const(message), [&](const Received& received) {
    const auto header = received.header();
    check(
        std::equal(header.begin(), header.end(), header_of(label(sound_header), 5'000'000'021, payload_bytes).begin()),
        "the header");
    check(received.payload().size() == payload_bytes, "the payload's length");
    for (const auto byte : received.payload()) check(byte == std::byte{7}, "the payload");
    check(received.native<decltype(message)>() == &message, "the message itself");
    ++frames;
  });
  check(frames == 1, "one frame");
}

void frames_travel_in_messages_of_every_kind() {
  check_round_trip<PictureLayout>(Picture(), 9);
  check_round_trip<PlainLayout>(Plain(), 9);
  char text[label_bytes + 1] = {};
  check_round_trip<SmallLayout>(Small{text, 0}, 0);
  check_equal(thrown_by([&] {
                Small small{text, 0};
                write_message<SmallLayout>(small, 1, fill_soundly);
              }),
              "this message has no field for a payload of 1 bytes");
}

void a_length_beyond_the_array_is_cut() {
  Plain damaged{};
  damaged.length = 1000;
  check(payload_of<PlainLayout>(damaged).size() == 100, "only what is there");
}

void a_reply_is_written_or_copied_from_the_request() {
  const Link link{.name = "camera"};
  const Picture request{{}, "", {1, 2, 3}, 4};
  Picture reply;
  MessageReplier<PictureLayout, Picture> replier(link, request, reply);
  check(!replier.has_reply(), "none yet");
  check(replier.reply(5, fill_soundly) == Sent::accepted && reply.data.size() == 5 && reply.width == 3, "written");
  const auto whole = Received({}, {}).with_native(&request);
  check(replier.forward(whole) == Sent::accepted && reply.data == request.data && reply.width == 4, "copied");
  check(replier.has_reply(), "there is one");
}

void a_frame_of_another_transport_is_refused() {
  const auto received = Received({}, {});
  check_equal(thrown_by([&] { received.require_native<int>("a wire"); }),
              "this frame did not arrive through a wire, so it cannot be forwarded by reference");
  const int message = 0;
  check(&received.with_native(&message).require_native<int>("a wire") == &message, "the message itself");
}

}  // namespace

int main() {
  a_descriptor_closes_itself_and_names_what_failed();
  a_resource_is_given_back_once();
  a_draft_holds_the_whole_frame_of_any_size();
  addresses_are_taken_apart_or_refused();
  the_address_of_a_broker_may_have_credentials();
  a_mailbox_keeps_the_order_and_says_when_it_is_full();
  a_mailbox_wakes_the_one_that_waits();
  a_loop_thread_steps_until_it_is_destroyed_without_waiting_for_a_sleep();
  a_loop_thread_ends_with_its_exception();
  a_slot_calls_its_callback_only_while_the_subscription_lives();
  frames_travel_in_messages_of_every_kind();
  a_length_beyond_the_array_is_cut();
  a_reply_is_written_or_copied_from_the_request();
  a_frame_of_another_transport_is_refused();
}
