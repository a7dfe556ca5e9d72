internal import COpenSSL

/// Unpredictable random bytes.
package enum Random {
    package static func bytes(count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
        return bytes
    }

    package static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let base = buffer.baseAddress, unsafe !buffer.isEmpty else { return }
        // Anything weaker than true randomness is unsafe, and there is no other source.
        let code = unsafe RAND_bytes(base, Int32(buffer.count))
        precondition(code == 1, "the system gives no random bytes")
    }
}

/// Whether both are equal. The time does not depend on the position of a difference, so it is safe for
/// secrets.
package func isEqualInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    unsafe a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
}
