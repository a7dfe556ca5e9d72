internal import COpenSSL

/// Bytes that are wiped from memory when they are freed.
@safe package final class SecretBytes: Sendable {
    /// The bytes. Only the creator writes them, before any other code has the object.
    nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer
    /// The length. The memory has at least one byte, so that it has an address.
    package let count: Int

    package init(count: Int) {
        unsafe memory = .allocate(byteCount: max(1, count), alignment: 16)
        self.count = count
    }

    /// Copies the bytes. The caller must wipe its own copy.
    package convenience init(copying bytes: [UInt8]) {
        self.init(count: bytes.count)
        unsafe memory.copyBytes(from: bytes)
    }

    deinit {
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        unsafe memory.deallocate()
    }

    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
    }

    /// Whether the bytes contain the text, which must not be empty.
    package func contains(_ text: String) -> Bool {
        let pattern = Array(text.utf8)
        return unsafe withBytes { bytes in
            guard bytes.count >= pattern.count else { return false }
            return (0...bytes.count - pattern.count).contains { start in
                unsafe bytes[start] == pattern[0]
                    && bytes[start..<start + pattern.count].elementsEqual(pattern)
            }
        }
    }
}
