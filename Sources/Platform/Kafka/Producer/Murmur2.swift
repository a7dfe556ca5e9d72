/// Java's hash of a record's key. It decides the lane of a recipient in every topic, here and in every other
/// client of the cluster. It must never change.
package enum Murmur2 {
    package static func hash(of key: Span<UInt8>) -> UInt32 {
        let m: UInt32 = 0x5BD1_E995
        let count = key.count
        var h: UInt32 = 0x9747_B28C ^ UInt32(truncatingIfNeeded: count)
        var index = 0
        while count - index >= 4 {
            var k =
                UInt32(key[index]) | UInt32(key[index + 1]) << 8 | UInt32(key[index + 2]) << 16
                | UInt32(key[index + 3]) << 24
            k &*= m
            k ^= k >> 24
            k &*= m
            h &*= m
            h ^= k
            index += 4
        }
        let rest = count - index
        if rest >= 3 { h ^= UInt32(key[index + 2]) << 16 }
        if rest >= 2 { h ^= UInt32(key[index + 1]) << 8 }
        if rest >= 1 {
            h ^= UInt32(key[index])
            h &*= m
        }
        h ^= h >> 13
        h &*= m
        h ^= h >> 15
        return h
    }

    /// Returns the partition that Java's default partitioner chooses for the key. `murmur2_random` chooses
    /// the same one here.
    package static func partition(forKey key: Span<UInt8>, partitionCount count: Int) -> Int {
        partition(forHash: hash(of: key), partitionCount: count)
    }

    package static func partition(forHash hash: UInt32, partitionCount count: Int) -> Int {
        precondition(count > 0, "a topic has partitions")
        return Int(hash & 0x7FFF_FFFF) % count
    }
}
