/// The bodies of requests and replies: the bytes of a frame, or a JSON object.
#pragma once

#include <openssl/evp.h>

#include <nlohmann/json.hpp>
#include <string>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"

namespace body {

inline std::span<std::byte> writable(std::string& text) { return std::as_writable_bytes(std::span(text)); }

inline std::string to_base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');  // a string has room for the zero that OpenSSL appends
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return text;
}

/// Returns no bytes if the text is not base64.
inline std::string from_base64(const std::string& text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const auto length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  const auto padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(std::max(0, length - padding)));
  return bytes;
}

inline std::string write_json(std::size_t payload_bytes, hopmeter::Fill fill) {
  hopmeter::Header header;
  std::string payload(payload_bytes, '\0');
  fill({header, writable(payload)});
  return nlohmann::json{{"id", hopmeter::seq_of(header)},
                        {"nanosec", hopmeter::sent_of(header)},
                        {"source", std::string_view(hopmeter::label(header))},
                        {"padding", to_base64(payload)}}
      .dump();
}

inline void read_json(const std::string& text, const auto& take) {
  const auto object = nlohmann::json::parse(text);
  const auto payload = from_base64(object.at("padding").get_ref<const std::string&>());
  const auto header = hopmeter::header_of(object.at("source").get_ref<const std::string&>(),
                                          object.at("nanosec").get<std::int64_t>(), payload.size());
  take(hopmeter::Received(header, std::as_bytes(std::span(payload))));
}

/// Lets `fill` write a frame, and returns the body that carries it.
inline std::string write(bool is_json, std::size_t payload_bytes, hopmeter::Fill fill) {
  if (is_json) return write_json(payload_bytes, fill);
  std::string frame(hopmeter::header_bytes + payload_bytes, '\0');
  fill(writable(frame));
  return frame;
}

/// Passes the frame in a body to `take`. Throws if the body should be JSON and is not.
inline void read(bool is_json, const std::string& text, const auto& take) {
  if (is_json) return read_json(text, take);
  take(hopmeter::Received::split(std::as_bytes(std::span(text))));
}

}  // namespace body
