/* The C ABI of hopmeter's instrument. Made by instrument/c/build.rs from instrument/c/src: change it there.
 * C++ adapters include hopmeter.hpp instead. */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// The version of this interface; node and library must have the same version.
#define HOPMETER_ABI_VERSION 3

/// The length of a frame's header.
#define HOPMETER_HEADER_BYTES 64

/// The offset of the sent time in a header: nanoseconds, CLOCK_MONOTONIC, 64 bits, little-endian.
#define HOPMETER_SENT_AT 40

/// The length of a label, which is the part of a header that travels in the text of a typed message.
#define HOPMETER_LABEL_BYTES 56

/// Success; after a send: the transport accepted the frame.
#define HOPMETER_ACCEPTED 0

/// The transport cannot take the frame without waiting.
#define HOPMETER_BUSY 1

/// Failure; the function has called `Error.put` before it returned. A poll that failed also returns this value.
#define HOPMETER_FAILED -1

/// What a payload represents.
typedef enum HopmeterPayloadKind {
  HOPMETER_PAYLOAD_KIND_TIMING = 0,
  HOPMETER_PAYLOAD_KIND_BYTES = 1,
  HOPMETER_PAYLOAD_KIND_IMAGE = 2,
} HopmeterPayloadKind;

/// How a receiver waits for messages.
typedef enum HopmeterWait {
  HOPMETER_WAIT_SPIN = 0,
  HOPMETER_WAIT_BLOCK = 1,
  HOPMETER_WAIT_CALLBACK = 2,
} HopmeterWait;

/// The settings of the manifest; read them with `hopmeter_setting_*`.
typedef struct HopmeterSettings HopmeterSettings;

/// UTF-8 text with its length, not terminated; the reader replaces invalid sequences.
typedef struct HopmeterText {
  const char *data;
  size_t bytes;
} HopmeterText;

/// Receives the reason and the remedy when a function fails. Both texts are copied; an empty remedy means that there is
/// none.
typedef struct HopmeterError {
  void *context;
  void (*put)(void *context, struct HopmeterText what, struct HopmeterText remedy);
} HopmeterError;

/// Keeps the bytes of a whole frame, header first, valid until `release`. Any thread may call `release`, even after the
/// subscriber is closed. If `release` is null, retaining the frame failed.
typedef struct HopmeterFrameHolder {
  void *handle;
  const uint8_t *data;
  size_t bytes;
  void (*release)(void *handle);
} HopmeterFrameHolder;

/// A received frame, valid until the function that it is passed to returns.
typedef struct HopmeterReceived {
  /// The header may have any length, because a foreign sender may have written it.
  const uint8_t *header;
  size_t header_bytes;
  const uint8_t *payload;
  size_t payload_bytes;
  /// The transport's own message, which `forward` of the same adapter can send on; may be null.
  const void *native;
  /// Retains the bytes of `native` after the call; may be null.
  struct HopmeterFrameHolder (*keep)(const void *native);
  /// The time when the frame arrived, as read by the adapter. If it is 0, the instrument reads the clock.
  int64_t arrived_ns;
} HopmeterReceived;

/// A frame to fill: 64 bytes of header and the payload, which may be at different places in memory.
typedef struct HopmeterFrameMut {
  uint8_t *header;
  uint8_t *payload;
  size_t payload_bytes;
} HopmeterFrameMut;

/// Receives a text that a function returns; the text is copied.
typedef struct HopmeterTextOut {
  void *context;
  void (*put)(void *context, struct HopmeterText text);
} HopmeterTextOut;

/// The setup that an adapter receives when it is opened. Valid until the transport is closed.
typedef struct HopmeterSetup {
  /// A name that belongs to this run alone on this machine. Everything that an adapter creates outside `directory`
  /// has this name in its own name.
  struct HopmeterText run;
  /// A private folder of this trial with a short path, for socket files.
  struct HopmeterText directory;
  /// The address of the transport's broker; empty if the transport has no broker.
  struct HopmeterText daemon;
  /// The size of the largest frame, header included, on any link of this process.
  size_t largest_frame_bytes;
  const struct HopmeterSettings *settings;
} HopmeterSetup;

