/// The step that the transaction coordinator takes when the outcome of an append is known.
enum TransactionContinuation {
    /// The answer to the request that waits for an append.
    struct PendingReply {
        let token: ReplyToken
        let answer: TransactionAnswer
    }

    /// A change of one transactional id. No request waits for an abort after a timeout.
    case changed(id: String, facts: TransactionFacts, PendingReply?)
    /// The producer's decision to commit or to abort. EndTxn is answered after the first attempt at the markers.
    case decided(id: String, facts: TransactionFacts, ReplyToken)
    /// The record of a completed transaction. No request waits for it.
    case completed
    /// A block of producer ids was reserved.
    case producerIDs(end: Int64)
    /// Unused transactional ids were removed.
    case expired(ids: [String])
}
