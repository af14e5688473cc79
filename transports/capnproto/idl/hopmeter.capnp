# The capabilities of hopmeter's link ends. A frame consists of a header of 64 bytes and a payload (../README.md).
@0xf7030955850c3c1d;

interface Topic {
  # What a publisher offers as its bootstrap capability.
  subscribe @0 (receiver :Receiver) -> ();
  # The subscription ends when the subscriber disconnects.
}

interface Receiver {
  deliver @0 (frame :Data) -> stream;
  # The publisher calls this for each message.
}

interface Service {
  # What a server offers as its bootstrap capability.
  call @0 (request :Data) -> (reply :Data);
}