/// One link. One end binds the link; the others connect to the address of that end.
typedef struct HopmeterLink {
  /// Unique on this machine, of `[a-z0-9_]` only.
  struct HopmeterText name;
  /// The address of the binding side; empty while the link is being bound.
  struct HopmeterText address;
  /// How many receivers connect before the first message.
  uint32_t receivers;
  /// What the messages of this link represent.
  enum HopmeterPayloadKind payload;
  /// The size of an image in pixels; 0 if the payload is none.
  uint32_t width;
  uint32_t height;
  /// The size of the largest frame of this link, header included.
  size_t frame_bytes;
  /// How this end waits for messages, and a client for replies; at a publisher, how the receivers of the link wait.
  enum HopmeterWait wait;
} HopmeterLink;

/// Writes one frame, except for its sent time. Call it once per send, on the caller's thread, and as late as possible.
typedef struct HopmeterFill {
  void *context;
  void (*call)(void *context, struct HopmeterFrameMut frame);
  /// The memory for the sent time. The adapter writes it after `call`, as the last step before it sends. The adapter
  /// also writes the sent time at the offset `SENT_AT` of the header. Null if the header already contains the sent
  /// time.
  int64_t *sent_ns;
} HopmeterFill;

/// A payload in the caller's memory. The function that gets this payload calls `release` exactly once, from any thread.
typedef struct HopmeterShared {
  void *context;
  const uint8_t *data;
  size_t bytes;
  void (*release)(void *context);
} HopmeterShared;

/// The publisher of a pubsub link. Only one thread at a time uses a link end, but not always the same thread.
typedef struct HopmeterPublisherCalls {
  void (*close)(void *object);
  /// The address that receivers connect to. May be null if the link's name is enough.
  void (*address)(void *object, const struct HopmeterTextOut *out);
  /// Sends one frame of 64 + `payload_bytes`; `fill` writes the frame. Does not wait unless the manifest allows it.
  int32_t (*send)(void *object, size_t payload_bytes, struct HopmeterFill fill, const struct HopmeterError *error);
  /// Sends a payload from the caller's memory. May be null.
  int32_t (*send_parts)(void *object,
                        const uint8_t *header,
                        struct HopmeterShared payload,
                        const struct HopmeterError *error);
  /// Forwards a received frame unchanged. If null, the instrument sends a copy.
  int32_t (*forward)(void *object, const struct HopmeterReceived *received, const struct HopmeterError *error);
} HopmeterPublisherCalls;

typedef struct HopmeterPublisher {
  void *object;
  const struct HopmeterPublisherCalls *calls;
} HopmeterPublisher;

/// Takes the received frames of one poll.
typedef struct HopmeterTake {
  void *context;
  void (*call)(void *context, const struct HopmeterReceived *received);
} HopmeterTake;

/// A polled receiver. Used from one thread at a time.
typedef struct HopmeterSubscriberCalls {
  void (*close)(void *object);
  /// Passes the frames that have arrived to `take`, and returns their number. `spin` looks once. With `block`, sleeps
  /// until a frame arrives or about the timeout has passed.
  int64_t (*poll)(void *object, int64_t timeout_ns, struct HopmeterTake take, const struct HopmeterError *error);
} HopmeterSubscriberCalls;

typedef struct HopmeterSubscriber {
  void *object;
  const struct HopmeterSubscriberCalls *calls;
} HopmeterSubscriber;

/// Takes received frames on a thread of the transport, one at a time. The function that gets this struct calls
/// `release` exactly once, even if `subscribe` fails, and does not use `call` afterwards.
typedef struct HopmeterOnFrame {
  void *context;
  void (*call)(void *context, const struct HopmeterReceived *received);
  void (*release)(void *context);
} HopmeterOnFrame;

/// A receiver that the transport calls. `close` waits for a running call; no call follows.
typedef struct HopmeterSubscriptionCalls {
  void (*close)(void *object);
} HopmeterSubscriptionCalls;

typedef struct HopmeterSubscription {
  void *object;
  const struct HopmeterSubscriptionCalls *calls;
} HopmeterSubscription;

/// Answers one request. A handler may use the replier until it returns, and must not close it. The instrument closes a
/// replier that `defer` has returned.
typedef struct HopmeterReplierCalls {
  void (*close)(void *object);
  /// Sends the reply, under the rules of a publisher's `send`.
  int32_t (*reply)(void *object, size_t payload_bytes, struct HopmeterFill fill, const struct HopmeterError *error);
  /// Replies with a received frame. If null, the instrument copies it through `reply`.
  int32_t (*forward)(void *object, const struct HopmeterReceived *received, const struct HopmeterError *error);
  /// A replier that any thread can use later; its object is null if the adapter offers none. May be null.
  struct HopmeterReplier (*defer)(void *object);
} HopmeterReplierCalls;

