//! The messages of r2r, and the fields in which they store a frame; ../../README.md lists the fields.

use std::any::Any;

use hopmeter_instrument::prelude::*;
use hopmeter_instrument::typed;
use r2r::builtin_interfaces::msg::Time;
use r2r::hopmeter_ros2::srv::{CarryImage, CarryTiming};
use r2r::sensor_msgs::msg::Image;
use r2r::std_msgs::msg::Header;
use r2r::{WrappedServiceTypeSupport, WrappedTypesupport};

/// A message for frames, and the service that uses this message as request and reply.
pub trait Carrier: WrappedTypesupport + Send + Sync + 'static {
    type Service: WrappedServiceTypeSupport<Request = Self::Request, Response = Self::Response> + 'static;
    type Request: Envelope<Self>;
    type Response: Envelope<Self>;

    /// Creates a message with all constant fields set.
    fn with_shape(payload: PayloadKind) -> Self;
    fn header(&self) -> &Header;
    fn octets(&self) -> &[u8];
    /// Returns the label, the stamp, and the octets with the requested length.
    fn parts(&mut self, payload_bytes: usize) -> Result<(&mut Header, &mut [u8])>;

    /// Lets `fill` write a frame into the message.
    fn fill(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<()> {
        let (text, octets) = self.parts(payload_bytes)?;
        let (seconds, nanoseconds) = typed::write_message(&mut text.frame_id, octets, fill);
        text.stamp = Time { sec: seconds as i32, nanosec: nanoseconds as u32 };
        Ok(())
    }

    /// Passes the frame on in the instrument's type, together with the native message, so that `forward` can send the
    /// native message later.
    fn with_frame(&self, native: &dyn Any, hand_over: impl FnOnce(Received<'_>)) {
        let (text, octets) = (self.header(), self.octets());
        let sent_ns = typed::of_stamp(text.stamp.sec.into(), text.stamp.nanosec.into());
        let header = typed::header_of(text.frame_id.as_bytes(), sent_ns, octets.len());
        hand_over(Received::parts(&header, octets).with_native(native));
    }
}

/// A request or a reply, which has a message as its only field.
pub trait Envelope<M>: WrappedTypesupport + Send + Sync + 'static {
    fn of(message: M) -> Self;
    fn it(&self) -> &M;
    fn it_mut(&mut self) -> &mut M;
}

macro_rules! envelope {
    ($message:ty, $($envelope:ty),*) => {$(
        impl Envelope<$message> for $envelope {
            fn of(it: $message) -> Self {
                Self { it }
            }

            fn it(&self) -> &$message {
                &self.it
            }

            fn it_mut(&mut self) -> &mut $message {
                &mut self.it
            }
        }
    )*};
}

envelope!(Header, CarryTiming::Request, CarryTiming::Response);
envelope!(Image, CarryImage::Request, CarryImage::Response);

impl Carrier for Header {
    type Service = CarryTiming::Service;
    type Request = CarryTiming::Request;
    type Response = CarryTiming::Response;

    fn with_shape(_: PayloadKind) -> Self {
        Self::default()
    }

    fn header(&self) -> &Header {
        self
    }

    fn octets(&self) -> &[u8] {
        &[]
    }

    fn parts(&mut self, payload_bytes: usize) -> Result<(&mut Header, &mut [u8])> {
        typed::refuse_payload(payload_bytes)?;
        Ok((self, &mut []))
    }
}

/// The height and width of a message are 0 if its bytes are not an image.
impl Carrier for Image {
    type Service = CarryImage::Service;
    type Request = CarryImage::Request;
    type Response = CarryImage::Response;

    fn with_shape(payload: PayloadKind) -> Self {
        let (width, height) = payload.image_size();
        Self { width, height, step: 3 * width, encoding: "rgb8".into(), ..Self::default() }
    }

    fn header(&self) -> &Header {
        &self.header
    }

    fn octets(&self) -> &[u8] {
        &self.data
    }

    fn parts(&mut self, payload_bytes: usize) -> Result<(&mut Header, &mut [u8])> {
        self.data.resize(payload_bytes, 0);
        Ok((&mut self.header, &mut self.data))
    }
}
