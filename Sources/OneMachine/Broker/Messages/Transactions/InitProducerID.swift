/// The request of a producer for its id. With a transactional id, all earlier producers of that id are
/// fenced.
struct InitProducerIDRequest: Equatable {
    var version: Int16
    var transactionalID: String?
    var timeoutMilliseconds: Int32
    /// The id of a producer that continues after an error, else -1.
    var producerID: Int64
    var producerEpoch: Int16
}

extension InitProducerIDRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        transactionalID = try reader.nullableString()
        timeoutMilliseconds = try reader.int32()
        producerID = version >= 3 ? try reader.int64() : -1
        producerEpoch = version >= 3 ? try reader.int16() : -1
        try reader.skipTags()
    }
}

/// The answer: the id and the epoch with which the producer marks its batches.
struct InitProducerIDResponse: Equatable {
    var error = ErrorCode.none
    var producerID: Int64 = -1
    var producerEpoch: Int16 = -1

    func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.error(error)
        writer.int64(producerID)
        writer.int16(producerEpoch)
        writer.emptyTags()
    }
}
