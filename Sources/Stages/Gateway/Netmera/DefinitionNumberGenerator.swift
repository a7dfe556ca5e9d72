internal import Synchronization
internal import Telemetry

/// The generator of the numbers of notification definitions. A number is a time in milliseconds, shifted by 20
/// bits, plus 20 random bits, so that several gateways make different numbers in the same millisecond. The
/// numbers of one gateway increase. Any thread may call it.
final class DefinitionNumberGenerator: Sendable {
    private static let randomBits: Int64 = 20
    private let lastNumber = Mutex(Int64(0))

    func next(now: WallTime) -> Int64 {
        let time = max(0, min(now.milliseconds, Int64.max >> Self.randomBits))
        let number = time << Self.randomBits | Int64.random(in: 0..<(1 << Self.randomBits))
        return lastNumber.withLock { lastNumber in
            lastNumber = max(lastNumber + 1, number)
            return lastNumber
        }
    }
}
