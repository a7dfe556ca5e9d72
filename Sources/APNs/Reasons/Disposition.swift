/// What an answer of APNs means for the job, the token and the app. One word per reaction, so that a
/// sender's reaction is a `switch` without a default.
package enum Disposition: String, Sendable, CaseIterable {
    /// APNs took it. It does not say "shown".
    case accepted
    /// The token is dead since the answer's timestamp, unless the phone has reported it again since.
    case tokenGone = "token_gone"
    /// The token is wrong, or the app's environment or topic is: dropped when it is one of few, and the
    /// breaker's business when it is one of many.
    case tokenSuspect = "token_suspect"
    /// One phone gets too much: this token waits, the newest state only.
    case tokenThrottled = "token_throttled"
    /// A setting of the app is wrong: pause the app in this environment, drop nothing, tell a person.
    case appMisconfigured = "app_misconfigured"
    /// The provider token is too old: make a new one, once, and send again.
    case providerTokenExpired = "provider_token_expired"
    /// Provider tokens are made too often: go back to the one before, rest, tell a person.
    case providerTokenTooMany = "provider_token_too_many"
    /// This connection is the wrong one, or is going away: send again on another.
    case connectionOver = "connection_over"
    /// Apple's trouble: send again later, while the state is still wanted.
    case serverTrouble = "server_trouble"
    /// We built a request that APNs can never take: a mistake of ours, kept as a dead letter.
    case requestFaulty = "request_faulty"
    /// The channel is gone: forget it, and reach its phones by token.
    case channelGone = "channel_gone"
    /// No more channels can be made: delete some, or use tokens.
    case channelLimit = "channel_limit"

    /// Whether sending the same request again can succeed.
    package var isWorthRetrying: Bool {
        switch self {
        case .tokenThrottled, .providerTokenExpired, .providerTokenTooMany, .connectionOver, .serverTrouble,
            .appMisconfigured:
            true
        case .accepted, .tokenGone, .tokenSuspect, .requestFaulty, .channelGone, .channelLimit: false
        }
    }
}
