internal import APNs

/// The result of the checks of a request. The state of the push token and the faults are not considered yet.
enum RequestVerdict {
    /// The push is valid. Nil if nothing uses its target (`RequestValidator.usesTargets`).
    case accepted(AcceptedPush?)
    case refused(APNsReason)
    /// A valid channel request that is not carried out yet.
    case channelAction(ChannelAction, of: Channels.App)
}
