internal import Synchronization
package import Telemetry

/// The clock of the simulated APNs and its phones: the machine's time plus an offset. An operator can advance
/// it, so that eight hours pass in a moment. It never goes back, because phones cannot undo past events.
package final class SimulatorClock: Sendable {
    /// Limit on the total offset.
    static let aheadMillisecondsMax: Int64 = 3_650 * 86_400_000

    private let wall: @Sendable () -> WallTime
    private let putForward = Atomic<Int64>(0)

    package init(wall: @escaping @Sendable () -> WallTime = { WallTime.now() }) { self.wall = wall }

    /// Milliseconds since 1970.
    package var now: Int64 { wall().milliseconds + ahead }

    /// The offset in milliseconds.
    package var ahead: Int64 { putForward.load(ordering: .relaxed) }

    /// Advances the clock. Returns false above the limit. Only the simulator's loop may call it.
    func putForward(milliseconds: Int64) -> Bool {
        guard (0...Self.aheadMillisecondsMax - ahead).contains(milliseconds) else { return false }
        putForward.store(ahead + milliseconds, ordering: .relaxed)
        return true
    }
}
