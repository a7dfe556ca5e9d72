internal import CZlib

/// Deflate in gzip framing.
package enum Gzip {
    /// zlib's default.
    private static let level: Int32 = 6
    /// A first guess for the size of decompressed content. The memory grows if it is too small.
    private static let expectedRatio = 4
    /// Spare bytes beyond zlib's own bound.
    private static let spareBytes = 32

    /// Returns the content of one gzip stream. Returns nil if it is damaged, if bytes follow it, or if the
    /// content has more than `max` bytes.
    package static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        var stream = unsafe z_stream()
        guard unsafe zlib_inflate_gzip_init(&stream) == Z_OK else { return nil }
        defer { unsafe inflateEnd(&stream) }
        unsafe stream.next_in = unsafe UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        unsafe stream.avail_in = UInt32(bytes.count)
        return unsafe GrowingOutput.fill(expecting: bytes.count * expectedRatio, max: max) { space in
            unsafe stream.next_out = unsafe space.bindMemory(to: UInt8.self).baseAddress
            unsafe stream.avail_out = UInt32(space.count)
            let result = unsafe inflate(&stream, Z_NO_FLUSH)
            let written = unsafe space.count - Int(stream.avail_out)
            switch result {
            case Z_STREAM_END: return unsafe stream.avail_in == 0 ? .done(written) : .failed
            case Z_OK, Z_BUF_ERROR:
                // All input is read and space is left, so the end of the stream is missing.
                return unsafe stream.avail_in == 0 && stream.avail_out > 0 ? .failed : .more(written)
            default: return .failed
            }
        }
    }

    /// Returns the content as one gzip stream. Returns nil only if there is no memory.
    package static func compress(_ content: [UInt8]) -> [UInt8]? {
        var stream = unsafe z_stream()
        guard unsafe zlib_deflate_gzip_init(&stream, level) == Z_OK else { return nil }
        defer { unsafe deflateEnd(&stream) }
        var input = content
        let bound = Int(unsafe deflateBound(&stream, UInt(content.count))) + spareBytes
        var output = [UInt8](repeating: 0, count: bound)
        let isFinished = unsafe input.withUnsafeMutableBytes { input in
            unsafe output.withUnsafeMutableBytes { output in
                unsafe stream.next_in = unsafe input.bindMemory(to: UInt8.self).baseAddress
                unsafe stream.avail_in = UInt32(input.count)
                unsafe stream.next_out = unsafe output.bindMemory(to: UInt8.self).baseAddress
                unsafe stream.avail_out = UInt32(output.count)
                return unsafe deflate(&stream, Z_FINISH) == Z_STREAM_END
            }
        }
        guard isFinished else { return nil }
        output.removeLast(unsafe Int(stream.avail_out))
        return output
    }
}
