/// The request to commit or abort a transaction. The answer is `TransactionErrorResponse`.
package struct EndTxnRequest: Equatable {
    package var version: Int16
    package var transactionalID: String
    package var producerID: Int64
    package var producerEpoch: Int16
    package var commits: Bool

    package init(
        version: Int16, transactionalID: String, producerID: Int64, producerEpoch: Int16, commits: Bool
    ) {
        self.version = version
        self.transactionalID = transactionalID
        self.producerID = producerID
        self.producerEpoch = producerEpoch
        self.commits = commits
    }
}

extension EndTxnRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        transactionalID = try reader.string()
        producerID = try reader.int64()
        producerEpoch = try reader.int16()
        commits = try reader.bool()
        try reader.skipTags()
    }
}
