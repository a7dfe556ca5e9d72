/// The checksum CRC-32 of zip, gzip and PNG, which is available in every language. With it, a scanner for
/// leaked keys can distinguish a key from similar text. It works bit by bit, because it processes only about eighty
/// bytes per request.
enum CRC32 {
    /// The generator polynomial of CRC-32 with its bits in reverse order.
    private static let reversedPolynomial: UInt32 = 0xEDB8_8320

    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 0 ? 0 : reversedPolynomial) }
        }
        return ~sum
    }
}
