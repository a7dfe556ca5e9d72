internal import CZstd
internal import Compression

/// Zstandard frames.
enum ZstdCodec {
    /// Zstandard's default.
    private static let level: Int32 = 3
    /// A first guess for the size of decompressed records. The memory grows if it is too small.
    private static let expectedRatio = 4

    /// Returns nil for damaged input, or if the result has more than `max` bytes.
    static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        guard let context = unsafe ZSTD_createDCtx() else { return nil }
        defer { unsafe ZSTD_freeDCtx(context) }
        var input = unsafe ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        return unsafe GrowingOutput.fill(expecting: bytes.count * expectedRatio, max: max) { space in
            var output = unsafe ZSTD_outBuffer(dst: space.baseAddress, size: space.count, pos: 0)
            let hint = unsafe ZSTD_decompressStream(context, &output, &input)
            if ZSTD_isError(hint) != 0 { return .failed }
            let written = unsafe output.pos
            let isInputRead = unsafe input.pos == input.size
            // A hint of 0 is the end of a frame. The frame may end just as the buffer is full; another call
            // would begin a new frame.
            if isInputRead && hint == 0 { return .done(written) }
            // All input is read and space is left, but the frame has not ended: the input was cut.
            if isInputRead && written < space.count { return .failed }
            return .more(written)
        }
    }

    /// Returns nil if the library fails.
    static func compress(_ records: [UInt8]) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: ZSTD_compressBound(records.count))
        let size = unsafe output.withMutableBytes { output in
            unsafe records.withBytes { records in
                unsafe ZSTD_compress(
                    output.baseAddress, output.count, records.baseAddress, records.count, level)
            }
        }
        guard ZSTD_isError(size) == 0 else { return nil }
        output.removeLast(output.count - size)
        return output
    }
}
