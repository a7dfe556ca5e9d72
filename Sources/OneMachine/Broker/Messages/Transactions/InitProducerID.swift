/// The request of a producer for its id. With a transactional id, all earlier producers of that id are
/// fenced.
package struct InitProducerIDRequest: Equatable {
    package var version: Int16
    package var transactionalID: String?
    package var timeoutMilliseconds: Int32
    /// The id of a producer that continues after an error, else -1.
    package var producerID: Int64
    package var producerEpoch: Int16

    package init(
        version: Int16, transactionalID: String? = nil, timeoutMilliseconds: Int32, producerID: Int64,
        producerEpoch: Int16
    ) {
        self.version = version
        self.transactionalID = transactionalID
        self.timeoutMilliseconds = timeoutMilliseconds
        self.producerID = producerID
        self.producerEpoch = producerEpoch
    }
}

extension InitProducerIDRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        transactionalID = try reader.nullableString()
        timeoutMilliseconds = try reader.int32()
        producerID = version >= 3 ? try reader.int64() : -1
        producerEpoch = version >= 3 ? try reader.int16() : -1
        try reader.skipTags()
    }
}

/// The answer: the id and the epoch with which the producer marks its batches.
package struct InitProducerIDResponse: Equatable {
    package var error = ErrorCode.none
    package var producerID: Int64 = -1
    package var producerEpoch: Int16 = -1

    package func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.error(error)
        writer.int64(producerID)
        writer.int16(producerEpoch)
        writer.emptyTags()
    }
}
