internal import APNs

/// The receiver of the outcomes of pushes. The client holds it weakly.
final class OutcomeReceiver: PushReceiver {
    /// The only owner of this object. So it exists whenever the client finds this object on its loop.
    unowned(safe) var sender: SenderLoop?

    func receive(_ outcomes: PushOutcomes) { sender?.handleOutcomes(outcomes) }
}
