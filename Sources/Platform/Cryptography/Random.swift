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
        // There is no other source that is safe for keys, so the process stops.
        let code = unsafe RAND_bytes(base, Int32(buffer.count))
        precondition(code == 1, "the system gives no random bytes")
    }
}
