/// The digits of a whole number.
enum Decimal {
    static let digitsMax = 20

    /// From 00 to 99, two digits each: half as many divisions, which is what the digits cost.
    private static let pairs: StaticString = """
        00010203040506070809101112131415161718192021222324\
        25262728293031323334353637383940414243444546474849\
        50515253545556575859606162636465666768697071727374\
        75767778798081828384858687888990919293949596979899
        """

    /// Writes at most `digitsMax` digits to `out` and returns how many.
    static func write(_ value: UInt64, to out: UnsafeMutableRawPointer) -> Int {
        let length = digits(value)
        let pairs = unsafe UnsafeRawPointer(pairs.utf8Start)
        var rest = value
        var place = length
        while rest >= 100 {
            place -= 2
            let pair = Int(truncatingIfNeeded: rest % 100)
            rest /= 100
            unsafe out.storeBytes(
                of: pairs.loadUnaligned(fromByteOffset: 2 * pair, as: UInt16.self), toByteOffset: place,
                as: UInt16.self)
        }
        if rest >= 10 {
            unsafe out.storeBytes(
                of: pairs.loadUnaligned(fromByteOffset: 2 * Int(rest), as: UInt16.self), as: UInt16.self)
        } else {
            unsafe out.storeBytes(of: 0x30 + UInt8(truncatingIfNeeded: rest), as: UInt8.self)
        }
        return length
    }

    private static func digits(_ value: UInt64) -> Int {
        var count = 1
        var rest = value
        while rest >= 10_000 {
            rest /= 10_000
            count += 4
        }
        return rest >= 1000 ? count + 3 : rest >= 100 ? count + 2 : rest >= 10 ? count + 1 : count
    }
}
