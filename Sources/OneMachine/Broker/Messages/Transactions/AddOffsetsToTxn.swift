/// The request to add a group to a transaction, before offsets of the group are committed in it.
package struct AddOffsetsToTxnRequest: Equatable {
    package var version: Int16
    package var transactionalID: String
    package var producerID: Int64
    package var producerEpoch: Int16
    package var groupID: String

    package init(
        version: Int16, transactionalID: String, producerID: Int64, producerEpoch: Int16, groupID: String
    ) {
        self.version = version
        self.transactionalID = transactionalID
        self.producerID = producerID
        self.producerEpoch = producerEpoch
        self.groupID = groupID
    }
}

extension AddOffsetsToTxnRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        transactionalID = try reader.string()
        producerID = try reader.int64()
        producerEpoch = try reader.int16()
        groupID = try reader.string()
        try reader.skipTags()
    }
}

/// The answer to AddOffsetsToTxn and EndTxn, which has only an error.
package struct TransactionErrorResponse: Equatable {
    package var error = ErrorCode.none

    package func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.error(error)
        writer.emptyTags()
    }
}
