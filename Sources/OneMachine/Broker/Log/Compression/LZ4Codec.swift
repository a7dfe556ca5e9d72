internal import CLZ4
internal import Compression

/// LZ4 in its frame format, as Kafka uses it.
enum LZ4Codec {
    /// A first guess for the size of decompressed records. The memory grows if it is too small.
    private static let expectedRatio = 4

    /// Returns nil for damaged input, or if the result has more than `max` bytes.
    static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        var context: OpaquePointer?
        guard unsafe LZ4F_isError(LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))) == 0 else {
            return nil
        }
        defer { unsafe LZ4F_freeDecompressionContext(context) }
        var inputPosition = 0
        return unsafe GrowingOutput.fill(expecting: bytes.count * expectedRatio, max: max) { space in
            // LZ4 takes the available bytes in `written` and `consumed`, and returns the used bytes there.
            var written = space.count
            var consumed = bytes.count - inputPosition
            let source = unsafe bytes.baseAddress.map { unsafe $0 + inputPosition }
            let hint = unsafe LZ4F_decompress(context, space.baseAddress, &written, source, &consumed, nil)
            if LZ4F_isError(hint) != 0 { return .failed }
            inputPosition += consumed
            // A hint of 0 is the end of the frame. Kafka writes one frame.
            if hint == 0 { return inputPosition == bytes.count ? .done(written) : .failed }
            // All input is read and space is left, but the frame has not ended: the input was cut.
            if inputPosition == bytes.count && written < space.count { return .failed }
            return .more(written)
        }
    }

    /// Returns nil if the library fails.
    static func compress(_ records: [UInt8]) -> [UInt8]? {
        var preferences = LZ4F_preferences_t()
        preferences.frameInfo.blockMode = LZ4F_blockIndependent
        let bound = unsafe LZ4F_compressFrameBound(records.count, &preferences)
        var output = [UInt8](repeating: 0, count: bound)
        let size = unsafe output.withMutableBytes { output in
            unsafe records.withBytes { records in
                unsafe LZ4F_compressFrame(
                    output.baseAddress, output.count, records.baseAddress, records.count, &preferences)
            }
        }
        guard LZ4F_isError(size) == 0 else { return nil }
        output.removeLast(output.count - size)
        return output
    }
}
