internal import APNs

/// The answer of APNs to a request, before the phones and the faults.
enum RequestVerdict {
    /// The push is valid. Nil if it is not used further.
    case accepted(AcceptedPush?)
    case refused(APNsReason)
    /// A valid channel request that is not carried out yet.
    case channelAction(ChannelAction, of: Channels.App)
}
