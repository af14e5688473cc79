// A baseline with roscpp alone: a second process publishes each sensor_msgs/Image from one topic on another topic. Each
// process polls its own callback queue; the queues hold 100 messages, and TCP_NODELAY is off. `ros1 BYTES ROUNDS CORES`
// prints the median round trip in ns. CORES is `A` or `A,B`, as in bare.h; the environment names a running rosmaster.
//
// The program works like a hopmeter ring: each wait times out after 100 ms to check the time, and each arrival is
// recorded with two timestamps. Each process has its own session, because the scheduler may divide a core between
// sessions.
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include "ros1/cpp/modern.hpp"
#include "rounds.hpp"

using Image = sensor_msgs::Image_<modern::Allocator>;
using Event = ros::MessageEvent<const Image>;

enum { QUEUE = 100 };

static int64_t number_of(const Image& image) { return image.header.stamp.toNSec(); }

struct End {
  End(const char* to, const char* from, const boost::function<void(const Event&)>& arrived)
      : publisher(node.advertise<Image>(to, QUEUE)) {
    ros::SubscribeOptions options;
    options.initByFullCallbackType<const Event&>(from, QUEUE, arrived);
    options.callback_queue = &arrivals;
    options.transport_hints.tcpNoDelay(false);
    subscriber = node.subscribe(options);
  }

  void look() { arrivals.callAvailable(ros::WallDuration(LOOK_MS / 1000.0)); }

  ros::NodeHandle node;
  ros::Publisher publisher;
  ros::CallbackQueue arrivals;
  ros::Subscriber subscriber;
};

// Passes messages on by reference, until a message has no stamp.
static void relay() {
  bool ended = false;
  End end("/back", "/there", [&](const Event& event) {
    const int64_t arrived = now_ns();
    const auto image = event.getConstMessage();
    ended = image->header.stamp.isZero();
    end.publisher.publish(*image);
    note(number_of(*image), arrived);
  });
  while (!ended) end.look();
}

struct Source {
  explicit Source(size_t payload_bytes) {
    image.encoding = "rgb8";
    image.data.resize(payload_bytes);
  }

  void on_arrival(const Event& event) {
    const int64_t now = now_ns();
    if (event.getConstMessage()->header.stamp == image.header.stamp) took = now - sent;
    note(number_of(image), now);
  }

  // Returns the time from the stamp until the message came back, or 0 if the message did not come back.
  int64_t round_trip(int looks) {
    took = 0;
    sent = now_ns();
    send(ros::Time().fromNSec(sent));
    while (took == 0 && looks > 0) {
      const size_t before = recorded;
      end.look();
      looks -= recorded == before;
    }
    return took;
  }

  void send(ros::Time stamp) {
    image.header.stamp = stamp;
    image.header.frame_id.assign(56, 's');
    end.publisher.publish(image);
  }

  Image image;
  int64_t sent = 0, took = 0;
  End end{"/there", "/back", [this](const Event& event) { on_arrival(event); }};
};

static void ask() {
  Source source(frame_bytes - 64);
  measure([&](int looks) { return source.round_trip(looks); });
  source.send(ros::Time());  // tells the relay to exit
  tell_median();
}

int main(int count, char** words) {
  require(count == 4, "start without BYTES ROUNDS CORES");
  prepare(words + 1);
  const pid_t other = other_process();
  ros::init(ros::M_string(), other ? "source" : "relay",
            ros::init_options::NoSigintHandler | ros::init_options::NoRosout);
  require(ros::master::check(), "reach the rosmaster of ROS_MASTER_URI");
  if (other == 0) {
    relay();
    return 0;
  }
  ask();
  waitpid(other, nullptr, 0);
  return 0;
}
