internal import CCRC32C

/// The checksum of record batches and of the broker's own files.
package enum CRC32C {
    /// Returns the checksum of `bytes`. If `crc` is the checksum of earlier bytes, the result covers the
    /// earlier bytes followed by these.
    package static func checksum(of bytes: UnsafeRawBufferPointer, continuing crc: UInt32 = 0) -> UInt32 {
        unsafe crc32c_extend(crc, bytes.baseAddress, bytes.count)
    }

    package static func checksum(of bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe checksum(of: $0) }
    }

    /// Computes the checksum without the processor's instruction; a test compares both.
    static func checksumByTable(of bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe crc32c_extend_by_table(0, $0.baseAddress, $0.count) }
    }
}
