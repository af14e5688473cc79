/// Frames as record batches with one row and one binary column.
#pragma once

#include <arrow/api.h>
#include <arrow/ipc/options.h>
#include <arrow/util/compression.h>

#include <memory>
#include <string>

#include "hopmeter/contract.hpp"

using Batch = std::shared_ptr<arrow::RecordBatch>;

/// Throws if an Arrow call has failed. `doing` describes the call.
inline void demand(const arrow::Status& status, const std::string& doing) {
  if (!status.ok()) throw hopmeter::Error(doing + ": " + status.ToString());
}

/// Returns the value of an Arrow call. Throws if the call has failed.
template <class Value>
Value demand(arrow::Result<Value> result, const std::string& doing) {
  demand(result.status(), doing);
  return std::move(result).ValueUnsafe();
}

inline const std::shared_ptr<arrow::Schema>& schema() {
  static const auto made = arrow::schema({arrow::field("frame", arrow::binary(), false)});
  return made;
}

/// Lets `fill` write a frame into a new record batch.
inline Batch write_batch(std::size_t payload_bytes, hopmeter::Fill fill) {
  const auto bytes = static_cast<std::int64_t>(hopmeter::header_bytes + payload_bytes);
  std::shared_ptr<arrow::Buffer> frame = demand(arrow::AllocateBuffer(bytes), "allocating a frame");
  const auto offsets = arrow::Buffer::FromVector(std::vector<std::int32_t>{0, static_cast<std::int32_t>(bytes)});
  fill({reinterpret_cast<std::byte*>(frame->mutable_data()), static_cast<std::size_t>(bytes)});
  auto column = std::make_shared<arrow::BinaryArray>(1, offsets, std::move(frame));
  return arrow::RecordBatch::Make(schema(), 1, {std::move(column)});
}

/// Whether a received record batch contains exactly one frame. Arrow's readers do not check a column's offsets, so a
/// hostile program could otherwise make this node read memory outside the message.
inline bool has_frame(const arrow::RecordBatch& batch) {
  return batch.num_rows() == 1 && batch.schema()->Equals(*schema()) && batch.ValidateFull().ok() &&
         batch.column(0)->IsValid(0);
}

/// Returns the frame of a received record batch. The frame stays valid as long as the batch. The frame is empty, and
/// therefore malformed, if the batch does not contain exactly one frame.
inline hopmeter::Received to_received(const arrow::RecordBatch& batch) {
  if (!has_frame(batch)) return hopmeter::Received::split({});
  const auto frame = static_cast<const arrow::BinaryArray&>(*batch.column(0)).GetView(0);
  return hopmeter::Received::split(std::as_bytes(std::span(frame)));
}

/// Returns the options for writing record batches, with the compression of the settings.
inline arrow::ipc::IpcWriteOptions write_options(const hopmeter::Setup& setup) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  const auto compression = setup.setting<std::string>("compression");
  if (compression == "none") return options;
  const auto kind = compression == "lz4" ? arrow::Compression::LZ4_FRAME : arrow::Compression::ZSTD;
  options.codec = demand(arrow::util::Codec::Create(kind), "choosing a compression");
  return options;
}
