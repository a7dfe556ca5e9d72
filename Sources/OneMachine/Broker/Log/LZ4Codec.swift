internal import CLZ4

/// LZ4 in its frame format, as Kafka uses it.
enum LZ4Codec {
    static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        var context: OpaquePointer?
        guard unsafe LZ4F_isError(LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))) == 0 else {
            return nil
        }
        defer { unsafe LZ4F_freeDecompressionContext(context) }
        var read = 0
        return unsafe GrowingOutput.fill(expecting: bytes.count * 4, max: max) { room in
            var written = room.count
            var consumed = bytes.count - read
            let source = unsafe bytes.baseAddress.map { unsafe $0 + read }
            let hint = unsafe LZ4F_decompress(context, room.baseAddress, &written, source, &consumed, nil)
            if LZ4F_isError(hint) != 0 { return .failed }
            read += consumed
            if hint == 0 { return read == bytes.count ? .done(written) : .failed }
            return read == bytes.count && written < room.count ? .failed : .more(written)
        }
    }

    static func compress(_ plain: [UInt8]) -> [UInt8]? {
        var preferences = LZ4F_preferences_t()
        preferences.frameInfo.blockMode = LZ4F_blockIndependent
        var out = [UInt8](repeating: 0, count: unsafe LZ4F_compressFrameBound(plain.count, &preferences))
        let size = unsafe out.withMutableBytes { out in
            unsafe plain.withBytes { plain in
                unsafe LZ4F_compressFrame(
                    out.baseAddress, out.count, plain.baseAddress, plain.count, &preferences)
            }
        }
        guard LZ4F_isError(size) == 0 else { return nil }
        out.removeLast(out.count - size)
        return out
    }
}
