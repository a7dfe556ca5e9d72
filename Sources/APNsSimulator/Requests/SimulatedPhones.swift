internal import LiveActivity

/// The phones behind the simulated APNs. Confined to the simulator's event loop.
///
/// A simulator without phones takes every token for a good one and keeps nothing: for load.
protocol SimulatedPhones: AnyObject {
    /// Asked once for each direct push that passed every other check, before it is answered.
    /// - Parameter time: milliseconds since 1970.
    func standing(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStanding

    /// A push that was accepted, or that misbehaviour lets through.
    func deliver(_ push: AcceptedPush)

    /// Time goes on: called a few times a second.
    func tick(at time: Int64)
}