typedef struct HopmeterReplier {
  void *object;
  const struct HopmeterReplierCalls *calls;
} HopmeterReplier;

/// Handles the requests of one poll. It may block.
typedef struct HopmeterHandle {
  void *context;
  void (*call)(void *context, const struct HopmeterReceived *received, struct HopmeterReplier replier);
} HopmeterHandle;

/// Handles requests on a thread of the transport; the rules of [`OnFrame`] apply. It may block.
typedef struct HopmeterOnRequest {
  void *context;
  void (*call)(void *context, const struct HopmeterReceived *received, struct HopmeterReplier replier);
  void (*release)(void *context);
} HopmeterOnRequest;

/// The server of an rpc link. Used from one thread at a time.
typedef struct HopmeterServerCalls {
  void (*close)(void *object);
  /// The address that clients connect to. May be null if the link's name is enough.
  void (*address)(void *object, const struct HopmeterTextOut *out);
  /// Passes the requests that have arrived to `handle`, under the rules of a subscriber's `poll`.
  int64_t (*poll)(void *object, int64_t timeout_ns, struct HopmeterHandle handle, const struct HopmeterError *error);
  /// Starts handling requests on a thread of the transport. The subscription is closed before the server; until then,
  /// nothing else calls the server. May be null.
  int32_t (*serve)(void *object,
                   struct HopmeterOnRequest on_request,
                   struct HopmeterSubscription *out,
                   const struct HopmeterError *error);
} HopmeterServerCalls;

typedef struct HopmeterServer {
  void *object;
  const struct HopmeterServerCalls *calls;
} HopmeterServer;

/// The client of an rpc link. Used from one thread at a time.
typedef struct HopmeterClientCalls {
  void (*close)(void *object);
  /// Starts a call, under the rules of a publisher's `send`.
  int32_t (*start)(void *object, size_t payload_bytes, struct HopmeterFill fill, const struct HopmeterError *error);
  /// Starts a call with a received request. If null, a copy is sent.
  int32_t (*forward)(void *object, const struct HopmeterReceived *received, const struct HopmeterError *error);
  /// Passes the replies that have arrived to `take`, under the rules of a subscriber's `poll`.
  int64_t (*poll)(void *object, int64_t timeout_ns, struct HopmeterTake take, const struct HopmeterError *error);
} HopmeterClientCalls;

typedef struct HopmeterClient {
  void *object;
  const struct HopmeterClientCalls *calls;
} HopmeterClient;

/// Receives the facts that a function returns, one per call; the facts are copied.
typedef struct HopmeterFactsOut {
  void *context;
  void (*put)(void *context, struct HopmeterText name, struct HopmeterText value);
} HopmeterFactsOut;

/// One transport in one process; the threads of all endpoints call its functions.
typedef struct HopmeterTransportCalls {
  void (*close)(void *object);
  /// The library's version, as the library reports it.
  void (*version)(void *object, const struct HopmeterTextOut *out);
  /// Binds the publisher of a pubsub link. May wait. May be null.
  int32_t (*publisher)(void *object,
                       const struct HopmeterLink *link,
                       struct HopmeterPublisher *out,
                       const struct HopmeterError *error);
  /// Connects a polled subscriber. May wait. May be null.
  int32_t (*subscriber)(void *object,
                        const struct HopmeterLink *link,
                        struct HopmeterSubscriber *out,
                        const struct HopmeterError *error);
  /// Connects a subscriber that the transport calls; frames may arrive before this returns. May wait. May be null.
  int32_t (*subscribe)(void *object,
                       const struct HopmeterLink *link,
                       struct HopmeterOnFrame on_frame,
                       struct HopmeterSubscription *out,
                       const struct HopmeterError *error);
  /// Binds the server of an rpc link. May wait. May be null.
  int32_t (*server)(void *object,
                    const struct HopmeterLink *link,
                    struct HopmeterServer *out,
                    const struct HopmeterError *error);
  /// Connects the client of an rpc link. May wait. May be null.
  int32_t (*client)(void *object,
                    const struct HopmeterLink *link,
                    struct HopmeterClient *out,
                    const struct HopmeterError *error);
  /// Facts that are known only after the last message. May be null.
  void (*facts)(void *object, const struct HopmeterFactsOut *out);
} HopmeterTransportCalls;

