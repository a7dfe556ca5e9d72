/// The request to commit or abort a transaction. The answer is `TransactionResponse`.
struct EndTxnRequest: Equatable {
    var version: Int16
    var transactionalID: String
    var producerID: Int64
    var producerEpoch: Int16
    var commits: Bool
}

extension EndTxnRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        transactionalID = try reader.string()
        producerID = try reader.int64()
        producerEpoch = try reader.int16()
        commits = try reader.bool()
        try reader.skipTags()
    }
}
