//! The messages of ../idl in Rust, and the fields in which they store a frame; ../../README.md lists the fields.

use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_instrument::typed;
use ros2_client::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Time {
    sec: i32,
    nanosec: u32,
}

/// std_msgs/Header: a timestamp and a frame id. The message has no payload field.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Header {
    stamp: Time,
    frame_id: String,
}

/// A sensor_msgs/Image, whose height and width are 0 if the bytes are not an image.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Image {
    header: Header,
    height: u32,
    width: u32,
    encoding: String,
    is_bigendian: u8,
    step: u32,
    #[serde(with = "serde_bytes")]
    data: Vec<u8>,
}

impl Message for Header {}
impl Message for Image {}

/// A message that carries frames.
pub trait Carrier: Message + Clone + Default + Send + Sync + 'static {
    /// The package and the name of the message. The package `hopmeter_ros2` contains a service that uses this message
    /// as request and reply.
    const TYPE: (&'static str, &'static str);
    const SERVICE: &'static str;

    /// Creates a message with all constant fields set.
    fn with_shape(payload: PayloadKind) -> Self;
    fn header(&self) -> &Header;
    fn octets(&self) -> &[u8];
    /// Returns the label, the stamp, and the octets with the requested length.
    fn parts(&mut self, payload_bytes: usize) -> Result<(&mut Header, &mut [u8])>;
}

impl Carrier for Header {
    const TYPE: (&'static str, &'static str) = ("std_msgs", "Header");
    const SERVICE: &'static str = "CarryTiming";

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

impl Carrier for Image {
    const TYPE: (&'static str, &'static str) = ("sensor_msgs", "Image");
    const SERVICE: &'static str = "CarryImage";

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

/// A message in the form that ros2-client sends and receives. ros2-client takes ownership of each sent message, so this
/// value is only a reference, and the memory stays with the link end.
#[derive(Clone)]
pub struct FrameMessage<M>(Arc<M>);

impl<M: Carrier> FrameMessage<M> {
    /// Passes the message on in the instrument's type.
    pub fn with_frame(&self, hand_over: impl FnOnce(Received<'_>)) {
        let (stamp, octets) = (&self.0.header().stamp, self.0.octets());
        let sent_ns = typed::of_stamp(stamp.sec.into(), stamp.nanosec.into());
        let header = typed::header_of(self.0.header().frame_id.as_bytes(), sent_ns, octets.len());
        hand_over(Received::parts(&header, octets).with_native(self));
    }

    /// Returns the message of a frame, if the frame was received over this transport.
    pub fn of(received: &Received<'_>) -> Option<Self> {
        received.native_as::<Self>().cloned()
    }
}

impl<M: Carrier> Serialize for FrameMessage<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, M: Carrier> Deserialize<'de> for FrameMessage<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        M::deserialize(deserializer).map(|message| Self(Arc::new(message)))
    }
}

impl<M: Carrier> Message for FrameMessage<M> {}

/// The message that a link end sends, which is stored so that its memory is reused.
pub struct MessageBuffer<M>(Arc<M>);

impl<M: Carrier> MessageBuffer<M> {
    pub fn new(payload: PayloadKind) -> Self {
        Self(Arc::new(M::with_shape(payload)))
    }

    pub fn fill(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<FrameMessage<M>> {
        // The library has already dropped the previous reference, so nothing is copied here.
        let (text, octets) = Arc::make_mut(&mut self.0).parts(payload_bytes)?;
        let (seconds, nanoseconds) = typed::write_message(&mut text.frame_id, octets, fill);
        text.stamp = Time { sec: seconds as i32, nanosec: nanoseconds as u32 };
        Ok(FrameMessage(self.0.clone()))
    }
}
