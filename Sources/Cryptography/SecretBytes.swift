internal import COpenSSL

/// Bytes that are wiped from memory when they are let go.
@safe package final class SecretBytes: Sendable {
    /// Written by who makes it, before anybody else has it.
    nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

    package init(count: Int) {
        unsafe memory = .allocate(byteCount: max(1, count), alignment: 16)
        self.count = count
    }

    /// Copies; the caller's bytes are the caller's to wipe.
    package convenience init(_ bytes: [UInt8]) {
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
