// A baseline with rclcpp alone, for ros2.py: `studies WAY EXECUTOR QOS DOMAIN BYTES RATE_HZ MESSAGES CORES`.
//
// `chain`: 20 relays in one process with one executor. `intra`: a publisher and a subscription in one process, without
// the rmw. `apart`: a publisher and a subscription in two processes. `late`: like `apart`, but timed from when each
// message was due. `call`: a client and a server in two processes. BYTES is the size of an image, or 0 for a
// std_msgs/Header. The program excludes the first tenth of the messages. For the remaining messages, the program prints
// how many arrived, and the median and 99th percentile of their times in nanoseconds. The time of a call ends when its
// answer arrives.
//
// As in hopmeter, the executor runs on the second core, each subscription has its own callback group, and each relay
// takes two timestamps per message.
#include <chrono>
#include <hopmeter_ros2/srv/carry_timing.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <std_msgs/msg/header.hpp>
#include <thread>

#include "cold.hpp"
#include "ros2/cpp/versions.hpp"

namespace {

using Timing = std_msgs::msg::Header;
using Image = sensor_msgs::msg::Image;
using Carry = hopmeter_ros2::srv::CarryTiming;
using namespace std::chrono_literals;

constexpr int relays = 20;
constexpr std::int64_t second_ns = 1'000'000'000;

Timing& header_of(Timing& message) { return message; }
Timing& header_of(Image& message) { return message.header; }
const Timing& header_of(const Timing& message) { return message; }
const Timing& header_of(const Image& message) { return message.header; }

std::int64_t sent_of(const auto& message) {
  const auto& stamp = header_of(message).stamp;
  return stamp.sec * second_ns + stamp.nanosec;
}

void stamp(auto& message, std::int64_t time_ns) {
  header_of(message).stamp.sec = static_cast<std::int32_t>(time_ns / second_ns);
  header_of(message).stamp.nanosec = static_cast<std::uint32_t>(time_ns % second_ns);
}

// Fills a message as a hopmeter node does, and finally writes the time stamp.
void fill(auto& message, const Schedule& schedule, const auto& write) {
  header_of(message).frame_id.assign(56, 's');
  if constexpr (requires { message.data; }) {
    message.encoding = "rgb8";
    message.data.resize(schedule.bytes);
    write(message.data.data());
  } else {
    write(nullptr);
  }
  stamp(message, now_ns());
}

struct Asked {
  std::string way, executor, qos;
  std::size_t domain;
};

std::unique_ptr<rclcpp::Executor> executor_of(const std::string& kind) {
  if (kind == "static") return ros2::static_executor({});
  if (kind == "events") return ros2::events_executor({});
  if (kind == "multi") return std::make_unique<rclcpp::executors::MultiThreadedExecutor>(rclcpp::ExecutorOptions(), 2);
  return std::make_unique<rclcpp::executors::SingleThreadedExecutor>();
}

// A process with one node and one executor, which runs on a separate thread.
class Process {
 public:
  explicit Process(const Asked& asked)
      : options_(asked), is_intra_(asked.way == "intra"), executor_(make_executor(asked)), node_(make_node(is_intra_)) {
    executor_->add_node(node_);
  }

  ~Process() {
    executor_->cancel();
    if (thread_.joinable()) thread_.join();
    rclcpp::shutdown();
  }

  template <class Message>
  auto publisher(int link) {
    return node_->create_publisher<Message>(name(link), qos());
  }

  template <class Message>
  void subscribe(int link, std::function<void(const Message&)> call) {
    rclcpp::SubscriptionOptions options;
    options.callback_group = group();
    ends_.push_back(node_->create_subscription<Message>(name(link), qos(), call, options));
  }

  // Opens a service whose response has the request's content.
  void serve() {
    const auto call = [](std::shared_ptr<Carry::Request> request, std::shared_ptr<Carry::Response> response) {
      const auto arrived = now_ns();
      response->it = request->it;
      note(sent_of(request->it), arrived);
    };
    ends_.push_back(node_->create_service<Carry>("/carry", call, ros2::services_qos(), group()));
  }

  auto client() { return node_->create_client<Carry>("/carry", ros2::services_qos(), group()); }

  // Runs the executor on this thread until a response arrives, and returns the response.
  auto await(const auto& future) {
    const auto said = executor_->spin_until_future_complete(future, 10s);
    require(said == rclcpp::FutureReturnCode::SUCCESS, "get the answer");
    return future.get();
  }

  void start() {
    thread_ = std::thread([this] {
      take_core(other_core);
      executor_->spin();
    });
  }

 private:
  static std::unique_ptr<rclcpp::Executor> make_executor(const Asked& asked) {
    ros2::limit_discovery(true);
    rclcpp::InitOptions options;
    options.set_domain_id(asked.domain);
    options.auto_initialize_logging(false);
    rclcpp::init(0, nullptr, options);
    return executor_of(asked.executor);
  }

  static rclcpp::Node::SharedPtr make_node(bool is_intra) {
    return std::make_shared<rclcpp::Node>("bare_" + std::to_string(getpid()),
                                          rclcpp::NodeOptions().use_intra_process_comms(is_intra));
  }

  static std::string name(int link) { return "/bare_" + std::to_string(link); }
  rclcpp::QoS qos() const { return options_.qos == "sensor-data" ? rclcpp::SensorDataQoS() : rclcpp::QoS(10); }
  rclcpp::CallbackGroup::SharedPtr group() {
    groups_.push_back(node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive));
    return groups_.back();
  }

