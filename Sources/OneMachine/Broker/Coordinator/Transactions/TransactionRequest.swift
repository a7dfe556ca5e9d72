/// The requests to the transaction coordinator.
package enum TransactionRequest: Equatable {
    case initProducerID(InitProducerIDRequest)
    case addPartitions(AddPartitionsToTxnRequest)
    case addOffsets(AddOffsetsToTxnRequest)
    case end(EndTxnRequest)
}

/// The answers of the transaction coordinator.
package enum TransactionAnswer: Equatable {
    case initProducerID(InitProducerIDResponse)
    case addPartitions(PartitionErrors)
    case addOffsets(TransactionErrorResponse)
    case end(TransactionErrorResponse)

    /// `version` is the request's.
    package func write(to writer: inout WireWriter, version: Int16) {
        switch self {
        case .initProducerID(let body): body.write(to: &writer, version: version)
        case .addPartitions(let body): body.write(to: &writer, hasThrottleTime: true)
        case .addOffsets(let body), .end(let body): body.write(to: &writer, version: version)
        }
    }

    /// The answer if the change could not be stored, so that the client repeats the request.
    package var ifNotStored: TransactionAnswer {
        switch self {
        case .initProducerID: .initProducerID(InitProducerIDResponse(error: .coordinatorNotAvailable))
        case .addPartitions(let errors):
            .addPartitions(errors.replacingSuccess(by: .coordinatorNotAvailable))
        case .addOffsets: .addOffsets(TransactionErrorResponse(error: .coordinatorNotAvailable))
        case .end: .end(TransactionErrorResponse(error: .coordinatorNotAvailable))
        }
    }
}

/// The actions that the transaction coordinator returns.
package enum TransactionAction: Equatable {
    case reply(ReplyToken, TransactionAnswer)
    /// Append these records to the transactions' topic as one batch. Call `appendSucceeded` when they are
    /// durable, or `appendFailed`.
    case persist(AppendID, [CoordinatorRecord])
    /// Write the markers. Call `markersWritten` when all are durable, or `markersFailed` with those that are
    /// not.
    case writeMarkers(MarkersID, TransactionMarkers)
}
