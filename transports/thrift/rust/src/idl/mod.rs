//! The service and its messages, which the Thrift compiler generates from `idl/hopmeter.thrift` (`generate.sh`). This
//! module also has the two halves of a call: the generated client has only whole calls, which wait.

#![allow(dead_code, unused_imports, unused_extern_crates, clippy::all)]

include!("generated.rs");

/// The two halves of a call, with the generated argument type and result type of the method.
pub trait Halves: Sized {
    /// Sends the request, and returns its message.
    fn send_request(self, out: &mut dyn TOutputProtocol, sequence: i32) -> thrift::Result<Self>;

    /// Receives the reply to the oldest request that still waits for its reply.
    fn receive_reply(input: &mut dyn TInputProtocol) -> thrift::Result<Self>;
}

macro_rules! halves {
    ($message:ty, $method:literal, $arguments:ident, $result:ident) => {
        impl Halves for $message {
            fn send_request(self, out: &mut dyn TOutputProtocol, sequence: i32) -> thrift::Result<Self> {
                let arguments = $arguments { request: self };
                out.write_message_begin(&TMessageIdentifier::new($method, TMessageType::Call, sequence))?;
                arguments.write_to_out_protocol(out)?;
                out.write_message_end()?;
                out.flush()?;
                Ok(arguments.request)
            }

            fn receive_reply(input: &mut dyn TInputProtocol) -> thrift::Result<Self> {
                let begun = input.read_message_begin()?;
                verify_expected_service_call($method, &begun.name)?;
                if begun.message_type == TMessageType::Exception {
                    let told = thrift::Error::read_application_error_from_in_protocol(input)?;
                    input.read_message_end()?;
                    return Err(thrift::Error::Application(told));
                }
                verify_expected_message_type(TMessageType::Reply, begun.message_type)?;
                let result = $result::read_from_in_protocol(input)?;
                input.read_message_end()?;
                result.ok_or()
            }
        }
    };
}

halves!(Timing, "timing", ExchangeTimingArgs, ExchangeTimingResult);
halves!(Image, "image", ExchangeImageArgs, ExchangeImageResult);
