// Sends messages with roscpp: start `example receive`, then `example send` in a second terminal. The programs find the
// rosmaster by the variable ROS_MASTER_URI.

// Build: c++ -std=c++17 -O2 example.cpp -o example $(pkg-config --cflags --libs roscpp)
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <std_msgs/UInt8MultiArray.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
constexpr int QUEUE = 100;
constexpr bool NODELAY = false;
constexpr int PATIENCE_S = 10;

/// Waits until the publisher has this number of receivers. Returns false after a timeout.
bool wait_for(const ros::Publisher& publisher, std::uint32_t receivers) {
  const auto until = ros::WallTime::now() + ros::WallDuration(PATIENCE_S);
  while (publisher.getNumSubscribers() != receivers && ros::WallTime::now() < until) ros::WallDuration(0.01).sleep();
  return publisher.getNumSubscribers() == receivers;
}

int send(ros::NodeHandle& node) {
  auto publisher = node.advertise<std_msgs::UInt8MultiArray>(TOPIC, QUEUE);
  if (!wait_for(publisher, 1)) {  // earlier messages are lost
    std::fputs("no receiver has subscribed\n", stderr);
    return 1;
  }
  std_msgs::UInt8MultiArray message;
  message.data.resize(PAYLOAD_BYTES);
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    publisher.publish(message);
  }
  wait_for(publisher, 0);  // wait until the receiver has disconnected: queued messages would be lost
  std::printf("sent %d messages\n", COUNT);
  return 0;
}

int receive(ros::NodeHandle& node) {
  int count = 0;
  const auto take = [&](const std_msgs::UInt8MultiArray::ConstPtr& message) {
    count += message->data.size() == PAYLOAD_BYTES;
  };
  const auto subscriber =
      node.subscribe<std_msgs::UInt8MultiArray>(TOPIC, QUEUE, take, nullptr, ros::TransportHints().tcpNoDelay(NODELAY));
  std::puts("ready");
  std::fflush(stdout);
  for (int before = -1; count < COUNT && count > before;) {
    before = count;
    ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(PATIENCE_S));
  }
  std::printf("received %d messages\n", count);
  return 0;
}

int main(int words, char** word) {
  ros::init(words, word, "example", ros::init_options::AnonymousName);
  ros::NodeHandle node;
  return words > 1 && std::string(word[1]) == "send" ? send(node) : receive(node);
}
