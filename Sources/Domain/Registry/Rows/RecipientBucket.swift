/// A 16-bit hash of a recipient's name. Keys contain it in front of the recipient, so walks through a lane
/// visit recipients in its order. Its values are spread evenly, so a walk can begin at any value. Tables whose
/// keys have this order are also written in it, so the pages that a walk changes are neighbors on disk.
package enum RecipientBucket {
    /// The size of the hash in a key.
    package static let byteCount = 2

    // The constants of FNV-1a with 64 bits.
    private static let fnvOffsetBasis: UInt64 = 0xCBF2_9CE4_8422_2325
    private static let fnvPrime: UInt64 = 0x100_0000_01B3

    /// Returns the FNV-1a hash of a name, folded to 16 bits. Kafka's hash is unsuitable: it chose the lane, so
    /// its remainders are equal for all names of a lane.
    ///
    /// - Parameter name: The name without the prefix `u:` of a user or `i:` of an installation.
    package static func bucket(of name: Span<UInt8>) -> UInt16 {
        var hash = fnvOffsetBasis
        for index in name.indices { hash = (hash ^ UInt64(name[index])) &* fnvPrime }
        hash ^= hash >> 32
        hash ^= hash >> 16
        return UInt16(truncatingIfNeeded: hash)
    }
}
