internal import Synchronization
package import Telemetry

/// What time it is for the simulated APNs and its phones: the machine's time, and how far a person has
/// put it forward, so that eight hours pass in a moment. It never goes back, as phones do not unlive
/// what they have lived.
package final class SimulatorClock: Sendable {
    /// How far it can be put forward altogether.
    static let aheadMillisecondsMax: Int64 = 3_650 * 86_400_000

    private let wall: @Sendable () -> WallTime
    private let putForward = Atomic<Int64>(0)

    package init(wall: @escaping @Sendable () -> WallTime = { WallTime.now() }) { self.wall = wall }

    /// Milliseconds since 1970.
    package var now: Int64 { wall().milliseconds + ahead }

    /// Milliseconds before the machine's time.
    package var ahead: Int64 { putForward.load(ordering: .relaxed) }

    /// False where that would be too far. Called by one thread only, the simulator's loop.
    func putForward(milliseconds: Int64) -> Bool {
        guard (0...Self.aheadMillisecondsMax - ahead).contains(milliseconds) else { return false }
        putForward.store(ahead + milliseconds, ordering: .relaxed)
        return true
    }
}
