/// The reaction that an answer of APNs requires, for the job, the token and the app. Each reaction has one case,
/// so the sender handles it in a `switch` without a default. If APNs gives no reason, the raw value is the reason in
/// the receipt, so a raw value stays as it is even if its case is renamed.
package enum ResponseDisposition: String, Sendable, CaseIterable {
    /// APNs accepted the push. This does not mean that the phone shows it.
    case accepted
    /// The token has been dead since the answer's timestamp, unless the phone has reported it again later.
    case tokenGone = "token_gone"
    /// The token, the environment or the topic is wrong. One such token is probably dead. If an app has many,
    /// a setting is probably wrong, so the sender decides.
    case tokenSuspect = "token_suspect"
    /// One phone gets too many pushes. The token waits, and only the newest state is kept.
    case tokenThrottled = "token_throttled"
    /// A setting of the app is wrong. Pause the app in this environment, drop no token, and alert an
    /// operator.
    case appMisconfigured = "app_misconfigured"
    /// The provider token is too old. Make a new one once and send again.
    case providerTokenExpired = "provider_token_expired"
    /// Provider tokens are made too often. Use the previous token, pause, and alert an operator.
    case tooManyProviderTokens = "provider_token_too_many"
    /// This connection is wrong or is closing. Send again on another one.
    case connectionUnusable = "connection_over"
    /// Apple's servers have trouble. Send again later, if the state is still wanted.
    case serverTrouble = "server_trouble"
    /// The request was built wrongly and APNs can never accept it. This is a bug of ours, kept as a dead
    /// letter.
    case requestFaulty = "request_faulty"
    /// The channel no longer exists. Forget it and reach its phones by token.
    case channelGone = "channel_gone"
    /// No more channels can be created. Delete some, or use tokens.
    case channelLimit = "channel_limit"
}
