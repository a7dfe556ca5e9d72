internal import CZstd

/// Zstandard frames.
enum ZstdCodec {
    static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        guard let stream = unsafe ZSTD_createDCtx() else { return nil }
        defer { unsafe ZSTD_freeDCtx(stream) }
        var input = unsafe ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        return unsafe GrowingOutput.fill(expecting: bytes.count * 4, max: max) { room in
            var output = unsafe ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
            let hint = unsafe ZSTD_decompressStream(stream, &output, &input)
            if ZSTD_isError(hint) != 0 { return .failed }
            let written = unsafe output.pos
            let isRead = unsafe input.pos == input.size
            // The frame may end just as the buffer is full. Another call would begin a new frame.
            if isRead && hint == 0 { return .done(written) }
            return isRead && written < room.count ? .failed : .more(written)
        }
    }

    static func compress(_ plain: [UInt8]) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: ZSTD_compressBound(plain.count))
        let size = unsafe out.withMutableBytes { out in
            unsafe plain.withBytes { plain in
                unsafe ZSTD_compress(out.baseAddress, out.count, plain.baseAddress, plain.count, 3)
            }
        }
        guard ZSTD_isError(size) == 0 else { return nil }
        out.removeLast(out.count - size)
        return out
    }
}
