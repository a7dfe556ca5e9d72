/// The position of a recipient in the walks through a lane. It is a hash of the name, so that every number is
/// a fair start. Rows that are written in the order of a walk are adjacent on disk if their keys start with
/// it.
package enum RecipientBucket {
    package static let bytes = 2

    /// Returns the FNV-1a hash of a name, folded to 16 bits. Kafka's hash is unsuitable, because all names of
    /// a lane agree in it.
    ///
    /// - Parameter name: The name without the prefix of a user or an installation.
    package static func bucket(of name: Span<UInt8>) -> UInt16 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in name.indices { hash = (hash ^ UInt64(name[index])) &* 0x100_0000_01B3 }
        hash ^= hash >> 32
        hash ^= hash >> 16
        return UInt16(truncatingIfNeeded: hash)
    }
}
