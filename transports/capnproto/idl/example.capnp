@0xf7e065b91d04e77f;

interface Example {
  deliver @0 (data :Data) -> stream;
  # Takes a message.

  call @1 (request :Data) -> (reply :Data);

  end @2 () -> ();
  # Tells the server that no more messages or calls will come.
}
