internal import APNs

/// The receiver of the outcomes of pushes. The client holds it weakly.
final class OutcomeReceiver: PushReceiver {
    /// The sender is the only owner of this object. So the sender exists whenever the client, which holds this object
    /// weakly, calls it.
    unowned(safe) var sender: SenderLoop?

    func receive(_ outcomes: PushOutcomes) { sender?.handleOutcomes(outcomes) }
}
