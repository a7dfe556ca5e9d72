/// The reason why a log refuses a call. The client gets `code`.
package enum LogError: Error, Equatable, CustomStringConvertible {
    /// The bytes are not one whole, sound record batch.
    case corruptBatch(String)
    /// A sound batch that this topic or protocol does not allow.
    case invalidRecord(String)
    case unsupportedCodec(Int)
    case batchTooLarge(bytes: Int, limit: Int)
    case timestampOutOfRange(Int64)
    case outOfOrderSequence(producer: Int64, sequence: Int32, last: Int32)
    case fencedProducer(producer: Int64, epoch: Int16, current: Int16)
    case invalidTransactionState(producer: Int64)
    case offsetOutOfRange(offset: Int64, from: Int64, to: Int64)
    /// Stored bytes that differ from the written ones.
    case damaged(path: String, offset: Int64)
    case disk(DiskError)
    /// The broker stops, the topic was deleted, or the log could not be opened again after an error.
    case closed(String)

    package var code: ErrorCode {
        switch self {
        case .corruptBatch, .damaged: .corruptMessage
        case .invalidRecord: .invalidRecord
        case .unsupportedCodec: .unsupportedCompressionType
        case .batchTooLarge: .messageTooLarge
        case .timestampOutOfRange: .invalidTimestamp
        case .outOfOrderSequence: .outOfOrderSequenceNumber
        case .fencedProducer: .invalidProducerEpoch
        case .invalidTransactionState: .invalidTxnState
        case .offsetOutOfRange: .offsetOutOfRange
        case .disk, .closed: .kafkaStorageError
        }
    }

    package var description: String {
        switch self {
        case .corruptBatch(let reason):
            "record batch is not sound: \(reason); check the client and the network"
        case .invalidRecord(let reason): "record batch is not allowed here: \(reason)"
        case .unsupportedCodec(let codec):
            "compression codec \(codec) is unknown; use gzip, snappy, lz4 or zstd"
        case .batchTooLarge(let bytes, let limit):
            "record batch has \(bytes) bytes, and the topic allows \(limit); raise max.message.bytes or send less"
        case .timestampOutOfRange(let time): "record batch has the time \(time) ms; check the client's clock"
        case .outOfOrderSequence(let producer, let sequence, let last):
            "producer \(producer) sent sequence \(sequence) after \(last); records between them were lost"
        case .fencedProducer(let producer, let epoch, let current):
            "producer \(producer) has epoch \(epoch), and its successor has \(current); start it again"
        case .invalidTransactionState(let producer):
            "producer \(producer) has an open transaction and sent records outside of it; fix the producer"
        case .offsetOutOfRange(let offset, let from, let to):
            "offset \(offset) is outside of \(from) to \(to); choose where to begin again"
        case .damaged(let path, let offset):
            "file \(path) is damaged at offset \(offset); restore the file, delete the records up to there, or stop the broker and use `flotilla repair`"
        case .disk(let error): error.description
        case .closed(let reason): "log takes no records: \(reason); send them again"
        }
    }
}
