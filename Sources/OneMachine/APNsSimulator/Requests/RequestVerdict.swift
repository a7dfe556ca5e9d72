internal import APNs

/// The result of the checks of a request. The status of the push token and the faults are considered later,
/// when the request is answered.
enum RequestVerdict {
    /// The push is valid. Nil if nothing uses its target (`RequestValidator.usesTargets`).
    case accepted(AcceptedPush?)
    case refused(APNsReason)
    /// A valid channel request that is not carried out yet.
    case channelAction(ChannelAction, of: Channels.App)
}
