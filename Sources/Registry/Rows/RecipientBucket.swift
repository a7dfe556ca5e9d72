/// Where a recipient stands in the walks through a lane: a number that its name scatters, so that any number is a fair
/// place to begin. What is written in the order of a walk and stands in this order is written side by side.
package enum RecipientBucket {
    package static let bytes = 2

    /// FNV-1a, its ends folded together. Not Kafka's hash: all names of a lane agree in that one.
    ///
    /// - Parameter name: without the mark of a user or an installation.
    package static func of(_ name: Span<UInt8>) -> UInt16 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in name.indices { hash = (hash ^ UInt64(name[index])) &* 0x100_0000_01B3 }
        hash ^= hash >> 32
        hash ^= hash >> 16
        return UInt16(truncatingIfNeeded: hash)
    }
}
