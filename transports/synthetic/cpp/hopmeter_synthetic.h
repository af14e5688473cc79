/* Sender and receiver of hopmeter's synthetic transport, for languages that can call C functions
 * (libhopmeter_synthetic.so).
 *
 * A frame is 64 bytes of header and the payload, contiguous in memory. `settings` is the JSON object of all settings of
 * transport.toml. Functions that can fail return null or HOPMETER_SYNTHETIC_FAILED; hopmeter_synthetic_error() then
 * returns the reason. Only one thread at a time may use a handle. Close functions accept null.
 */
#ifndef HOPMETER_SYNTHETIC_H
#define HOPMETER_SYNTHETIC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hopmeter_synthetic_sender hopmeter_synthetic_sender;
typedef struct hopmeter_synthetic_receiver hopmeter_synthetic_receiver;

/* No frame is due (for a receiver), or no memory is free (for a sender). */
#define HOPMETER_SYNTHETIC_NOTHING (-1)
#define HOPMETER_SYNTHETIC_FAILED (-2)

/* The version of hopmeter. */
const char* hopmeter_synthetic_version(void);

/* The reason why the last call on this thread failed; valid until the next failure. */
const char* hopmeter_synthetic_error(void);

/* The remedy for the last failure, or an empty text; valid until the next failure. */
const char* hopmeter_synthetic_remedy(void);

/* Opens the sender of `link`, for frames of up to `frame_bytes`. */
hopmeter_synthetic_sender* hopmeter_synthetic_sender_open(const char* link, const char* settings, uint64_t frame_bytes);

/* The address to which receivers connect; valid until the sender is closed. */
const char* hopmeter_synthetic_sender_address(const hopmeter_synthetic_sender* sender);

/* The address of memory for the next frame. Never waits. */
int64_t hopmeter_synthetic_sender_reserve(hopmeter_synthetic_sender* sender, uint64_t payload_bytes);

/* Sends the frame in the reserved memory. Waits only after the frame at which the plan stalls. */
void hopmeter_synthetic_sender_publish(hopmeter_synthetic_sender* sender, uint64_t payload_bytes);

void hopmeter_synthetic_sender_close(hopmeter_synthetic_sender* sender);

/* Connects a receiver of `link` to the sender at `address`. `may_sleep` says whether you will pass timeouts to
 * hopmeter_synthetic_receiver_next. */
hopmeter_synthetic_receiver* hopmeter_synthetic_receiver_connect(const char* address, const char* link,
                                                                 const char* settings, int may_sleep);

/* Waits until a frame is due, at most `timeout_ns`; returns the number of bytes of this frame. */
int64_t hopmeter_synthetic_receiver_next(hopmeter_synthetic_receiver* receiver, uint64_t timeout_ns);

/* The last frame that hopmeter_synthetic_receiver_next returned; valid until that function returns another frame. */
const uint8_t* hopmeter_synthetic_receiver_frame(const hopmeter_synthetic_receiver* receiver);

void hopmeter_synthetic_receiver_close(hopmeter_synthetic_receiver* receiver);

#ifdef __cplusplus
}
#endif

#endif
