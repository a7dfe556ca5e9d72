internal import COpenSSL

/// Bytes that are wiped from memory when they are freed.
@safe package final class SecretBytes: Sendable {
    /// The bytes. Only the creator writes them, before any other code has the object.
    nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

    package init(count: Int) {
        unsafe memory = .allocate(byteCount: max(1, count), alignment: 16)
        self.count = count
    }

    /// Copies the bytes. The caller must wipe its own copy.
    package convenience init(copying bytes: [UInt8]) {
        self.init(count: bytes.count)
        unsafe memory.copyBytes(from: bytes)
    }

    package let count: Int

    deinit {
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        unsafe memory.deallocate()
    }

    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
    }

    package func contains(_ text: String) -> Bool {
        let wanted = Array(text.utf8)
        return unsafe withBytes { bytes in
            guard bytes.count >= wanted.count else { return false }
            return (0...bytes.count - wanted.count).contains { start in
                unsafe bytes[start] == wanted[0] && bytes[start..<start + wanted.count].elementsEqual(wanted)
            }
        }
    }
}
