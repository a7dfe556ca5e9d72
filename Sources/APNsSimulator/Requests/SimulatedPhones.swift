internal import LiveActivity

/// The phones behind the simulated APNs. Confined to the simulator's event loop.
///
/// A simulator without phones takes every token for a good one and keeps nothing: for load.
protocol SimulatedPhones: AnyObject {
    /// Whether they look at what a push says, beyond its event.
    var readsPayloads: Bool { get }

    /// Asked once for each direct push that passed every other check, before it is answered.
    /// - Parameter time: milliseconds since 1970.
    func standing(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStanding

    /// A push that was accepted, or that misbehaviour lets through.
    func deliver(_ push: AcceptedPush)

    /// Time goes on: called a few times a second.
    func tick(at time: Int64)

    /// The clock is put forward: all that is due meanwhile happens at its time.
    func live(from start: Int64, to end: Int64)
}

extension SimulatedPhones {
    var readsPayloads: Bool { true }
    func live(from start: Int64, to end: Int64) { tick(at: end) }
}
