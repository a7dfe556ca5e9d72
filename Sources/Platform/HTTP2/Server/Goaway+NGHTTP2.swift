internal import CNghttp2

extension Goaway {
    /// Copies a frame that nghttp2 has read.
    init(_ frame: nghttp2_goaway) {
        let count = min(unsafe frame.opaque_data_len, Goaway.debugBytesMax)
        let debug = unsafe UnsafeBufferPointer(start: frame.opaque_data, count: count)
        self.init(
            lastStream: unsafe frame.last_stream_id, code: HTTP2ErrorCode(rawValue: unsafe frame.error_code),
            debug: unsafe Array(debug))
    }
}

extension nghttp2_ping {
    /// The eight bytes of the payload, as a number in big-endian order.
    var bigEndianBytes: UInt64 {
        unsafe withUnsafeBytes(of: opaque_data) {
            UInt64(bigEndian: unsafe $0.loadUnaligned(as: UInt64.self))
        }
    }
}
