/// The known result of a push when it ends: answered, certainly not processed, or unknown. The sender decides
/// by it whether the push may be sent again.
package enum PushEnd: Sendable, Hashable {
    /// APNs answered. The answer is in the `PushOutcome`.
    case answered
    /// APNs has certainly not processed the push, so sending it again cannot duplicate it.
    case notProcessed(PushFault)
    /// The push may have arrived. Updates and ENDs can be repeated, but a repeated start would be a
    /// duplicate.
    case unknown(PushFault)
    /// The owner withdrew the push before it was fully sent. So APNs has not processed it.
    case withdrawn
}

/// The reason why a push has no answer.
package enum PushFault: String, Sendable, Hashable, CaseIterable {
    /// `PushDeadlines.deadline` or `sendBy` has passed.
    case overdue
    /// No connection had a free stream before `sendBy`.
    case noConnection = "no_connection"
    /// REFUSED_STREAM, more often than the limit.
    case refused
    /// RST_STREAM with another code.
    case reset
    case connectionLost = "connection_lost"
    /// No key file exists for the app's team id and key id.
    case noProviderKey = "no_provider_key"
    /// The client was stopped before the push was sent.
    case stopped
}
