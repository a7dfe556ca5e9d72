internal import Synchronization
package import Telemetry

/// The clock of the simulated APNs and its phones: the machine's time plus an offset. An operator can advance
/// it, so that eight hours pass in a moment. It never goes back, because phones cannot undo past events.
package final class SimulatorClock: Sendable {
    /// Limit on the total offset: ten years. It is far below the range of `Int64`, so sums of times cannot
    /// overflow.
    static let offsetMillisecondsMax: Int64 = 3_650 * 86_400_000

    /// Returns the machine's time.
    private let machineTime: @Sendable () -> WallTime
    private let storedOffset = Atomic<Int64>(0)

    package init(machineTime: @escaping @Sendable () -> WallTime = { WallTime.now() }) {
        self.machineTime = machineTime
    }

    /// Milliseconds since 1970.
    package var now: Int64 { machineTime().milliseconds + offsetMilliseconds }

    /// The offset in milliseconds.
    package var offsetMilliseconds: Int64 { storedOffset.load(ordering: .relaxed) }

    /// Advances the clock. Returns false and changes nothing above the limit. Only the simulator's loop may
    /// call it, because reading and storing the offset are two steps.
    func advance(milliseconds: Int64) -> Bool {
        guard (0...Self.offsetMillisecondsMax - offsetMilliseconds).contains(milliseconds) else {
            return false
        }
        storedOffset.store(offsetMilliseconds + milliseconds, ordering: .relaxed)
        return true
    }
}
