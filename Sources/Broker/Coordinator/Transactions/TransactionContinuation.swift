/// What happens when an append is durable, or is not.
enum TransactionContinuation {
    /// A change of one transactional id, and who is told of it how.
    case changed(id: String, TransactionFacts, ReplyToken?, TransactionAnswer?)
    /// The producer's own decision: it is told when the markers are written.
    case decided(id: String, TransactionFacts, ReplyToken)
    /// The end of a transaction is on record; nothing waits for it.
    case completed
    case producerIDs(end: Int64)
    case expired(ids: [String])
}

extension TransactionAnswer {
    /// The answer to the same request when its change could not be stored: come again.
    var unavailable: TransactionAnswer {
        switch self {
        case .initProducerID: .initProducerID(InitProducerIDResponse(error: .coordinatorNotAvailable))
        case .addPartitions(let errors):
            .addPartitions(errors.replacingSuccess(by: .coordinatorNotAvailable))
        case .addOffsets: .addOffsets(TransactionResponse(error: .coordinatorNotAvailable))
        case .end: .end(TransactionResponse(error: .coordinatorNotAvailable))
        }
    }
}
