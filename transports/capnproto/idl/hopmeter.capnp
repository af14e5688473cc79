# The capabilities of hopmeter's link ends. A frame consists of a header of 64 bytes and a payload (../README.md).
@0xf7030955850c3c1d;

interface Topic {
  # The bootstrap capability of a publisher.
  subscribe @0 (receiver :Receiver) -> ();
  # The subscription ends when the subscriber disconnects.
}

interface Receiver {
  deliver @0 (frame :Data) -> stream;
  # The publisher calls this for each message.
}

interface Service {
  # The bootstrap capability of a server.
  call @0 (request :Data) -> (reply :Data);
}
