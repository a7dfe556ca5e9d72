/// What is known of a push that has ended. Whether it may be sent again rests on this alone.
package enum PushEnd: Sendable, Hashable {
    /// APNs answered; what it said stands beside.
    case answered
    /// APNs surely did nothing: sending again can double nothing.
    case notProcessed(PushFault)
    /// It may have arrived or not: updates and ENDs can be repeated, a start would be doubled.
    case unknown(PushFault)
    /// Taken back by its owner before a byte had left.
    case withdrawn
}

/// Why a push has no answer.
package enum PushFault: String, Sendable, Hashable, CaseIterable {
    /// Its deadline passed, or the time by which it had to leave.
    case overdue
    /// It had to leave before there was a connection with a free stream.
    case noConnection = "no_connection"
    /// REFUSED_STREAM again and again.
    case refused
    /// RST_STREAM with another code.
    case reset
    case connectionLost = "connection_lost"
    /// There is no key file for the app's team and key id.
    case noProviderKey = "no_provider_key"
    /// The client was told to stop before it left.
    case stopped
}