  const Asked options_;
  const bool is_intra_;
  std::unique_ptr<rclcpp::Executor> executor_;
  rclcpp::Node::SharedPtr node_;
  std::vector<rclcpp::CallbackGroup::SharedPtr> groups_;
  std::vector<std::shared_ptr<void>> ends_;
  std::thread thread_;
};

void wait_until(const auto& is_true, const char* what) {
  for (int tries = 0; !is_true(); std::this_thread::sleep_for(10ms)) require(tries++ < 1000, what);
}

void tell(std::vector<std::int64_t>& took, std::int64_t messages) {
  took.erase(took.begin(), took.begin() + std::min<std::size_t>(took.size(), messages / 10));
  std::sort(took.begin(), took.end());
  const auto part = [&](double share) {
    return took.empty() ? 0 : took[static_cast<std::size_t>(share * (took.size() - 1))];
  };
  std::printf("%zu %lld %lld\n", took.size(), (long long)part(0.5), (long long)part(0.99));
  std::fflush(stdout);
}

template <class Message>
void publish_all(Schedule& schedule, rclcpp::Publisher<Message>& publisher, const Asked& asked) {
  const auto has_reader = [&] {
    return publisher.get_subscription_count() + publisher.get_intra_process_subscription_count() > 0;
  };
  wait_until(has_reader, "find the subscription");
  Message reused;
  schedule.run([&](std::int64_t seq, const auto& write) {
    if (asked.way != "intra") {
      fill(reused, schedule, write);
      if (asked.way == "late") stamp(reused, schedule.start_ns + seq * schedule.period_ns);
      return publisher.publish(reused);
    }
    auto message = std::make_unique<Message>();
    fill(*message, schedule, write);
    publisher.publish(std::move(message));
  });
  std::this_thread::sleep_for(300ms);
}

template <class Message>
std::function<void(const Message&)> recording(Schedule& schedule) {
  return [&](const Message& message) { schedule.record(sent_of(message), now_ns()); };
}

void chain(const Asked& asked, Schedule& schedule) {
  Process process(asked);
  std::vector<rclcpp::Publisher<Timing>::SharedPtr> publishers;
  for (int link = 0; link <= relays; ++link) publishers.push_back(process.publisher<Timing>(link));
  for (int link = 0; link < relays; ++link)
    process.subscribe<Timing>(link, [publisher = publishers[link + 1]](const Timing& message) {
      const auto arrived = now_ns();
      publisher->publish(message);
      note(sent_of(message), arrived);
    });
  process.subscribe<Timing>(relays, recording<Timing>(schedule));
  process.start();
  for (auto& each : publishers) wait_until([&] { return each->get_subscription_count() == 1; }, "find every relay");
  publish_all(schedule, *publishers.front(), asked);
}

template <class Message>
void intra(const Asked& asked, Schedule& schedule) {
  Process process(asked);
  const auto publisher = process.publisher<Message>(0);
  process.subscribe<Message>(0, recording<Message>(schedule));
  process.start();
  publish_all(schedule, *publisher, asked);
}

// Runs `other` in another process. `other` receives a function that waits until this process closes the pipe.
void apart(const auto& other, const auto& here) {
  int ends[2];
  require(pipe(ends) == 0, "open a pipe");
  const pid_t pid = other_process();
  if (pid == 0) {
    close(ends[1]);
    other([&] {
      char none;
      (void)!read(ends[0], &none, 1);
    });
    _exit(0);
  }
  close(ends[0]);
  here();
  close(ends[1]);
  int status = 0;
  require(waitpid(pid, &status, 0) == pid && status == 0, "have the other process end well");
}

template <class Message>
void two_processes(const Asked& asked, Schedule& schedule) {
  const auto receive = [&](const auto& wait) {
    {
      Process process(asked);
      process.subscribe<Message>(0, recording<Message>(schedule));
      process.start();
      wait();
    }
    tell(schedule.took_ns, schedule.messages);
  };
  apart(receive, [&] {
    Process process(asked);
    const auto publisher = process.publisher<Message>(0);
    publish_all(schedule, *publisher, asked);
  });
}

void call(const Asked& asked, Schedule& schedule) {
  const auto answer = [&](const auto& wait) {
    Process process(asked);
    process.serve();
    process.start();
    wait();
  };
  apart(answer, [&] {
    Process process(asked);
    const auto client = process.client();
    wait_until([&] { return client->service_is_ready(); }, "find the server");
    const auto request = std::make_shared<Carry::Request>();
    schedule.run([&](std::int64_t, const auto& write) {
      fill(request->it, schedule, write);
      const auto answer = process.await(client->async_send_request(request).future.share());
      schedule.record(sent_of(answer->it), now_ns());
    });
    tell(schedule.took_ns, schedule.messages);
  });
}

}  // namespace

int main(int count, char** words) {
  require(count == 9, "start without WAY EXECUTOR QOS DOMAIN BYTES RATE_HZ MESSAGES CORES");
  keep_memory();
  const Asked asked{words[1], words[2], words[3], std::stoul(words[4])};
  Schedule schedule(words + 5);
  pin(words[8]);
  make_room(words[7]);
  if (asked.way == "call") return call(asked, schedule), 0;
  if (asked.way == "apart" || asked.way == "late")
    return (schedule.bytes ? two_processes<Image>(asked, schedule) : two_processes<Timing>(asked, schedule)), 0;
  if (asked.way == "chain") chain(asked, schedule);
  if (asked.way == "intra") intra<Image>(asked, schedule);
  tell(schedule.took_ns, schedule.messages);
  return 0;
}
