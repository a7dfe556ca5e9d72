internal import Cryptography
internal import Identifiers
internal import Synchronization
internal import Telemetry

/// The maker of the numbers of notification definitions. Any thread may call it.
///
/// - Without an idempotency key, a number is a time in milliseconds, shifted by 20 bits, plus 20 random bits, so that
///   several gateways make different numbers in the same millisecond. The numbers of one gateway increase.
/// - With an idempotency key, the number follows from the app and the key, so that every gateway makes the same one.
///   These numbers begin with a bit that the times get only in the year 2109.
final class DefinitionNumbers: Sendable {
    private static let randomBits: Int64 = 20
    private static let derivedBit: Int64 = 1 << 62
    private let lastNumber = Mutex(Int64(0))

    /// Returns the number of a definition without an idempotency key.
    func next(now: WallTime) -> Int64 {
        // A later time would set the bit of the derived numbers.
        let latestTime = (Self.derivedBit - 1) >> Self.randomBits
        let time = min(max(0, now.milliseconds), latestTime)
        let number = time << Self.randomBits | Int64.random(in: 0..<(1 << Self.randomBits))
        return lastNumber.withLock { lastNumber in
            lastNumber = max(lastNumber + 1, number)
            return lastNumber
        }
    }

    /// Returns the number of the definition that a request with this idempotency key creates.
    static func number(ofKey key: String, app: String) -> Int64 {
        let digest = SHA256.digest(of: RecordKey.join(app, key))
        let bits = digest.prefix(MemoryLayout<Int64>.size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The shift clears the sign and the bit of the derived numbers.
        return Int64(bits >> 2) | derivedBit
    }
}
