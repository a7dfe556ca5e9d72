/// How a request ended on its connection, as the pool needs to know it.
package enum PoolOutcome: Sendable, Hashable {
    case answered(AnswerEffect)
    /// Not sent, or above the last stream of a GOAWAY: surely not processed.
    case notProcessed
    /// REFUSED_STREAM: surely not processed.
    case refused
    /// Any other RST_STREAM; `isCalm` with ENHANCE_YOUR_CALM, and whether the request may have left.
    case reset(isCalm: Bool, hasLeft: Bool)
    case connectionLost
    /// The deadline passed, or the time to leave; whether it may have left. Its stream is still there.
    case overdue(hasLeft: Bool)
    /// The owner took it back before it had left. Its stream is still there.
    case withdrawn
}

/// What an answer means for the connection it came on, beside what it means for its request.
package enum AnswerEffect: Sendable, Hashable {
    /// It shows that the provider token is accepted here.
    case authorises
    case nothing
    /// A status of 5xx: fewer at a time.
    case serverTrouble
    /// UnrelatedKeyIdInToken, IdleTimeout, Shutdown: nothing more goes over this connection.
    case connectionOver
    /// ExpiredProviderToken. The request goes again once: with a new token (`isRemade`), or, where the
    /// token was too young to be made anew, over another connection.
    case tokenExpired(isRemade: Bool)
    /// TooManyProviderTokenUpdates: this connection rests, the request goes again once over another.
    case tokenTooMany
}

/// What became of an outcome.
package enum PoolVerdict: Sendable, Hashable {
    /// The request has ended: tell its owner.
    case ended(PushEnd)
    /// The answer to a request that was told as unknown: tell its owner that it is known now.
    case late
    /// No answer to such a request will come any more: tell its owner.
    case lateOver
    /// It goes again; nothing is told.
    case again
    /// The request had ended before.
    case stale
}

/// What a pool wants done.
package enum PoolAction: Sendable, Hashable {
    case connect(UInt32)
    case ping(UInt32)
    /// Say goodbye and close once all is sent.
    case finish(UInt32)
    /// Close at once.
    case close(UInt32)
    /// A request ended otherwise than by an outcome.
    case end(PoolTicket, PushEnd)
    /// No answer will come any more to a request that was told as unknown.
    case lateOver(PoolTicket)
}
