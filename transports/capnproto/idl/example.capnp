@0xf7e065b91d04e77f;

interface Example {
  deliver @0 (data :Data) -> stream;
  # Receives a message.

  call @1 (request :Data) -> (reply :Data);

  end @2 () -> ();
  # The client calls this after its last message or call.
}
