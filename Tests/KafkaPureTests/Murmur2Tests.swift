import Kafka
import Testing

/// Java's test vectors for `org.apache.kafka.common.utils.Utils.murmur2`.
@Test(
    arguments: [
        ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107),
    ])
func `the hash of a key equals Java's hash`(key: String, hash: Int32) {
    #expect(Int32(bitPattern: Murmur2.hash(of: Array(key.utf8).span)) == hash)
}

@Test func `a lane is the hash without its sign bit, modulo the number of lanes`() {
    let key = Array("foobar".utf8)
    #expect(
        Murmur2.partition(forKey: key.span, partitionCount: 12) == Int(
            UInt32(bitPattern: -790_332_482) & 0x7FFF_FFFF) % 12)
    #expect(Murmur2.partition(forKey: key.span, partitionCount: 1) == 0)
}
