internal import APNs

/// What APNs would say to a request, before the phones are asked and before any misbehaviour.
enum Verdict {
    /// The push is good; nil where nobody wants to see it.
    case accepted(AcceptedPush?)
    case refused(Reason)
    /// A good request about channels, still to be done.
    case managed(ChannelAction, of: Channels.App)
}
