/// Everything a client can ask the transaction coordinator.
enum TransactionRequest: Equatable {
    case initProducerID(InitProducerIDRequest)
    case addPartitions(AddPartitionsToTxnRequest)
    case addOffsets(AddOffsetsToTxnRequest)
    case end(EndTxnRequest)
}

enum TransactionAnswer: Equatable {
    case initProducerID(InitProducerIDResponse)
    case addPartitions(PartitionErrors)
    case addOffsets(TransactionResponse)
    case end(TransactionResponse)

    /// `version` is the request's.
    func write(to writer: inout WireWriter, version: Int16) {
        switch self {
        case .initProducerID(let body): body.write(to: &writer, version: version)
        case .addPartitions(let body): body.write(to: &writer, throttled: true)
        case .addOffsets(let body), .end(let body): body.write(to: &writer, version: version)
        }
    }
}

/// What the transaction coordinator wants done.
enum TransactionAction: Equatable {
    case reply(ReplyToken, TransactionAnswer)
    /// Append these records to the transactions' topic as one batch, all or nothing, and say
    /// `persisted` when they are durable or `failed` when they never will be.
    case persist(PersistID, [CoordinatorRecord])
    /// Write the markers, and say `markersWritten` when all of them are durable or `markersFailed` when
    /// some are not: they are then asked for again.
    case writeMarkers(MarkersID, TransactionMarkers)
}
