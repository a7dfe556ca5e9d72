internal import APNs

/// The answer of APNs to a request, before the phones and the faults.
enum Verdict {
    /// The push is valid. Nil if it is not used further.
    case accepted(AcceptedPush?)
    case refused(Reason)
    /// A valid channel request that is not carried out yet.
    case managed(ChannelAction, of: Channels.App)
}
