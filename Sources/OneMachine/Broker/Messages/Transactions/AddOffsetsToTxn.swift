/// The request to add a group to a transaction, before offsets of the group are committed in it.
struct AddOffsetsToTxnRequest: Equatable {
    var version: Int16
    var transactionalID: String
    var producerID: Int64
    var producerEpoch: Int16
    var groupID: String
}

extension AddOffsetsToTxnRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        transactionalID = try reader.string()
        producerID = try reader.int64()
        producerEpoch = try reader.int16()
        groupID = try reader.string()
        try reader.skipTags()
    }
}

/// The answer to AddOffsetsToTxn and EndTxn.
struct TransactionResponse: Equatable {
    var error = ErrorCode.none

    func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.error(error)
        writer.emptyTags()
    }
}
