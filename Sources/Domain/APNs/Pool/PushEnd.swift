/// The end of a push. Only this decides whether the push may be sent again.
package enum PushEnd: Sendable, Hashable {
    /// APNs answered. The answer is given separately.
    case answered
    /// APNs has certainly not processed the push, so sending it again cannot duplicate it.
    case notProcessed(PushFault)
    /// The push may have arrived. Updates and ENDs can be repeated, but a repeated start would be a
    /// duplicate.
    case unknown(PushFault)
    /// The owner withdrew the push before any byte was sent.
    case withdrawn
}

/// The reason why a push has no answer.
package enum PushFault: String, Sendable, Hashable, CaseIterable {
    /// Its deadline or its time to leave has passed.
    case overdue
    /// No connection had a free stream before the time to leave.
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
