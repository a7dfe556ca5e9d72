/// The work that the transaction coordinator does after an append, when its outcome is known.
enum TransactionContinuation {
    /// A change of one transactional id, and the answer to its request.
    case changed(id: String, TransactionFacts, ReplyToken?, TransactionAnswer?)
    /// The producer's decision. It gets its answer when the markers are written.
    case decided(id: String, TransactionFacts, ReplyToken)
    /// The record of a completed transaction. No request waits for it.
    case completed
    /// A block of producer ids was reserved.
    case producerIDs(end: Int64)
    /// Unused transactional ids were removed.
    case expired(ids: [String])
}

extension TransactionAnswer {
    /// The answer if the change could not be stored, so that the client repeats the request.
    package var failureAnswer: TransactionAnswer {
        switch self {
        case .initProducerID: .initProducerID(InitProducerIDResponse(error: .coordinatorNotAvailable))
        case .addPartitions(let errors):
            .addPartitions(errors.replacingSuccess(by: .coordinatorNotAvailable))
        case .addOffsets: .addOffsets(TransactionResponse(error: .coordinatorNotAvailable))
        case .end: .end(TransactionResponse(error: .coordinatorNotAvailable))
        }
    }
}
