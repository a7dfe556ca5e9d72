internal import COpenSSL

/// Bytes that nobody can guess.
package enum Random {
    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
        return bytes
    }

    package static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let base = buffer.baseAddress, unsafe !buffer.isEmpty else { return }
        // Anything less than true randomness must not be used, and there is no other source.
        let code = unsafe RAND_bytes(base, Int32(buffer.count))
        precondition(code == 1, "the system gives no random bytes")
    }
}

/// Equality that takes as long for a near miss as for a far one: for digests and secrets.
package func equalInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    unsafe a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
}
