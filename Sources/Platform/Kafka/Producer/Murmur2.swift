/// Murmur2, Java's hash of a record's key. It decides the lane of a recipient in every topic, here and in
/// every other client of the cluster. It must never change.
package enum Murmur2 {
    private static let seed: UInt32 = 0x9747_B28C
    private static let multiplier: UInt32 = 0x5BD1_E995

    package static func hash(of key: Span<UInt8>) -> UInt32 {
        let count = key.count
        var hash = seed ^ UInt32(truncatingIfNeeded: count)
        var index = 0
        while count - index >= 4 {
            // Four bytes, little-endian.
            var word =
                UInt32(key[index]) | UInt32(key[index + 1]) << 8 | UInt32(key[index + 2]) << 16
                | UInt32(key[index + 3]) << 24
            word &*= multiplier
            word ^= word >> 24
            word &*= multiplier
            hash &*= multiplier
            hash ^= word
            index += 4
        }
        let remaining = count - index
        if remaining >= 3 { hash ^= UInt32(key[index + 2]) << 16 }
        if remaining >= 2 { hash ^= UInt32(key[index + 1]) << 8 }
        if remaining >= 1 {
            hash ^= UInt32(key[index])
            hash &*= multiplier
        }
        hash ^= hash >> 13
        hash &*= multiplier
        hash ^= hash >> 15
        return hash
    }

    /// Returns the partition that Java's default partitioner chooses for the key. The partitioner
    /// `murmur2_random` of `ProducerOptions` chooses the same one.
    package static func partition(forKey key: Span<UInt8>, partitionCount: Int) -> Int {
        partition(forHash: hash(of: key), partitionCount: partitionCount)
    }

    package static func partition(forHash hash: UInt32, partitionCount: Int) -> Int {
        precondition(partitionCount > 0, "a topic has partitions")
        // Java clears the sign bit.
        return Int(hash & 0x7FFF_FFFF) % partitionCount
    }
}
