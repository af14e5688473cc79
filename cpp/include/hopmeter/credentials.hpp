/// The keys and certificates that hopmeter created for a trial whose connections are encrypted.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "hopmeter/contract.hpp"

namespace hopmeter {

/// Whether the setting `security` requests TLS.
inline bool uses_tls(const Setup& setup) { return setup.setting<std::string>("security") == "tls"; }

/// Returns the protocol of a connection over a network, `TCP` or `TLS`. The fact `path` names this protocol.
inline std::string connection_kind(const Setup& setup) { return uses_tls(setup) ? "TLS" : "TCP"; }

/// Returns the path of a file with a key or certificate, such as `server.secret` or `ca.pem`.
inline std::string credential(const Setup& setup, const std::string& name) {
  return setup.directory() + "/credentials/" + name;
}

/// Returns the content of a file with a key or certificate. Throws if the file cannot be read.
inline std::string read_credential(const Setup& setup, const std::string& name) {
  std::ifstream file(credential(setup, name), std::ios::binary);
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (content.empty()) throw Error("the key " + credential(setup, name) + " cannot be read");
  return content;
}

}  // namespace hopmeter
