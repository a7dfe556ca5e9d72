/// The digits of a whole number.
enum Decimal {
    static let digitsMax = 20

    /// Writes at most `digitsMax` digits to `out` and returns how many.
    static func write(_ value: UInt64, to out: UnsafeMutableRawPointer) -> Int {
        let length = digits(value)
        var rest = value
        var place = length
        repeat {
            place -= 1
            unsafe out.storeBytes(
                of: 0x30 + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: place, as: UInt8.self)
            rest /= 10
        } while place > 0
        return length
    }

    private static func digits(_ value: UInt64) -> Int {
        var count = 1
        var bound: UInt64 = 10
        while count < digitsMax, value >= bound {
            count += 1
            if count < digitsMax { bound *= 10 }
        }
        return count
    }
}
