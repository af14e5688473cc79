/// Streaming ports: a port that writes, and ports with polling or callbacks.
#pragma once

#include <yarp/os/Port.h>
#include <yarp/os/PortReaderBuffer.h>
#include <yarp/os/PortWriterBuffer.h>
#include <yarp/os/TypedReaderCallback.h>

#include <mutex>
#include <optional>

#include "alarm.hpp"
#include "house.hpp"
#include "image.hpp"

namespace yarps {

/// Writes on the caller's thread, to one receiver after another.
class Writing final : public hopmeter::Publisher {
 public:
  Writing(House& house, const hopmeter::Link& link) : house_(house) {
    port_.setInputMode(false);
    name_ = house.open(port_, link);
  }
  ~Writing() override { house_.shut(port_); }
  std::string address() const override { return name_; }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    write(image_, payload_bytes, fill);
    return send(image_);
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* image = received.native<Image>();
    if (!image) throw hopmeter::Error("this frame did not arrive through YARP, so it cannot be forwarded by reference");
    return send(*image);
  }

 private:
  /// Sends an image. The write fails if a receiver has disconnected, but the other receivers have received their
  /// frames.
  hopmeter::Sent send(const Image& image) {
    port_.write(image);
    return hopmeter::Sent::accepted;
  }

  House& house_;
  std::string name_;
  Image image_;
  yarp::os::Port port_;
};

/// Passes an image to the YARP thread of each receiver, like a BufferedPort.
class Buffered final : public hopmeter::Publisher {
 public:
  Buffered(House& house, const hopmeter::Link& link) : house_(house) {
    port_.setInputMode(false);
    buffer_.attach(port_);
    name_ = house.open(port_, link);
  }
  std::string address() const override { return name_; }
  ~Buffered() override {
    house_.shut(port_);
    buffer_.detach();
  }

  /// Returns busy if a receiver's thread is still writing, because YARP would skip that receiver.
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (port_.isWriting()) return hopmeter::Sent::busy;
    write(buffer_.get(), payload_bytes, fill);
    buffer_.write();
    return hopmeter::Sent::accepted;
  }

 private:
  House& house_;
  std::string name_;
  yarp::os::Port port_;
  yarp::os::PortWriterBuffer<Image> buffer_;
};

/// A port that reads into a buffer on the YARP thread of each connection. Unlike the read of a BufferedPort, this read
/// can be interrupted without losing later messages.
class Inbox {
 public:
  Inbox(House& house, const hopmeter::Link& link) : house_(house) {
    buffer.setStrict(house.setup.setting<std::string>("read") == "strict");
    port_.setOutputMode(false);
    buffer.attach(port_);
    house.connect(link.address, house.open(port_, link));
  }
  ~Inbox() {
    house_.shut(port_);
    buffer.detach();
  }

 private:
  House& house_;
  yarp::os::Port port_;

 public:
  yarp::os::PortReaderBuffer<Image> buffer;
};

class Polled final : public hopmeter::Subscriber {
 public:
  Polled(House& house, const hopmeter::Link& link) : inbox_(house, link) {
    if (link.wait == hopmeter::Wait::block) alarm_.emplace([this] { inbox_.buffer.interrupt(); });
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto* image = next(timeout);
    if (image) take(frame(*image));
    return image ? 1 : 0;
  }

 private:
  const Image* next(hopmeter::Timeout timeout) {
    if (const auto* image = inbox_.buffer.read(false); image || !alarm_) return image;
    alarm_->begin(timeout);
    const auto* image = inbox_.buffer.read(true);
    alarm_->end();
    return image;
  }

  Inbox inbox_;
  std::optional<Alarm> alarm_;
};

/// A receiver with a callback on the thread that empties the buffer, like a BufferedPort's `onRead`.
class CalledBuffered final : public hopmeter::Subscription, private yarp::os::TypedReaderCallback<Image> {
 public:
  CalledBuffered(House& house, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : on_frame_(std::move(on_frame)), inbox_(house, link) {
    inbox_.buffer.useCallback(*this);
  }
  ~CalledBuffered() override { inbox_.buffer.disableCallback(); }

 private:
  using yarp::os::TypedReaderCallback<Image>::onRead;
  void onRead(Image& image) override { on_frame_(frame(image)); }

  hopmeter::OnFrame on_frame_;
  Inbox inbox_;
};

/// A receiver with a callback on the thread that reads the connection, like a PortReader of `Port::setReader`.
class CalledDirectly final : public hopmeter::Subscription, private yarp::os::PortReader {
 public:
  CalledDirectly(House& house, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : house_(house), on_frame_(std::move(on_frame)) {
    port_.setOutputMode(false);
    port_.setReader(*this);
    house.connect(link.address, house.open(port_, link));
  }
  ~CalledDirectly() override { house_.shut(port_); }

 private:
  bool read(yarp::os::ConnectionReader& connection) override {
    const std::lock_guard lock(turn_);
    if (!connection.isValid() || !image_.read(connection)) return false;
    on_frame_(frame(image_));
    return true;
  }

  House& house_;
  hopmeter::OnFrame on_frame_;
  /// Serialises the callbacks, because two connections may exist during a reconnection.
  std::mutex turn_;
  Image image_;
  yarp::os::Port port_;
};

}  // namespace yarps
