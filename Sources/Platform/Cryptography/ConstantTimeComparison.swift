internal import COpenSSL

/// Whether two arrays are equal. The time does not depend on the position of a difference. So a caller cannot
/// find a secret byte by byte from the time that a comparison takes.
package func isEqualInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    unsafe a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
}
