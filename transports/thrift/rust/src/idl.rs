//! The messages and calls of `../../idl/hopmeter.thrift`, written like the Thrift compiler's code. In this module, a
//! call has a sending and a receiving half. The compiler's code is not used, because its clients wait for each reply.

use thrift::protocol::{
    TFieldIdentifier, TInputProtocol, TMessageIdentifier, TMessageType, TOutputProtocol, TStructIdentifier, TType,
    field_id, verify_expected_message_type, verify_expected_service_call,
};
use thrift::server::handle_process_result;
use thrift::{ApplicationError, ApplicationErrorKind, Error, Result};

type Input<'a> = &'a mut dyn TInputProtocol;
type Output<'a> = &'a mut dyn TOutputProtocol;

/// A type that a field can have.
pub trait Field: Sized {
    const TYPE: TType;

    fn read_from(input: Input<'_>) -> Result<Self>;
    fn write_to(&self, output: Output<'_>) -> Result<()>;
}

macro_rules! basic {
    ($($kind:ty: $type:ident, $read:ident, |$value:ident, $output:ident| $write:expr;)*) => {$(
        impl Field for $kind {
            const TYPE: TType = TType::$type;

            fn read_from(input: Input<'_>) -> Result<Self> {
                input.$read()
            }

            fn write_to(&self, $output: Output<'_>) -> Result<()> {
                let $value = self;
                $write
            }
        }
    )*};
}

basic! {
    i32: I32, read_i32, |value, output| output.write_i32(*value);
    i64: I64, read_i64, |value, output| output.write_i64(*value);
    String: String, read_string, |value, output| output.write_string(value);
    Vec<u8>: String, read_bytes, |value, output| output.write_bytes(value);
}

macro_rules! messages {
    ($($message:ident { $($id:literal $field:ident: $kind:ty),* })*) => {$(
        #[derive(Default)]
        pub struct $message {
            $(pub $field: $kind,)*
        }

        impl Field for $message {
            const TYPE: TType = TType::Struct;

            fn read_from(input: Input<'_>) -> Result<Self> {
                let mut message = Self::default();
                read_fields(input, |id, input| {
                    match id {
                        $($id => message.$field = Field::read_from(input)?,)*
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?;
                Ok(message)
            }

            fn write_to(&self, output: Output<'_>) -> Result<()> {
                output.write_struct_begin(&TStructIdentifier::new(stringify!($message)))?;
                $(write_field(stringify!($field), $id, &self.$field, output)?;)*
                output.write_field_stop()?;
                output.write_struct_end()
            }
        }
    )*};
}

messages! {
    Stamp { 1 sec: i64, 2 nanosec: i32 }
    Timing { 1 id: i64, 2 nanosec: i64, 3 source: String, 4 padding: Vec<u8> }
    Image {
        1 stamp: Stamp, 2 frame_id: String, 3 height: i32, 4 width: i32, 5 encoding: String, 6 step: i32, 7 data: Vec<u8>
    }
}

/// The service's exception, which has no fields.
struct Unanswered;

impl Field for Unanswered {
    const TYPE: TType = TType::Struct;

    fn read_from(input: Input<'_>) -> Result<Self> {
        input.skip(Self::TYPE).map(|()| Self)
    }

    fn write_to(&self, output: Output<'_>) -> Result<()> {
        output.write_struct_begin(&TStructIdentifier::new("Unanswered"))?;
        output.write_field_stop()?;
        output.write_struct_end()
    }
}

/// Passes each field to `read`, which returns whether it recognises the field.
fn read_fields(input: Input<'_>, mut read: impl FnMut(i16, Input<'_>) -> Result<bool>) -> Result<()> {
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        if field.field_type == TType::Stop {
            return input.read_struct_end();
        }
        if !read(field_id(&field)?, input)? {
            input.skip(field.field_type)?;
        }
        input.read_field_end()?;
    }
}

fn write_field<F: Field>(name: &'static str, id: i16, value: &F, output: Output<'_>) -> Result<()> {
    output.write_field_begin(&TFieldIdentifier::new(name, F::TYPE, id))?;
    value.write_to(output)?;
    output.write_field_end()
}

/// Writes a call or its reply: a message whose body is a struct with a single field.
fn write_call<F: Field>(
    head: &TMessageIdentifier,
    name: &'static str,
    id: i16,
    value: &F,
    out: Output<'_>,
) -> Result<()> {
    out.write_message_begin(head)?;
    out.write_struct_begin(&TStructIdentifier::new(name))?;
    write_field(name, id, value, out)?;
    out.write_field_stop()?;
    out.write_struct_end()?;
    out.write_message_end()?;
    out.flush()
}

/// A message that a method of the service takes and returns.
pub trait Call: Field {
    const METHOD: &'static str;

    /// Sends a request.
    fn send_request(&self, sequence: i32, output: Output<'_>) -> Result<()> {
        let head = TMessageIdentifier::new(Self::METHOD, TMessageType::Call, sequence);
        write_call(&head, "request", 1, self, output)
    }

    /// Receives the reply to the oldest pending request, or `None` if the server did not answer this request.
    fn receive_reply(input: Input<'_>) -> Result<Option<Self>> {
        let head = input.read_message_begin()?;
        verify_expected_service_call(Self::METHOD, &head.name)?;
        if head.message_type == TMessageType::Exception {
            let reported = Error::read_application_error_from_in_protocol(input)?;
            input.read_message_end()?;
            return Err(Error::Application(reported));
        }
        verify_expected_message_type(TMessageType::Reply, head.message_type)?;
        let (mut reply, mut unanswered) = (None, None);
        read_fields(input, |id, input| {
            match id {
                0 => reply = Some(Self::read_from(input)?),
                1 => unanswered = Some(Unanswered::read_from(input)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        input.read_message_end()?;
        if reply.is_none() && unanswered.is_none() {
            let missing = ApplicationError::new(ApplicationErrorKind::MissingResult, "no result received");
            return Err(Error::Application(missing));
        }
        Ok(reply)
    }
}

impl Call for Timing {
    const METHOD: &'static str = "timing";
}

impl Call for Image {
    const METHOD: &'static str = "image";
}

/// The service's handler, which returns `None` to leave a request unanswered.
pub trait Service {
    fn answer_timing(&self, request: &Timing) -> Option<Timing>;
    fn answer_image(&self, request: &Image) -> Option<Image>;
}

/// Reads one request, calls the service, and sends the service's reply.
pub fn process(service: &impl Service, input: Input<'_>, output: Output<'_>) -> Result<()> {
    let head = input.read_message_begin()?;
    let answered = match &*head.name {
        Timing::METHOD => answer(head.sequence_number, |request| service.answer_timing(request), input, output),
        Image::METHOD => answer(head.sequence_number, |request| service.answer_image(request), input, output),
        other => {
            let unknown = format!("unknown method {other}");
            Err(Error::Application(ApplicationError::new(ApplicationErrorKind::UnknownMethod, unknown)))
        }
    };
    handle_process_result(&head, answered, output)
}

fn answer<C: Call>(
    sequence: i32,
    answer: impl FnOnce(&C) -> Option<C>,
    input: Input<'_>,
    output: Output<'_>,
) -> Result<()> {
    let mut request = None;
    read_fields(input, |id, input| {
        if id == 1 {
            request = Some(C::read_from(input)?);
        }
        Ok(id == 1)
    })?;
    let Some(request) = request else {
        return Err(Error::Application(ApplicationError::new(ApplicationErrorKind::ProtocolError, "no request")));
    };
    let head = TMessageIdentifier::new(C::METHOD, TMessageType::Reply, sequence);
    match answer(&request) {
        Some(reply) => write_call(&head, "result_value", 0, &reply, output),
        None => write_call(&head, "unanswered", 1, &Unanswered, output),
    }
}
