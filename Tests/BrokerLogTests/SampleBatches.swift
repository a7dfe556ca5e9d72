import Telemetry

@testable import Broker

// The batches that the tests of the log append, as the bytes that a producer sends.

/// The time at which most records are appended.
let noon = WallTime(milliseconds: 1_700_000_000_000)

/// Returns a batch of records with these values and the same key.
func records(_ values: String..., key: String? = nil) -> [UInt8] {
    BatchBuilder.batch(
        values.map { NewRecord(key: key.map { Array($0.utf8) }, value: Array($0.utf8)) },
        time: noon.milliseconds)
}

/// Returns a time after `noon`.
func secondsAfterNoon(_ seconds: Int64) -> WallTime {
    WallTime(milliseconds: noon.milliseconds + seconds * 1_000)
}

/// Returns a batch of one record with a time, in seconds after `noon`.
func timed(_ value: String, second: Int64, key: String? = nil) -> [UInt8] {
    BatchBuilder.batch(
        [NewRecord(key: key.map { Array($0.utf8) }, value: Array(value.utf8))],
        time: secondsAfterNoon(second).milliseconds
    )
}

/// Returns the same batch, compressed with a codec.
func recompressed(_ batch: [UInt8], with codec: Codec) -> [UInt8] {
    var header = batch.withBytes { BatchHeader(parsing: $0) }
    let packed = codec.compress(Array(batch[BatchHeader.size...]))
    header.attributes |= Int16(packed.codec.rawValue)
    return BatchBuilder.assemble(header: header, body: packed.bytes)
}

extension StoredBatch.Record {
    var keyText: String { String(decoding: key ?? [], as: UTF8.self) }
    var valueText: String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

/// Returns a batch as it is stored at an offset, perhaps with another time.
func stored(_ batch: [UInt8], at offset: Int64, time: Int64? = nil) -> [UInt8] {
    var header = batch.withBytes { BatchHeader(parsing: $0) }
    header.baseOffset = offset
    if let time { header.maxTimestamp = time }
    return BatchBuilder.assemble(header: header, body: Array(batch[BatchHeader.size...]))
}
