/* The ring of hopmeter's shm transport, for C, C++ and languages that can call C functions (libhopmeter_shm.so).
 *
 * A frame is 64 bytes of header and the payload, contiguous in a slot of shared memory. A producer reserves a slot,
 * writes a frame into it and publishes the slot; each consumer claims the slot, reads the frame and releases the slot.
 * Nothing is copied.
 *
 * Functions that can fail return null or HOPMETER_SHM_FAILED; hopmeter_shm_error() then returns the reason. Only one
 * thread at a time may use a handle, except in hopmeter_shm_consumer_interrupt. Adjacent slots are the same distance
 * apart, and pointers into slots are valid until the handle is closed. Close functions accept null.
 */
#ifndef HOPMETER_SHM_H
#define HOPMETER_SHM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hopmeter_shm_producer hopmeter_shm_producer;
typedef struct hopmeter_shm_consumer hopmeter_shm_consumer;

/* No message is available (for a consumer), or no slot is free (for a producer). */
#define HOPMETER_SHM_NOTHING (-1)
#define HOPMETER_SHM_FAILED (-2)
/* A claim contains the slot in this many low bits, and the payload's length in bytes in the bits above. */
#define HOPMETER_SHM_SLOT_BITS 16

/* The name and the version of the library. */
const char* hopmeter_shm_version(void);

/* The reason why the last call on this thread failed; valid until the next failure. */
const char* hopmeter_shm_error(void);

/* The remedy for the last failure, or an empty text; valid until the next failure. */
const char* hopmeter_shm_remedy(void);

/* Creates a ring for consumers of `link`. */
hopmeter_shm_producer* hopmeter_shm_producer_open(const char* link, uint32_t slots, uint64_t payload_bytes,
                                                  int drop_oldest);

/* The address to which consumers connect; valid until the producer is closed. */
const char* hopmeter_shm_producer_address(const hopmeter_shm_producer* producer);

/* The address of a slot's frame. */
uint8_t* hopmeter_shm_producer_frame(const hopmeter_shm_producer* producer, uint32_t slot);

/* Returns the slot for the next frame. Never waits. If the last reserved slot was not published, returns the same slot
 * again. */
int64_t hopmeter_shm_producer_reserve(hopmeter_shm_producer* producer, uint64_t payload_bytes);

/* Publishes the reserved slot, with a frame of this payload length, to all consumers. */
void hopmeter_shm_producer_publish(hopmeter_shm_producer* producer, uint64_t payload_bytes);

void hopmeter_shm_producer_close(hopmeter_shm_producer* producer);

/* Joins the ring of `link` at `address`; the consumer receives the messages that are sent after this call. `may_sleep`
 * says whether you will call hopmeter_shm_consumer_sleep. */
hopmeter_shm_consumer* hopmeter_shm_consumer_connect(const char* address, const char* link, int may_sleep);

/* The address of a slot's frame, which the consumer must only read. */
const uint8_t* hopmeter_shm_consumer_frame(const hopmeter_shm_consumer* consumer, uint32_t slot);

/* Releases the previous claim, and claims the next message, if any. Never waits. */
int64_t hopmeter_shm_consumer_claim(hopmeter_shm_consumer* consumer);

/* Releases the claimed slot; do not read its frame after this call. */
void hopmeter_shm_consumer_release(hopmeter_shm_consumer* consumer);

/* Sleeps until a message is available, the timeout has passed or another thread calls the interrupt function. May
 * return early. */
void hopmeter_shm_consumer_sleep(const hopmeter_shm_consumer* consumer, uint64_t timeout_ns);

/* hopmeter_shm_consumer_sleep() and then hopmeter_shm_consumer_claim(), for languages in which calls are expensive. */
int64_t hopmeter_shm_consumer_await(hopmeter_shm_consumer* consumer, uint64_t timeout_ns);

/* Ends the sleep of another thread. From then on, this consumer no longer sleeps. */
void hopmeter_shm_consumer_interrupt(const hopmeter_shm_consumer* consumer);

/* Leaves the ring. */
void hopmeter_shm_consumer_close(hopmeter_shm_consumer* consumer);

#ifdef __cplusplus
}
#endif

#endif
