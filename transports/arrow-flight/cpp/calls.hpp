/// Calls: each call is one DoExchange, with a record batch in each direction.
#pragma once

#include "hopmeter/blocking_calls.hpp"
#include "hopmeter/bridge.hpp"
#include "hopmeter/called_server.hpp"
#include "network.hpp"

class CallClient final : public hopmeter::Client {
 public:
  CallClient(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : client_(connect(setup, link)),
        options_(write_options(setup)),
        name_(flight::FlightDescriptor::Path({link.name})),
        calls_([this](const Batch& request) { return exchange(request); }, [this] { interrupt(); }) {}

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (!calls_.is_idle()) return hopmeter::Sent::busy;
    calls_.start(write_batch(payload_bytes, fill));
    return hopmeter::Sent::accepted;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto reply = calls_.poll(timeout);
    if (!reply) return 0;
    take(to_received(**reply));
    return 1;
  }

 private:
  using Exchange = flight::FlightClient::DoExchangeResult;

  /// Makes a call. Returns nothing if there is no reply, because the server has disconnected or has not answered.
  std::optional<Batch> exchange(const Batch& request) {
    auto opened = client_->DoExchange(name_);
    if (!opened.ok()) return {};
    set_current(opened->reader.get());
    auto reply = ask(*opened, request);
    (void)opened->writer->Close();  // waits until the server has ended the exchange
    set_current(nullptr);
    return reply;
  }

  std::optional<Batch> ask(Exchange& exchange, const Batch& request) {
    auto& writer = *exchange.writer;
    if (!writer.Begin(schema(), options_).ok() || !writer.WriteRecordBatch(*request).ok()) return {};
    if (!writer.DoneWriting().ok()) return {};
    auto chunk = exchange.reader->Next();
    if (!chunk.ok() || !chunk->data) return {};
    return std::move(chunk->data);
  }

  /// Sets the stream that `interrupt` cancels. If the client is already closing, cancels the stream immediately.
  void set_current(flight::FlightStreamReader* reader) {
    const std::lock_guard lock(mutex_);
    current_ = reader;
    if (is_closing_) cancel();
  }

  void interrupt() {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    cancel();
  }

  void cancel() {
    if (current_) current_->Cancel();
  }

  std::unique_ptr<flight::FlightClient> client_;
  arrow::ipc::IpcWriteOptions options_;
  flight::FlightDescriptor name_;
  std::mutex mutex_;
  flight::FlightStreamReader* current_ = nullptr;
  bool is_closing_ = false;
  hopmeter::BlockingCalls<Batch, Batch> calls_;
};

class CallServer final : public hopmeter::CalledServer, private BoundServer {
 public:
  CallServer(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : CalledServer(link), options_(write_options(setup)) {
    start(setup, link);
  }

  ~CallServer() override {
    CalledServer::close();
    stop();
  }

  std::string address() const override { return where(); }

 private:
  struct BatchReplier final : hopmeter::Replier {
    hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
      batch = write_batch(payload_bytes, fill);
      return hopmeter::Sent::accepted;
    }
    Batch batch;
  };

  /// Answers the one request of an exchange. An exchange without a reply ends without a record batch.
  arrow::Status DoExchange(const flight::ServerCallContext&, std::unique_ptr<flight::FlightMessageReader> reader,
                           std::unique_ptr<flight::FlightMessageWriter> writer) override {
    ARROW_ASSIGN_OR_RAISE(const auto request, reader->Next());
    if (!request.data) return arrow::Status::OK();
    BatchReplier replier;
    answer(to_received(*request.data), replier);
    if (!replier.batch) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(writer->Begin(schema(), options_));
    return writer->WriteRecordBatch(*replier.batch);
  }

  arrow::ipc::IpcWriteOptions options_;
};
