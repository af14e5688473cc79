/// Calls of the user's own service. Request and response each contain a frame. A reply's frame has the payload of its
/// request, which the response represents. This code is compiled into the library of a service (type/).
#pragma once

#include "own_messages.hpp"
#include "services.hpp"
#include "type_ends.hpp"

namespace ros2 {

/// Returns the message in a request or response: the field `value`, or the request or response itself if it has a
/// header.
template <class Part, bool has_header>
struct ValueOf {
  using Type = decltype(Part::value);
};
template <class Part>
struct ValueOf<Part, true> {
  using Type = Part;
};

/// The frames of requests or of responses.
template <class Call, class Part, bool has_header, bool is_reply>
class PartFrames final : public OwnFrames<typename ValueOf<Part, has_header>::Type, Part, Call, has_header> {
  using Base = OwnFrames<typename ValueOf<Part, has_header>::Type, Part, Call, has_header>;

 public:
  explicit PartFrames(const hopmeter::Link& link) : Base(link, file_of(link.message_object)) {}

  static auto& message_in(auto& part) { return part; }

 private:
  /// Returns the file of the encoded message; the response's file is next to the request's file.
  static std::string file_of(const std::string& request) {
    return is_reply ? request.substr(0, request.find_last_of('/') + 1) + "reply.bin" : request;
  }
};

/// Opens the link ends of a service.
template <class Call, bool request_has_header, bool response_has_header>
class ServiceEndsOf final : public TypeEnds {
  using Requests = PartFrames<Call, typename Call::Request, request_has_header, false>;
  using Replies = PartFrames<Call, typename Call::Response, response_has_header, true>;

 public:
  std::unique_ptr<hopmeter::Publisher> publisher(House&, const hopmeter::Link& link) const override {
    throw is_no_topic(link);
  }
  std::unique_ptr<hopmeter::Subscriber> subscriber(House&, const hopmeter::Link& link) const override {
    throw is_no_topic(link);
  }
  std::unique_ptr<hopmeter::Subscription> subscribe(House&, const hopmeter::Link& link,
                                                    hopmeter::OnFrame) const override {
    throw is_no_topic(link);
  }
  std::unique_ptr<hopmeter::Server> server(House& house, const hopmeter::Link& link) const override {
    return std::make_unique<Server<Requests, Replies>>(house, link);
  }
  std::unique_ptr<hopmeter::Client> client(House& house, const hopmeter::Link& link) const override {
    return std::make_unique<Client<Requests, Replies>>(house, link);
  }

 private:
  static hopmeter::Error is_no_topic(const hopmeter::Link& link) {
    return hopmeter::Error(link.message_type + " is a service, which programs call and do not publish",
                           "use --pattern rpc");
  }
};

}  // namespace ros2
