internal import CZlib

/// Deflate in gzip framing.
enum GzipCodec {
    static func decompress(_ bytes: UnsafeRawBufferPointer, max: Int) -> [UInt8]? {
        var stream = unsafe z_stream()
        guard unsafe zlib_inflate_gzip_init(&stream) == Z_OK else { return nil }
        defer { unsafe inflateEnd(&stream) }
        unsafe stream.next_in = unsafe UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        unsafe stream.avail_in = UInt32(bytes.count)
        return unsafe GrowingOutput.fill(expecting: bytes.count * 4, max: max) { room in
            unsafe stream.next_out = unsafe room.bindMemory(to: UInt8.self).baseAddress
            unsafe stream.avail_out = UInt32(room.count)
            let result = unsafe inflate(&stream, Z_NO_FLUSH)
            let written = unsafe room.count - Int(stream.avail_out)
            switch result {
            case Z_STREAM_END: return unsafe stream.avail_in == 0 ? .done(written) : .failed
            case Z_OK, Z_BUF_ERROR:
                return unsafe stream.avail_in == 0 && stream.avail_out > 0 ? .failed : .more(written)
            default: return .failed
            }
        }
    }

    static func compress(_ plain: [UInt8]) -> [UInt8]? {
        var stream = unsafe z_stream()
        guard unsafe zlib_deflate_gzip_init(&stream, 6) == Z_OK else { return nil }
        defer { unsafe deflateEnd(&stream) }
        var input = plain
        var out = [UInt8](repeating: 0, count: Int(unsafe deflateBound(&stream, UInt(plain.count))) + 32)
        let isWhole = unsafe input.withMutableBytes { input in
            unsafe out.withMutableBytes { out in
                unsafe stream.next_in = unsafe input.bindMemory(to: UInt8.self).baseAddress
                unsafe stream.avail_in = UInt32(input.count)
                unsafe stream.next_out = unsafe out.bindMemory(to: UInt8.self).baseAddress
                unsafe stream.avail_out = UInt32(out.count)
                return unsafe deflate(&stream, Z_FINISH) == Z_STREAM_END
            }
        }
        guard isWhole else { return nil }
        out.removeLast(unsafe Int(stream.avail_out))
        return out
    }
}