typedef struct HopmeterTransport {
  void *object;
  const struct HopmeterTransportCalls *calls;
} HopmeterTransport;

/// The description of an adapter, which the node passes to `hopmeter_main`. The strings are null-terminated and valid
/// as long as the process runs.
typedef struct HopmeterAdapter {
  /// The `HOPMETER_ABI_VERSION` in the header with which the adapter was compiled.
  uint32_t abi;
  /// The transport's name, as in its manifest.
  const char *transport;
  const char *compiler;
  const char *flags;
  /// The library's version; the instrument calls this before it opens a transport.
  void (*version)(const struct HopmeterTextOut *out);
  /// Opens the transport for one trial.
  int32_t (*open)(const struct HopmeterSetup *setup, struct HopmeterTransport *out, const struct HopmeterError *error);
  /// Opens an empty transport, which only fills a frame and calls the receiver with it. The empty transport measures
  /// the instrument's own cost.
  int32_t (*open_empty)(const struct HopmeterSetup *setup,
                        struct HopmeterTransport *out,
                        const struct HopmeterError *error);
} HopmeterAdapter;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Reads a boolean setting.
///
/// # Safety
/// All pointers must be valid; `settings` must belong to the adapter's setup.
int32_t hopmeter_setting_bool(const struct HopmeterSettings *settings,
                              const char *name,
                              bool *out,
                              const struct HopmeterError *error);

/// Reads an integer setting.
///
/// # Safety
/// All pointers are valid; `settings` belongs to the adapter's setup.
int32_t hopmeter_setting_integer(const struct HopmeterSettings *settings,
                                 const char *name,
                                 int64_t *out,
                                 const struct HopmeterError *error);

/// Reads a number setting.
///
/// # Safety
/// All pointers are valid; `settings` belongs to the adapter's setup.
int32_t hopmeter_setting_double(const struct HopmeterSettings *settings,
                                const char *name,
                                double *out,
                                const struct HopmeterError *error);

/// Reads a text setting. The text is valid as long as the settings.
///
/// # Safety
/// All pointers are valid; `settings` belongs to the adapter's setup.
int32_t hopmeter_setting_text(const struct HopmeterSettings *settings,
                              const char *name,
                              struct HopmeterText *out,
                              const struct HopmeterError *error);

/// Copies a received frame into a frame that the adapter sends, and counts the copy. The header of `received` has 64
/// bytes, and both payloads have the same length.
///
/// # Safety
/// Both frames must be valid during the call.
void hopmeter_copy(const struct HopmeterReceived *received, struct HopmeterFrameMut frame);

/// Counts the copy of a payload that the adapter makes itself, because its library copies only whole messages.
void hopmeter_count_copy(void);

/// Writes the part of a header that becomes the text of a message: `HOPMETER_LABEL_BYTES` of ASCII, not terminated.
///
/// # Safety
/// `header` must have `HOPMETER_HEADER_BYTES`; `out` must have room for a label.
void hopmeter_label(const uint8_t *header, uint8_t *out);

/// Writes the header that a message carried. If the text is not a label, every receiver rejects the header.
///
/// # Safety
/// `label` must have `label_bytes`; `out` must have room for a header.
void hopmeter_header_of(const uint8_t *label, size_t label_bytes, int64_t sent_ns, size_t payload_bytes, uint8_t *out);

/// Returns the number of the message to which a header belongs.
///
/// # Safety
/// `header` has `HOPMETER_HEADER_BYTES`.
uint64_t hopmeter_seq_of(const uint8_t *header);

/// Returns when the message of a header was sent, in nanoseconds.
///
/// # Safety
/// `header` has `HOPMETER_HEADER_BYTES`.
int64_t hopmeter_sent_of(const uint8_t *header);

/// Runs the node: reads its command line, takes part in the trial and returns the exit status.
///
/// # Safety
/// `argv` must hold `argc` null-terminated strings; `adapter` must be valid as long as the process runs.
int hopmeter_main(int argc, const char *const *argv, const struct HopmeterAdapter *adapter);

/// Sets the copy function of the adapter's library; call it before `hopmeter_main`. Relays and servers with the work
/// `copy:…:own` use this function.
void hopmeter_copy_with(void (*copy)(void *to, const void *from, size_t bytes));

/// The version of the instrument, for an adapter that has no library.
const char *hopmeter_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus
