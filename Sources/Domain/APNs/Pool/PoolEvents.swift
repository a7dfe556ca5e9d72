/// The end of a request on its connection, as the caller (`ConnectionPool`) reports it to the state machine.
package enum PoolOutcome: Sendable, Hashable {
    /// The answer's effect on the connection. The caller keeps the answer itself.
    case answered(ResponseEffect)
    /// Not sent, or above the last stream of a GOAWAY. APNs has certainly not processed it.
    case notProcessed
    /// REFUSED_STREAM. APNs has certainly not processed it.
    case refused
    /// Any other RST_STREAM. `mayHaveBeenSent` means that the whole request may have been sent.
    case reset(isEnhanceYourCalm: Bool, mayHaveBeenSent: Bool)
    case connectionLost
    /// `PushDeadlines.deadline` has passed, or `sendBy` before the request was sent. `mayHaveBeenSent` means
    /// that the whole request may have been sent. Its stream is still open.
    case overdue(mayHaveBeenSent: Bool)
    /// The owner withdrew the request before it was sent. Its stream is still open.
    case withdrawn
}

/// The effect of an answer on the connection that it arrived on, in addition to the effect on its request.
package enum ResponseEffect: Sendable, Hashable {
    /// The answer shows that APNs accepts the provider token on this connection.
    case authorizes
    /// A status of 5xx. Fewer requests are sent at a time.
    case serverTrouble
    /// UnrelatedKeyIdInToken, IdleTimeout or Shutdown. Nothing more is sent over this connection.
    case connectionUnusable
    /// ExpiredProviderToken. The request is sent again once. `isRemade`: the token was replaced by a new one,
    /// which the request uses. Otherwise the token is too young to be replaced, and the request uses another
    /// connection.
    case tokenExpired(isRemade: Bool)
    /// TooManyProviderTokenUpdates. This connection is retired, and the request is sent again once over
    /// another one.
    case tooManyTokens
    /// The answer says nothing about the connection.
    case nothing
}

/// The pool's decision about an outcome: the report that the caller makes to the owner of the request.
package enum PoolVerdict: Sendable, Hashable {
    /// The request has ended. Report it to its owner.
    case ended(PushEnd)
    /// The request was reported with `PushEnd.unknown`, and now its answer has arrived. Report the answer to its owner.
    case lateAnswer
    /// The request was reported with `PushEnd.unknown`, and no answer will follow. Report this to its owner.
    case noLateAnswer
    /// The request is sent again. Report nothing.
    case retry
    /// The request had already ended.
    case stale
}

/// An action that the caller must carry out for the pool. The numbers are those of connections, which the pool
/// assigns.
package enum PoolAction: Sendable, Hashable {
    /// Open a connection.
    case connect(UInt32)
    /// Send a PING.
    case ping(UInt32)
    /// Send GOAWAY, and close when everything is sent.
    case finish(UInt32)
    /// Close at once.
    case close(UInt32)
    /// Report the end of a request that ended without an outcome of a connection.
    case end(PoolTicket, PushEnd)
    /// Report that no answer will follow for a request that was reported with `PushEnd.unknown`.
    case noLateAnswer(PoolTicket)
}
