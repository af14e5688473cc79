/// Publish-subscribe: PUB and SUB, or PUSH and PULL.
#pragma once

#include "socket.hpp"

// They need nng/nng.h before them.
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

inline bool pushes(const hopmeter::Setup& setup) { return setup.setting<std::string>("protocol") == "push"; }

class Sending final : public hopmeter::Publisher {
 public:
  Sending(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : socket_(pushes(setup) ? nng_push0_open : nng_pub0_open) {
    if (pushes(setup) && link.receivers > 1)
      throw hopmeter::Error("PUSH gives each frame to one receiver, and " + link.name + " has several",
                            "use protocol = \"pub\"");
    if (const auto frames = setup.setting<int>("send_buffer"); frames >= 0) socket_.set(NNG_OPT_SENDBUF, frames);
    socket_.bind(setup, link);
  }
  std::string address() const override { return socket_.address(); }
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return socket_.send(payload_bytes, fill);
  }

 private:
  Socket socket_;
};

/// A SUB or PULL socket, connected.
class Receiver : public Socket {
 public:
  Receiver(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : Socket(pushes(setup) ? nng_pull0_open : nng_sub0_open) {
    if (!pushes(setup)) {
      require(nng_socket_set(**this, NNG_OPT_SUB_SUBSCRIBE, "", 0), "subscribing");
      set(NNG_OPT_RECVBUF, setup.setting<int>("receive_buffer"));
    }
    connect(link);
  }
};

class Polled final : public hopmeter::Subscriber {
 public:
  Polled(const hopmeter::Setup& setup, const hopmeter::Link& link) : socket_(setup, link) {}

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto message = socket_.receive(timeout);
    if (message) take(hopmeter::Received::split(bytes(message)));
    return message ? 1 : 0;
  }

 private:
  Receiver socket_;
};

/// Called by nng's threads: each callback asks for the next message when it is done with its own.
class Called final : public hopmeter::Subscription {
 public:
  Called(const hopmeter::Setup& setup, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : socket_(setup, link), on_frame_(std::move(on_frame)) {
    require(nng_aio_alloc(
                &aio_, [](void* self) { static_cast<Called*>(self)->finish(); }, this),
            "preparing to receive");
    nng_recv_aio(*socket_, aio_);
  }
  ~Called() override {
    nng_aio_stop(aio_);  // waits for a callback that is running, and lets none begin
    nng_aio_free(aio_);
  }

 private:
  void finish() {
    if (nng_aio_result(aio_) != 0) return;
    {
      const Message message(nng_aio_get_msg(aio_));
      on_frame_(hopmeter::Received::split(bytes(message)));
    }
    nng_recv_aio(*socket_, aio_);
  }

  Receiver socket_;
  hopmeter::OnFrame on_frame_;
  nng_aio* aio_ = nullptr;
};
