// Sends record batches with Arrow Flight: start `example receive`, then `example send` in a second terminal. The sender
// is the server, and the receiver reads a DoGet stream. For calls, start `example serve`, then `example call`. Each
// call is one DoExchange. The Python package pyarrow contains the headers and libraries.
// Build: arrow=$(python3 -c "import pyarrow; print(pyarrow.__path__[0])")
// Build: c++ -std=c++20 -O2 example.cpp -o example -I$arrow/include $arrow/libarrow{_flight,}.so.* -Wl,-rpath,$arrow
#include <arrow/api.h>
#include <arrow/flight/api.h>
#include <arrow/util/compression.h>

#include <chrono>
#include <cstdio>
#include <semaphore>
#include <string>
#include <thread>

namespace flight = arrow::flight;
using Batch = std::shared_ptr<arrow::RecordBatch>;
constexpr std::int64_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:50052";
const std::string COMPRESSION = "none";  // or lz4, zstd
constexpr auto PATIENCE = std::chrono::seconds(10);
const auto SCHEMA = arrow::schema({arrow::field("data", arrow::binary(), false)});

flight::Location location() { return flight::Location::Parse("grpc+tcp://" + ADDRESS).ValueOrDie(); }
arrow::ipc::IpcWriteOptions options() {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (COMPRESSION == "none") return options;
  const auto kind = arrow::util::Codec::GetCompressionType(COMPRESSION).ValueOrDie();
  options.codec = arrow::util::Codec::Create(kind).ValueOrDie();
  return options;
}

Batch make_batch() {
  arrow::BinaryBuilder builder;
  (void)builder.Append(std::string(PAYLOAD_BYTES, '\0'));
  return arrow::RecordBatch::Make(SCHEMA, 1, {builder.Finish().ValueOrDie()});
}

bool is_whole(const Batch& batch) {
  return static_cast<const arrow::BinaryArray&>(*batch->column(0)).GetView(0).size() == PAYLOAD_BYTES;
}

void wait_for(int number, std::chrono::steady_clock::time_point begin) {
  std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
}

struct Server final : flight::FlightServerBase {
  std::atomic<int> calls = 0;
  std::binary_semaphore done{0};

  arrow::Status DoGet(const flight::ServerCallContext&, const flight::Ticket& ticket,
                      std::unique_ptr<flight::FlightDataStream>* stream) override {
    if (ticket.ticket != TOPIC) return arrow::Status::KeyError("no such topic");
    auto next = [this, number = 0, begin = std::chrono::steady_clock::now()]() mutable -> arrow::Result<Batch> {
      if (number == COUNT) return done.release(), nullptr;
      wait_for(number++, begin);
      return make_batch();
    };
    auto batches = arrow::MakeFunctionIterator(std::move(next));
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::MakeFromIterator(std::move(batches), SCHEMA));
    *stream = std::make_unique<flight::RecordBatchStream>(std::move(reader), options());
    return arrow::Status::OK();
  }

  arrow::Status DoExchange(const flight::ServerCallContext&, std::unique_ptr<flight::FlightMessageReader> reader,
                           std::unique_ptr<flight::FlightMessageWriter> writer) override {
    ARROW_ASSIGN_OR_RAISE(const auto request, reader->Next());
    ARROW_RETURN_NOT_OK(writer->Begin(SCHEMA, options()));
    ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*request.data));  // echoes the request as the reply
    if (++calls == COUNT) done.release();
    return arrow::Status::OK();
  }
};

/// Runs a server until its work is done.
void run_server(const char* said, bool has_calls) {
  Server server;
  if (const auto status = server.Init(flight::FlightServerOptions(location())); !status.ok()) status.Abort();
  std::puts("ready");
  (void)server.done.try_acquire_for(PATIENCE + std::chrono::duration<double>(COUNT / RATE_HZ));
  server.Shutdown().Warn();
  std::printf(said, has_calls ? server.calls.load() : COUNT);
}

/// Connects as soon as the server is listening.
std::unique_ptr<flight::FlightClient> connect() {
  const auto until = std::chrono::steady_clock::now() + PATIENCE;
  auto client = flight::FlightClient::Connect(location()).ValueOrDie();
  while (client->ListFlights().status().IsIOError() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return client;
}

void receive() {
  std::puts("ready");
  const auto client = connect();
  const auto stream = client->DoGet(flight::Ticket{TOPIC}).ValueOrDie();
  int count = 0;
  for (auto chunk = stream->Next(); chunk.ok() && chunk->data; chunk = stream->Next()) count += is_whole(chunk->data);
  std::printf("received %d messages\n", count);
}

void call() {
  const auto client = connect();
  const auto begin = std::chrono::steady_clock::now();
  int count = 0;
  for (int number = 0; number < COUNT; ++number) {
    wait_for(number, begin);
    const auto exchange = client->DoExchange(flight::FlightDescriptor::Path({TOPIC})).ValueOrDie();
    exchange.writer->Begin(SCHEMA, options()).Warn();
    exchange.writer->WriteRecordBatch(*make_batch()).Warn();
    exchange.writer->DoneWriting().Warn();
    const auto reply = exchange.reader->Next();
    count += reply.ok() && reply->data && is_whole(reply->data);
    exchange.writer->Close().Warn();
  }
  std::printf("received %d replies\n", count);
}

int main(int words, char** word) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string side = words > 1 ? word[1] : "receive";
  if (side == "send") run_server("sent %d messages\n", false);
  if (side == "receive") receive();
  if (side == "call") call();
  if (side == "serve") run_server("answered %d calls\n", true);
}
