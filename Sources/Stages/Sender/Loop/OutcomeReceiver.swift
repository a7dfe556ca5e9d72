internal import APNs

/// The receiver of the outcomes of pushes. The client holds it weakly.
final class OutcomeReceiver: PushReceiver {
    unowned(safe) var sender: SenderLoop?

    func receive(_ outcomes: PushOutcomes) { sender?.handleOutcomes(outcomes) }
}
