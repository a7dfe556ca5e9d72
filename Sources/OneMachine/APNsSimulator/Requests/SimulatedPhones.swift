package import Identifiers

/// The phones behind the simulated APNs. Confined to the simulator's event loop.
///
/// A simulator without phones accepts every token and stores nothing. This is for load tests.
package protocol SimulatedPhones: AnyObject {
    /// Whether the phones read more of a payload than its event and timestamp.
    var readsPayloads: Bool { get }

    /// Returns the status of a token. Called once for each push to a token that passed every other check,
    /// before it is answered.
    /// - Parameter time: milliseconds since 1970.
    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus

    /// Delivers a push that was accepted, or that a fault lets through.
    func deliver(_ push: AcceptedPush)

    /// Lets the events happen that are due. Called every `Simulator.tickMilliseconds`.
    /// - Parameter time: milliseconds since 1970.
    func tick(at time: Int64)

    /// Simulates a period after the clock was advanced. All due events happen at their times.
    /// - Parameter start: milliseconds since 1970, like `end`.
    func simulate(from start: Int64, to end: Int64)
}

extension SimulatedPhones {
    package var readsPayloads: Bool { true }
    package func simulate(from start: Int64, to end: Int64) { tick(at: end) }
}
